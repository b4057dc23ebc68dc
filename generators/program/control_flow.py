"""Structured control flow around matrices: loops, branches, switches and exits (SPIR-V 2.11); code that each invocation runs for itself;
code with a stated effect.

Around matrices all of it is uniform over each scope instance, since an instruction with a cooperative matrix is executed by all invocations
of the scope or by none (KHR-UNI-01). It may differ between instances if the deciding value does. Around cooperative vectors it may differ
between invocations (CV-CTRL-01).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from generators.program.operation import Effect, Hint, InvocationOperation, Operation, Part
from generators.program.values import (
    AnyValue,
    ArrayType,
    ArrayValue,
    CooperativeVector,
    CooperativeVectorType,
    Matrix,
    MatrixType,
    Operand,
    Pointer,
    PointerType,
    Scalar,
    ScalarValue,
    Selected,
    Value,
    literal,
)
from generators.types import COMPONENT_TYPES, ComponentType

Flowing = Value[MatrixType | CooperativeVectorType | ArrayType | ComponentType | PointerType]
"""A value that a loop carries, or that a merge of arms chooses."""

FlowingSource = Matrix | CooperativeVector | ArrayValue | ScalarValue | Pointer
"""The initial value, or a source, of such a value."""

_ZERO, _ONE = (literal(COMPONENT_TYPES["u32"], value) for value in (0, 1))

Relation = Literal["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]


@dataclass(frozen=True)
class Condition(Part):
    """``left`` ``relation`` ``right``, two scalars of one type: integers compared by its signedness, or floats that are not NaN."""

    left: ScalarValue
    relation: Relation
    right: ScalarValue


@dataclass(frozen=True)
class Select(InvocationOperation):
    """``result`` is ``then`` if the condition holds, otherwise ``otherwise``; three scalars or cooperative vectors of one type.
    Matrices are left out (F-KHR-5)."""

    result: Scalar | CooperativeVector
    condition: Condition
    then: ScalarValue | CooperativeVector
    otherwise: ScalarValue | CooperativeVector


@dataclass(frozen=True)
class Carried(Part):
    """A matrix, cooperative vector, array, scalar or pointer that a loop carries: ``initial`` before the first iteration, ``current``
    inside the body, ``next`` computed by the body; after the loop ``current`` has the final value (``initial`` after zero iterations)."""

    defines = ("current",)

    initial: FlowingSource
    current: Flowing
    next: FlowingSource


@dataclass(frozen=True)
class Loop(Operation):
    """``body`` runs with ``index`` (u32) from ``start``, increased by ``step`` each time, as long as it is less than ``limit``; by default
    ``limit`` times, from 0 by 1. All carried values change at once, at the end of the body."""

    defines = ("index",)

    index: Scalar
    limit: ScalarValue | Selected
    carried: tuple[Carried, ...]
    body: tuple[Operation, ...]
    hint: Hint = "none"
    start: ScalarValue = _ZERO
    step: ScalarValue = _ONE


@dataclass(frozen=True)
class Merged(Part):
    """A value after a branch: the source of the arm that ran, with one source for each arm. A source is computed by its arm or before the
    branch. Matrices, cooperative vectors, arrays or pointers of one type, or scalars."""

    defines = ("result",)

    result: Flowing
    sources: tuple[FlowingSource, ...]


@dataclass(frozen=True)
class Branch(Operation):
    """``then`` runs if the condition holds, ``otherwise`` if not. ``merged`` has sources for (then, otherwise)."""

    condition: Condition
    then: tuple[Operation, ...]
    otherwise: tuple[Operation, ...]
    merged: tuple[Merged, ...] = ()
    hint: Hint = "none"


@dataclass(frozen=True)
class Arm(Part):
    """One arm of a switch: ``body`` runs for each of ``literals``. If the arm ``continues``, the next iteration of the loop then begins, as
    after an Exit; the switch must be among the loop's own operations."""

    literals: tuple[int, ...]
    body: tuple[Operation, ...]
    continues: bool = False


@dataclass(frozen=True)
class Switch(Operation):
    """Runs the arm that has ``selector`` (u32) among its literals, or ``default`` if there is none. ``merged`` has sources for the arms
    that do not continue, in order, and last for the default."""

    selector: ScalarValue
    arms: tuple[Arm, ...]
    default: tuple[Operation, ...]
    merged: tuple[Merged, ...] = ()
    hint: Hint = "none"

    @property
    def continues(self) -> bool:
        """Tell whether an arm begins the next iteration of a loop."""
        return any(arm.continues for arm in self.arms)


@dataclass(frozen=True)
class Exit(Operation):
    """If the condition holds, ``body`` runs, and then the program or the function ends (``return``), a fragment's program ends without
    further effects (``discard``, in the main function), the loop ends (``break``), or its next iteration begins (``continue``; both among
    the loop's own operations). After ``break`` and ``continue``, carried values have their values from the start of the iteration.
    ``returned`` is the value of a return inside a function."""

    kind: Literal["return", "discard", "break", "continue"]
    condition: Condition
    body: tuple[Operation, ...] = ()
    returned: AnyValue | Operand | None = None


def leaves_iteration(operation: Operation, *kinds: str) -> bool:
    """Tell whether an operation may end the iteration of its loop in one of the ways ``kinds``: ``return``, ``break``, ``continue``."""
    if isinstance(operation, Switch):
        return operation.continues and "continue" in kinds
    return isinstance(operation, Exit) and operation.kind in kinds


@dataclass(frozen=True)
class ReturnBoth(Operation):
    """A branch in a function whose arms both return: ``then_returned`` after ``then`` if the condition holds, otherwise
    ``otherwise_returned`` after ``otherwise``. Later operations are never executed."""

    condition: Condition
    then: tuple[Operation, ...]
    then_returned: AnyValue | Operand
    otherwise: tuple[Operation, ...]
    otherwise_returned: AnyValue | Operand


@dataclass(frozen=True)
class PerInvocation(Operation):
    """``body`` runs in each invocation of each scope instance, and may read the instance's values. Its results differ between invocations,
    and its control flow may differ; later regions can use these values too.

    Attributes:
        size: number of invocations in a scope instance. The program's shape must require this subgroup size.
        body: operations on scalars, on aggregates of scalars, and on memory.
    """

    size: int
    body: tuple[Operation, ...]


@dataclass(frozen=True)
class Stated(Operation):
    """The operations of ``body``, which together have ``effect``. Emitters write the body, and the reference model performs the effect:
    running the body on a device tests whether the stated effect is right."""

    effect: Effect
    body: tuple[Operation, ...]
