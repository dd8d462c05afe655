"""Accumulators, and the fold of lanes and lists of values, in a fixed order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from math import inf

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType, Signedness, i16, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from tilefuse.analysis.first_best import FirstBest, first_best
from tilefuse.analysis.joined_tuple import JoinedTuple, Numbers, applied, joined_tuple
from tilefuse.analysis.updates import identity
from tilefuse.dialects.gpu_shuffle import ShuffleMode, ShuffleOp
from tilefuse.dialects.img.combiners import combined
from tilefuse.dialects.img.ops import UpdateOp
from tilefuse.dialects.img.types import FuncType
from tilefuse.execution.reduce.attribute import ReduceSchedule
from tilefuse.lowering.emit import PRIVATE, Emitter, Num

RANK = i64
"""Type of a point's position in the order of the domain."""
THERE = i32
"""Type of the flag that says whether there is a value."""
_LAST = (1 << 63) - 1
_NONE = -1
"""Less than the place of any point."""

Values = Sequence[SSAValue]


class Fold(ABC):
    """Combiner of the values of an update's functions: of one function, or of several combined together."""

    functions: tuple[int, ...]
    types: tuple[Attribute, ...]
    """Types of the carried values: one of each function, and more."""
    has_rank = False
    """Whether the last that is carried is the place of a point in the order of the domain."""

    def __init__(self, e: Emitter):
        self.e = e

    @abstractmethod
    def nothing(self) -> list[SSAValue]:
        """Return the neutral values."""

    @abstractmethod
    def join(self, a: Values, b: Values) -> list[SSAValue]:
        """Combine two sets of values."""

    @abstractmethod
    def take(self, load: Callable[[], Values], terms: Values, predicate: SSAValue | None) -> list[SSAValue]:
        """Combine the result so far with the next point's terms where the predicate holds."""

    @abstractmethod
    def onto(self, old: Values, total: Values) -> list[SSAValue]:
        """Combine the old values of the functions with the result of all points."""

    def tree(self, values: Sequence[Values]) -> Values:
        """Combine all values by a tree, neighbours first."""
        while len(values) > 1:
            pairs = [values[i : i + 2] for i in range(0, len(values), 2)]
            values = [self.join(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
        return values[0]

    def over_lanes(self, values: Values, lanes: int) -> Values:
        """Combine the results of all lanes, in every lane."""
        by = lanes // 2
        while by:
            values = self.join(values, [self._shuffled(v, by) for v in values])
            by //= 2
        return values

    def _constant(self, type: Attribute, value: float) -> SSAValue:
        if isinstance(type, IntegerType):
            return self.e.op(arith.ConstantOp(IntegerAttr(int(value), type)))
        return self.e.op(arith.ConstantOp(FloatAttr(value, type)))  # type: ignore[call-overload]

    def _select(self, condition: SSAValue, a: Values, b: Values) -> list[SSAValue]:
        return [self.e.op(arith.SelectOp(condition, *pair)) for pair in zip(a, b, strict=True)]

    def _shuffled(self, value: SSAValue, by: int) -> SSAValue:
        e, type = self.e, value.type
        width = type.width.data if isinstance(type, IntegerType) else type.bitwidth  # type: ignore[attr-defined]
        narrow = width < 32
        if narrow:
            word = type if isinstance(type, IntegerType) else i16
            if word is not type:
                value = e.op(arith.BitcastOp(value, word))
            value = e.op(arith.ExtUIOp(value, i32))
        offset, lanes = (e.op(arith.ConstantOp(IntegerAttr(n, i32))) for n in (by, 32))
        shuffle = ShuffleOp(value, offset, lanes, ShuffleMode.Xor)
        e.effect(shuffle)
        value = shuffle.shuffle_result
        if narrow:
            value = e.op(arith.TruncIOp(value, word))
            value = value if word is type else e.op(arith.BitcastOp(value, type))
        return value


class Combined(Fold):
    """The values of one function under its combiner."""

    def __init__(self, e: Emitter, op: UpdateOp, number: int):
        super().__init__(e)
        type = op.old_funcs[number].type
        assert isinstance(type, FuncType)
        self.way, self.element = op.combiners[number], type.element
        self.functions, self.types = (number,), (type.storage,)

    def nothing(self) -> list[SSAValue]:
        value = identity(self.way, self.element)
        assert value is not None
        return [self._constant(self.types[0], value)]

    def join(self, a: Values, b: Values) -> list[SSAValue]:
        return [self.e.op(combined(self.way, self.element, a[0], b[0]))]

    def take(self, load: Callable[[], Values], terms: Values, predicate: SSAValue | None) -> list[SSAValue]:
        if predicate is not None:
            terms = [self.e.op(arith.SelectOp(predicate, terms[0], self.nothing()[0]))]
        return self.join(load(), terms)

    def onto(self, old: Values, total: Values) -> list[SSAValue]:
        return self.join(old, total)


class Best(Fold):
    """The values of the first (or last) best point.

    `ranked`: with its place in the order of the domain, which decides between equals; not for one who meets all
    points in that order, and looks for the first.
    """

    def __init__(self, e: Emitter, op: UpdateOp, found: FirstBest, ranked: bool):
        super().__init__(e)
        self.functions, self.better, self.has_rank = found.functions, found.better, ranked
        self.last = found.last
        types = [op.old_funcs[n].type for n in found.functions]
        storages = [type.storage for type in types if isinstance(type, FuncType)]
        self.types = (*storages, *([RANK] if ranked else []))
        self.key = found.functions.index(found.key)
        self.element = types[self.key].element  # type: ignore[attr-defined]

    def nothing(self) -> list[SSAValue]:
        values = [self._constant(type, 0) for type in self.types]
        least = {"lt": "min", "gt": "max"}[self.better]
        is_integer = isinstance(self.element, IntegerType)
        worst = identity(least, self.element) if is_integer else {"lt": inf, "gt": -inf}[self.better]
        assert worst is not None
        values[self.key] = self._constant(self.types[self.key], worst)
        if self.has_rank:
            values[-1] = self._constant(RANK, _NONE if self.last else _LAST)
        return values

    def join(self, a: Values, b: Values) -> list[SSAValue]:
        better = self._is_better(b[self.key], a[self.key])
        if self.has_rank:
            equal = self._compare("eq", b[self.key], a[self.key])
            wins = self.e.op(arith.CmpiOp(b[-1], a[-1], "sgt" if self.last else "slt"))
            better = self.e.op(arith.OrIOp(better, self.e.op(arith.AndIOp(equal, wins))))
        return self._select(better, b, a)

    def take(self, load: Callable[[], Values], terms: Values, predicate: SSAValue | None) -> list[SSAValue]:
        so_far = load()
        return self._select(self.replaces(so_far, terms, predicate), terms, so_far)

    def replaces(self, so_far: Values, terms: Values, predicate: SSAValue | None) -> SSAValue:
        """Whether the next point's terms replace the best so far."""
        better = self._replaces(terms[self.key], so_far[self.key])
        return better if predicate is None else self.e.op(arith.AndIOp(predicate, better))

    def onto(self, old: Values, total: Values) -> list[SSAValue]:
        better = self._replaces(total[self.key], old[self.key])
        if self.last:  # no point at all is not as good as one
            is_there = self.e.op(arith.CmpiOp(total[-1], self._constant(RANK, 0), "sge"))
            better = self.e.op(arith.AndIOp(better, is_there))
        return self._select(better, total[: len(old)], old)

    def _replaces(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Whether a later `a` replaces `b`."""
        return self._compare(f"{self.better[0]}e" if self.last else self.better, a, b)

    def _is_better(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._compare(self.better, a, b)

    def _compare(self, way: str, a: SSAValue, b: SSAValue) -> SSAValue:
        if not isinstance(self.element, IntegerType):
            return self.e.op(arith.CmpfOp(a, b, f"o{way}"))
        sign = "s" if self.element.signedness.data is Signedness.SIGNED else "u"
        return self.e.op(arith.CmpiOp(a, b, way if way == "eq" else f"{sign}{way}"))


class Joined(Fold):
    """The values of a tuple under a rule, and whether there is one yet: with infinities no value is neutral."""

    def __init__(self, e: Emitter, op: UpdateOp, rule: JoinedTuple):
        super().__init__(e)
        self.op, self.rule, self.functions = op, rule, rule.functions
        types = [op.old_funcs[n].type for n in rule.functions]
        self.types = (*(type.storage for type in types if isinstance(type, FuncType)), THERE)

    def nothing(self) -> list[SSAValue]:
        return [self._constant(type, 0) for type in self.types]

    def join(self, a: Values, b: Values) -> list[SSAValue]:
        *_, first = a
        *_, second = b
        both = self._select(self._is_there(second), self._applied(a, b), a[:-1])
        values = self._select(self._is_there(first), both, b[:-1])
        return [*values, self.e.op(arith.OrIOp(first, second))]

    def take(self, load: Callable[[], Values], terms: Values, predicate: SSAValue | None) -> list[SSAValue]:
        so_far = load()
        joined = self._select(self._is_there(so_far[-1]), self._applied(so_far, terms), terms)
        new = [*joined, self._constant(THERE, 1)]
        return new if predicate is None else self._select(predicate, new, so_far)

    def onto(self, old: Values, total: Values) -> list[SSAValue]:
        return self._select(self._is_there(total[-1]), self._applied(old, total), old)

    def _applied(self, old: Values, terms: Values) -> list[SSAValue]:
        count = len(self.functions)
        return applied(self.op, self.rule, old[:count], terms[:count], _Emitted(self.e, self.op))

    def _is_there(self, flag: SSAValue) -> SSAValue:
        return self.e.op(arith.CmpiOp(flag, self._constant(THERE, 0), "ne"))


class _Emitted(Numbers[SSAValue]):
    """Emitted values of the kernel."""

    def __init__(self, e: Emitter, update: UpdateOp):
        self.e, self.update = e, update

    def constant(self, op: arith.ConstantOp) -> SSAValue:
        return self.e.op(op.clone())

    def compute(self, op: Operation, operands: Sequence[SSAValue]) -> SSAValue:
        return self.e.op(op.clone(dict(zip(op.operands, operands, strict=True))))

    def combine(self, number: int, way: str, old: SSAValue, new: SSAValue) -> SSAValue:
        type = self.update.old_funcs[number].type
        assert isinstance(type, FuncType)
        return self.e.op(combined(way, type.element, old, new))


def folds_of(e: Emitter, op: UpdateOp, schedule: ReduceSchedule) -> list[Fold]:
    """Return the folds of an update's functions."""
    together: Fold | None = None
    if (best := first_best(op)) is not None:
        together = Best(e, op, best, _is_ranked(best, schedule))
    elif (rule := joined_tuple(op)) is not None:
        together = Joined(e, op, rule)
    functions = together.functions if together is not None else ()
    alone: list[Fold] = [Combined(e, op, n) for n in range(len(op.old_funcs)) if n not in functions]
    return alone if together is None else [*alone, together]


def carried_types(op: UpdateOp, schedule: ReduceSchedule) -> list[Attribute]:
    """Return the types that an update's folds carry, fold by fold."""
    found = first_best(op) or joined_tuple(op)
    together = found.functions if found is not None else ()
    numbers = (*(n for n in range(len(op.old_funcs)) if n not in together), *together)
    types: list[Attribute] = [type.storage for n in numbers if isinstance(type := op.old_funcs[n].type, FuncType)]
    if isinstance(found, JoinedTuple):
        types.append(THERE)
    elif found is not None and _is_ranked(found, schedule):
        types.append(RANK)
    return types


def _is_ranked(best: FirstBest, schedule: ReduceSchedule) -> bool:
    """Whether an index must be carried, as points are combined out of order; the last best needs a flag, too."""
    return best.last or not schedule.pure_lanes or schedule.team * schedule.split > 1


class Accumulators:
    """A thread's partial sums: `count` per function, in registers; with `as_loop`, in an array under a loop."""

    def __init__(self, e: Emitter, folds: Sequence[Fold], count: int, as_loop: bool = False):
        self.e, self.folds, self.count = e, folds, count
        self.as_loop = as_loop and count > 1
        self._branches = as_loop and count == 1
        """Whether a better point is stored by a branch, which is seldom taken, in place of selects."""
        self._arrays = [[e.alloca([count], type, PRIVATE, "so_far") for type in f.types] for f in folds]
        for fold, arrays in zip(folds, self._arrays, strict=True):
            for array, nothing in zip(arrays, fold.nothing(), strict=True):
                self.each(lambda i, array=array, nothing=nothing: e.store(nothing, array, [i]))  # type: ignore[misc]

    def each(self, emit: Callable[[Num], None], *, simd: bool = True) -> None:
        """Emit code for each sum, in a loop or unrolled."""
        if self.as_loop:
            with self.e.loop(self.count, "i", simd=simd) as i:
                emit(i)
            return
        for i in range(self.count):
            emit(i)

    def add(self, i: Num, terms: Values, predicate: SSAValue | None, rank: Callable[[], SSAValue]) -> None:
        """Add a term of each function to sum `i` where the predicate holds; points come in domain order.

        `rank` gives the point's place in that order.
        """
        for fold, arrays in zip(self.folds, self._arrays, strict=True):
            own = [terms[n] for n in fold.functions]
            if self._branches and isinstance(fold, Best):
                with self.e.when(fold.replaces(self._load(i, arrays[: len(own)]), own, predicate)):
                    self._store(i, arrays, [*own, rank()] if fold.has_rank else own)
                continue
            if fold.has_rank:
                own.append(rank())
            self._store(i, arrays, fold.take(lambda arrays=arrays: self._load(i, arrays), own, predicate))  # type: ignore[misc]

    def join(self, i: Num, others: Sequence[Values]) -> None:
        """Combine the sums of another accumulator, by fold, with sum `i`."""
        for fold, arrays, other in zip(self.folds, self._arrays, others, strict=True):
            self._store(i, arrays, fold.join(self._load(i, arrays), other))

    def value(self, i: Num) -> list[Values]:
        """Return sum `i`, by fold."""
        return [self._load(i, arrays) for arrays in self._arrays]

    def together(self, lanes: int) -> list[Values]:
        """Combine all sums of all lanes, by fold."""
        each = zip(self.folds, self._arrays, strict=True)
        return [f.over_lanes(f.tree([self._load(i, arrays) for i in range(self.count)]), lanes) for f, arrays in each]

    def _load(self, i: Num, arrays: Values) -> list[SSAValue]:
        return [self.e.load(array, [i]) for array in arrays]

    def _store(self, i: Num, arrays: Values, values: Values) -> None:
        for array, value in zip(arrays, values, strict=True):
            self.e.store(value, array, [i])
