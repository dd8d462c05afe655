"""Measurement of drawn schedules: compiled in many processes, timed in one at a time."""

from __future__ import annotations

import dataclasses
import gc
import json
import time
from collections.abc import Sequence
from random import Random
from typing import Any, Protocol

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tilefuse.tools.calibration import gpu, predicted, workers
from tilefuse.tools.calibration.drawn import CALIBRATED_KINDS, Draw, Drawing, kinds_in, passes_with_draw

SIZES = {"small": (1536, 2560), "large": (8192, 8192)}
"""Width and height."""
NAMES = tuple(SIZES)
EXTENTS = tuple(SIZES.values())
NEXT_BEST = 3
"""Schedules measured beside the random ones: those that the model puts behind its choice."""


class Measurable(Protocol):
    """A pipeline, its pictures, and a test that two results differ. Sent to other processes."""

    @property
    def name(self) -> str: ...

    def module(self) -> ModuleOp: ...

    def pictures(self, width: int, height: int, seed: int) -> list[np.ndarray]: ...

    def differs(self, got: np.ndarray, expected: np.ndarray) -> str | None: ...


@dataclasses.dataclass(frozen=True)
class Task:
    """One pipeline, and the schedules to measure."""

    subject: Measurable
    count: int
    seed: int
    target: str
    deadline: float
    """Time, as of `time.time()`, after which no schedule is begun."""
    repeat: int = 7
    dry: bool = False
    """Compile as far as CUDA text."""
    kinds: tuple[str, ...] = CALIBRATED_KINDS
    compiled: bool = False
    """Also measure what the compiler makes of it."""


