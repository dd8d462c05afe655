"""The disk cache: what is written is read, what is damaged is built again, writers leave whole entries."""

import multiprocessing

import pytest

from tilefuse.runtime import cache


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEFUSE_CACHE_DIR", str(tmp_path))
    return tmp_path


def test_an_entry_is_built_once(folder):
    builds = []

    def build():
        builds.append(1)
        return b"code"

    path = cache.entry("c", cache.digest("source"), ".so")
    assert path.is_relative_to(folder)
    assert [cache.get_or_build(path, build) for _ in range(2)] == [b"code"] * 2
    cache._memory.clear()
    assert cache.get_or_build(path, build) == b"code"
    assert builds == [1]


@pytest.mark.parametrize(
    "damage",
    [lambda data: data[:-1], lambda data: b"x" + data[1:], lambda data: b"", lambda data: data + b"x"],
)
def test_a_damaged_entry_is_built_again(folder, damage):
    path = cache.entry("c", cache.digest("source"))
    cache.write_entry(path, b"code")
    path.write_bytes(damage(path.read_bytes()))
    assert cache.read(path) is None
    assert cache.get_or_build(path, lambda: b"new") == b"new"
    assert cache.read(path) == b"new"


def test_a_key_depends_on_each_part_and_on_their_ends():
    keys = {cache.digest("ab", "c"), cache.digest("a", "bc"), cache.digest("abc"), cache.digest("ab", "d")}
    assert len(keys) == 4


def test_a_cache_that_cannot_be_written_is_no_error(folder):
    (folder / "c").write_text("a file where the folder should be")
    path = cache.entry("c", cache.digest("source"))
    assert not cache.write_entry(path, b"code")
    assert cache.get_or_build(path, lambda: b"code") == b"code"


def _write_often(path, letter):
    for _ in range(200):
        cache.write_entry(path, letter * 100_000)


def test_concurrent_writers_leave_whole_entries(folder):
    path = cache.entry("c", cache.digest("source"))
    cache.write_entry(path, b"a" * 100_000)
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write_often, args=(path, letter)) for letter in (b"a", b"b")]
    for w in writers:
        w.start()
    while any(w.is_alive() for w in writers):
        assert cache.read(path) in (b"a" * 100_000, b"b" * 100_000)
    assert [w.exitcode for w in writers] == [0, 0]
    assert [p.name for p in path.parent.iterdir()] == [path.name]
