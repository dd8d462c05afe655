// RUN: TILEFUSE_INVALID

// img.pipeline

// expected-error @below {{must end in img.return}}
"img.pipeline"() <{sym_name = "p"}> ({
  %f = "img.input"() <{sym_name = "f"}> : () -> !img.func<1xf32>
  "test.termop"() : () -> ()
}) : () -> ()

// -----

// expected-error @below {{two stages, inputs or params are called 'f'}}
img.pipeline @p {
  %f = img.input "f" : !img.func<1xf32>
  %g = img.param "f" of f32 : f32
  img.return "f" = %f : !img.func<1xf32>
}

// -----

// A pipeline cannot see what stands outside it.
%outside = "test.op"() : () -> !img.func<1xf32>
// expected-error @below {{value defined out of its IsolatedFromAbove parent}}
img.pipeline @p {
  img.return "f" = %outside : !img.func<1xf32>
}

// -----

// A cyclic pipeline.
img.pipeline @p {
  %f = img.stage "f" (%x) -> f32 {
    // expected-error @below {{%g is used before it is defined}}
    %v = img.read %g[%x] : !img.func<1xf32>
    img.yield %v : f32
  }
  %g = img.stage "g" (%x) -> f32 {
    %v = img.read %f[%x] : !img.func<1xf32>
    img.yield %v : f32
  }
  img.return "g" = %g : !img.func<1xf32>
}

// -----

// A stage that reads itself.
img.pipeline @p {
  %f = img.stage "f" (%x) -> f32 {
    // expected-error @below {{%f is used before it is defined}}
    %v = img.read %f[%x - 1] : !img.func<1xf32>
    img.yield %v : f32
  }
  img.return "f" = %f : !img.func<1xf32>
}

// -----

// img.input

img.pipeline @p {
  // expected-error @below {{input 'f': bounds name 1 dimensions of 2}}
  %f = img.input "f" bounds #img.box<[0:3]> : !img.func<2xf32>
  img.return "f" = %f : !img.func<2xf32>
}

// -----

img.pipeline @p {
  // expected-error @below {{input 'f': estimate names 1 dimensions of 2}}
  %f = img.input "f" estimate #img.box<[0:3]> : !img.func<2xf32>
  img.return "f" = %f : !img.func<2xf32>
}

// -----

img.pipeline @p {
  // expected-error @below {{input 'f': layout names 3 strides of 2}}
  %f = img.input "f" layout strided<[1, ?, ?]> : !img.func<2xf32>
  img.return "f" = %f : !img.func<2xf32>
}

// -----

// expected-error @below {{'img.input' expects parent op 'img.pipeline'}}
%f = img.input "f" : !img.func<2xf32>

// -----

img.pipeline @p {
  // expected-error @below {{img.input: result 'func' at position 0 does not verify: f32 should be of base attribute img.func}}
  %f = "img.input"() <{sym_name = "f"}> : () -> f32
  img.return "f" = %f : f32
}

// -----

// expected-error @below {{'img.param' expects parent op 'img.pipeline'}}
%k = img.param "k" of f32 : f32

// -----

// img.param

img.pipeline @p {
  // expected-error @below {{param 'k' of ui8 gives i8, not f32}}
  %k = img.param "k" of ui8 : f32
  %f = img.input "f" : !img.func<1xf32>
  img.return "f" = %f : !img.func<1xf32>
}

// -----

img.pipeline @p {
  // expected-error @below {{param 'k': i9 is not a pixel type}}
  %k = img.param "k" of i9 : i9
  %f = img.input "f" : !img.func<1xf32>
  img.return "f" = %f : !img.func<1xf32>
}

// -----

// img.min, img.extent

img.pipeline @p {
  %f = img.input "f" : !img.func<2xf32>
  // expected-error @below {{img.min: no dimension 2 in !img.func<2xf32>}}
  %m = img.min 2 of %f : !img.func<2xf32>
  img.return "f" = %f : !img.func<2xf32>
}

// -----

img.pipeline @p {
  %f = img.input "f" : !img.func<1xf32>
  %g = img.stage "g" (%x) -> f32 {
    %v = img.read %f[%x] : !img.func<1xf32>
    img.yield %v : f32
  }
  // expected-error @below {{img.extent needs an input; a stage has no box}}
  %m = img.extent 0 of %g : !img.func<1xf32>
  img.return "g" = %g : !img.func<1xf32>
}

// -----

// img.boundary

