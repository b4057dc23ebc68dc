"""OpCooperativeMatrixLoadKHR and OpCooperativeMatrixStoreKHR (SPV_KHR_cooperative_matrix, 3.42.8)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from cts.embedded.diagnostics import UndefinedUse, Violation
from cts.embedded.faults import replaceable
from cts.embedded.instructions.memory.access import SCALAR_ALIGNMENT
from cts.embedded.instructions.memory.memory_operands import Access, memory_operands
from cts.embedded.instructions.memory.variables import write_check
from cts.embedded.instructions.registry import executes
from cts.embedded.machine.machine import Machine, Run
from cts.embedded.machine.pointers import AddressPointer, ChosenPointer, Offset
from cts.embedded.machine.remembering import remember_small
from cts.embedded.memory.memory import Memory
from cts.embedded.module.translation import Translation, Words
from cts.embedded.types.shapes import SHARED_STORAGE
from cts.embedded.types.spirv_types import MatrixType, Number, Type, Vector, size_of
from cts.embedded.types.values import Undefined, Value, partly, settle, signed_index, with_defined
from generators.kernel import StrayWrite, Where
from generators.spirv.enumerants import Op
from generators.types import Layout

_WIDEST_ALIGNMENT = 16


@dataclass(frozen=True)
class _Operands:
    """The static part of the operands that loads and stores have in common.

    Attributes:
        matrix: type of the matrix.
        pointer, stride: ids.
        stride_type: type of the stride.
        unit: bytes of the pointee, the unit of the stride.
        scalar_bytes: minimum alignment of the pointer in bytes.
        row_major: whether the layout is row-major.
        access: alignment and ordering.
    """

    matrix: MatrixType
    pointer: int
    stride: int
    stride_type: Number
    unit: int
    scalar_bytes: int
    row_major: bool
    access: Access

    @cached_property
    def line_bytes(self) -> int:
        """Bytes of a row (row major) or column (column major)."""
        return (self.matrix.columns if self.row_major else self.matrix.rows) * self.matrix.number.bytes

    @cached_property
    def lines(self) -> int:
        return self.matrix.rows if self.row_major else self.matrix.columns


@remember_small(maxsize=256, elements=lambda rows, columns, *_: rows * columns)
def element_offsets(rows: int, columns: int, row_major: bool, stride: int, size: int) -> np.ndarray:
    """Return the byte offset of each element from the pointer, int64 of shape (rows, columns).

    Element (row, column) is at row * stride + column * size in a row-major matrix, and at column * stride + row * size in a column-major
    one (KHR-LOAD-03, KHR-LOAD-04).
    """
    row, column = np.arange(rows)[:, None], np.arange(columns)
    return row * stride + column * size if row_major else column * stride + row * size


def _row_major(translation: Translation, id_: int) -> bool:
    """Return whether a Cooperative Matrix Layout is RowMajorKHR."""
    layout = translation.constant(id_)
    if layout.__class__ is not int:
        raise Violation("KHR-LOAD-02", "the layout is not a constant")
    if layout not in (Layout.ROW_MAJOR, Layout.COLUMN_MAJOR):
        raise Violation("KHR-LOAD-02", f"layout {layout} is not a Cooperative Matrix Layout")
    return bool(layout == Layout.ROW_MAJOR)


@dataclass(frozen=True)
class Place:
    """Where an instruction accesses a matrix: ids of pointer and stride (if any), the layout, and the Memory Operands."""

    pointer: int
    stride: int | None
    row_major: bool
    memory: Words


def _operands(translation: Translation, place: Place, matrix: MatrixType, what: str, writes: bool) -> _Operands:
    """Read and check the operands."""
    pointer, stride = place.pointer, place.stride
    storage = translation.storage(pointer)
    if storage not in SHARED_STORAGE:
        raise Violation("VUID-StandaloneSpirv-Pointer-08973", f"a pointer to {storage.name} storage")
    unit, scalar_bytes = _units(translation, pointer, matrix)
    if stride is None:
        raise Violation("KHR-LOAD-06", f"{what} without a stride")
    stride_type = translation.type_of[stride]
    if not isinstance(stride_type, Number) or stride_type.is_float:
        raise Violation("KHR-LOAD-07", "the stride is not a scalar integer")
    access = memory_operands(translation, place.memory, storage, writes, what)
    return _Operands(matrix, pointer, stride, stride_type, unit, scalar_bytes, place.row_major, access)


def _units(translation: Translation, pointer: int, matrix: MatrixType) -> tuple[int, int]:
    """Return the unit of a stride and the minimum alignment of a pointer, both in bytes.

    With an untyped pointer, a stride counts bytes (UP-MAT-02), and the memory is accessed as elements of the matrix.
    """
    if translation.is_untyped(pointer):
        return 1, matrix.number.bytes
    pointee = translation.pointee(pointer)
    if not isinstance(pointee, Number | Vector):
        raise Violation("KHR-PTR-02", "the pointee is neither a scalar nor a vector")
    return size_of(pointee), size_of(pointee.element if isinstance(pointee, Vector) else pointee)


class _Group(NamedTuple):
    """Scope instances that access one memory.

    Attributes:
        instances: their numbers.
        places: for all instances, byte offsets of their pointers in the memory.
        strides: for all instances, in bytes.
    """

    memory: Memory
    instances: Iterable[int]
    places: list[int]
    strides: list[int]


def _groups(machine: Machine, operands: _Operands, values: list[Value]) -> list[_Group]:
    """Return where the active instances access memory."""
    scope, instances = operands.matrix.scope, machine.instances(operands.matrix.scope)
    active = machine.active_instances(scope)
    executing: Iterable[int] = range(instances) if active is None else active
    pointer = values[operands.pointer]
    stride = machine.uniform(signed_index(values[operands.stride], operands.stride_type), scope, "the stride")
    strides = (stride * operands.unit).tolist() if isinstance(stride, np.ndarray) else [stride * operands.unit] * instances
    if isinstance(pointer, ChosenPointer):
        which = machine.uniform(pointer.which, scope, "the memory into which the pointer points")
        groups = []
        for number in np.unique(which[list(executing)]):
            found = pointer.places[int(number)]
            chosen = [i for i in executing if which[i] == number]
            groups.append(_Group(found.memory, chosen, _by_instance(machine, found.offset, operands), strides))
        return groups
    place = pointer.address if isinstance(pointer, AddressPointer) else pointer.offset
    resolved = pointer.resolve(machine)
    places = _by_instance(machine, place, operands)
    if isinstance(pointer, AddressPointer):
        places = [address - resolved.memory.base for address in places]
    return [_Group(resolved.memory, executing, places, strides)]


def _by_instance(machine: Machine, place: Offset, operands: _Operands) -> list[int]:
    """Return the pointer's offset or address for each instance."""
    uniform = machine.uniform(place, operands.matrix.scope, "the pointer")
    return uniform.tolist() if isinstance(uniform, np.ndarray) else [uniform] * machine.instances(operands.matrix.scope)


