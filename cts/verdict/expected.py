"""The permitted contents of memory after a dispatch: two nested sets of values for each element that is written, and poison elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from generators.errors import GeneratorError, Rule
from generators.numerics.formats import integers, is_nan, sign_bit, values
from generators.types import ComponentType


@dataclass(frozen=True)
class Proof:
    """Why a computed float has one value: every partial sum, in every order and grouping, is exact (facts.md C31).

    Attributes:
        precision: bits of the narrowest plausible accumulation, in which all sums are exact.
        margin_bits: for each element, how many of these bits the sum of absolute values leaves unused; float64, infinite for a sum of
            zeros.
    """

    precision: int
    margin_bits: np.ndarray

    def __str__(self) -> str:
        return (
            f"exact under any order and grouping: every partial sum fits {self.precision} bits, with "
            f"{self.margin_bits.min():.2f} bits to spare in the tightest element"
        )


def _in_list(component: ComponentType, choices: Sequence[np.ndarray], either_zero: bool, bits: np.ndarray) -> np.ndarray:
    """Return which of ``bits`` are in the set: one of the choices, any NaN if a choice is NaN, or any zero if a choice is a zero and
    its sign is free."""
    inside = np.asarray(bits == choices[0])
    for choice in choices[1:]:
        inside = inside | (bits == choice)
    if inside.all():
        return inside
    if either_zero:
        magnitude = component.bits_dtype.type(sign_bit(component) - 1)
        zero = np.logical_or.reduce([(choice & magnitude) == 0 for choice in choices])
        inside = inside | (zero & ((bits & magnitude) == 0))
    if component.is_float:
        inside = inside | (_any_nan(component, choices) & is_nan(bits, component))
    return np.asarray(inside)


def _any_nan(component: ComponentType, choices: Sequence[np.ndarray]) -> np.ndarray:
    """Return where one of the choices is NaN. No specification defines the payload of a NaN (facts.md C16)."""
    return np.asarray(np.logical_or.reduce([is_nan(choice, component) for choice in choices]))


@dataclass(frozen=True)
class Exact:
    """One value for each element.

    Attributes:
        component: type of the elements.
        bits: unsigned integers of the component's width, of any shape. A NaN means any NaN, unless ``nan_bits``.
        either_zero: whether -0 and +0 are the same (facts.md C7: true unless SignedZeroInfNanPreserve, for computed floats).
        proof: why sums of computed floats do not round, else None.
        nan_bits: whether a NaN means only itself.
    """

    KIND: ClassVar[str] = "exact"

    component: ComponentType
    bits: np.ndarray
    either_zero: bool = False
    proof: Proof | None = None
    nan_bits: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of the elements."""
        return self.bits.shape

    @property
    def choices(self) -> tuple[np.ndarray, ...]:
        """Return the bits as the only choice, like OneOf."""
        return (self.bits,)

    @property
    def any_nan(self) -> np.ndarray:
        """Return for which elements every NaN is right, bool."""
        return np.zeros(self.shape, bool) if self.nan_bits else _any_nan(self.component, self.choices)

    def contains(self, bits: np.ndarray) -> np.ndarray:
        """Return which of ``bits`` (of the shape of the elements) are in the set, bool."""
        listed = self.component, self.choices, self.either_zero, bits
        if self.nan_bits:
            return np.asarray((bits == self.bits) | (_in_list(*listed) & ~is_nan(self.bits, self.component)))
        return _in_list(*listed)

    def part(self, where: np.ndarray) -> Exact:
        """Return the elements for which ``where`` (bool, of the same shape) holds, in one row: (1, 1, count), without the proof."""
        return replace(self, bits=self.bits[where].reshape(1, 1, -1), proof=None)


