"""Serialization of pipelines, as IR in bytes or in a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute
from xdsl.printer import Printer

from tilefuse.dialects.img.ops import InputOp, ParamOp, PipelineOp
from tilefuse.dialects.img.types import FuncType
from tilefuse.frontend.build import DEFAULT_ATTRIBUTE, LAYOUT_ATTRIBUTE
from tilefuse.frontend.errors import fail
from tilefuse.frontend.inputs import Image, ImageParam, Param
from tilefuse.frontend.runnable import Runnable
from tilefuse.frontend.types import Type, type_of_element

Parameters = dict[str, ImageParam | Param]


class SavedPipeline(Runnable):
    """A deserialized pipeline: compiled and run like the original."""

    def __init__(self, module: ModuleOp, given: Mapping[str, Any]):
        super().__init__()
        self._module = module
        found = _parameters(module)
        if unknown := [name for name in given if name not in found]:
            fail(f"the pipeline has no ImageParam or Param '{unknown[0]}'; there are {', '.join(found) or 'none'}")
        self._parameters = found | dict(given)

    def inputs(self) -> tuple[list[Image[Any]], list[Param]]:
        found = self._parameters.values()
        return [p for p in found if isinstance(p, ImageParam)], [p for p in found if isinstance(p, Param)]

    def output_types(self) -> dict[str, tuple[Type, int]]:
        found = {}
        for name, func in _pipeline(self._module).return_op.outputs:
            assert isinstance(func.type, FuncType)
            found[name] = (type_of_element(func.type.element), func.type.rank.data)
        return found

    def to_module(self, name: str | None = None, *, layouts: Mapping[str, str] | None = None) -> ModuleOp:
        """Return the IR as it was saved."""
        module = self._module.clone()
        pipeline = _pipeline(module)
        if name is not None:
            pipeline.sym_name = StringAttr(name)
        for op in pipeline.body.block.ops:
            if isinstance(op, InputOp) and layouts and (layout := layouts.get(op.sym_name.data)):
                op.attributes[LAYOUT_ATTRIBUTE] = StringAttr(layout)
        return module


def serialize_pipeline(
    pipeline: Runnable, filename: str | os.PathLike[str] | None = None, get_params: bool = False
) -> Any:
    """Serialize a pipeline to bytes or a file; with `get_params` also return its ImageParams and Params by name."""
    text = StringIO()
    Printer(text, print_generic_format=True, print_debuginfo=True).print_op(pipeline.to_module())
    data = text.getvalue().encode()
    images, params = pipeline.inputs()
    if any(not isinstance(image, ImageParam) for image in images):
        fail("a pipeline that reads Buffers cannot be saved, for their values are not part of it; use an ImageParam")
    found: dict[str, Any] = {image.name(): image for image in images} | {param.name(): param for param in params}
    if filename is None:
        return (data, found) if get_params else data
    Path(filename).write_bytes(data)
    return found if get_params else None


def deserialize_pipeline(
    source: bytes | str | os.PathLike[str], user_params: Mapping[str, Any] | None = None
) -> SavedPipeline:
    """Read a pipeline from a file or bytes; `user_params`: ImageParams and Params that replace its own, by name."""
    return SavedPipeline(_read(source), user_params or {})


def deserialize_parameters(source: bytes | str | os.PathLike[str]) -> Parameters:
    """Read the ImageParams and Params of a pipeline in a file or bytes, by name."""
    return _parameters(_read(source))


def _read(source: bytes | str | os.PathLike[str]) -> ModuleOp:
    from tilefuse.dialects.parsing import parse_module

    data = source if isinstance(source, bytes) else Path(source).read_bytes()
    return parse_module(data.decode(), "<bytes>" if isinstance(source, bytes) else os.fsdecode(source))


def _pipeline(module: ModuleOp) -> PipelineOp:
    found = [op for op in module.body.block.ops if isinstance(op, PipelineOp)]
    if len(found) != 1:
        fail(f"one pipeline is read back, and there are {len(found)}")
    return found[0]


def _parameters(module: ModuleOp) -> Parameters:
    found: Parameters = {}
    for op in _pipeline(module).body.block.ops:
        match op:
            case InputOp():
                type = op.func.type
                assert isinstance(type, FuncType)
                layout = op.attributes.get(LAYOUT_ATTRIBUTE)
                image = ImageParam(
                    type_of_element(type.element),
                    type.rank.data,
                    op.sym_name.data,
                    layout.data if isinstance(layout, StringAttr) else "auto",
                )
                image.bounds = list(op.bounds.data) if op.bounds is not None else image.bounds
                image.estimates = list(op.estimate.data) if op.estimate is not None else image.estimates
                found[op.sym_name.data] = image
            case ParamOp():
                kind = type_of_element(op.element)
                found[op.sym_name.data] = Param(kind, op.sym_name.data, _number(op.attributes.get(DEFAULT_ATTRIBUTE)))
    return found


def _number(default: Attribute | None) -> int | float | None:
    return default.value.data if isinstance(default, IntegerAttr | FloatAttr) else None


__all__ = ["deserialize_parameters", "deserialize_pipeline", "serialize_pipeline"]
