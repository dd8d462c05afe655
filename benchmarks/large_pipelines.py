"""The pipelines of the property tests' generator, with pictures of 4096 x 4096 that are made on the GPU."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from tilefuse.analysis.bounds import required_boxes
from tilefuse.dialects.img.elements import ELEMENTS, array_dtype
from tilefuse.dialects.img.types import f32

SIDE = 4096
MARGIN = 64
"""Largest excess over SIDE of an input without a boundary."""
STAGES = 8
_TESTS = Path(__file__).resolve().parent.parent / "tests"


def _generator() -> Any:
    """Import tests/random_pipelines.py, under another name than the benchmark's."""
    if str(_TESTS) not in sys.path:
        sys.path.append(str(_TESTS))
    spec = importlib.util.spec_from_file_location("generator_of_tests", _TESTS / "random_pipelines.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look it up
    spec.loader.exec_module(module)
    return module


class _Large(_generator()._Builder):  # type: ignore[misc]
    """Two dimensions, every picture SIDE x SIDE, no arrays."""

    def __init__(self, seed: int):
        super().__init__(Random(seed), STAGES)
        self.rank, self.channels = 2, None
        self.boxes: dict[str, Any] = {}

    def _spatial(self) -> tuple[int, ...]:
        return (SIDE, SIDE)

    def _arrays(self, pipeline: Any) -> None:
        self.boxes = {op.sym_name.data: tuple((0, n) for n in size) for op, size in self.extents.items()}
        if self.raw:
            needed = required_boxes(pipeline, self.case.output_boxes, self.boxes, self.case.params)
            self.boxes |= {op.sym_name.data: needed.get(op.func, ((0, 1),) * 2) for op in self.raw}
        for name, box in self.boxes.items():
            self.case.mins[name] = tuple(low for low, _ in box)


class LargePipeline:
    """A pipeline of a seed, with the boxes of its pictures (min and extent, x first)."""

    def __init__(self, seed: int):
        builder = _Large(seed)
        self.case = builder.build()
        self.boxes = builder.boxes
        self.values = {op.sym_name.data: number for op, number in builder.ranges.items()}

    def is_usable(self) -> bool:
        """Whether outputs are integers or floats, and inputs not much larger than SIDE."""
        outputs = [array_dtype(ELEMENTS[f.type.element].dtype) for _, f in self.case.pipeline.return_op.outputs]
        largest = max((n for box in self.boxes.values() for _, n in box), default=0)
        return all(d != np.bool_ for d in outputs) and largest <= SIDE + MARGIN

    def inputs(self, seed: int) -> dict[str, Any]:
        """Return contiguous CuPy arrays with values that the generator assumes."""
        import cupy

        random = cupy.random.default_rng(seed)
        found = {}
        for name, box in self.boxes.items():
            number, shape = self.values[name], tuple(n for _, n in reversed(box))
            dtype = array_dtype(ELEMENTS[number.element].dtype)
            if number.element == f32 and not number.whole:
                found[name] = random.random(shape, dtype=np.float32) * np.float32(2) - np.float32(1)
            elif number.element == f32 or dtype == np.bool_:
                found[name] = random.integers(0, 256 if number.element == f32 else 2, shape).astype(dtype)
            else:
                items = -(-shape[0] * shape[1] * dtype.itemsize // 4)
                bits = random.integers(0, 2**32, items, dtype=np.uint32)
                found[name] = bits.view(dtype)[: shape[0] * shape[1]].reshape(shape)
        return found


def usable_seeds(first: int) -> Iterator[int]:
    """Yield seeds from `first` whose pipelines are usable."""
    seed = first
    while True:
        if LargePipeline(seed).is_usable():
            yield seed
        seed += 1