@dataclass(frozen=True)
class OneOf:
    """A few values for each element.

    Attributes:
        component: type of the elements.
        choices: bits, unsigned, all of one shape, the most usual first. A NaN means any NaN.
        either_zero: as in Exact.
        free: for which elements any bits are in the set, bool; None for no element.
    """

    KIND: ClassVar[str] = "alternatives"

    component: ComponentType
    choices: tuple[np.ndarray, ...]
    either_zero: bool = False
    free: np.ndarray | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of the elements."""
        return self.bits.shape

    @property
    def bits(self) -> np.ndarray:
        """Return the most usual choice of each element."""
        return self.choices[0]

    @property
    def any_nan(self) -> np.ndarray:
        """Return for which elements every NaN is right, bool."""
        found = _any_nan(self.component, self.choices)
        return found if self.free is None else found | self.free

    def contains(self, bits: np.ndarray) -> np.ndarray:
        """Return which of ``bits`` (of the shape of the elements) are in the set, bool."""
        inside = _in_list(self.component, self.choices, self.either_zero, bits)
        return inside if self.free is None else inside | self.free


@dataclass(frozen=True)
class ErrorBound:
    """The terms of an interval of the suite's error bound, for messages; float64, of the shape of the elements.

    Attributes:
        bound: half the width of the interval.
        magnitude: S, the sum of |a*b| + |c|.
    """

    bound: np.ndarray
    magnitude: np.ndarray


@dataclass(frozen=True)
class Interval:
    """A range of numbers for each element, and NaN for some.

    Attributes:
        component: type of the elements.
        bits: the bits nearest to the true value, unsigned.
        low, high: the ends, inclusive, of the shape of ``bits``: float64 for floats, integers for integers.
        center: the true value, of the same type.
        signed: whether integers are read as signed; None for floats.
        envelope: the terms of the error bound, if the interval is the suite's policy; None if the specification gives the interval.
    """

    KIND: ClassVar[str] = "interval"

    component: ComponentType
    bits: np.ndarray
    low: np.ndarray
    high: np.ndarray
    center: np.ndarray
    envelope: ErrorBound | None = None
    signed: bool | None = None
    nan: np.ndarray | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of the elements."""
        return self.bits.shape

    @property
    def any_nan(self) -> np.ndarray:
        """Return for which elements every NaN is right, bool."""
        return np.zeros(self.shape, bool) if self.nan is None else self.nan

    def contains(self, bits: np.ndarray) -> np.ndarray:
        """Return which of ``bits`` (of the shape of the elements) are in the set, bool."""
        number = values(bits, self.component) if self.signed is None else integers(bits, self.component, self.signed)
        # NaN compares false and is never between the ends.
        inside = np.asarray((number >= self.low) & (number <= self.high))
        return inside if self.nan is None else inside | (self.nan & is_nan(bits, self.component))


ValueSet = Exact | OneOf | Interval
"""The values of each element of an array of any shape."""


def includes(outer: ValueSet, inner: ValueSet) -> bool:
    """Tell whether ``outer`` has every value of ``inner``, element by element."""
    if outer.component is not inner.component or outer.shape != inner.shape:
        return False
    if isinstance(inner, Interval):
        return isinstance(outer, Interval) and bool(((outer.low <= inner.low) & (inner.high <= outer.high)).all())
    sign = inner.component.bits_dtype.type(sign_bit(inner.component))
    for choice in inner.choices:
        other_zero = np.where((choice & ~sign) == 0, choice ^ sign, choice) if inner.either_zero else choice
        if not (outer.contains(choice) & outer.contains(other_zero)).all():
            return False
    return True


@dataclass(frozen=True)
class Authority:
    """Why an expectation binds.

    Attributes:
        requirement: id of the normative statement, for example ``KHR-MAD-04``; empty if no instruction of a specification made the
            values (code that only moves them).
        position: id of the position that decides what is permitted, if the specifications are ambiguous; empty if no position does.
        quality: id of the position that makes the expected set smaller than the permitted set; empty if the two are the same.
    """

    requirement: str = ""
    position: str = ""
    quality: str = ""

    def __str__(self) -> str:
        return " and ".join(filter(None, (self.requirement, self.position, self.quality)))


NO_AUTHORITY = Authority()


