// Dimensions after x and y that are not small: a warp tile has one plane, and the grid has all.

// RUN: pipeline-opt %s --split-input-file -p 'tile{shape=warp_tile sizes=0,0,1 threads=32,4,1 vector=4 more="rows = 2, exchange = 0"},promote-memory' --verify-diagnostics | filecheck %s --check-prefix=PLANES
// RUN: pipeline-opt %s --split-input-file -p 'tile{shape=warp_tile sizes=0,0,1 threads=32,4,1 vector=4 more="rows = 2, exchange = 0"},promote-memory,lower-groups' --verify-diagnostics | filecheck %s

// PLANES:      schedule #schedule.warp_tile<tile = [120, 8, 1], threads = [32, 4, 1], vector = 4>

// Two planes of `rows` are held, from the tile's on.

// CHECK-LABEL: func.func @p_blur_tile
// CHECK:         %[[Z:.*]] = arith.subi %z0, %photo_min_z : index
// CHECK:         warp.load %photo[%[[Z]], %{{.*}}, %{{.*}}]
// CHECK:         depth = {{\[}}[-1, 2]]
// CHECK:         %rows = warp.map {
// CHECK:         depth = {{\[}}[0, 2]]
// CHECK:         %blur = warp.map {
// CHECK:         depth = {{\[}}[0, 1]]
// CHECK-LABEL: func.func @p_blur_kernel
// CHECK:         scf.for %bz
img.pipeline @p {
  %photo = img.input "photo" : !img.func<3xf32>
  %edge = img.boundary repeat_edge %photo dims [0, 1, 2] : !img.func<3xf32>
  %out = img.group "blur" {
    %rows = img.stage "rows" (%x, %y, %z) -> f32 {
      %a = img.read %edge[%x - 1, %y, %z - 1] : !img.func<3xf32>
      %b = img.read %edge[%x + 1, %y, %z] : !img.func<3xf32>
      %s = arith.addf %a, %b : f32
      img.yield %s : f32
    }
    %blur = img.stage "blur" (%x, %y, %z) -> f32 {
      %a = img.read %rows[%x, %y - 1, %z] : !img.func<3xf32>
      %b = img.read %rows[%x, %y + 1, %z + 1] : !img.func<3xf32>
      %s = arith.addf %a, %b : f32
      img.yield %s : f32
    }
    img.yield %blur : !img.func<3xf32>
  } : !img.func<3xf32>
  img.return "out" = %out : !img.func<3xf32>
}

// -----

// PLANES-NOT: @mixed
img.pipeline @mixed {
  %photo = img.input "photo" : !img.func<3xf32>
  // expected-error @below {{'photo' is read at planes that follow the tile, and at others}}
  %out = img.group "sum" {
    %sum = img.stage "sum" (%x, %y, %z) -> f32 {
      %a = img.read %photo[%x, %y, %z] : !img.func<3xf32>
      %b = img.read %photo[%x, %y, 0] : !img.func<3xf32>
      %s = arith.addf %a, %b : f32
      img.yield %s : f32
    }
    img.yield %sum : !img.func<3xf32>
  } : !img.func<3xf32>
  img.return "out" = %out : !img.func<3xf32>
}

// -----

img.pipeline @scaled {
  %photo = img.input "photo" : !img.func<3xf32>
  // expected-error @below {{'photo' is read at planes that do not follow the tile one to one}}
  %out = img.group "even" {
    %even = img.stage "even" (%x, %y, %z) -> f32 {
      %a = img.read %photo[%x, %y, 2 * %z] : !img.func<3xf32>
      img.yield %a : f32
    }
    img.yield %even : !img.func<3xf32>
  } : !img.func<3xf32>
  img.return "out" = %out : !img.func<3xf32>
}
