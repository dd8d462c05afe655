"""Pipelines for the tests of the runtime, and a disk cache of their own."""

import sys
from pathlib import Path

import pytest
from xdsl.parser import Parser

from tilefuse.passes.pipeline import new_context

# Test modules import `runtime_pipelines` from beside them.
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILEFUSE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def parse():
    """Return the module of a pipeline's text."""
    return lambda text: Parser(new_context(), text).parse_module()