def tasks(
    subjects: Sequence[Measurable], count: int, seed: int, target: str, seconds: float, **rest: Any
) -> list[Task]:
    """Make a task per pipeline, with equal parts of `count` schedules and all of `seconds` from now."""
    deadline = time.time() + seconds
    shares = [count // len(subjects) + (i < count % len(subjects)) for i in range(len(subjects))]
    return [Task(s, share, seed, target, deadline, **rest) for s, share in zip(subjects, shares, strict=True)]


def drawings(task: Task) -> list[Drawing]:
    """Return drawings: the model's choice at each size, its next choices, equally many random ones of every kind."""
    kinds = [k for k in kinds_in(task.subject.module(), task.target, EXTENTS) if k in task.kinds]
    random = Random(f"{task.seed} {task.subject.name}")
    found = []
    for i, kind in enumerate(kinds):
        share = task.count // len(kinds) + (i < task.count % len(kinds))
        # one of each equal part of the list, so that none comes twice where there are enough
        found += [Drawing(kind, (j + random.random()) / share) for j in range(share)]
    random.shuffle(found)
    chosen = [Drawing(best=i) for i in range(len(EXTENTS))]
    return [*chosen, *(Drawing(best=0, rank=r + 1) for r in range(NEXT_BEST)), *found]


def measure(task: Task) -> dict[str, Any]:
    """Measure one pipeline: rows of drawn schedule, predicted and measured microseconds per size.

    `compiled`, on request: the same of what the compiler makes of it for each size, as its user has it. Drawn
    schedules are for any number of waves, which depends on the size.
    """
    entry = _empty()
    seen: set[str] = set()
    reference = None
    try:
        plan = drawings(task)
    except Exception as error:  # the other pipelines still run
        return {**entry, "error": reason(error)}
    arrays: dict[str, Any] = {}
    for name in NAMES if task.compiled else ():
        if workers.remaining(task.deadline) < 0:
            break
        try:
            entry["compiled"][name], reference = _as_compiled(task, arrays, reference, name)
        except Exception as error:  # the drawn ones still run
            entry["failed"].append({"compiled": name, "error": reason(error)})
    for drawing in plan:
        if workers.remaining(task.deadline) < 0:
            entry["cut"] = True
            break
        draw = Draw(task.target, EXTENTS, drawing)
        try:
            program = _compile(task, passes_with_draw(task.target, draw))
            key = json.dumps(draw.record["schedules"])
            if key in seen and drawing.best is None:
                entry["repeated"] += 1
                continue
            seen.add(key)
            row: dict[str, Any] = {"drawing": dataclasses.asdict(drawing), **draw.record}
            if task.dry:
                entry["rows"].append(row)
                continue
            with workers.turn():
                reference = _time(task, program, arrays, reference, row)
            # a schedule whose registers spilled got fewer blocks or rows: another one than was predicted
            drawn = {tuple(s[1]) for s in row["schedules"]}
            row["changed"] = any(
                tuple(k.tile) not in drawn or k.resident_blocks not in row["resident_blocks"] for k in program.kernels
            )
            row["registers"] = max((k.registers or 0) for k in program.kernels)
            row["spill_bytes"] = max((k.spill_bytes or 0) for k in program.kernels)
            entry["changed"] += row["changed"]
            entry["rows"].append(row)
        except Exception as error:  # the other schedules still run
            entry["failed"].append({"drawing": dataclasses.asdict(drawing), "error": reason(error)})
            if not task.dry and not gpu.is_usable():
                entry["error"] = "the GPU does not answer any more"
                break
    return entry


def _as_compiled(task: Task, arrays: dict[str, Any], reference: Any, name: str) -> tuple[dict[str, Any], Any]:
    """Return the row of one size, and the reference: the first program's results for small pictures."""
    predict = predicted.Predict(task.target, SIZES[name])
    program = _compile(task, predicted.passes_with_prediction(predict))
    row: dict[str, Any] = {}
    if not task.dry:
        with workers.turn():
            row["us"] = _time_at(task, program, arrays, name)
            if name == "small":
                reference = _checked(task, arrays, reference, row)
    return {**predict.record, **row}, reference


def _compile(task: Task, passes: list[ModulePass]) -> Any:
    if not task.dry:
        from tilefuse.runtime.program import compile_pipeline

        return compile_pipeline(task.subject.module(), "cuda", passes=passes)
    from tilefuse.lowering.printers import print_cuda
    from tilefuse.passes.pipeline import lowering_passes, run_passes

    return print_cuda(run_passes(task.subject.module(), [*passes, *lowering_passes(warps=True)]))


def _time(task: Task, program: Any, arrays: dict[str, Any], reference: Any, row: dict[str, Any]) -> Any:
    import cupy

    row["us"] = []
    for name in NAMES:
        row["us"].append(_time_at(task, program, arrays, name))
        if name == "small":
            reference = _checked(task, arrays, reference, row)
    gc.collect()
    cupy.get_default_memory_pool().free_all_blocks()
    return reference


def _checked(task: Task, arrays: dict[str, Any], reference: Any, row: dict[str, Any]) -> Any:
    """Record in a row whether the small result differs from the reference; without one, it is the reference."""
    got = arrays["small"][1][0].get()
    reference = got if reference is None else reference
    row["wrong"] = task.subject.differs(got, reference)
    return reference


def _time_at(task: Task, program: Any, arrays: dict[str, Any], name: str) -> float:
    """Measure the microseconds of a call at one size, with inputs and outputs in `arrays`."""
    import cupy

    sets = gpu.L2_SETS if name == "small" else 1
    if name not in arrays:
        pictures = [
            [cupy.asarray(a) for a in task.subject.pictures(*SIZES[name], seed)] for seed in range(min(sets, 2))
        ]
        inputs = [[a.copy() for a in pictures[i % len(pictures)]] for i in range(sets)]
        first = program(*inputs[0])
        arrays[name] = (inputs, [cupy.empty_like(first) for _ in inputs])
    inputs, outputs = arrays[name]
    for given, output in zip(inputs, outputs, strict=True):
        gpu.poison(output)
        program(*given, out=output)
    calls = [lambda a=a, b=b: program(*a, out=b) for a, b in zip(inputs, outputs, strict=True)]
    return gpu.cupy_graph_us(calls * (3 if name == "small" else 2), task.repeat)


def reason(error: BaseException) -> str:
    """Describe an error in one line."""
    return f"{type(error).__name__}: {error}".split("\n")[0][:300]


def said(task: Task, entry: dict[str, Any]) -> str:
    """Format the result of a task and its first errors as a line."""
    wrong = sum(bool(r.get("wrong")) for r in _measured(entry))
    text = (
        f"{task.subject.name}: {len(entry['rows'])} schedules, {entry['changed']} made smaller, {wrong} wrong, "
        f"{len(entry['failed'])} failed{', cut short' if entry.get('cut') else ''}"
    )
    errors = [f["error"] for f in entry["failed"][:3]] + ([entry["error"]] if "error" in entry else [])
    return "\n    ".join([text, *errors])


def is_sound(entry: dict[str, Any]) -> bool:
    """Whether all its schedules ran correctly."""
    return not (entry.get("error") or entry["failed"] or any(r.get("wrong") for r in _measured(entry)))


def _measured(entry: dict[str, Any]) -> list[dict[str, Any]]:
    return [*entry["compiled"].values(), *entry["rows"]]


def run_tasks(given: Sequence[Task], workers_count: int) -> Any:
    """Yield (task, entry) in order of completion; an entry has all keys, even after a crash."""
    for task, entry in workers.each(measure, given, workers_count):
        yield task, {**_empty(), **entry}


def _empty() -> dict[str, Any]:
    return {"rows": [], "changed": 0, "repeated": 0, "failed": [], "compiled": {}}
