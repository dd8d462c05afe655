"""Several updates along the same lines in one kernel of a CPU: random ones, to the bit as the evaluator."""

import random
from dataclasses import dataclass, replace

import numpy as np
import pytest
from xdsl.passes import ModulePass

import tilefuse as hl
from tilefuse.analysis.recurrence import Recurrence, recurrence
from tilefuse.analysis.updates import UpdateFacts
from tilefuse.dialects.img.ops import GroupOp
from tilefuse.execution.scan.attribute import ScanSchedule
from tilefuse.execution.scan.transposed import is_stored_along_rows
from tilefuse.passes.pipeline import run_passes, standard_passes
from tilefuse.passes.tile import Tile
from tilefuse.targets import cpus

PICTURE = np.random.default_rng(8).integers(0, 256, (14, 15), dtype=np.uint8)


@dataclass(frozen=True)
class _GivenStrips(ModulePass):
    """Give the groups of several updates a schedule by hand."""

    rng: random.Random

    name = "given-strips"

    def apply(self, ctx, op) -> None:
        for group in [g for g in op.walk() if isinstance(g, GroupOp) and g.earlier_updates]:
            found = recurrence(UpdateFacts(group.update))
            assert isinstance(found, Recurrence)
            transposed = is_stored_along_rows(found, group.permutation)
            group.schedule = ScanSchedule(
                threads=(1,) * len(found.lines),
                width=self.rng.choice([2, 3, 8]),
                slice=self.rng.randint(1, 9) if transposed and self.rng.random() < 0.7 else 0,
                workers=self.rng.randint(1, 5),
            )


class _Updates:
    """Random updates of a function along one dimension."""

    def __init__(self, seed: int):
        self.rng = random.Random(f"strips {seed}")
        self.rank = self.rng.choice([2, 2, 3])
        self.along = self.rng.randint(1, self.rank - 1)
        self.x = [hl.Var(n) for n in "xyz"[: self.rank]]
        self.image, self.extent = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Param(hl.Int(32), "extent")
        self.edge = hl.BoundaryConditions.repeat_edge(self.image)
        types = [hl.Int(32), hl.UInt(8), hl.Float(32), hl.Float(64), hl.Int(16)]
        self.types = [self.rng.choice(types) for _ in range(self.rng.choice([1, 1, 1, 2]))]
        self.f = hl.Func("f")
        # of many reads it is stored by a kernel of its own
        reads = self.rng.choice([1, 1, 1, 20])
        self._set(tuple(self.x), lambda n: sum(self.edge[self.x[0] + i, self.x[-1]] for i in range(reads)) + n)
        for _ in range(self.rng.randint(1, 3)):
            self.rng.choice([self._point, self._recurrence, self._recurrence, self._mirror])()
        self._recurrence()

    def _set(self, at: tuple, value) -> None:
        values = [hl.cast(t, value(n)) for n, t in enumerate(self.types)]
        self.f[at] = values[0] if len(values) == 1 else tuple(values)

    def _own(self, at: tuple, number: int):
        return self.f[at] if len(self.types) == 1 else self.f[at][number]

    def _at(self, place) -> tuple:
        return tuple(place if d == self.along else v for d, v in enumerate(self.x))

    def _domain(self) -> hl.RDom:
        count = self.extent if self.rng.random() < 0.3 else self.rng.choice([0, 1, 2, 7, 12])
        r = hl.RDom([(self.rng.randint(0, 4), count)])
        if self.rng.random() < 0.2:
            r.where(self.edge[r.x, 2] % 3 != 0)
        return r

    def _point(self) -> None:
        place = self.rng.randint(-2, 6)
        self._set(self._at(place), lambda n: self.edge[self.x[0], place] * 2 + n)

    def _recurrence(self) -> None:
        r, up, deep = self._domain(), self.rng.random() < 0.5, self.rng.choice([1, 1, 1, 2, 3])
        step = r.x + self.rng.randint(-1, 2) if up else self.rng.randint(8, 14) - r.x
        back = self._at(step - deep if up else step + deep)
        adds, reads_here = self.rng.random() < 0.2, self.rng.random() < 0.4

        def value(n: int):
            here = hl.cast(self.types[n], self.edge[self.x[0], r.x] + n)
            found = self._own(back, n) + (self._own(self._at(step), n) if reads_here else here)
            return self._own(self._at(step), n) + found if adds else found

        self._set(self._at(step), value)

    def _mirror(self) -> None:
        r = self._domain()
        self._set(self._at(r.x), lambda n: self._own(self._at(9 - 2 * r.x), n) + hl.cast(self.types[n], 1))

    def last(self) -> hl.Func:
        """The function, or one that alone reads it, at its own or a transposed point."""
        if len(self.types) > 1 or self.rng.random() < 0.3:
            return self.f
        finish, order = hl.Func("finish"), list(self.x)
        self.rng.shuffle(order)
        finish[tuple(self.x)] = hl.cast(hl.Float(32), self.f[tuple(order)]) + self.edge[self.x[0], self.x[-1]]
        return finish

    def arguments(self, names: list[str]) -> dict:
        """The arguments of a call."""
        sizes = [self.rng.randint(1, 19) for _ in self.x]
        mins = [self.rng.choice([0, -3, 2]) for _ in self.x]
        found = {"image": PICTURE, "sizes": sizes, "mins": {n: tuple(mins) for n in names}}
        if any(param is self.extent for param in hl.Pipeline(self.f).inputs()[1]):
            found["extent"] = self.rng.choice([-1, 0, 3, 9])
        return found


