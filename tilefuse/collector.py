"""Control of Python's cycle collector, which costs time where little is freed.

Importing and compiling make hundreds of thousands of objects that stay in use, and the collector visits them all
again and again: 30 ms of the imports, and a tenth of the time of a long chain.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_off() -> Iterator[None]:
    """Disable the cycle collector inside; reference counts still free memory. Also a decorator; blocks may nest."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
