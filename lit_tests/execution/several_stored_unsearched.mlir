// A group that no tile shares out is refused where a schedule is searched, too.
// RUN: pipeline-opt %s --verify-diagnostics -p tile -o /dev/null
// RUN: pipeline-opt %s --verify-diagnostics -p 'tile{target=cpu}' -o /dev/null

img.pipeline @one_plane {
  %a = img.input "a" : !img.func<3xf32>
  // expected-error @below {{group 'g': 'f', which is stored, does not follow the tile of 'h' in dimension 2; declare this dimension small with bound}}
  %g:2 = img.group "g" {
    %f = img.stage "f" (%x, %y, %z) -> f32 {
      %v = img.read %a[%x, %y, %z] : !img.func<3xf32>
      img.yield %v : f32
    }
    %h = img.stage "h" (%x, %y) -> f32 {
      %v = img.read %f[%x, %y, 1000] : !img.func<3xf32>
      img.yield %v : f32
    }
    img.yield %f, %h : !img.func<3xf32>, !img.func<2xf32>
  } : !img.func<3xf32>, !img.func<2xf32>
  img.return "f" = %g#0 : !img.func<3xf32>, "h" = %g#1 : !img.func<2xf32>
}