@pytest.mark.parametrize("seed", range(60))
def test_random_updates_along_lines(seed):
    drawn = _Updates(seed)
    func = drawn.last()
    several = len(drawn.types) > 1
    arguments = drawn.arguments([f"f.{n}" for n in range(2)] if several else [func.name()])
    expected = hl.Pipeline(func).compile("reference")(**arguments)
    given = [p for q in standard_passes("cpu") for p in ((q, _GivenStrips(drawn.rng)) if isinstance(q, Tile) else (q,))]
    program = hl.Pipeline(func).compile("cpu", passes=given)
    found = program(**arguments)
    for a, b in zip(_listed(found), _listed(expected), strict=True):
        np.testing.assert_array_equal(a, b)


def _listed(found) -> list[np.ndarray]:
    return list(found) if isinstance(found, tuple | list) else [found]


@pytest.mark.parametrize(
    ("lines", "cores", "l2_kib", "width"),
    [(1536, 2, 2048, 32), (1536, 16, 2048, 32), (2048, 16, 2048, 32), (1536, 2, 512, 32), (40, 1, 2048, 32)],
    ids=["2 cores", "16 cores", "wider", "small cache", "one strip"],
)
def test_strips_are_of_32_lines_on_any_cores_and_caches(lines, cores, l2_kib, width, monkeypatch):
    row = replace(cpus.cpu("emerald_rapids"), cores=cores, l2_bytes=l2_kib * 2**10)
    monkeypatch.setattr(cpus, "host_cpu", lambda: row)
    x, y, f = hl.Var("x"), hl.Var("y"), hl.Func("f")
    image, r = hl.ImageParam(hl.Float(32), 2, "image"), hl.RDom([(1, 999)])
    f[x, y] = image[x, y]
    f[x, r.x] += f[x, r.x - 1]
    f[x, 999 - r.x] += f[x, 1000 - r.x]
    module = run_passes(hl.Pipeline(f).to_module(), standard_passes("cpu", extent=(lines, 1000)))
    (schedule,) = [g.schedule for g in module.walk() if isinstance(g, GroupOp) and g.earlier_updates]
    assert (schedule.width, schedule.number("workers")) == (width, cores)
