"""Kernels go to the compiler one by one: no text is printed twice, and none waits for the others'."""

import math
import re
import threading
from collections import defaultdict

import pytest

import tilefuse as hl
from tilefuse.execution.kernel import REGISTER_BOUNDED
from tilefuse.passes.pipeline import standard_passes
from tilefuse.runtime.compile import compiled
from tilefuse.runtime.compile.backend import Backend
from tilefuse.runtime.compile.compiled import Compiled, Settings
from tilefuse.runtime.cuda import cubins
from tilefuse.runtime.errors import BuildError


def three_kernels(factor=3.0):
    """Stages of two, three and four points, a kernel each; `factor` is in the second alone."""
    x, y = hl.Var("x"), hl.Var("y")
    image = hl.BoundaryConditions.repeat_edge(hl.ImageParam(hl.Float(32), 2, "image"))
    first, second, third = hl.Func("first"), hl.Func("second"), hl.Func("third")
    first[x, y] = image[x, y] + image[x + 1, y]
    second[x, y] = (first[x, y] + first[x + 1, y] + first[x, y + 1]) * factor
    third[x, y] = second[x, y] + second[x + 1, y] + second[x, y + 1] + second[x + 1, y + 1]
    passes = [p for p in standard_passes("h200", algorithm="none") if p.name != "inline-stages"]
    return Compiled(hl.Pipeline(third).to_module(), Settings(Backend("cuda", "h200"), passes=passes))


def groups(module):
    return compiled.groups_of(compiled.find_pipeline(module))


def fitting(group):
    """The registers per thread of which a multiprocessor has just enough for the schedule's blocks."""
    return min(255, 65536 // (math.prod(group.schedule.thread_counts) * group.schedule.resident_blocks) // 8 * 8)


@pytest.fixture
def printed(monkeypatch):
    """The names of kernels, None for all, as they are printed."""
    names, print_cuda = [], compiled.print_cuda

    def record(module, *, index_bits, kernel=None):
        names.append(kernel)
        return print_cuda(module, index_bits=index_bits, kernel=kernel)

    monkeypatch.setattr(compiled, "print_cuda", record)
    return names


def answer(registers):
    return b'{"registers": {"k": %d}, "spill_bytes": {"k": 0}, "shared_bytes": {"k": 0}}\n' % registers


def test_each_kernel_is_printed_once(monkeypatch, tmp_path, printed):
    monkeypatch.setenv("TILEFUSE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cubins, "_compile", lambda source, arch, flags: answer(32))
    made = three_kernels().kernels(32, "sm_90")
    assert len(printed) == len(set(printed)) == 3
    assert None not in printed
    assert made.source == made.source
    assert printed.count(None) == 1


def test_the_compiler_has_the_first_kernel_while_others_are_printed(monkeypatch, tmp_path, printed):
    monkeypatch.setenv("TILEFUSE_CACHE_DIR", str(tmp_path))
    began = threading.Event()
    monkeypatch.setattr(cubins, "_compile", lambda source, arch, flags: began.set() or answer(32))
    record = compiled.print_cuda

    def wait(module, *, index_bits, kernel=None):
        assert not printed or began.wait(20), "nothing is compiled until all is printed"
        return record(module, index_bits=index_bits, kernel=kernel)

    monkeypatch.setattr(compiled, "print_cuda", wait)
    three_kernels().kernels(32, "sm_90")
    assert len(printed) == 3


def test_the_compiler_has_kernels_while_others_are_lowered(monkeypatch, tmp_path):
    """Their text is the text of kernels that were lowered together."""
    monkeypatch.setenv("TILEFUSE_CACHE_DIR", str(tmp_path))
    began, lowered = threading.Event(), []
    monkeypatch.setattr(cubins, "_compile", lambda source, arch, flags: began.set() or answer(32))
    lower = Compiled._lower

    def wait(self, scheduled, trace, known=()):
        assert not lowered or began.wait(20), "nothing is compiled until all is lowered"
        lowered.append(sorted(known))
        return lower(self, scheduled, trace, known)

    monkeypatch.setattr(Compiled, "_lower", wait)
    made = three_kernels()
    kernels = made.kernels(32, "sm_90")
    assert [len(known) for known in lowered] == [1, 2]
    assert not kernels.changed
    together = three_kernels()
    together.lower()
    assert kernels.source == together.kernels(32, "sm_90").source
    assert [len(known) for known in lowered] == [1, 2, 0]


def test_a_stage_that_changes_costs_its_kernel_alone(monkeypatch, tmp_path):
    monkeypatch.setenv("TILEFUSE_CACHE_DIR", str(tmp_path))
    sources = []
    monkeypatch.setattr(cubins, "_compile", lambda source, arch, flags: sources.append(source) or answer(32))
    three_kernels().kernels(32, "sm_90")
    assert len(sources) == 3
    three_kernels(5.0).kernels(32, "sm_90")
    assert len(sources) == 4


def test_an_error_of_the_compiler_reaches_the_caller(monkeypatch, tmp_path):
    monkeypatch.setenv("TILEFUSE_CACHE_DIR", str(tmp_path))

    def refuse(source, arch, flags):
        raise BuildError("refused")

    monkeypatch.setattr(cubins, "_compile", refuse)
    with pytest.raises(BuildError, match="refused"):
        three_kernels().kernels(32, "sm_90")


def test_only_kernels_that_are_held_are_printed_again(monkeypatch, tmp_path, printed):
    monkeypatch.setenv("TILEFUSE_CACHE_DIR", str(tmp_path))
    made = three_kernels()
    registers = {compiled.kernel_name(g): fitting(g) for g in groups(made.module)}
    name = next(iter(registers))

    def build(sources, arch, *, strict_float):
        ((kernel, text),) = sources.items()
        free = re.search(r"__launch_bounds__\(\d+\)", text) is not None
        taken = 255 if kernel == name and free else registers[kernel]
        return cubins.Cubin({kernel: b""}, {kernel: taken}, {kernel: 0}, {kernel: 0})

    monkeypatch.setattr(cubins, "compile_cubins", build)
    after = made.kernels(32, "sm_90")
    assert sorted(printed) == sorted([*printed[:3], name])
    assert [REGISTER_BOUNDED in g.attributes for g in groups(after.module)] == [True, False, False]


def test_kernels_that_do_not_change_are_not_lowered_again(monkeypatch, tmp_path):
    """The second spills until its tile is made smaller: no text of the others changes, and all are in one module."""
    monkeypatch.setenv("TILEFUSE_CACHE_DIR", str(tmp_path))
    made = three_kernels()
    before = dict(zip(map(compiled.kernel_name, groups(made.module)), groups(made.module), strict=True))
    spilling = list(before)[1]
    texts = defaultdict(list)

    def build(sources, arch, *, strict_float):
        ((kernel, text),) = sources.items()
        texts[kernel].append(text)
        spilled = 64 if kernel == spilling and len(texts[kernel]) < 4 else 0
        return cubins.Cubin({kernel: b""}, {kernel: fitting(before[kernel])}, {kernel: spilled}, {kernel: 0})

    monkeypatch.setattr(cubins, "compile_cubins", build)
    after = made.kernels(32, "sm_90")
    assert {name: len(found) for name, found in texts.items()} == {n: 4 if n == spilling else 1 for n in before}
    for group in groups(after.module):
        name = compiled.kernel_name(group)
        assert (group.schedule == before[name].schedule) == (name != spilling)
        assert texts[name][-1].split("// ")[-1] in after.source
