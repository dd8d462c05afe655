// RUN: pipeline-opt %s --split-input-file -p inline-stages | filecheck %s
// RUN: pipeline-opt %s --split-input-file -p inline-stages,inline-stages | filecheck %s
// RUN: pipeline-opt %s --split-input-file -p 'inline-stages{max_instructions=0 max_reads=0}' | filecheck %s --check-prefix=NONE

// A product is cheaper to compute twice than to store; the indices compose.

// CHECK-LABEL: img.pipeline @cheap
// CHECK-NOT:     img.stage "square"
// CHECK:         img.stage "edges" (%x) -> f32 {
// CHECK-NEXT:      [[A:%.*]] = 
// CHECK-NEXT:      [[AA:%.*]] = arith.mulf [[A]], [[A]] : f32
// CHECK-NEXT:      [[B:%.*]] = img.read %in[%x * 2] : !img.func<1xf32>
// CHECK-NEXT:      [[BB:%.*]] = arith.mulf [[B]], [[B]] : f32
// CHECK-NEXT:      [[D:%.*]] = arith.subf [[AA]], [[BB]] : f32
// CHECK-NEXT:      img.yield [[D]] : f32
// NONE-LABEL:  img.pipeline @cheap
// NONE:          img.stage "square"
img.pipeline @cheap {
  %in = img.input "in" : !img.func<1xf32>
  %square = img.stage "square" (%x) -> f32 {
    %v = img.read %in[%x] : !img.func<1xf32>
    %s = arith.mulf %v, %v : f32
    img.yield %s : f32
  }
  %edges = img.stage "edges" (%x) -> f32 {
    %a = img.read %square[2 * %x + 1] : !img.func<1xf32>
    %b = img.read %square[2 * %x] : !img.func<1xf32>
    %d = arith.subf %a, %b : f32
    img.yield %d : f32
  }
  img.return "edges" = %edges : !img.func<1xf32>
}

// -----

// Read at one place: nothing is computed twice, so no cost is too high. Coordinates used as values follow.

// CHECK-LABEL: img.pipeline @once
// CHECK:         img.stage "g" (%x) -> f32 {
// CHECK-NEXT:      [[READ:%.*]] = img.read %in[%x - 3]
// CHECK:           [[AT:%.*]] = arith.addi %x, {{%.*}} : index
// CHECK:           arith.index_cast [[AT]] : index to i32
// CHECK:           math.powf
// NONE-LABEL:  img.pipeline @once
// NONE:          img.stage "g"
// NONE-NOT:      img.stage "f"
img.pipeline @once {
  %in = img.input "in" : !img.func<1xf32>
  %f = img.stage "f" (%x) -> f32 {
    %v = img.read %in[%x - 1] : !img.func<1xf32>
    %i = arith.index_cast %x : index to i32
    %w = arith.sitofp %i : i32 to f32
    %p = math.powf %v, %w : f32
    %q = math.powf %p, %w : f32
    img.yield %q : f32
  }
  %g = img.stage "g" (%x) -> f32 {
    %v = img.read %f[%x - 2] : !img.func<1xf32>
    img.yield %v : f32
  }
  img.return "g" = %g : !img.func<1xf32>
}

// -----

// A stage that yields what it reads.

// CHECK-LABEL: img.pipeline @copy
// CHECK:         img.stage "g" (%x) -> f32 {
// CHECK-NEXT:      [[V:%.*]] = img.read %in[%x + 3] : !img.func<1xf32>
// CHECK-NEXT:      img.yield [[V]] : f32
// NONE-LABEL:  img.pipeline @copy
// NONE-NOT:      img.stage "f"
img.pipeline @copy {
  %in = img.input "in" : !img.func<1xf32>
  %f = img.stage "f" (%x) -> f32 {
    %v = img.read %in[%x + 1] : !img.func<1xf32>
    img.yield %v : f32
  }
  %g = img.stage "g" (%x) -> f32 {
    %v = img.read %f[%x + 2] : !img.func<1xf32>
    img.yield %v : f32
  }
  img.return "g" = %g : !img.func<1xf32>
}

// -----

// What stays: an output, a stage under a boundary, one placed by hand, and dear ones read at several places.

