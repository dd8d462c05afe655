"""Inference of input sizes from output sizes."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp

from tilefuse.analysis.bounds import Box, required_boxes
from tilefuse.runtime.call.boxes import input_ops
from tilefuse.runtime.call.scalars import Scalar
from tilefuse.runtime.compile.specialize import find_pipeline


def input_boxes(
    module: ModuleOp, outputs: Mapping[str, Box], inputs: Mapping[str, Box], params: Mapping[str, Scalar]
) -> dict[str, Box]:
    """Infer the box of each input, by name, that outputs of these boxes read; unread inputs are absent.

    `inputs`: the boxes that boundaries and sizes in the pipeline are about.
    """
    pipeline = find_pipeline(module)
    found = required_boxes(pipeline, outputs, inputs, params)
    return {op.sym_name.data: found[op.func] for op in input_ops(pipeline) if op.func in found}
