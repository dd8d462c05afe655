"""Emission of an update that runs in order: a thread per pure point loops over the reduction domain.

It writes over the old functions, where they lie; the box of the new ones says over which pure points. Right for every
update, whatever it reads and writes: pure points never see one another. Where stages stand beside the update, a pure
point is a point of the functions, whose values the thread keeps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from xdsl.dialects import func
from xdsl.ir import SSAValue

from tilefuse.dialects.img.ops import GroupOp
from tilefuse.dialects.img.types import storage_type
from tilefuse.execution.in_order.attribute import InOrderSchedule
from tilefuse.execution.in_order.two_loops import TwoLoops
from tilefuse.lowering.emit import PRIVATE, Num
from tilefuse.lowering.prefetch import prefetch_row
from tilefuse.lowering.update_body import UpdateBody, UpdateFunction, domain_loops, pure_point
from tilefuse.lowering.update_ends import Ends


def update_kernel(group: GroupOp) -> func.FuncOp:
    """Emit the kernel of a group that holds an update."""
    schedule = InOrderSchedule.expect(group.schedule)
    function = _KeptPoints(group) if group.fused_stages else UpdateFunction(group)
    pure: dict[SSAValue, Num] = {}
    with ExitStack() as open_scopes:
        pure_point(function, schedule.tile_sizes, pure, open_scopes)
        if isinstance(function, _KeptPoints):
            function.keep(schedule.points)
            with ExitStack() as points:
                where = dict(pure)
                function.point = _points_of_a_thread(function, schedule.points, where, points)
                function.start(where)
        two_loops = TwoLoops(function, schedule.points, schedule.planes) if schedule.planes else None
        with ExitStack() as loops:
            where = dict(pure)
            if domain_loops(function, where, loops):
                if two_loops is None:
                    _step(function, schedule, where, loops)
                else:
                    two_loops.step(where, _point_count(function, schedule.points, where))
        if isinstance(function, _KeptPoints):
            with ExitStack() as points:
                where = dict(pure)
                function.point = _points_of_a_thread(function, schedule.points, where, points)
                function.store(where)
    return function.finished()


def _step(
    function: UpdateFunction, schedule: InOrderSchedule, where: dict[SSAValue, Num], open_scopes: ExitStack
) -> None:
    """Emit a step of the domain for the points of a thread; `where` has the first."""
    if schedule.prefetch:
        _prefetch(function, schedule, where)
    point = _points_of_a_thread(function, schedule.points, where, open_scopes)
    if isinstance(function, _KeptPoints):
        function.point = point
    body = UpdateBody(function, where)
    body.compute()
    with function.e.when(body.predicate()):
        body.write()


class _KeptPoints(UpdateFunction):
    """Kernel of an update with stages beside it: a thread keeps the values of its points."""

    point: Num = 0
    """Which of these it is at."""

    def keep(self, points: int) -> None:
        """Allocate the values of `count` points inside the loops over threads."""
        types = [storage_type(self.element(number)) for number in range(len(self.op.old_funcs))]
        self.kept = [self.e.alloca([points], type, PRIVATE, "kept") for type in types]

    def start(self, where: Mapping[SSAValue, Num]) -> None:
        """Set the values to the initial ones of the point."""
        for value, of in zip(Ends(self).start(where), self.kept, strict=True):
            self.e.store(value, of, [self.point])

    def place(self, number: int, where: Sequence[Num]) -> tuple[SSAValue, list[Num]]:
        return self.kept[number], [self.point]

    def store(self, where: Mapping[SSAValue, Num]) -> None:
        """Store the results of the values."""
        Ends(self).store(where, [self.e.load(of, [self.point]) for of in self.kept])


def _prefetch(function: UpdateFunction, schedule: InOrderSchedule, where: Mapping[SSAValue, Num]) -> None:
    """Prefetch the writes of a later step, of all points of a thread; `where` has the first, and the present step."""
    inner = function.op.domain[0].coordinate
    ahead = {**where, inner: function.e.add(where[inner], schedule.prefetch)}
    position = UpdateBody(function, ahead).position()
    for number in range(len(function.op.old_funcs)):
        prefetch_row(function.e, *function.place(number, position), schedule.points)


def _points_of_a_thread(
    function: UpdateFunction, count: int, where: dict[SSAValue, Num], open_scopes: ExitStack
) -> Num:
    """Open the loop over a thread's adjacent points that lie in the picture; `where` has the first.

    Gives the number of the point.
    """
    if count == 1:
        return 0
    e, x = function.e, function.op.pure[0]
    point = open_scopes.enter_context(e.loop(_point_count(function, count, where), "x", simd=True))
    where[x] = e.add(where[x], point)
    return point


def _point_count(function: UpdateFunction, count: int, where: Mapping[SSAValue, Num]) -> Num:
    """Return how many of a thread's adjacent points lie in the picture; `where` has the first."""
    e, d = function.e, function.op.pure_dims[0]
    return e.min(e.sub(e.add(function.out.mins[d], function.out.extent(d, e)), where[function.op.pure[0]]), count)
