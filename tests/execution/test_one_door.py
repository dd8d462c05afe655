"""Nothing outside the folder of an execution model names it: passes and the runtime go through the registry."""

import ast
from pathlib import Path

from tilefuse.execution.registry import _MODELS, models

ROOT = Path(__file__).parents[2]
ROOMS = [link.name for link in (ROOT / "tilefuse").iterdir() if link.is_symlink() and link.name != "examples"]

MAY_NAME = {
    "analysis/updates.py": "kinds of axes, and of writes, after which models are called",
    "execution/registry.py": "the one table",
    "tools/calibration/drawn.py": "kinds of measured schedules, as files of measurements have them",
    "tools/calibration/fitting.py": "fits the constants of warp tiles",
}


def _said(tree):
    """Names, modules and texts of a module's code, without its docstrings."""
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                child.value.value = None
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=text) | ast.Attribute(attr=text) | ast.Constant(value=str(text)) | ast.alias(name=text):
                yield text
            case ast.ImportFrom(module=str(text)) | ast.ClassDef(name=text) | ast.FunctionDef(name=text):
                yield text


def _names(text, model, kind):
    """Whether a name, module or text names a model. Of a name that is a word of its own only what says more does."""
    if "_" in model:
        return model in text or kind in text
    return text == model or f"execution.{model}" in text or f"schedule.{model}" in text


def _namers():
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            name = path.relative_to(ROOT).as_posix()
            if any(name.startswith(f"execution/{model}/") for model in _MODELS):
                continue
            said = list(_said(ast.parse(path.read_text())))
            if any(_names(text, model, kind) for text in said for model, (_, kind) in _MODELS.items()):
                yield name


def test_nothing_outside_names_a_model():
    assert set(_namers()) == set(MAY_NAME)


def test_models_have_the_names_of_their_rows_and_folders():
    assert [m.name for m in models()] == list(_MODELS)
    assert all((ROOT / "execution" / name / "model.py").exists() for name in _MODELS)
