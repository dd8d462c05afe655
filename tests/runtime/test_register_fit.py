"""What the compiler says of registers changes schedules: spilled ones are searched for again, or made smaller."""

import math
import os
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import random_subwords
from random_programs import passes
from runtime_pipelines import blur
from xdsl.dialects.builtin import UnitAttr

import tilefuse as hl
from tilefuse.dialects.diagnostics import PipelineError
from tilefuse.dialects.img.ops import SINGLE_WAVE
from tilefuse.dialects.parsing import parse_module
from tilefuse.execution.warp_tile.attribute import WarpSchedule
from tilefuse.lowering.abi import groups_of
from tilefuse.passes import fit_registers, tile
from tilefuse.passes import pipeline as pipeline_passes
from tilefuse.passes.merge_versions import MergeVersions
from tilefuse.passes.parallel_compilation import ParallelCompilation
from tilefuse.passes.pipeline import new_context, run_passes, standard_passes
from tilefuse.passes.tile import REGISTER_NEEDS, Tile, add_register_need
from tilefuse.runtime.compile.backend import Backend
from tilefuse.runtime.compile.compiled import Compiled, Settings
from tilefuse.runtime.compile.specialize import find_pipeline
from tilefuse.runtime.cuda import cubins, nvrtc
from tilefuse.runtime.cuda.register_fit import FitRegisters


def pipeline():
    return parse_module(blur(), "blur.mlir")


def compiled(passes=None):
    return Compiled(pipeline(), Settings(Backend("cuda", "h200"), passes=passes))


def schedules(module):
    return [g.schedule for g in groups_of(find_pipeline(module))]


def by_hand(blocks):
    """The standard passes with a tile by hand."""
    tile = Tile(
        target="h200", shape="warp_tile", sizes=(0, 0), threads=(32, 4), vector=4, more="rows = 8", blocks=blocks
    )
    return [tile if p.name == "tile" else p for p in standard_passes("h200")]


def report(spilled, registers=64, inside=None):
    """In the place of the compiler: as many bytes are spilled as `spilled` says for each further source, and as many
    registers taken as `registers` says, a number or one for each.

    The version for the interior, which is no further source, spills as `inside` says, or as all versions together.
    """
    calls = []

    def build(sources, arch, *, strict_float):
        for name, source in sources.items():
            assert re.findall(r"__launch_bounds__\([^)]*\) (\w+)\(", source) == [name]
        of_interior = all("_inside" in name for name in sources)
        if not of_interior:
            calls.append("".join(sources.values()))
        left = inside if of_interior and inside is not None else spilled[min(len(calls), len(spilled)) - 1]
        taken = registers[min(len(calls), len(registers)) - 1] if isinstance(registers, list) else registers
        return cubins.Cubin(*(dict.fromkeys(sources, what) for what in (b"", taken, left, 0)))

    return build, calls


def test_a_spilled_tile_is_searched_for_again(monkeypatch):
    build, calls = report([64, 64, 0], registers=120)
    monkeypatch.setattr(cubins, "compile_cubins", build)
    made = compiled()
    before = schedules(made.module)
    after = made.kernels(32, "sm_90")
    # left to itself, held to the schedule's blocks, with another tile
    assert len(calls) >= 3
    assert schedules(after.module) != before
    assert schedules(after.module)[0].model == before[0].model


@pytest.mark.parametrize(
    ("spilled", "registers", "need"),
    [([0, 1600, 0], [120, 64, 64], 120), ([0, 80, 0], [120, 64, 64], 69), ([80, 80, 0], [120, 64, 64], 69)],
    ids=["what it takes by itself", "what it has and spills", "spills by itself"],
)
def test_a_spilled_tile_needs_no_more_than_it_takes_by_itself(monkeypatch, spilled, registers, need):
    build, _ = report(spilled, registers)
    monkeypatch.setattr(cubins, "compile_cubins", build)
    noted = []
    monkeypatch.setattr(fit_registers, "add_register_need", lambda group, registers: noted.append(registers))
    compiled().kernels(32, "sm_90")
    assert noted == [need]


