"""Block tiles with pieces of rows and unrolling, on the CPU back end: bit for bit what is meant."""

import numpy as np
import pytest
from variants import INPUT_IS_LARGER, QUICK

from tilefuse.passes.pipeline import standard_passes
from tilefuse.passes.tile import Tile
from tilefuse.runtime.program import compile_pipeline

pytestmark = pytest.mark.sweep

TILES = {
    "pieces": Tile(sizes=(64, 16), threads=(16, 8), vector=4),
    "unrolled": Tile(sizes=(64, 16), threads=(8, 4), vector=4, more="unroll = [1, 2]"),
    "bytes": Tile(sizes=(128, 16), threads=(8, 8), vector=16),
}


@pytest.mark.parametrize(
    ("name", "tile"),
    [
        ("blur_f32", "pieces"),
        ("blur_u8", "bytes"),
        ("blur_u16", "unrolled"),
        ("harris", "unrolled"),
        ("unsharp", "pieces"),
        ("canny", "pieces"),
        ("stencil_chain_4", "unrolled"),
    ],
)
def test_bit_for_bit(name, tile, photo):
    example = QUICK[name]
    module = example.pipeline().to_module(name)
    passes = [TILES[tile] if isinstance(p, Tile) else p for p in standard_passes("h200")]
    program = compile_pipeline(module, "cpu", strict_float=True, passes=passes)
    meaning = compile_pipeline(module, "reference")
    more = INPUT_IS_LARGER.get(name, 0)
    for height, width in ((67, 129), (70, 260)):
        picture = example.prepare(photo(height + more, width + more))
        np.testing.assert_array_equal(program(picture), meaning(picture), err_msg=f"{height}x{width}")
