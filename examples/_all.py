"""All examples in one list. As a script: write the IR of each beside it, as `<name>.mlir`."""

import binomial
import blur
import canny
import harris
import stencil9
import stencil_chain
import unsharp
from _run import HERE, Example

EXAMPLES: dict[str, Example] = {
    example.name: example
    for module in (blur, binomial, unsharp, harris, canny, stencil9, stencil_chain)
    for example in module.EXAMPLES
}

if __name__ == "__main__":
    for name, example in EXAMPLES.items():
        (HERE / f"{name}.mlir").write_text(example.ir())
