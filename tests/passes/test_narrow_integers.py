"""`narrow-integers` preserves all values: random expressions of narrow pixels, computed in 32 and 64 bits."""

from random import Random

import numpy as np
import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType

from tilefuse.dialects.img.ops import StageOp
from tilefuse.dialects.parsing import parse_module
from tilefuse.evaluator.evaluate import evaluate
from tilefuse.passes.narrow_integers import NarrowIntegers
from tilefuse.passes.pipeline import new_context

PIXELS = {"ui8": np.uint8, "si8": np.int8, "ui16": np.uint16, "si16": np.int16}
WRAPPING = ("addi", "subi", "muli", "andi", "ori", "xori")
OTHERS = ("minsi", "maxsi", "minui", "maxui", "clamp", "shift", "divided", "abs", "chosen", "cut")
ENDS = (0, 1, 2, 3, 5, 7, 16, 100, 127, 128, 129, 255, 256, 257, 32767, 32768, 32769, 65535, 65536)
PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")


class Body:
    """Text of a stage's body: operations on numbers of one wide type, drawn at random."""

    def __init__(self, rng: Random, wide: int):
        self.rng, self.type, self.lines, self.names = rng, f"i{wide}", [], []

    def op(self, text: str, of: str = "") -> str:
        """Append an operation; return its result's name."""
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {text} : {of or self.type}")
        return name

    def constant(self, number: int) -> str:
        """Return a constant."""
        return self.op(f"arith.constant {number}")

    def read(self, source: str, element: str) -> None:
        """Read a function, and extend its value."""
        at = self.rng.randint(-1, 1)
        pixel = self.op(f"img.read %{source}[%x + {at}]", f"!img.func<1x{element}>")
        if f"i{element[2:]}" == self.type:
            self.names.append(pixel)
            return
        verb = "extui" if element.startswith("u") else "extsi"
        self.names.append(self.op(f"arith.{verb} {pixel}", f"i{element[2:]} to {self.type}"))

    def step(self) -> None:
        """Append an operation on values before it."""
        rng, kind = self.rng, self.rng.choice(self.rng.choice((WRAPPING, OTHERS)))
        a, b = self.names[-1] if rng.random() < 0.7 else rng.choice(self.names), rng.choice(self.names)
        if rng.random() < 0.4:
            b = self.constant(rng.choice((1, 1, -1)) * rng.choice(ENDS))
        if kind == "clamp":
            low, high = sorted(rng.choice((1, 1, -1)) * rng.choice(ENDS) for _ in range(2))
            low_end = self.op(f"arith.maxsi {a}, {self.constant(low)}")
            found = self.op(f"arith.minsi {low_end}, {self.constant(high)}")
        elif kind == "shift":
            verb = rng.choice(("shli", "shrsi", "shrui"))
            found = self.op(f"arith.{verb} {a}, {self.constant(rng.choice((0, 1, 2, 4, 7, 8, 15)))}")
        elif kind == "divided":
            verb = rng.choice(
                ("arith.floordivsi", "arith.divsi", "arith.remsi", "img.div", "img.mod", "img.div signed")
            )
            found = self.op(f"{verb} {a}, {self.constant(rng.choice((1, 2, 3, 9, 16, 51, 200, 255, 256, 4000)))}")
        elif kind == "cut":
            narrow = rng.choice(("i8", "i16"))
            cut = self.op(f"arith.trunci {a}", f"{self.type} to {narrow}")
            found = self.op(f"arith.{rng.choice(('extsi', 'extui'))} {cut}", f"{narrow} to {self.type}")
        elif kind == "abs":
            found = self.op(f"math.absi {a}")
        elif kind == "chosen":
            less = self.op(f"arith.cmpi {rng.choice(PREDICATES)}, {a}, {b}")
            found = self.op(f"arith.select {less}, {a}, {b}")
        else:
            found = self.op(f"arith.{kind} {a}, {b}")
        self.names.append(found)

    def yielded(self, element: str) -> str:
        """Return the last value as an element."""
        width = element[2:]
        return self.names[-1] if f"i{width}" == self.type else self.op(
            f"arith.trunci {self.names[-1]}", f"{self.type} to i{width}"
        )  # fmt: skip


def random_pipeline(seed: int) -> tuple[str, list[str]]:
    """Return a pipeline of two stages, of which the first may be of wide numbers, and its inputs' elements."""
    rng = Random(seed)
    wide, elements = rng.choice((32, 32, 64)), [rng.choice(list(PIXELS)) for _ in range(2)]
    of_first = rng.choice((*PIXELS, f"si{wide}", f"ui{wide}"))
    stages, functions = [], {"in0": elements[0], "in1": elements[1]}
    for name, element in (("first", of_first), ("out", rng.choice(list(PIXELS)))):
        body = Body(rng, wide)
        for source in [*functions, *functions]:
            body.read(source, functions[source])
        for _ in range(rng.randint(1, 7)):
            body.step()
        value = body.yielded(element)
        lines = "\n    ".join([*body.lines, f"img.yield {value} : i{element[2:]}"])
        stages.append(f'%{name} = img.stage "{name}" (%x) -> {element} {{\n    {lines}\n  }}')
        functions[name] = element
    inputs = [f'%in{i} = img.input "in{i}" : !img.func<1x{e}>' for i, e in enumerate(elements)]
    end = f'img.return "out" = %out : !img.func<1x{functions["out"]}>'
    return "img.pipeline @random {\n  " + "\n  ".join([*inputs, *stages, end]) + "\n}\n", elements


def pixels(rng: np.random.Generator, element: str, count: int) -> np.ndarray:
    """Return pixels, half of them at the ends of the type or near 0."""
    info = np.iinfo(PIXELS[element])
    edges = np.array([info.min, info.min + 1, -1, 0, 1, 2, 100, info.max - 1, info.max]).clip(info.min, info.max)
    anywhere = rng.integers(info.min, info.max, count, endpoint=True)
    return np.where(rng.random(count) < 0.5, rng.choice(edges, count), anywhere).astype(PIXELS[element])


def widest(module) -> int:
    """Return the bits of the widest arithmetic of all stages."""
    ops = [op for stage in module.walk() if isinstance(stage, StageOp) for op in stage.body.block.ops]
    copies = (arith.ConstantOp, arith.ExtUIOp, arith.ExtSIOp)
    types = [r.type for op in ops if op.name.startswith("arith") and not isinstance(op, copies) for r in op.results]
    return max((t.width.data for t in types if isinstance(t, IntegerType)), default=0)


@pytest.mark.sweep
@pytest.mark.parametrize("seeds", [range(i, i + 50) for i in range(0, 300, 50)], ids=lambda r: f"from_{r.start}")
def test_values_stay(seeds):
    narrowed = 0
    for seed in seeds:
        text, elements = random_pipeline(seed)
        rng = np.random.default_rng(seed)
        given = {f"in{i}": pixels(rng, e, 300) for i, e in enumerate(elements)}
        boxes, mins = {"out": [(3, 290)]}, {"in0": [0], "in1": [0]}
        before, after = parse_module(text), parse_module(text)
        NarrowIntegers().apply(new_context(), after)
        after.verify()
        expected = evaluate(before, given, None, boxes, mins)["out"]
        np.testing.assert_array_equal(evaluate(after, given, None, boxes, mins)["out"], expected, f"seed {seed}")
        narrowed += widest(after) < widest(before)
    assert narrowed >= 10
