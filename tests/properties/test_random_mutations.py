"""IR text with mistakes in it ends with errors at their lines, or does what it says: never in a defect of the tool."""

from collections import Counter

import pytest
from random_mutations import check


@pytest.mark.sweep
@pytest.mark.parametrize("block", range(2))
def test_mutated_texts(block):
    counts = Counter()
    for seed in range(50 * block, 50 * block + 50):
        counts.update(check(seed))
    assert counts["taken"]
    assert counts["refused"]
