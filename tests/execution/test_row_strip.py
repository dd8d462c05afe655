"""Strips of rows on a CPU: random pipelines give the evaluator's results to the bit, however strips are cut."""

from dataclasses import dataclass

import pytest
from random_pipelines import random_pipeline
from random_programs import assert_equal, call, evaluated, passes
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilefuse.analysis.model import extract
from tilefuse.dialects.img.ops import GroupOp, PipelineOp, StageOp
from tilefuse.execution.facts import GroupFacts
from tilefuse.execution.row_strip.attribute import StripSchedule
from tilefuse.execution.row_strip.model import RowStrip
from tilefuse.runtime.program import compile_pipeline


@dataclass(frozen=True)
class Strips(ModulePass):
    """Strips of this size wherever they are legal."""

    name = "strips"

    columns: int
    rows: int

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for pipeline in [p for p in op.body.block.ops if isinstance(p, PipelineOp)]:
            model = extract(pipeline)
            for group in [g for g in pipeline.body.block.ops if isinstance(g, GroupOp)]:
                facts = GroupFacts.of(group, model)
                if isinstance(group.output, StageOp) and RowStrip().legal(facts) is None:
                    deep = [n[1] if n is not None and n[1] <= 16 else 2 for n in facts.bounds[2:]]
                    group.schedule = StripSchedule(tile=(self.columns, self.rows, *deep))


def small_strips(columns, rows, algorithm="all"):
    return [
        q for p in passes("cpu", algorithm=algorithm) for q in ([Strips(columns, rows), p] if p.name == "tile" else [p])
    ]


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEFUSE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


SIZES = [(7, 3), (16, 5), (1, 1), (64, 64)]


@pytest.mark.parametrize("seed", range(500, 516))
def test_random_pipelines(seed):
    case, (columns, rows) = random_pipeline(seed, stages=4), SIZES[seed % len(SIZES)]
    program = compile_pipeline(case.module, "cpu", strict_float=True, passes=small_strips(columns, rows), verify=True)
    assert_equal(call(program, case), evaluated(case), f"seed {seed}, strips of {columns} x {rows}")