// CHECK-LABEL: img.pipeline @stays
// CHECK:         img.stage "output"
// CHECK:         img.stage "bounded"
// CHECK:         img.stage "placed"
// CHECK:         img.stage "dear"
// CHECK:         img.stage "last"
// NONE-LABEL:  img.pipeline @stays
// NONE:          img.stage "last"
img.pipeline @stays {
  %in = img.input "in" : !img.func<1xf32>
  %zero = arith.constant 0 : index
  %four = arith.constant 4 : index
  %output = img.stage "output" (%x) -> f32 {
    %v = img.read %in[%x] : !img.func<1xf32>
    img.yield %v : f32
  }
  %bounded = img.stage "bounded" (%x) -> f32 {
    %v = img.read %in[%x] : !img.func<1xf32>
    img.yield %v : f32
  }
  %edged = img.boundary repeat_edge %bounded dims [0] in [%zero] by [%four] : !img.func<1xf32>
  %placed = img.stage "placed" (%x) -> f32 place #img.place<block, shared> {
    %v = img.read %in[%x] : !img.func<1xf32>
    img.yield %v : f32
  }
  %dear = img.stage "dear" (%x) -> f32 {
    %v = img.read %in[%x] : !img.func<1xf32>
    %p = math.powf %v, %v : f32
    img.yield %p : f32
  }
  %last = img.stage "last" (%x) -> f32 {
    %a = img.read %output[%x] : !img.func<1xf32>
    %b = img.read %edged[%x] : !img.func<1xf32>
    %c = img.read %placed[%x] : !img.func<1xf32>
    %d = img.read %dear[%x] : !img.func<1xf32>
    %e = img.read %dear[%x + 1] : !img.func<1xf32>
    %ab = arith.addf %a, %b : f32
    %cd = arith.addf %c, %d : f32
    %abcd = arith.addf %ab, %cd : f32
    %r = arith.addf %abcd, %e : f32
    img.yield %r : f32
  }
  img.return "output" = %output : !img.func<1xf32>, "last" = %last : !img.func<1xf32>
}

// -----

// Read at one place, but by more points than it has: what is stored is the last of what has 256 points.

// CHECK-LABEL: img.pipeline @table
// CHECK-NOT:     img.stage "powers"
// CHECK:         img.stage "scaled" (%i) -> f32 {
// CHECK:         img.stage "out" (%x, %y) -> f32 {
// NONE-LABEL:  img.pipeline @table
// NONE-NOT:      img.stage "powers"
// NONE:          img.stage "scaled"
img.pipeline @table {
  %in = img.input "in" : !img.func<2xui8>
  %powers = img.stage "powers" (%i) -> f32 {
    %n = arith.index_cast %i : index to i32
    %v = arith.sitofp %n : i32 to f32
    %p = math.powf %v, %v : f32
    img.yield %p : f32
  }
  %scaled = img.stage "scaled" (%i) -> f32 {
    %v = img.read %powers[%i] : !img.func<1xf32>
    %half = arith.constant 0.5 : f32
    %s = arith.mulf %v, %half : f32
    img.yield %s : f32
  }
  %out = img.stage "out" (%x, %y) -> f32 {
    %v = img.read %in[%x, %y] : !img.func<2xui8>
    %n = arith.extui %v : i8 to i32
    %i = arith.index_cast %n : i32 to index
    %r = img.read %scaled[%i] : !img.func<1xf32>
    img.yield %r : f32
  }
  img.return "out" = %out : !img.func<2xf32>
}

// -----

// An update and a stage are no one kernel: each computes the brightness where it reads it, in place of storing it.

