"""Finds out what mistakes make of the right operands: two mistakes that make the same of them mostly have the same outcome.

This costs a step for each time that the operation is performed, and an evaluation costs hundreds.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from enum import Enum, auto

import numpy as np

from cts.defects.defect import Defect
from cts.defects.evaluation import UNKNOWN, Substitute, Trace
from cts.defects.starts import own_values
from cts.reference.state import State
from cts.reference.values import Certain, Envelope, MatrixValue
from generators.errors import GeneratorError, Rule
from generators.program.operation import Operation
from generators.program.walking import results

BEYOND = frozenset({Rule.OUT_OF_BOUNDS, Rule.NO_WINDOW, "VUID-RuntimeSpirv-None-10834"})
"""The rules that an access beyond an array breaks."""


class Special(Enum):
    """An effect of a mistake on one operation that is not a value.

    Attributes:
        NONE: the operation gives the right values.
        ERROR: the reference model cannot go on.
    """

    NONE = auto()
    ERROR = auto()


@dataclass(frozen=True)
class Effect:
    """The values that a mistake computes from the right operands of its operations.

    Attributes:
        key: the values; equal for mistakes that compute the same ones.
        is_certain: whether a mistake with an equal effect has the same outcome: each operation is performed only once.
    """

    key: Hashable
    is_certain: bool

    @property
    def explains_nothing(self) -> bool:
        """Whether the outcome is right, or cannot be known."""
        return self.key is Special.NONE or self.key is Special.ERROR


@dataclass
class Effects:
    """The effects of mistakes in one subcase.

    Attributes:
        trace: what the right program computes.
    """

    trace: Trace
    _known: dict[tuple[int, Operation], Hashable] = field(default_factory=dict)
    _right: dict[Operation, list[Hashable] | None] = field(default_factory=dict)
    _steps: list[Substitute] = field(default_factory=list)

    def of(self, defect: Defect) -> Effect | None:
        """Return the effect of a defect; None if that is not known."""
        if defect.changes_others:
            return None
        found: list[tuple[Operation, Hashable]] = []
        for operation, step in defect.substitutes.items():
            if operation not in self.trace.before:
                return None
            key = (id(step), operation)
            if key not in self._known:
                self._steps.append(step)  # Its identity is a key, so it must stay.
                with np.errstate(all="ignore"):
                    self._known[key] = self._of_step(operation, step)
            effect = self._known[key]
            if effect is None:
                return None
            if effect is not Special.NONE:
                found.append((operation, effect))
        if not found:
            return Effect(Special.NONE, is_certain=True)
        if any(effect is Special.ERROR for _, effect in found):
            return Effect(Special.ERROR, is_certain=True) if len(found) == 1 else None
        return Effect(frozenset(found), all(self.trace.times[operation] == 1 for operation, _ in found))

    def _of_step(self, operation: Operation, step: Substitute) -> Hashable:
        """Return the effect of one step; None if that is not known."""
        states = self.trace.before[operation]
        right = self._right_of(operation)
        if right is None:
            return None
        made: list[Hashable] = []
        for state in states:
            own = own_values(state)
            try:
                step(own, operation)
            except UNKNOWN as error:
                beyond = isinstance(error, GeneratorError) and error.rule in BEYOND
                same = made == right[: len(made)]
                return Special.ERROR if same and not beyond else None
            values = _made(own, operation)
            if values is None:
                return None
            made.append(values)
        if made == right:
            return Special.NONE if self.trace.times[operation] == len(states) else None
        return tuple(made)

    def _right_of(self, operation: Operation) -> list[Hashable] | None:
        """Return what an operation should make; None if that is not known."""
        if operation not in self._right:
            made: list[Hashable] = []
            for state in self.trace.before[operation]:
                own = own_values(state)
                own.perform(own, operation)
                made.append(_made(own, operation))
            self._right[operation] = made if None not in made else None
        return self._right[operation]


class _NotPlainError(Exception):
    """A result has other parts than values."""


def _made(state: State, operation: Operation) -> Hashable:
    """Return the results of an operation as bytes; None if they are not plain values."""
    try:
        return tuple(_plain(_value(state, one.name)) for one in results(operation))
    except _NotPlainError:
        return None


def _value(state: State, name: str) -> object:
    for values in (state.matrices, state.scalars, state.aggregates):
        if name in values:
            return values[name]
    raise _NotPlainError


def _plain(value: object) -> Hashable:
    match value:
        case np.ndarray():
            return value.shape, value.tobytes()
        case tuple():
            return tuple(map(_plain, value))
        case MatrixValue(known=Certain()) if type(value) is MatrixValue:
            return _plain(value.bits)
        case MatrixValue(known=Envelope(center=center, bound=bound)) if type(value) is MatrixValue:
            return _plain(center), _plain(bound)
        case None:
            return None
    raise _NotPlainError
