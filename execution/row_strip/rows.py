"""Rolling rows: which row of each stage is computed with a row of the output, and how many are kept.

With row t of the output stage s computes its row t + last, the last of the rows that the output's row needs of it. Its
readers have got no further than their own, so of the stage no more is kept than lies between the first row that a
reader still reads and the last: as many rows as the tallest reader's stencil, however long the chain behind it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tilefuse.analysis.index import Index, Span
from tilefuse.analysis.model import PipelineModel
from tilefuse.analysis.regions import Follow, regions
from tilefuse.execution.facts import GroupFacts


@dataclass(frozen=True)
class Rows:
    """The rows of one stage, in coordinates relative to the strip's first column and the output's present row."""

    follow: tuple[Follow, ...]
    columns: Span
    """Beside those of the output: -1 and 2 for one more to the left and two to the right."""
    first: int
    """The first row that the output's row needs."""
    last: int
    """The row that is computed with the output's."""
    kept: int
    """Rows."""
    deep: tuple[Span, ...]
    """The other dimensions; of one that follows the tile as for a whole tile."""

    @property
    def lead(self) -> int:
        """Rows that are computed before the output's first."""
        return self.last - self.first

    @property
    def planes(self) -> int:
        """Rows of x that lie at one y."""
        return math.prod(high - low + 1 for low, high in self.deep)

    def pitch(self, width: int) -> int:
        """Elements of a row in x, for `width` columns of the output."""
        return width + self.columns[1] - self.columns[0]

    def elements(self, width: int) -> int:
        """Elements that are kept."""
        return self.kept * self.planes * self.pitch(width)


def why_not_rolling(facts: GroupFacts) -> str | None:
    """Why rows cannot be kept; None if they can. Raises NotFusable for an illegal group."""
    if facts.rank < 2:
        return "a strip is of rows, and the output has none"
    for id, follow in facts.follow.items():
        name = facts.model.nodes[id].name
        if len(follow) < 2 or [f.dim for f in follow[:2]] != [0, 1]:
            return f"rows of '{name}' are not rows of the output"
        if any(f.ratio != 1 for f in follow if f.dim is not None):
            return f"'{name}' does not move with the output point by point"
    return None


def rolling_rows(facts: GroupFacts, deep: Sequence[int]) -> dict[int, Rows]:
    """The rows of every member; `deep`: sizes of the tile from the third dimension on."""
    model, output = facts.model, facts.output
    region = regions(model, list(facts.members), output, (1, 1, *deep), facts.follow)
    found = {}
    for id in facts.members:
        spans = region[id].spans
        first, last = spans[1]
        kept = 0 if id == output else last - _oldest(model, id, {m: r.spans[1][1] for m, r in region.items()}) + 1
        found[id] = Rows(region[id].follow, spans[0], first, last, kept, spans[2:])
    return found


def _oldest(model: PipelineModel, id: int, last: Mapping[int, int]) -> int:
    """The first row of a stage that any reader reads while it computes its own row."""
    rows = []
    for reader in model.consumers(id):
        if reader not in last:
            continue
        for access in model.nodes[reader].hull:
            if access.producer == id:
                y = access.indices[1]
                assert isinstance(y, Index)
                rows.append(last[reader] + y.offset)
    return min(rows)