img.pipeline @p {
  %f = img.input "f" : !img.func<2xf32>
  // expected-error @below {{dims [0, 0] are not distinct dimensions of !img.func<2xf32>}}
  %b = img.boundary repeat_edge %f dims [0, 0] : !img.func<2xf32>
  img.return "b" = %b : !img.func<2xf32>
}

// -----

img.pipeline @p {
  %f = img.input "f" : !img.func<2xf32>
  // expected-error @below {{dims [2] are not distinct dimensions of !img.func<2xf32>}}
  %b = img.boundary mirror_image %f dims [2] : !img.func<2xf32>
  img.return "b" = %b : !img.func<2xf32>
}

// -----

img.pipeline @p {
  %f = img.input "f" : !img.func<2xf32>
  // expected-error @below {{constant_exterior needs 'value'}}
  %b = img.boundary constant_exterior %f dims [0, 1] : !img.func<2xf32>
  img.return "b" = %b : !img.func<2xf32>
}

// -----

img.pipeline @p {
  %f = img.input "f" : !img.func<2xf32>
  %k = img.param "k" of f32 : f32
  // expected-error @below {{the other kinds take none}}
  %b = img.boundary repeat_image %f dims [0, 1] value %k : !img.func<2xf32>
  img.return "b" = %b : !img.func<2xf32>
}

// -----

img.pipeline @p {
  %f = img.input "f" : !img.func<2xui8>
  %k = img.param "k" of f32 : f32
  // expected-error @below {{operand is used with type i8, but has been previously used or defined with type f32}}
  %b = img.boundary constant_exterior %f dims [0, 1] value %k : !img.func<2xui8>
  img.return "b" = %b : !img.func<2xui8>
}

// -----