def _check_place(machine: Machine, operands: _Operands, memory: Memory, place: int, stride: int) -> None:
    address = memory.base + place
    if stride < 0:
        raise Violation("KHR-LOAD-05", "a negative stride")
    natural = min(_WIDEST_ALIGNMENT, operands.line_bytes)
    line = "row" if operands.row_major else "column"
    at = f"the pointer is at byte {place} of '{memory.name}' (address {address:#x}), not aligned to"
    if address % natural:
        machine.forbid("KHR-ALIGN-01", f"{at} {natural} bytes of a {line}", cause=memory.name)
    if stride % natural:
        machine.forbid("KHR-ALIGN-01", f"a stride of {stride} bytes is not a multiple of {natural}, as a {line} needs")
    if address % operands.scalar_bytes:
        machine.forbid(SCALAR_ALIGNMENT, f"{at} the {operands.scalar_bytes} bytes of its scalar", cause=memory.name)
    if address % operands.access.alignment:
        machine.forbid("SPIR-V 3.26 Aligned", f"{at} the promised {operands.access.alignment} bytes", cause=memory.name)


def _touched(operands: _Operands, place: int, stride: int) -> slice | np.ndarray:
    """Return the bytes that an instance accesses: a slice if there are no gaps between rows (or columns)."""
    line = operands.line_bytes
    if stride == line or operands.lines == 1:
        return slice(place, place + line * operands.lines)
    if stride == 0:
        return slice(place, place + line)
    return (place + np.arange(operands.lines)[:, None] * stride + np.arange(line)).ravel()