// CHECK-LABEL: img.pipeline @of_an_update
// CHECK-NOT:     img.stage "bright"
// CHECK:         img.update "hist" () over (%x in
// CHECK-COUNT-3:   img.read %in[%x, %y, {{[0-2]}}]
// CHECK:           img.write
// CHECK:         img.stage "out" (%x_1, %y_1)
// CHECK-COUNT-3:   img.read %in[%x_1, %y_1, {{[0-2]}}]
// CHECK:           img.read %hist
// NONE-LABEL:  img.pipeline @of_an_update
// NONE-NOT:      img.stage "bright"
img.pipeline @of_an_update {
  %in = img.input "in" : !img.func<3xui8>
  %w = img.extent 0 of %in : !img.func<3xui8>
  %h = img.extent 1 of %in : !img.func<3xui8>
  %zero = arith.constant 0 : index
  %bright = img.stage "bright" (%x, %y) -> ui8 {
    %r = img.read %in[%x, %y, 0] : !img.func<3xui8>
    %g = img.read %in[%x, %y, 1] : !img.func<3xui8>
    %b = img.read %in[%x, %y, 2] : !img.func<3xui8>
    %rg = arith.maxui %r, %g : i8
    %rgb = arith.maxui %rg, %b : i8
    img.yield %rgb : i8
  }
  %start = img.stage "start" (%i) -> ui32 {
    %c = arith.constant 0 : i32
    img.yield %c : i32
  }
  %hist = img.update "hist" () over (%x in [%zero, %w], %y in [%zero, %h]) of (%old = %start : !img.func<1xui32>) combine [add] {
    %v = img.read %bright[%x, %y] : !img.func<2xui8>
    %n = arith.extui %v : i8 to i32
    %i = arith.index_cast %n : i32 to index
    %one = arith.constant 1 : i32
    img.write %one at [%i] : i32
  }
  %out = img.stage "out" (%x, %y) -> ui32 {
    %v = img.read %bright[%x, %y] : !img.func<2xui8>
    %n = arith.extui %v : i8 to i32
    %i = arith.index_cast %n : i32 to index
    %count = img.read %hist[%i] : !img.func<1xui32>
    img.yield %count : i32
  }
  img.return "out" = %out : !img.func<2xui32>
}

// -----

// Planes of an input that one reader combines: three places together read each value once.

// CHECK-LABEL: img.pipeline @planes
// CHECK-NOT:     img.stage "difference"
// CHECK:         img.stage "cost"
// CHECK-COUNT-6:   img.read %in[
img.pipeline @planes {
  %in = img.input "in" : !img.func<3xf32>
  %difference = img.stage "difference" (%x, %y, %c) -> f32 {
    %a = img.read %in[%x, %y, %c] : !img.func<3xf32>
    %b = img.read %in[%x + 3, %y, %c] : !img.func<3xf32>
    %d = arith.subf %a, %b : f32
    %q = arith.divf %d, %b : f32
    img.yield %q : f32
  }
  %cost = img.stage "cost" (%x, %y) -> f32 {
    %a = img.read %difference[%x, %y, 0] : !img.func<3xf32>
    %b = img.read %difference[%x, %y, 1] : !img.func<3xf32>
    %c = img.read %difference[%x, %y, 2] : !img.func<3xf32>
    %ab = arith.addf %a, %b : f32
    %abc = arith.addf %ab, %c : f32
    img.yield %abc : f32
  }
  img.return "cost" = %cost : !img.func<2xf32>
}

// -----

// Planes beside one another, four for each point of the reader: each is read once, by one point, and made of what is
// in memory (a table that data point into, an input, and a stage of that at the same points).

// CHECK-LABEL: img.pipeline @rows_of_a_matrix
// CHECK-NOT:     img.stage "matrix"
// CHECK:         img.stage "out"
img.pipeline @rows_of_a_matrix {
  %in = img.input "in" : !img.func<2xui8>
  %table = img.input "table" : !img.func<2xf32>
  %coarse = img.stage "coarse" (%z, %c) -> f32 {
    %a = img.read %table[%z, %c] : !img.func<2xf32>
    %r = math.sqrt %a : f32
    img.yield %r : f32
  }
  %level = img.stage "level" (%x, %y) -> ui8 {
    %a = img.read %in[%x, %y] : !img.func<2xui8>
    %b = img.read %in[%x + 1, %y] : !img.func<2xui8>
    %m = arith.maxui %a, %b : i8
    img.yield %m : i8
  }
  %matrix = img.stage "matrix" (%x, %y, %c) -> f32 {
    %v = img.read %level[%x, %y] : !img.func<2xui8>
    %n = arith.extui %v : i8 to i32
    %i = arith.index_cast %n : i32 to index
    %a = img.read %coarse[%i, %c] : !img.func<2xf32>
    %b = img.read %coarse[%i + 1, %c] : !img.func<2xf32>
    %s = arith.addf %a, %b : f32
    %q = arith.divf %s, %b : f32
    img.yield %q : f32
  }
  %out = img.stage "out" (%x, %y, %c) -> f32 bounds #img.box<[*, *, 0:3]> {
    %a = img.read %matrix[%x, %y, 2 * %c] : !img.func<3xf32>
    %b = img.read %matrix[%x, %y, 2 * %c + 1] : !img.func<3xf32>
    %ab = arith.mulf %a, %b : f32
    img.yield %ab : f32
  }
  img.return "out" = %out : !img.func<3xf32>
}

