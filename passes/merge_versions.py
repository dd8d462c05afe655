"""`merge-versions`: reduce the number of versions of a long tile body (level 5).

    scf.if %interior {
      scf.if %aligned {
        func.call @tile(..., %no, %yes)
      } else {
        func.call @tile(..., %no, %no)
      }
    } else {
      ...
      scf.if %vectors_uniform {
        func.call @tile(..., %yes, %yes)
      } else {
        func.call @tile(..., %yes, %no)
      }
    }
    =>
    %fast = arith.andi %interior, %aligned : i1
    scf.if %fast {
      func.call @tile(..., %no, %yes)
    } else {
      ...
      func.call @tile_border(..., %vectors_uniform)
    }

The compiler makes a version of the tile body for each call with constant flags. A short body is fastest with all its
versions. In a long body, a branch around loads and stores costs little, while each version takes compile time (more
than in proportion to its length) and space in the instruction caches. So border tiles, and tiles with unaligned rows,
share one version of a long body, in a function that is not inlined, which takes less compile time and fewer registers.
A kernel of one wave or little more (`single_wave`, `few_waves`) takes as long as its slowest tile, so it keeps its
versions, as does a kernel with mostly border tiles (`mostly_border`).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import IntegerType, ModuleOp, SymbolRefAttr, UnitAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tilefuse.dialects.constants import integer_constant
from tilefuse.dialects.img.ops import PipelineOp
from tilefuse.execution.versions import keeps_versions, outermost_branches
from tilefuse.lowering.abi import groups_of, kernel_name

LONG = 9500
"""Operations of a tile body, unrolled, from which on its versions are merged: about where tiles at borders in a version
of their own gain as much as the instruction caches lose by it."""

OUTLINED = "kernel.outlined"
"""The attribute of a device function that is not inlined."""


@dataclass(frozen=True)
class MergeVersions(ModulePass):
    """Merge the border versions of a long tile body into one function."""

    name = "merge-versions"

    min_operations: int = LONG
    """Operations of a tile body, with loops unrolled, from which on its versions are merged."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = {f.sym_name.data: f for f in op.body.block.ops if isinstance(f, func.FuncOp)}
        groups = [g for p in op.body.block.ops if isinstance(p, PipelineOp) for g in groups_of(p)]
        kept = {kernel_name(g) for g in groups if keeps_versions(g)}
        for kernel in functions.values():
            if "kernel.threads" not in kernel.attributes or kernel.sym_name.data in kept:
                continue
            for branch in list(outermost_branches(kernel.body.block)):
                versions = _versions(branch)
                if versions is None:
                    continue
                body = functions.get(versions.border.callee.string_value())
                if body is not None and unrolled_operations(body.body.block) >= self.min_operations:
                    _merge(versions, body)


def unrolled_operations(block: Block) -> int:
    """Count the operations of a block, operations in unrolled loops once per iteration."""
    found = 0
    for op in block.ops:
        times = 1
        if isinstance(op, scf.ForOp) and "kernel.unroll" in op.attributes:
            bounds = [integer_constant(v) for v in (op.lb, op.ub, op.step)]
            unroll = op.attributes["kernel.unroll"]
            if None not in bounds and isinstance(unroll, UnitAttr):
                times = len(range(*bounds))  # type: ignore[arg-type]
        inner = sum(unrolled_operations(b) for region in op.regions for b in region.blocks)
        found += 1 + times * inner
    return found


@dataclass(frozen=True)
class _VersionCalls:
    """The calls of a tile body among which a kernel chooses."""

    branch: scf.IfOp
    """Branch between interior and border tiles."""
    aligned: SSAValue | None
    """Whether the fast version may run inside; None: it always may."""
    inside: func.CallOp
    border: func.CallOp
    """Call in border tiles, with constant flags."""
    uniform: SSAValue | None
    """The condition that chooses between `border` and the call with the other flags; None if there is no other."""
    flags: tuple[int, ...]
    """Operands of `border` that `uniform` takes the place of."""
    last: Operation
    """The op that the merged call replaces: `border`, or the branch around it."""


def _body(block: Block) -> list[Operation]:
    return [op for op in block.ops if not isinstance(op, scf.YieldOp)]


def _only_call(region: Region) -> func.CallOp | None:
    """Return the call that is the whole content of a branch."""
    if not region.blocks:
        return None
    match _body(region.block):
        case [func.CallOp() as call]:
            return call
        case _:
            return None