class _Reached(NamedTuple):
    """What an access to the elements of one instance reaches.

    Attributes:
        offsets: byte offset of each element in the memory's data, int64 of shape (rows, columns).
        touched: the accessed bytes in the memory, each once; None if there is no need to know them.
        is_plain: whether all elements are in the memory and aligned, so they can be accessed as numbers.
    """

    offsets: np.ndarray
    touched: slice | np.ndarray | None
    is_plain: bool


def _reached(machine: Machine, operands: _Operands, group: _Group, instance: int, what: str) -> _Reached:
    """Return what an access reaches. ``what`` is its participle, for messages."""
    memory, place, stride = group.memory, group.places[instance], group.strides[instance]
    matrix, size = operands.matrix, operands.matrix.number.bytes
    offsets = place + element_offsets(matrix.rows, matrix.columns, operands.row_major, stride, size)
    if memory.robust:
        inside = _within(memory, offsets, size)
        if inside.size < size * offsets.size:
            machine.rely_on_robustness("KHR-MEM-02", f"a matrix is {what} beyond '{memory.name}', which has {memory.size} bytes")
        return _Reached(offsets, inside, False)
    end = place + stride * (operands.lines - 1) + operands.line_bytes
    machine.check_range(memory.name, end)
    lines = f"{'rows' if operands.row_major else 'columns'} {stride} bytes apart"
    if not memory.check_bounds(place, end, in_windows=True, what=f"the {matrix}, in {lines}"):
        return _Reached(offsets, None, False)
    if memory.windows is not None:
        held = memory.held(offsets, size)
        return _Reached(held, (np.unique(held)[:, None] + np.arange(size)).ravel(), False)
    touched = _touched(operands, place, stride) if memory.checked else None
    return _Reached(offsets, touched, not (place % size or stride % size))


def _place(translation: Translation, pointer: int, words: Words) -> Place:
    """Return a place. ``words`` are the layout, the stride if any, and the Memory Operands."""
    return Place(pointer, words[1] if len(words) > 1 else None, _row_major(translation, words[0]), words[2:])


@executes(Op.CooperativeMatrixLoadKHR)
def _load(translation: Translation, words: Words) -> Run:
    return load_matrix(translation, translation.types[words[0]], _place(translation, words[2], words[3:]), "OpCooperativeMatrixLoadKHR")


