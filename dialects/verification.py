"""Module verification with located errors, and the dominance check that xDSL lacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp
from xdsl.ir import Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove, NoTerminator
from xdsl.utils.exceptions import VerifyException

from tilefuse.dialects.diagnostics import PipelineError

_BEYOND = 1 << 63


def verify(module: ModuleOp) -> None:
    """Verify `module`; raises PipelineError at the first malformed operation."""
    try:
        module.verify()
    except Exception as error:
        if not _is_verdict(error):
            raise
        culprit = _first_malformed(module)
        raise PipelineError(_message(error, culprit), culprit) from None
    _verify_index_constants(module)
    verify_dominance(module)


def _is_verdict(error: Exception) -> bool:
    """Whether an error is a verifier's: for memref.store xDSL raises a plain exception."""
    return isinstance(error, VerifyException) or type(error) is Exception


def _verify_index_constants(module: ModuleOp) -> None:
    """Check that constants of type index fit 64 bits, which xDSL does not check."""
    for op in module.walk():
        if isinstance(op, arith.ConstantOp) and isinstance(op.result.type, IndexType):
            assert isinstance(op.value, IntegerAttr)
            if not -_BEYOND <= op.value.value.data < _BEYOND:
                raise PipelineError(f"{op.value.value.data} does not fit the 64 bits of an index", op)


def verify_dominance(op: Operation) -> None:
    """Check that each value is defined before it is used, in all single-block regions inside `op`.

    Raises PipelineError at the first use that comes too early: so a cyclic pipeline is found here.
    """
    for region in op.regions:
        _verify_region(region, set())


def _verify_region(region: Region, visible: set[SSAValue]) -> None:
    own: list[SSAValue] = []

    def define(values: Iterable[SSAValue]) -> None:
        visible.update(values)
        own.extend(values)

    if len(region.blocks) > 1:
        # Control flow between blocks is no text of ours; its values are all taken as visible.
        for block in region.blocks:
            define(block.args)
            for op in block.ops:
                define(op.results)
    for block in region.blocks:
        define(block.args)
        for op in block.ops:
            for operand in op.operands:
                if operand not in visible:
                    name = f"%{operand.name_hint}" if operand.name_hint else "an operand"
                    raise PipelineError(f"{op.name}: {name} is used before it is defined", op)
            for inner in op.regions:
                _verify_region(inner, set() if op.has_trait(IsolatedFromAbove) else visible)
            define(op.results)
    # Taken back rather than copied on the way in, so that a chain of n stages costs n.
    visible.difference_update(own)


def _first_malformed(module: ModuleOp) -> Operation:
    """Return the operation at which `module.verify()` stopped, which xDSL's error does not carry."""
    for op in _children_first(module):
        try:
            op.verify(verify_nested_ops=False)
        except Exception:
            return op
        if any(b.is_empty for r in op.regions for b in r.blocks) and not op.has_trait(NoTerminator):
            return op
    return module


def _children_first(op: Operation) -> Iterator[Operation]:
    for region in op.regions:
        for block in region.blocks:
            for child in block.ops:
                yield from _children_first(child)
    yield op


def _message(error: Exception, op: Operation) -> str:
    """Format xDSL's message as one line that begins with the op's name."""
    text = " ".join(str(error).split())
    kind = op.name.rpartition(".")[2]
    return text if kind in text.replace("'", " ").split() or op.name in text else f"{op.name}: {text}"
