"""Conversions between arrays of invocations and matrices: elements move, and bits are read as another type (QC-BC-*, QC-CC-*, QC-CX-*,
QC-SA-*).

None of them is on Vulkan's list of bit-preserving operations, so the floats that they move are normal numbers (F-QC-7). The tree of an
array has an entry for each element, and an element may be undefined in some invocations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from cts.reference.components import check_signs
from cts.reference.control_flow import lanes_of
from cts.reference.state import State, evaluates
from cts.reference.trees import Partial, Tree
from cts.reference.values import MatrixValue
from cts.reference.variables import value_of
from cts.verdict.expected import Authority
from generators.errors import GeneratorError, Rule
from generators.numerics.formats import sign_bit, values
from generators.program.array_conversion import BitCastArray, ConstructCoopMat, ExtractCoopMat, ExtractSubArray
from generators.program.values import ArrayType, ArrayValue, MatrixType, ScalarValue, extent
from generators.types import ComponentType, Scope, Use

_ARRAYS = ("u32", "s32", "f32", "f16")
"""Element types of arrays that may be cast or cut (QC-BC-01, QC-SA-02)."""

_LINE_BYTES = 32
"""Bytes of a row of A and of a column of B (QC-CC-07, QC-CC-10)."""

_FACTORS = ("u8", "s8", "f16", "f32")
_ACCUMULATORS = ("u32", "s32", "f16", "f32")
_LENGTHS: Mapping[Use, str] = MappingProxyType({Use.A: "QC-CC-09", Use.B: "QC-CC-11", Use.ACCUMULATOR: "QC-CC-13"})
"""The requirement on the length of an invocation's array, by use."""


@dataclass(frozen=True)
class Elements:
    """An array in each lane.

    Attributes:
        bits: the bits of the elements, unsigned, (lanes, length).
        defined: whether each has a value, bool, of the same shape.
    """

    bits: np.ndarray
    defined: np.ndarray

    def cast(self, component: ComponentType) -> Elements:
        """Return the same bytes as elements of another type; a lower index has the lower bits (F-QC-3)."""
        # An element is defined if all of its bytes are.
        known = np.repeat(self.defined, self.bits.dtype.itemsize, axis=1)
        bits = np.ascontiguousarray(self.bits).view(component.bits_dtype)
        return Elements(bits, np.asarray(known.reshape(*bits.shape, component.bytes).all(axis=2)))

    def tree(self) -> tuple[Tree | None, ...]:
        """Return the elements as parts of an aggregate."""
        return tuple(_leaf(bits.astype(np.uint64), defined) for bits, defined in zip(self.bits.T, self.defined.T, strict=True))


def _leaf(bits: np.ndarray, defined: np.ndarray) -> Tree | None:
    if defined.all():
        return bits
    return Partial(bits[defined], defined) if defined.any() else None


def element_of(type_: ArrayType) -> ComponentType:
    """Return the type of an array's elements.

    Raises:
        GeneratorError: they are not scalars.
    """
    if not isinstance(type_.element, ComponentType):
        raise GeneratorError("QC-BC-01", "the elements of an array that is converted must be scalars (QC-BC-01)")
    return type_.element


def elements(state: State, array: ArrayValue) -> Elements:
    """Return the elements of an array in the state's lanes."""
    tree = value_of(state, array)
    assert isinstance(tree, tuple), "an array has parts"
    lanes, component = len(state.instances), element_of(array.type)
    bits, defined = np.zeros((lanes, len(tree)), component.bits_dtype), np.ones((lanes, len(tree)), bool)
    for i, part in enumerate(tree):
        match part:
            case Partial(value=value, defined=known) if isinstance(value, np.ndarray):
                bits[known, i], defined[:, i] = value, known
            case np.ndarray():
                bits[:, i] = part
            case _:
                defined[:, i] = False
    return Elements(bits, defined)


def check_normal(found: Elements, component: ComponentType, name: str) -> None:
    """Refuse floats that a move may change (F-QC-7).

    Raises:
        GeneratorError: there is a zero, a denormal, an infinity or a NaN.
    """
    if not component.is_float:
        return
    exponent = int(sign_bit(component)) - (1 << component.precision - 1)
    field = found.bits.astype(np.uint64) & np.uint64(exponent)
    normal = (field != 0) & (field != np.uint64(exponent))
    if not normal[found.defined].all():
        number = values(found.bits[found.defined & ~normal], component)[0]
        raise GeneratorError(
            "F-QC-7", f"{name} has the {component} {number}, which a conversion of arrays may change (F-QC-7); use normal numbers"
        )


