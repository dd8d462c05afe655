"""Pipelines with hostile names: refused by one error, or right in every text that a name reaches."""

import pytest
from random_names import by_hand, check

# 1200 and later: seeds that found something.
SEEDS = [*range(40)]


@pytest.mark.parametrize("block", range(4))
def test_hostile_names(block, tmp_path, monkeypatch):
    monkeypatch.setenv("TILEFUSE_CACHE_DIR", str(tmp_path))
    for seed in SEEDS[block::4]:
        check(seed)


@pytest.mark.parametrize("block", range(8))
def test_hostile_names_in_text_by_hand(block, tmp_path, monkeypatch):
    monkeypatch.setenv("TILEFUSE_CACHE_DIR", str(tmp_path))
    for seed in range(block, 24, 8):
        by_hand(seed)
