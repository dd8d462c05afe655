"""Printing of `scf`, `func` and `gpu` statements: loops, branches, calls, barriers and shuffles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast as as_type

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, StringAttr
from xdsl.ir import Block, Operation, SSAValue

import tilefuse.lowering.printers.expr as expr
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.gpu_shuffle import ShuffleOp
from tilefuse.dialects.nvvm import GridDepAction, GriddepcontrolOp
from tilefuse.lowering.printers.c_types import SIGNED, width_of
from tilefuse.lowering.printers.checks import constant_value, read_parallel_threshold
from tilefuse.lowering.printers.conversions import print_conversion
from tilefuse.lowering.printers.expr import ADD, CExpr
from tilefuse.lowering.printers.function_text import FunctionText
from tilefuse.lowering.printers.interleaved import print_deinterleave
from tilefuse.lowering.printers.memory import memory_of, read_pointers
from tilefuse.lowering.printers.readings import c_literal, read_signed
from tilefuse.lowering.symbols import c_function_name

LEVELS = tuple(f"{unit}_{axis}" for unit in ("block", "thread") for axis in "xyz")


def print_for(p: FunctionText, op: Operation) -> None:
    """Print a loop with variables for its carried values, or the index that replaces it on the GPU."""
    op = as_type(scf.ForOp, op)
    if p.language.converts_vectors and (print_conversion(p, op) or print_deinterleave(p, op)):
        return
    level = op.attributes.get("kernel.level")
    if isinstance(level, StringAttr):
        if level.data not in LEVELS:
            raise PipelineError(f"scf.for: kernel.level must be one of {', '.join(LEVELS)}, not {level.data}", op)
        if op.iter_args:
            raise PipelineError(f"scf.for: a {level.data} loop cannot carry values from one iteration to the next", op)
        if builtin := p.language.hardware_index(level.data):
            _print_hardware_loop(p, op, builtin)
            return
    induction, *carried = op.body.block.args
    counts = [_count(p, loop.ub) for loop in p.language.shared_out(op)]
    lower, upper, step = (_bound(p, value) for value in (op.lb, op.ub, op.step))
    inits = [p.converted(value) for value in op.iter_args]
    p.flush_reads()
    targets = [p.variable(arg, result.name_hint) for arg, result in zip(carried, op.results, strict=True)]
    for target, init, arg, result in zip(targets, inits, carried, op.results, strict=True):
        p.line(f"{target.ctype} {target.text} = {init.text};")
        p.set_value(arg, target)
        p.set_value(result, target)
    for pragma in p.language.loop_pragmas(op, counts, _threshold_factors(p, op) if counts else ()):
        p.line(pragma)
    p.names.push()
    ctype = "idx" if isinstance(induction.type, IndexType) else SIGNED[width_of(induction.type, op)]
    i = expr.name(p.names.fresh(induction.name_hint or "i"), ctype)
    p.set_value(induction, i)
    advance = f"++{i.text}" if step.const == 1 else f"{i.text} += {step.text}"
    p.line(f"for ({ctype} {i.text} = {lower.text}; {i.text} < {upper.wrapped(ADD)}; {advance}) {{")
    p.scope(op.body.block)
    p.line("}")
    p.names.pop()


def _threshold_factors(p: FunctionText, op: Operation) -> Sequence[CExpr]:
    """Return the factors of the product that is compared with `kernel.parallel_threshold`."""
    found, args = read_parallel_threshold(p.function), p.function.body.block.args
    factors = found.factors if found is not None else ()
    return [p.use(args[n]) if axis < 0 else memory_of(p, args[n], op).extents[axis] for n, axis in factors]


def _count(p: FunctionText, value: SSAValue) -> CExpr:
    """Return a loop's end as text that may be printed twice."""
    if (known := constant_value(value)) is not None:
        return c_literal(known, 64)
    a = p.atom(p.use(value), value)
    p.set_value(value, a)
    return a


def _bound(p: FunctionText, value: SSAValue) -> CExpr:
    a = p.use(value)
    return a if isinstance(value.type, IndexType) else read_signed(a, width_of(value.type, p.op))


def _print_hardware_loop(p: FunctionText, op: scf.ForOp, builtin: str) -> None:
    """Print a loop that the grid or the block runs: `const idx tx = threadIdx.x;`."""
    if constant_value(op.lb) != 0 or constant_value(op.step) != 1:
        raise PipelineError("scf.for: a block or thread loop must run from 0 with step 1", op)
    p.flush_reads()
    induction = op.body.block.args[0]

    def index() -> None:
        name = p.names.fresh(induction.name_hint or "i")
        p.set_value(induction, expr.name(name, "idx"))
        if p.uses.get(induction):
            p.line(f"const idx {name} = {builtin};")

    following = op.next_op
    if following is None or following.next_op is None:
        # Last before the terminator: the scope around it ends here too.
        index()
        p.print_block(op.body.block)
        return
    p.line("{")
    p.scope(op.body.block, index)
    p.line("}")


