"""Cost of loads that come in bursts, since warps pass many rows to one another."""

from dataclasses import replace

from tilefuse.analysis.machine import machine
from tilefuse.execution.features import predict
from tilefuse.execution.warp_tile.features import ACCESS_BYTES, BURSTS_POWER, BURSTS_US, WarpFeatures

ON = machine("h200")
AMPLE = BURSTS_US * ON.bytes_per_us / ON.cores
LOADED = 64.0
PASSES = WarpFeatures(
    blocks=64 * ON.cores, at_border=0.0, warps=4, resident_blocks=8, instructions=100.0, code=100.0, exchanges=12.0,
    barriers=1, own_bytes=6000.0, other_bytes=500.0, stored_bytes=3000.0, loads=True, loaded_bytes=LOADED,
    touched_bytes=LOADED, stored_again=0.0, guarded=False, row_bytes=512, rows=8,
)  # fmt: skip


def test_memory_takes_longer_where_warps_pass_more_than_they_load_and_few_loads_are_in_flight():
    passed = PASSES.exchanges * ACCESS_BYTES / LOADED
    assert PASSES.resident_threads(ON) * LOADED < AMPLE
    memory = PASSES.blocks * PASSES.warps * PASSES.own_bytes / ON.bytes_per_us
    power = BURSTS_POWER * (passed - 1.0)
    slower = (AMPLE / (PASSES.resident_threads(ON) * LOADED)) ** power
    longer = predict(PASSES, ON) - predict(replace(PASSES, exchanges=LOADED / ACCESS_BYTES), ON)
    # arithmetic beside it costs some of that already, and accesses of shared memory are instructions
    assert 0.5 * memory * (slower - 1.0) < longer < 1.1 * memory * (slower - 1.0)
    few = replace(PASSES, loaded_bytes=0.75 * LOADED, touched_bytes=0.75 * LOADED)
    assert predict(few, ON) > predict(PASSES, ON)


def test_neither_warps_that_pass_as_much_as_they_load_nor_arithmetic_take_longer():
    halo = replace(PASSES, exchanges=2.0)
    assert predict(replace(halo, loaded_bytes=0.75 * LOADED, touched_bytes=0.75 * LOADED), ON) <= predict(halo, ON)
    computes = replace(PASSES, instructions=2000.0, code=2000.0)
    few = replace(computes, loaded_bytes=0.75 * LOADED, touched_bytes=0.75 * LOADED)
    assert predict(few, ON) <= predict(computes, ON)
