// Places written by hand that the execution model lacks, or that clobber what is still read, are refused wherever
// the group is checked or lowered.
// RUN: pipeline-opt %s --split-input-file -p 'validate-occupancy{target=h200}' --verify-diagnostics -o /dev/null
// RUN: pipeline-opt %s --split-input-file -p 'lower-groups' --verify-diagnostics -o /dev/null

img.pipeline @both_read_by_the_output {
  %a = img.input "a" : !img.func<2xf32>
  %g = img.group "g" schedule #schedule.block_tile<tile = [32, 8], threads = [32, 8]> {
    %p = img.stage "p" (%x, %y) -> f32 place #img.place<block, shared> {
      %v = img.read %a[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    // expected-error @below {{stages 'p' and 'q' of group 'g' share slot 0 of shared memory, but 'p' is still read when 'q' is computed or after; write slot = 1 in the place of 'q'}}
    %q = img.stage "q" (%x, %y) -> f32 place #img.place<block, shared> {
      %v = img.read %a[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    %out = img.stage "out" (%x, %y) -> f32 {
      %l = img.read %p[%x, %y] : !img.func<2xf32>
      %r = img.read %q[%x, %y] : !img.func<2xf32>
      %v = arith.addf %l, %r : f32
      img.yield %v : f32
    }
    img.yield %out : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "g" = %g : !img.func<2xf32>
}

// -----

img.pipeline @read_by_the_next {
  %a = img.input "a" : !img.func<2xf32>
  %g = img.group "g" schedule #schedule.block_tile<tile = [32, 8], threads = [32, 8]> {
    %p = img.stage "p" (%x, %y) -> f32 place #img.place<block, shared> {
      %v = img.read %a[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    // expected-error @below {{stages 'p' and 'q' of group 'g' share slot 0 of shared memory, but 'p' is still read when 'q' is computed or after; write slot = 1 in the place of 'q'}}
    %q = img.stage "q" (%x, %y) -> f32 place #img.place<block, shared> {
      %v = img.read %p[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    %out = img.stage "out" (%x, %y) -> f32 {
      %v = img.read %q[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    img.yield %out : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "g" = %g : !img.func<2xf32>
}

// -----

img.pipeline @read_through_registers {
  %a = img.input "a" : !img.func<2xf32>
  %g = img.group "g" schedule #schedule.block_tile<tile = [32, 8], threads = [32, 8]> {
    %p = img.stage "p" (%x, %y) -> f32 place #img.place<block, shared> {
      %v = img.read %a[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    %t = img.stage "t" (%x, %y) -> f32 place #img.place<thread, register> {
      %v = img.read %p[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    // expected-error @below {{stages 'p' and 'q' of group 'g' share slot 0 of shared memory, but 'p' is still read when 'q' is computed or after; write slot = 1 in the place of 'q'}}
    %q = img.stage "q" (%x, %y) -> f32 place #img.place<block, shared> {
      %v = img.read %a[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    %out = img.stage "out" (%x, %y) -> f32 {
      %l = img.read %t[%x, %y] : !img.func<2xf32>
      %r = img.read %q[%x, %y] : !img.func<2xf32>
      %v = arith.addf %l, %r : f32
      img.yield %v : f32
    }
    img.yield %out : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "g" = %g : !img.func<2xf32>
}

// -----

img.pipeline @one_after_another {
  %a = img.input "a" : !img.func<2xf32>
  %g = img.group "g" schedule #schedule.block_tile<tile = [32, 8], threads = [32, 8]> {
    %p = img.stage "p" (%x, %y) -> f32 place #img.place<block, shared> {
      %v = img.read %a[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    %m = img.stage "m" (%x, %y) -> f32 place #img.place<block, shared, slot = 1> {
      %v = img.read %p[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    %q = img.stage "q" (%x, %y) -> f32 place #img.place<block, shared> {
      %v = img.read %m[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    %out = img.stage "out" (%x, %y) -> f32 {
      %v = img.read %q[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    img.yield %out : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "g" = %g : !img.func<2xf32>
}

// -----

img.pipeline @warp_registers_in_a_block_tile {
  %a = img.input "a" : !img.func<2xf32>
  %g = img.group "g" schedule #schedule.block_tile<tile = [32, 8], threads = [32, 8]> {
    // expected-error @below {{stage 'p': #img.place<warp, register> is no place in group 'g', a block_tile; write #img.place<block, shared> or #img.place<thread, register>}}
    %p = img.stage "p" (%x, %y) -> f32 place #img.place<warp, register> {
      %v = img.read %a[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    %out = img.stage "out" (%x, %y) -> f32 {
      %v = img.read %p[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    img.yield %out : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "g" = %g : !img.func<2xf32>
}

// -----

img.pipeline @block_registers_in_a_block_tile {
  %a = img.input "a" : !img.func<2xf32>
  %g = img.group "g" schedule #schedule.block_tile<tile = [32, 8], threads = [32, 8]> {
    // expected-error @below {{stage 'p': #img.place<block, register> is no place in group 'g', a block_tile; write #img.place<block, shared> or #img.place<thread, register>}}
    %p = img.stage "p" (%x, %y) -> f32 place #img.place<block, register> {
      %v = img.read %a[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    %out = img.stage "out" (%x, %y) -> f32 {
      %v = img.read %p[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    img.yield %out : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "g" = %g : !img.func<2xf32>
}

// -----

img.pipeline @shared_memory_in_a_warp_tile {
  %a = img.input "a" : !img.func<2xf32>
  %g = img.group "g" schedule #schedule.warp_tile<tile = [128, 16], threads = [32, 4], vector = 4> {
    // expected-error @below {{stage 'p': #img.place<block, shared> is no place in group 'g', a warp_tile; write #img.place<warp, register> or #img.place<block, register>}}
    %p = img.stage "p" (%x, %y) -> f32 place #img.place<block, shared> {
      %v = img.read %a[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    %out = img.stage "out" (%x, %y) -> f32 {
      %v = img.read %p[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    img.yield %out : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "g" = %g : !img.func<2xf32>
}

// -----

img.pipeline @thread_registers_in_a_warp_tile {
  %a = img.input "a" : !img.func<2xf32>
  %g = img.group "g" schedule #schedule.warp_tile<tile = [128, 16], threads = [32, 4], vector = 4> {
    // expected-error @below {{stage 'p': #img.place<thread, register> is no place in group 'g', a warp_tile; write #img.place<warp, register> or #img.place<block, register>}}
    %p = img.stage "p" (%x, %y) -> f32 place #img.place<thread, register> {
      %v = img.read %a[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    %out = img.stage "out" (%x, %y) -> f32 {
      %v = img.read %p[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    img.yield %out : !img.func<2xf32>
  } : !img.func<2xf32>
  img.return "g" = %g : !img.func<2xf32>
}
