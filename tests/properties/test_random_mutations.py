"""IR text with mistakes in it ends with errors at their lines, or does what it says: never in a defect of the tool."""

from collections import Counter

from random_mutations import check


def test_mutated_texts():
    counts = Counter()
    for seed in range(150):
        counts.update(check(seed))
    assert counts["taken"]  # about one in thirty
    assert counts["refused"]
