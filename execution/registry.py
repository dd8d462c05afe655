"""Lookup of execution models: models of the table, and models that other packages announce.

A model of tilefuse's is a row in `execution/rows.py`; one from outside is an entry point of the group
`tilefuse.execution_models`, whose name is the model's and whose object is the class. Nothing outside a model's folder
names a model.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from xdsl.ir import Dialect

from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.schedule import DIALECT
from tilefuse.execution.rows import MODELS

if TYPE_CHECKING:
    from tilefuse.dialects.img.ops import GroupOp
    from tilefuse.execution.base import ExecutionModel

ENTRY_POINTS = "tilefuse.execution_models"


class UnknownModel(ValueError):
    """Error: no execution model has this name; the message lists the names."""


def model_named(name: str) -> ExecutionModel:
    """Return the model of a name. Raises UnknownModel."""
    if name in MODELS:
        return _own(name)
    found = _from_outside()
    if name not in found:
        raise UnknownModel(f"no execution model is called '{name}'; there are {', '.join(names())}")
    return found[name]


def model_of(group: GroupOp) -> ExecutionModel:
    """Return the execution model of a scheduled group. Raises PipelineError if it cannot run the group."""
    assert group.schedule is not None
    try:
        model = model_named(group.schedule.model)
    except UnknownModel as error:
        raise PipelineError(f"group '{group.sym_name.data}': {error}", group) from error
    if not isinstance(group.output, model.runs):
        others = [m.name for m in models() if isinstance(group.output, m.runs)]
        kind, name = group.output.name.removeprefix("img."), group.output.sym_name.data
        raise PipelineError(
            f"group '{group.sym_name.data}': {model.name} cannot run {kind} '{name}'; {' or '.join(others)} can",
            group,
        )
    stored, beside = ([s.sym_name.data for s in stages] for stages in (group.stored, group.fused_stages))
    reason = (
        model.why_not_stored(stored)
        or model.why_not_fused(beside, steps=bool(group.steps))
        or model.why_not_updates([update.sym_name.data for update in group.earlier_updates])
    )
    if reason is not None:
        raise PipelineError(f"group '{group.sym_name.data}': {reason}", group)
    return model


def schedule_dialect() -> Dialect:
    """Return the dialect of schedules: an attribute per model. Raises PipelineError for a broken announcement."""
    try:
        return Dialect(DIALECT, [], [m.schedule for m in models()])
    except UnknownModel as error:
        raise PipelineError(str(error)) from error


def names() -> list[str]:
    """Return the names of all models."""
    return [*MODELS, *_from_outside()]


def models(name: str | None = None) -> list[ExecutionModel]:
    """Return all models, in order of preference, or the one with a name."""
    return [model_named(n) for n in (names() if name is None else (name,))]


@cache
def _own(name: str) -> ExecutionModel:
    module, kind = MODELS[name]
    model: ExecutionModel = getattr(import_module(f"tilefuse.execution.{module}"), kind)()
    assert model.name == name
    return model


@cache
def _from_outside() -> dict[str, ExecutionModel]:
    if not _any_announced():
        return {}
    from importlib.metadata import entry_points

    found = {}
    for entry in entry_points(group=ENTRY_POINTS):
        kind = entry.load()
        if entry.name in MODELS or kind.name != entry.name:
            raise UnknownModel(
                f"the entry point '{entry.name}' of {ENTRY_POINTS} is a model called '{kind.name}'; give it that name, "
                f"and none of {', '.join(MODELS)}"
            )
        found[entry.name] = kind()
    return found


def _any_announced() -> bool:
    """Whether an installed package may announce a model: only then importlib.metadata, which takes 20 ms, is loaded."""
    for folder in sys.path:
        for pattern in ("*.dist-info/entry_points.txt", "*.egg-info/entry_points.txt"):
            for file in Path(folder or ".").glob(pattern):
                if ENTRY_POINTS in file.read_text(errors="replace"):
                    return True
    return False
