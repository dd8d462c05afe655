"""Launch plans of a call: all kernel arguments except addresses, computed from boxes.

A plan serves all calls with the same shapes, strides and alignment; a call fills in addresses, and scalars
that come from parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from xdsl.ir import SSAValue

from tilefuse.analysis.access import function_name
from tilefuse.analysis.bounds import Box, computed_stages, required_boxes, spans_of
from tilefuse.analysis.index_reach import index_reach
from tilefuse.analysis.model import extract
from tilefuse.analysis.overwritten import unwritten_boxes
from tilefuse.analysis.sizes import CallSizes
from tilefuse.analysis.strides import static_strides
from tilefuse.dialects.img.ops import GroupOp, InputOp, PipelineOp
from tilefuse.dialects.img.types import FuncType, element_bytes
from tilefuse.execution.registry import model_of
from tilefuse.lowering.abi import KernelArg, kernel_args, kernel_name, threads, written_over
from tilefuse.lowering.workspaces import Call, Workspace
from tilefuse.passes.copy_updated import copied
from tilefuse.runtime.arrays.layouts import ALIGNMENT, Picture, reach, storage_strides
from tilefuse.runtime.call.boxes import CallBoxes, input_ops, rank_of
from tilefuse.runtime.call.boxes_of_all import boxes_of_all, check_spread
from tilefuse.runtime.call.scalars import Scalar
from tilefuse.runtime.launch.arena import HostBuffer, Lifetime, place

_INT32_REACH = 2**31 - 2**20
"""Offsets and indices below this fit 32 bits with room for the overhang of a tile."""

_WORD = 2**64 - 1

_SAVED_BYTES = 2**22
"""Bytes that a launch more has to leave unwritten: a GPU writes them in about the time that a launch takes."""


class Address(NamedTuple):
    """Kernel argument `slot`: the address of buffer `buffer` plus `offset` bytes."""

    slot: int
    buffer: int
    offset: int


class ScalarSlot(NamedTuple):
    """Kernel argument `slot`: the scalar `number` of the plan."""

    slot: int
    number: int


@dataclass(frozen=True)
class KernelLaunch:
    """One kernel launch. `words` are its arguments, 64 bits each; addresses and scalars are left 0."""

    name: str
    group: GroupOp
    grid: tuple[int, int, int]
    threads: tuple[int, int, int]
    words: tuple[int, ...]
    addresses: tuple[Address, ...]
    scalars: tuple[ScalarSlot, ...]
    shared_bytes: int = 0
    """Shared memory of a block that the launch asks for."""


class Clear(NamedTuple):
    """A memset before the first kernel: `size` bytes of a buffer from `offset`."""

    buffer: int
    offset: int
    size: int
    byte: int


@dataclass(frozen=True)
class CopyOut:
    """Copy from a temporary to an output: kernels needed more of it than the caller requested."""

    offset: int
    """Bytes from the start of the arena to the first element that is copied."""
    strides: tuple[int, ...]
    """Strides of the temporary, in elements, x first."""
    output: int
    itemsize: int


@dataclass(frozen=True)
class Plan:
    """The launches of a call, in order. Buffers are numbered: inputs, outputs, then the arena."""

    launches: tuple[KernelLaunch, ...]
    copies: tuple[CopyOut, ...]
    scalars: tuple[SSAValue, ...]
    arena_bytes: int
    index_bits: int
    boxes: CallBoxes
    clears: tuple[Clear, ...] = ()
    largest: str = ""
    """The temporary, or the workspace, that takes most of the arena, for messages."""


class _PlannedBuffer(NamedTuple):
    number: int
    box: Box
    strides: tuple[int, ...]
    offset: int = 0


class CallArrays(NamedTuple):
    """The arrays of a call, and the outputs that may host temporaries until they are written."""

    boxes: CallBoxes
    inputs: Sequence[Picture]
    outputs: Sequence[Picture]
    may_host: Sequence[bool]


class _Space(NamedTuple):
    """A kernel's workspace in a call, and its extents, outermost first."""

    kernel: int
    workspace: Workspace
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return prod(self.shape) * element_bytes(self.workspace.type.element_type)

    @property
    def life(self) -> Lifetime:
        return Lifetime(self.size, self.kernel if self.workspace.clear is None else 0, self.kernel)

    def buffer(self, number: int, offset: int) -> _PlannedBuffer:
        extents = self.shape[::-1]
        strides = tuple(prod(extents[:d]) for d in range(len(extents)))
        return _PlannedBuffer(number, tuple((0, n) for n in extents), strides, offset)


_BufferKey = SSAValue | _Space


