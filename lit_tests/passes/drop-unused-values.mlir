// RUN: pipeline-opt %s --split-input-file -p drop-unused-values | filecheck %s

// What only a dropped value reads is dropped, too; names and bounds stay.

// CHECK-LABEL: img.pipeline @two
// CHECK-NOT:  "unread"
// CHECK:      img.stage "f" (%x) -> ui8 bounds
// CHECK-NEXT:   [[V:%.*]] = img.read %in[%x] : !img.func<1xui8>
// CHECK-NEXT:   img.yield [[V]] : i8
// CHECK:      img.return "g"
img.pipeline @two {
  %in = img.input "in" : !img.func<1xui8>
  %unread = img.stage "unread" (%x) -> f32 {
    %r = img.read %in[%x + 1] : !img.func<1xui8>
    %s = arith.uitofp %r : i8 to f32
    img.yield %s : f32
  }
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %clamped = img.boundary repeat_edge %unread dims [0] in [%c0] by [%c8] : !img.func<1xf32>
  %f:2 = img.stage "f" (%x) -> (f32, ui8) bounds #img.box<[0:8]> {
    %a = img.read %clamped[%x] : !img.func<1xf32>
    %b = img.read %in[%x] : !img.func<1xui8>
    %c = arith.addf %a, %a : f32
    img.yield %c, %b : f32, i8
  }
  %g = img.stage "g" (%x) -> ui8 {
    %v = img.read %f#1[%x] : !img.func<1xui8>
    img.yield %v : i8
  }
  img.return "g" = %g : !img.func<1xui8>
}

// -----

// What an update writes over is read by it.

// CHECK-LABEL: img.pipeline @updated
// CHECK:      img.stage "f" (%x) -> (ui8, f32)
img.pipeline @updated {
  %in = img.input "in" : !img.func<1xui8>
  %f:2 = img.stage "f" (%x) -> (ui8, f32) {
    %b = img.read %in[%x] : !img.func<1xui8>
    %s = arith.uitofp %b : i8 to f32
    img.yield %b, %s : i8, f32
  }
  %h:2 = img.update "u" (%x) of (%c = %f#0 : !img.func<1xui8>, %d = %f#1 : !img.func<1xf32>) combine [set, set] {
    %b = img.read %c[%x] : !img.func<1xui8>
    %e = img.read %d[%x] : !img.func<1xf32>
    img.write %b, %e at [%x] : i8, f32
  }
  img.return "h" = %h#0 : !img.func<1xui8>
}

// -----

// Lines are printed, whether or not the value is read.

// CHECK-LABEL: img.pipeline @printed
// CHECK:      img.stage "f" (%x) -> (ui8, ui8)
img.pipeline @printed {
  %in = img.input "in" : !img.func<1xui8>
  %f:2 = img.stage "f" (%x) -> (ui8, ui8) {
    %b = img.read %in[%x] : !img.func<1xui8>
    %condition = arith.constant true
    %n = arith.extui %b : i8 to i64
    %line = img.print %b when %condition, "%lld\n"(%n : i64) : i8
    img.yield %b, %line : i8, i8
  }
  img.return "f" = %f#0 : !img.func<1xui8>
}
