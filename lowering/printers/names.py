"""Variable names of printed C and CUDA: SSA name hints, made legal and unique per scope."""

from __future__ import annotations

from tilefuse.lowering.symbols import spelt

_LONGEST = 48


class ScopedNames:
    """The names in use, scope by scope: siblings may reuse a name, an inner scope never shadows one.

    Each ends in an underscore, which nothing else in the text does (`lowering/symbols.py`).
    """

    def __init__(self) -> None:
        self._scopes: list[dict[str, int]] = [{}]

    def push(self) -> None:
        """Open a scope."""
        self._scopes.append({})

    def pop(self) -> None:
        """Close the innermost scope; its names are free again."""
        self._scopes.pop()

    def fresh(self, hint: str) -> str:
        """Return an unused name like `hint`: `hint_`, else `hint_1_`, `hint_2_`, ..."""
        base = spelt(hint[:_LONGEST])
        count = max((scope.get(base, -1) for scope in self._scopes), default=-1)
        name = base
        while count >= 0 or self._taken(name):
            count += 1
            name = f"{base}_{count}" if count else base
            if not self._taken(name):
                break
        # The number last given to a base, so that many values with one hint cost no search.
        self._scopes[-1][base] = max(count, 0)
        self._scopes[-1].setdefault(name, 0)
        return f"{name}_"

    def _taken(self, name: str) -> bool:
        return any(name in scope for scope in self._scopes)
