"""The list of slow tests names tests that there are."""

from pathlib import Path

TESTS = Path(__file__).parent


def test_each_line_names_a_test():
    lines = [line for line in (TESTS / "slow.txt").read_text().splitlines() if not line.startswith("#")]
    assert len(lines) == len(set(lines))
    for line in lines:
        file, _, test = line.partition("::")
        assert f"def {test.partition('[')[0]}(" in (TESTS.parent / file).read_text(), line
