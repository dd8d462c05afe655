"""Accumulators, and how lanes and lists of values are folded into one, always in the same order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType, i16, i32
from xdsl.ir import SSAValue

from tilefuse.analysis.updates import identity
from tilefuse.dialects.gpu_shuffle import ShuffleMode, ShuffleOp
from tilefuse.dialects.img.combiners import combined
from tilefuse.dialects.img.ops import UpdateOp
from tilefuse.dialects.img.types import FuncType
from tilefuse.lowering.emit import PRIVATE, Emitter, Num


class Fold:
    """Combiner of the values of one function of an update."""

    def __init__(self, e: Emitter, op: UpdateOp, number: int):
        type = op.olds[number].type
        assert isinstance(type, FuncType)
        self.e, self.way, self.element, self.type = e, op.combiners[number], type.element, type.storage

    def join(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Both values as one."""
        return self.e.op(combined(self.way, self.element, a, b))

    def tree(self, values: Sequence[SSAValue]) -> SSAValue:
        """All values as one, neighbours first."""
        while len(values) > 1:
            pairs = [values[i : i + 2] for i in range(0, len(values), 2)]
            values = [self.join(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
        return values[0]

    def nothing(self) -> SSAValue:
        """The value that changes nothing."""
        value = identity(self.way, self.element)
        assert value is not None
        if isinstance(self.type, IntegerType):
            return self.e.op(arith.ConstantOp(IntegerAttr(int(value), self.type)))
        return self.e.op(arith.ConstantOp(FloatAttr(value, self.type)))  # type: ignore[call-overload]

    def over_lanes(self, value: SSAValue, lanes: int) -> SSAValue:
        """The values of all lanes as one, in every lane."""
        by = lanes // 2
        while by:
            value = self.join(value, self._shuffled(value, by))
            by //= 2
        return value

    def _shuffled(self, value: SSAValue, by: int) -> SSAValue:
        e, type = self.e, self.type
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


class Accumulators:
    """A thread's sums so far: `count` of each function, in registers; in an array that is gone over, if `as_loop`."""

    def __init__(self, e: Emitter, folds: Sequence[Fold], count: int, as_loop: bool = False):
        self.e, self.folds, self.count = e, folds, count
        self.as_loop = as_loop and count > 1
        self._arrays = [e.alloca([count], f.type, PRIVATE, "so_far") for f in folds]
        for fold, array in zip(folds, self._arrays, strict=True):
            nothing = fold.nothing()
            self.each(lambda i, array=array, nothing=nothing: e.store(nothing, array, [i]))  # type: ignore[misc]

    def each(self, emit: Callable[[Num], None], *, simd: bool = True) -> None:
        """Emit something for each sum, as a loop or one by one."""
        if self.as_loop:
            with self.e.loop(self.count, "i", simd=simd) as i:
                emit(i)
            return
        for i in range(self.count):
            emit(i)

    def add(self, i: Num, terms: Sequence[SSAValue], predicate: SSAValue | None) -> None:
        """Join a term of each function with what sum `i` has, where the predicate holds."""
        for fold, array, term in zip(self.folds, self._arrays, terms, strict=True):
            if predicate is not None:
                term = self.e.op(arith.SelectOp(predicate, term, fold.nothing()))
            self.e.store(fold.join(self.e.load(array, [i]), term), array, [i])

    def value(self, i: Num) -> list[SSAValue]:
        """Sum `i` of each function."""
        return [self.e.load(array, [i]) for array in self._arrays]

    def together(self, lanes: int) -> list[SSAValue]:
        """All sums of all lanes as one, of each function."""
        each = zip(self.folds, self._arrays, strict=True)
        return [f.over_lanes(f.tree([self.e.load(a, [i]) for i in range(self.count)]), lanes) for f, a in each]
