"""Command-line tools that start at once: a process that has imported them forks for each run of one.

Nearly all of the time of a lit test is Python starting and importing. `serve(folder)` gives the tools' names to scripts
in a folder, to be put in front of a PATH; a script hands over its arguments, environment, folder and open files.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import select
import socket
import struct
import subprocess
import sys
import traceback
from collections.abc import Iterator
from marshal import loads
from pathlib import Path
from typing import NoReturn

TOOLS = {"pipeline-opt": "tilefuse.tools.pipeline_opt", "filecheck": "filecheck.main"}
"""Each with the module of its `main`."""

_CLIENT = """#!{python} -IS
import _socket, marshal, os, sys
server = _socket.socket(_socket.AF_UNIX)
server.connect({address!r})
what = marshal.dumps(({tool!r}, sys.argv[1:], os.getcwd(), dict(os.environ)))
files = b"".join(fd.to_bytes(4, sys.byteorder) for fd in range(3))
header = len(what).to_bytes(8, "little")
server.sendmsg([header], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, files)])
server.sendall(what)
answer = server.recv(1)
sys.exit(answer[0] if answer else 70)
"""


@contextlib.contextmanager
def serve(folder: Path) -> Iterator[None]:
    """Make the tools start at once while this lasts, by scripts in `folder`."""
    address = str(folder / "server")
    for tool in TOOLS:
        script = folder / tool
        script.write_text(_CLIENT.format(python=sys.executable, address=address, tool=tool))
        script.chmod(0o755)
    server = subprocess.Popen([sys.executable, __file__, address], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        yield
    finally:
        server.communicate()  # its input ends, and so does it


def _main(address: str) -> None:
    """Answer until the input ends, as it does when who started this is no more."""
    mains = {tool: importlib.import_module(module).main for tool, module in TOOLS.items()}
    from tilefuse.universe import UNIVERSE

    for table in (UNIVERSE.all_dialects, UNIVERSE.all_passes, UNIVERSE.all_targets):
        for factory in table.values():
            factory()
    gc.freeze()
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(address)
    listening.listen(64)
    print("ready", flush=True)
    while 0 not in select.select([0, listening], [], [])[0]:
        connection, _ = listening.accept()
        if os.fork() == 0:
            listening.close()
            _answer(connection, mains)
        connection.close()
        with contextlib.suppress(ChildProcessError):  # there are none
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _answer(connection: socket.socket, mains: dict[str, object]) -> NoReturn:
    header, files, _, _ = socket.recv_fds(connection, 8, 3)
    with connection.makefile("rb") as stream:
        tool, args, folder, environment = loads(stream.read(struct.unpack("<Q", header)[0]))
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):  # those of the server know other files
        old = getattr(sys, name)
        setattr(sys, name, open(old.fileno(), mode, encoding=old.encoding, errors=old.errors, closefd=False))
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    # as a process that starts with this environment would have it
    sys.path[:0] = [entry for entry in environment.get("PYTHONPATH", "").split(os.pathsep) if entry]
    from tilefuse.execution import registry

    registry._from_outside.cache_clear()
    sys.argv = [tool, *args]
    status = 1
    try:
        sys.exit(mains[tool]())  # type: ignore[operator]
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
        if isinstance(error.code, str):
            print(error.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.flush()
    sys.stderr.flush()
    connection.sendall(bytes([status & 255]))
    os._exit(status)


if __name__ == "__main__":
    _main(sys.argv[1])
