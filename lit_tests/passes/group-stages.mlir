// RUN: pipeline-opt %s --split-input-file -p group-stages | filecheck %s --check-prefixes=FUSED,ANY
// RUN: pipeline-opt %s --split-input-file -p 'group-stages{algorithm=dp target=sm_80}' | filecheck %s --check-prefixes=FUSED,ANY
// RUN: pipeline-opt %s --split-input-file -p 'group-stages{algorithm=all}' | filecheck %s --check-prefixes=FUSED,ANY
// RUN: pipeline-opt %s --split-input-file -p 'group-stages,group-stages{algorithm=none}' | filecheck %s --check-prefixes=FUSED,ANY
// RUN: pipeline-opt %s --split-input-file -p 'group-stages{algorithm=none}' | filecheck %s --check-prefixes=NONE,ANY
// RUN: pipeline-opt %s --split-input-file -p 'group-stages{multiple_outputs=false}' | filecheck %s --check-prefixes=ONE,ANY

// RUN: not pipeline-opt %s -p 'group-stages{target=pentium}' 2>&1 | filecheck %s --check-prefix=TARGET
// RUN: not pipeline-opt %s -p 'group-stages{algorithm=best}' 2>&1 | filecheck %s --check-prefix=OPTION

// TARGET: error: group-stages: unknown GPU 'pentium'
// OPTION: error: option 'algorithm' of pass 'group-stages' takes both | greedy | dp | none | all, not best

// FUSED-LABEL: img.pipeline @blur
// FUSED:         %blur_y = img.group "blur_y" {
// FUSED-NEXT:      %blur_x = img.stage "blur_x"
// FUSED:           img.read %clamped
// FUSED:           [[OUT:%.*]] = img.stage "blur_y"
// FUSED:           img.yield [[OUT]] : !img.func<2xf32>
// FUSED-NEXT:    } : !img.func<2xf32>
// FUSED-NEXT:    img.return "blur_y" = %blur_y : !img.func<2xf32>

// NONE-LABEL: img.pipeline @blur
// NONE:         %blur_x = img.group "blur_x" {
// NONE:           img.stage "blur_x"
// NONE:         } : !img.func<2xf32>
// NONE:         %blur_y = img.group "blur_y" {
// NONE:           img.read %blur_x[
// NONE:         } : !img.func<2xf32>
img.pipeline @blur {
  %photo = img.input "photo" : !img.func<2xf32>
  %clamped = img.boundary repeat_edge %photo dims [0, 1] : !img.func<2xf32>
  %blur_x = img.stage "blur_x" (%x, %y) -> f32 {
    %a = img.read %clamped[%x - 1, %y] : !img.func<2xf32>
    %b = img.read %clamped[%x + 1, %y] : !img.func<2xf32>
    %r = arith.addf %a, %b : f32
    img.yield %r : f32
  }
  %blur_y = img.stage "blur_y" (%x, %y) -> f32 {
    %a = img.read %blur_x[%x, %y - 1] : !img.func<2xf32>
    %b = img.read %blur_x[%x, %y + 1] : !img.func<2xf32>
    %r = arith.addf %a, %b : f32
    img.yield %r : f32
  }
  img.return "blur_y" = %blur_y : !img.func<2xf32>
}

// -----

// A boundary that moves reads ends a group; constant_exterior over a computed stage goes into it.

