"""Components of the invocation: OpCooperativeMatrixLengthKHR, and the effect of code that accesses components by access chains and
composite instructions (SPV_KHR_cooperative_matrix, 2.2.2 and 3.42.8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from generators.program.memory import Array
from generators.program.operation import Effect, Operation, Part
from generators.program.values import Aggregate, Matrix, MatrixType, Scalar, ScalarValue, VectorType
from generators.program.variables import Path, Variable, part_type
from generators.types import COMPONENT_TYPES

CoordinateUse = Literal["number", "mask"]
UpdateCondition = Literal["always", "below", "odd_lane"]
LeadingForm = Literal["pointer", "composite"]


@dataclass(frozen=True)
class MatrixLength(Operation):
    """OpCooperativeMatrixLengthKHR: ``result`` (u32) is the number of components of a matrix of ``type`` that an invocation has. The suite
    assumes the same number in all invocations of the scope, as on all known devices."""

    result: Scalar
    type: MatrixType


@dataclass(frozen=True)
class MatrixCoordinate(Operation):
    """OpCooperativeMatrixGetCoordinateEXT: ``result``, a vector of two u32, is the row and the column of the element of ``matrix`` that the
    invocation holds as component ``index`` (M1-COORD-01). ``index`` is less than the length of the type."""

    result: Aggregate
    matrix: Matrix
    index: ScalarValue


COORDINATE = VectorType(COMPONENT_TYPES["u32"], 2)
"""The type of a coordinate."""


@dataclass(frozen=True)
class ElementFunction(Part):
    """x * ``factor`` + ``addend``, each of the component type; None leaves it out. Integers wrap."""

    factor: ScalarValue | None = None
    addend: ScalarValue | None = None


@dataclass(frozen=True)
class ComponentsUpdated(Effect):
    """For every i below the length of its matrix type, each invocation has set component i of the matrix in ``target`` to ``function``
    of component i of the matrix in ``source``, which may be the same matrix (KHR-LEN-02, KHR-COMP-03).

    The new element depends only on the old value, since it is unspecified which invocations hold it (F-KHR-4). This suite takes the
    position that two matrices of one type are distributed in the same way.

    Attributes:
        condition: ``below`` updates only values less than ``threshold``: invocations diverge, which is allowed for components through
            pointers (KHR-UNI-03). ``odd_lane`` has two branches with the same effect, one for every other invocation.
        leading: number of components that are updated at constant indices, each if the length is greater; the loop updates the rest.
        leading_form: ``pointer`` accesses them by access chains; ``composite`` by OpCompositeExtract and OpCompositeInsert, which all
            invocations of the scope execute if their lengths agree, as all known devices' lengths do. Only with ``always``.
        kept: a variable that initially holds the same matrix as the target. The composite form stores the Composite operand of its first
            OpCompositeInsert there again, which the instruction must leave unchanged.
    """

    target: Variable
    target_path: Path
    source: Variable
    source_path: Path
    function: ElementFunction
    condition: UpdateCondition = "always"
    threshold: ScalarValue | None = None
    leading: int = 0
    leading_form: LeadingForm = "pointer"
    kept: Variable | None = None

    @property
    def type(self) -> MatrixType:
        """The type of both matrices."""
        type_ = part_type(self.source.type, self.source_path)
        assert isinstance(type_, MatrixType), "source_path leads to a matrix"
        return type_


@dataclass(frozen=True)
class ComponentsPlaced(Effect):
    """For every i below the length of its type, each invocation has set component i of the matrix in ``target`` by the coordinate of
    component i of ``matrix``, which has the same type (M1-COORD-01).

    Attributes:
        what: ``number`` sets element (r, c) to r * (columns + 1) + c, which wraps in integers; ``mask`` to 0 if c is greater than r.
        leading: number of components with literal indices, each if the length is greater; a loop handles the rest.
    """

    target: Variable
    matrix: Matrix
    what: CoordinateUse
    leading: int = 0


@dataclass(frozen=True)
class OthersCounted(Effect):
    """Every invocation has added to element ``index`` of ``counter``, a buffer of u32, the number of components below the length of the
    type that are not ``expected`` in the matrix in ``variable``. All elements of the matrix are ``expected``, so the sum is 0
    (KHR-LEN-02)."""

    counter: Array
    index: int
    variable: Variable
    expected: ScalarValue


@dataclass(frozen=True)
class RepeatsCounted(Effect):
    """Every invocation has added to element ``index`` of ``counter``, a buffer of u32, the number of pairs of equal components below
    the length of the type in the matrix in ``variable``. All elements of the matrix differ, and each index accesses another one, so the sum
    is 0 (KHR-LEN-02)."""

    counter: Array
    index: int
    variable: Variable
