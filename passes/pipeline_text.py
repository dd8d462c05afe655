"""Parser of pass pipelines, `a,b{x=1 y=2,3}`; every error is one line."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec, ArgSpecConvertible, ParameterListType, parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError
from xdsl.utils.hints import isa, type_repr

from tilefuse.dialects.diagnostics import PipelineError, SourcePosition

_Built = TypeVar("_Built", bound=ArgSpecConvertible)
_LoadedT = TypeVar("_LoadedT")

_WRAPPED = re.compile(r"\s*(?:builtin\.module|any)\s*\((.*)\)\s*", re.DOTALL)

# Quoted text and `mlir-opt[...]` are left alone.
_SPACED = re.compile(r'"(?:\\.|[^"\\])*"|\[[^\]]*\]|\s*([,{}=])\s*')


def parse_passes(
    text: str, available: Mapping[str, Callable[[], type[ModulePass]]], *, source: str = "pass-pipeline"
) -> tuple[ModulePass, ...]:
    """Parse the passes in `text`, in order; `builtin.module(a,b)` means `a,b`.

    `available` maps names to factories, as in a `Universe`. Raises PipelineError, at `source:1:column`, for
    text that does not parse, an unknown pass, and an unknown, missing or ill-typed option.
    """
    text = normalised(text)
    passes = []
    at = 0
    for spec in parse_specs(text, source):
        at = text.index(spec.name, at)
        position = SourcePosition(source, 1, at + 1)
        at += len(spec.name)
        if spec.name not in available:
            raise PipelineError(unknown("pass", spec.name, available), position=position)
        kind = load_row(f"pass '{spec.name}'", available[spec.name], position)
        if kind.name != spec.name:
            raise PipelineError(
                f"pass '{spec.name}' is called '{kind.name}' by its class {kind.__module__}.{kind.__name__}; "
                "give the class and its row among the passes the same name",
                position=position,
            )
        passes.append(instantiate(kind, spec, f"pass '{spec.name}'", position))
    return tuple(passes)


def load_row(what: str, factory: Callable[[], _LoadedT], position: SourcePosition | None = None) -> _LoadedT:
    """Load the object that a row of a `Universe` names; PipelineError if its module lacks it, or fails to import."""
    try:
        return factory()
    except Exception as error:
        raise PipelineError(f"{what} cannot be loaded: {type(error).__name__}: {error}", position=position) from error


def parse_specs(text: str, source: str) -> list[ArgSpec]:
    """Parse names and options in `text`; raises PipelineError at `source:1:column`."""
    try:
        return list(parse_pipeline(text))
    except ArgSpecParseError as error:
        # xDSL gives only text: a heading, `file:line:column`, the line, a caret, the message.
        _, place, *_, message, _ = str(error).split("\n")
        column = int(place.rpartition(":")[2])
        message = message.strip()[0].lower() + message.strip()[1:]
        if message == "unknown token":
            message = f"'{text[column - 1]}' has no meaning here"
        raise PipelineError(message, position=SourcePosition(source, 1, column)) from None


def instantiate(kind: type[_Built], spec: ArgSpec, what: str, position: SourcePosition | None = None) -> _Built:
    """Instantiate the pass or target `kind` with the options in `spec`; `what` names it in messages.

    An integer serves where a float is expected, and a bare name sets a flag. Raises PipelineError.
    """
    types = _types(kind)
    fields = {f.name: f for f in dataclasses.fields(kind) if f.init and f.name != "name"}
    values: dict[str, ParameterListType] = {}
    for name, given in spec.normalize_parameter_names().parameters.items():
        if name not in fields:
            raise PipelineError(
                f"{what} has no option '{name}'{_suggestion(name, fields)}; {_options(kind)}",
                position=position,
            )
        value = _coerced(given, types[name])
        if not _accepts(types[name], value):
            shown = ",".join(map(str, given)) or "nothing"
            raise PipelineError(
                f"option '{name}' of {what} takes {_type_text(types[name])}, not {shown}; {_options(kind)}",
                position=position,
            )
        values[name] = value
    for name in sorted(kind.required_fields() - values.keys() - {"name"}):
        raise PipelineError(f"{what} needs option '{name}'; {_options(kind)}", position=position)
    try:
        return kind.from_spec(ArgSpec(spec.name, values))
    except ValueError as error:
        raise PipelineError(f"{what}: {error}; {_options(kind)}", position=position) from error


def describe_options(kind: type[ArgSpecConvertible]) -> list[str]:
    """Describe each option: `name: type = default`, or `name: type` if it is required."""
    types = _types(kind)
    required = kind.required_fields()
    texts = []
    for field in dataclasses.fields(kind):
        if not field.init or field.name == "name":
            continue
        text = f"{field.name}: {_type_text(types[field.name])}"
        if field.name not in required:
            text += f" = {_shown(_default(field))}"
        texts.append(text)
    return texts


def _types(kind: type) -> dict[str, Any]:
    """Return the type of each option; a literal for fields whose metadata lists `choices`.

    Such are known only when they are looked up: other packages may have added to them.
    """
    types = get_type_hints(kind)
    for field in dataclasses.fields(kind):
        if (choices := field.metadata.get("choices")) is not None:
            types[field.name] = Literal[tuple(choices())]
    return types


def unknown(kind: str, name: str, available: Mapping[str, object]) -> str:
    """Format the error `unknown pass 'til' (did you mean 'tile'?)`."""
    return f"unknown {kind} '{name}'{_suggestion(name, available)}"


def normalised(text: str) -> str:
    """Strip the anchor `builtin.module(...)` and insignificant spaces from `text`."""
    while wrapped := _WRAPPED.fullmatch(text):
        text = wrapped[1]
    return _SPACED.sub(lambda m: m[1] or m[0], text).strip()


def _suggestion(name: str, known: Mapping[str, object]) -> str:
    near = get_close_matches(name, list(known), n=3)
    return " (did you mean " + " or ".join(f"'{n}'" for n in near) + "?)" if near else ""


def _options(kind: type[ArgSpecConvertible]) -> str:
    options = describe_options(kind)
    return "its options are " + ", ".join(options) if options else "it takes no options"


def _accepts(type: Any, value: ParameterListType) -> bool:
    if not value:
        return NoneType in get_args(type) or isa(value, type)
    return (len(value) == 1 and isa(value[0], type)) or isa(value, type)


def _type_text(type: Any) -> str:
    """Format a type: `int`, `tuple[int, ...]`, `float | none`, `greedy | dp`."""
    if get_origin(type) is Literal:
        return " | ".join(map(str, get_args(type)))
    if get_origin(type) in (Union, UnionType):
        return " | ".join(map(_type_text, get_args(type)))
    return "none" if type is NoneType else type_repr(type)


def _leaf_types(type: Any) -> set[Any]:
    """Return the scalar types inside unions, tuples and literals."""
    if get_origin(type) is Literal:
        return {value.__class__ for value in get_args(type)}
    if get_origin(type) in (Union, UnionType, tuple):
        return set().union(*(_leaf_types(arg) for arg in get_args(type)))
    return {type}


def _coerced(value: ParameterListType, type: Any) -> ParameterListType:
    leaves = _leaf_types(type)
    if not value and bool in leaves:
        return (True,)
    if float in leaves and int not in leaves:
        return tuple(_as_float(v) for v in value)
    return value


def _as_float(value: Any) -> Any:
    # `1e-3` has no point, so xDSL reads it as a name.
    try:
        return value if isinstance(value, bool) else float(value)
    except ValueError:
        return value


def _default(field: dataclasses.Field[Any]) -> object:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return None if field.default is dataclasses.MISSING else field.default


def _shown(value: object) -> str:
    match value:
        case bool() | None:
            return str(value).lower()
        case tuple() | list():
            return ",".join(map(_shown, value)) or "()"
        case _:
            return str(value)