// ANY-LABEL: img.pipeline @boundaries
// ANY:         %f = img.group "f" {
// ANY-NEXT:      img.stage "f"
// ANY:         [[EDGED:%.*]] = img.boundary repeat_edge %f
// FUSED:       img.group "h" {
// FUSED-NEXT:    [[G:%.*]] = img.stage "g"
// FUSED:         img.read [[EDGED]][
// FUSED:         [[ZEROED:%.*]] = img.boundary constant_exterior [[G]]
// FUSED-NEXT:    img.stage "h"
// FUSED-NEXT:      img.read [[ZEROED]][
// NONE:        img.group "g" {
// NONE:        img.boundary constant_exterior %g
// NONE:        img.group "h" {
img.pipeline @boundaries {
  %photo = img.input "photo" : !img.func<2xf32>
  %x0 = img.min 0 of %photo : !img.func<2xf32>
  %y0 = img.min 1 of %photo : !img.func<2xf32>
  %nx = img.extent 0 of %photo : !img.func<2xf32>
  %ny = img.extent 1 of %photo : !img.func<2xf32>
  %zero = arith.constant 0.0 : f32
  %f = img.stage "f" (%x, %y) -> f32 {
    %v = img.read %photo[%x, %y] : !img.func<2xf32>
    %w = math.exp %v : f32
    img.yield %w : f32
  }
  %edged = img.boundary repeat_edge %f dims [0, 1] in [%x0, %y0] by [%nx, %ny] : !img.func<2xf32>
  %g = img.stage "g" (%x, %y) -> f32 {
    %v = img.read %edged[%x, %y] : !img.func<2xf32>
    img.yield %v : f32
  }
  %zeroed = img.boundary constant_exterior %g dims [0, 1] in [%x0, %y0] by [%nx, %ny] value %zero : !img.func<2xf32>
  %h = img.stage "h" (%x, %y) -> f32 {
    %a = img.read %zeroed[%x - 1, %y] : !img.func<2xf32>
    %b = img.read %zeroed[%x + 1, %y] : !img.func<2xf32>
    %r = arith.addf %a, %b : f32
    img.yield %r : f32
  }
  img.return "h" = %h : !img.func<2xf32>
}

// -----

// A stage that is an output, too: one kernel stores both.

// ANY-LABEL: img.pipeline @outputs
// FUSED:       %f, %g = img.group "g" {
// FUSED:         img.stage "f"
// FUSED:         img.stage "g"
// FUSED:         img.yield %f_1, %g_1 : !img.func<2xf32>, !img.func<2xf32>
// FUSED:       img.return "f" = %f : !img.func<2xf32>, "g" = %g
img.pipeline @outputs {
  %photo = img.input "photo" : !img.func<2xf32>
  %f = img.stage "f" (%x, %y) -> f32 {
    %v = img.read %photo[%x, %y] : !img.func<2xf32>
    img.yield %v : f32
  }
  %g = img.stage "g" (%x, %y) -> f32 {
    %v = img.read %f[%x, %y] : !img.func<2xf32>
    img.yield %v : f32
  }
  img.return "f" = %f : !img.func<2xf32>, "g" = %g : !img.func<2xf32>
}

// -----

// A pipeline grouped by hand stays as it is.

