"""Runs lit_tests/, one pytest case per lit test: so xdist spreads them and a failure shows its own output."""

import functools
import os
import platform
from pathlib import Path

import lit.discovery
import lit.LitConfig
import lit.Test
import lit.worker
import pytest
from tool_server import serve

LIT_TESTS = Path(__file__).parent.parent / "lit_tests"


@functools.cache
def _lit_config() -> lit.LitConfig.LitConfig:
    return lit.LitConfig.LitConfig(
        progname="pytest",
        path=[],
        diagnostic_level="note",
        useValgrind=False,
        valgrindLeakCheck=False,
        valgrindArgs=[],
        noExecute=False,
        debug=False,
        isWindows=platform.system() == "Windows",
        order="smart",
        params={},
        maxIndividualTestTime=120,
    )


@functools.cache
def _lit_tests() -> dict[str, lit.Test.Test]:
    tests = lit.discovery.find_tests_for_inputs(_lit_config(), [str(LIT_TESTS)])
    return {"/".join(test.path_in_suite): test for test in tests}


@pytest.fixture(scope="module", autouse=True)
def fast_tools(tmp_path_factory):
    """The tools that lit runs start at once. By themselves: `make lit`."""
    folder = tmp_path_factory.mktemp("tools")
    with serve(folder):
        for test in _lit_tests().values():
            test.config.environment["PATH"] = f"{folder}{os.pathsep}{test.config.environment['PATH']}"
        yield


@pytest.mark.parametrize("name", sorted(_lit_tests()))
def test_lit(name):
    result = lit.worker._execute(_lit_tests()[name], _lit_config())
    if result.code == lit.Test.UNSUPPORTED:
        pytest.skip(result.output)
    assert not result.code.isFailure, result.output


def test_that_lit_finds_what_is_there():
    # A suffix or folder that lit does not look at would pass silently.
    files = {
        str(path.relative_to(LIT_TESTS))
        for path in LIT_TESTS.rglob("*")
        if path.is_file() and "RUN:" in path.read_text(errors="replace") and path.name != "lit.cfg.py"
    }
    assert files == set(_lit_tests())
