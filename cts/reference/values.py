"""Values of the reference model: matrices over all scope instances at once, with the allowed values of each element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn, TypeVar

import numpy as np

from cts.verdict.expected import NO_AUTHORITY, Authority, ErrorBound, Exact, Expectation, Interval, OneOf, Proof, ValueSet, one_set
from generators.errors import GeneratorError, Rule
from generators.numerics.exactness import History, quantum_exponents
from generators.numerics.formats import values
from generators.types import ComponentType


@dataclass(frozen=True)
class Certain:
    """The bits are the only value.

    Attributes:
        proof: why a sum of products has only one value; None for other values.
    """

    proof: Proof | None = None


@dataclass(frozen=True)
class Choice:
    """A rule of the specification allows several values of each element.

    Attributes:
        others: allowed alternatives to the bits of the value, each unsigned and of the same shape; at least one, or ``free``.
        free: where any value is allowed, bool; None for nowhere.
    """

    others: tuple[np.ndarray, ...]
    free: np.ndarray | None = None


@dataclass(frozen=True)
class Range:
    """A rule of the specification allows all values from ``low`` to ``high``; ``center`` is the true value. The arrays have shape
    (instances, rows, columns), of float64 or of integers read according to ``signed``."""

    low: np.ndarray
    high: np.ndarray
    center: np.ndarray
    signed: bool | None = None

    @property
    def least(self) -> np.ndarray:
        """The smaller magnitude of the two ends."""
        return np.asarray(np.minimum(np.abs(self.low), np.abs(self.high)))

    @property
    def most(self) -> np.ndarray:
        """The larger magnitude of the two ends."""
        return np.asarray(np.maximum(np.abs(self.low), np.abs(self.high)))


@dataclass(frozen=True)
class Envelope:
    """A float result is not proved exact, and the suite's envelope bounds it; float64, (instances, rows, columns).

    Attributes:
        center: the true value, rounded to float64.
        bound: the maximum distance of a result from ``center``, including the rounding error of ``center``; 0 if the result is proved.
        magnitude: S, the sum of the absolute values of all terms, for messages.
        nan: where NaN is allowed, bool; None for nowhere.
    """

    center: np.ndarray
    bound: np.ndarray
    magnitude: np.ndarray
    nan: np.ndarray | None = None


Knowledge = Certain | Choice | Range | Envelope
CERTAIN = Certain()


@dataclass(frozen=True)
class Origin:
    """The number before rounding, with which an implementation may continue.

    Vulkan lets an implementation evaluate an expression with a different number of roundings (facts.md C5, "Evaluation of Expressions"): a
    conversion to a narrower float and then to another type may be a single conversion.

    Attributes:
        component, bits: as in MatrixValue. ``signed``: how integers are read.
    """

    component: ComponentType
    bits: np.ndarray
    signed: bool


@dataclass(frozen=True)
class MatrixValue:
    """A cooperative matrix in every scope instance; or a cooperative vector in every invocation, as a matrix of one row.

    Attributes:
        component: the type of the elements.
        bits: unsigned, (instances, rows, columns); the most usual of several values; for a range, the values nearest to its center.
        computed: whether float arithmetic made the elements and the sign of a zero is free (facts.md C7).
        known: the other allowed values of the elements.
        history: the terms that a float result has summed so far.
        origins: for a float that a conversion has rounded, the numbers that further conversions may take instead of the elements.
        authority: the basis of the elements.
        nan_kept: whether a NaN should keep its bits: the elements were only moved (F-KHR-33).
        permitted: further values of the elements if more is permitted than expected; None if the two are the same.
    """

    component: ComponentType
    bits: np.ndarray
    computed: bool = False
    known: Knowledge = CERTAIN
    history: History | None = None
    origins: tuple[Origin, ...] = ()
    authority: Authority = NO_AUTHORITY
    nan_kept: bool = False
    permitted: Knowledge | None = None

    def check_operand(self) -> None:
        """Refuse operands whose deviations would be blamed on the operation that uses them.

        Raises:
            GeneratorError: more values are permitted than expected.
        """
        if self.permitted is not None:
            raise GeneratorError(
                Rule.WIDER_PERMITTED,
                "a result with more permitted values than expected ones is the operand of another operation, which would "
                "be blamed for it; use data that are exact in the bits that must be kept",
            )

    @property
    def is_certain(self) -> bool:
        """Return whether the bits are the only allowed values of the elements."""
        return isinstance(self.known, Certain) and self.permitted is None

    @property
    def numbers(self) -> np.ndarray:
        """Return the elements: float64 for floats (the center of an envelope), the component's own dtype for integers.

        Raises:
            GeneratorError: the specification allows several values.
        """
        self.check_operand()
        return self.addend

    @property
    def addend(self) -> np.ndarray:
        """Return the elements as C of a float multiply-add, which continues with their permitted values; otherwise as ``numbers``.

        Raises:
            GeneratorError: a rule allows several values.
        """
        match self.known:
            case Certain():
                return values(self.bits, self.component)
            case Envelope(center=center):
                return center
        raise GeneratorError(
            Rule.SEVERAL_VALUES,
            "a float result that may round either way is the operand of an operation that needs one value; use exact data, or store it",
        )

    @property
    def every_bits(self) -> tuple[np.ndarray, ...]:
        """Return the allowed bits of each element, the most usual first.

        Raises:
            GeneratorError: the allowed bits are a range, or more values are permitted than expected.
        """
        self.check_operand()
        return self.expected_bits

    @property
    def free(self) -> np.ndarray:
        """Return where any value is permitted, bool; the other elements have ``expected_bits``.

        Raises:
            GeneratorError: more is permitted than expected, but not every value.
        """
        if isinstance(self.permitted, Choice) and self.permitted.free is not None:
            return self.permitted.free
        self.check_operand()
        return np.zeros(self.bits.shape, bool)

    @property
    def expected_bits(self) -> tuple[np.ndarray, ...]:
        """Return the expected bits of each element, the most usual first.

        Raises:
            GeneratorError: they are a range.
        """
        match self.known:
            case Certain():
                return (self.bits,)
            case Choice(others=others):
                return (self.bits, *others)
        raise GeneratorError(Rule.VALUE_RANGE, "an operation takes floats that have a range of values; use exact data, or store them")

    def expectation(self) -> Expectation:
        """Return the allowed contents of memory after a store of this matrix."""
        every = expected = self._allowed(self.known)
        if self.nan_kept and isinstance(expected, Exact) and expected.any_nan.any():
            expected = replace(expected, nan_bits=True)
        if self.permitted is not None:
            return Expectation(self._allowed(self.permitted), expected, self.authority)
        return one_set(every, self.authority) if expected is every else Expectation(every, expected, self.authority)

    def _allowed(self, known: Knowledge) -> ValueSet:
        match known:
            case Certain(proof=proof):
                return Exact(self.component, self.bits, self.computed, proof)
            case Choice(others=others, free=free):
                return OneOf(self.component, (self.bits, *others), self.computed, free)
            case Range(low=low, high=high, center=center, signed=signed):
                return Interval(self.component, self.bits, low, high, center, signed=signed)
            case Envelope(center=center, bound=bound, magnitude=magnitude, nan=nan):
                # The subtraction rounds: one step outward keeps the ends valid.
                low = np.where(bound == 0, center, np.nextafter(center - bound, -np.inf))
                high = np.where(bound == 0, center, np.nextafter(center + bound, np.inf))
                return Interval(self.component, self.bits, low, high, center, ErrorBound(bound, magnitude), nan=nan)


class UndefinedMatrix(MatrixValue):
    """A value that may be passed on, for example by a loop, but not read."""

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "name", name)

    def __getattr__(self, _: str) -> NoReturn:
        raise GeneratorError("KHR-COMP-04", f"the value of {self.__dict__.get('name')} is undefined, but it is used (KHR-COMP-04)")


def select(value: MatrixValue, positions: np.ndarray) -> MatrixValue:
    """Return the value in some of its instances."""
    return value if isinstance(value, UndefinedMatrix) else _each_array(value, lambda array: array[positions])


def reshaped(value: MatrixValue, shape: tuple[int, ...]) -> MatrixValue:
    """Return the value with its elements, in order, in an array of another shape."""
    return _each_array(value, lambda array: array.reshape(shape))


def transposed(value: MatrixValue) -> MatrixValue:
    """Return the value with rows and columns exchanged in every instance."""
    return _each_array(value, lambda array: np.ascontiguousarray(array.swapaxes(1, 2)))


def _each_array(value: SomeHolder, change: Callable[[np.ndarray], np.ndarray]) -> SomeHolder:
    """Return the value after a change to every per-element array in it, also inside the values of its fields."""
    # A class's own constructor sets the fields one by one, which takes several times as long.
    new = object.__new__(type(value))
    vars(new).update({name: inner if type(inner) in _PLAIN else _changed(inner, change) for name, inner in vars(value).items()})
    return new


def _changed(inner: Any, change: Callable[[np.ndarray], np.ndarray]) -> Any:
    """Return what a field holds after the change."""
    if isinstance(inner, np.ndarray):
        return change(inner)
    if isinstance(inner, tuple):
        return tuple(_changed(one, change) for one in inner)
    return _each_array(inner, change) if isinstance(inner, _HOLDERS) else inner


_HOLDERS = (MatrixValue, Certain, Choice, Range, Envelope, Origin, Proof, History)
"""The classes with per-element arrays."""
_PLAIN = frozenset({bool, int, type(None), ComponentType, Authority})
"""Classes of fields without arrays."""
SomeHolder = TypeVar("SomeHolder", bound=MatrixValue | Certain | Choice | Range | Envelope | Origin | Proof | History)


def join(parts: Sequence[tuple[np.ndarray, MatrixValue]]) -> MatrixValue:
    """Join the values of parts of the instances, of one component type and shape, into one value.

    If some parts were computed and others moved, the whole counts as computed, and moved values have the history of a single term.

    Raises:
        GeneratorError: a rule allows several values for some elements and a range for others, or more is permitted than expected.
    """
    if len(parts) == 1:
        return parts[0][1]
    order = np.argsort(np.concatenate([where for where, _ in parts]))
    joined = [value for _, value in parts]

    def gathered(arrays: Sequence[np.ndarray]) -> np.ndarray:
        return np.concatenate(arrays)[order]

    if all(isinstance(value.known, Certain) and isinstance(value.permitted, Choice | None) for value in joined):
        permitted = _joined_choices(joined, gathered)
        if permitted is not None:
            joined, whole = [replace(value, permitted=None) for value in joined], joined
            value = join([(where, one) for (where, _), one in zip(parts, joined, strict=True)])
            kept = any(one.nan_kept for one in whole)
            return replace(value, permitted=permitted, nan_kept=kept, authority=_joined_authority(whole))
    if any(isinstance(known, Choice | Range) for value in joined for known in (value.known, value.permitted)):
        return _joined_by_rules(joined, gathered)

    history = None
    if any(value.history is not None for value in joined):
        terms = [value.history or _single_term(value) for value in joined]
        history = History(gathered([h.quantum for h in terms]), gathered([h.magnitude for h in terms]))
    return MatrixValue(
        joined[0].component,
        gathered([value.bits for value in joined]),
        any(value.computed for value in joined),
        _joined(joined, gathered),
        history,
        authority=_joined_authority(joined),
        permitted=_joined_envelopes([value.permitted or value.known for value in joined], joined, gathered)
        if any(value.permitted is not None for value in joined)
        else None,
    )


def _joined_authority(joined: Sequence[MatrixValue]) -> Authority:
    """Return the first authority of some values, with the first position by which less is expected than permitted."""
    first = next((value.authority for value in joined if value.authority != NO_AUTHORITY), NO_AUTHORITY)
    return replace(first, quality=next((value.authority.quality for value in joined if value.authority.quality), ""))


Gathered = Callable[[Sequence[np.ndarray]], np.ndarray]
"""A function that joins arrays of parts, in the order of the instances."""


def _joined_by_rules(joined: Sequence[MatrixValue], gathered: Gathered) -> MatrixValue:
    """Join parts into one value; for some of them, a rule allows several values or a range.

    Raises:
        GeneratorError: both, an envelope, or more is permitted than expected.
    """
    rules = {type(value.known) for value in joined} - {Certain}
    if len(rules) != 1 or Envelope in rules or any(value.permitted is not None or value.origins for value in joined):
        raise GeneratorError(
            Rule.ARMS, "arms of a branch give numbers for which rules permit several values in different ways; use exact data"
        )
    known: Knowledge
    if Choice in rules:
        known = Choice(_joined_others([value.every_bits for value in joined], gathered))
    else:
        ranges = [value.known if isinstance(value.known, Range) else _single(value) for value in joined]
        signed = ranges[0].signed
        known = Range(gathered([r.low for r in ranges]), gathered([r.high for r in ranges]), gathered([r.center for r in ranges]), signed)
    computed = any(value.computed for value in joined)
    return MatrixValue(
        joined[0].component, gathered([value.bits for value in joined]), computed, known, authority=_joined_authority(joined)
    )


def _joined_choices(joined: Sequence[MatrixValue], gathered: Gathered) -> Choice | None:
    """Return the permitted values of parts that each have one expected value; None if nothing else is permitted."""
    choices = [value.permitted if isinstance(value.permitted, Choice) else Choice(()) for value in joined]
    others = _joined_others([(value.bits, *choice.others) for value, choice in zip(joined, choices, strict=True)], gathered)
    free = gathered([np.zeros(part.bits.shape, bool) if one.free is None else one.free for part, one in zip(joined, choices, strict=True)])
    any_free = bool(free.any())
    return Choice(others, free if any_free else None) if others or any_free else None


def _joined_others(every: Sequence[tuple[np.ndarray, ...]], gathered: Gathered) -> tuple[np.ndarray, ...]:
    """Return the alternatives to the first bits of parts, joined. ``every``: the first bits of each part, and its alternatives.

    A part with fewer alternatives than another repeats its first bits.
    """
    most = max(map(len, every))
    return tuple(gathered([bits[place] if place < len(bits) else bits[0] for bits in every]) for place in range(1, most))


def _single(value: MatrixValue) -> Range:
    """Return a certain value as a range that contains nothing else.

    Raises:
        GeneratorError: one is NaN or infinite.
    """
    numbers = values(value.bits, value.component)
    if not np.isfinite(numbers).all():
        raise GeneratorError(Rule.ARMS, "arms of a branch give a range of numbers, and NaN or infinity; use finite data")
    return Range(numbers, numbers, numbers)


def _joined(joined: Sequence[MatrixValue], gathered: Gathered) -> Knowledge:
    """Join the allowed values of parts that each have a single value or an envelope."""
    if any(isinstance(value.known, Envelope) for value in joined):
        return _joined_envelopes([value.known for value in joined], joined, gathered)
    proofs = [value.known.proof if isinstance(value.known, Certain) else None for value in joined]
    if not any(proofs):
        return CERTAIN
    margins = [
        np.full(value.bits.shape, np.inf) if proof is None else proof.margin_bits for value, proof in zip(joined, proofs, strict=True)
    ]
    return Certain(Proof(min(proof.precision for proof in proofs if proof is not None), gathered(margins)))


def _joined_envelopes(known: Sequence[Knowledge], joined: Sequence[MatrixValue], gathered: Gathered) -> Envelope:
    """Return one envelope for all parts in ``joined``, some of which have single values."""
    found = [one if isinstance(one, Envelope) else _certain(value) for one, value in zip(known, joined, strict=True)]
    nan = None
    if any(e.nan is not None for e in found):
        nan = gathered([np.zeros(e.center.shape, bool) if e.nan is None else e.nan for e in found])
    return Envelope(gathered([e.center for e in found]), gathered([e.bound for e in found]), gathered([e.magnitude for e in found]), nan)


def _certain(value: MatrixValue) -> Envelope:
    return Envelope(value.addend, np.zeros(value.bits.shape), np.abs(value.addend))


def _single_term(value: MatrixValue) -> History:
    return History(quantum_exponents(value.addend), np.abs(value.addend))
