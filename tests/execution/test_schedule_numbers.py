"""Numbers of schedules, as a person may write them, of every model: quick to compile, or one located error."""

import re

import pytest
import random_schedule_numbers

from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.parsing import parse_module
from tilefuse.execution.registry import names
from tilefuse.passes.pipeline import lowering_passes, run_passes


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(12))
def test_random_numbers(seed):
    random_schedule_numbers.check(seed)


def test_all_models_are_drawn():
    texts = "".join(random_schedule_numbers.draw(seed)[1] for seed in range(80))
    assert [name for name in names() if f"#schedule.{name}<" not in texts] == []


@pytest.mark.parametrize(
    ("target", "shape", "old", "new", "message"),
    [
        # gcc took 49 seconds, and NVRTC more than a minute
        ("zen4", "sums of rows", "segment", "unroll = 512, segment", "operations are written out for a thread"),
        ("h200", "sums of columns", "unroll = 8", "unroll = 1024", "operations are written out for a thread"),
        ("zen4", "lines along x", "width = 4", "width = 65535", "operations are written out for a thread"),
        ("zen4", "sums of columns", "threads = \\[1, 1", "threads = [1, 2048", "a block has 2048 warps; 1024 at most"),
        ("zen4", "matrix product", "points = \\[64,", "points = [1048576,", "a block has 393216 vectors; 128 at most"),
        ("h200", "block_tile", "= \\[32, 4\\]", "= [32, 64]", "a tile of 32 points in dimension 1 has too few for 64"),
        ("h200", "histogram", "split = 132", "split = 2147483648", "2147483648, and 2147483647 is the most"),
    ],
)  # fmt: skip
def test_what_would_take_minutes_is_refused_at_once(target, shape, old, new, message):
    text, count = re.subn(old, new, random_schedule_numbers.scheduled(shape, target), count=1)
    assert count == 1
    with pytest.raises(PipelineError, match=message) as error:
        run_passes(parse_module(text), lowering_passes(warps=target == "h200"))
    assert error.value.position is not None
