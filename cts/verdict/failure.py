"""The findings of a comparison, from the comparator to the reports. cts.journal.record has its form in the journal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Literal

from cts.verdict.elements import number, words
from cts.verdict.sizes import MOST_ELEMENTS, Bits, Count, Ordinal, Side
from cts.verdict.tensor_map import TensorMap
from generators.types import COMPONENT_TYPES

MismatchKind = Literal["wrong value", "not written", "padding overwritten", "stray write", "permitted, not expected"]
"""The kinds of mistakes in elements or bytes. The last one breaks no rule."""

Number = float | int | str
"""A value that JSON can hold: infinities and NaN are strings."""


@dataclass(frozen=True)
class Bounds:
    """The interval of allowed values that an element is not in: its ends, and the true value."""

    low: float
    high: float
    center: float

    def __str__(self) -> str:
        return f", true value {number(self.center)}"


@dataclass(frozen=True)
class EnvelopeBounds(Bounds):
    """An interval of the suite's envelope: ``bound`` is half its width, ``magnitude`` S = sum |a*b| + |c|."""

    bound: float
    magnitude: float

    def __str__(self) -> str:
        return f"{super().__str__()}, bound {self.bound:.3g}, S {self.magnitude:.6g}"

    def distance(self, got: Number) -> str:
        """Return how far a value is from the true one, in words; nothing where that cannot be said."""
        if self.bound <= 0 or isinstance(got, str):
            return ""
        return f", off by {abs(got - self.center) / self.bound:.3g} of the bound"


@dataclass(frozen=True)
class WrongElement:
    """One element with a value that is not permitted.

    Attributes:
        instance, row, column: where in the matrix. ``offset``: byte offset in the array.
        component: the name of the type.
        expected_bits, expected: allowed bits and their value; of an interval those nearest to the true value.
        got_bits, got: what came back.
        others: further allowed bits.
        bounds: of an element that is judged by an interval, else None.
    """

    instance: Count
    row: Count
    column: Count
    offset: Count
    component: str
    expected_bits: Bits
    expected: Number
    got_bits: Bits
    got: Number
    others: tuple[Bits, ...] = ()
    bounds: Bounds | None = None

    def __post_init__(self) -> None:
        if max(self.expected_bits, self.got_bits, *self.others) >> COMPONENT_TYPES[self.component].bits:
            raise ValueError(f"an element has more bits than {self.component}")

    def hexadecimal(self, bits: int) -> str:
        """Return bits in as many digits as the type has."""
        return f"0x{bits:0{COMPONENT_TYPES[self.component].bits // 4}x}"

    @property
    def nearest(self) -> str:
        """Return the expected bits and their value."""
        return words(self.expected_bits, COMPONENT_TYPES[self.component])

    @property
    def returned(self) -> str:
        """Return the bits that came back, and their value."""
        return words(self.got_bits, COMPONENT_TYPES[self.component])

    def __str__(self) -> str:
        wanted = " or ".join((self.nearest, *(words(bits, COMPONENT_TYPES[self.component]) for bits in self.others)))
        got = self.returned
        if self.bounds is None:
            return f"expected {wanted}, got {got}"
        wanted = f"in [{number(self.bounds.low)}, {number(self.bounds.high)}], nearest {wanted}"
        if not isinstance(self.bounds, EnvelopeBounds):
            return f"expected {wanted}, got {got}"
        return f"expected {wanted}{self.bounds}; got {got}{self.bounds.distance(self.got)}"