def print_if(p: FunctionText, op: Operation) -> None:
    """Print a branch; both sides assign to variables for its results."""
    op = as_type(scf.IfOp, op)
    condition = p.use(op.cond)
    p.flush_reads()
    for result in op.results:
        if p.uses.get(result):
            target = p.variable(result, None)
            p.set_value(result, target)
            p.line(f"{target.ctype} {target.text};")
    then, otherwise = op.true_region.blocks, op.false_region.blocks
    empty_then = not then or _only_yields_nothing(then[0])
    if empty_then and otherwise:
        condition = expr.unary("!", condition, "bool")
        then, otherwise = otherwise, then
    p.line(f"if ({condition.text}) {{")
    if then:
        p.scope(then[0])
    if otherwise and not _only_yields_nothing(otherwise[0]):
        p.line("} else {")
        p.scope(otherwise[0])
    p.line("}")


def _only_yields_nothing(block: Block) -> bool:
    return isinstance(first := block.first_op, scf.YieldOp) and not first.operands


def print_while(p: FunctionText, op: Operation) -> None:
    """Print a loop that runs until its condition fails; it carries no values."""
    op = as_type(scf.WhileOp, op)
    if op.arguments or op.res:
        raise PipelineError("scf.while: one that carries values is not printed; keep them in memory", op)
    p.flush_reads()
    p.line("while (true) {")
    p.scope(op.before_region.block)
    p.scope(op.after_region.block)
    p.line("}")


def print_condition(p: FunctionText, op: Operation) -> None:
    """Print the end of a loop whose condition fails."""
    condition = expr.unary("!", p.use(as_type(scf.ConditionOp, op).condition), "bool")
    p.flush_reads()
    p.line(f"if ({condition.text}) break;")


def print_yield(p: FunctionText, op: Operation) -> None:
    """Assign to the variables of the enclosing loop or branch."""
    parent = op.parent_op()
    if isinstance(parent, scf.WhileOp):
        return
    if isinstance(parent, scf.ForOp):
        targets = [p.use(arg) for arg in parent.body.block.args[1:]]
        p.assign(targets, op.operands)
    elif isinstance(parent, scf.IfOp):
        live = [i for i, result in enumerate(parent.results) if p.uses.get(result)]
        p.assign([p.use(parent.results[i]) for i in live], [op.operands[i] for i in live])
    else:
        raise PipelineError(f"scf.yield inside {parent.name if parent else 'nothing'} is not printed", op)


def print_call(p: FunctionText, op: Operation) -> None:
    """Print a call of a device function; a memref is passed as pointer, extents and strides.

    `kernel.no_cse` names an argument: it comes to each such call in its own way, so that what callees compute of it is
    not computed once for several of them, before the branch that chooses.
    """
    op = as_type(func.CallOp, op)
    callee = op.callee.string_value()
    function = p.functions.get(callee)
    if function is None or not {"kernel.inline", "kernel.outlined"} & function.attributes.keys():
        raise PipelineError(
            f"func.call: @{callee} is not a function of this module with kernel.inline or kernel.outlined", op
        )
    args: list[str] = []
    no_cse = op.attributes.get("kernel.no_cse")
    for number, operand in enumerate(op.operands):
        if isinstance(operand.type, MemRefType):
            args.extend(memory_of(p, operand, op).passed)
            continue
        text = p.converted(operand).text
        if isinstance(no_cse, IntegerAttr) and no_cse.value.data == number:
            p.versions += 1
            text = p.language.opaque(p.prelude, text, p.versions)
        args.append(text)
    p.flush_reads()
    text = f"{c_function_name(callee)}({', '.join(args)})"
    if op.results and p.uses.get(op.results[0]):
        result = op.results[0]
        p.set_value(result, p.bind(CExpr(text, expr.POSTFIX, p.ctype(result.type)), result))
    else:
        p.line(f"{text};")


def print_return(p: FunctionText, op: Operation) -> None:
    """Print `return value;`, or nothing."""
    if op.operands:
        p.line(f"return {p.converted(op.operands[0]).text};")


def print_barrier(p: FunctionText, op: Operation) -> None:
    """Print `__syncthreads();` where threads run concurrently."""
    p.flush_reads()
    if p.language.barrier:
        p.line(p.language.barrier)


def print_memory_barrier(p: FunctionText, op: Operation) -> None:
    """Print `__threadfence();`."""
    p.flush_reads()
    p.line(p.language.fence)


def print_griddepcontrol(p: FunctionText, op: Operation) -> None:
    """Print `griddepcontrol_wait();` and similar; nothing in a language whose kernels run one after the other."""
    assert isinstance(op, GriddepcontrolOp)
    p.flush_reads()
    if not p.language.kernels_overlap:
        return
    p.line(f"{p.library(f'griddepcontrol_{op.kind.data}')}();")
    if op.kind.data is GridDepAction.Wait:
        for pointer in read_pointers(p):
            p.line(f"{p.library('written_meanwhile')}({pointer});")


def print_shuffle(p: FunctionText, op: Operation) -> None:
    """Print a shuffle as a statement of its own, so that it cannot move under a condition."""
    assert isinstance(op, ShuffleOp)
    if p.language.shuffle is None:
        raise PipelineError(
            f"gpu.shuffle cannot be printed as {p.language.name}; lower the tiles with lower-warp-tiles{{warps=false}}",
            op,
        )
    function = f"{p.language.shuffle}_{op.mode.data.value}_sync"
    args = [CExpr("0xffffffffu", expr.PRIMARY, "unsigned int"), *(p.converted(v) for v in op.operands)]
    a = expr.call(function.replace("_idx_", "_"), args, p.ctype(op.value.type))
    p.set_value(op.shuffle_result, p.bind(a, op.shuffle_result))
