"""A function in a process of its own, which may crash, hang or be wrong about memory."""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import time
import traceback
from collections.abc import Callable
from typing import Any


class ChildFailed(Exception):
    """The function raised; the text is its traceback."""


def in_child(function: Callable[[], Any], seconds: float) -> Any:
    """Return the result of `function` in a fork of this process; a text if the fork ended without a result.

    Raises ChildFailed. The process must not have used OpenMP: its threads do not go along.
    """
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        _be_child(function, reading, writing)
    os.close(writing)
    data, until = b"", time.monotonic() + seconds
    with contextlib.closing(os.fdopen(reading, "rb", buffering=0)) as pipe:
        while True:
            ready, _, _ = select.select([pipe], [], [], max(0.0, until - time.monotonic()))
            part = pipe.read(1 << 20) if ready else None
            if not part:
                break
            data += part
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if part is None:
        return f"took longer than {seconds:g} s"
    if not data:
        return (
            f"the process ended with {signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else status}"
        )
    good, value = pickle.loads(data)
    if not good:
        raise ChildFailed(value)
    return value


def _be_child(function: Callable[[], Any], reading: int, writing: int) -> None:
    os.close(reading)
    try:
        told = (True, function())
    except BaseException:
        told = (False, traceback.format_exc())
    with contextlib.suppress(BaseException):
        data = pickle.dumps(told)
        while data:
            data = data[os.write(writing, data) :]
    os._exit(0)
