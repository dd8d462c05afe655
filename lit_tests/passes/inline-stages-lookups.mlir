// RUN: pipeline-opt %s -p 'inline-stages{target=zen3}' | filecheck %s --check-prefix=CPU
// RUN: pipeline-opt %s -p 'inline-stages{target=h200}' | filecheck %s --check-prefix=GPU

// A lookup in a table is a few instructions, but a CPU's vector looks up one lane after the other: it is computed once.

// CPU:       img.stage "curve"
// CPU-COUNT-2: img.read %curve[
// GPU-NOT:   img.stage "curve"
img.pipeline @lookups {
  %in = img.input "in" : !img.func<2xui8>
  %table = img.input "table" : !img.func<1xui8>
  %curve = img.stage "curve" (%x, %y) -> ui8 {
    %v = img.read %in[%x, %y] : !img.func<2xui8>
    %w = arith.extui %v : i8 to i32
    %i = arith.index_cast %w : i32 to index
    %r = img.read %table[%i] : !img.func<1xui8>
    img.yield %r : i8
  }
  %step = img.stage "step" (%x, %y) -> ui8 {
    %a = img.read %curve[%x - 1, %y] : !img.func<2xui8>
    %b = img.read %curve[%x + 1, %y] : !img.func<2xui8>
    %d = arith.subi %b, %a : i8
    img.yield %d : i8
  }
  img.return "step" = %step : !img.func<2xui8>
}
