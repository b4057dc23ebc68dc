"""The findings of a comparison, from the comparator to the reports. cts.journal.record defines their form in the journal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Literal

from cts.verdict.elements import number, words
from cts.verdict.machine import MachineWalk
from cts.verdict.sizes import MOST_ELEMENTS, Bits, Count, Ordinal, Side
from cts.verdict.tensor_map import TensorMap
from generators.types import COMPONENT_TYPES

MismatchKind = Literal["wrong value", "not written", "padding overwritten", "stray write", "permitted, not expected"]
"""The kinds of mistakes in elements or bytes. The last one breaks no rule."""

UNWRITTEN: MismatchKind = "not written"
"""The kind of elements that still have the bits from before the dispatch. These bits say nothing, so reports do not show them."""

SHORT_INSTANCES = 4
"""How many scope instances with wrong elements a shortened failure keeps."""

Number = float | int | str
"""A value that JSON can hold: infinities and NaN are strings."""


@dataclass(frozen=True)
class Bounds:
    """The interval that an element's value is outside of.

    Attributes:
        low, high, center: if an interval is allowed: its ends, and the true value.
    """

    low: float
    high: float
    center: float

    def __str__(self) -> str:
        return f", true value {number(self.center)}"


@dataclass(frozen=True)
class EnvelopeBounds(Bounds):
    """An interval of the suite's envelope.

    Attributes:
        low, high, center: if an interval is allowed: its ends, and the true value.
        bound, magnitude: if the interval is the suite's error bound: half its width, and the sum of the magnitudes, S = sum |a*b| + |c|.
    """

    bound: float
    magnitude: float

    def __str__(self) -> str:
        return f"{super().__str__()}, bound {self.bound:.3g}, S {self.magnitude:.6g}"

    def distance(self, got: Number) -> str:
        """Return how far a value is from the true value, in words; empty if there is no distance."""
        if self.bound <= 0 or isinstance(got, str):
            return ""
        return f", off by {abs(got - self.center) / self.bound:.3g} of the bound"


@dataclass(frozen=True)
class WrongElement:
    """One element with a value that is not permitted.

    Attributes:
        instance, row, column, offset: where it is in the matrix, and at which byte of the array.
        component: the name of the type.
        expected_bits, expected: allowed bits and their value; for an interval, the ones nearest to the true value.
        got_bits, got: the bits that the device returned, and their value.
        others: further allowed bits, if there are any.
        bounds: the interval, if the element is judged by one, else None.
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
        """Write bits in hexadecimal, with all digits of the type."""
        return f"0x{bits:0{COMPONENT_TYPES[self.component].bits // 4}x}"

    @property
    def nearest(self) -> str:
        """Return the expected bits and their value."""
        return words(self.expected_bits, COMPONENT_TYPES[self.component])

    @property
    def returned(self) -> str:
        """Return the bits that came back, and their value."""
        return words(self.got_bits, COMPONENT_TYPES[self.component])

    @property
    def wanted(self) -> str:
        """Return the allowed values."""
        every = " or ".join((self.nearest, *(words(bits, COMPONENT_TYPES[self.component]) for bits in self.others)))
        if self.bounds is None:
            return every
        interval = f"in [{number(self.bounds.low)}, {number(self.bounds.high)}], nearest {every}"
        return f"{interval}{self.bounds}" if isinstance(self.bounds, EnvelopeBounds) else interval

    def described(self, kind: MismatchKind) -> str:
        """Return both sides, for a mismatch of a kind."""
        if kind == UNWRITTEN:
            return f"expected {self.wanted}, {UNWRITTEN}"
        if isinstance(self.bounds, EnvelopeBounds):
            return f"expected {self.wanted}; got {self.returned}{self.bounds.distance(self.got)}"
        return f"expected {self.wanted}, got {self.returned}"

    def __str__(self) -> str:
        return self.described("wrong value")


@dataclass(frozen=True)
class FailingMatrix:
    """A matrix with wrong elements, as far as a report draws it.

    Attributes:
        shape, component: rows and columns, and the name of the type.
        wrong: the wrong elements of each row of the first wrong instance, as hexadecimal masks with bit 0 for column 0.
        expected, got: the bits of that instance's first 4096 elements in hexadecimal, row by row; of fewer if the line would be too long.
        instances, instance_count: the masks of each instance that has wrong elements, by its number; how many instances there are.

    Raises:
        ValueError: the parts contradict each other. ``wrong``, ``expected``, ``got`` and ``instances`` may be left out together.
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
        ValueError: a mask is not hexadecimal.
    """
    if not _are_hexadecimal(masks):
        raise ValueError("a mask is not hexadecimal")
    return [int(mask, 16) for mask in masks]


