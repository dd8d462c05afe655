"""Groups: the stages of one kernel, and its schedule."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from xdsl.dialects.builtin import (
    StringAttr,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstantExpr
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    lazy_traits_def,
    opt_prop_def,
    prop_def,
    region_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    Pure,
)
from xdsl.utils.exceptions import VerifyException

from tilefuse.dialects.img.ops.boundary import BoundaryOp
from tilefuse.dialects.img.ops.parents import in_pipeline
from tilefuse.dialects.img.ops.stage import ReadOp, StageOp, YieldOp, parse_attribute_of
from tilefuse.dialects.img.ops.update import Definition, UpdateOp, plain_indices
from tilefuse.dialects.img.schedule import ScheduleAttr
from tilefuse.dialects.img.types import FuncType
from tilefuse.dialects.naming import value_name

SINGLE_WAVE = "single_wave"
"""On a group: at the nominal extent all its blocks are one wave, as many on each multiprocessor if that has room for
no more of them than the schedule's `blocks`."""

MOSTLY_BORDER = "mostly_border"
"""On a group: at the nominal extent more than half of its tiles meet a boundary, or store part of what others
do, and run the version for borders."""

LATE_LAUNCH = "late_launch"
"""On a group: the kernel after it does not start before it ends, for its L1 cache."""


