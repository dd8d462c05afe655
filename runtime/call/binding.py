"""Argument binding of a call: inputs in order, parameters, and the requested sizes of outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from xdsl.dialects.builtin import FloatAttr, IntegerAttr

from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.elements import ELEMENTS
from tilefuse.dialects.img.ops import InputOp, ParamOp, PipelineOp
from tilefuse.dialects.img.types import FuncType, ui64
from tilefuse.runtime.arrays.kinds import ArrayView, Device, device_name
from tilefuse.runtime.arrays.layouts import Picture
from tilefuse.runtime.call.boxes import input_ops, rank_of
from tilefuse.runtime.call.scalars import Scalar, checked
from tilefuse.runtime.errors import CallError, CallTypeError

RESERVED = ("out", "sizes", "mins", "stream")
"""Keywords of a call that no input or parameter may have as its name."""

DEFAULT_NUMBER = "img.default"
"""Discardable attribute of `img.param`: the number it has if a call gives none."""


class Slot:
    """An input or output, and the arrays that it accepts."""

    def __init__(self, role: str, name: str, func_type: Any):
        assert isinstance(func_type, FuncType)
        self.name = name
        self.what = f"{role} '{name}'"
        self.rank = rank_of(func_type)
        self.element = func_type.element
        facts = ELEMENTS[self.element]
        self.dtype, self.itemsize = facts.dtype, facts.bytes

    def check(self, view: ArrayView) -> None:
        """Raise CallError unless the array's dtype, rank and memory fit."""
        if view.dtype != self.dtype:
            raise CallTypeError(f"{self.what} takes {self.dtype}, not {view.dtype}; convert it first")
        if len(view.shape) != self.rank:
            raise CallError(f"{self.what} takes {self.rank} dimensions, not {len(view.shape)} {view.shape}")
        used = [s for s, n in zip(view.strides, view.shape, strict=True) if n > 1]
        if any(v % self.itemsize for v in (view.pointer, *used)):
            raise CallError(
                f"{self.what}: its elements do not lie at multiples of their {self.itemsize} bytes (address "
                f"{view.pointer:#x}, strides {view.strides}); copy it to an aligned array first"
            )