@dataclass(frozen=True)
class Expectation:
    """The judgement of the elements of a store: two nested sets, and why they bind.

    Attributes:
        permitted: values that the specification lets an implementation give, including positions that only choose between readings of a
            binding text. A value outside of this set is a failure.
        expected: the part of ``permitted`` that all positions of the suite leave. A value only in ``permitted`` is not a failure.
        authority: why the two sets bind.
        may_be_dropped: for which elements the store may be dropped, bool, of the shape of the elements. Memory then keeps its contents,
            which is permitted but not expected. None for no element.

    Raises:
        GeneratorError: ``expected`` has values that are not permitted.
    """

    permitted: ValueSet
    expected: ValueSet
    authority: Authority = NO_AUTHORITY
    may_be_dropped: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.permitted is not self.expected and not includes(self.permitted, self.expected):
            raise GeneratorError(
                Rule.EXPECTED_SET, "an expectation expects values that it does not permit; make the permitted set include the expected one"
            )


def one_set(allowed: ValueSet, authority: Authority = NO_AUTHORITY) -> Expectation:
    """Return an expectation whose two sets are the same."""
    return Expectation(allowed, allowed, authority)


@dataclass(frozen=True)
class Placed:
    """Elements that a store writes.

    Attributes:
        array: name of the array.
        offsets: int64 byte offsets from the start of the array, shape (instances, rows, columns).
        expectation: the expectation, of the same shape.
        what: the name of the stored value, for messages.
        cells: instance, row and column of each element, int64, (count, 3), if only some of a matrix's elements are written. ``offsets`` and
            ``expectation`` then have the shape (1, 1, count). None if all elements are written.
        matrix: (instances, rows, columns) of that matrix; None if ``cells`` is None.
    """

    array: str
    offsets: np.ndarray
    expectation: Expectation
    what: str
    cells: np.ndarray | None = None
    matrix: tuple[int, int, int] | None = None

    @property
    def permitted(self) -> ValueSet:
        """Return the permitted values of the elements."""
        return self.expectation.permitted

    @property
    def expected(self) -> ValueSet:
        """Return the expected values of the elements."""
        return self.expectation.expected

    @property
    def component(self) -> ComponentType:
        """Return the type of the elements."""
        return self.expected.component

    @property
    def is_judged_by_two_sets(self) -> bool:
        """Tell whether some element has permitted values that are not expected."""
        return self.permitted is not self.expected or self.expectation.may_be_dropped is not None

    def not_permitted(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Return which elements have a value that they may not have, bool.

        Args:
            before, after: bits of the elements before and after the dispatch, of the shape of ``offsets``.
        """
        wrong = ~self.permitted.contains(after)
        dropped = self.expectation.may_be_dropped
        return wrong if dropped is None else wrong & ~(dropped & (before == after))

    def not_expected(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Return which elements have a value that they may have but should not, bool; parameters as for ``not_permitted``."""
        return np.asarray(~self.expected.contains(after) & ~self.not_permitted(before, after))

    def cell(self, at: tuple[int, int, int]) -> tuple[int, int, int]:
        """Return instance, row and column of the element at a position of ``offsets``."""
        if self.cells is None:
            return at
        instance, row, column = self.cells[at[2]].tolist()
        return instance, row, column

    def in_matrix(self, listed: np.ndarray) -> np.ndarray:
        """Return ``listed``, of the shape of ``offsets``, as a matrix, with zero for elements that the store does not write."""
        if self.cells is None or self.matrix is None:
            return listed
        whole = np.zeros(self.matrix, listed.dtype)
        whole[tuple(self.cells.T)] = listed.reshape(-1)
        return whole


@dataclass(frozen=True)
class Expected:
    """All elements that a dispatch writes. If several stores write an element, only the last one is listed. Bytes of output arrays that no
    element covers keep their old contents."""

    placed: tuple[Placed, ...]
    notes: tuple[str, ...] = field(default=())


def as_expected(expected: Expected) -> Expected:
    """Return the permitted results of a dispatch, if only the expected ones are permitted."""
    return replace(
        expected,
        placed=tuple(replace(one, expectation=one_set(one.expected, one.expectation.authority)) for one in expected.placed),
    )
