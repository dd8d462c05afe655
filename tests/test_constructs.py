"""Every op and attribute of our dialects is parsed and printed again in a lit test, is refused in another where it is
not valid, with the line of the mistake, and has its place in docs/."""

import re
from pathlib import Path

import pytest

from tilefuse.dialects.img import IMG
from tilefuse.dialects.warp import WARP
from tilefuse.execution.registry import schedule_dialect

ROOT = Path(__file__).parent.parent
LIT = sorted((ROOT / "lit_tests/dialects").rglob("*.mlir"))
TEXTS = {
    "round trips": [path for path in LIT if "invalid" not in path.name],
    "mistakes": [path for path in LIT if "invalid" in path.name],
    "docs": sorted((ROOT / "docs").glob("*.md")),
}
WRITTEN = {"img.boundary_kind": "repeat_edge"}
"""Words for names that are not written out."""
NAMES = [
    *(op.name for dialect in (IMG, WARP) for op in dialect.operations),
    *(attribute.name for dialect in (IMG, WARP, schedule_dialect()) for attribute in dialect.attributes),
]


@pytest.mark.parametrize("where", TEXTS)
def test_each_is_there(where):
    text = "\n".join(path.read_text() for path in TEXTS[where])
    if where == "docs":  # a schedule goes by the name of its execution model there
        text = text.replace("`", " schedule.")
    missing = [name for name in NAMES if not re.search(rf"{re.escape(WRITTEN.get(name, name))}\b", text)]
    assert missing == []


def test_round_trips_and_mistakes_are_run_as_such():
    """The former are parsed, printed and parsed again; of the latter each names the line of the error."""
    assert all("// RUN: TILEFUSE_ROUNDTRIP" in path.read_text() for path in TEXTS["round trips"])
    assert all("// RUN: TILEFUSE_INVALID" in path.read_text() for path in TEXTS["mistakes"])
    assert all("expected-error" in path.read_text() for path in TEXTS["mistakes"])
