"""Instructions of SPV_QCOM_cooperative_matrix_conversion (3.56.11 and 3.56.12).

A device that multiplies matrices in the registers of its invocations moves each array to the lanes of the matrix. This device stores
matrices as whole arrays: it stacks the arrays of a subgroup's invocations, and reads bytes as components.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cts.embedded.diagnostics import UndefinedUse, Violation
from cts.embedded.faults import replaceable
from cts.embedded.instructions.registry import executes
from cts.embedded.machine.machine import Machine, Run
from cts.embedded.module.translation import Translation, Words
from cts.embedded.types.spirv_types import Array, MatrixType, Number, Type, type_text
from cts.embedded.types.values import UNDEFINED, Value, expand, partly, settle, signed_index, with_defined
from generators.spirv.enumerants import Op
from generators.types import Scope, Use

_LINE_BITS = 256
"""Bits of a row of A and of a column of B: eight f32, sixteen f16, 32 integers of 8 bits."""


@dataclass(frozen=True)
class Lanes:
    """An array in every invocation: ``value``, and where it is ``defined``, both of shape (invocations, length)."""

    value: np.ndarray
    defined: np.ndarray


def _array(type_: Type, rule: str, what: str) -> tuple[Number, int]:
    """Return the element type and length of an array of numbers."""
    if not isinstance(type_, Array) or type_.length is None or not isinstance(type_.element, Number):
        raise Violation(rule, f"{what} is a {type_text(type_)}, not an array of numbers")
    return type_.element, type_.length


def _plain(type_: Type, rule: str, what: str) -> tuple[Number, int]:
    """Return the element type and length of an array of 32-bit integers, binary32 or binary16."""
    element, length = _array(type_, rule, what)
    if element.component.name not in ("u32", "s32", "f32", "f16"):
        raise Violation(rule, f"{what} has elements of {element.component}")
    return element, length


def spread_out(machine: Machine, element: Number, length: int, value: Value) -> Lanes:
    """Return an array value as lanes. Each of its elements may be uniform or undefined."""
    parts = [with_defined(part, (machine.lanes,), element.dtype) for part in expand(settle(value, machine.mask), length)]
    whole, defined = (np.stack(columns, axis=1) for columns in zip(*parts, strict=True))
    return Lanes(whole, defined)


def gathered(lanes: Lanes) -> Value:
    """Return lanes as an array value."""
    return tuple(partly(np.ascontiguousarray(value), defined) for value, defined in zip(lanes.value.T, lanes.defined.T, strict=True))


@replaceable
def read_as(lanes: Lanes, to: Number) -> Lanes:
    """Reinterpret the bytes of each array as elements of another type, in order."""
    size = lanes.value.dtype.itemsize
    value = np.ascontiguousarray(lanes.value).view(to.dtype)
    pieces = np.repeat(lanes.defined, size, axis=1).reshape(*value.shape, to.bytes)
    return Lanes(value, np.asarray(pieces.all(axis=2)))


@executes(Op.BitCastArrayQCOM)
def _bitcast(translation: Translation, words: Words) -> Run:
    from_, count = _plain(translation.type_of[words[2]], "QC-BC-01", "the source")
    to, length = _plain(translation.types[words[0]], "QC-BC-01", "the result")
    if from_.bits * count != to.bits * length:
        raise Violation("QC-BC-02", f"{count} {from_.component} and {length} {to.component} are not of equal size")
    machine, values, operand = translation.machine, translation.values, words[2]
    cast = translation.performing(read_as)
    return lambda: gathered(cast(spread_out(machine, from_, count, values[operand]), to))


@executes(Op.ExtractSubArrayQCOM)
def _sub_array(translation: Translation, words: Words) -> Run:
    element, count = _plain(translation.type_of[words[2]], "QC-SA-02", "the source")
    to, length = _array(translation.types[words[0]], "QC-SA-01", "the result")
    if to != element:
        raise Violation("QC-SA-01", f"elements of {element.component} become elements of {to.component}")
    index = translation.type_of[words[3]]
    if not isinstance(index, Number) or index.component.name not in ("s32", "u32"):
        raise Violation("QC-SA-03", f"the start is a {type_text(index)}, not a 32-bit integer")
    machine, values = translation.machine, translation.values

    def run() -> Value:
        start = signed_index(settle(values[words[3]], machine.mask), index)
        begins = np.broadcast_to(np.asarray(start, np.int64), machine.lanes)
        asked = begins[machine.mask]
        if asked.size and not 0 <= asked.min() <= asked.max() <= count - length:
            at = int(asked.min() if asked.min() < 0 else asked.max())
            raise Violation("QC-SA-05", f"elements {at} to {at + length - 1} of an array of {count}")
        if (asked % length).any():
            rule = "VUID-RuntimeSpirv-OpExtractSubArrayQCOM-12354"
            machine.forbid(rule, f"the start {int(asked[asked % length != 0][0])} is not a multiple of {length}")
        if not isinstance(start, np.ndarray):
            return expand(values[words[2]], count)[start : start + length]
        lanes = spread_out(machine, element, count, values[words[2]])
        places = np.where(machine.mask, begins, 0)[:, None] + np.arange(length)
        return gathered(Lanes(np.take_along_axis(lanes.value, places, 1), np.take_along_axis(lanes.defined, places, 1)))

    return run


@dataclass(frozen=True)
class _Exchange:
    """The static side of a conversion between a matrix and arrays.

    Attributes:
        matrix: type of the matrix.
        element: element type of the arrays.
        length: length of each array.
        lines: number of rows (columns of B). Each is one invocation's array.
        line: components of a row (column of B).
    """

    matrix: MatrixType
    element: Number
    length: int
    lines: int
    line: int


def _exchange(translation: Translation, matrix: Type, array: Type, op: str, rules: Mapping[str, str]) -> _Exchange:
    """Check the types.

    Args:
        rules: kind of mistake -> the broken requirement.

    Raises:
        Violation: the extension does not allow the types.
    """
    if not isinstance(matrix, MatrixType) or matrix.use is None:
        raise Violation(rules["array"], f"{op} of a {type_text(matrix)}, not a cooperative matrix")
    if matrix.scope is not Scope.SUBGROUP:
        raise Violation("QC-CC-02", f"{op} of a matrix of scope {matrix.scope.name.lower()}")
    element, length = _array(array, rules["array"], "the array")
    component = matrix.number.component
    lines, line = (matrix.columns, matrix.rows) if matrix.use is Use.B else (matrix.rows, matrix.columns)
    factors = matrix.use is not Use.ACCUMULATOR
    allowed = ("u8", "s8", "f16", "f32") if factors else ("u32", "s32", "f16", "f32")
    if component.name not in allowed or (factors and line * component.bits != _LINE_BITS):
        raise Violation(rules[matrix.use.name], f"{op} of a {matrix}")
    if element != matrix.number and element.component.name != "u32":
        raise Violation(rules["element"], f"{op} with an array of {element.component} and a {matrix}")
    if length * element.bits != line * component.bits:
        raise Violation(rules["length"], f"{op} with {length} {element.component} for {line} {component}")
    size = translation.machine.subgroup_size
    if lines > size or size & (size - 1):
        raise Violation("QC-CC-08", f"{op} of a {matrix} in subgroups of {size}")
    if not factors and line not in (size, size // 2, size // 4):
        raise Violation("QC-CC-12", f"{op} of a {matrix}, whose number of columns is not {size}, {size // 2} or {size // 4} (F-QC-4)")
    return _Exchange(matrix, element, length, lines, line)


@executes(Op.CompositeConstructCoopMatQCOM)
def _construct(translation: Translation, words: Words) -> Run:
    rules = {"array": "QC-CC-03", "element": "QC-CC-03", "length": "QC-CC-09", "A": "QC-CC-07", "B": "QC-CC-10", "ACCUMULATOR": "QC-CC-12"}
    matrix, array = translation.types[words[0]], translation.type_of[words[2]]
    types = _exchange(translation, matrix, array, "OpCompositeConstructCoopMatQCOM", rules)
    machine, values, operand = translation.machine, translation.values, words[2]
    cast, place = translation.performing(read_as), translation.performing(placed)

    def run() -> Value:
        active = machine.active_instances(types.matrix.scope)
        lanes = cast(spread_out(machine, types.element, types.length, values[operand]), types.matrix.number)
        counted = lanes.defined.reshape(machine.subgroups, machine.subgroup_size, -1)[:, : types.lines]
        if machine.strict and not (counted if active is None else counted[active]).all():
            raise UndefinedUse("an invocation within the matrix supplies an undefined array")
        return place(types.matrix, types.lines, lanes.value.reshape(machine.subgroups, machine.subgroup_size, -1))

    return run


@replaceable
def placed(type_: MatrixType, lines: int, arrays: np.ndarray) -> np.ndarray:
    """Return the matrices whose rows (columns of B) are the first arrays of each subgroup.

    Args:
        type_: the type of a matrix.
        lines: number of arrays in a matrix.
        arrays: the components, (subgroups, invocations, components).
    """
    taken = arrays[:, :lines]
    return np.ascontiguousarray(taken.swapaxes(1, 2) if type_.use is Use.B else taken)


@replaceable
def taken_apart(type_: MatrixType, size: int, matrices: np.ndarray) -> np.ndarray:
    """Return the rows of matrices (columns of B) as arrays: (subgroups, ``size`` invocations, components).

    The arrays of further invocations are zero.
    """
    rows = matrices.swapaxes(1, 2) if type_.use is Use.B else matrices
    arrays = np.zeros((rows.shape[0], size, rows.shape[2]), rows.dtype)
    arrays[:, : rows.shape[1]] = rows
    return arrays


@executes(Op.CompositeExtractCoopMatQCOM)
def _extract(translation: Translation, words: Words) -> Run:
    rules = {"array": "QC-CX-01", "element": "QC-CX-04", "length": "QC-CX-04", "A": "QC-CX-04", "B": "QC-CX-04", "ACCUMULATOR": "QC-CX-05"}
    matrix, array = translation.type_of[words[2]], translation.types[words[0]]
    types = _exchange(translation, matrix, array, "OpCompositeExtractCoopMatQCOM", rules)
    machine, values, operand = translation.machine, translation.values, words[2]
    cast, take = translation.performing(read_as), translation.performing(taken_apart)

    def run() -> Value:
        machine.active_instances(types.matrix.scope)
        size = machine.subgroup_size
        found: Value = values[operand]
        shape = (machine.subgroups, types.matrix.rows, types.matrix.columns)
        if found is UNDEFINED:
            return UNDEFINED
        matrices, known = with_defined(found, shape, types.matrix.number.dtype)
        arrays = take(types.matrix, size, matrices).reshape(machine.lanes, -1)
        # Invocations without a row get an undefined array, or zero on a device that is not strict.
        defined = taken_apart(types.matrix, size, known).reshape(arrays.shape) if machine.strict else np.ones(arrays.shape, bool)
        return gathered(cast(Lanes(arrays, defined), types.element))

    return run
