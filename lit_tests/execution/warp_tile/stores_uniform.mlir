// Where most tiles are border tiles, they store vectors even if what they load lies otherwise.

// RUN: pipeline-opt %s -p 'tile{shape=warp_tile sizes=0,0 threads=32,4 vector=4 more="rows = 4"},promote-memory,lower-groups' | filecheck %s
// RUN: pipeline-opt %s -p 'tile{shape=warp_tile sizes=0,0 threads=32,4 vector=4 more="rows = 4"},promote-memory,lower-groups,lower-warp-tiles' --print-op-generic | mlir-opt --allow-unregistered-dialect -o /dev/null

// CHECK-LABEL: func.func @mostly_out_tile
// CHECK:         %stores_uniform: i1
// CHECK:         warp.load {{.*}} aligned %vectors_uniform border %border vectors_uniform %vectors_uniform
// CHECK:         warp.store {{.*}} aligned %stores_uniform border %border vectors_uniform %stores_uniform

// The versions with vectors store such; the others ask for what is stored alone.

// CHECK-LABEL: func.func @mostly_out_kernel
// CHECK:         [[YES:%.*]] = arith.constant true
// CHECK:         [[NO:%.*]] = arith.constant false
// CHECK:         func.call @mostly_out_tile6({{.*}}, [[NO]], [[YES]], [[YES]])
// CHECK:         func.call @mostly_out_tile6({{.*}}, [[NO]], [[NO]], [[STORED:%.*]])
// CHECK:         func.call @mostly_out_tile6({{.*}}, [[YES]], [[YES]], [[YES]])
// CHECK:         func.call @mostly_out_tile6({{.*}}, [[YES]], [[NO]], [[FIT:%.*]])
img.pipeline @mostly {
  %in = img.input "in" layout strided<[1, ?]> {img.align = 16 : i64} : !img.func<2xf32>
  %edge = img.boundary mirror_image %in dims [0, 1] : !img.func<2xf32>
  %out = img.group "out" attributes {mostly_border} {
    %f = img.stage "out" (%x, %y) -> f32 {
      %a = img.read %edge[%x, %y] : !img.func<2xf32>
      %b = img.read %edge[%x + 1, %y] : !img.func<2xf32>
      %s = arith.addf %a, %b : f32
      img.yield %s : f32
    }
    img.yield %f : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "out" = %out : !img.func<2xf32> {output_layouts = [strided<[1, ?]>], output_aligns = array<i64: 16>}
}