// ANY-LABEL: img.pipeline @by_hand
// ANY:         img.group "both" {
// ANY-NEXT:      img.stage "f"
// ANY:           img.stage "g"
img.pipeline @by_hand {
  %photo = img.input "photo" : !img.func<2xf32>
  %both = img.group "both" {
    %f = img.stage "f" (%x, %y) -> f32 {
      %v = img.read %photo[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    %g = img.stage "g" (%x, %y) -> f32 {
      %v = img.read %f[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    img.yield %g : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "g" = %both : !img.func<2xf32>
}

// -----

// Stages that read the same function, of different types; `several` switches that off.

// ANY-LABEL: img.pipeline @siblings
// FUSED:       %dx, %dy = img.group "dy" {
// FUSED:       img.return
// ONE:         img.group "dx" {
// ONE:         img.group "dy" {
img.pipeline @siblings {
  %photo = img.input "photo" : !img.func<2xui8>
  %dx = img.stage "dx" (%x, %y) -> si8 {
    %a = img.read %photo[%x, %y] : !img.func<2xui8>
    %b = img.read %photo[%x + 1, %y] : !img.func<2xui8>
    %v = arith.subi %a, %b : i8
    img.yield %v : i8
  }
  %dy = img.stage "dy" (%x, %y) -> si32 {
    %a = img.read %photo[%x, %y] : !img.func<2xui8>
    %b = img.read %photo[%x, %y + 1] : !img.func<2xui8>
    %v = arith.subi %a, %b : i8
    %w = arith.extsi %v : i8 to i32
    img.yield %w : i32
  }
  img.return "dx" = %dx : !img.func<2xsi8>, "dy" = %dy : !img.func<2xsi32>
}

// -----

// A boundary that is read inside and outside: the group has one like it. What reads the group stands behind it.

// ANY-LABEL: img.pipeline @boundary_on_both_sides
// FUSED:       %f, %h = img.group "h" {
// FUSED:         %f_1 = img.stage "f"
// FUSED:         %zeroed = img.boundary constant_exterior %f_1
// FUSED:         img.stage "h"
// FUSED:           img.read %zeroed[%{{.*}} + 1, %{{.*}}]
// FUSED:       %zeroed_1 = img.boundary constant_exterior %f dims
// FUSED:       img.group "far" {
// FUSED:           img.read %zeroed_1[
img.pipeline @boundary_on_both_sides {
  %photo = img.input "photo" : !img.func<2xf32>
  %zero = arith.constant 0.0 : f32
  %x0 = img.min 0 of %photo : !img.func<2xf32>
  %y0 = img.min 1 of %photo : !img.func<2xf32>
  %nx = img.extent 0 of %photo : !img.func<2xf32>
  %ny = img.extent 1 of %photo : !img.func<2xf32>
  %f = img.stage "f" (%x, %y) -> f32 {
    %a = img.read %photo[%x, %y] : !img.func<2xf32>
    %v = arith.addf %a, %a : f32
    img.yield %v : f32
  }
  %zeroed = img.boundary constant_exterior %f dims [0, 1] in [%x0, %y0] by [%nx, %ny] value %zero : !img.func<2xf32>
  %far = img.stage "far" (%x, %y) -> f32 {
    %i = img.read %photo[%x, %y] : !img.func<2xf32>
    %j = arith.fptoui %i : f32 to i8
    %k = arith.extui %j : i8 to i32
    %l = arith.index_cast %k : i32 to index
    %v = img.read %zeroed[%l, %y] : !img.func<2xf32>
    img.yield %v : f32
  }
  %h = img.stage "h" (%x, %y) -> f32 {
    %a = img.read %zeroed[%x + 1, %y] : !img.func<2xf32>
    %b = img.read %zeroed[%x, %y + 1] : !img.func<2xf32>
    %v = arith.addf %a, %b : f32
    img.yield %v : f32
  }
  img.return "far" = %far : !img.func<2xf32>, "h" = %h : !img.func<2xf32>
}

// -----

// Two of one function that a kernel of its own stands between, one of which reads the other behind it, are two kernels.

// ANY-LABEL: img.pipeline @between
// ANY:         img.group "f" {
// ANY:           img.stage
// ANY-NOT:       img.stage
// ANY:         img.group "g" {
img.pipeline @between {
  %photo = img.input "photo" : !img.func<2xf32>
  %f = img.stage "f" (%x, %y) -> f32 {
    %a = img.read %photo[%x, %y] : !img.func<2xf32>
    %v = arith.addf %a, %a : f32
    img.yield %v : f32
  }
  %z = arith.constant 0 : index
  %n = arith.constant 100 : index
  %edge = img.boundary repeat_edge %f dims [0, 1] in [%z, %z] by [%n, %n] : !img.func<2xf32>
  %g = img.stage "g" (%x, %y) -> f32 {
    %a = img.read %edge[%x + 1, %y] : !img.func<2xf32>
    %v = arith.addf %a, %a : f32
    img.yield %v : f32
  }
  %edge2 = img.boundary repeat_edge %g dims [0, 1] in [%z, %z] by [%n, %n] : !img.func<2xf32>
  %h = img.stage "h" (%x, %y) -> f32 {
    %a = img.read %edge2[%x + 1, %y] : !img.func<2xf32>
    %b = img.read %f[%x, %y] : !img.func<2xf32>
    %v = arith.addf %a, %b : f32
    img.yield %v : f32
  }
  img.return "h" = %h : !img.func<2xf32>
}
