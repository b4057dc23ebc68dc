"""OpCooperativeVectorMatrixMulNV and OpCooperativeVectorMatrixMulAddNV (SPV_NV_cooperative_vector, 3.42.X).

A device chooses the order and the precision of float arithmetic. This device multiplies and adds in binary64 and rounds once to the
result's type. A conversion of an input to floats rounds to nearest, ties to even. Beyond the largest finite number, floats saturate and
integers become infinity (NaN in e4m3), as IEEE 754 rounds them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from cts.embedded.diagnostics import Violation
from cts.embedded.faults import replaceable
from cts.embedded.instructions.matrices.load_store import element_offsets
from cts.embedded.instructions.matrices.muladd import modulo
from cts.embedded.instructions.registry import executes
from cts.embedded.instructions.vectors.vector_lanes import (
    BUFFERS,
    MATRIX_ALIGNMENT,
    VECTOR_ALIGNMENT,
    Places,
    Pointer,
    checked_vector,
    integer,
    rows_of,
    vector_of,
    vector_type,
)
from cts.embedded.machine.machine import Machine, Run
from cts.embedded.memory.memory import Memory
from cts.embedded.memory.ordering import Manner, Reach
from cts.embedded.module.translation import Translation, Words
from cts.embedded.types.spirv_types import Bool, CooperativeVector, Number, number
from cts.embedded.types.values import Value, settle, signed_index
from generators.spirv.enumerants import Op
from generators.types import INTERPRETATIONS, ComponentType, Interpretation, MatrixOperands, VectorMatrixLayout

_RESULTS = ("f16", "f32", "s32", "u32")
_BY_NUMBER: Mapping[int, Interpretation] = MappingProxyType({one.vk: one for one in INTERPRETATIONS.values()})
_KNOWN = sum(MatrixOperands)
_MOST_TOLD = 8
_LARGEST = {"e4m3": 448.0, "e5m2": 57344.0, "f16": 65504.0}


@dataclass(frozen=True)
class StoredMatrix:
    """A matrix in memory as an instruction describes it.

    Attributes:
        rows, columns: size of the stored matrix, before any transposition.
        component: component type of its elements.
        layout: memory layout of the elements.
    """

    rows: int
    columns: int
    component: ComponentType
    layout: VectorMatrixLayout

    @property
    def number(self) -> Number:
        """The type of an element."""
        return number(self.component.name)


def constant(translation: Translation, id_: int, what: str) -> int:
    """Return the value of an operand that must be a constant 32-bit integer.

    Raises:
        Violation: it is not one (CV-MM-23).
    """
    value, type_ = translation.constant(id_), translation.type_of[id_]
    if value.__class__ is not int or not isinstance(type_, Number) or type_.bits != 32:
        raise Violation("CV-MM-23", f"{what} is not a constant 32-bit integer")
    result: int = value
    return result


def interpretation(translation: Translation, id_: int, what: str) -> Interpretation:
    """Return the interpretation that an operand names by its Component Type.

    Raises:
        Violation: the operand is not a Component Type.
    """
    value = constant(translation, id_, what)
    if value not in _BY_NUMBER:
        raise Violation("CV-MM-24", f"{what} {value} is not a Component Type")
    return _BY_NUMBER[value]


def matrix_layout(translation: Translation, id_: int) -> VectorMatrixLayout:
    """Return the layout that an operand names.

    Raises:
        Violation: the operand is not a layout.
    """
    value = constant(translation, id_, "the memory layout")
    if value not in set(VectorMatrixLayout):
        raise Violation("CV-MM-24", f"memory layout {value} is not a Cooperative Vector Matrix Layout")
    return VectorMatrixLayout(value)


def _multiply(translation: Translation, words: Words, has_bias: bool) -> Run:
    result = checked_vector(translation.types[words[0]], "CV-MM-03", "the result")
    input_ = vector_type(translation, words[2], "CV-MM-06", "the input")
    as_ = interpretation(translation, words[3], "the input interpretation")
    of_matrix = interpretation(translation, words[6], "the matrix interpretation")
    pointer = Pointer(
        translation, words[4], words[5], BUFFERS, True, "CV-MM-16", MATRIX_ALIGNMENT,
        "VUID-RuntimeSpirv-OpCooperativeVectorMatrixMulNV-10097",
    )  # fmt: skip
    rest = words[7:]
    bias: _Bias | None = None
    if has_bias:
        bias, rest = _Bias(translation, rest), rest[3:]
    rows, columns = (constant(translation, id_, what) for id_, what in zip(rest, "MK", strict=False))
    layout, transpose = matrix_layout(translation, rest[2]), _transpose(translation, rest[3])
    stride = Stride(translation, rest[4] if len(rest) > 4 else 0, layout, "CV-MM-31")
    flags = rest[5] if len(rest) > 5 else 0
    _check(result, input_, as_, of_matrix, rows, columns, layout, transpose, flags)
    stored = StoredMatrix(columns if transpose else rows, rows if transpose else columns, of_matrix.component, layout)
    machine, values = translation.machine, translation.values
    convert, read = translation.performing(converted_input), translation.performing(read_matrix)
    signed = bool(flags & MatrixOperands.B_SIGNED)
    multiply = translation.performing(float_products)(result) if result.number.is_float else _integers(result)

    def run() -> Value:
        vectors = convert(rows_of(machine, input_, values[words[2]]), input_.number, signed, as_, columns)
        places, strides = pointer.places(), stride.values()
        found = np.empty((places.lanes.size, rows), result.number.dtype)
        added = None if bias is None else bias.read(rows)
        which, members = np.unique(np.stack((places.first, strides)), axis=1, return_inverse=True)
        for i, (first, step) in enumerate(which.T.tolist()):
            chosen = np.flatnonzero(members.reshape(-1) == i)
            here = Places(places.memory, places.lanes[chosen], places.first[chosen])
            matrix = read(translation, here, stored, first, step)
            oriented = matrix.T if transpose else matrix
            found[chosen] = multiply(oriented, vectors[chosen], None if added is None else added[chosen])
        return vector_of(machine, result, found)

    return run


def _check(
    result: CooperativeVector,
    input_: CooperativeVector,
    as_: Interpretation,
    of_matrix: Interpretation,
    rows: int,
    columns: int,
    layout: VectorMatrixLayout,
    transpose: bool,
    flags: int,
) -> None:
    if result.number.component.name not in _RESULTS:
        raise Violation("CV-MM-03", f"a result of {result.number.component}; it must have 32-bit integers, or 16- or 32-bit floats")
    if rows < 1 or columns < 1:
        raise Violation("CV-MM-04", f"a matrix of {rows} x {columns}")
    if result.count != rows:
        raise Violation("CV-MM-04", f"a result of {result.count} components of a matrix of {rows} rows")
    if as_.packed:
        if input_.number.component.name != "u32":
            raise Violation("CV-MM-07", f"a packed input of {input_.number.component}; it must have u32")
        if input_.bytes < columns * as_.component.bytes:
            raise Violation("CV-MM-07", f"a packed input of {input_.bytes} bytes for {columns} elements of {as_.component}")
    elif input_.count != columns:
        raise Violation("CV-MM-06", f"an input of {input_.count} components for a matrix of {columns} columns")
    if of_matrix.packed:
        raise Violation("CV-MM-24", f"{of_matrix} elements of a matrix; only an input may be packed")
    if transpose and not layout.is_optimal:
        raise Violation("CV-MM-21", f"a transposed matrix in layout {layout.name}")
    if of_matrix.component.name in ("e4m3", "e5m2") and not layout.is_optimal:
        raise Violation("VUID-RuntimeSpirv-OpCooperativeVectorMatrixMulNV-10090", f"a matrix of {of_matrix} in layout {layout.name}")
    if flags & ~_KNOWN:
        raise Violation("SPIR-V, Cooperative Matrix Operands", f"operands {flags:#x} have unknown bits")


def _transpose(translation: Translation, id_: int) -> bool:
    value = translation.constant(id_)
    if not isinstance(translation.type_of[id_], Bool) or value.__class__ is not bool:
        raise Violation("CV-MM-22", "Transpose is not a boolean constant")
    return bool(value)


class Stride:
    """The operand MatrixStride: the bytes from a row or column to the next.

    Args:
        id_: the operand's id; 0 if there is none.
        layout: the matrix's layout. An optimal layout ignores the stride.
        rule: the rule that requires a stride for some layouts.

    Raises:
        Violation: the stride is missing, or not a 32-bit integer.
    """

    def __init__(self, translation: Translation, id_: int, layout: VectorMatrixLayout, rule: str) -> None:
        self._machine, self._values, self._id, self._used = translation.machine, translation.values, id_, not layout.is_optimal
        if self._used and not id_:
            raise Violation(rule, f"a matrix in layout {layout.name} without a stride")
        self._number = integer(translation, id_, "the stride") if id_ else None

    def values(self) -> np.ndarray:
        """Return the stride of each invocation that executes, int64; 0 if it is ignored.

        Raises:
            Violation: a stride is negative, or not a multiple of 16.
        """
        machine = self._machine
        lanes = np.flatnonzero(machine.mask)
        if not self._used or self._number is None:
            return np.zeros(lanes.size, np.int64)
        value = signed_index(settle(self._values[self._id], machine.mask), self._number)
        strides = np.broadcast_to(np.asarray(value, np.int64), machine.lanes)[lanes]
        if (strides < 0).any():
            raise Violation("CV-MM-17", "a negative stride")
        if (strides % VECTOR_ALIGNMENT).any():
            machine.forbid("VUID-RuntimeSpirv-OpCooperativeVectorMatrixMulNV-10096", "a stride that is not a multiple of 16 bytes")
        return strides


def element_places(translation: Translation, memory: Memory, stored: StoredMatrix, first: int, stride: int) -> np.ndarray:
    """Return the first byte of each element of a matrix that begins at byte ``first``, int64 of shape (rows, columns).

    Raises:
        Violation: elements are out of bounds, or the layout is optimal and the memory holds no such matrix there (CV-MM-19).
    """
    size = stored.component.bytes
    if stored.layout.is_optimal:
        _check_converted(translation.machine, memory, stored, first)
        offsets = translation.settings.matrix_layouts.offsets(stored.layout, stored.rows, stored.columns, size)
    else:
        offsets = element_offsets(stored.rows, stored.columns, stored.layout is VectorMatrixLayout.ROW_MAJOR, stride, size)
    places: np.ndarray = first + offsets
    return places


def _check_converted(machine: Machine, memory: Memory, stored: StoredMatrix, first: int) -> None:
    held = memory.matrices.get(first)
    if held is None:
        begins = ", ".join(map(str, list(memory.matrices)[:_MOST_TOLD])) + (", …" if len(memory.matrices) > _MOST_TOLD else "")
        there = f"; those of the buffer begin at {begins}" if begins else ""
        text = f"no matrix that was converted to layout {stored.layout.name.lower()} begins at byte {first} of '{memory.name}'{there}"
        machine.forbid("CV-MM-19", text)
    elif (held.rows, held.columns, held.component, held.layout) != (stored.rows, stored.columns, stored.component, stored.layout):
        used = f"{stored.rows} x {stored.columns} {stored.component} in layout {stored.layout.name.lower()}"
        machine.forbid("CV-MM-19", f"the matrix '{held.name}' is {held}, but is used as {used}")


@replaceable
def read_matrix(translation: Translation, places: Places, stored: StoredMatrix, first: int, stride: int) -> np.ndarray:
    """Return the matrix that begins at byte ``first``, with shape (rows, columns) and the dtype of its component type.

    Args:
        translation: the module.
        places: the memory, and the invocations that read.
        stored: the matrix.
        first, stride: in bytes.

    Raises:
        Violation: the access is out of bounds, uninitialised or a race, or the shader changes the matrix.
    """
    elements = element_places(translation, places.memory, stored, first, stride)
    return as_numbers(_read(translation, places, elements, stored.number, stored.layout.is_optimal), stored.component)


def _read(translation: Translation, places: Places, elements: np.ndarray, type_: Number, converted: bool = False) -> np.ndarray:
    """Read elements as if the Memory Operands were None and the memory NonWritable (CV-MM-26). ``converted``: in an optimal layout."""
    memory, machine = places.memory, translation.machine
    inside = memory.check_bounds(int(elements.min()), int(elements.max()) + type_.bytes, in_windows=True)
    touched = memory.held(elements, type_.bytes)[..., None] + np.arange(type_.bytes)
    if not inside:
        beyond: np.ndarray = memory.bytes_at(touched).view(type_.dtype)[..., 0]
        return beyond
    if memory.checked:
        flat = touched.reshape(-1)
        if not converted:
            memory.check_defined(flat)
        if memory.traced:
            manner: Manner = translation.manner(0, Reach.NONE, Reach.NONE)
            for record in machine.clock.lanes(manner)[places.lanes].tolist():
                memory.record_read(flat, record, machine.clock, manner)
            memory.fix(flat)
    found: np.ndarray = memory.data[touched].view(type_.dtype)[..., 0]
    return found


class _Bias:
    """The operands Bias, BiasOffset and BiasInterpretation.

    Raises:
        Violation: they break a static rule.
    """

    def __init__(self, translation: Translation, words: Words) -> None:
        self._translation = translation
        self._pointer = Pointer(
            translation, words[0], words[1], BUFFERS, True, "CV-MM-16", VECTOR_ALIGNMENT,
            "VUID-RuntimeSpirv-OpCooperativeVectorMatrixMulAddNV-10098",
        )  # fmt: skip
        found = interpretation(translation, words[2], "the bias interpretation")
        if found.packed:
            raise Violation("CV-MM-24", f"{found} elements of a bias; only an input may be packed")
        self._component = found.component

    def read(self, count: int) -> np.ndarray:
        """Return ``count`` elements for each invocation that executes, as numbers of shape (these invocations, count)."""
        type_ = number(self._component.name)
        places = self._pointer.places()
        found = np.empty((places.lanes.size, count), type_.dtype)
        for first in np.unique(places.first).tolist():
            chosen = np.flatnonzero(places.first == first)
            here = Places(places.memory, places.lanes[chosen], places.first[chosen])
            found[chosen] = _read(self._translation, here, first + np.arange(count) * type_.bytes, type_)
        return as_numbers(found, self._component)


def as_numbers(elements: np.ndarray, component: ComponentType) -> np.ndarray:
    """Return elements as numbers: integers with the signedness of their component type, floats unchanged."""
    return elements.view(component.dtype) if component.is_signed else elements


@replaceable
def converted_input(rows: np.ndarray, type_: Number, signed: bool, as_: Interpretation, count: int) -> np.ndarray:
    """Convert input vectors to their interpretation.

    Args:
        rows: the components, (vectors, components); integers unsigned.
        type_: the type of a component.
        signed: whether integer components are signed.
        as_: the interpretation.
        count: K.

    Returns:
        Numbers with the interpretation's dtype, (vectors, count).
    """
    if as_.packed:
        packed = np.ascontiguousarray(rows).view(as_.component.dtype)
        return packed[:, :count]
    source = rows.view(type_.signed_dtype) if signed and not type_.is_float else rows
    target = as_.component
    if target.is_float:
        return _to_float(source, target)
    least, most = np.iinfo(target.dtype).min, np.iinfo(target.dtype).max
    if type_.is_float:
        wide: np.ndarray = np.nan_to_num(np.rint(source.astype(np.float64)), nan=0.0)
        # Floats cannot represent the bounds of 64-bit integers, but this device has no such interpretation.
        wide = np.clip(wide, float(least), float(most))
        return wide.astype(target.dtype)
    clipped = [min(max(value, int(least)), int(most)) for value in source.reshape(-1).tolist()]
    return np.array(clipped, target.dtype).reshape(source.shape)


def _to_float(source: np.ndarray, target: ComponentType) -> np.ndarray:
    if source.dtype == target.dtype:
        return source
    wide = source.astype(np.float64)
    largest = None if source.dtype.kind in "iu" else _LARGEST.get(target.name)
    if target.bits == 8:
        # Binary32 represents all 16- and 32-bit floats, so the conversion to 8 bits rounds only once.
        wide = source.astype(np.float32)
    with np.errstate(over="ignore"):
        result = wide.astype(target.dtype)
    if largest is not None:
        finite = np.isfinite(wide)
        result = np.where(finite, np.clip(wide, -largest, largest), wide).astype(target.dtype)
    return result


_Multiply = Callable[[np.ndarray, np.ndarray, np.ndarray | None], np.ndarray]
"""Computes results (n, M) from a matrix (M, K), vectors (n, K) and biases (n, M)."""


@replaceable
def float_products(result: CooperativeVector) -> _Multiply:
    """Return the function that multiplies vectors by a matrix in floats; any order and precision is allowed."""
    dtype = result.number.dtype

    def multiply(matrix: np.ndarray, vectors: np.ndarray, biases: np.ndarray | None) -> np.ndarray:
        total: np.ndarray = np.matmul(vectors.astype(np.float64), matrix.astype(np.float64).T)
        if biases is not None:
            total = total + biases.astype(np.float64)
        return total.astype(dtype)

    return multiply


def _integers(result: CooperativeVector) -> _Multiply:
    dtype = result.number.dtype

    def multiply(matrix: np.ndarray, vectors: np.ndarray, biases: np.ndarray | None) -> np.ndarray:
        # Arithmetic modulo 2^64 gives the right low-order bits of the result (CV-MM-28).
        total: np.ndarray = np.matmul(modulo(vectors), modulo(matrix).T)
        if biases is not None:
            total = total + modulo(biases)
        return total.astype(dtype)

    return multiply


executes(Op.CooperativeVectorMatrixMulNV)(lambda translation, words: _multiply(translation, words, has_bias=False))
executes(Op.CooperativeVectorMatrixMulAddNV)(lambda translation, words: _multiply(translation, words, has_bias=True))