img.pipeline @p {
  %f = img.input "f" : !img.func<1xui8>
  %k = img.param "k" of f32 : f32
  // expected-error @below {{the exterior of !img.func<1xui8> is i8, not f32}}
  %b = "img.boundary"(%f, %k) <{kind = #img<boundary_kind constant_exterior>, dims = array<i64: 0>, operandSegmentSizes = array<i32: 1, 0, 0, 1>}> : (!img.func<1xui8>, f32) -> !img.func<1xui8>
  img.return "b" = %b : !img.func<1xui8>
}

// -----

img.pipeline @p {
  %f = img.input "f" : !img.func<2xf32>
  %m = img.min 0 of %f : !img.func<2xf32>
  // expected-error @below {{1 mins and 1 extents for 2 dims}}
  %b = img.boundary repeat_edge %f dims [0, 1] in [%m] by [%m] : !img.func<2xf32>
  img.return "b" = %b : !img.func<2xf32>
}

// -----

img.pipeline @p {
  %f = img.input "f" : !img.func<1xf32>
  %g = img.stage "g" (%x) -> f32 {
    %v = img.read %f[%x] : !img.func<1xf32>
    img.yield %v : f32
  }
  // expected-error @below {{only an input has a box of its own; give the box with 'in [...] by [...]'}}
  %b = img.boundary repeat_edge %g dims [0] : !img.func<1xf32>
  img.return "b" = %b : !img.func<1xf32>
}

// -----

img.pipeline @p {
  %f = img.input "f" : !img.func<1xf32>
  // expected-error @below {{img.boundary of !img.func<1xf32> gives !img.func<1xui8>}}
  %b = "img.boundary"(%f) <{kind = #img<boundary_kind repeat_edge>, dims = array<i64: 0>, operandSegmentSizes = array<i32: 1, 0, 0, 0>}> : (!img.func<1xf32>) -> !img.func<1xui8>
  img.return "b" = %b : !img.func<1xui8>
}

// -----

img.pipeline @p {
  %f = img.input "f" : !img.func<1xf32>
  // expected-error @below {{expected an img.func type}}
  %b = img.boundary repeat_edge %f dims [0] : f32
  img.return "b" = %b : f32
}

// -----

img.pipeline @p {
  %f = img.input "f" : !img.func<1xf32>
  // expected-error @below {{repeat_edge}}
  %b = img.boundary repeat_edges %f dims [0] : !img.func<1xf32>
  img.return "b" = %b : !img.func<1xf32>
}

// -----

// img.stage

img.pipeline @p {
  // expected-error @below {{stage 'f' yields (f32) but its type says (i8)}}
  %f = img.stage "f" (%x) -> ui8 {
    %v = arith.constant 1.0 : f32
    img.yield %v : f32
  }
  img.return "f" = %f : !img.func<1xui8>
}

// -----

img.pipeline @p {
  // expected-error @below {{stage 'f' must end in img.yield}}
  %f = "img.stage"() <{sym_name = "f"}> ({
  ^bb0(%x: index):
    "test.termop"() : () -> ()
  }) : () -> !img.func<1xf32>
  img.return "f" = %f : !img.func<1xf32>
}

// -----

img.pipeline @p {
  // expected-error @below {{stage 'f': coordinates must be of type index}}
  %f = "img.stage"() <{sym_name = "f"}> ({
  ^bb0(%x: i32):
    %v = arith.constant 1.0 : f32
    img.yield %v : f32
  }) : () -> !img.func<1xf32>
  img.return "f" = %f : !img.func<1xf32>
}

// -----

img.pipeline @p {
  // expected-error @below {{stage 'f' has no value}}
  "img.stage"() <{sym_name = "f"}> ({
  ^bb0(%x: index):
    "img.yield"() : () -> ()
  }) : () -> ()
  %g = img.input "g" : !img.func<1xf32>
  img.return "g" = %g : !img.func<1xf32>
}

// -----

img.pipeline @p {
  // expected-error @below {{stage 'f' has 1 coordinates but a result of rank 2}}
  %f = "img.stage"() <{sym_name = "f"}> ({
  ^bb0(%x: index):
    %v = arith.constant 1.0 : f32
    img.yield %v : f32
  }) : () -> !img.func<2xf32>
  img.return "f" = %f : !img.func<2xf32>
}

// -----

img.pipeline @p {
  // expected-error @below {{stage 'f': bounds name 2 dimensions of 1}}
  %f = img.stage "f" (%x) -> f32 bounds #img.box<[0:3, *]> {
    %v = arith.constant 1.0 : f32
    img.yield %v : f32
  }
  img.return "f" = %f : !img.func<1xf32>
}

// -----

img.pipeline @p {
  // expected-error @below {{expected #img.box, not 3 : i64}}
  %f = img.stage "f" (%x) -> f32 bounds 3 {
    %v = arith.constant 1.0 : f32
    img.yield %v : f32
  }
  img.return "f" = %f : !img.func<1xf32>
}

// -----

img.pipeline @p {
  // expected-error @below {{i7 is not a pixel type}}
  %f = img.stage "f" (%x) -> i7 {
    %v = arith.constant 1 : i7
    img.yield %v : i7
  }
  img.return "f" = %f : !img.func<1xf32>
}

// -----

img.pipeline @p {
  %in = img.input "in" : !img.func<1xf32>
  // expected-error @below {{stage 'f': img.boundary is not allowed in a stage}}
  %f = img.stage "f" (%x) -> f32 {
    %edge = img.boundary repeat_edge %in dims [0] : !img.func<1xf32>
    %v = img.read %edge[%x] : !img.func<1xf32>
    img.yield %v : f32
  }
  img.return "f" = %f : !img.func<1xf32>
}

// -----

// expected-error @below {{'img.stage' expects parent op to be one of 'img.pipeline', 'img.group'}}
%f = img.stage "f" (%x) -> f32 {
  %v = arith.constant 1.0 : f32
  img.yield %v : f32
}

// -----

img.pipeline @p {
  // expected-error @below {{expected #img.place, not #img.box<[*]>}}
  %f = img.stage "f" (%x) -> f32 place #img.box<[*]> {
    %v = arith.constant 1.0 : f32
    img.yield %v : f32
  }
  img.return "f" = %f : !img.func<1xf32>
}

// -----

img.pipeline @p {
  // expected-error @below {{stage 'f': memref.alloca has side effects; a stage must be a pure function}}
  %f = img.stage "f" (%x) -> f32 {
    %m = memref.alloca() : memref<4xf32>
    %v = arith.constant 1.0 : f32
    img.yield %v : f32
  }
  img.return "f" = %f : !img.func<1xf32>
}

// -----

// expected-error @below {{memref.alloca is not allowed in a pipeline: it has side effects}}
img.pipeline @p {
  %m = memref.alloca() : memref<4xf32>
  %f = img.input "f" : !img.func<1xf32>
  img.return "f" = %f : !img.func<1xf32>
}

// -----

// img.read

img.pipeline @p {
  %f = img.input "f" : !img.func<2xf32>
  %g = img.stage "g" (%x) -> f32 {
    // expected-error @below {{img.read: 1 indices into !img.func<2xf32>, which has 2 dimensions}}
    %v = img.read %f[%x] : !img.func<2xf32>
    img.yield %v : f32
  }
  img.return "g" = %g : !img.func<1xf32>
}