@evaluates(BitCastArray)
def bitcast_array(state: State, operation: BitCastArray) -> None:
    """Read the bytes as elements of the result's type (QC-BC-03).

    Raises:
        GeneratorError: the types do not match (QC-BC-01, QC-BC-02), or a float is not normal.
    """
    source, target = element_of(operation.source.type), element_of(operation.result.type)
    for element in (source, target):
        _check_convertible(operation.result.name, element, "QC-BC-01")
    sizes = [extent(value.type.length) * element.bytes for value, element in ((operation.source, source), (operation.result, target))]
    if sizes[0] != sizes[1]:
        raise GeneratorError(
            "QC-BC-02", f"{operation.result.name}: the result of a cast of {sizes[0]} bytes has {sizes[1]} bytes (QC-BC-02)"
        )
    found = elements(state, operation.source)
    check_normal(found, source, operation.source.name)
    made = found.cast(target)
    check_normal(made, target, operation.result.name)
    state.aggregates[operation.result.name] = made.tree()


def _check_convertible(name: str, element: ComponentType, rule: str) -> None:
    if element.name not in _ARRAYS:
        raise GeneratorError(rule, f"{name}: arrays of {element} have no such conversion; use one of {', '.join(_ARRAYS)} ({rule})")


def starts(state: State, start: ScalarValue) -> np.ndarray:
    """Return Start Index in each lane, int64."""
    bits = state.scalar(start)
    return bits.astype(np.uint32).view(np.int32).astype(np.int64)


@evaluates(ExtractSubArray)
def extract_sub_array(state: State, operation: ExtractSubArray) -> None:
    """Take the elements starting at Start Index (QC-SA-04).

    Raises:
        GeneratorError: the types do not match (QC-SA-01 to QC-SA-03), elements are outside the array (QC-SA-05), or the start is not a
            multiple of the length (VUID-RuntimeSpirv-OpExtractSubArrayQCOM-12354).
    """
    name, element = operation.result.name, element_of(operation.source.type)
    _check_convertible(name, element, "QC-SA-02")
    if element != element_of(operation.result.type):
        raise GeneratorError("QC-SA-01", f"{name}: a part of an array must have the array's element type (QC-SA-01)")
    if operation.start.type.name != "s32":
        raise GeneratorError("QC-SA-03", f"{name}: the start of a part must be an s32 (QC-SA-03)")
    start, length = starts(state, operation.start), extent(operation.result.type.length)
    if (start < 0).any() or (start + length > extent(operation.source.type.length)).any():
        raise GeneratorError(
            "QC-SA-05", f"{name}: {length} elements from index {int(start.max())} are not all in {operation.source.name} (QC-SA-05)"
        )
    if (start % length).any():
        raise GeneratorError(
            "VUID-RuntimeSpirv-OpExtractSubArrayQCOM-12354",
            f"{name}: the start must be a multiple of the length, {length} (VUID-RuntimeSpirv-OpExtractSubArrayQCOM-12354)",
        )
    found = elements(state, operation.source)
    check_normal(found, element, operation.source.name)
    state.aggregates[name] = sub_array(found, start, length).tree()


def sub_array(found: Elements, start: np.ndarray, length: int) -> Elements:
    """Return ``length`` elements, beginning at ``start`` (int64, (lanes,))."""
    lane, at = np.arange(len(start))[:, None], start[:, None] + np.arange(length)
    return Elements(found.bits[lane, at], found.defined[lane, at])


def line_of(matrix: MatrixType) -> tuple[int, int]:
    """Return the number of a matrix's rows (columns of B), and the components of each."""
    rows, columns = matrix.shape
    return (columns, rows) if matrix.use_value is Use.B else (rows, columns)


