"""Selection of the tests that run on a machine.

Tests marked `gpu` are skipped, with the reason, where CuPy or a CUDA GPU is missing. Of a module marked `sweep`, and
of the folder `properties`, the first case of each function is quick, and the others are marked `slow`: `make test`
leaves them to `make test-all`, as it does those that `slow.txt` names. Nothing else marks a test `slow`.
"""

import functools
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import HealthCheck, settings

from tilefuse.runtime.compile.compiled import Compiled
from tilefuse.runtime.program import Program

# a busy machine may take any time for a case
settings.register_profile("any_speed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any_speed")

SLOW = Path(__file__).with_name("slow.txt")
"""Cases, tests and files that take long, one a line."""


@functools.cache
def why_no_gpu() -> str | None:
    """Explain why the GPU cannot be used here; None if it can."""
    try:
        import cupy
    except ImportError as error:
        return f"no CuPy: {error}"
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"no CUDA GPU: {error}"
    return None if count else "no CUDA GPU"


def is_swept(item: pytest.Item) -> bool:
    """Whether a test is one of many cases of one kind."""
    return item.get_closest_marker("sweep") is not None or item.path.parent.name == "properties"


@pytest.fixture(autouse=True)
def no_machine_code_ahead(request, monkeypatch):
    """Disable compilation ahead of the call in swept tests, whose programs are called once."""
    if not is_swept(request.node):
        return
    compile_ahead = Program._compile_ahead

    def lowered_only(program):
        with mock.patch.object(Compiled, "library"):
            compile_ahead(program)

    monkeypatch.setattr(Program, "_compile_ahead", lowered_only)


@pytest.hookimpl(tryfirst=True)  # before pytest selects by markers
def pytest_collection_modifyitems(items):
    """Mark slow tests, and skip GPU tests without a GPU."""
    seen, slow = set(), set(SLOW.read_text().splitlines())
    for item in items:
        if not slow.isdisjoint((item.nodeid, item.nodeid.partition("[")[0], item.nodeid.partition("::")[0])):
            item.add_marker(pytest.mark.slow)
        if item.get_closest_marker("gpu") and (reason := why_no_gpu()):
            item.add_marker(pytest.mark.skip(reason=reason))
        if is_swept(item):
            function = (item.path, item.cls, item.originalname)
            if function in seen:
                item.add_marker(pytest.mark.slow)
            seen.add(function)
