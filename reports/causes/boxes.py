"""Boxes over the parameters of a family: conjunctions of conditions on cases."""

from __future__ import annotations

from dataclasses import dataclass

from reports.causes.axes import Axis


@dataclass(frozen=True)
class OneOf:
    """The axis has one of these values. ``outside``: it has a value, but none of these."""

    axis: Axis
    values: tuple[str, ...]
    outside: bool = False

    def takes(self, value: str) -> bool:
        """Tell whether a value of the axis meets the condition."""
        return (value in self.values) != self.outside

    def __str__(self) -> str:
        if self.axis.word:
            return f"{self.axis.word} {'in' if self.takes('yes') else 'not in'} {self.axis.parameter}"
        joined = " or ".join(self.values)
        if self.outside:
            return f"{self.axis} not {joined}"
        return f"{self.axis}{' = ' if self.axis.part else ':'}{joined}"


@dataclass(frozen=True)
class Between:
    """The axis has a number in a range; None for an open end."""

    axis: Axis
    least: int | None
    most: int | None

    def takes(self, value: str) -> bool:
        """Tell whether a value of the axis meets the condition."""
        if not value.isdecimal():
            return False
        return (self.least is None or int(value) >= self.least) and (self.most is None or int(value) <= self.most)

    def __str__(self) -> str:
        if self.least == self.most:
            return f"{self.axis}{' = ' if self.axis.part else ':'}{self.least}"
        if self.most is None:
            return f"{self.axis} >= {self.least}"
        return f"{self.axis} <= {self.most}" if self.least is None else f"{self.axis} from {self.least} to {self.most}"


@dataclass(frozen=True)
class Divisible:
    """The axis has a multiple of a number; ``outside``: a number that is not a multiple of it."""

    axis: Axis
    by: int
    outside: bool = False

    def takes(self, value: str) -> bool:
        """Tell whether a value of the axis meets the condition."""
        return value.isdecimal() and (int(value) % self.by == 0) != self.outside

    def __str__(self) -> str:
        if self.by == 2:
            return f"{self.axis} {'odd' if self.outside else 'even'}"
        return f"{self.axis} {'not a multiple' if self.outside else 'a multiple'} of {self.by}"


Condition = OneOf | Between | Divisible

Box = tuple[Condition, ...]
"""Conditions on different axes, ordered by them. A box without conditions contains every case."""


@dataclass(frozen=True)
class Inside:
    """A box of a family, and the outcomes of the cases in it.

    Attributes:
        family: the family of the cases.
        box: the conditions.
        failing: cases of the cause that are inside. ``passing``: cases that passed.
        other: cases that ran and did neither: they failed for another cause, or their values are permitted but not expected.
        tentative: whether such a box could also arise by chance, because few cases fail.
    """

    family: str
    box: Box
    failing: int
    passing: int
    other: int
    tentative: bool = False

    @property
    def ran(self) -> int:
        """Number of cases inside that ran."""
        return self.failing + self.passing + self.other


def phrase(box: Box) -> str:
    """Return the conditions in words."""
    return " and ".join(map(str, box))
