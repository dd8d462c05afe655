"""A register fit depends on the compiler's reports alone: neither on their order nor on caches that answer at once."""

import hashlib
import re
import time
from contextlib import contextmanager
from random import Random

import pytest
from random_pipelines import random_pipeline

from tilefuse.passes import fit_registers
from tilefuse.runtime.compile.backend import Backend
from tilefuse.runtime.compile.compiled import Compiled, Settings
from tilefuse.runtime.cuda import cubins

SEEDS = (20, 29)
"""Pipelines of several kernels, of which some spill, some are searched for again and some get a late launch."""


def reported(text):
    """Registers and spilled bytes that look arbitrary, and depend on a kernel's text and bound."""
    threads, blocks = re.findall(r"__launch_bounds__\((\d+)(?:, (\d+))?\)", text)[-1]
    code = "\n".join(line for line in text.split("\n") if not line.startswith("//"))
    number = int(hashlib.sha256(re.sub(r"__launch_bounds__\([^)]*\)", "", code).encode()).hexdigest(), 16)
    needed, allowed = 32 + number % 224, min(255, 65536 // (int(threads) * int(blocks or 1)) // 8 * 8)
    spilled = 8 * max(0, needed - allowed)
    return min(needed, allowed), spilled or (24 if number // 1000 % 4 == 0 else 0)


class Ordered:
    """A compiler whose reports come one by one, in an order that `pick` gives: the index of the next."""

    def __init__(self, compile, pick):
        self.compile, self.pick, self.waiting = compile, pick, []

    def start(self, name, text, *, is_recompilation=False):
        self.waiting.append((name, text))

    def finished(self):
        name, text = self.waiting.pop(self.pick(len(self.waiting)))
        return [(name, self.compile(name, text))]


def fitted(seed):
    """The CUDA text and the IR of a pipeline after its fit."""
    settings = Settings(Backend("cuda", "h200"), options={"algorithm": "none", "extent": (4096, 4096)})
    kernels = Compiled(random_pipeline(seed, stages=6).module, settings).kernels(32, "sm_90")
    return kernels.source, str(kernels.pipeline)


@pytest.fixture
def reports(monkeypatch):
    """Reports in the place of NVRTC's, by kernel; late ones where `delay` says so."""

    def install(delay=lambda name: 0.0):
        def compile(sources, arch, *, strict_float):
            ((name, text),) = sources.items()
            time.sleep(delay(name))
            registers, spilled = reported(text)
            return cubins.Cubin({name: b""}, {name: registers}, {name: spilled}, {name: 0})

        monkeypatch.setattr(cubins, "compile_cubins", compile)

    return install


@pytest.mark.parametrize("seed", SEEDS)
def test_reports_may_come_in_any_order(monkeypatch, reports, seed):
    reports()
    found = set()
    for pick in (lambda count: 0, lambda count: count - 1, Random(1).randrange, Random(2).randrange):

        @contextmanager
        def ordered(compile, kernels, pick=pick):
            yield Ordered(compile, pick)

        monkeypatch.setattr(fit_registers, "parallel_executor", ordered)
        found.add(fitted(seed))
    assert len(found) == 1


@pytest.mark.parametrize("seed", SEEDS[1:])
def test_a_cache_that_knows_some_kernels_changes_nothing(reports, seed):
    """Reports that a cache has come before the others, in threads as in programs."""
    found = set()
    for known in (lambda name: True, lambda name: False, lambda name: len(name) % 2, lambda name: "_inside" in name):
        reports(lambda name, known=known: 0.0 if known(name) else 0.02)
        found.add(fitted(seed))
    assert len(found) == 1