@pytest.mark.parametrize(("registers", "bounds"), [([64], [""]), ([32, 64], ["", ", 4"]), ([32], ["", ", 4", ""])])
def test_a_single_wave_has_no_room_for_more_blocks(monkeypatch, registers, bounds):
    """Of 4 blocks of 256 threads on each multiprocessor, 8 could move in with 32 registers: with 64, 4 can."""
    build, calls = report([0], registers=registers)
    monkeypatch.setattr(cubins, "compile_cubins", build)
    module = run_passes(pipeline(), standard_passes("h200"))
    (group,) = groups_of(find_pipeline(module))
    group.schedule = WarpSchedule(tile=(120, 62), threads=(32, 8), vector=4, blocks=4, prefetch_rows=40)
    group.attributes[SINGLE_WAVE] = UnitAttr()
    passes = [p for p in standard_passes("h200") if p.name == "validate-occupancy"]
    made = Compiled(module, Settings(Backend("cuda", "h200"), passes=passes)).kernels(32, "sm_90")
    assert [re.findall(r"__launch_bounds__\(256([^)]*)\)", text) for text in calls] == [[b] for b in bounds]
    # what does not fill the registers it may take does not prefetch: its blocks get the places that are free first
    (group,) = groups_of(made.pipeline)
    assert (SINGLE_WAVE in group.attributes, group.schedule.prefetch_rows) == (
        (False, 0) if len(bounds) == 3 else (True, 40)
    )


def test_what_does_not_spill_stays(monkeypatch):
    build, calls = report([0], registers=32)
    monkeypatch.setattr(cubins, "compile_cubins", build)
    made = compiled()
    assert schedules(made.kernels(32, "sm_90").module) == schedules(made.module)
    assert len(calls) == 1
    assert re.search(r"__launch_bounds__\(\d+\)", calls[0])


def test_what_leaves_too_few_registers_is_held(monkeypatch):
    build, calls = report([0], registers=200)
    monkeypatch.setattr(cubins, "compile_cubins", build)
    made = compiled()
    after = made.kernels(32, "sm_90")
    (schedule,) = schedules(after.module)
    threads = math.prod(schedule.thread_counts)
    assert [schedule] == schedules(made.module)
    assert len(calls) == 2
    assert f"__launch_bounds__({threads})" in calls[0]
    assert f"__launch_bounds__({threads}, {schedule.resident_blocks})" in calls[1]
    # the decision stands in the IR, and what is read from there is held at once
    text = str(after.pipeline)
    assert "register_bounded" in text
    assert "register_bounded" not in str(made.pipeline)
    calls.clear()
    passes = [p for p in standard_passes("h200") if p.name == "validate-occupancy"]
    again = Compiled(parse_module(text, "held.mlir"), Settings(Backend("cuda", "h200"), passes=passes))
    again.kernels(32, "sm_90")
    assert len(calls) == 1
    assert f"__launch_bounds__({threads}, {schedule.resident_blocks})" in calls[0]


@pytest.mark.parametrize("passes", [None, by_hand(blocks=4)], ids=["searched for", "by hand"])
def test_a_tile_that_spills_at_borders_alone_stays(monkeypatch, passes):
    build, calls = report([64, 64, 0], registers=120, inside=0)
    monkeypatch.setattr(cubins, "compile_cubins", build)
    made = compiled(passes)
    after = made.kernels(32, "sm_90")
    # left to itself, and held to the schedule's blocks
    assert len(calls) == 2
    assert schedules(after.module) == schedules(made.module)


@pytest.mark.parametrize("own", [0, 64])
def test_versions_in_a_function_of_their_own_are_told_apart_by_the_report(monkeypatch, own):
    monkeypatch.setattr(pipeline_passes, "_last_of_gpus", lambda: [MergeVersions(min_operations=0)])
    calls = []

    def build(sources, arch, *, strict_float):
        calls.extend(sources)
        return cubins.Cubin(*(dict.fromkeys(sources, what) for what in (b"", 120, 64, 0, own)))

    monkeypatch.setattr(cubins, "compile_cubins", build)
    made = Compiled(pipeline(), Settings(Backend("cuda", "h200"), options={"extent": (8192, 8192)}))
    after = made.kernels(32, "sm_90")
    # the version for the interior is not compiled by itself
    assert not any("_inside" in name for name in calls)
    assert (len(calls) == 2, schedules(after.module) == schedules(made.module)) == (own == 0, own == 0)