def _either(op: Operation) -> tuple[func.CallOp, func.CallOp] | None:
    """Return the calls in the two branches, if they call one function and do nothing else."""
    if not isinstance(op, scf.IfOp) or op.results:
        return None
    calls = _only_call(op.true_region), _only_call(op.false_region)
    first, second = calls
    if first is None or second is None or first.callee != second.callee:
        return None
    return first, second


def _flags(first: func.CallOp, second: func.CallOp) -> tuple[int, ...] | None:
    """Return the operands that are true in the first call and false in the second; None if others differ."""
    differing = [i for i, (a, b) in enumerate(zip(first.operands, second.operands, strict=True)) if a is not b]
    for i in differing:
        a, b = first.operands[i], second.operands[i]
        if a.type != IntegerType(1) or (integer_constant(a), integer_constant(b)) not in ((1, 0), (-1, 0)):
            return None
    return tuple(differing)


def _versions(branch: scf.IfOp) -> _VersionCalls | None:
    """Return the versions among which a branch chooses; None if it is no such branch, or if there are more."""
    if branch.results or not branch.false_region.blocks:
        return None
    match _body(branch.true_region.block):
        case [func.CallOp() as inside]:
            aligned = None
        case [scf.IfOp() as inner] if (calls := _either(inner)) is not None:
            inside, aligned = calls[0], inner.cond
        case _:
            return None
    at_border = _body(branch.false_region.block)
    last = at_border[-1] if at_border else None
    flags: tuple[int, ...] = ()
    if isinstance(last, func.CallOp):
        border, uniform = last, None
    elif last is not None and (calls := _either(last)) is not None:
        assert isinstance(last, scf.IfOp)
        border, uniform = calls[0], last.cond
        differing = _flags(*calls)
        if differing is None:
            return None
        flags = differing
    else:
        return None
    if any(isinstance(op, func.CallOp | scf.IfOp) for op in at_border[:-1]) or border.callee != inside.callee:
        return None
    if (0, 1) not in {
        (integer_constant(a), abs(integer_constant(b) or 0))
        for a, b in zip(inside.operands, border.operands, strict=True)
    }:
        return None  # no flag says that the second is for borders
    return _VersionCalls(branch, aligned, inside, border, uniform, flags, last)


def _merge(versions: _VersionCalls, body: func.FuncOp) -> None:
    """Keep one version for interior tiles, and an outlined one for all others."""
    if versions.aligned is not None:
        fast = arith.AndIOp(versions.branch.cond, versions.aligned)
        Rewriter.insert_op(fast, InsertPoint.before(versions.branch))
        versions.branch.operands[0] = fast.result
        choice = versions.inside.parent_op()
        assert choice is not None
        versions.inside.detach()
        Rewriter.replace_op(choice, versions.inside, [])
    operands = list(versions.border.operands)
    for i in versions.flags:
        assert versions.uniform is not None
        operands[i] = versions.uniform
    kept = [i for i, operand in enumerate(operands) if integer_constant(operand) is None]
    outlined = _outlined(versions.border, body, kept)
    Rewriter.replace_op(versions.last, func.CallOp(SymbolRefAttr(outlined), [operands[i] for i in kept], []), [])


def _outlined(call: func.CallOp, body: func.FuncOp, kept: list[int]) -> str:
    """Outline a call with `kept` as arguments and the other arguments constant; return the name."""
    module = body.parent_op()
    assert isinstance(module, ModuleOp)
    block = Block(arg_types=[call.operands[i].type for i in kept])
    operands = list(call.operands)
    for i, arg in zip(kept, block.args, strict=True):
        arg.name_hint = body.body.block.args[i].name_hint
        operands[i] = arg
    for i, operand in enumerate(operands):
        if i not in kept and isinstance(operand.owner, Operation):
            constant = operand.owner.clone()
            block.add_op(constant)
            operands[i] = constant.results[0]
    block.add_op(func.CallOp(call.callee, operands, []))
    block.add_op(func.ReturnOp())
    taken = {f.sym_name.data for f in module.body.block.ops if isinstance(f, func.FuncOp)}
    name = next(n for n in _names(body.sym_name.data) if n not in taken)
    function = func.FuncOp(name, ([a.type for a in block.args], []), Region(block))
    function.attributes[OUTLINED] = UnitAttr()
    module.body.block.insert_op_after(function, body)
    return name


def _names(tile: str) -> Iterator[str]:
    """Return names for the border version: `p_blur_border1` of `p_blur_tile1`."""
    match = re.fullmatch(r"(.*)_tile([0-9]+)", tile)
    if match:
        yield f"{match[1]}_border{match[2]}"
    yield from (f"{tile}_border{n}" for n in itertools.count())
