"""tilefuse: image pipelines to fused CUDA kernels, with no schedule written by hand.

The vocabulary is Halide's: `import tilefuse as hl`. It is loaded when first used, so that tools which never
write a pipeline do not wait for it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilefuse.frontend import *  # noqa: F403
    from tilefuse.frontend import __all__ as __all__


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name.startswith("__") and name != "__all__":
        raise AttributeError(name)
    if name == "imageio":
        return import_module("tilefuse.imageio")
    from tilefuse.collector import collector_off

    with collector_off():
        vocabulary = import_module("tilefuse.frontend")
    if name == "__all__" or name in vocabulary.__all__:
        return getattr(vocabulary, name)
    raise AttributeError(f"module 'tilefuse' has no attribute '{name}'")


def __dir__() -> list[str]:
    from importlib import import_module

    return sorted([*globals(), *import_module("tilefuse.frontend").__all__])