def load_matrix(translation: Translation, matrix: Type, place_of: Place, what: str) -> Run:
    """Return a function that loads a matrix with the instruction ``what``."""
    if not isinstance(matrix, MatrixType):
        raise Violation("KHR-LOAD-01", "the result is not a cooperative matrix")
    operands = _operands(translation, place_of, matrix, what, writes=False)
    machine, values = translation.machine, translation.values
    number, instances = matrix.number, translation.machine.instances(matrix.scope)
    rows, columns, size = matrix.rows, matrix.columns, number.bytes
    whole_workgroup = instances == 1 and machine.subgroups > 1
    load_elements = translation.performing(robust_load)

    def run() -> Value:
        groups = _groups(machine, operands, values)
        result = np.zeros((instances, rows, columns), number.dtype)
        traced = any(group.memory.traced for group in groups)
        clocked = machine.clock.matrix(instances, operands.access.manner, whole_workgroup) if traced else None
        known: dict[int, np.ndarray] = {}
        for group in groups:
            read(group, result, known, clocked if group.memory.traced else None)
        if not known:
            return result
        defined = np.ones(result.shape, bool)
        for i, elements in known.items():
            defined[i] = elements
        return partly(result, defined)

    def read(group: _Group, result: np.ndarray, known: dict[int, np.ndarray], records: Any) -> None:
        for i in group.instances:
            memory = group.memory
            _check_place(machine, operands, memory, group.places[i], group.strides[i])
            found = _reached(machine, operands, group, i, "loaded")
            if found.touched is not None:
                defined = memory.defined_at(found.touched)
                if defined is not None:
                    each = memory.defined_at(found.offsets[..., None] + np.arange(size))
                    assert each is not None, "some of these bytes have no value"
                    known[i] = np.logical_and.reduce(each, axis=-1)
                    machine.uninitialised[machine.index] = memory.uninitialised(found.touched, defined)
                if records is not None:
                    memory = memory.record_read(found.touched, records[i], machine.clock, operands.access.manner)
            if found.is_plain:
                result[i] = memory.view(number.dtype)[found.offsets // size]
            else:
                result[i] = load_elements(memory, found.offsets, number)

    return run


def _within(memory: Memory, offsets: np.ndarray, size: int) -> np.ndarray:
    """Return the bytes of elements at ``offsets`` that are inside of the memory."""
    places = (offsets[..., None] + np.arange(size)).ravel()
    return places[(places >= 0) & (places < memory.size)]


@replaceable
def robust_load(memory: Memory, offsets: np.ndarray, number: Number) -> np.ndarray:
    """Return the elements at any offsets. Bytes out of bounds read as zero."""
    found: np.ndarray = memory.bytes_at(offsets[..., None] + np.arange(number.bytes)).view(number.dtype)[..., 0]
    return found


@executes(Op.CooperativeMatrixStoreKHR)
def _store(translation: Translation, words: Words) -> Run:
    return store_matrix(translation, words[1], _place(translation, words[0], words[2:]), "OpCooperativeMatrixStoreKHR")


def store_matrix(translation: Translation, object_: int, place_of: Place, what: str) -> Run:
    """Return a function that stores the matrix ``object_`` with the instruction ``what``."""
    matrix = translation.matrix_type(object_, "KHR-STORE-03", "the object")
    operands = _operands(translation, place_of, matrix, what, writes=True)
    check_write = write_check(translation, place_of.pointer)
    machine, values = translation.machine, translation.values
    number, instances = matrix.number, translation.machine.instances(matrix.scope)
    rows, columns, size = matrix.rows, matrix.columns, number.bytes
    whole_workgroup = instances == 1 and machine.subgroups > 1
    store_elements = translation.performing(robust_store)

    def run() -> Value:
        data = settle(values[object_], machine.mask)
        defined = None
        if isinstance(data, Undefined):
            data, defined = with_defined(data, (instances, rows, columns), number.dtype)
        check_write()
        groups = _groups(machine, operands, values)
        traced = any(group.memory.traced for group in groups)
        clocked = machine.clock.matrix(instances, operands.access.manner, whole_workgroup) if traced else None
        for group in groups:
            memory = group.memory
            if defined is not None and memory.kind != "workgroup":
                raise UndefinedUse(f"an undefined matrix, or an undefined element of it, is stored to '{memory.name}'")
            if memory.check_writable():
                write(group, data, clocked if memory.traced else None)
                if defined is not None:
                    undefine(group, defined)
            else:
                memory.stray.append(StrayWrite(memory.name, "read-only", min(group.places), data.nbytes))

    def undefine(group: _Group, defined: np.ndarray) -> None:
        for i in group.instances:
            offsets = group.places[i] + element_offsets(rows, columns, operands.row_major, group.strides[i], size)
            group.memory.undefine(_within(group.memory, offsets[~defined[i]], size))

    def write(group: _Group, data: np.ndarray, records: Any) -> None:
        memory = group.memory
        for i in group.instances:
            stride = group.strides[i]
            _check_place(machine, operands, memory, group.places[i], stride)
            if stride < operands.line_bytes and operands.lines > 1:
                rule, lines = "KHR-STORE-02" if stride == 0 else "F-KHR-1", "rows" if operands.row_major else "columns"
                machine.forbid(rule, f"{lines} of {operands.line_bytes} bytes are stored {stride} bytes apart, so they overlap")
            found = _reached(machine, operands, group, i, "stored")
            if found.touched is not None:
                if records is not None:
                    memory.record_write(found.touched, records[i], machine.clock, operands.access.manner)
                memory.define(found.touched)
            if found.is_plain:
                memory.view(number.dtype)[found.offsets // size] = data[i]
            else:
                store_elements(memory, found.offsets, data[i])

    return run


@replaceable
def robust_store(memory: Memory, offsets: np.ndarray, data: np.ndarray) -> None:
    """Write elements at any offsets. Drop bytes out of bounds, and note them if they are undefined behaviour."""
    raw = np.ascontiguousarray(data)[..., None].view(np.uint8)
    places = offsets[..., None] + np.arange(raw.shape[-1])
    inside = (places >= 0) & (places < memory.size)
    memory.data[places[inside]] = raw[inside]
    if memory.robust:
        return
    sides: tuple[tuple[Where, np.ndarray], ...] = (("before", places < 0), ("after", places >= memory.size))
    for where, outside in sides:
        if outside.any():
            memory.stray.append(StrayWrite(memory.name, where, int(places[outside].min()), int(outside.sum())))
