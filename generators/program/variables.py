"""Variables of Function and Private storage that hold matrices, arrays and structs of them (KHR-TYPE-05, KHR-TYPE-06), or tensor layouts
and views (TA-VAR-01)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from generators.errors import GeneratorError, Rule
from generators.program.construction import CooperativeVectorConstant, CooperativeVectorNull, MatrixConstant, MatrixNull
from generators.program.operation import Operation
from generators.program.values import (
    AnyValue,
    ArrayType,
    CooperativeVectorType,
    MatrixType,
    Operand,
    ScalarValue,
    StructType,
    TensorLayoutType,
    TensorViewType,
    ValueType,
    VectorType,
    extent,
)

Initializer = (
    MatrixConstant | MatrixNull | CooperativeVectorConstant | CooperativeVectorNull | Operand | Literal["null"] | tuple["Initializer", ...]
)
"""The initial value of a variable: a constant matrix or cooperative vector, null of any type, a scalar that is a literal or a
specialization constant, or one initializer for each part of an array or struct."""


@dataclass(frozen=True)
class Variable:
    """A variable of ``main`` (function) or of the module (private). Undefined until it is written, unless it has an initializer.

    Attributes:
        name: unique in the program; GLSL identifier.
        initializer: its initial value, a constant of its type; None for no initializer.
    """

    name: str
    type: ValueType
    storage: Literal["function", "private"] = "function"
    initializer: Initializer | None = None


Path = tuple[int | ScalarValue, ...]
"""Indices from a whole to one of its parts: into a struct, an int; into an array, an int or a scalar, which is uniform over each scope
instance; into a matrix, the index of a component of the invocation, an int or a scalar; into a cooperative vector, the index of a
component, an int or a scalar, which may differ between invocations."""


@dataclass(frozen=True)
class VariableLoad(Operation):
    """``result`` is the part of ``variable`` that ``path`` leads to."""

    result: AnyValue
    variable: Variable
    path: Path = ()


@dataclass(frozen=True)
class VariableStore(Operation):
    """The part of ``variable`` that ``path`` leads to becomes ``value``."""

    variable: Variable
    path: Path
    value: AnyValue | Operand


def length(type_: ArrayType | StructType | VectorType | CooperativeVectorType) -> int:
    """Return the number of elements, members or components in this case."""
    if isinstance(type_, CooperativeVectorType):
        return type_.count
    if isinstance(type_, VectorType):
        return type_.lanes
    return extent(type_.length) if isinstance(type_, ArrayType) else len(type_.members)


def leads_to_component(type_: ValueType, path: Sequence[object]) -> bool:
    """Return whether ``path`` leads into a matrix, to a component of the invocation."""
    return bool(path) and isinstance(part_type(type_, path[:-1]), MatrixType)


def holds_matrix(type_: ValueType) -> bool:
    """Return whether a value of ``type_`` is or contains a cooperative matrix, a tensor layout or a tensor view."""
    match type_:
        case MatrixType() | TensorLayoutType() | TensorViewType():
            return True
        case ArrayType():
            return holds_matrix(type_.element)
        case StructType():
            return any(holds_matrix(member) for member in type_.members)
        case _:
            return False


def leaves(type_: ValueType, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], ValueType]]:
    """Yield the paths to the parts of a type that are neither arrays nor structs, in order, with their types."""
    if not isinstance(type_, ArrayType | StructType):
        yield path, type_
        return
    for index in range(length(type_)):
        yield from leaves(part_type(type_, (index,)), (*path, index))


def part_type(type_: ValueType, path: Sequence[object]) -> ValueType:
    """Return the type that ``path`` leads to.

    Raises:
        GeneratorError: it leads nowhere.
    """
    for index in path:
        if isinstance(type_, MatrixType):
            type_ = type_.component
            continue
        if not isinstance(type_, ArrayType | StructType | VectorType | CooperativeVectorType):
            raise GeneratorError(Rule.PATH_END, f"a path continues into a {type(type_).__name__}; end it there")
        if isinstance(index, int) and not 0 <= index < length(type_):
            raise GeneratorError(Rule.INDEX, f"index {index} of {length(type_)} parts; give one that exists")
        if isinstance(type_, ArrayType):
            type_ = type_.element
        elif isinstance(type_, VectorType | CooperativeVectorType):
            type_ = type_.component
        elif isinstance(index, int):
            type_ = type_.members[index]
        else:
            raise GeneratorError(Rule.STRUCT_INDEX, f"struct {type_.name} is indexed by a value: struct members need a constant index")
    return type_
