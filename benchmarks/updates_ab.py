"""Comparison of forms of updates on the GPU: checked against the CPU, timed with cold caches, as JSON.

python benchmarks/updates_ab.py --output updates.json [--only conv_layer] [--seconds 200] [--workers 8] [--dry]
    [--forms search alone]

Each case is compiled by the search as it is, with stages beside updates as kernels of their own (`alone`), by the
search without slices (`unstaged`), and with the schedules that are written here (`given`). Processes compile side by
side, one of them has the GPU at a time. `--dry` needs no GPU: registers, shared memory and spills of each form, for an
H200.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import multiprocessing
import re
import statistics
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import device
from apps import APPS
from cases import Case, disagreement
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.passes import ModulePass

import tilefuse as hl
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.execution.gemm import search
from tilefuse.execution.gemm.attribute import fits_zigzag
from tilefuse.execution.scan.model import Scan
from tilefuse.passes.group_updates import GroupUpdates
from tilefuse.passes.pipeline import new_context, standard_passes
from tilefuse.passes.tile import Tile

SEARCH, ALONE, UNSTAGED = "search", "alone", "unstaged"
Form = Mapping[str, str]
"""The schedule of groups, by a regular expression of their names."""

CALLS = 24
"""In a graph, of a small size."""


def gemm(threads: str, points: str, slice: str = "16", buffers: int = 3, unroll: int = 4, **others: int) -> str:
    """Return the text of a schedule with staged operands; warps are in zigzag order if possible."""
    runs = 4 if int(points.split(",")[0]) % 4 == 0 else 1
    others = {"zigzag": int(fits_zigzag([int(n) for n in threads.split(",")])), **others}
    more = "".join(f", {key} = {n}" for key, n in others.items())
    return (
        f"#schedule.gemm<threads = [{threads}], points = [{points}], unroll = {unroll}, slice = [{slice}], "
        f"buffers = {buffers}, vector = {runs}{more}>"
    )


def scan(lines: str, steps: int, unroll: int, buffers: int, rows: int = 1) -> str:
    """Return the text of a schedule with staged lines."""
    return (
        f"#schedule.scan<threads = [{lines}], unroll = {unroll}, slice = {steps}, buffers = {buffers}, rows = {rows}>"
    )


PRODUCTS = [
    gemm("16,8", "8,8"), gemm("16,8", "8,8", zigzag=0), gemm("16,8", "8,8", "32"), gemm("16,8", "8,8", "16", 4),
    gemm("16,8", "8,8", blocks=3), gemm("8,16", "8,8"), gemm("8,8", "8,8"), gemm("8,8", "8,4", "32"),
    gemm("16,16", "8,8"), gemm("16,16", "8,8", blocks=2), gemm("16,16", "8,16"), gemm("32,8", "8,16"),
    gemm("16,16", "8,8", "32", 2, 8),
]  # fmt: skip
LAYERS = [
    gemm("16,4,4,1", "8,5,2,1", "32"), gemm("16,4,4,1", "8,5,2,1", "32", zigzag=0), gemm("16,4,4,1", "8,5,2,1"),
    gemm("16,4,2,1", "8,5,2,1", "32"), gemm("16,4,2,1", "8,5,2,1", blocks=3), gemm("16,4,4,1", "8,5,2,1", "16", 4),
    gemm("8,10,4,1", "8,2,4,1", "32"), gemm("16,4,4,1", "8,5,2,1", "64", 2),
]  # fmt: skip
LINES = [
    scan("32,1", 32, 32, 4, 1), scan("32,1", 32, 16, 4, 1), scan("32,1", 32, 32, 4, 4), scan("32,1", 32, 16, 4, 4),
    scan("32,1", 64, 32, 4, 4), scan("32,1", 64, 16, 3, 2), scan("32,1", 32, 8, 5, 2), scan("16,1", 64, 16, 4, 4),
]  # fmt: skip
MIXED = [
    gemm("4,4,4,1", "4,2,4,1", "32", 1), gemm("4,8,4,1", "4,2,4,1", "32", 1), gemm("4,8,4,1", "4,2,2,1", "32", 1),
    gemm("4,4,4,1", "4,4,2,1", "16", 2), gemm("4,8,2,1", "4,4,4,1", "16", 2), gemm("4,8,4,1", "4,2,2,1", "8", 3),
]  # fmt: skip
BY_CHANNEL = [
    gemm("8,8,4,1", "4,2,4,1", "1,3,3", 1, 9), gemm("8,8,4,1", "4,2,2,1", "1,3,3", 1, 9),
    gemm("8,4,8,1", "4,2,2,1", "1,3,3", 1, 9), gemm("8,8,2,1", "4,1,4,1", "1,3,3", 1, 9),
    gemm("8,4,2,1", "4,2,4,1", "1,3,3", 1, 9), "#schedule.gemm<threads = [32, 4, 1, 1], points = [1, 4, 1, 1]>",
]  # fmt: skip
FORMS: dict[str, list[Form]] = {
    "mat_mul": [{"product": s} for s in PRODUCTS],
    "conv_layer": [{"conv": s} for s in LAYERS],
    "depthwise_separable_conv": [{"mixed": m, "by_channel": c} for m, c in zip(MIXED, BY_CHANNEL, strict=True)],
    "iir_blur": [{r"blur(_1)?_update[12]": s} for s in LINES],
}
"""Beside the search's; of the app of that name."""
SIZES = {"mat_mul": ("small", "large"), "depthwise_separable_conv": ("small", "large"), "iir_blur": ("small", "large")}
"""Where not only the small one is measured."""