@dataclass(frozen=True)
class Mismatch:
    """One way in which an outcome is not permitted or not expected.

    Attributes:
        kind: ``wrong value``, ``not written``, ``padding overwritten`` or ``stray write``; ``permitted, not expected`` for a quality
            warning.
        array, what: the array in memory, and the matrix that was stored there; for bytes, their place.
        instance: the first scope instance that has wrong elements.
        count, total: how many elements (bytes for padding and strays) are wrong, and how many there are, in all instances.
        pattern: which of them are wrong, for people.
        elements: the first 512 wrong elements; fewer if the line would be longer than 64 KB.
        matrix: the matrix with all wrong elements; None for bytes.
        grounds: why a computed float must have this one value, for people.
        requirement, position: ids of the requirement and of the position on which the expectation depends; absent for bytes, or if there
            are none. In a failure, the position chooses between readings of the text; in a quality warning, it expects less than the text
            permits.
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
    FEW = "perhaps by chance: only one or two elements are wrong"
    ENDED = "others may fit as well: the search ended at its limit"


WHOLE = frozenset({Fit.ALL, Fit.ENDED})
"""What defects fit that give all results, too many to fit by chance."""


@dataclass(frozen=True)
class Match:
    """An explanation of a failure, or its relation to the expected values.

    Attributes:
        id: the id of the defect in the glossary; empty if there is none.
        sentence: the entry's text with its parameters.
        fit: how much it explains.
        text: the description of the defect for people, and how much it explains if not all.
        explains, failing: how many failing elements of the case it explains, and how many there are; absent if they were not counted.
        equal: whether the defect is not known: several matches explain the same number of elements, one may fit by chance, or the search
            ended before it tried all others; absent if not.
        where: the parameters of the defect, which tell it from others of the program with the same id; absent if it has none.
    """

    id: str
    sentence: str
    fit: Fit = Fit.ALL
    explains: Count = 0
    failing: Count = 0
    equal: bool = False
    where: str = ""

    @property
    def text(self) -> str:
        """Return the sentence, and how much it explains if not all."""
        return f"{self.sentence} ({self.fit.value})" if self.fit.value else self.sentence

    @property
    def key(self) -> tuple[str, str, Fit]:
        """Return the parts that are the same in every subcase that the match explains."""
        return self.id, self.sentence, self.fit


def explanations(matches: Sequence[Match]) -> tuple[str, ...]:
    """Return a sentence for each match, with the number of failing elements that it explains; one sentence for all equal matches."""
    equal = [match for match in matches if match.equal]
    if not equal:
        return tuple(f"{match.text}{_share(match)}" for match in matches)
    rest = [match for match in matches if not match.equal]
    of_several = f"{len(equal)} that fit equally well: " if len(equal) > 1 else ""
    several = f"{of_several}{'; or '.join(match.text for match in equal)}{_share(equal[0])}"
    return (several, *explanations(rest))


def _share(match: Match) -> str:
    return f" ({match.explains} of {match.failing} failing elements)" if match.failing else ""


@dataclass(frozen=True)
class Failure:
    """A mismatch of a case, in the form of the journal.

    Attributes:
        subcase: the name of the dispatch.
        mismatch: what the comparator found.
        matches: the defects that explain it, the best first.
        tensor: which element of a tensor is which element of the matrix, if tensor addressing moves it.
        machine: how the machine code made the first wrong element, if a model of the chip executed it.
        unreadable: why malformed elements of a journal are left out; else empty.
    """

    subcase: str
    mismatch: Mismatch
    matches: tuple[Match, ...] = ()
    tensor: TensorMap | None = None
    machine: MachineWalk | None = None
    unreadable: str = ""

    def shortened(self, elements: int, bits: int, masks: bool) -> Failure:
        """Return the failure with at most so many of its wrong elements.

        Args:
            elements: the maximum.
            bits: the maximum number of elements of the matrix whose bits it keeps.
            masks: whether it keeps which elements of the first wrong instances are wrong.
        """
        mismatch, matrix = self.mismatch, self.mismatch.matrix
        if matrix is not None and masks:
            first = {instance: matrix.instances[instance] for instance in list(matrix.instances)[:SHORT_INSTANCES]}
            matrix = replace(matrix, expected=matrix.expected[:bits], got=matrix.got[:bits], instances=first)
        elif matrix is not None:
            matrix = FailingMatrix(matrix.shape, matrix.component)
        return replace(self, mismatch=replace(mismatch, elements=mismatch.elements[:elements], matrix=matrix))

    @property
    def brief(self) -> Failure:
        """Return the failure without the parts that grow with the matrix: with a broken driver they would be gigabytes."""
        mismatch = self.mismatch
        matrix = None if mismatch.matrix is None else FailingMatrix(mismatch.matrix.shape, mismatch.matrix.component)
        return replace(self, mismatch=replace(mismatch, elements=(), matrix=matrix), tensor=None, machine=None)
