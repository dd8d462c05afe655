// RUN: TILEFUSE_ROUNDTRIP

// A group of an update, each of whose steps computes stages; what reads the sums has all of their few channels.

// CHECK:      %out = img.group "u" schedule #schedule.block_tile<tile = [32, 3, 1], threads = [32, 1, 1], cache_inputs = 1> {
// CHECK-NEXT:   %w = img.stage "w" (%x, %r) -> f32 place #img.place<thread, register> {
// CHECK:        %term = img.stage "term" (%x_1, %c, %r_1) -> f32 bounds #img.box<[*, 0:3, *]> {
// CHECK:        %zero = img.stage "zero" (%x_2, %c_1) -> f32 {
// CHECK:        %u = img.update "u" (%x_3, %c_2) over (%r_2 in [%lo, %n]) of (%s = %zero : !img.func<2xf32>) combine [add] {
// CHECK-NEXT:     %v_3 = img.read %term[%x_3, %c_2, %r_2] : !img.func<3xf32>
// CHECK-NEXT:     img.write %v_3 at [%x_3, %c_2] : f32
// CHECK:        %mean = img.stage "mean" (%x_4, %c_3) -> f32 bounds #img.box<[*, 0:2]> {
// CHECK-NEXT:     %a = img.read %u[%x_4, %c_3] : !img.func<2xf32>
// CHECK-NEXT:     %b = img.read %u[%x_4, 2] : !img.func<2xf32>
img.pipeline @steps {
  %in = img.input "in" : !img.func<2xf32>
  %lo = arith.constant 0 : index
  %n = arith.constant 5 : index
  %out = img.group "u" schedule #schedule.block_tile<tile = [32, 3, 1], threads = [32, 1, 1], cache_inputs = 1> {
    %w = img.stage "w" (%x, %r) -> f32 place #img.place<thread, register> {
      %v = img.read %in[%x, %r] : !img.func<2xf32>
      img.yield %v : f32
    }
    %term = img.stage "term" (%x, %c, %r) -> f32 bounds #img.box<[*, 0:3, *]> {
      %v = img.read %w[%x, %r] : !img.func<2xf32>
      img.yield %v : f32
    }
    %zero = img.stage "zero" (%x, %c) -> f32 {
      %v = arith.constant 0.0 : f32
      img.yield %v : f32
    }
    %u = img.update "u" (%x, %c) over (%r in [%lo, %n]) of (%s = %zero : !img.func<2xf32>) combine [add] {
      %v = img.read %term[%x, %c, %r] : !img.func<3xf32>
      img.write %v at [%x, %c] : f32
    }
    %mean = img.stage "mean" (%x, %c) -> f32 bounds #img.box<[*, 0:2]> {
      %a = img.read %u[%x, %c] : !img.func<2xf32>
      %b = img.read %u[%x, 2] : !img.func<2xf32>
      %v = arith.divf %a, %b : f32
      img.yield %v : f32
    }
    img.yield %mean : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "out" = %out : !img.func<2xf32>
}
