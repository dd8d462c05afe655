"""The gallery shows every example, and is small enough to be cloned."""

import re

from _all import EXAMPLES
from _run import HERE

DOCS = HERE.parent / "docs"


def test_every_example_is_there_with_both_pictures():
    page = (DOCS / "gallery.md").read_text()
    shown = re.findall(r"\(gallery/([\w-]+\.jpg)\)", page)
    assert shown == [f"{name}-{what}.jpg" for name in EXAMPLES for what in ("in", "out")], (
        "run `python benchmarks/gallery.py`"
    )
    sizes = {path.name: path.stat().st_size for path in (DOCS / "gallery").iterdir()}
    assert sorted(sizes) == sorted(shown)
    assert sum(sizes.values()) < 1_500_000
