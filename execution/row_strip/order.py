"""Scheduling of a row loop's operations for few live values.

Compilers for x86 keep the order that they are given until registers are assigned, and what finds no register goes
through memory. Only loops that need more than there are get another order, found greedily: next comes what ends most
lives, of loads that after which most lives can be ended.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, UnitAttr
from xdsl.ir import Block, Operation
from xdsl.traits import is_side_effect_free

REGISTERS = 14
"""Values that find a register: x86-64 has 16 for vectors, less some for constants."""
LONGEST = 400
"""Operations of a loop that is looked at; the time grows with the square."""


def order_for_registers(block: Block) -> None:
    """Reorder each loop marked `kernel.simd` that has too many values alive at a time."""
    for loop in [op for op in block.walk() if isinstance(op, scf.ForOp) and "kernel.simd" in op.attributes]:
        parts = _parts(list(loop.body.block.ops)[:-1])
        if parts is None:
            continue
        first, middle, stores = parts
        alive = most_alive(middle)
        if alive <= REGISTERS:
            continue
        order = _Order(middle).found()
        if most_alive(order) < alive:
            _reorder(loop.body.block, [*first, *order, *stores], set(order))


def most_alive(ops: Sequence[Operation]) -> int:
    """Return the maximal number of live results; results used elsewhere are live to the end."""
    inside = set(ops)
    left = {op: _uses(op, inside) for op in ops}
    alive = most = 0
    for op in ops:
        alive += 1
        most = max(most, alive)
        alive -= sum(_ended(op, inside, left))
    return most


def _parts(ops: Sequence[Operation]) -> tuple[list[Operation], list[Operation], list[Operation]] | None:
    """Split operations into addresses, values and stores; None if other order matters, or there are too many."""
    if len(ops) > LONGEST:
        return None
    first: list[Operation] = []
    middle: list[Operation] = []
    stores: list[Operation] = []
    later: set[Operation] = set()
    for op in ops:
        if isinstance(op, memref.StoreOp):
            stores.append(op)
        elif isinstance(op, memref.LoadOp) and stores:
            return None
        elif op.regions or len(op.results) != 1 or not (isinstance(op, memref.LoadOp) or is_side_effect_free(op)):
            return None
        elif _is_address(op) and not any(value.owner in later for value in op.operands):
            first.append(op)
        else:
            middle.append(op)
            later.add(op)
    return first, middle, stores


def _is_address(op: Operation) -> bool:
    return isinstance(op, arith.ConstantOp) or isinstance(op.results[0].type, IndexType)


def _uses(op: Operation, inside: set[Operation]) -> int:
    """Count the inside uses of a result, plus one if it is used outside."""
    users = {use.operation for use in op.results[0].uses}
    return len(users & inside) + (not users <= inside)


def _ended(op: Operation, inside: set[Operation], left: dict[Operation, int]) -> list[bool]:
    """Return the operands that die at `op`, and its result if unused; counts down the remaining uses."""
    found = [left[op] == 0]
    for owner in {value.owner for value in op.operands}:
        if owner in inside:
            assert isinstance(owner, Operation)
            left[owner] -= 1
            found.append(left[owner] == 0)
    return found


class _Order:
    """A greedy order of operations that depend only on each other and on earlier values."""

    def __init__(self, ops: Sequence[Operation]):
        self.place = {op: i for i, op in enumerate(ops)}
        inside = set(ops)
        self.producers = {op: {v.owner for v in op.operands if v.owner in inside} for op in ops}
        self.users: dict[Operation, list[Operation]] = {op: [] for op in ops}
        for op, producers in self.producers.items():
            for producer in producers:
                self.users[producer].append(op)  # type: ignore[index]
        self.waits = {op: len(producers) for op, producers in self.producers.items()}
        self.left = {op: _uses(op, inside) for op in ops}

    def found(self) -> list[Operation]:
        """List all operations, in order."""
        order: list[Operation] = []
        ready = [op for op, n in self.waits.items() if n == 0]
        while ready:
            op = min(ready, key=lambda op: (self._more_alive(op), self.place[op]))
            ready.remove(op)
            order.append(op)
            for producer in self.producers[op]:
                self.left[producer] -= 1  # type: ignore[index]
            for user in self.users[op]:
                self.waits[user] -= 1
                if self.waits[user] == 0:
                    ready.append(user)
        return order

    def _more_alive(self, op: Operation) -> int:
        """Return the increase in live values by an operation; for a read of memory, with the users then ready."""
        then = [op]
        if not self.producers[op]:
            then += [user for user in self.users[op] if self.waits[user] == 1]
        used: dict[object, int] = {}
        for done in then:
            for producer in self.producers[done]:
                used[producer] = used.get(producer, 0) + 1
        return len(then) - sum(self.left[p] == n for p, n in used.items())  # type: ignore[index]


def _reorder(block: Block, ops: Sequence[Operation], computed: set[Operation]) -> None:
    """Move the operations; a value not used by the next one is computed where it is needed."""
    last = block.last_op
    assert last is not None
    for op in ops:
        op.detach()
        block.insert_op_before(op, last)
    for op, following in zip(ops, [*ops[1:], last], strict=True):
        if op in computed and following not in {use.operation for use in op.results[0].uses}:
            op.attributes["kernel.ordered"] = UnitAttr()