@irdl_op_definition
class GroupOp(IRDLOperation):
    """The stages that one kernel computes, and how.

    ```
    %blur_y = img.group "blur_y" schedule #schedule.block_tile<tile = [128, 16], threads = [32, 8]> {
      %blur_x = img.stage "blur_x" (%x, %y) -> f32 place #img.place<block, shared> { ... }
      %blur_y = img.stage "blur_y" (%x, %y) -> f32 { ... }
      img.yield %blur_y : !img.func<2xf32>
    } : !img.func<2xf32>
    ```
    The stages whose functions are yielded are stored; the others stay inside. The last stage that is stored is the
    group's anchor: the schedule's tile is in its coordinates, and what a tile stores of another stage follows from how
    reads relate the two (`analysis/regions.py`).

    A group may hold an update in place of all that; the schedule's tile is then in its pure coordinates. Beside it may
    stand the one stage that reads what it gives, at its own point or a transposed one; and the stage that gives all of
    its old functions, and nothing else, if all dimensions of the update are pure coordinates. Both are computed where
    the update is, point by point:

    ```
    %relu = img.group "conv" {
      %conv0 = img.stage "conv" (%c, %x) -> f32 { ... the bias ... }
      %conv1 = img.update "conv_update" (%c, %x) over (%r in [%lo, %n]) of (%sum = %conv0 : ...) combine [add] { ... }
      %relu = img.stage "relu" (%c, %x) -> f32 { %v = img.read %conv1[%c, %x] ... }
      img.yield %relu : !img.func<2xf32>
    }
    ```

    Several updates may stand there, each of what the one before it gives, which nothing else reads: a filter that goes
    down all columns, and up again. The last of them is the group's update, and all go along its lines
    (`execution/scan/line_updates.py`).

    Before all that may stand the stages that each step of the update computes for itself, which is a point of its
    domain (Halide's `compute_at` at a reduction variable). The last one of them gives the terms: it has the update's
    coordinates, pure ones first, as its own, and the update does nothing but read it there. Then the schedule's tile is
    in its coordinates, of a point along those of the domain:

    ```
    %total = img.group "total_update" schedule #schedule.block_tile<tile = [64, 32, 1], threads = [32, 8, 1]> {
      %weight = img.stage "weight" (%x, %y, %d) -> f32 place #img.place<block, shared> { ... }
      %term = img.stage "total_term" (%x, %y, %r) -> f32 { ... %weight[%x + 1, %y, %r] ... }
      %total0 = img.stage "total" (%x, %y) -> f32 { ... }
      %total1 = img.update "total_update" (%x, %y) over (%r in [%lo, %n]) of (%sum = %total0 : ...) combine [add] {
        %v = img.read %term[%x, %y, %r]
        img.write %v at [%x, %y]
      }
      img.yield %total1 : !img.func<2xf32>
    }
    ```
    """

    name = "img.group"

    sym_name = prop_def(StringAttr)
    schedule = opt_prop_def(ScheduleAttr)
    body = region_def("single_block")
    funcs = var_result_def(FuncType)

    traits = lazy_traits_def(lambda: (Pure(), in_pipeline()))

    def __init__(self, name: str, types: Sequence[Attribute], body: Region, schedule: ScheduleAttr | None = None):
        super().__init__(
            properties={"sym_name": StringAttr(name), "schedule": schedule},
            result_types=[list(types)],
            regions=[body],
        )
        for func in self.funcs:
            func.name_hint = value_name(name)

    @property
    def yield_op(self) -> YieldOp:
        """The terminator."""
        op = self.body.block.last_op
        assert isinstance(op, YieldOp)
        return op

    @property
    def updates(self) -> list[UpdateOp]:
        """All updates of the group, each of the functions of the one before it."""
        return [op for op in self.body.block.ops if isinstance(op, UpdateOp)]

    @property
    def update(self) -> UpdateOp | None:
        """The update that the group holds, the last one of several; None in a group of stages alone."""
        updates = self.updates
        return updates[-1] if updates else None

    @property
    def earlier_updates(self) -> list[UpdateOp]:
        """The updates before the last one."""
        return self.updates[:-1]

    @property
    def old_funcs(self) -> Sequence[SSAValue]:
        """The functions with the initial values of the first update."""
        updates = self.updates
        return updates[0].old_funcs if updates else ()

    @property
    def prologue(self) -> StageOp | None:
        """The stage that computes the initial values of the first update."""
        if not (old_funcs := self.old_funcs):
            return None
        op = old_funcs[0].owner
        return op if isinstance(op, StageOp) and op.parent_op() is self else None

    @property
    def epilogue(self) -> StageOp | None:
        """The stage that reads the update's result, and is stored in its place."""
        op = self.yield_op.values[0].owner
        return op if self.update is not None and isinstance(op, StageOp) else None

    @property
    def permutation(self) -> tuple[int, ...]:
        """Per dimension of the update, the corresponding dimension of the group's results."""
        assert self.update is not None
        finish = self.epilogue
        permutations = (
            (permutation_of(u.operation, finish) for f in self.update.funcs for u in f.uses)
            if finish is not None
            else ()
        )
        return next(
            (permutation for permutation in permutations if permutation is not None), tuple(range(self.update.rank))
        )

    @property
    def fused_stages(self) -> list[StageOp]:
        """The prologue and epilogue of the updates, where there are any."""
        return [stage for stage in (self.prologue, self.epilogue) if stage is not None]

    @property
    def steps(self) -> list[StageOp]:
        """The stages that each step of an update computes, producers first; the last one gives the step's terms."""
        if self.update is None:
            return []
        beside = self.fused_stages
        return [stage for stage in self.stages if stage not in beside]

    @property
    def tiled(self) -> list[StageOp]:
        """The stages that a tile computes, producers first: the steps of an update if it has any, else all."""
        return self.stages if self.update is None else self.steps

    @property
    def output(self) -> Definition:
        """The scheduled operation: the update, or the anchor stage, even if this gives an update's terms."""
        return self.anchor if self.update is None or self.steps else self.update

    @property
    def stored(self) -> list[StageOp]:
        """The stages whose values leave the group, producers first; the last one is the anchor.

        What gives the terms of an update stands for their sum, which is stored in its place.
        """
        if steps := self.steps:
            return steps[-1:]
        owners = {v.owner for v in self.yield_op.values}
        return [stage for stage in self.stages if stage in owners]

    @property
    def anchor(self) -> StageOp:
        """The stage in whose coordinates the schedule's tile is: the last one whose values leave the group."""
        return self.stored[-1]

    @property
    def stages(self) -> list[StageOp]:
        """All stages, producers first."""
        return [op for op in self.body.block.ops if isinstance(op, StageOp)]

    @property
    def definitions(self) -> list[Definition]:
        """All stages, and the update if there is one, producers first."""
        return [op for op in self.body.block.ops if isinstance(op, Definition)]

    @classmethod
    def parse(cls, parser: Parser) -> GroupOp:
        name = parser.parse_str_literal()
        schedule = None
        if parser.parse_optional_keyword("schedule"):
            schedule = parse_attribute_of(parser, ScheduleAttr)  # type: ignore[type-abstract]
        attrs = parser.parse_optional_attr_dict_with_keyword(("sym_name", "schedule"))
        body = parser.parse_region()
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        op = cls(name, types, body, schedule)
        if attrs is not None:
            op.attributes |= attrs.data
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.sym_name)
        if self.schedule is not None:
            printer.print_string(" schedule ")
            printer.print_attribute(self.schedule)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body)
        printer.print_string(" : ")
        printer.print_list(self.result_types, printer.print_attribute)

    def verify_(self) -> None:
        name = self.sym_name.data
        if not isinstance(self.body.block.last_op, YieldOp):
            raise VerifyException(f"group '{name}' must end in img.yield")
        values = self.yield_op.values
        if [v.type for v in values] != list(self.result_types) or not values:
            raise VerifyException(f"group '{name}': the types of img.yield and of the group differ")
        if not all(isinstance(v.owner, Definition) and v.owner.parent_op() is self for v in values):
            raise VerifyException(f"group '{name}': img.yield must yield functions of its stages")
        if len({*values}) != len(values):
            raise VerifyException(f"group '{name}' yields a function twice")
        for op in self.body.block.ops:
            if not isinstance(op, StageOp | UpdateOp | BoundaryOp | YieldOp):
                raise VerifyException(f"group '{name}': {op.name} is not allowed in a group")
        if self.update is not None:
            self._verify_order(self.updates)
            self._verify_beside(self.update)
            if self.steps:
                self._verify_steps(self.update)
                if self.earlier_updates:
                    raise VerifyException(f"group '{name}' has stages for each step, so it must have one update only")
        output = self.output
        rank = len(output.pure) if isinstance(output, UpdateOp) else output.rank
        tile = None if self.schedule is None else self.schedule.tile_sizes
        if tile is not None and len(tile) != rank:
            raise VerifyException(
                f"group '{name}': the schedule tiles {len(tile)} dimensions, "
                f"{'update' if self.update else 'stage'} '{output.sym_name.data}' has {rank}"
            )

    def _verify_order(self, updates: Sequence[UpdateOp]) -> None:
        """Check that each of several updates is of the functions of the one before it, which nothing else uses."""
        for update, then in itertools.pairwise(updates):
            used = [use.operation for f in update.funcs for use in f.uses]
            if list(update.funcs) != list(then.old_funcs) or any(op is not then for op in used):
                raise VerifyException(
                    f"group '{self.sym_name.data}': update '{then.sym_name.data}' must start from the functions "
                    f"of '{update.sym_name.data}', which nothing else may use"
                )

    def _verify_beside(self, update: UpdateOp) -> None:
        """Check the stages beside an update: of its old functions, and of its one reader, point by point."""
        what = f"group '{self.sym_name.data}': update '{update.sym_name.data}'"
        steps = self.steps
        computed = self.yield_op, *self.updates, *steps
        others = [op for op in self.body.block.ops if op not in computed and not (steps and isinstance(op, BoundaryOp))]
        if others != self.fused_stages or (steps and not any(op.source in steps[-1].funcs for op in _reads(update))):
            raise VerifyException(
                f"{what} may share a group only with a stage that computes its initial values and one stage that reads "
                "its result"
            )
        if self.prologue is not None:
            if len(update.pure) != update.rank and self.epilogue is not None and not self.earlier_updates:
                raise VerifyException(
                    f"{what} has dimensions that are not pure coordinates, so it may be fused with a prologue or an "
                    "epilogue, not both"
                )
            used = [u.operation for f in self.prologue.funcs for u in f.uses]
            first = self.updates[0]
            if any(old.owner is not self.prologue for old in first.old_funcs) or any(op is not first for op in used):
                raise VerifyException(
                    f"{what}: stage '{self.prologue.sym_name.data}' must compute its initial values, and nothing "
                    "else may use these"
                )
        if self.epilogue is None or steps:
            return
        permutations = {permutation_of(use.operation, self.epilogue) for f in update.funcs for use in f.uses}
        if None in permutations or len(permutations) > 1:
            raise VerifyException(
                f"{what}: stage '{self.epilogue.sym_name.data}' must be its only reader, at the same or a transposed "
                "point"
            )

    def _verify_steps(self, update: UpdateOp) -> None:
        """Check the stages of steps: the terms have the update's coordinates, and are read in their step only."""
        what, term = f"group '{self.sym_name.data}': update '{update.sym_name.data}'", self.steps[-1]
        behind = [u.operation for f in update.funcs for u in f.uses]
        finish = self.epilogue
        at_own = finish is None or all(reads_of_thread(op, finish, term) for op in behind)
        if self.prologue is None or len(update.pure) != update.rank or not at_own:
            raise VerifyException(
                f"{what} has stages for each step, so its initial values must be a stage of the group, all of its "
                "dimensions pure coordinates, and its readers at the same point, or at other points of small dimensions"
            )
        reads, write = _reads(update), update.write_op
        coordinates = [*update.pure, *(dimension.coordinate for dimension in update.domain)]
        plain = write.predicate is None and write.positions == list(update.pure)
        given = {op.value for op in reads if plain_indices(op.map.data, list(op.indices)) == coordinates}
        if not plain or len(update.body.block.ops) != len(reads) + 1 or set(write.values) != given:
            raise VerifyException(
                f"{what} has stages for each step, so its body must only read the terms of '{term.sym_name.data}' at "
                "its "
                "coordinates, pure ones first, and write them at the pure ones"
            )
        inside = {*self.steps, update, *(op for op in self.body.block.ops if isinstance(op, BoundaryOp))}
        for stage in self.steps:
            used = {u.operation for f in stage.funcs for u in f.uses}
            owners = {op if op in inside else op.parent_op() for op in used}
            if not owners <= inside or (update in owners) != (stage is term):
                raise VerifyException(
                    f"{what}: stage '{stage.sym_name.data}' is computed in each step, and may not be read outside of "
                    "the steps"
                )
        tile = None if self.schedule is None else self.schedule.tile_sizes
        if tile is not None and any(n != 1 for n in tile[len(update.pure) :]):
            raise VerifyException(
                f"{what} has stages for each step, so the tile of its schedule must have size 1 along its domain"
            )


