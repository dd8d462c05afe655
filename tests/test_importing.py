"""Quick imports make the same classes."""

import dataclasses
import threading

import pytest

from tilefuse.importing import quick_imports


def point():
    @dataclasses.dataclass(frozen=True, order=True)
    class Point:
        x: int
        y: int = 2

    return Point


def test_dataclasses_are_as_without():
    plain = point()
    with quick_imports(), quick_imports():
        made, like = point(), point()
    assert not hasattr(dataclasses, "exec")
    for cls in (made, like):
        assert repr(cls(1)).endswith("Point(x=1, y=2)")
        assert cls(1) == cls(1, 2) != plain(1)
        assert hash(cls(1)) == hash(plain(1))
        assert cls(1) < cls(2)
        assert cls.__init__.__annotations__ == plain.__init__.__annotations__
        with pytest.raises(dataclasses.FrozenInstanceError):
            cls(1).x = 3
    assert made(1) != like(1)  # the text is shared, and no function


def test_blocks_of_several_threads_end_on_their_own():
    inside, done = threading.Event(), threading.Event()

    def other():
        with quick_imports():
            inside.set()
            assert done.wait(60)

    thread = threading.Thread(target=other)
    with quick_imports():
        thread.start()
        assert inside.wait(60)
    assert hasattr(dataclasses, "exec")
    done.set()
    thread.join()
    assert not hasattr(dataclasses, "exec")
