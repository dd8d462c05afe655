"""Instrumentation between passes: IR dumps and timing."""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer


@dataclass
class Dumps:
    """The passes before and after which the IR is printed; None means all."""

    before: Collection[str] | None = ()
    after: Collection[str] | None = ()
    print_generic: bool = False
    print_debuginfo: bool = False

    def dump_before(self, name: str, module: ModuleOp) -> None:
        """Print `module` to stderr before pass `name` if requested."""
        if self.before is None or name in self.before:
            self._dump("before", name, module)

    def dump_after(self, name: str, module: ModuleOp) -> None:
        """Print `module` to stderr after pass `name` if requested."""
        if self.after is None or name in self.after:
            self._dump("after", name, module)

    def _dump(self, when: str, name: str, module: ModuleOp) -> None:
        print(f"// ----- IR dump {when} {name} -----", file=sys.stderr)
        printer = Printer(
            stream=sys.stderr,
            print_generic_format=self.print_generic,
            print_debuginfo=self.print_debuginfo,
        )
        printer.print_op(module)
        print("\n", file=sys.stderr)


@dataclass
class Timing:
    """Seconds per step, in order of first occurrence; repeated steps accumulate."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def measure(self, step: str) -> Iterator[None]:
        """Add the time of the `with` block to `step`."""
        self.seconds.setdefault(step, 0.0)
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[step] += time.perf_counter() - start

    def table(self) -> str:
        """Format one line per step, milliseconds and share, and the total."""
        total = sum(self.seconds.values())
        rows = [*self.seconds.items(), ("total", total)]
        width = max(len(name) for name, _ in rows)
        lines = [f"// ----- timing -----\n  {'step':<{width}}  {'ms':>10}  {'share':>6}"]
        for name, seconds in rows:
            share = 100 * seconds / total if total else 0.0
            lines.append(f"  {name:<{width}}  {1000 * seconds:>10.3f}  {share:>5.1f}%")
        return "\n".join(lines)