// -----

img.pipeline @p {
  %f = img.input "f" : !img.func<1xf32>
  %g = img.stage "g" (%x, %y) -> f32 {
    // expected-error @below {{indices may be multiplied, divided and reduced mod positive constants only}}
    %v = img.read %f[%x * %y] : !img.func<1xf32>
    img.yield %v : f32
  }
  img.return "g" = %g : !img.func<2xf32>
}

// -----

img.pipeline @p {
  %f = img.input "f" : !img.func<1xf32>
  %g = img.stage "g" (%x) -> f32 {
    // expected-error @below {{the map takes 2 values, 1 given}}
    %v = "img.read"(%f, %x) <{map = affine_map<(d0, d1) -> (d0 + d1)>}> : (!img.func<1xf32>, index) -> f32
    img.yield %v : f32
  }
  img.return "g" = %g : !img.func<1xf32>
}

// -----

img.pipeline @p {
  %f = img.input "f" : !img.func<1xui8>
  %g = img.stage "g" (%x) -> f32 {
    // expected-error @below {{img.read of !img.func<1xui8> gives i8, not f32}}
    %v = "img.read"(%f, %x) <{map = affine_map<(d0) -> (d0)>}> : (!img.func<1xui8>, index) -> f32
    img.yield %v : f32
  }
  img.return "g" = %g : !img.func<1xf32>
}

// -----

img.pipeline @p {
  %f = img.input "f" : !img.func<1xf32>
  %g = img.stage "g" (%x) -> f32 {
    %k = arith.constant 1.0 : f32
    // expected-error @below {{operand is used with type index, but has been previously used or defined with type f32}}
    %v = img.read %f[%k] : !img.func<1xf32>
    img.yield %v : f32
  }
  img.return "g" = %g : !img.func<1xf32>
}

// -----

img.pipeline @p {
  %f = img.input "f" : !img.func<1xf32>
  %g = img.stage "g" (%x) -> f32 {
    // expected-error @below {{expected an img.func type}}
    %v = img.read %f[%x] : f32
    img.yield %v : f32
  }
  img.return "g" = %g : !img.func<1xf32>
}

// -----

img.pipeline @p {
  %f = img.input "f" : !img.func<1xf32>
  %g = img.stage "g" (%x) -> f32 {
    // expected-error @below {{img.read: floordiv by 0; it must be positive}}
    %v = img.read %f[%x floordiv 0] : !img.func<1xf32>
    img.yield %v : f32
  }
  img.return "g" = %g : !img.func<1xf32>
}

// -----

img.pipeline @p {
  %f = img.input "f" : !img.func<1xf32>
  %g = img.stage "g" (%x) -> f32 {
    // expected-error @below {{img.read: 9223372036854775808 in an index does not fit the 64 bits of an index}}
    %v = img.read %f[%x + 9223372036854775808] : !img.func<1xf32>
    img.yield %v : f32
  }
  img.return "g" = %g : !img.func<1xf32>
}

// -----

img.pipeline @p {
  %f = img.input "f" : !img.func<1xf32>
  %m = img.min 0 of %f : !img.func<1xf32>
  // expected-error @below {{'img.read' expects parent op to be one of 'img.stage', 'img.update'}}
  %v = img.read %f[%m] : !img.func<1xf32>
  img.return "f" = %f : !img.func<1xf32>
}

// -----

// img.yield

img.pipeline @p {
  %f = img.input "f" : !img.func<1xf32>
  // expected-error @below {{'img.yield' expects parent op to be one of 'img.stage', 'img.group'}}
  img.yield %f : !img.func<1xf32>
}

// -----

// img.return

img.pipeline @p {
  // expected-error @below {{a pipeline needs at least one output}}
  "img.return"() <{names = []}> : () -> ()
}

// -----

img.pipeline @p {
  %f = img.input "f" : !img.func<1xf32>
  // expected-error @below {{names of outputs must differ}}
  img.return "f" = %f : !img.func<1xf32>, "f" = %f : !img.func<1xf32>
}

// -----

img.pipeline @p {
  %k = img.param "k" of f32 : f32
  // expected-error @below {{img.return: operand 'funcs' at position 0 does not verify: f32 should be of base attribute img.func}}
  img.return "k" = %k : f32
}

// -----

// expected-error @below {{'img.return' expects parent op 'img.pipeline'}}
"img.return"() <{names = []}> : () -> ()

