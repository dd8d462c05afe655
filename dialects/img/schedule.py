"""Schedules of groups: the base of all attributes. Each execution model has an attribute `#schedule.<model>`."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

from xdsl.ir import Data
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

ParameterValue = int | tuple[int, ...]
"""A parameter of a schedule: an integer, or a list of them."""

DIALECT = "schedule"
MOST_IN_SCHEDULE = (1 << 31) - 1
"""The largest number of a schedule: kernels and launches count in 32 bits."""


_PARAMETER = re.compile(r"\s*([a-z_]+)\s*=\s*(?:(\d+)|\[([\d,\s]*)\])\s*(?:,(?=\s*[a-z])|$)")


class ScheduleAttr(Data[tuple[tuple[str, ParameterValue], ...]], ABC):
    """`#schedule.some_model<threads = [32, 8], vector = 4>`: how a group runs, in numbers that its model has names for.

    A subclass states its name, `schedule.<model>`, its parameters, and what must hold for them (`verify`).
    """

    name = DIALECT

    PARAMETERS: ClassVar[Mapping[str, ParameterValue | None]] = {}
    """Each parameter with its default, in the order of the text: None for a list that has to be given."""

    def __init__(self, data: Sequence[tuple[str, ParameterValue]] = (), /, **given: int | Sequence[int]):
        numbers = dict(data) | {k: n if isinstance(n, int) else tuple(n) for k, n in given.items()}
        if unknown := numbers.keys() - self.PARAMETERS.keys():
            raise VerifyException(f"a {self.model} takes no {', '.join(sorted(unknown))}")
        values = ((key, numbers.get(key, default)) for key, default in self.PARAMETERS.items())
        super().__init__(tuple((key, value) for key, value in values if value is not None))
        for key, value in self.data:  # last: models say more of numbers that they know
            if (most := max(value, default=0) if isinstance(value, tuple) else value) > MOST_IN_SCHEDULE:
                raise VerifyException(f"{key} has {most}, and {MOST_IN_SCHEDULE} is the most")

    @property
    def model(self) -> str:
        """The execution model, by name."""
        return self.name.removeprefix(f"{DIALECT}.")

    def number(self, key: str) -> int:
        """Return a parameter that is an integer."""
        value = dict(self.data)[key]
        assert isinstance(value, int)
        return value

    def numbers(self, key: str) -> tuple[int, ...]:
        """Return a parameter that is a list."""
        value = dict(self.data)[key]
        assert isinstance(value, tuple)
        return value

    @classmethod
    def expect(cls, schedule: ScheduleAttr | None) -> Self:
        """Narrow the schedule of a group that has one of this kind."""
        assert isinstance(schedule, cls)
        return schedule

    def changed(self, **changes: int | Sequence[int]) -> Self:
        """Copy the schedule with some parameters changed."""
        return type(self)(self.data, **changes)

    # --- what passes ask every schedule

    @property
    @abstractmethod
    def thread_counts(self) -> tuple[int, ...]:
        """Threads per block, x first."""

    @property
    def tile_sizes(self) -> tuple[int, ...] | None:
        """Points per block, of the output or of an update's pure coordinates, x first; None if there are no tiles."""
        return None

    @property
    def resident_blocks(self) -> int:
        """Blocks that a multiprocessor must have registers for; 0 if the compiler decides."""
        return 0

    @property
    def few_waves(self) -> bool:
        """Whether it is for a kernel of few waves: blocks start row by row, and the slowest tile decides the time."""
        return False

    @property
    def knows_inputs(self) -> bool:
        """Whether the kernel treats inputs of the pipeline otherwise than results of other kernels."""
        return False

    def for_many_waves(self) -> Self:
        """Return the schedule for blocks that run in any number of waves."""
        return self

    # --- text

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[tuple[str, ParameterValue], ...]:
        found: dict[str, ParameterValue] = {}

        def parameter() -> None:
            pos = parser.pos
            key = parser.parse_optional_keyword_in(cls.PARAMETERS)
            if key is None:
                parser.raise_error(f"expected {_either(list(cls.PARAMETERS))}")
            if key in found:
                parser.raise_error(f"'{key}' is given twice", pos)
            parser.parse_punctuation("=")
            if isinstance(cls.PARAMETERS[key], int):
                found[key] = parser.parse_integer(allow_negative=False)
            else:
                found[key] = tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer))

        parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parameter)
        for key, default in cls.PARAMETERS.items():
            if default is None and key not in found:
                parser.raise_error(f"expected '{key} = [...]'")
        return tuple(found.items())

    def print_parameter(self, printer: Printer) -> None:
        said = ((key, value) for key, value in self.data if value != self.PARAMETERS[key])
        texts = (f"{key} = {value if isinstance(value, int) else list(value)}" for key, value in said)
        printer.print_string(f"<{', '.join(texts)}>")


def parameters_in(text: str) -> dict[str, ParameterValue]:
    """Parse the parameters of a schedule's text, `blocks = 2, unroll = [1, 2]`. Raises VerifyException."""
    found: dict[str, ParameterValue] = {}
    at = 0
    while (one := _PARAMETER.match(text, at)) is not None:
        key, number, several = one.groups()
        found[key] = int(number) if several is None else tuple(int(n) for n in several.split(",") if n.strip())
        at = one.end()
    if at < len(text) or not found:
        raise VerifyException(f"'{text}' is no list of a schedule's parameters, as 'blocks = 2, unroll = [1, 2]'")
    return found


def _either(words: Sequence[str]) -> str:
    *most, last = (f"'{w}'" for w in words)
    return f"{', '.join(most)} or {last}" if most else last