def test_given_sizes_get_fewer_blocks_and_rows(monkeypatch):
    build, calls = report([64, 64, 0], registers=100)
    monkeypatch.setattr(cubins, "compile_cubins", build)
    made = compiled(by_hand(blocks=4))
    (before,), (after,) = schedules(made.module), schedules(made.kernels(32, "sm_90").module)
    assert len(calls) == 3
    assert after.resident_blocks < before.resident_blocks or after.tile_sizes < before.tile_sizes


def test_spills_without_end_are_kept(monkeypatch):
    build, _ = report([64], registers=255)
    monkeypatch.setattr(cubins, "compile_cubins", build)
    kernels = compiled().kernels(32, "sm_90")
    assert set(kernels.cubin.spill_bytes.values()) == {64}


def tiled(registers, extent=(1536, 2560)):
    """The schedule of a group whose best warp tile needs so many registers, noted in text that is parsed again."""
    passes = standard_passes("h200", extent=extent)
    cut = next(i for i, p in enumerate(passes) if isinstance(p, Tile))
    module = run_passes(pipeline(), passes[:cut])
    (noted,) = groups_of(find_pipeline(run_passes(module, [passes[cut]])))
    add_register_need(noted, registers)
    (group,) = groups_of(find_pipeline(module))
    group.attributes[REGISTER_NEEDS] = noted.attributes[REGISTER_NEEDS]
    (schedule,) = schedules(run_passes(parse_module(str(module), "noted.mlir"), [passes[cut]]))
    return schedule


def test_needs_stand_in_the_ir():
    cheap, dear = tiled(1), tiled(200)
    assert (cheap.tile_sizes, cheap.vector_width) != (dear.tile_sizes, dear.vector_width)


def test_a_tile_whose_registers_are_known_is_left_for_one_that_is_clearly_cheaper(monkeypatch):
    large = (8192, 8192)
    best, kept, left = (tiled(registers, large) for registers in (1, 80, 96))
    assert kept.tile_sizes == best.tile_sizes
    assert kept.resident_blocks < best.resident_blocks
    assert left.tile_sizes != best.tile_sizes
    monkeypatch.setattr(tile, "KNOWN", 0.0)
    assert tiled(80, large).tile_sizes == left.tile_sizes


def test_malformed_needs_are_reported():
    passes = standard_passes("h200")
    cut = next(i for i, p in enumerate(passes) if isinstance(p, Tile))
    module = run_passes(pipeline(), passes[:cut])
    (group,) = groups_of(find_pipeline(module))
    group.attributes[REGISTER_NEEDS] = group.sym_name
    with pytest.raises(PipelineError, match="register_needs is not a list"):
        run_passes(module, [passes[cut]])


def test_what_is_released_and_spills_is_not_asked_for_again(monkeypatch):
    """By the search blocks are balanced, and spill; released from that they spill, too: found by random subwords."""
    calls = []

    def build(sources, arch, *, strict_float):
        calls.append(sources)
        assert len(calls) < 50
        needed, taken = {}, {}
        for name, text in sources.items():
            count, blocks = re.findall(r"__launch_bounds__\((\d+)(?:, (\d+))?\)", text)[0]
            needed[name] = 96 if "tile = [116, 24]" in text else 128
            allowed = 65536 // (int(count) * int(blocks or 1)) // 8 * 8
            taken[name] = needed[name] if needed[name] <= allowed else min(allowed, 96)  # not all that it may
        spilled = {name: 112 if registers < needed[name] else 0 for name, registers in taken.items()}
        return cubins.Cubin(dict.fromkeys(sources, b""), taken, spilled, dict.fromkeys(sources, 0))

    monkeypatch.setattr(cubins, "compile_cubins", build)
    module = random_subwords.pipeline(45)[0].to_module()
    schedule = passes("h200", shape="warp_tile", algorithm="all")
    before = Compiled(module, Settings(Backend("cuda", "h200"), passes=schedule))
    after = before.kernels(32, "sm_90")
    assert schedules(after.module) != schedules(before.module)
    assert set(after.cubin.spill_bytes.values()) == {0}


