"""Random pipelines compile under NVRTC with no spills in interior tiles, whatever tiles they get; no GPU is needed."""

import pytest
from interior_spills import spilled_inside
from random_pipelines import random_pipeline
from random_programs import Shape, passes, pieces

from tilefuse.lowering.abi import groups_of
from tilefuse.passes.fit_registers import MOST_AT_BORDERS
from tilefuse.passes.tile import Tile
from tilefuse.runtime.cuda.nvrtc import NvrtcNotFound, supported_archs
from tilefuse.runtime.program import compile_pipeline

SHARED_BYTES = 48 * 1024
"""What a block has without asking the driver for more, on every architecture."""


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory):
    try:
        supported_archs()
    except NvrtcNotFound as error:
        pytest.skip(str(error))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEFUSE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


def check(seed: int, machine: str, arch: str, shape: Shape, algorithm: str = "greedy") -> set[str]:
    """Compile as a call would, after the loop that makes room for registers; the execution models used."""
    case = random_pipeline(seed)
    schedule = passes(machine, shape=shape, algorithm=algorithm)
    program = compile_pipeline(case.module, f"cuda:{machine}", passes=schedule, verify=True)
    built = program._current().kernels(32, arch)
    assert built.cubin is not None
    for name, registers in built.cubin.registers.items():
        spilled, shared = built.cubin.spill_bytes[name], built.cubin.shared_bytes[name]
        where = f"seed {seed}, {machine} for {arch}, {shape}, {algorithm}, kernel {name}"
        assert 0 < registers < 255, where
        assert spilled <= MOST_AT_BORDERS, f"{where}: {spilled} bytes\n{built.source}"
        assert spilled == 0 or spilled_inside(built.module, name, arch) == 0, (
            f"{where}: {spilled} bytes\n{built.source}"
        )
        assert shared <= SHARED_BYTES, f"{where}: {shared} bytes\n{built.source}"
    return {group.schedule.model for group in groups_of(built.pipeline) if group.schedule is not None}


@pytest.mark.parametrize("seed", range(10))
def test_block_tiles(seed):
    assert check(seed, "h200", "sm_90", "block_tile") == {"block_tile"}


@pytest.mark.parametrize("seed", range(300, 306))
def test_pieces_of_rows(seed):
    tile = Tile(sizes=(64, 16), threads=(16, 8), vector=4, more=f"unroll = [1, {1 + seed % 2}]")
    case = random_pipeline(seed)
    program = compile_pipeline(case.module, "cuda:h200", passes=pieces("h200", tile), verify=True)
    built = program._current().kernels(32, "sm_90")
    assert built.cubin is not None
    assert set(built.cubin.spill_bytes.values()) == {0}, built.source


# Of these, the groups that cannot be warp-tiled are tiled by blocks.
@pytest.mark.parametrize("seed", range(10, 17))
def test_the_cheapest_tiles(seed):
    check(seed, "h200", "sm_90", "auto", ("greedy", "all", "dp")[seed % 3])


@pytest.mark.parametrize(
    ("seed", "shape"),
    [
        (10, "warp_tile"),
        (17, "warp_tile"),
        (23, "warp_exchange"),
        (33, "warp_exchange"),
        (44, "warp_exchange"),
    ],
)
def test_warp_tiles(seed, shape):
    assert check(seed, "h200", "sm_90", shape) == {"warp_tile"}


@pytest.mark.parametrize("seed", [24, 31, 38])
def test_sm_80(seed):
    check(seed, "sm_80", "sm_80", "auto", "all")


@pytest.mark.parametrize("seed", [25, 32, 39])
def test_the_oldest_architecture(seed):
    check(seed, "sm_70", "sm_70" if "sm_70" in supported_archs() else supported_archs()[0], "block_tile", "all")


def test_warp_tiles_on_the_oldest_architecture():
    oldest = "sm_70" if "sm_70" in supported_archs() else supported_archs()[0]
    assert check(33, "sm_70", oldest, "warp_tile") == {"warp_tile"}
