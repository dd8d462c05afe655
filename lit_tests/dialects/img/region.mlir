// RUN: TILEFUSE_ROUNDTRIP
// RUN: TILEFUSE_GENERIC_ROUNDTRIP

// Numbers alone need no names.

// CHECK: numbers = [#img.region<[]>, #img.region<[-1 to 20, 3 to 2]>]
"test.op"() {numbers = [#img.region<[]>, #img.region<[-1 to 4 * 5, 3 to 7 floordiv 3]>]} : () -> ()

// The boxes of outputs come first, then those of inputs, then parameters; only what is used is named, by one pattern.

// CHECK: names = #img.region<output "out"(x0 : nx0, y0 : ny0), input "my photo"(x1 : nx1), param "k"(k2) -> [x0 + nx0 - 1 to y0 + ny0, x1 + k2 to nx1]>
"test.op"() {names = #img.region<param "k"(k), input "unused"(u : nu), input "my photo"(a : na, b : nb), output "out"(c : nc, d : nd) -> [c + nc - 1 to d + nd, a + k to na]>} : () -> ()

// An output and an input of one name are two.

// CHECK: twins = #img.region<output "f"(x0 : nx0), input "f"(x1 : nx1) -> [x0 to x1]>
"test.op"() {twins = #img.region<output "f"(a : b), input "f"(c : d) -> [a to c]>} : () -> ()

// From the fifth dimension on.

// CHECK: deep = #img.region<output "f"(x0 : nx0, y0 : ny0, z0 : nz0, w0 : nw0, d4_0 : nd4_0) -> [d4_0 to d4_0 + nd4_0 - 1]>
"test.op"() {deep = #img.region<output "f"(a : b, c : d, e : f, g : h, i : j) -> [i to i + j - 1]>} : () -> ()

// Sums in one order; a clamp as the greatest of some least; what another end covers goes, since extents are positive.

// CHECK: forms = #img.region<output "f"(x0 : nx0), input "g"(x1 : nx1) -> [-2 * x0 + 3 * nx0 - 4 to 0, max(min(x0 - 2, x1 + nx1 - 1), x1) to max(min(x0 + nx0, x1 + nx1 - 1), x1), min(0, x0 - 1) to max(0, x0 + 1)]>
"test.op"() {forms = #img.region<output "f"(x : n), input "g"(a : m) -> [3 * n - 4 - (x + x) to x - x, min(max(x - 2, a), m - 1 + a, a + m + 2) to max(a, a - 1, min(a + m - 1, x + n)), min(x - 1, 0, x + n) to max(x, x + 1, 0)]>} : () -> ()

// Quotients give out what can be divided, and join; products and remainders of two unknown numbers stay as they are.

// CHECK: quotients = #img.region<output "f"(x0 : nx0), param "k"(k1) -> [x0 + 1 to (x0 + 1) floordiv 2 - 1, (x0 + 3) floordiv 6 to 2 * (x0 floordiv 2) - 1, nx0 * k1 - (x0 floordiv k1) to -(nx0 * nx0) + 3 * (x0 mod k1)]>
"test.op"() {quotients = #img.region<output "f"(x : n), param "k"(k) -> [(2 * x + 3) floordiv 2 to (x - 1) floordiv 2, (x + 3) floordiv 2 floordiv 3 to x - 1 - x mod 2, n * k - x floordiv k to (x mod k) * 3 - n * n]>} : () -> ()