def make_plan(
    pipeline: PipelineOp,
    boxes: CallBoxes,
    inputs: Sequence[Picture],
    outputs: Sequence[Picture],
    params: Mapping[str, Scalar],
    may_host: Sequence[bool] = (),
) -> Plan:
    """Make the plan of a scheduled pipeline for these array layouts.

    `may_host` says which outputs may hold temporaries until they are written: those at aligned addresses.
    """
    needed = required_boxes(pipeline, boxes.outputs, boxes.inputs, params)
    # A group is dead in this call if, say, all reads of it fall outside of a constant_exterior's box.
    groups = [op for op in pipeline.body.block.ops if isinstance(op, GroupOp)]
    groups = [g for g in groups if any(f in needed for f in g.funcs)]
    several = [g for g in groups if len(g.funcs) > 1]
    model = extract(pipeline) if several else None
    for group in several:
        assert model is not None
        if any(f not in needed for f in group.funcs):
            needed |= boxes_of_all(group, model, needed)
        check_spread(group, model, needed)
    # A read outside of the box is loaded before it is thrown away: there must be one point to load.
    read = dict.fromkeys(a.value for g in groups for a in kernel_args(g) if a.kind in ("input", "inout"))
    unneeded = [f for f in read if f not in needed and not isinstance(f.owner, InputOp)]
    needed |= {f: ((0, 1),) * rank_of(f.type) for f in unneeded}
    given = CallArrays(boxes, inputs, outputs, may_host or [False] * len(outputs))
    hosted = updated_in_place(pipeline, groups, needed, boxes, given.outputs, given.may_host)
    groups = [g for g in groups if not any(f in hosted for f in g.funcs)]
    sizes = CallSizes(boxes.inputs, params)
    spaces = _workspaces(groups, Call(needed, sizes))
    buffers, copies, arena_bytes = _assign_buffers(pipeline, groups, unneeded, needed, given, spaces, hosted)
    scalars: dict[SSAValue, int] = {}
    launches = tuple(
        _launch(g, boxes, buffers, scalars, [s for s in spaces if s.kernel == i])
        for i, g in enumerate(groups)
        for boxes in _boxes_to_compute(g, needed, sizes)
    )
    far = max((_reach(b) for b in buffers.values()), default=0)
    far = max([far, *(index_reach(s, spans_of(box), sizes) for s, box in computed_stages(pipeline, needed))])
    index_bits = 32 if far < _INT32_REACH else 64
    clears = tuple(
        Clear(buffers[s].number, buffers[s].offset, s.size, s.workspace.clear)
        for s in spaces
        if s.workspace.clear is not None and s.size
    )
    arena = len(inputs) + len(outputs)
    largest = _largest(groups, {key: b for key, b in buffers.items() if b.number == arena})
    return Plan(launches, tuple(copies), tuple(scalars), arena_bytes, index_bits, boxes, clears, largest)


def _largest(groups: Sequence[GroupOp], buffers: Mapping[_BufferKey, _PlannedBuffer]) -> str:
    """Name the function or workspace that takes most of the arena, and the remedy."""
    sizes = {k: k.size if isinstance(k, _Space) else _points(b.box) * _itemsize(k) for k, b in buffers.items()}
    if not sizes:
        return ""
    key = max(sizes, key=lambda k: sizes[k])
    if not isinstance(key, _Space):
        return f"most of it for '{function_name(key)}'"
    group = groups[key.kernel]
    return (
        f"most of it for workspace '{key.workspace.name}' of '{group.output.sym_name.data}', which takes less with "
        f"{model_of(group).smaller_schedule}"
    )


def _workspaces(groups: Sequence[GroupOp], call: Call) -> list[_Space]:
    """Return the workspaces of all kernels of a call."""
    return [_Space(i, w, w.shape(call)) for i, g in enumerate(groups) for w in model_of(g).workspaces(g)]


def _points(box: Box) -> int:
    return prod(n for _, n in box)


def _reach(buffer: _PlannedBuffer) -> int:
    low, high = reach([n for _, n in buffer.box], buffer.strides)
    return max(-low, high, *(max(abs(m), abs(m + n)) for m, n in buffer.box), 0)


def _itemsize(value: SSAValue) -> int:
    assert isinstance(value.type, FuncType)
    return element_bytes(value.type.element)


