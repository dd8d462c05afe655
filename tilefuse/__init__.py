"""tilefuse: image pipelines to fused CUDA kernels, with no schedule written by hand.

The vocabulary is Halide's: `import tilefuse as hl`.
"""

from tilefuse.frontend import *  # noqa: F403
from tilefuse.frontend import __all__ as __all__