class Signature:
    """Call signature of a pipeline: inputs, parameters and outputs."""

    def __init__(self, pipeline: PipelineOp):
        self.inputs = [Slot("input", op.sym_name.data, op.func.type) for op in input_ops(pipeline)]
        self.outputs = [Slot("output", name, f.type) for name, f in pipeline.return_op.outputs]
        self.params = {op.sym_name.data: op for op in pipeline.body.block.ops if isinstance(op, ParamOp)}
        self.defaults = {name: _default(op) for name, op in self.params.items() if DEFAULT_NUMBER in op.attributes}
        self._input_names = [slot.name for slot in self.inputs]
        named: list[InputOp | ParamOp] = [*input_ops(pipeline), *self.params.values()]
        for op in named:
            if op.sym_name.data in RESERVED:
                raise PipelineError(
                    f"'{op.sym_name.data}' is a keyword of a call ({', '.join(RESERVED)}); rename it", op
                )

    def __str__(self) -> str:
        """Format as a Python signature: `(photo: uint8 2d, gain: f32 = 2.0) -> blurred: float32 2d`."""
        takes = [f"{slot.name}: {slot.dtype} {slot.rank}d" for slot in self.inputs]
        for name, op in self.params.items():
            value = f" = {self.defaults[name]}" if name in self.defaults else ""
            takes.append(f"{name}: {op.element}{value}")
        gives = [f"{slot.name}: {slot.dtype} {slot.rank}d" for slot in self.outputs]
        return f"({', '.join(takes)}) -> {', '.join(gives)}"

    def bind(self, arrays: tuple[Any, ...], named: dict[str, Any]) -> tuple[Sequence[Any], dict[str, Scalar]]:
        """Bind a call's arguments: return the inputs in order, and the parameters in their types."""
        if not named and len(arrays) == len(self.inputs) and not self.params:
            return arrays, {}
        if len(arrays) > len(self.inputs):
            raise CallTypeError(
                f"{_counted(len(arrays), 'array')} given, but there {_are(len(self.inputs), 'input')} "
                f"({_listed(self._input_names)}); the array of an output goes into out="
            )
        bound = dict(zip(self._input_names, arrays, strict=False))
        params: dict[str, Scalar] = dict(self.defaults)
        for name, value in named.items():
            if name in self.params:
                params[name] = checked(self.params[name], value)
            elif name not in self._input_names:
                known = [*self._input_names, *self.params, *RESERVED]
                raise CallTypeError(f"no input or param is called '{name}'; there are {_listed(known)}")
            elif name in bound:
                raise CallTypeError(f"input '{name}' is given twice, by position and by name")
            else:
                bound[name] = value
        missing = [n for n in self._input_names if n not in bound]
        if missing:
            if len(missing) == 1:
                raise CallTypeError(f"input {_listed(missing)} is missing: pass an array for it")
            raise CallTypeError(f"inputs {_listed(missing)} are missing: pass an array for each")
        missing = [n for n in self.params if n not in params]
        if missing:
            said = f"param {_listed(missing)} is" if len(missing) == 1 else f"params {_listed(missing)} are"
            raise CallTypeError(f"{said} missing: pass {', '.join(f'{n}=...' for n in missing)}")
        return [bound[n] for n in self._input_names], params

    def per_output(self, value: Any, keyword: str) -> dict[str, Any]:
        """Normalise `out=` or `sizes=` to a dict by output name; it may be a single value, a list or a dict."""
        names = [slot.name for slot in self.outputs]
        if value is None:
            return {}
        if isinstance(value, Mapping):
            unknown = [n for n in value if n not in names]
            if unknown:
                raise CallTypeError(f"{keyword}=: no output is called '{unknown[0]}'; there are {_listed(names)}")
            return {n: v for n, v in value.items() if v is not None}
        if not isinstance(value, tuple | list):
            value = [value]
        if len(value) != len(names):
            raise CallTypeError(
                f"{keyword}= gives {len(value)}, but there {_are(len(names), 'output')}: {_listed(names)}"
            )
        return {n: v for n, v in zip(names, value, strict=True) if v is not None}

    def sizes(self, value: Any) -> dict[str, tuple[int, ...]]:
        """Normalise `sizes=` to a dict by output name, extents x first. A plain tuple applies to every output."""
        if isinstance(value, tuple | list) and all(isinstance(v, Real) for v in value):
            value = {slot.name: value for slot in self.outputs}
        return {n: _integers(v, f"sizes= of '{n}'") for n, v in self.per_output(value, "sizes").items()}

    def mins(self, value: Any) -> dict[str, tuple[int, ...]]:
        """Normalise `mins=` to a dict by the name of an input or output, x first."""
        if value is None:
            return {}
        known = [*self._input_names, *(slot.name for slot in self.outputs)]
        if not isinstance(value, Mapping):
            raise CallTypeError(f"mins= takes a dict by name of {_listed(known)}, as in {{'{known[0]}': (0, 0)}}")
        for name in value:
            if name not in known:
                raise CallTypeError(f"mins=: no input or output is called '{name}'; there are {_listed(known)}")
        return {n: _integers(v, f"mins= of '{n}'") for n, v in value.items()}


def _default(op: ParamOp) -> Scalar:
    attribute = op.attributes[DEFAULT_NUMBER]
    if not isinstance(attribute, IntegerAttr | FloatAttr):
        raise PipelineError(f"param '{op.sym_name.data}': {DEFAULT_NUMBER} is a number, not {attribute}", op)
    number = attribute.value.data
    if op.element == ui64 and isinstance(number, int):
        number %= 1 << 64  # an attribute of 64 bits has no sign
    try:
        return checked(op, number)
    except CallError as error:
        raise PipelineError(f"{DEFAULT_NUMBER}: {error}", op) from None


