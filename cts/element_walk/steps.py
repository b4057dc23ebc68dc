"""The way back from an element, in words."""

from __future__ import annotations

from dataclasses import dataclass

from generators.errors import CtsError


class NoSuchElement(CtsError):
    """A dispatch does not write the element."""


@dataclass(frozen=True)
class Place:
    """An element of an array that a dispatch wrote: the array, and instance, row and column in the stored matrix."""

    array: str
    instance: int
    row: int
    column: int


@dataclass(frozen=True)
class Term:
    """A term of a sum, in words: its index, the two factors, their product, and the exact sum up to and including it. A group of elements
    that a reduction combines has only ``left``."""

    index: str
    left: str
    right: str = ""
    product: str = ""
    total: str = ""


@dataclass(frozen=True)
class Step:
    """One operation on the way back.

    Attributes:
        what: which element of which matrix it is, and the operation that made it.
        value: its bits and value.
        terms: the terms of the sum, or the elements that a reduction combines.
        left_out: number of further terms.
        sources: the other elements and bytes that it was made from.
        suspected: its bits and value with the suspected defect, if they differ.
        instead: the first terms and sources with the suspected defect that differ.
    """

    what: str
    value: str
    terms: tuple[Term, ...] = ()
    left_out: int = 0
    sources: tuple[str, ...] = ()
    suspected: str = ""
    instead: tuple[str, ...] = ()


@dataclass(frozen=True)
class Walk:
    """How an element was computed.

    Attributes:
        place: the element.
        offset: its byte in the array.
        what: the stored matrix.
        expected: the permitted values.
        steps: from the store back to the loads.
        more: whether the way goes on.
    """

    place: Place
    offset: int
    what: str
    expected: str
    steps: tuple[Step, ...]
    more: bool

    @property
    def departure(self) -> Step | None:
        """The first step, in the order of execution, that the suspected defect changes."""
        return next((step for step in reversed(self.steps) if step.suspected), None)
