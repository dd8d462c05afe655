"""What `infer-bounds` writes, evaluated at the numbers of calls, is what each call infers for itself."""

from random import Random

import pytest
from random_pipelines import random_pipeline

import tilefuse
from tilefuse.analysis.bounds import required_boxes, symbolic_regions
from tilefuse.analysis.scalars import boundary_box
from tilefuse.analysis.sizes import CallSizes
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.attrs import BoundaryKind
from tilefuse.dialects.img.ops import BoundaryOp, InputOp, PipelineOp, ReadOp, StageOp
from tilefuse.dialects.img.symbolic import Role, evaluate_size, is_sum
from tilefuse.dialects.parsing import parse_module
from tilefuse.passes.infer_bounds import REQUIRED, InferBounds
from tilefuse.passes.pipeline import new_context, standard_passes


def moved(rng, box, fixed):
    """Another box of the same rank; dimensions that are fixed stay."""
    return tuple(
        old if keep is not None else (rng.randint(-20, 20), rng.choice([1, 2, 5, 31, 64, 100]))
        for old, keep in zip(box, fixed, strict=True)
    )


MIRRORS = (BoundaryKind.MirrorImage, BoundaryKind.MirrorInterior)


def loosely(pipeline, symbolic, needed, sizes):
    """Whether the numbers of a call say more than symbols can: see `symbolic_regions`."""
    for op in pipeline.walk():
        if isinstance(op, ReadOp) and " mod " in str(op.map):
            return True
        if not isinstance(op, BoundaryOp) or op.func not in needed:
            continue
        if op.kind.data is BoundaryKind.RepeatImage:
            return True
        if op.kind.data in MIRRORS and not all(is_sum(end) for span in symbolic[op.func] for end in span):
            return True
        for dim, (first, last) in boundary_box(op, sizes).items():
            low, extent = needed[op.func][dim]
            if last < low or low + extent <= first:
                return True
    return False


def check(pipeline, symbolic, outputs, inputs, params):
    """Compare at one call; gives how many functions were equal, None if the call is not possible."""
    try:
        needed = required_boxes(pipeline, outputs, inputs, params)
    except PipelineError:  # a stage is bound to less than this call asks of it
        return None

    def number(symbol):
        if symbol.role is Role.Param:
            return int(params[symbol.name])
        boxes = outputs if symbol.role is Role.Output else inputs
        return boxes[symbol.name][symbol.dim][symbol.extent]

    exact = not loosely(pipeline, symbolic, needed, CallSizes(inputs, params))
    equal = 0
    for op in pipeline.walk():
        if not isinstance(op, InputOp | StageOp) or op.results[0] not in needed:
            continue
        box = needed[op.results[0]]
        spans = [tuple(evaluate_size(end, number) for end in span) for span in op.attributes[REQUIRED].data]
        wanted = [(low, low + extent - 1) for low, extent in box]
        if exact:
            assert spans == wanted, op
            equal += 1
        else:
            assert all(a <= c and d <= b for (a, b), (c, d) in zip(spans, wanted, strict=True)), op
    return equal


@pytest.mark.sweep
@pytest.mark.parametrize("grouped", [False, True], ids=["algorithm", "scheduled"])
@pytest.mark.parametrize("part", range(6))
def test_random_pipelines_at_random_sizes(part, grouped):
    equal = 0
    for seed in range(part * 10, part * 10 + 10):
        case = random_pipeline(seed)
        module = case.module.clone()
        context = new_context()
        for p in [*(standard_passes("h200") if grouped else []), InferBounds()]:
            p.apply(context, module)
        module = parse_module(str(module))
        pipeline = module.body.block.first_op
        symbolic = symbolic_regions(pipeline)
        fixed = {op.sym_name.data: op.bounds for op in pipeline.body.block.ops if isinstance(op, InputOp)}
        inputs = {
            name: tuple(zip(case.mins[name], reversed(array.shape), strict=True)) for name, array in case.grids.items()
        }
        assert check(pipeline, symbolic, case.output_boxes, inputs, case.params) is not None
        rng = Random(seed)
        for _ in range(6):
            there = {n: moved(rng, b, fixed[n].data if fixed[n] else [None] * len(b)) for n, b in inputs.items()}
            outputs = {n: moved(rng, b, [None] * len(b)) for n, b in case.output_boxes.items()}
            equal += check(pipeline, symbolic, outputs, there, case.params) or 0
    assert equal > 20


def test_where_an_update_of_no_points_would_write_first_is_needed():
    """Kernels load what they add to, and store it, around the loop: memcheck found a read before an array (990012)."""
    x, r = tilefuse.Var("x"), tilefuse.RDom([(0, tilefuse.Param(tilefuse.Int(32), "n"))])
    picture, h = tilefuse.ImageParam(tilefuse.UInt(8), 1, "picture"), tilefuse.Func("h")
    h[x] = tilefuse.u32(1)
    h[picture[r.x % 4]] += tilefuse.u32(1)
    pipeline = next(op for op in tilefuse.Pipeline([h]).to_module().ops if isinstance(op, PipelineOp))
    (start,) = (op for op in pipeline.body.block.ops if isinstance(op, StageOp))
    for points in (0, 3):
        needed = required_boxes(pipeline, {"h": ((10, 5),)}, {"picture": ((0, 4),)}, {"n": points})
        assert needed[start.results[0]] == ((0, 256),)


@pytest.mark.parametrize(("points", "lines"), [(0, 8), (4, 8), (0, 0)])
def test_the_lines_of_a_scan_without_steps_are_needed(points, lines):
    """Kernels load what stands before the first step of each line; there are none where the lines are no points."""
    x, y = tilefuse.Var("x"), tilefuse.Var("y")
    steps, count = tilefuse.Param(tilefuse.Int(32), "steps"), tilefuse.Param(tilefuse.Int(32), "count")
    r = tilefuse.RDom([(1, steps), (20, count)])
    f = tilefuse.Func("f")
    f[x, y] = tilefuse.u32(x + y)
    f[r.x, r.y] += f[r.x - 1, r.y]
    module = tilefuse.Pipeline([f]).to_module()
    pipeline = next(op for op in module.ops if isinstance(op, PipelineOp))
    (start,) = (op for op in pipeline.body.block.ops if isinstance(op, StageOp))
    needed = required_boxes(pipeline, {"f": ((0, 9), (0, 4))}, {}, {"steps": points, "count": lines})
    assert needed[start.results[0]] == ((0, 9), (0, 20 + lines if lines else 4))
