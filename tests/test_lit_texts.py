"""Lit tests must say what they mean, and cover each op, attribute, type, pass and target."""

import importlib.util
from pathlib import Path

import pytest

from tilefuse.universe import UNIVERSE

_spec = importlib.util.spec_from_file_location("lit_text", Path(__file__).with_name("lit_text.py"))
lit_text = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(lit_text)

LIT_TESTS = Path(__file__).parent.parent / "lit_tests"
TEXTS = {
    str(path.relative_to(LIT_TESTS)): path.read_text()
    for path in sorted(LIT_TESTS.rglob("*"))
    if path.suffix in (".mlir", ".test") and "Inputs" not in path.parts
}
DIALECT_NAMES = sorted(
    kind.name
    for dialect in (factory() for factory in UNIVERSE.all_dialects.values())
    for kind in (*dialect.operations, *dialect.attributes)
)


@pytest.mark.parametrize("name", TEXTS)
def test_directives_are_spelt_right(name):
    text = TEXTS[name].replace("\nCHECK", "\n// CHECK") if name.endswith(".test") else TEXTS[name]
    assert lit_text.misspelt_directives(text) == []
    if name.endswith(".mlir"):
        assert lit_text.unused_prefixes(text) == set()


@pytest.mark.parametrize(
    "line",
    [
        "// CHEKC: x",
        "// CHECK-NXT: x",
        "// CHECK-NEXT x",
        "// CHECK : x",
        "//CHECK-LABLE: x",
        "// CHECKNEXT: x",
        "// OTHER: x",
        "// ODD-NOTE: x",
        "// expect-error @below {{x}}",
        "// expected-eror @below {{x}}",
        "// expected-error @bellow {{x}}",
        '"test.op"() : () -> () // expected-err {{x}}',
    ],
)
def test_misspelt_directives_are_seen(line):
    run = "// RUN: pipeline-opt %s | filecheck %s\n// RUN: pipeline-opt %s | filecheck %s --check-prefix=ODD\n"
    fine = "// CHECK-LABEL: a\n// ODD-NOT: b\n// Words: not one.\n// expected-error @+1 {{c}}\n"
    assert lit_text.misspelt_directives(run + fine) == []
    assert lit_text.misspelt_directives(run + fine + line) == [line]


def test_unused_prefixes_are_seen():
    run = "// RUN: pipeline-opt %s | filecheck %s --check-prefixes=A,B\n// A: x\n"
    assert lit_text.unused_prefixes(run) == {"B"}


def _written_as(name: str) -> str:
    # `#img<boundary_kind repeat_edge>`: attributes that print their name apart from their dialect's.
    apart = ("img.boundary_kind", "nvvm.grid_dep_action")
    return name.replace(".", "<") if name in apart else name


@pytest.mark.parametrize("name", DIALECT_NAMES)
def test_every_op_attribute_and_type_has_a_valid_and_an_invalid_text(name):
    valid = [t for n, t in TEXTS.items() if "ROUNDTRIP" in t]
    invalid = [t for n, t in TEXTS.items() if "TILEFUSE_INVALID" in t]
    assert any(_written_as(name) in text for text in valid)
    assert any(_written_as(name) in text for text in invalid)


@pytest.mark.parametrize("name", sorted(UNIVERSE.all_passes))
def test_every_pass_is_run_by_a_lit_test(name):
    runs = [line for text in TEXTS.values() for line in text.split("\n") if "RUN:" in line]
    assert any(name in line for line in runs)


@pytest.mark.parametrize("name", sorted(UNIVERSE.all_targets))
def test_every_target_is_printed_by_a_lit_test(name):
    runs = [line for text in TEXTS.values() for line in text.split("\n") if "RUN:" in line]
    assert any(f"-t {name}" in line or f"-t '{name}" in line for line in runs)