def check_types(name: str, matrix: MatrixType, array: ArrayType, size: int) -> None:
    """Refuse types without a conversion.

    Raises:
        GeneratorError: the specification does not allow them in subgroups of ``size`` invocations.
    """
    lines, line = line_of(matrix)
    component, element = matrix.component, element_of(array)
    if matrix.scope_value is not Scope.SUBGROUP:
        raise GeneratorError("QC-CC-02", f"{name}: the matrix must have Subgroup scope (QC-CC-02)")
    if size & (size - 1):
        raise GeneratorError("QC-CC-01", f"{name}: the subgroup size {size} is not a power of two (QC-CC-01)")
    is_b = matrix.use_value is Use.B
    if lines > size:
        rule = "QC-CC-11" if is_b else "QC-CC-08"
        raise GeneratorError(rule, f"{name}: {lines} rows (columns of B) need as many invocations, and there are {size} ({rule})")
    if matrix.use_value is Use.ACCUMULATOR:
        fits = component.name in _ACCUMULATORS and line in (size, size // 2, size // 4)
        if not fits:
            raise GeneratorError(
                "QC-CC-12", f"{name}: an accumulator must have {size}, {size // 2} or {size // 4} columns (QC-CC-12, F-QC-4)"
            )
    elif component.name not in _FACTORS or line * component.bytes != _LINE_BYTES:
        rule = "QC-CC-10" if is_b else "QC-CC-07"
        raise GeneratorError(rule, f"{name}: rows of A and columns of B must have {_LINE_BYTES} bytes ({rule})")
    if element.name not in ("u32", component.name):
        raise GeneratorError("QC-CC-03", f"{name}: rows of {component} are arrays of {component} or u32, not of {element} (QC-CC-03)")
    if extent(array.length) != (line * component.bytes // 4 if element.name == "u32" else line):
        rule = _LENGTHS[matrix.use_value]
        raise GeneratorError(rule, f"{name}: arrays of {element}[{extent(array.length)}] are not rows of {line} {component} ({rule})")


def _size(state: State, name: str) -> int:
    """Return the number of invocations in a subgroup.

    Raises:
        GeneratorError: the program does not state it, or has matrices of another scope.
    """
    size = state.program.shape.subgroup_size
    if size is None or state.program.scope is not Scope.SUBGROUP:
        raise GeneratorError(
            Rule.SUBGROUP_SIZE, f"{name}: conversions of arrays need a program of Subgroup scope with WorkgroupShape.subgroup_size"
        )
    return size


@evaluates(ConstructCoopMat)
def construct_coopmat(state: State, operation: ConstructCoopMat) -> None:
    """Make array i row i, or column i of B (QC-CC-04, QC-CC-05); bits are read as the component type (QC-CC-14).

    Raises:
        GeneratorError: the types do not match, or an array that is used is undefined or has a float that is not normal.
    """
    name, type_ = operation.result.name, operation.result.type
    size = _size(state, name)
    check_types(name, type_, operation.source.type, size)
    inside = lanes_of(state, size)
    found = elements(inside, operation.source).cast(type_.component)
    made = matrix_of(found, type_, size, name)
    if element_of(operation.source.type) is not type_.component:
        made = replace(made, authority=replace(made.authority, position="F-QC-3"))
    state.matrices[name] = made


def matrix_of(found: Elements, type_: MatrixType, size: int, name: str) -> MatrixValue:
    """Return the matrices from arrays of components, ``size`` arrays for each; arrays beyond the rows are ignored (QC-CC-06)."""
    lines, line = line_of(type_)
    counted = Elements(*(part.reshape(-1, size, line)[:, :lines] for part in (found.bits, found.defined)))
    if not counted.defined.all():
        raise GeneratorError("QC-CX-03", f"{name}: the array of an invocation within the rows is undefined (QC-CX-03)")
    check_normal(counted, type_.component, name)
    columns = type_.use_value is Use.B
    bits = counted.bits.swapaxes(1, 2) if columns else counted.bits
    return MatrixValue(type_.component, np.ascontiguousarray(bits), authority=Authority("QC-CC-05" if columns else "QC-CC-04"))


@evaluates(ExtractCoopMat)
def extract_coopmat(state: State, operation: ExtractCoopMat) -> None:
    """Make row i, or column i of B, array i (QC-CX-02); other invocations get an undefined array (QC-CX-03).

    Raises:
        GeneratorError: the types do not match, several values of the matrix are allowed, or a float is not normal.
    """
    name, type_ = operation.result.name, operation.matrix.type
    size = _size(state, name)
    check_types(name, type_, operation.result.type, size)
    found = arrays_of(state.matrices[operation.matrix.name], type_, size, name)
    inside = lanes_of(state, size)
    inside.aggregates[name] = found.cast(element_of(operation.result.type)).tree()
    state.invocations = inside


def lines_of_matrix(value: MatrixValue, type_: MatrixType) -> np.ndarray:
    """Return the rows of matrices, or the columns of B: bits, (matrices, lines, components)."""
    return np.ascontiguousarray(value.bits.swapaxes(1, 2) if type_.use_value is Use.B else value.bits)


def surrounded(lines: np.ndarray, size: int) -> Elements:
    """Return the arrays of ``size`` invocations for each matrix: the first ones have its lines, and the others are undefined."""
    instances, count, line = lines.shape
    arrays, defined = np.zeros((instances, size, line), lines.dtype), np.zeros((instances, size, line), bool)
    arrays[:, :count], defined[:, :count] = lines, True
    return Elements(arrays.reshape(-1, line), defined.reshape(-1, line))


def arrays_of(value: MatrixValue, type_: MatrixType, size: int, name: str) -> Elements:
    """Return the arrays of components of ``size`` invocations for each matrix."""
    if not value.is_certain:
        raise GeneratorError(
            Rule.SEVERAL_VALUES, f"{name}: the matrix whose rows are extracted may have several values; use exact data, or store the matrix"
        )
    check_signs(value, value.bits)
    found = surrounded(lines_of_matrix(value, type_), size)
    check_normal(found, type_.component, name)
    return found
