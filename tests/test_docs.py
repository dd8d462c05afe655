"""The Python of the README and of the language's page runs as it stands."""

import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("page", ["README.md", "docs/language.md"])
def test_python_blocks_run(page):
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    assert blocks
    # A page's blocks follow one another; `array` is the reader's own picture.
    names = {"__name__": "reader", "array": np.arange(12 * 16, dtype=np.uint8).reshape(12, 16)}
    for block in blocks:
        exec(compile(block, page, "exec"), names)
