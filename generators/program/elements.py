"""Components of the invocation: OpCooperativeMatrixLengthKHR, and the effect of code that takes components by access chains and composite
instructions (SPV_KHR_cooperative_matrix, 2.2.2 and 3.42.8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from generators.program.memory import Array
from generators.program.operation import Operation
from generators.program.stated import Effect
from generators.program.values import Aggregate, Matrix, MatrixType, Scalar, ScalarValue, VectorType
from generators.program.variables import Path, Variable, part_type
from generators.types import COMPONENT_TYPES

CoordinateUse = Literal["number", "mask"]
UpdateCondition = Literal["always", "below", "odd_lane"]
LeadingForm = Literal["pointer", "composite"]


@dataclass(frozen=True)
class MatrixLength(Operation):
    """OpCooperativeMatrixLengthKHR: ``result`` (u32) is the number of components that an invocation has of a matrix of ``type``. It is
    taken to be the same in all invocations of the scope, as on all known devices."""

    result: Scalar
    type: MatrixType


@dataclass(frozen=True)
class MatrixCoordinate(Operation):
    """OpCooperativeMatrixGetCoordinateEXT: ``result``, a vector of two u32, is the row and the column of the element that component
    ``index`` of the invocation stands for in ``matrix`` (M1-COORD-01). ``index`` is less than the length of the type."""

    result: Aggregate
    matrix: Matrix
    index: ScalarValue


COORDINATE = VectorType(COMPONENT_TYPES["u32"], 2)
"""The type of a coordinate."""


@dataclass(frozen=True)
class ElementFunction:
    """x * ``factor`` + ``addend``, each of the component type; None leaves it out. Integers wrap."""

    factor: ScalarValue | None = None
    addend: ScalarValue | None = None


@dataclass(frozen=True)
class ComponentsUpdated(Effect):
    """For every i below the length of its matrix type, each invocation has set component i of the matrix in ``target`` to ``function``
    of component i of the matrix in ``source``, which may be the same one (KHR-LEN-02, KHR-COMP-03).

    What becomes of an element depends on its value alone, since which invocations hold it is unspecified (F-KHR-4); that two
    matrices of one type are spread alike is this suite's position.

    Attributes:
        condition: ``below`` updates only values less than ``threshold``: invocations diverge, which is allowed for components
            through pointers (KHR-UNI-03). ``odd_lane`` has two branches that do the same, one for every other invocation.
        leading: so many components are updated at constant indices, each if the length is greater, and the loop takes the rest.
        leading_form: ``pointer`` takes them by access chains; ``composite`` by OpCompositeExtract and OpCompositeInsert, which all
            invocations of the scope execute if their lengths agree, as all known devices' lengths do. Only with ``always``.
        kept: holds the same matrix as the target before. There the composite form stores the Composite operand of its first
            OpCompositeInsert once more, which the instruction leaves as it is.
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
        """Of both matrices."""
        type_ = part_type(self.source.type, self.source_path)
        assert isinstance(type_, MatrixType), "source_path leads to a matrix"
        return type_


@dataclass(frozen=True)
class ComponentsPlaced(Effect):
    """For every i below the length of its type, each invocation has set component i of the matrix in ``target`` by the coordinate of
    component i of ``matrix``, which has the same type (M1-COORD-01).

    Attributes:
        what: ``number`` sets element (r, c) to r * (columns + 1) + c, which wraps in integers; ``mask`` to 0 where c is greater than r.
        leading: so many components have literal indices, each if the length is greater, and a loop takes the rest.
    """

    target: Variable
    matrix: Matrix
    what: CoordinateUse
    leading: int = 0


@dataclass(frozen=True)
class OthersCounted(Effect):
    """Every invocation has added to element ``index`` of ``counter``, a buffer of u32, how many components below the length of its type
    the matrix in ``variable`` has that are not ``expected``. All elements of the matrix are, so nothing was added (KHR-LEN-02)."""

    counter: Array
    index: int
    variable: Variable
    expected: ScalarValue
