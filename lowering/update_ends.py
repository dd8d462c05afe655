"""Start values and stored results of an update's points, computed by the stages beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import SSAValue

from tilefuse.dialects.img.ops import StageOp
from tilefuse.lowering.emit import Num
from tilefuse.lowering.prefetch import prefetch_row
from tilefuse.lowering.shared_body import SharedBody
from tilefuse.lowering.update_body import UpdateFunction


class Ends:
    """First and last values of points in a straight piece of code.

    A point is where its pure coordinates say: there the update has read nothing of other points. What several points
    read of the same is loaded once.
    """

    def __init__(self, function: UpdateFunction):
        self.function, self.e = function, function.e
        self.prologue = None if function.prologue is None else SharedBody(function, function.prologue)
        self.epilogue = None if function.epilogue is None else SharedBody(function, function.epilogue)

    def start(self, where: Mapping[SSAValue, Num]) -> list[SSAValue]:
        """Return the values of all functions before the first step, at pure coordinates."""
        return self.start_at(self.position(where))

    def start_at(self, position: Sequence[Num]) -> list[SSAValue]:
        """Return the values of all functions before the first step, at a point of the update."""
        function = self.function
        if self.prologue is None:
            places = (self.function.old(number) for number in range(len(function.op.old_funcs)))
            return [self.e.load(p.memref, p.index(position, self.e)) for p in places]
        stage = self.prologue.of
        assert isinstance(stage, StageOp)
        found = self.prologue.results(dict(zip(stage.body.block.args, position, strict=True)))
        of: dict[SSAValue, SSAValue] = dict(zip(stage.funcs, found, strict=True))
        return [of[old] for old in function.group.old_funcs]

    def results(self, where: Mapping[SSAValue, Num], values: Sequence[SSAValue]) -> list[SSAValue]:
        """Return the stored values of a point whose last step left `values`."""
        return self._results_at(self.position(where), values)

    def _results_at(self, position: Sequence[Num], values: Sequence[SSAValue]) -> list[SSAValue]:
        if self.epilogue is None:
            return list(values)
        stage = self.epilogue.of
        of: dict[SSAValue, SSAValue] = dict(zip(self.function.op.funcs, values, strict=True))
        here: dict[SSAValue, Num] = dict(zip(stage.body.block.args, self._permuted(position), strict=True))
        found = self.epilogue.results(here, lambda read: of[read.source])
        by_result: dict[SSAValue, SSAValue] = dict(zip(stage.funcs, found, strict=True))
        return [by_result[f] for f in self.function.group.yield_op.values]

    def index(self, number: int, where: Mapping[SSAValue, Num]) -> list[Num]:
        """Return the memory index of result `number` of a point."""
        return self.function.targets[number].index(self._permuted(self.position(where)), self.e)

    def store(self, where: Mapping[SSAValue, Num], values: Sequence[SSAValue]) -> None:
        """Store the values of a point after the last step."""
        self.store_at(self.position(where), values)

    def store_at(self, position: Sequence[Num], values: Sequence[SSAValue]) -> None:
        """Store the results of a point of the update from these values."""
        for target, value in zip(self.function.targets, self._results_at(position, values), strict=True):
            self.e.store(value, target.memref, target.index(self._permuted(position), self.e))

    def prefetch_at(self, position: Sequence[Num], count: Num) -> None:
        """Prefetch, to be written, the results of `count` points of the update along the results' x."""
        for target in self.function.targets:
            prefetch_row(self.e, target.memref, target.index(self._permuted(position), self.e), count)

    def _permuted(self, position: Sequence[Num]) -> list[Num]:
        """Convert a point of the update to the corresponding point of the results."""
        permutation = self.function.permutation
        return [position[permutation.index(d)] for d in range(len(permutation))]

    def position(self, where: Mapping[SSAValue, Num]) -> list[Num]:
        """Return the point that pure coordinates write."""
        write = self.function.op.write_op
        operands = [where[v] if v in where else self.function.scalar(v) for v in write.indices]
        return [self.e.affine(x, operands) for x in write.map.data.results]