// -----

// Not where a point of the reader reads a plane of the next one, too: that would be computed twice.

// CHECK-LABEL: img.pipeline @windows_of_planes
// CHECK:         img.stage "matrix"
img.pipeline @windows_of_planes {
  %in = img.input "in" : !img.func<3xf32>
  %matrix = img.stage "matrix" (%x, %y, %c) -> f32 {
    %a = img.read %in[%x, %y, %c] : !img.func<3xf32>
    %b = img.read %in[%x + 3, %y, %c] : !img.func<3xf32>
    %d = arith.subf %a, %b : f32
    %q = arith.divf %d, %b : f32
    img.yield %q : f32
  }
  %out = img.stage "out" (%x, %y, %c) -> f32 bounds #img.box<[*, *, 0:3]> {
    %a = img.read %matrix[%x, %y, 2 * %c] : !img.func<3xf32>
    %b = img.read %matrix[%x, %y, 2 * %c + 2] : !img.func<3xf32>
    %ab = arith.mulf %a, %b : f32
    img.yield %ab : f32
  }
  img.return "out" = %out : !img.func<3xf32>
}

// -----

// A layer of a network reads the one before at each of its weights: the maximum with 0 is taken once, where that is
// stored, and not once for each weight. A sum that reads each point once takes it as it reads.

// CHECK-LABEL: img.pipeline @layers
// CHECK:         img.stage "positive" (
// CHECK-NOT:     img.stage "positive_1"
// CHECK:         img.update "mixed"
// CHECK:           arith.maxnumf
img.pipeline @layers {
  %in = img.input "in" : !img.func<3xf32>
  %weights = img.input "weights" : !img.func<2xf32>
  %zero = arith.constant 0 : index
  %many = arith.constant 64 : index
  %three = arith.constant 3 : index
  %none = img.stage "none" (%x, %y, %c) -> f32 bounds #img.box<[*, *, 0:64]> {
    %v = arith.constant 0.0 : f32
    img.yield %v : f32
  }
  %first = img.update "first" (%x, %y, %c) over (%r in [%zero, %many]) of (%old = %none : !img.func<3xf32>) combine [add] {
    %v = img.read %in[%x, %y, %r] : !img.func<3xf32>
    %w = img.read %weights[%c, %r] : !img.func<2xf32>
    %p = arith.mulf %v, %w : f32
    img.write %p at [%x, %y, %c] : f32
  }
  %positive = img.stage "positive" (%x, %y, %c) -> f32 {
    %v = img.read %first[%x, %y, %c] : !img.func<3xf32>
    %0 = arith.constant 0.0 : f32
    %m = arith.maxnumf %v, %0 : f32
    img.yield %m : f32
  }
  %none_1 = img.stage "none_1" (%x, %y, %c) -> f32 bounds #img.box<[*, *, 0:64]> {
    %v = arith.constant 0.0 : f32
    img.yield %v : f32
  }
  %second = img.update "second" (%x, %y, %c) over (%r in [%zero, %many], %k in [%zero, %three]) of (%old = %none_1 : !img.func<3xf32>) combine [add] {
    %v = img.read %positive[%x + %k, %y, %r] : !img.func<3xf32>
    %w = img.read %weights[%c, %r + 64 * %k] : !img.func<2xf32>
    %p = arith.mulf %v, %w : f32
    img.write %p at [%x, %y, %c] : f32
  }
  %positive_1 = img.stage "positive_1" (%x, %y, %c) -> f32 {
    %v = img.read %second[%x, %y, %c] : !img.func<3xf32>
    %0 = arith.constant 0.0 : f32
    %m = arith.maxnumf %v, %0 : f32
    img.yield %m : f32
  }
  %none_2 = img.stage "none_2" (%x, %y) -> f32 {
    %v = arith.constant 0.0 : f32
    img.yield %v : f32
  }
  %mixed = img.update "mixed" (%x, %y) over (%r in [%zero, %many]) of (%old = %none_2 : !img.func<2xf32>) combine [add] {
    %v = img.read %positive_1[%x, %y, %r] : !img.func<3xf32>
    img.write %v at [%x, %y] : f32
  }
  img.return "mixed" = %mixed : !img.func<2xf32>
}
