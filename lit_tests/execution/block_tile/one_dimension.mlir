// Blocks of one dimension have pieces of 8 and 16 bytes, and more of them where nothing is loaded: a GPU starts a block
// every 1.25 ns.

// RUN: pipeline-opt %s -p 'group-stages,tile{extent=16777216}' | filecheck %s

// CHECK: img.group "doubled" schedule #schedule.block_tile<tile = [2048], threads = [256], vector = 8>
// CHECK: img.group "constant" schedule #schedule.block_tile<tile = [8192], threads = [256], vector = 8>
img.pipeline @bytes {
  %in = img.input "in" : !img.func<1xui8>
  %doubled = img.stage "doubled" (%x) -> ui8 {
    %0 = img.read %in[%x] : !img.func<1xui8>
    %1 = arith.addi %0, %0 : i8
    img.yield %1 : i8
  }
  img.return "doubled" = %doubled : !img.func<1xui8>
}

img.pipeline @nothing {
  %constant = img.stage "constant" (%x) -> ui8 {
    %0 = arith.constant 7 : i8
    img.yield %0 : i8
  }
  img.return "constant" = %constant : !img.func<1xui8>
}
