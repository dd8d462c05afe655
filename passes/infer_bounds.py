"""`infer-bounds`: annotate every input and stage with the points that the outputs need, for any size (level 1 to 3).

The inference is the one that each call runs with its numbers (`analysis/bounds.py`), run with symbols for the boxes of
the outputs and inputs and for the parameters. Nothing else is changed, and no other pass reads the attribute.

```mlir
%photo = img.input "photo" : !img.func<1xf32>
%half = img.stage "half" (%x) -> f32 {
  %a = img.read %photo[2 * %x - 1] : !img.func<1xf32>
  img.yield %a : f32
}
img.return "half" = %half : !img.func<1xf32>
```
gets, on the input and on the stage (`attributes` stands before a stage's),
```mlir
{img.required = #img.region<output "half"(x0 : nx0) -> [2 * x0 - 1 to 2 * x0 + 2 * nx0 - 3]>}
{img.required = #img.region<output "half"(x0 : nx0) -> [x0 to x0 + nx0 - 1]>}
```
A function that no output needs gets no attribute. Reads of computed indices count with all that the index can be.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilefuse.analysis.bounds import flat_ops, symbolic_regions
from tilefuse.dialects.img.ops import Definition, InputOp, PipelineOp
from tilefuse.dialects.img.region import RegionAttr

REQUIRED = "img.required"
"""Discardable attribute of `img.input`, `img.stage` and `img.update`: an `#img.region`."""


@dataclass(frozen=True)
class InferBounds(ModulePass):
    """Annotate every input and stage with its region that the outputs need, in terms of their boxes."""

    name = "infer-bounds"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for pipeline in op.body.block.ops:
            if not isinstance(pipeline, PipelineOp):
                continue
            regions = symbolic_regions(pipeline)
            for inner in flat_ops(pipeline):
                if not isinstance(inner, InputOp | Definition):
                    continue
                # all results of a stage have one region
                region = regions.get(inner.results[0])
                if region is None:
                    inner.attributes.pop(REQUIRED, None)
                else:
                    inner.attributes[REQUIRED] = RegionAttr(tuple(region))
