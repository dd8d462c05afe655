"""Rolling rows: the row of each stage that is computed with an output row, and the number of rows kept.

With row t of the output stage s computes its row t + last, the last of the rows that the output's row needs of it. Its
readers have got no further than their own, so of the stage no more is kept than lies between the first row that a
reader still reads and the last: as many rows as the tallest reader's stencil, however long the chain behind it is.
Of a stage of twice as many rows (its reader samples it down) the rows 2 t + last - 1 and 2 t + last are computed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tilefuse.analysis.index import Index, Span
from tilefuse.analysis.model import PipelineModel
from tilefuse.analysis.regions import Follow, regions
from tilefuse.execution.facts import GroupFacts


@dataclass(frozen=True)
class StageRows:
    """The rows of one stage, relative to the strip's first column and the current output row."""

    follow: tuple[Follow, ...]
    columns: Span
    """Beside those of the output: -1 and 2 for one more to the left and two to the right."""
    first: int
    """The first row that the output's row needs."""
    last: int
    """The last row that is computed with the output's."""
    kept: int
    """Rows."""
    deep: tuple[Span, ...]
    """The other dimensions; of one that follows the tile as for a whole tile."""
    rows_per_loop: int = 1
    """Rows of the output that are computed together; what is said of the output's row is so of all of them."""
    spare: int = 0
    """Elements at the end of a row that are computed with it, or read by others that are, for nothing."""
    lanes: int = 1
    """Elements of a vector; a row begins with one, so that few loads touch two lines of the cache."""

    @cached_property
    def column_steps(self) -> int:
        """Columns per output column."""
        return _steps(self.follow[0])

    @cached_property
    def row_steps(self) -> int:
        """Rows that are computed with each output row."""
        return _steps(self.follow[1]) * self.rows_per_loop

    @property
    def new(self) -> range:
        """The rows that are computed with the output's."""
        return range(self.last - self.row_steps + 1, self.last + 1)

    @cached_property
    def lead(self) -> int:
        """Output rows by which the stage starts before the first."""
        return (self.last - self.first) // self.row_steps

    @cached_property
    def planes(self) -> int:
        """Number of planes: rows of x at one y."""
        return math.prod(high - low + 1 for low, high in self.deep)

    def pitch(self, width: int) -> int:
        """Return the elements from row to row, for `width` output columns."""
        elements = (width - 1) * self.column_steps + self.columns[1] - self.columns[0] + 1 + self.spare
        return -(-elements // self.lanes) * self.lanes

    def elements(self, width: int) -> int:
        """Return the number of kept elements."""
        return self.kept * self.planes * self.pitch(width)


def why_not_rolling(facts: GroupFacts) -> str | None:
    """Explain why rows cannot be kept; None if they can. Raises NotFusable for an illegal group."""
    if facts.rank < 2:
        return "a strip needs an output with rows"
    for id, follow in facts.follow.items():
        name = facts.model.nodes[id].name
        if len(follow) < 2 or [f.dim for f in follow[:2]] != [0, 1]:
            return f"rows of '{name}' are not rows of the output"
        if any(f.dim in (0, 1) for f in follow[2:]):
            return f"planes of '{name}' follow columns or rows of the output"
        if any(not _is_integral(f) for f in follow[:2]) or any(f.ratio != 1 for f in follow[2:] if f.dim is not None):
            return f"'{name}' does not move with the output by whole points"
        if any(isinstance(i, Index) and i.den != 1 for a in facts.model.nodes[id].hull
               if a.producer in facts.follow for i in a.indices[:2]):  # fmt: skip
            return f"'{name}' reads another stage at fractional points"
        if any(not isinstance(i, Index) for a in facts.model.nodes[id].hull
               if a.producer in facts.follow for i in a.indices[:2]):  # fmt: skip
            return f"'{name}' reads another stage at data-dependent columns or rows"
    return None


def _is_integral(follow: Follow) -> bool:
    return follow.ratio.denominator == 1 and follow.ratio >= 1


def _steps(follow: Follow) -> int:
    assert _is_integral(follow)
    return follow.ratio.numerator


def rolling_rows(
    facts: GroupFacts, deep: Sequence[int], rows_per_loop: int = 1, vector_bytes: int = 0
) -> dict[int, StageRows]:
    """Compute the rows of every member; `deep`: tile sizes from the third dimension on. See `StripSchedule`."""
    model, output = facts.model, facts.output
    region = regions(model, list(facts.members), output, (1, rows_per_loop, *deep), facts.follow)
    newest = {id: r.spans[1][1] - _steps(r.follow[1]) * rows_per_loop + 1 for id, r in region.items()}
    narrowest = min(model.nodes[id].bytes for id in facts.members)
    spare = int(vector_bytes // narrowest)
    found = {}
    for id in facts.members:
        spans = region[id].spans
        first, last = spans[1]
        kept = 0 if id == output else last - min(newest[id], _oldest(model, id, newest)) + 1
        lanes = max(1, vector_bytes // min(model.nodes[id].element_bytes))
        found[id] = StageRows(region[id].follow, spans[0], first, last, kept, spans[2:], rows_per_loop, spare, lanes)
    return found


def _oldest(model: PipelineModel, id: int, newest: Mapping[int, int]) -> int:
    """Return the first row of a stage that a reader needs for its own rows, from `newest` on."""
    rows = []
    for reader in model.consumers(id):
        if reader not in newest:
            continue
        for access in model.nodes[reader].hull:
            if access.producer == id:
                y = access.indices[1]
                assert isinstance(y, Index)
                rows.append(newest[reader] * y.num + y.offset)
    return min(rows)