// -----

// img.group

img.pipeline @p {
  // expected-error @below {{group 'g' must end in img.yield}}
  %g = "img.group"() <{sym_name = "g"}> ({
    "test.termop"() : () -> ()
  }) : () -> !img.func<1xf32>
  img.return "g" = %g : !img.func<1xf32>
}

// -----

img.pipeline @p {
  // expected-error @below {{group 'g': the types of img.yield and of the group differ}}
  %g = img.group "g" {
    %f = img.stage "f" (%x) -> f32 {
      %v = arith.constant 1.0 : f32
      img.yield %v : f32
    }
    img.yield %f : !img.func<1xf32>
  } : !img.func<2xf32>
  img.return "g" = %g : !img.func<2xf32>
}

// -----

img.pipeline @p {
  // expected-error @below {{group 'g' yields a function twice}}
  %g:2 = img.group "g" {
    %f = img.stage "f" (%x) -> f32 {
      %v = arith.constant 1.0 : f32
      img.yield %v : f32
    }
    img.yield %f, %f : !img.func<1xf32>, !img.func<1xf32>
  } : !img.func<1xf32>, !img.func<1xf32>
  img.return "g" = %g#0 : !img.func<1xf32>
}

// -----

img.pipeline @p {
  %f = img.input "f" : !img.func<1xf32>
  // expected-error @below {{group 'g': img.yield must yield functions of its stages}}
  %g = img.group "g" {
    img.yield %f : !img.func<1xf32>
  } : !img.func<1xf32>
  img.return "g" = %g : !img.func<1xf32>
}

// -----

img.pipeline @p {
  // expected-error @below {{group 'g': arith.constant is not allowed in a group}}
  %g = img.group "g" {
    %k = arith.constant 1.0 : f32
    %f = img.stage "f" (%x) -> f32 {
      img.yield %k : f32
    }
    img.yield %f : !img.func<1xf32>
  } : !img.func<1xf32>
  img.return "g" = %g : !img.func<1xf32>
}

// -----

img.pipeline @p {
  // expected-error @below {{group 'g': the schedule tiles 2 dimensions, stage 'f' has 1}}
  %g = img.group "g" schedule #schedule.block_tile<tile = [32, 8], threads = [32, 8]> {
    %f = img.stage "f" (%x) -> f32 {
      %v = arith.constant 1.0 : f32
      img.yield %v : f32
    }
    img.yield %f : !img.func<1xf32>
  } : !img.func<1xf32>
  img.return "g" = %g : !img.func<1xf32>
}

// -----

img.pipeline @p {
  // expected-error @below {{expected #schedule, not 3 : i64}}
  %g = img.group "g" schedule 3 {
    %f = img.stage "f" (%x) -> f32 {
      %v = arith.constant 1.0 : f32
      img.yield %v : f32
    }
    img.yield %f : !img.func<1xf32>
  } : !img.func<1xf32>
  img.return "g" = %g : !img.func<1xf32>
}

// -----

// expected-error @below {{two groups are called 'g'}}
img.pipeline @p {
  %f = img.group "g" {
    %f = img.stage "f" (%x) -> f32 {
      %v = arith.constant 1.0 : f32
      img.yield %v : f32
    }
    img.yield %f : !img.func<1xf32>
  } : !img.func<1xf32>
  %h = img.group "g" {
    %h = img.stage "h" (%x) -> f32 {
      %v = arith.constant 1.0 : f32
      img.yield %v : f32
    }
    img.yield %h : !img.func<1xf32>
  } : !img.func<1xf32>
  img.return "h" = %h : !img.func<1xf32>
}

// -----

// img.div, img.mod

img.pipeline @p {
  %a = img.param "a" of ui8 : i8
  %b = img.param "b" of ui16 : i16
  // expected-error @below {{img.div: operand 'rhs' at position 1 does not verify}}
  %c = "img.div"(%a, %b) : (i8, i16) -> i8
  %f = img.input "f" : !img.func<1xf32>
  img.return "f" = %f : !img.func<1xf32>
}

// -----

img.pipeline @p {
  %a = img.param "a" of f32 : f32
  // expected-error @below {{img.mod: operand 'lhs' at position 0 does not verify: f32 should be of base attribute integer_type}}
  %c = "img.mod"(%a, %a) : (f32, f32) -> f32
  %f = img.input "f" : !img.func<1xf32>
  img.return "f" = %f : !img.func<1xf32>
}
