"""Pipelines of Halide's apps and similar ones, with fewer levels and channels, so that pictures may be small."""

import dataclasses

import conv_layer
import demosaic
import depthwise_separable_conv
import mat_mul
from _all import EXAMPLES

SIZES = (11, 19, 13, 2)
"""Of the output of a layer: channels, width, height, batch."""


def drawn(hl, x, y, z, number):
    """Return a number in [0, 1) from the coordinates, equal in both languages, unlike `random_float`."""
    x, y, z = (hl.u32(v) for v in (x, y, z))
    bits = x * hl.u32(374761393) + y * hl.u32(668265263) + z * hl.u32(1274126177) + hl.u32(97 * number + 5)
    bits = (bits ^ (bits >> 13)) * hl.u32(1274126177)
    return hl.f32((bits ^ (bits >> 16)) >> 8) * hl.f32(2.0**-24)


def with_arguments(name, prepare=None, **arguments):
    """Return the example with other arguments; `prepare` goes from a photograph to its inputs."""
    example = EXAMPLES[name]
    algorithm, plain = example.algorithm, example.pipeline
    return dataclasses.replace(
        example,
        pipeline=lambda: plain(**arguments),
        algorithm=lambda *inputs: algorithm(*inputs, **arguments),
        prepare=prepare or example.prepare,
    )


SMALL = {
    **{n: EXAMPLES[n] for n in ("hist", "bilateral_grid", "iir_blur", "camera_pipe", "nl_means")},
    "local_laplacian": with_arguments("local_laplacian", pyramid=4),
    "interpolate": with_arguments("interpolate", levels=5),
    "max_filter": with_arguments("max_filter", radius=5),
    "mat_mul": with_arguments("mat_mul", lambda photo: mat_mul.matrices(photo, 67), size=67),
    "conv_layer": with_arguments(
        "conv_layer", lambda photo: conv_layer.layer(photo, 7, SIZES), channels=7, sizes=SIZES
    ),
    "depthwise_separable_conv": with_arguments(
        "depthwise_separable_conv",
        lambda photo: depthwise_separable_conv.layer(photo, (2, 13, 19, 7), 11),
        channels=7,
    ),
    "bgu": with_arguments("bgu", s=4),
    "lens_blur": with_arguments("lens_blur", slices=9, focus=4, samples=7, levels=4, random=drawn),
    "pyramid_blend": with_arguments("pyramid_blend", levels=3),
    "demosaic": with_arguments("demosaic", lambda photo: demosaic.mosaic(photo, 3, 5), depth=3, width=5),
}
