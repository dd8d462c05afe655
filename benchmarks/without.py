"""Comparison of kernels with and without single parts of the compiler, on one GPU.

python benchmarks/without.py --output FILE [--seconds 140] [--workers 14] [--randoms 40] [--parts packing ...] [--dry]

`compiler_parts.py` has the parts. Processes compile each pipeline with all of them, and without each one; what has
another text is timed by turns with it. `--dry` needs no GPU: it tells which texts change.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import queue
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice, product
from pathlib import Path
from threading import BrokenBarrierError
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent))

from apps import APPS
from cases import CASES, SIZES
from compiler_parts import PARTS, without

ROTATED_BYTES = 256 << 20
"""Bytes of the buffers that a measurement rotates over, so that none is still in L2 at its turn."""
LEAST_CALLS, SMALL_CALLS = 4, 96
REPEAT = 5
COMPILING = 0.5
"""Share of the time after which no more pipelines are compiled."""
ROUNDS = 3
"""Times of each form, by turns, of which the least counts."""


# --- pipelines --------------------------------------------------------------------------------------------------------


def subjects(kinds: Sequence[str], randoms: int, only: str) -> list[tuple[str, str, Any]]:
    """List (name, kind, key): the stencils at two sizes, in odd widths, and random pipelines."""
    from large_pipelines import usable_seeds

    found: list[tuple[str, str, Any]] = []
    for size in ("small", "large"):
        for case in CASES:
            found.append((f"{case.name}.{size}", "case", (case.name, size, 0)))
            if case.narrower:
                found.append((f"{case.name}.{size}.odd", "case", (case.name, size, 1)))
    for app in APPS:
        found += [(f"{app.name}.{size}", "app", (app.name, size)) for size in app.pictures if size == "small"]
    for case in CASES:
        found.append((f"{case.name}.small.later", "later", (case.name, "small", 0)))
    for reads, bits, stages, size in product(READS, (8, 16), (1, 2, 4, 8), ("small", "large")):
        found.append((f"{reads}_u{bits}_x{stages}.{size}", "chain", (reads, bits, stages, size)))
    found += [(f"random_{seed}", "random", seed) for seed in islice(usable_seeds(0), randoms)]
    return [f for f in found if f[1] in kinds and only in f[0]]


READS = ("row", "ring", "cross")
"""Places that a stage of a chain reads: three in a row, eight around a point, four beside it."""


def chain(reads: str, bits: int, stages: int) -> Any:
    """Return a chain of equal stages on integers of 8 or 16 bits whose sums and maxima fit 16 bits."""
    import tilefuse as hl

    x, y = hl.Var("x"), hl.Var("y")
    func: Any = hl.BoundaryConditions.repeat_edge(hl.ImageParam(hl.UInt(bits), 2, "image"))
    for number in range(stages):
        before, func = func, hl.Func(f"stage_{number}")

        def at(dx: int, dy: int, f: Any = before) -> Any:
            return hl.cast(hl.UInt(16), f[x + dx, y + dy])

        if reads == "row":
            value = (at(-1, 0) + 2 * at(0, 0) + at(1, 0)) >> 2
        elif reads == "ring":
            value = sum((at(*d) for d in product((-1, 0, 1), repeat=2) if d not in ((0, 0), (1, 1))), at(1, 1)) >> 3
        else:
            value = hl.max(hl.max(at(-1, 0), at(1, 0)), hl.max(at(0, -1), at(0, 1)))
        func[x, y] = hl.cast(hl.UInt(bits), value)
    return hl.Pipeline(func).to_module()


class Subject:
    """A pipeline, and the arrays of its calls."""

    given: Callable[[], Sequence[Any]] | None = None
    """Inputs of an app."""
    later = False
    """Whether arrays begin one element behind aligned addresses."""
    less = 0
    """Columns that pictures have less."""

    def __init__(self, kind: str, key: Any):
        self.later = kind == "later"
        if kind in ("case", "later"):
            name, size, self.less = key
            case = next(c for c in CASES if c.name == name)
            width, height = SIZES[size]
            self.module = case.pipeline(size).to_module()
            self.options: dict[str, Any] = {"extent": (width, height)}
            self.shapes = {
                "": ([case.channels] * (case.channels > 0) + [height, width - self.less], case.dtype, case.top)
            }
            self.keywords: dict[str, Any] = {}
            self.large = None
        elif kind == "chain":
            *what, size = key
            width, height = SIZES[size]
            self.module, self.options = chain(*what), {"extent": (width, height)}
            self.shapes = {"": ([height, width], f"uint{what[1]}", 4096 if what[1] == 16 else 0)}
            self.keywords, self.large = {}, None
        elif kind == "app":
            name, size = key
            app = next(a for a in APPS if a.name == name)
            self.module = app.pipeline(size).to_module()
            self.options = {"extent": app.extent(size)}
            self.keywords = app.box(size)
            self.given = partial(app.inputs, size)
            self.large = None
        else:
            from large_pipelines import LargePipeline

            self.large = LargePipeline(key)
            self.module = self.large.case.module
            self.options = {"extent": (4096, 4096), "strict_float": True}
            self.keywords = {**self.large.case.params, "mins": self.large.case.mins, "sizes": self.large.case.sizes}

    def arrays(self) -> dict[str, Any]:
        """Make the inputs of a call on the GPU."""
        import cupy

        if self.large is not None:
            return self.large.inputs(7)
        if self.given is not None:
            return {str(i): cupy.asarray(a) for i, a in enumerate(self.given())}
        random, found = cupy.random.default_rng(7), {}
        for name, (shape, dtype, top) in self.shapes.items():
            if dtype == "float32":
                found[name] = random.random(shape, dtype=cupy.float32)
            else:
                largest = top or 2 ** (8 * cupy.dtype(dtype).itemsize)
                found[name] = random.integers(0, largest, shape, cupy.uint32).astype(dtype)
        return {name: self.placed(array) for name, array in found.items()}

    def placed(self, array: Any) -> Any:
        """Copy an array to where its first element is not aligned, if the subject is `later`."""
        if not self.later:
            return array
        import cupy

        moved = cupy.empty(array.size + 1, array.dtype)[1:].reshape(array.shape)
        moved[...] = array
        return moved


def call(program: Any, subject: Subject, arrays: dict[str, Any], **more: Any) -> Any:
    """Call a program on arrays."""
    if subject.large is None:
        return program(*arrays.values(), **subject.keywords, **more)
    return program(**arrays, **subject.keywords, **more)


# --- compilation and timing, in processes -----------------------------------------------------------------------------


class Forms:
    """Programs of a subject: one with all parts, and one without each part that changes its text."""

    def __init__(self, kind: str, key: Any, parts: Sequence[str], dry: bool):
        self.subject = Subject(kind, key)
        self.programs: dict[str | None, Any] = {}
        self.sums: dict[str | None, Any] = {}
        self.errors: dict[str, str] = {}
        arrays = {} if dry else self.subject.arrays()
        texts: dict[str | None, str] = {}
        for part in (None, *parts):
            if part is not None and not PARTS[part][1](str(self.subject.module), texts[None]):
                continue
            try:
                self._add(part, texts, arrays, dry)
            except Exception as error:  # a part may be needed
                if part is None:
                    raise
                self.errors[part] = f"{type(error).__name__}: {error}".split("\n")[0][:200]
        if not dry:
            import cupy

            del arrays
            cupy.get_default_memory_pool().free_all_blocks()

    def _add(self, part: str | None, texts: dict[str | None, str], arrays: dict[str, Any], dry: bool) -> None:
        from tilefuse.runtime.program import compile_pipeline

        with without(part):
            if dry:
                from tilefuse.runtime.call import guess

                with mock.patch.object(guess, "_EXTENT", 1024 - self.subject.less):
                    program = compile_pipeline(self.subject.module, "h200", **self.subject.options)
                text = program.source()
            else:
                import cupy

                program = compile_pipeline(self.subject.module, "cuda", ahead=False, **self.subject.options)
                made = call(program, self.subject, arrays)
                outs = made if isinstance(made, tuple) else (made,)
                if self.subject.later:  # compile for outputs that are not aligned, too
                    call(program, self.subject, arrays, out=self.subject.placed(outs[0]))
                text = program.source()
                self.sums[part] = [float(cupy.nan_to_num(a).sum(dtype=cupy.float64)) for a in outs]
            if part is None or text != texts[None]:
                texts[part], self.programs[part] = text, program

    def differing(self) -> list[str]:
        """Return the parts without which results are others: none if rounding alone differs."""
        whole = self.sums.get(None, [])
        return [
            part
            for part, sums in self.sums.items()
            if part is not None and not all(math.isclose(a, b, rel_tol=1e-5) for a, b in zip(whole, sums, strict=True))
        ]

    def timed(self) -> dict[str, float]:
        """Time all forms by turns: microseconds by part left out; `all` with every part."""
        import cupy

        from tilefuse.tools.calibration.gpu import cupy_graph_us

        inputs = self.subject.arrays()
        whole = self.programs[None]
        made = call(whole, self.subject, inputs)
        outs = made if isinstance(made, tuple) else (made,)
        total = sum(a.nbytes for a in (*inputs.values(), *outs))
        sets = min(8, -(-ROTATED_BYTES // total))
        placed = self.subject.placed
        pictures = [inputs, *({n: placed(a.copy()) for n, a in inputs.items()} for _ in range(sets - 1))]
        results = [tuple(placed(cupy.empty_like(a)) for a in outs) for _ in range(sets)]
        results = [r if isinstance(made, tuple) or not isinstance(r, tuple) else r[0] for r in results]
        rounds = -(-max(LEAST_CALLS, SMALL_CALLS if total < 64 << 20 else 0) // sets)
        us = dict.fromkeys(self.programs, math.inf)
        for turn in range(ROUNDS):
            for part in list(self.programs)[:: 1 if turn % 2 == 0 else -1]:
                calls = [
                    lambda a=a, r=r, p=self.programs[part]: call(p, self.subject, a, out=r)
                    for a, r in zip(pictures, results, strict=True)
                ] * rounds
                us[part] = min(us[part], cupy_graph_us(calls, REPEAT))
        del pictures, results, made, outs
        cupy.get_default_memory_pool().free_all_blocks()
        return {part or "all": n for part, n in us.items()}


def work(jobs: Any, results: Any, together: Any, lock: Any, options: argparse.Namespace, begin: float) -> None:
    """Compile jobs until there are none beside other processes; then time them, one process at a time."""
    compiled: dict[str, tuple[Forms, dict[str, Any]]] = {}
    while time.time() < begin + COMPILING * options.seconds:
        try:
            name, kind, key = jobs.get(timeout=0.5)
        except queue.Empty:
            break
        try:
            forms = Forms(kind, key, options.parts, options.dry)
            found = {"parts": [p for p in forms.programs if p], "errors": forms.errors, "differ": forms.differing()}
            compiled[name] = forms, found
            results.put((name, found))
        except Exception as error:
            results.put((name, {"error": f"{type(error).__name__}: {error}".split("\n")[0][:300]}))
    if options.dry:
        return
    with suppress(BrokenBarrierError):
        together.wait(begin + 0.7 * options.seconds - time.time())
    for name, (forms, found) in compiled.items():
        with lock:
            if found["parts"] and time.time() < begin + options.seconds:
                try:
                    results.put((name, found | {"us": forms.timed()}))
                except Exception as error:
                    results.put((name, found | {"error": f"{type(error).__name__}: {error}".split("\n")[0][:300]}))
    results.put((None, None))


def table(results: dict[str, Any]) -> str:
    """Format the time without each part over that with it."""
    lines = []
    for part in PARTS:
        ratios = {n: r["us"][part] / r["us"]["all"] for n, r in results.items() if part in r.get("us", {})}
        if not ratios:
            continue
        mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
        lines.append(f"{part}: {len(ratios)} texts change, time without it {mean:.3f}")
        lines.append("  " + ", ".join(f"{n} {q:.3f}" for n, q in sorted(ratios.items(), key=lambda i: -i[1])))
    lines += [
        f"{n}: {r.get('error') or r.get('errors')}" for n, r in results.items() if r.get("error") or r.get("errors")
    ]
    lines += [f"{n}: results differ without {r['differ']}" for n, r in results.items() if r.get("differ")]
    return "\n".join(lines)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--output", type=Path)
    parser.add_argument("--seconds", type=float, default=140, help="begin none after (default 140)")
    parser.add_argument("--workers", type=int, default=14, help="processes (default 14)")
    parser.add_argument("--randoms", type=int, default=40, help="random pipelines (default 40)")
    parser.add_argument("--parts", nargs="*", default=list(PARTS), help="parts (default: all)")
    parser.add_argument(
        "--kinds", nargs="*", default=["case", "random"], help="case, later, app, chain, random (default: case, random)"
    )
    parser.add_argument("--only", default="", help="part of the names of pipelines")
    parser.add_argument("--dry", action="store_true", help="no GPU: which texts change")
    options = parser.parse_args()
    begin = time.time()
    context = multiprocessing.get_context("spawn")
    jobs, results = context.Queue(), context.Queue()
    together, lock = context.Barrier(options.workers), context.Lock()
    listed = subjects(options.kinds, options.randoms, options.only)
    for job in listed:
        jobs.put(job)
    workers = [
        context.Process(target=work, args=(jobs, results, together, lock, options, begin), daemon=True)
        for _ in range(options.workers)
    ]
    for worker in workers:
        worker.start()
    found: dict[str, Any] = {}
    done = 0
    while done < options.workers and time.time() < begin + options.seconds + 8 and any(w.is_alive() for w in workers):
        try:
            name, result = results.get(timeout=1)
        except queue.Empty:
            continue
        done += name is None
        if name is not None:
            found[name] = result
            print(f"{time.time() - begin:.0f} s {name}: {result}", flush=True)
    for worker in workers:
        worker.kill()
    report: dict[str, Any] = {"pipelines": dict(sorted(found.items()))}
    if options.output is not None:
        options.output.write_text(json.dumps(report, indent=1) + "\n")
    print(table(found), f"{len(found)} of {len(listed)} pipelines in {time.time() - begin:.0f} s", sep="\n", flush=True)
    if options.output is not None and not options.dry:
        from run import environment  # which asks the GPU

        report["environment"] = environment()
        options.output.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
