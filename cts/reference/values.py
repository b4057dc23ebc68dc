"""Values of the reference model: matrices over all scope instances at once, with what is known of each element."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cts.verdict.expected import Allowed, Proof
from generators.errors import GeneratorError
from generators.numerics.exactness import History, quantum_exponents
from generators.numerics.formats import is_nan, values
from generators.types import ComponentType


@dataclass(frozen=True)
class Envelope:
    """What is known of the elements of a float result that is not proved exact, float64, (instances, rows, columns).

    Attributes:
        center: the true value, rounded to float64.
        bound: how far a result may lie from ``center``, what ``center`` lost to rounding included; 0 where the result is proved.
        magnitude: S, the sum of the absolute values of all terms, for messages.
    """

    center: np.ndarray
    bound: np.ndarray
    magnitude: np.ndarray


@dataclass(frozen=True)
class Choice:
    """Several allowed values for each element of a computed float, where a rule of the specification leaves a choice.

    Attributes:
        others: what is allowed besides the bits of the value, each unsigned and of their shape.
        interval: (low, high, true value) where a range is allowed in place of ``others``: float64, inclusive.
    """

    others: tuple[np.ndarray, ...] = ()
    interval: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None


@dataclass(frozen=True)
class Origin:
    """What a rounded value was rounded from: the number that an implementation may go on with.

    Vulkan lets an implementation evaluate an expression with another number of roundings (facts.md C5, "Evaluation of Expressions"),
    so that a conversion to a narrower float and on to another type may be made in one.

    Attributes:
        component, bits: as in MatrixValue. ``signed``: how integers are read.
    """

    component: ComponentType
    bits: np.ndarray
    signed: bool


@dataclass(frozen=True)
class MatrixValue:
    """A cooperative matrix in every scope instance.

    Attributes:
        component: of the elements.
        bits: unsigned, (instances, rows, columns). With an envelope, those nearest to its center.
        computed: whether float arithmetic made the elements, so that the sign of a zero is free (facts.md C7).
        envelope: None where ``bits`` are the only value.
        history: the terms that a float result has summed so far.
        proof: why a float result has only one value, where it has.
        choice: what else the specification allows for a float result, None where nothing. Such a value may be stored and converted.
        origins: numbers that conversions may take in place of the elements, of a float that a conversion has rounded.
    """

    component: ComponentType
    bits: np.ndarray
    computed: bool = False
    envelope: Envelope | None = None
    history: History | None = None
    proof: Proof | None = None
    choice: Choice | None = None
    origins: tuple[Origin, ...] = ()

    @property
    def numbers(self) -> np.ndarray:
        """The elements: float64 for floats (the center of an envelope), the component's own dtype for integers.

        Raises:
            GeneratorError: the specification allows several values.
        """
        if self.choice is not None:
            raise GeneratorError(
                "a float result that may round either way is the operand of an operation that needs one value; use exact data, or store it"
            )
        return values(self.bits, self.component) if self.envelope is None else self.envelope.center

    @property
    def alternatives(self) -> tuple[np.ndarray, ...]:
        """Further allowed bits."""
        return () if self.choice is None else self.choice.others

    def allowed(self) -> Allowed:
        """The set of values that memory may hold after this matrix was stored."""
        if self.choice is not None:
            if self.choice.interval is None:
                return self._alternatives()
            low, high, center = self.choice.interval
            return Allowed(self.component, "interval", self.bits, low=low, high=high, center=center)
        if self.envelope is None:
            nan = is_nan(self.bits, self.component)
            # Nothing promises the payload of a NaN (facts.md C16).
            return Allowed(self.component, "exact", self.bits, nan=nan if nan.any() else False, either_zero=self.computed, proof=self.proof)
        center, bound = self.envelope.center, self.envelope.bound
        # The subtraction rounds: one step outward keeps the ends honest.
        low = np.where(bound == 0, center, np.nextafter(center - bound, -np.inf))
        high = np.where(bound == 0, center, np.nextafter(center + bound, np.inf))
        return Allowed(
            self.component, "interval", self.bits, low=low, high=high, center=center, magnitude=self.envelope.magnitude, bound=bound
        )

    def _alternatives(self) -> Allowed:
        nan = is_nan(self.bits, self.component)
        for other in self.alternatives:
            nan = nan | is_nan(other, self.component)
        allowed_nan = nan if nan.any() else False
        return Allowed(self.component, "alternatives", self.bits, self.alternatives, nan=allowed_nan, either_zero=self.computed)


def select(value: MatrixValue, positions: np.ndarray) -> MatrixValue:
    """The value in some of its instances."""
    envelope, history, proof = value.envelope, value.history, value.proof
    return MatrixValue(
        value.component,
        value.bits[positions],
        value.computed,
        None if envelope is None else Envelope(envelope.center[positions], envelope.bound[positions], envelope.magnitude[positions]),
        None if history is None else History(history.quantum[positions], history.magnitude[positions]),
        None if proof is None else Proof(proof.precision, proof.margin_bits[positions]),
        None if value.choice is None else _selected_choice(value.choice, positions),
        tuple(Origin(origin.component, origin.bits[positions], origin.signed) for origin in value.origins),
    )


def _selected_choice(choice: Choice, positions: np.ndarray) -> Choice:
    interval = choice.interval
    parts = None if interval is None else (interval[0][positions], interval[1][positions], interval[2][positions])
    return Choice(tuple(other[positions] for other in choice.others), parts)


def join(parts: Sequence[tuple[np.ndarray, MatrixValue]]) -> MatrixValue:
    """One value from those of parts of the instances, of one component type and shape.

    Where some parts were computed and others moved, the whole counts as computed, and what was moved has the history of a single term.

    Raises:
        GeneratorError: of some float the specification allows several values.
    """
    if len(parts) == 1:
        return parts[0][1]
    if any(value.choice is not None for _, value in parts):
        raise GeneratorError("arms of a branch give floats that may round either way; use exact data")
    positions = np.concatenate([where for where, _ in parts])
    order = np.argsort(positions)
    values = [value for _, value in parts]

    def gathered(arrays: Sequence[np.ndarray]) -> np.ndarray:
        return np.concatenate(arrays)[order]

    envelope, history, proof = None, None, None
    if any(value.envelope is not None for value in values):
        found = [value.envelope or _certain(value) for value in values]
        envelope = Envelope(gathered([e.center for e in found]), gathered([e.bound for e in found]), gathered([e.magnitude for e in found]))
    if any(value.history is not None for value in values):
        terms = [value.history or _single_term(value) for value in values]
        history = History(gathered([h.quantum for h in terms]), gathered([h.magnitude for h in terms]))
    proofs = [value.proof for value in values if value.proof is not None]
    if proofs and envelope is None:
        margins = [np.full(value.bits.shape, np.inf) if value.proof is None else value.proof.margin_bits for value in values]
        proof = Proof(min(p.precision for p in proofs), gathered(margins))
    bits = gathered([value.bits for value in values])
    return MatrixValue(values[0].component, bits, any(value.computed for value in values), envelope, history, proof)


def _certain(value: MatrixValue) -> Envelope:
    return Envelope(value.numbers, np.zeros(value.bits.shape), np.abs(value.numbers))


def _single_term(value: MatrixValue) -> History:
    return History(quantum_exponents(value.numbers), np.abs(value.numbers))
