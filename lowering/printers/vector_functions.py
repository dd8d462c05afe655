"""Functions of f32 that C compilers vectorise: no branch, no table, no call.

Within 2 ulp, of which docs/semantics.md allows 4. The polynomials are those of the Cephes library (exp and log of f32).
"""

from __future__ import annotations

from tilefuse.lowering.printers.helper import Helper

_EXP = """\
float exp_f32(float a) {
  /* e^a = 2^n * e^r; beyond the bounds it is 0 or infinite */
  const float above = a > -104.0f ? a : -104.0f;
  const float inside = above < 89.0f ? above : 89.0f;
  const float n = (inside * 1.44269504f + 12582912.0f) - 12582912.0f;
  const float r = (inside - n * 0.693359375f) - n * -2.12194440e-4f;
  float p = 1.9875691500e-4f * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  /* in two steps, for neither half has more than an exponent holds */
  const int whole = (int)n, half = whole >> 1;
  const float low = bitcast_u32_f32((unsigned int)(half + 127) << 23);
  const float high = bitcast_u32_f32((unsigned int)(whole - half + 127) << 23);
  return a == a ? p * low * high : a;
}"""

_LOG = """\
float log_f32(float a) {
  /* a = 2^n * (1 + m), with 1 + m around 1 */
  const bool tiny = a < 1.17549435e-38f;
  const unsigned int bits = bitcast_f32_u32(tiny ? a * 8388608.0f : a);
  const unsigned int from = bits - 0x3f3504f3u;
  const float n = (float)((int)from >> 23) - (tiny ? 23.0f : 0.0f);
  const float m = bitcast_u32_f32((from & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
  float p = 7.0376836292e-2f * m + -1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m + -1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m + -1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m + -2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  const float square = m * m;
  const float y = p * (m * square) + n * -2.12194440e-4f - 0.5f * square + m + n * 0.693359375f;
  const float none = a == 0.0f ? bitcast_u32_f32(0xff800000u) : bitcast_u32_f32(0x7fc00000u);
  const float found = a > 0.0f ? y : none;
  /* infinite, or no number */
  return a < bitcast_u32_f32(0x7f800000u) ? found : a;
}"""

VECTOR_FUNCTIONS: dict[str, Helper] = {
    "exp_f32": Helper(_EXP, ("bitcast_u32_f32",)),
    "log_f32": Helper(_LOG, ("bitcast_u32_f32", "bitcast_f32_u32")),
}
