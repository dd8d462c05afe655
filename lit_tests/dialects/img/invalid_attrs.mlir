// RUN: TILEFUSE_INVALID

// !img.func

// expected-error @below {{a Func has 0 to 8 dimensions, not 9}}
"test.op"() {t = !img.func<9xf32>} : () -> ()

// -----

// expected-error @below {{i32 is not a pixel type; use i1, ui8..ui64, si8..si64, f16, bf16, f32 or f64}}
"test.op"() {t = !img.func<2xi32>} : () -> ()

// -----

// expected-error @below {{Unexpected dynamic dimension!}}
"test.op"() {t = !img.func<?xf32>} : () -> ()

// -----

// #img.boundary_kind

// expected-error @below {{Expected `repeat_edge`, `mirror_image`, `mirror_interior`, `repeat_image`, or `constant_exterior`}}
"test.op"() {k = #img<boundary_kind reflect>} : () -> ()

// -----

// #img.box

// expected-error @below {{a box needs positive extents, not 0}}
"test.op"() {b = #img.box<[0:0]>} : () -> ()

// -----

// expected-error @below {{Expected ':'}}
"test.op"() {b = #img.box<[3]>} : () -> ()

// -----

// #img.place

// expected-error @below {{a stage computed per warp cannot be stored in shared memory; use block/register, block/shared, thread/global, thread/register, warp/register}}
"test.op"() {p = #img.place<warp, shared>} : () -> ()

// -----

// expected-error @below {{Expected `block`, `warp`, or `thread`}}
"test.op"() {p = #img.place<grid, shared>} : () -> ()

// -----

// expected-error @below {{only shared memory has slots and padding, not register memory}}
"test.op"() {p = #img.place<thread, register, pad = 1>} : () -> ()

// -----

// expected-error @below {{only shared memory has slots and padding, not global memory}}
"test.op"() {p = #img.place<thread, global, slot = 1>} : () -> ()

// -----

// expected-error @below {{expected 'slot' or 'pad'}}
"test.op"() {p = #img.place<block, shared, row = 1>} : () -> ()
