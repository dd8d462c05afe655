"""Cache of compiled kernels on disk and in memory, keyed by everything that they depend on.

Entries are files named by a hash. A writer makes a whole file and renames it into place, so concurrent
processes see an entry or none. A file that is not what was written is built again.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from platformdirs import user_cache_dir

_TRAILER = b"tilefuse-cache-1"


def cache_dir() -> Path:
    """Return the folder of the disk cache: `TILEFUSE_CACHE_DIR`, or the system's cache folder of the user."""
    return Path(os.environ.get("TILEFUSE_CACHE_DIR") or user_cache_dir("tilefuse", appauthor=False))


def _sha256(data: bytes = b"") -> Any:
    import hashlib  # late: it loads OpenSSL

    return hashlib.sha256(data)


def digest(*parts: str | bytes) -> str:
    """Hash the parts, with their boundaries."""
    state = _sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    found: str = state.hexdigest()
    return found


def read(path: Path) -> bytes | None:
    """Return the payload of an entry; None if it is missing or damaged."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    payload, trailer = data[: -len(_TRAILER) - 32], data[-len(_TRAILER) - 32 :]
    return payload if trailer == _sha256(payload).digest() + _TRAILER else None


def write_entry(path: Path, payload: bytes) -> bool:
    """Store an entry; return False if the disk refuses (a read-only cache is no error).

    The check stands behind the payload, where the loader of shared libraries does not mind it.
    """
    return _replace_file(path, payload + _sha256(payload).digest() + _TRAILER)


def _replace_file(path: Path, data: bytes) -> bool:
    """Write `data` atomically: `path` is always the old file, the new one, or absent."""
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except OSError:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        return False
    return True


_memory: dict[Path, bytes] = {}


def entry(kind: str, key: str, suffix: str = "") -> Path:
    """Return the file of the entry `key`, in the folder `kind`."""
    return cache_dir() / kind / key[:2] / (key[2:] + suffix)


def get_or_build(path: Path, build: Callable[[], bytes]) -> bytes:
    """Return the payload of an entry: from memory, else from disk, else built and stored."""
    found = _memory.get(path)
    if found is None:
        found = read(path)
        if found is None:
            found = build()
            write_entry(path, found)
        _memory[path] = found
    return found