@dataclasses.dataclass(frozen=True)
class Given(ModulePass):
    """Gives groups the schedules of a form."""

    name = "given"
    form: tuple[tuple[str, str], ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Set them, and check that there are such groups."""
        for pattern, text in self.form:
            found = [
                g
                for g in op.walk()
                if isinstance(g, GroupOp) and g.update is not None
                and re.fullmatch(rf"{pattern}(_update)?", g.sym_name.data)
            ]  # fmt: skip
            if not found:
                raise ValueError(f"no update is called {pattern}")
            for group in found:
                group.schedule = Parser(new_context(), text).parse_attribute()  # type: ignore[assignment]


@contextmanager
def without_slices() -> Iterator[None]:
    """Replace the search by one without staged operands."""
    before = search.staged_candidates, Scan._staged
    search.staged_candidates = lambda facts, machine: iter(())  # type: ignore[assignment]
    Scan._staged = lambda self, facts, machine, found: iter(())  # type: ignore[method-assign]
    try:
        yield
    finally:
        search.staged_candidates, Scan._staged = before  # type: ignore[method-assign]


def compiled(pipeline: hl.Pipeline, form: str | Form, target: str, extent: tuple[int, ...]) -> Any:
    """Return the program of a form."""
    if form == ALONE:
        standard = standard_passes("h200", extent=extent)
        passes = [GroupUpdates(max_instructions=0.0) if isinstance(p, GroupUpdates) else p for p in standard]
        return finished(pipeline.compile(target, extent=extent, passes=passes))
    if isinstance(form, str):
        return finished(pipeline.compile(target, extent=extent))
    given = Given(tuple(form.items()))
    passes = [p for q in standard_passes("h200", extent=extent) for p in ((given, q) if isinstance(q, Tile) else (q,))]
    return finished(pipeline.compile(target, extent=extent, passes=passes))


def finished(program: Any) -> Any:
    """Compile the kernels of a program, as far as possible before a call; return the program."""
    assert program.kernels
    return program


def facts_of(program: Any) -> dict[str, Any]:
    """Return the schedules of updates, and the resources of their kernels."""
    text = program.ir()
    schedules = re.findall(
        r'img\.group "([^"]*)" schedule (#schedule\.(?:gemm|scan|reduce|scatter|in_order)<[^>]*>)', text
    )
    kernels = [dataclasses.asdict(k) for k in program.kernels]
    return {"schedules": dict(schedules), "kernels": kernels}


def without_gpu(name: str, size: str, form: str | Form, case: Case) -> dict[str, Any]:
    """Return NVRTC's report on a form, for an H200."""
    program = compiled(case.pipeline(size), form, "h200", case.extent(size))
    return facts_of(program)


def kernel_us(program: Any, inputs: Any, output: Any, box: Mapping[str, Any], repeat: int = 7) -> list[float]:
    """Measure the microseconds of each kernel of a call by events around it, a few more than in a graph."""
    import cupy

    from tilefuse.runtime.launch import cuda_runner

    marks: list[Any] = []
    runner, call = cuda_runner.CudaRunner, cuda_runner.KernelCall
    launch, run = call.launch, runner._launch
    stream = cupy.cuda.get_current_stream()

    def marked(self: Any, on: int) -> Any:
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record(stream)
        launch(self, on)
        end.record(stream)
        marks.append((begin, end))

    def one_by_one(self: Any, pointers: Any, scalars: Any, on: int) -> None:
        self._launch_kernels(pointers, scalars, on)

    rounds = []
    try:
        call.launch, runner._launch = marked, one_by_one
        for _ in range(repeat):
            marks.clear()
            program(*inputs, out=output, **box)
            stream.synchronize()
            rounds.append([cupy.cuda.get_elapsed_time(a, b) * 1e3 for a, b in marks])
    finally:
        call.launch, runner._launch = launch, run
    return [round(statistics.median(times), 2) for times in zip(*rounds, strict=False)]


def on_gpu(
    name: str, size: str, form: str | Form, case: Case, expected: Any, options: argparse.Namespace
) -> tuple[dict[str, Any], Any]:
    """Check and time a form; gives the CPU's result too, so that it is computed once."""
    import cupy

    lock, repeat = _LOCK, options.repeat
    box, given = case.box(size), case.inputs(size)
    if expected is None:
        expected = case.pipeline(size).compile("cpu")(*given, **box)
    program = compiled(case.pipeline(size), form, "cuda", case.extent(size))
    with lock:
        sets = device.L2_SETS if size == "small" else 1
        inputs = [tuple(cupy.asarray(a) for a in given) for _ in range(sets)]
        outputs = [program(*arguments, **box) for arguments in inputs]
        for arguments, output in zip(inputs, outputs, strict=True):
            device.poison(output)
            program(*arguments, out=output, **box)
        found: dict[str, Any] = {"wrong": disagreement(outputs[0].get(), expected, case)}
        calls = [lambda a=a, o=o: program(*a, out=o, **box) for a, o in zip(inputs, outputs, strict=True)]
        found["us"] = device.cupy_graph_us(calls * max(1, (CALLS if size == "small" else 2) // sets), repeat)
        found["wrong"] = found["wrong"] or disagreement(outputs[-1].get(), expected, case)
        found["kernel_us"] = kernel_us(program, inputs[0], outputs[0], box)
        del inputs, outputs, calls
        cupy.get_default_memory_pool().free_all_blocks()
    return found | facts_of(program), expected


def work(task: tuple[str, str, argparse.Namespace, float]) -> tuple[str, list[dict[str, Any]]]:
    """Measure all forms of a case at a size, until the time is up."""
    name, size, options, until = task
    case = next(c for c in APPS if c.name == name)
    rows: list[dict[str, Any]] = []
    expected = None
    forms: list[str | Form] = [form for form in (SEARCH, ALONE, UNSTAGED) if form in options.forms]
    for form in (*forms, *(FORMS[name] if "given" in options.forms else ())):
        row: dict[str, Any] = {"form": form if isinstance(form, str) else dict(form)}
        rows.append(row)
        if time.time() > until:
            row["error"] = "no time was left"
            continue
        start = time.perf_counter()
        try:
            # a program may search again at a call, or when it is asked for its IR
            with without_slices() if form == UNSTAGED else nullcontext():
                if options.dry:
                    row |= without_gpu(name, size, form, case)
                else:
                    found, expected = on_gpu(name, size, form, case, expected, options)
                    row |= found
        except Exception as error:  # the other forms still run
            row["error"] = f"{type(error).__name__}: {error}".split("\n")[0][:300]
        row["seconds"] = round(time.perf_counter() - start, 2)
    return f"{name} {size}", rows


_LOCK: Any = None


def _take(lock: Any) -> None:
    global _LOCK
    _LOCK = lock


def said(title: str, rows: list[dict[str, Any]]) -> str:
    """Format a line per form."""
    lines = [title]
    for row in rows:
        figures = f"{row['us']:9.1f} us" if "us" in row else "            "
        worst = max((k["registers"] or 0 for k in row.get("kernels", ())), default=0)
        state = row.get("error") or row.get("wrong") or f"{worst} registers at most"
        lines.append(f"  {figures}  {row['form']}  {state}  {row.get('kernel_us', '')}")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Run the command line; exit status 1 if a form was wrong, or failed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=Path, default=Path("updates_ab.json"))
    parser.add_argument("--only", action="append", choices=FORMS)
    parser.add_argument("--sizes", nargs="*", choices=("small", "large", "tiny"), default=("small", "large"))
    parser.add_argument(
        "--forms", nargs="*", choices=(SEARCH, ALONE, UNSTAGED, "given"), default=(SEARCH, ALONE, "given")
    )
    parser.add_argument("--seconds", type=float, default=200.0)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--dry", action="store_true", help="compile only")
    options = parser.parse_args(argv)
    until = time.time() + options.seconds
    tasks = [
        (name, size, options, until)
        for size in options.sizes
        for name in options.only or FORMS
        if size == "tiny" or size in SIZES.get(name, ("small",))
    ]
    results: dict[str, Any] = {"command": sys.argv, "cases": {}}
    if not options.dry:
        results["environment"] = device.facts()
    context = multiprocessing.get_context("spawn")
    good = True
    with context.Pool(options.workers, _take, (context.Lock(),)) as pool:
        for title, rows in pool.imap_unordered(work, tasks):
            results["cases"][title] = rows
            options.output.write_text(json.dumps(results, indent=1) + "\n")
            print(said(title, rows), flush=True)
            good = good and not any(r.get("wrong") or r.get("error") for r in rows)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