@dataclass(frozen=True)
class FailingMatrix:
    """The matrix that has wrong elements, as far as a report draws it.

    Attributes:
        shape: rows and columns. ``component``: the name of the type.
        wrong: the wrong elements of each row of the first wrong instance, as hexadecimal masks with bit 0 for column 0.
        expected, got: bits of that instance's first 4096 elements in hexadecimal, row by row.
        instances: by number of a wrong instance, its masks.
        instance_count: how many scope instances have the matrix.

    Raises:
        ValueError: the parts do not fit each other. ``wrong``, ``expected``, ``got`` and ``instances`` may be left out together.
    """

    shape: tuple[Side, Side]
    component: str
    wrong: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()
    got: tuple[str, ...] = ()
    instances: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    instance_count: Ordinal = 1

    def __post_init__(self) -> None:
        if math.prod(self.shape) > MOST_ELEMENTS:
            raise ValueError(f"expected at most {MOST_ELEMENTS:,} elements, found {self.shape[0]} rows of {self.shape[1]}")
        if self.component not in COMPONENT_TYPES:
            raise ValueError("expected the name of a component type")
        for masks in (self.wrong, *self.instances.values()):
            if masks and (len(masks) != self.shape[0] or any(row.bit_length() > self.shape[1] for row in bit_masks(masks))):
                raise ValueError(f"the masks do not fit {self.shape[0]} rows of {self.shape[1]}")
        widths = {len(bits) for bits in (*self.expected, *self.got)}
        if widths and (widths != {COMPONENT_TYPES[self.component].bits // 4} or not _are_hexadecimal((*self.expected, *self.got))):
            raise ValueError(f"the bits of an element do not fit {self.component}")


_HEXADECIMAL = frozenset("0123456789abcdef")


def _are_hexadecimal(texts: tuple[str, ...]) -> bool:
    return _HEXADECIMAL.issuperset("".join(texts))


def bit_masks(masks: tuple[str, ...]) -> list[int]:
    """Return the masks of a matrix's rows as numbers.

    Raises:
        ValueError: one is not hexadecimal.
    """
    if not _are_hexadecimal(masks):
        raise ValueError("a mask is not hexadecimal")
    return [int(mask, 16) for mask in masks]


@dataclass(frozen=True)
class Mismatch:
    """One way in which an outcome is not what it may or should be.

    Attributes:
        kind: what is wrong with the elements or bytes.
        array: the array in memory. ``what``: the stored value; the place for bytes.
        instance: the first scope instance with wrong elements.
        count, total: wrong elements (bytes for padding and strays), and all, in all instances.
        pattern: which ones, in words.
        elements: the first wrong ones.
        matrix: all of them, None for bytes.
        grounds: why a computed float must have this one value, in words.
        requirement, position: ids of what the expectation rests on; empty where bytes are concerned, or nothing has an id.
    """

    kind: MismatchKind
    array: str
    what: str
    instance: Count
    count: Count
    total: Count
    pattern: str
    elements: tuple[WrongElement, ...] = field(default=(), repr=False)
    matrix: FailingMatrix | None = field(default=None, repr=False, compare=False)
    grounds: str = ""
    requirement: str = ""
    position: str = ""

    @property
    def summary(self) -> str:
        """Return one line."""
        unit = "elements" if self.matrix is not None else "bytes"
        return f"{self.kind}: {self.count} of {self.total} {unit} of {self.what} in {self.array}: {self.pattern}"


class Fit(Enum):
    """How many of the wrong elements a match explains."""

    ALL = ""
    WRONG_ELEMENTS = "the wrong elements; not the others"
    BEYOND_ARRAY = "reading beyond the array too"


@dataclass(frozen=True)
class Match:
    """An explanation of a failure, or its relation to the expected values.

    Attributes:
        id: of the glossary's entry; empty where there is none.
        sentence: the entry's text, filled in.
        fit: how much it explains.
        explains, failing: how many failing elements of the case it explains, of how many; 0 of 0 where nobody counted.
        equal: whether another match explains as much, so nothing tells which of them it is.
    """

    id: str
    sentence: str
    fit: Fit = Fit.ALL
    explains: Count = 0
    failing: Count = 0
    equal: bool = False

    @property
    def text(self) -> str:
        """Return the sentence, and how much it explains if not all."""
        return f"{self.sentence} ({self.fit.value})" if self.fit.value else self.sentence

    @property
    def key(self) -> tuple[str, str, Fit]:
        """Return what is the same in every subcase that the match explains."""
        return self.id, self.sentence, self.fit


def explanations(matches: Sequence[Match]) -> tuple[str, ...]:
    """Return a sentence for each match, with the failing elements that it explains; one for all that explain as much."""
    equal = [match for match in matches if match.equal]
    if not equal:
        return tuple(f"{match.text}{_share(match)}" for match in matches)
    rest = [match for match in matches if not match.equal]
    several = f"{len(equal)} that fit equally well: {'; or '.join(match.text for match in equal)}{_share(equal[0])}"
    return (several, *explanations(rest))


def _share(match: Match) -> str:
    return f" ({match.explains} of {match.failing} failing elements)" if match.failing else ""


@dataclass(frozen=True)
class Failure:
    """A mismatch of a case, as the journal keeps it.

    Attributes:
        subcase: the name of the subcase.
        mismatch: what the comparator found.
        matches: what explains it.
        tensor: how the matrix is in a tensor, where tensor addressing moves it.
        unreadable: why elements of a journal are left out, where they make no sense; else empty.
    """

    subcase: str
    mismatch: Mismatch
    matches: tuple[Match, ...] = ()
    tensor: TensorMap | None = None
    unreadable: str = ""

    @property
    def brief(self) -> Failure:
        """Return the failure without the parts that grow with the matrix: a broken driver makes gigabytes of that."""
        mismatch = self.mismatch
        matrix = None if mismatch.matrix is None else FailingMatrix(mismatch.matrix.shape, mismatch.matrix.component)
        return replace(self, mismatch=replace(mismatch, elements=(), matrix=matrix), tensor=None)
