"""Parents that an operation may have, by name, so that children need not import the classes."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation
from xdsl.traits import OpTrait
from xdsl.utils.exceptions import VerifyException


@dataclass(frozen=True)
class HasParentNamed(OpTrait):
    """Constrain an operation to stand directly in one of these operations, as xDSL's HasParent does by class."""

    names: tuple[str, ...]

    def __init__(self, *names: str):
        object.__setattr__(self, "names", names)

    def verify(self, op: Operation) -> None:
        parent = op.parent_op()
        if parent is None or parent.name in self.names:  # nothing is known of an operation that is not yet inserted
            return
        names = ", ".join(f"'{name}'" for name in self.names)
        kind = f"'{op.name}' expects parent op"
        raise VerifyException(f"{kind} {names}" if len(self.names) == 1 else f"{kind} to be one of {names}")