def test_a_group_that_is_tiled_again_does_not_wait_for_others(monkeypatch):
    """The second kernel is done when the first one has been tiled again."""
    x, y = hl.Var("x"), hl.Var("y")
    image, first, second = hl.ImageParam(hl.Float(32), 2, "image"), hl.Func("first"), hl.Func("second")
    first[x, y] = image[x, y] + image[x + 1, y] + image[x + 2, y] + image[x + 3, y] + image[x + 4, y]
    second[x, y] = first[x, y] * first[x, y + 1] * first[x, y + 2]
    tiled, calls = threading.Event(), []

    def build(sources, arch, *, strict_float):
        ((name, text),) = sources.items()
        if name.startswith("second_second"):  # pipeline and group
            assert tiled.wait(30)
            return cubins.Cubin({name: b""}, {name: 32}, {name: 0}, {name: 0})
        calls.append(re.findall(r"tile = \[[^]]*\]", text)[0])
        if calls[-1] != calls[0]:
            tiled.set()
        return cubins.Cubin({name: b""}, {name: 120}, {name: 64 if calls[-1] == calls[0] else 0}, {name: 0})

    monkeypatch.setattr(cubins, "compile_cubins", build)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    settings = Settings(Backend("cuda", "h200"), options={"algorithm": "none"})
    made = Compiled(hl.Pipeline(second).to_module(), settings).kernels(32, "sm_90")
    assert len(made.cubin.codes) == 2
    assert tiled.is_set()


def fitted(**options):
    module = run_passes(pipeline(), standard_passes("h200"))
    FitRegisters(**options).apply(new_context(), module)
    return module


def test_the_pass_does_what_programs_do(monkeypatch):
    build, _ = report([64, 64, 0], registers=120)
    monkeypatch.setattr(cubins, "compile_cubins", build)
    of_program = schedules(compiled().kernels(32, "sm_90").module)
    build, calls = report([64, 64, 0], registers=120)
    monkeypatch.setattr(cubins, "compile_cubins", build)
    assert schedules(fitted(search=True)) == of_program
    assert len(calls) >= 3


def test_the_pass_without_a_compiler_is_an_error_at_the_pipeline(monkeypatch):
    def missing():
        raise nvrtc.NvrtcNotFound

    monkeypatch.setattr(nvrtc, "_library", missing)
    with pytest.raises(PipelineError, match=r"fit-registers: target 'cuda': NVRTC.*pip install nvidia-cuda-nvrtc"):
        fitted()


@pytest.mark.parametrize(("stages", "held"), [(3, False), (4, True)])
def test_long_kernels_whose_registers_are_scarce_are_held_from_the_start(stages, held):
    """Sums of 7 x 7 floats: three of them prefetch, and are left to the compiler."""
    x, y = hl.Var("x"), hl.Var("y")
    func = hl.BoundaryConditions.repeat_edge(hl.ImageParam(hl.Float(32), 2, "image"))
    for i in range(stages):
        func, before = hl.Func(f"stage_{i}"), func
        func[x, y] = sum((before[x + dx, y + dy] * (dx * 7 + dy) for dx in range(-3, 4) for dy in range(-3, 4)), 1)
    module = run_passes(hl.Pipeline(func).to_module(), standard_passes("h200", algorithm="all"))
    (group,) = groups_of(find_pipeline(module))
    assert ("register_bounded" in group.attributes) == held


def test_kernels_that_are_compiled_again_come_first():
    """What follows of their reports would else begin when all others are done."""
    order, may_go_on, begun = [], threading.Event(), threading.Event()

    def compile(name, text):
        begun.set()
        order.append(name)
        assert may_go_on.wait(60)

    with ThreadPoolExecutor(1) as pool:
        side = ParallelCompilation(compile, pool)
        side.start("first", "")
        assert begun.wait(60)
        for name, again in (("second", False), ("third", False), ("again", True)):
            side.start(name, "", is_recompilation=again)
        may_go_on.set()
        found: list[str] = []
        while len(found) < 4:
            found += [name for name, _ in side.finished()]
    assert order == ["first", "again", "second", "third"]
    assert sorted(found) == sorted(order)
