"""The list of slow tests names tests that there are, and is the one place that makes a test slow."""

from pathlib import Path

TESTS = Path(__file__).parent
MARK = "mark." + "slow"


def test_each_line_names_a_file_or_a_test():
    lines = [line for line in (TESTS / "slow.txt").read_text().splitlines() if not line.startswith("#")]
    assert lines == sorted(set(lines))
    for line in lines:
        file, _, test = line.partition("::")
        text = (TESTS.parent / file).read_text()
        assert not test or f"def {test.partition('[')[0]}(" in text, line


def test_nothing_else_marks_a_test():
    assert [str(p) for p in TESTS.rglob("*.py") if p.name != "conftest.py" and MARK in p.read_text()] == []
