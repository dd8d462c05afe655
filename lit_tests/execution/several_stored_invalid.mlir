// Groups that store stages which tiles cannot share out.
// RUN: pipeline-opt %s --split-input-file --verify-diagnostics -p 'tile{shape=block_tile sizes=32,8 threads=32,8},promote-memory,validate-occupancy'

img.pipeline @nothing_in_common {
  %a = img.input "a" : !img.func<2xf32>
  %b = img.input "b" : !img.func<2xf32>
  // expected-error @below {{group 'g': no read of 'f' relates its points to those of 'h'}}
  %g:2 = img.group "g" {
    %f = img.stage "f" (%x, %y) -> f32 {
      %v = img.read %a[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    %h = img.stage "h" (%x, %y) -> f32 {
      %v = img.read %b[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    img.yield %f, %h : !img.func<2xf32>, !img.func<2xf32>
  } : !img.func<2xf32>, !img.func<2xf32>
  img.return "f" = %g#0 : !img.func<2xf32>, "h" = %g#1 : !img.func<2xf32>
}

// -----

img.pipeline @a_row {
  %a = img.input "a" : !img.func<1xf32>
  // expected-error @below {{group 'g': 'f', which is stored, does not follow each dimension of the tile of 'h' once}}
  %g:2 = img.group "g" {
    %f = img.stage "f" (%x) -> f32 {
      %v = img.read %a[%x] : !img.func<1xf32>
      img.yield %v : f32
    }
    %h = img.stage "h" (%x, %y) -> f32 {
      %v = img.read %f[%x] : !img.func<1xf32>
      img.yield %v : f32
    }
    img.yield %f, %h : !img.func<1xf32>, !img.func<2xf32>
  } : !img.func<1xf32>, !img.func<2xf32>
  img.return "f" = %g#0 : !img.func<1xf32>, "h" = %g#1 : !img.func<2xf32>
}

// -----

img.pipeline @mirrored {
  %a = img.input "a" : !img.func<2xf32>
  // expected-error @below {{group 'g': 'f', which is stored, runs against the tile of 'h' in dimension 0}}
  %g:2 = img.group "g" {
    %f = img.stage "f" (%x, %y) -> f32 {
      %v = img.read %a[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    %h = img.stage "h" (%x, %y) -> f32 {
      %v = img.read %f[-%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    img.yield %f, %h : !img.func<2xf32>, !img.func<2xf32>
  } : !img.func<2xf32>, !img.func<2xf32>
  img.return "f" = %g#0 : !img.func<2xf32>, "h" = %g#1 : !img.func<2xf32>
}

// -----

img.pipeline @one_plane {
  %a = img.input "a" : !img.func<3xf32>
  // expected-error @below {{group 'g': 'f', which is stored, does not follow the tile of 'h' in dimension 2; declare this dimension small with bound}}
  %g:2 = img.group "g" {
    %f = img.stage "f" (%x, %y, %z) -> f32 {
      %v = img.read %a[%x, %y, %z] : !img.func<3xf32>
      img.yield %v : f32
    }
    %h = img.stage "h" (%x, %y) -> f32 {
      %v = img.read %f[%x, %y, 0] : !img.func<3xf32>
      img.yield %v : f32
    }
    img.yield %f, %h : !img.func<3xf32>, !img.func<2xf32>
  } : !img.func<3xf32>, !img.func<2xf32>
  img.return "f" = %g#0 : !img.func<3xf32>, "h" = %g#1 : !img.func<2xf32>
}

// -----

img.pipeline @registers {
  %a = img.input "a" : !img.func<2xf32>
  %g:2 = img.group "g" {
    // expected-error @below {{stage 'f' is stored, and has a different number of points than 'h', so it cannot be in registers; write #img.place<block, shared>}}
    %f = img.stage "f" (%x, %y) -> f32 place #img.place<thread, register> {
      %v = img.read %a[%x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    %h = img.stage "h" (%x, %y) -> f32 {
      %v = img.read %f[2 * %x, %y] : !img.func<2xf32>
      img.yield %v : f32
    }
    img.yield %f, %h : !img.func<2xf32>, !img.func<2xf32>
  } : !img.func<2xf32>, !img.func<2xf32>
  img.return "f" = %g#0 : !img.func<2xf32>, "h" = %g#1 : !img.func<2xf32>
}