def _reads(update: UpdateOp) -> list[ReadOp]:
    return [op for op in update.body.block.ops if isinstance(op, ReadOp)]


def reads_of_thread(op: Operation, stage: StageOp, term: StageOp) -> bool:
    """Whether an operation is a read in the body of a stage behind an update, at values that the thread of its point
    has: at its own coordinates, or at others of dimensions of which `term` declares few points."""
    if not isinstance(op, ReadOp) or op.parent_op() is not stage or stage.rank != len(op.map.data.results):
        return False
    declared = term.bounds.data if term.bounds is not None else (None,) * term.rank
    own = stage.bounds.data if stage.bounds is not None else (None,) * stage.rank
    alone = plain_indices(op.map.data, list(op.indices))
    for d, (expr, argument) in enumerate(zip(op.map.data.results, stage.body.block.args, strict=True)):
        if (small := declared[d]) is None:
            if alone[d] is not argument:
                return False
            continue
        first, last = small[0], small[0] + small[1] - 1
        box = own[d]
        if box is None or not first <= box[0] <= box[0] + box[1] - 1 <= last:
            return False
        if alone[d] is not argument and not (isinstance(expr, AffineConstantExpr) and first <= expr.value <= last):
            return False
    return True


def permutation_of(op: Operation, stage: StageOp) -> tuple[int, ...] | None:
    """Return the stage dimension that each index of a read is, if all indices are dimensions; else None."""
    if not isinstance(op, ReadOp) or op.parent_op() is not stage:
        return None
    of = {arg: d for d, arg in enumerate(stage.body.block.args)}
    alone = plain_indices(op.map.data, list(op.indices))
    permutation = tuple(of[v] for v in alone if v in of)  # type: ignore[index]
    return permutation if len(alone) == len(permutation) == len({*permutation}) == stage.rank else None
