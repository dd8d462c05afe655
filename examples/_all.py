"""List of all examples. As a script: write the IR of each to `<name>.mlir`, unless it is long."""

import bgu
import bilateral_grid
import binomial
import blur
import camera_pipe
import canny
import conv_layer
import demosaic
import depthwise_separable_conv
import harris
import hist
import iir_blur
import interpolate
import lens_blur
import local_laplacian
import mat_mul
import max_filter
import nl_means
import pyramid_blend
import stencil9
import stencil_chain
import unsharp
from _run import HERE, Example

STENCILS = (blur, binomial, unsharp, harris, canny, stencil9, stencil_chain)
REDUCTIONS = (hist, bilateral_grid, iir_blur, max_filter, nl_means, bgu)
PYRAMIDS = (local_laplacian, interpolate, pyramid_blend, lens_blur)
LAYERS = (camera_pipe, mat_mul, conv_layer, depthwise_separable_conv, demosaic)

EXAMPLES: dict[str, Example] = {
    example.name: example for module in (*STENCILS, *REDUCTIONS, *PYRAMIDS, *LAYERS) for example in module.EXAMPLES
}
STENCIL_NAMES = [example.name for module in STENCILS for example in module.EXAMPLES]
MOST_LINES = 600
"""Of IR that stands in a file."""


def files() -> dict[str, str]:
    """Return the IR of each example, by file name, except IR of more than MOST_LINES lines."""
    texts = {f"{name}.mlir": example.ir() for name, example in EXAMPLES.items()}
    return {name: text for name, text in texts.items() if text.count("\n") < MOST_LINES}


if __name__ == "__main__":
    for name, text in files().items():
        (HERE / name).write_text(text)
