"""Variables of Function and Private storage that hold matrices, arrays and structs of them (KHR-TYPE-05, KHR-TYPE-06), or tensor layouts
and views (TA-VAR-01)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from generators.errors import GeneratorError
from generators.program.construction import MatrixConstant, MatrixNull
from generators.program.operation import Operation
from generators.program.tensor import TensorLayout, TensorLayoutType, TensorView, TensorViewType
from generators.program.values import Extent, Matrix, MatrixType, Operand, Scalar, ScalarValue, extent
from generators.types import ComponentType


@dataclass(frozen=True)
class ArrayType:
    """``length`` elements of one type."""

    element: ValueType
    length: Extent


@dataclass(frozen=True)
class StructType:
    """Members of any types. ``name`` is unique in the program."""

    name: str
    members: tuple[ValueType, ...]


@dataclass(frozen=True)
class VectorType:
    """A vector of 2 to 4 scalars."""

    component: ComponentType
    lanes: int


ValueType = MatrixType | ArrayType | StructType | VectorType | ComponentType | TensorLayoutType | TensorViewType
"""What a variable can hold; a ComponentType is a scalar."""


@dataclass(frozen=True)
class Aggregate:
    """A whole array, struct or vector as a value."""

    name: str
    type: ArrayType | StructType | VectorType


Value = Matrix | Scalar | Aggregate | TensorLayout | TensorView
"""What a shader computes."""


Initializer = MatrixConstant | MatrixNull | Literal["null"] | tuple["Initializer", ...]
"""What a variable starts with: a constant matrix, null of any type, or one initializer for each part of an array or struct."""


@dataclass(frozen=True)
class Variable:
    """A variable of ``main`` (function) or of the module (private). Undefined until it is written, unless it has an initializer.

    Attributes:
        name: unique in the program; GLSL identifier.
        initializer: a constant of the variable's type that it starts with, None for none.
    """

    name: str
    type: ValueType
    storage: Literal["function", "private"] = "function"
    initializer: Initializer | None = None


Path = tuple[int | ScalarValue, ...]
"""Indices from a whole to a part of it: into a struct an int; into an array an int or a scalar, which is uniform over each scope
instance, as all scalars of a program are."""


@dataclass(frozen=True)
class VariableLoad(Operation):
    """``result`` is what ``path`` leads to in ``variable``."""

    result: Value
    variable: Variable
    path: Path = ()


@dataclass(frozen=True)
class VariableStore(Operation):
    """What ``path`` leads to in ``variable`` becomes ``value``."""

    variable: Variable
    path: Path
    value: Value | ScalarValue


def length(type_: ArrayType | StructType | VectorType) -> int:
    """Return the number of elements, members or components in this case."""
    if isinstance(type_, VectorType):
        return type_.lanes
    return extent(type_.length) if isinstance(type_, ArrayType) else len(type_.members)


def part_type(type_: ValueType, path: Sequence[object]) -> ValueType:
    """The type that ``path`` leads to.

    Raises:
        GeneratorError: it leads nowhere.
    """
    for index in path:
        if not isinstance(type_, ArrayType | StructType | VectorType):
            raise GeneratorError(f"a path goes on into a {type(type_).__name__}; end it there")
        if isinstance(index, int) and not 0 <= index < length(type_):
            raise GeneratorError(f"index {index} of {length(type_)} parts; give one that is there")
        if isinstance(type_, ArrayType):
            type_ = type_.element
        elif isinstance(type_, VectorType):
            type_ = type_.component
        elif isinstance(index, int):
            type_ = type_.members[index]
        else:
            raise GeneratorError(f"struct {type_.name} is indexed by a value: struct members need a constant index")
    return type_


def named_value(name: str, type_: ValueType) -> Value:
    """A value of ``type_``."""
    if isinstance(type_, MatrixType):
        return Matrix(name, type_)
    if isinstance(type_, TensorLayoutType):
        return TensorLayout(name, type_)
    if isinstance(type_, TensorViewType):
        return TensorView(name, type_)
    return Scalar(name, type_) if isinstance(type_, ComponentType) else Aggregate(name, type_)


def value_type(value: Value | ScalarValue) -> ValueType:
    """The type of a value."""
    return value.component if isinstance(value, Scalar | Operand) else value.type
