"""Compile and time pipelines of job files, as lines of JSON on standard input ask: the worker of before_after.py.

It runs in the checkout that PYTHONPATH names, of any age, so it uses what all of them have.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROTATED_BYTES = 256 << 20
"""Bytes of the buffers that a measurement rotates over, so that none is still in L2 at its turn."""
LEAST_CALLS = 4
REPEAT = 7


class Worker:
    """Programs that are compiled, and the pictures of the one that is being timed."""

    def __init__(self, target: str):
        self._target = target
        self._programs: dict[str, Any] = {}
        self._calls: list[Any] = []

    def compile(self, path: str) -> dict[str, Any]:
        """Compile a job's pipeline for a likely call, without launching it."""
        from tilefuse.dialects.parsing import parse_module
        from tilefuse.runtime.program import compile_pipeline

        job = json.loads(Path(path).read_text())
        module, extent = parse_module(job["text"]), tuple(job["extent"])
        self._programs[path] = compile_pipeline(module, self._target, strict_float=job["strict"], extent=extent)
        return {"kernels": len(self._programs[path].kernels)}

    def begin(self, path: str) -> dict[str, Any]:
        """Make pictures and call once: a sum of the result's bits, or of its values if floats may be contracted."""
        import cupy

        job, program = json.loads(Path(path).read_text()), self._programs.pop(path)
        inputs = [_picture(*given[1:]) for given in job["inputs"]]
        names = [given[0] for given in job["inputs"]]

        def call(arrays: list[Any], **more: Any) -> Any:
            if names[0]:
                return program(**dict(zip(names, arrays, strict=True)), **job["keywords"], **more)
            return program(*arrays, **job["keywords"], **more)

        made = call(inputs)
        outs = made if isinstance(made, tuple) else (made,)
        total = sum(a.nbytes for a in (*inputs, *outs))
        sets = min(8, -(-ROTATED_BYTES // total))
        pictures = [inputs, *([a.copy() for a in inputs] for _ in range(sets - 1))]
        results = [made, *(tuple(cupy.empty_like(a) for a in outs) for _ in range(sets - 1))]
        results = [r if isinstance(made, tuple) or not isinstance(r, tuple) else r[0] for r in results]
        rounds = -(-max(LEAST_CALLS, 96 if total < 64 << 20 else 0) // sets)
        self._calls = [lambda a=a, r=r: call(a, out=r) for a, r in zip(pictures, results, strict=True)] * rounds
        return {"bytes": total, "results": [_sum(a, job["strict"]) for a in outs]}

    def time(self, path: str) -> dict[str, Any]:
        """Time the program that `begin` called, in microseconds."""
        from tilefuse.tools.calibration.gpu import cupy_graph_us

        return {"us": cupy_graph_us(self._calls, REPEAT)}

    def end(self, path: str) -> dict[str, Any]:
        """Give back the memory of the program that `begin` called."""
        import cupy

        self._calls = []
        cupy.get_default_memory_pool().free_all_blocks()
        return {}


def _picture(shape: list[int], dtype: str, kind: str, top: int) -> Any:
    import cupy

    random = cupy.random.default_rng(7)
    if kind in ("unit", "unit2"):
        found = random.random(shape, dtype=cupy.float32)
        return found if kind == "unit" else found * cupy.float32(2) - cupy.float32(1)
    if kind == "bytes" or kind == "bool" or top:
        return random.integers(0, {"bytes": 256, "bool": 2}.get(kind, top), shape).astype(dtype)
    count = cupy.dtype(dtype).itemsize
    for n in shape:
        count *= n
    bits = random.integers(0, 2**32, -(-count // 4), dtype=cupy.uint32)
    return bits.view(cupy.uint8)[:count].view(dtype).reshape(shape)


def _sum(array: Any, exactly: bool) -> float:
    import cupy

    if array.dtype.kind == "f" and not exactly:
        return float(cupy.nan_to_num(array).sum(dtype=cupy.float64))
    return float(int(cupy.ascontiguousarray(array).view(cupy.uint8).sum(dtype=cupy.uint64)))


def main() -> None:
    """Answer each line, until there are no more."""
    answers, sys.stdout = sys.stdout, sys.stderr
    worker = Worker(sys.argv[1])
    for line in sys.stdin:
        command, path = json.loads(line)
        try:
            answer = getattr(worker, command)(path)
        except Exception as error:  # the other jobs still run
            answer = {"error": f"{type(error).__name__}: {error}".split("\n")[0][:200]}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
