// RUN: pipeline-opt %s --split-input-file -p group-stages | filecheck %s --check-prefixes=FUSED,ANY
// RUN: pipeline-opt %s --split-input-file -p 'group-stages{algorithm=dp target=sm_80}' | filecheck %s --check-prefixes=FUSED,ANY
// RUN: pipeline-opt %s --split-input-file -p 'group-stages{algorithm=all}' | filecheck %s --check-prefixes=FUSED,ANY
// RUN: pipeline-opt %s --split-input-file -p 'group-stages,group-stages{algorithm=none}' | filecheck %s --check-prefixes=FUSED,ANY
// RUN: pipeline-opt %s --split-input-file -p 'group-stages{algorithm=none}' | filecheck %s --check-prefixes=NONE,ANY

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

// A stage that is an output, too, is the output of its own group.

// ANY-LABEL: img.pipeline @outputs
// ANY:         %f = img.group "f"
// ANY:         %g = img.group "g"
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
