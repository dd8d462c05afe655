"""Nothing outside the folder of an execution model names it: passes and the runtime go through the registry."""

import ast
import re
from pathlib import Path

import pytest

from tilefuse.execution.registry import models
from tilefuse.execution.rows import MODELS

ROOT = Path(__file__).parents[2]
ROOMS = [link.name for link in (ROOT / "tilefuse").iterdir() if link.is_symlink() and link.name != "examples"]

MAY_NAME = {
    "analysis/updates.py": "kinds of axes, and of writes, after which models are called",
    "execution/rows.py": "the one table",
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
    """Yield the modules that name models, the package's own modules and the other models' folders among them."""
    for path in [*(p for room in ROOMS for p in (ROOT / room).rglob("*.py")), *(ROOT / "tilefuse").glob("*.py")]:
        name = path.relative_to(ROOT).as_posix()
        others = {m: kind for m, (_, kind) in MODELS.items() if not name.startswith(f"execution/{m}/")}
        said = list(_said(ast.parse(path.read_text())))
        if named := [m for m, kind in others.items() if any(_names(text, m, kind) for text in said)]:
            yield name, named


def test_nothing_outside_names_a_model():
    found = dict(_namers())
    assert {name: models for name, models in found.items() if name not in MAY_NAME} == {}
    assert set(MAY_NAME) <= set(found), "no reason is needed any more"


def test_predict_alone_makes_a_time_of_features():
    paths = (path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
    assert [p.relative_to(ROOT).as_posix() for p in paths if ".analytical(" in p.read_text()] == [
        "execution/features.py"
    ]


MAY_COUNT_TIME = {
    "analysis/machine.py": "the rates; and the time of stages before there are kernels",
    "execution/features.py": "predict, and the roofline that features of all models begin with",
}
"""Files outside of the models' folders that divide by a machine's rates, each with its reason."""


def test_nothing_outside_of_features_divides_by_rates():
    rate = re.compile(r"\.(bytes|instructions)_per_us")
    paths = (path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
    names = [p.relative_to(ROOT).as_posix() for p in paths if rate.search(p.read_text())]
    outside = [n for n in names if n.count("/") < 2 or not n.startswith("execution/")]
    assert [n for n in sorted(outside) if not n.startswith("tools/calibration/")] == sorted(MAY_COUNT_TIME)


def test_models_have_the_names_of_their_rows_and_folders():
    assert [m.name for m in models()] == list(MODELS)
    assert all((ROOT / "execution" / name / "model.py").exists() for name in MODELS)


OPTIMISATIONS = {
    # Prefetched cache lines: operations like any other outside of the folder, which passes and printers know by class.
    r"prefetch(?!er)": {
        "dialects/warp/__init__.py", "dialects/warp/prefetch.py", "dialects/memref.py", "dialects/memref_prefetch.py",
        "lowering/printers/c_family.py", "lowering/printers/c.py", "lowering/printers/cuda.py",
        "lowering/printers/memory.py", "passes/chain_kernels.py",
        "lowering/symbols.py",  # roles of functions
        "frontend/schedule.py",  # Func.prefetch of Halide
        # Of the writes of updates on CPUs, with an op of its own.
        "lowering/prefetch.py", "lowering/update_ends.py", "execution/in_order/attribute.py",
        "execution/in_order/emission.py", "execution/in_order/model.py", "execution/scan/attribute.py",
        "execution/scan/emission.py", "execution/scan/model.py", "execution/scan/strip.py",
        "execution/scan/transposed.py",
    },
    # Two points in a register: in the layout of a tile.
    r"subword|pair_stride|pair_cost|pair_instruction": {
        "dialects/warp/layout.py", "dialects/warp/ops.py", "execution/rows.py",
    },
    r"vector_root": set(),
    r"x_edge": {"dialects/warp/memory.py"},
}  # fmt: skip
"""Optimisations of warp tiles by what names them, each with the files outside of the folder that may name it."""


@pytest.mark.parametrize("word", OPTIMISATIONS)
def test_an_optimisation_of_warp_tiles_is_invisible_elsewhere(word):
    found = set()
    for path in (path for room in ROOMS for path in (ROOT / room).rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith("execution/warp_tile/") and re.search(word, path.read_text(), re.IGNORECASE):
            found.add(name)
    assert found == OPTIMISATIONS[word]


PACKING = {"pack_subwords", "pair_costs", "pairs", "subwords"}
"""Files of warp tiles that are for packing alone."""


def test_few_files_of_warp_tiles_import_packing():
    """The pass is in the model's list; the search counts what it will pack; registers hold pairs."""
    found = set()
    for path in (ROOT / "execution" / "warp_tile").glob("*.py"):
        imports = re.findall(r"from tilefuse\.execution\.warp_tile(?:\.(\w+))? import (\w+)", path.read_text())
        if path.stem not in PACKING and PACKING & {module or name for module, name in imports}:
            found.add(path.stem)
    assert found == {"model", "counts", "layout", "registers", "register_body"}