def _assign_buffers(
    pipeline: PipelineOp,
    groups: Sequence[GroupOp],
    unneeded: Sequence[SSAValue],
    needed: Mapping[SSAValue, Box],
    given: CallArrays,
    spaces: Sequence[_Space],
    hosted: Mapping[SSAValue, SSAValue],
) -> tuple[dict[_BufferKey, _PlannedBuffer], list[CopyOut], int]:
    buffers: dict[_BufferKey, _PlannedBuffer] = {}
    boxes, inputs, outputs, may_host = given
    for number, (op, p) in enumerate(zip(input_ops(pipeline), inputs, strict=True)):
        buffers[op.func] = _PlannedBuffer(number, boxes.inputs[op.sym_name.data], p.strides)
    larger: list[tuple[int, SSAValue, Box]] = []
    buffers_of_hosts: list[HostBuffer] = []
    hosts: list[int] = []
    for number, ((name, func), p) in enumerate(zip(pipeline.return_op.outputs, outputs, strict=True)):
        if needed[func] == boxes.outputs[name] and _has_compiled_strides(func, p):
            root = hosted.get(func, func)
            buffers[func] = buffers[root] = _PlannedBuffer(len(inputs) + number, boxes.outputs[name], p.strides)
            if may_host[number]:
                written = next(i for i, g in enumerate(groups) if root in g.funcs)
                buffers_of_hosts.append(HostBuffer(_dense_bytes(p, _itemsize(func)), written))
                hosts.append(len(inputs) + number)
        else:
            larger.append((number, func, boxes.outputs[name]))
    kept = {func for _, func, _ in larger}
    above = updated_from(groups)
    temporaries = [f for f in (*(f for g in groups for f in g.funcs), *unneeded) if f not in buffers and f not in above]
    lives = [_life(f, groups, f in kept, needed, above) for f in temporaries]
    places, size = place([*lives, *(s.life for s in spaces)], buffers_of_hosts)
    arena = len(inputs) + len(outputs)
    for space, (host, offset) in zip(spaces, places[len(lives) :], strict=True):
        buffers[space] = space.buffer(arena if host is None else hosts[host], offset)
    for f, (host, offset) in zip(temporaries, places, strict=False):
        lead, strides, _ = _storage(needed[f], _itemsize(f))
        buffers[f] = _PlannedBuffer(arena if host is None else hosts[host], needed[f], strides, offset + lead)
    for new, old in above.items():
        # written over the old function, of which it is a part
        buffers[new] = _part(buffers[old], needed[new], _itemsize(new))
    copies = []
    for number, func, box in larger:
        part = _part(buffers[func], box, item := _itemsize(func))
        copies.append(CopyOut(part.offset, part.strides, number, item))
    return buffers, copies, size


def _has_compiled_strides(func: SSAValue, p: Picture) -> bool:
    """Whether a picture has the strides for which kernels are compiled.

    They are a temporary's where others than the output's own kernel were to need more of it: which they may not, once
    it is known which kernels there are.
    """
    return all(f is None or s == f for s, f in zip(p.strides, static_strides(func), strict=True))


