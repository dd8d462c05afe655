// RUN: TILEFUSE_INVALID

// expected-error @below {{expected a number, min(...), max(...) or one of the names x, nx}}
"test.op"() {r = #img.region<output "f"(x : nx) -> [x to y]>} : () -> ()

// -----

// expected-error @below {{expected a number, min(...), max(...) or one of the names (there are none)}}
"test.op"() {r = #img.region<[x to 1]>} : () -> ()

// -----

// expected-error @below {{expected a number, min(...), max(...) or one of the names x, nx}}
"test.op"() {r = #img.region<output "f"(x : nx) -> [min() to 1]>} : () -> ()

// -----

// expected-error @below {{Expected 'to'}}
"test.op"() {r = #img.region<[1, 2]>} : () -> ()

// -----

// expected-error @below {{'x' cannot be the name of another number}}
"test.op"() {r = #img.region<output "f"(x : nx), output "g"(x : n) -> [x to x]>} : () -> ()

// -----

// expected-error @below {{'max' cannot be the name of another number}}
"test.op"() {r = #img.region<param "k"(max) -> [max to max]>} : () -> ()

// -----

// expected-error @below {{Expected ':'}}
"test.op"() {r = #img.region<output "f"(x) -> [x to x]>} : () -> ()

// -----

// expected-error @below {{Expected `output`, `input`, or `param`}}
"test.op"() {r = #img.region<output "f"(x : nx), stage "g"(y : ny) -> [x to x]>} : () -> ()

// -----

// expected-error @below {{Expected '->'}}
"test.op"() {r = #img.region<output "f"(x : nx) [x to x]>} : () -> ()