def _is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _integers(value: Any, what: str) -> tuple[int, ...]:
    if not isinstance(value, tuple | list) or not all(_is_integer(v) for v in value):
        raise CallTypeError(f"{what} takes a tuple of integers, x first, not {value!r}")
    return tuple(int(v) for v in value)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _are(count: int, what: str) -> str:
    return f"{'is' if count == 1 else 'are'} {_counted(count, what)}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{n}'" for n in names) or "none"


def check_devices(views: Sequence[ArrayView], slots: Sequence[Slot], kind: str, target: str, device: Device) -> None:
    """Raise CallError unless all arrays are on `device`; `kind` is the target's device kind: cpu or cuda."""
    for view, slot in zip(views, slots, strict=True):
        if view.device[0] != kind:
            copy = "cupy.asarray(...)" if kind == "cuda" else "cupy.asnumpy(...) or tensor.cpu()"
            other = "target='cuda'" if kind == "cpu" else "target='cpu'"
            raise CallError(
                f"{slot.what} is on {device_name(view.device)}, but the program is compiled for {target}; "
                f"copy it ({copy}), or compile with {other}"
            )
        if view.device != device:
            raise CallError(
                f"{slot.what} is on {device_name(view.device)} and {slots[0].what} on {device_name(device)}; "
                "all arrays of a call must be on one device"
            )


def check_output(slot: Slot, view: ArrayView, p: Picture) -> None:
    """Raise CallError unless the caller's output array is writable, with one address per element."""
    if not view.writable:
        raise CallError(f"{slot.what}: the array given as out= is read-only")
    steps = sorted((abs(s), n) for s, n in zip(p.strides, p.extents, strict=True) if n > 1)
    covered = 0
    for step, n in steps:
        if step <= covered:
            raise CallError(
                f"{slot.what}: elements of the array given as out= share memory (strides {view.strides}); "
                "give an array of its own"
            )
        covered += step * (n - 1)


def check_overlaps(signature: Signature, inputs: Sequence[ArrayView], given: Mapping[str, ArrayView]) -> None:
    """Raise CallError if a given output shares memory with an input or another output."""
    items = {slot.name: slot.itemsize for slot in signature.outputs}
    others = [(slot.what, v, slot.itemsize) for slot, v in zip(signature.inputs, inputs, strict=True)]
    for name, v in given.items():
        for what, other, itemsize in others:
            if overlaps(v, other, items[name], itemsize):
                raise CallError(f"output '{name}': the array given as out= shares memory with {what}")
        others.append((f"output '{name}'", v, items[name]))


def overlaps(a: ArrayView, b: ArrayView, a_item: int, b_item: int) -> bool:
    """Whether two arrays on one device share a byte."""
    if a.device != b.device:
        return False
    (a0, a1), (b0, b1) = _byte_range(a, a_item), _byte_range(b, b_item)
    if a0 >= b1 or b0 >= a1:
        return False
    try:
        return bool(np.shares_memory(_as_numpy(a, a_item), _as_numpy(b, b_item), max_work=10**6))  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def span(view: ArrayView, itemsize: int) -> tuple[int, int]:
    """Return the bytes from an array's address to its lowest byte and past its highest; (0, 0) if it is empty."""
    if 0 in view.shape:
        return 0, 0
    steps = [(n - 1) * s for n, s in zip(view.shape, view.strides, strict=True)]
    return sum(s for s in steps if s < 0), sum(s for s in steps if s > 0) + itemsize


def _byte_range(v: ArrayView, itemsize: int) -> tuple[int, int]:
    low, high = span(v, itemsize)
    return v.pointer + low, v.pointer + high


class _Addresses:
    """Address ranges for NumPy's overlap test; the memory, perhaps a GPU's, is never touched."""

    def __init__(self, v: ArrayView, itemsize: int):
        self.__array_interface__ = {
            "data": (v.pointer, True),
            "shape": v.shape,
            "strides": v.strides,
            "typestr": f"|V{itemsize}",
            "version": 3,
        }


def _as_numpy(v: ArrayView, itemsize: int) -> np.ndarray:
    return np.asarray(_Addresses(v, itemsize))