def _storage(box: Box, itemsize: int) -> tuple[int, tuple[int, ...], int]:
    """Return the layout of a temporary: bytes before its first element, strides in elements, total bytes.

    Columns that are multiples of 16 bytes lie at such multiples, so that kernels whose boxes begin elsewhere agree.
    """
    lead = box[0][0] % max(1, ALIGNMENT // itemsize) if box else 0
    extents = [n for _, n in box]
    if extents:
        extents[0] += lead
    strides, size = storage_strides(extents, itemsize)
    return lead * itemsize, strides, size


def _dense_bytes(p: Picture, itemsize: int) -> int:
    """Return the bytes of a gapless buffer that begins at its address; 0 for any other."""
    low, high = reach(p.extents, p.strides)
    return (high + 1) * itemsize if low == 0 and high + 1 == prod(p.extents) else 0


def _part(buffer: _PlannedBuffer, box: Box, itemsize: int) -> _PlannedBuffer:
    """Return the part of a buffer that holds a smaller box."""
    pairs = zip(box, buffer.box, buffer.strides, strict=True)
    skip = sum((low - first) * stride for (low, _), (first, _), stride in pairs)
    return _PlannedBuffer(buffer.number, box, buffer.strides, buffer.offset + skip * itemsize)


def updated_from(groups: Sequence[GroupOp]) -> dict[SSAValue, SSAValue]:
    """Map the functions that updates give to the function whose memory each shares; in order."""
    return dict(pair for g in groups for pair in written_over(g))


def updated_in_place(
    pipeline: PipelineOp,
    groups: Sequence[GroupOp],
    needed: Mapping[SSAValue, Box],
    boxes: CallBoxes,
    outputs: Sequence[Picture],
    aligned: Sequence[bool],
) -> dict[SSAValue, SSAValue]:
    """Map each output that updates write in place to the function that they overwrite.

    It lies in the output from the start, if that is as large as all that the updates need, and its rows are contiguous.
    """
    above = updated_from(groups)
    by_result: dict[SSAValue, GroupOp] = {f: g for g in groups for f in g.funcs}
    found: dict[SSAValue, SSAValue] = {}
    for number, (name, func) in enumerate(pipeline.return_op.outputs):
        strides = outputs[number].strides
        if func not in by_result or not aligned[number] or (strides and strides[0] != 1):
            continue
        source = copied(by_result[func])
        family = [source] if source in above else []
        while family and family[-1] in above:
            family.append(above[family[-1]])
        fits = all(needed.get(f) == boxes.outputs[name] for f in [*family, func])
        if family and fits and family[-1] in by_result and family[-1] not in found.values():
            found[func] = family[-1]
    return found


def _life(
    func: SSAValue,
    groups: Sequence[GroupOp],
    kept: bool,
    needed: Mapping[SSAValue, Box],
    above: Mapping[SSAValue, SSAValue],
) -> Lifetime:
    """Return the lifetime of a function's memory, its updates included."""
    family = {func}
    for new, old in above.items():
        if old in family:
            family.add(new)
    users = [
        i
        for i, g in enumerate(groups)
        if family & {*g.funcs} or any(a.value in family for a in kernel_args(g) if a.kind in ("input", "inout"))
    ]
    *_, size = _storage(needed[func], _itemsize(func))
    return Lifetime(size, min(users), len(groups) if kept else max(users))


def _boxes_to_compute(group: GroupOp, needed: Mapping[SSAValue, Box], sizes: CallSizes) -> list[Mapping[SSAValue, Box]]:
    """Return the boxes of a group's functions, for each launch, without points that updates overwrite unread."""
    functions: Sequence[SSAValue] = group.funcs
    full_boxes = {f: needed[f] for f in functions}
    if group.update is not None:
        return [full_boxes]
    left = [unwritten_boxes(f, needed, sizes) for f in functions]
    if not any(left):
        return []
    function, parts, bounds = functions[0], left[0], group.anchor.bounds
    box = needed[function]
    saved = (_points(box) - sum(map(_points, parts))) * _itemsize(function)
    # kernels may be compiled for declared extents, and for rows that begin at multiples of the vector size
    fixed = [d for d in range(len(box)) if d == 0 or (bounds is not None and bounds.data[d] is not None)]
    if (
        len(full_boxes) > 1
        or saved < _SAVED_BYTES * len(parts)
        or any(part[d] != box[d] for part in parts for d in fixed)
        or model_of(group).workspaces(group)
    ):
        return [full_boxes]
    return [{function: part} for part in parts]


def _launch(
    group: GroupOp,
    computed: Mapping[SSAValue, Box],
    buffers: Mapping[_BufferKey, _PlannedBuffer],
    scalars: dict[SSAValue, int],
    spaces: Sequence[_Space],
) -> KernelLaunch:
    words: list[int] = []
    addresses: list[Address] = []
    slots: list[ScalarSlot] = []
    for arg in kernel_args(group):
        if arg.kind == "scalar":
            slots.append(ScalarSlot(len(words), scalars.setdefault(arg.value, len(scalars))))
            words.append(0)
            continue
        buffer = buffers[arg.value]
        if arg.kind == "output":
            buffer = _part(buffer, computed[arg.value], _itemsize(arg.value))
        addresses.append(Address(len(words), buffer.number, buffer.offset))
        words.extend(buffer_words(arg, buffer.box, buffer.strides))
    for space in spaces:
        addresses.append(Address(len(words), buffers[space].number, buffers[space].offset))
        words.extend([0, *(space.shape[d] for d in space.workspace.open_dims)])
    return KernelLaunch(
        kernel_name(group),
        group,
        model_of(group).grid(group, [computed[f] for f in group.funcs]),
        threads(group),
        tuple(words),
        tuple(addresses),
        tuple(slots),
        model_of(group).dynamic_shared(group),
    )


def buffer_words(arg: KernelArg, box: Box, strides: Sequence[int]) -> list[int]:
    """Encode a buffer's arguments: address (0), extents and dynamic strides (NumPy axis order), and the mins from the
    first plane that the kernel reads."""
    fixed = static_strides(arg.value)
    for s, f in zip(strides, fixed, strict=True):
        assert f is None or s == f, f"{arg.value}: compiled for strides {fixed}, called with {strides}"
    extents = [n for _, n in reversed(box)]
    steps = [s for s, f in reversed(list(zip(strides, fixed, strict=True))) if f is None]
    mins = [low - plane for (low, _), plane in zip(box, arg.planes, strict=True)]
    return [v & _WORD for v in (0, *extents, *steps, *mins)]
