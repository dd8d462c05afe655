// REQUIRES: nvrtc
// RUN: pipeline-opt %s -p 'group-stages{algorithm=all},tile{shape=warp_tile sizes=0,0 threads=32,8 vector=4 blocks=1 more="rows = 8"},promote-memory,fit-registers' | filecheck %s --check-prefix=FITS
// RUN: pipeline-opt %s -p 'group-stages{algorithm=all},tile{shape=warp_tile sizes=0,0 threads=32,8 vector=4 blocks=8 more="rows = 8"},promote-memory,fit-registers{keep=blurred}' | filecheck %s --check-prefix=HELD
// RUN: pipeline-opt %s -p 'group-stages{algorithm=all},tile{shape=warp_tile sizes=0,0 threads=32,8 vector=4 blocks=8 more="rows = 8"},promote-memory,fit-registers' | filecheck %s --check-prefix=FEWER
// RUN: pipeline-opt %s -p 'group-stages{algorithm=all},tile{shape=warp_tile sizes=0,0 threads=32,8 vector=4 blocks=8 more="rows = 8"},promote-memory,fit-registers{search=true}' | filecheck %s --check-prefix=SEARCHED
// RUN: not pipeline-opt %s -p 'fit-registers{target=cpu}' 2>&1 | filecheck %s --check-prefix=CPU
// RUN: not pipeline-opt %s -p 'group-stages,fit-registers' 2>&1 | filecheck %s --check-prefix=UNTILED

// A kernel that takes no more than is left to it stays as it is.
// FITS-NOT: register_bounded
// FITS:     img.group "blurred" schedule #schedule.warp_tile<tile = [120, 64], threads = [32, 8], vector = 4, blocks = 1> {
// FITS-NOT: register_bounded

// One that takes more is bounded to the registers of its blocks; if it spills then, it gets fewer of them, unless it is to stay.
// HELD:  img.group "blurred" schedule #schedule.warp_tile<tile = [120, 64], {{.*}}, blocks = 8> attributes {register_bounded
// FEWER: img.group "blurred" schedule #schedule.warp_tile<tile = [120, 64], {{.*}}, blocks = {{[1-7]}}>

// The search is told what the tile needs, and finds another.
// SEARCHED-NOT: schedule #schedule.warp_tile<tile = [120, 64], threads = [32, 8], vector = 4, blocks = 8>
// SEARCHED:     register_needs = [{schedule = #schedule.warp_tile<tile = [120, 64]

// CPU: fit-registers: a C compiler allocates registers by itself; give a GPU as target=
// UNTILED: group 'blurred' has no schedule; run tile

img.pipeline @blur {
  %photo = img.input "photo" : !img.func<2xf32>
  %clamped = img.boundary repeat_edge %photo dims [0, 1] : !img.func<2xf32>
  %sum = img.stage "sum" (%x, %y) -> f32 {
    %a = img.read %clamped[%x, %y - 2] : !img.func<2xf32>
    %b = img.read %clamped[%x, %y] : !img.func<2xf32>
    %c = img.read %clamped[%x, %y + 2] : !img.func<2xf32>
    %ab = arith.addf %a, %b : f32
    %abc = arith.addf %ab, %c : f32
    img.yield %abc : f32
  }
  %blurred = img.stage "blurred" (%x, %y) -> f32 {
    %a = img.read %sum[%x - 2, %y - 2] : !img.func<2xf32>
    %b = img.read %sum[%x, %y] : !img.func<2xf32>
    %c = img.read %sum[%x + 2, %y + 2] : !img.func<2xf32>
    %ab = arith.addf %a, %b : f32
    %abc = arith.addf %ab, %c : f32
    img.yield %abc : f32
  }
  img.return "blurred" = %blurred : !img.func<2xf32>
}
