"""OpCooperativeMatrixLoadTensorNV and OpCooperativeMatrixStoreTensorNV (SPV_NV_cooperative_matrix2, 3.49.8)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cts.embedded.diagnostics import UndefinedUse, Unsupported, Violation, demanded
from cts.embedded.faults import replaceable
from cts.embedded.instructions.matrices.load_store import robust_load, robust_store
from cts.embedded.instructions.memory.memory_operands import Access, memory_operands
from cts.embedded.instructions.memory.variables import write_check
from cts.embedded.instructions.registry import executes
from cts.embedded.instructions.tensors.decode import Decode
from cts.embedded.instructions.tensors.tensor import layout_state, view_state, wide_signed
from cts.embedded.instructions.tensors.tensor_addressing import Layout, Places, View, tensor_places
from cts.embedded.machine.machine import Machine, Run
from cts.embedded.machine.pointers import AddressPointer
from cts.embedded.memory.memory import Memory
from cts.embedded.module.translation import Translation, Words
from cts.embedded.types.shapes import SHARED_STORAGE
from cts.embedded.types.spirv_types import Array, MatrixType, Number, Struct, TensorLayoutType, TensorViewType, constituent_type
from cts.embedded.types.values import Undefined, Value, partly, settle, signed_index, wide, with_defined
from generators.kernel import StrayWrite
from generators.spirv.enumerants import MemoryAccess, Op, TensorAddressingOperands
from generators.spirv.grammar import GRAMMAR
from generators.types import Scope

POINTER_ALIGNMENT = 16
"""Alignment of the pointer of a tensor load or store, in bytes (CM2-LT-06)."""

_VIEW = int(TensorAddressingOperands.TensorView)
_DECODE = int(TensorAddressingOperands.DecodeFunc)
_DECODE_VECTOR = int(TensorAddressingOperands.DecodeVectorFunc)
_UNIFORM = "CM2-LT-05"
_CLAMP_VALUE_BITS = 32
_CHAINS = frozenset({Op.AccessChain, Op.InBoundsAccessChain})
_UNTYPED_CHAINS = frozenset({Op.UntypedAccessChainKHR, Op.UntypedInBoundsAccessChainKHR})


@dataclass(frozen=True)
class _Extent:
    """An array of known length into which the pointer points, with the id and type of the last index."""

    index: int
    index_type: Number
    array: Array


@dataclass(frozen=True)
class _Operands:
    """The static part of the operands that loads and stores have in common.

    Attributes:
        matrix, layout_type, view_type: types; ``view_type`` is None if there is no view.
        pointer, layout, view: ids; ``view`` is 0 if there is none.
        decode, decode_vector: ids of the decode functions, 0 if there is none.
        extent: the array; None if it is unknown.
        access: alignment and ordering.
    """

    matrix: MatrixType
    pointer: int
    layout: int
    layout_type: TensorLayoutType
    view: int
    view_type: TensorViewType | None
    decode: int
    decode_vector: int
    extent: _Extent | None
    access: Access


def _operands(translation: Translation, what: str, matrix: MatrixType, pointer: int, layout: int, masks: Words, writes: bool) -> _Operands:
    """Read and check the operands; ``masks`` are the Memory Operands and the Tensor Addressing Operands, with their own operands."""
    storage = translation.storage(pointer)
    if storage not in SHARED_STORAGE:
        raise Unsupported(f"a tensor access to {storage.name} storage")
    layout_type = demanded(translation.type_of[layout], TensorLayoutType, "CM2-LT-02", "the operand TensorLayout is not a tensor layout")
    extras = sum(len(kinds) for bit, kinds in GRAMMAR.kinds["MemoryAccess"].parameters.items() if masks[0] & bit)
    memory, addressing = masks[: 1 + extras], masks[1 + extras :]
    if memory[0] & MemoryAccess.MakePointerAvailable and not writes:
        raise Violation("CM2-MEM-01", f"{what} with MakePointerAvailable")
    if memory[0] & MemoryAccess.MakePointerVisible and writes:
        raise Violation("CM2-MEM-02", f"{what} with MakePointerVisible")
    mask, ids = addressing[0], list(addressing[1:])
    view = ids.pop(0) if mask & _VIEW else 0
    view_type = translation.type_of.get(view) if view else None
    if not isinstance(view_type, TensorViewType) and view:
        raise Violation("CM2-LT-02", "the operand TensorView is not a tensor view")
    decode = ids.pop(0) if mask & _DECODE else 0
    vector = ids.pop(0) if mask & _DECODE_VECTOR else 0
    if (decode or vector) and writes:
        raise Violation("CM2-ST-02", f"{what} with a DecodeFunc")
    if mask & ~(_VIEW | _DECODE | _DECODE_VECTOR):
        raise Unsupported(f"Tensor Addressing Operands {mask:#x}")
    access = memory_operands(translation, memory, storage, writes, what)
    assert view_type is None or isinstance(view_type, TensorViewType)
    extent = _extent(translation, pointer)
    return _Operands(matrix, pointer, layout, layout_type, view, view_type, decode, vector, extent, access)


def _extent(translation: Translation, pointer: int) -> _Extent | None:
    """Return the array that an access chain ends in; None if there is no chain, or the length is not static."""
    chains = _CHAINS | _UNTYPED_CHAINS
    chain = next((i for i in translation.instructions if i.op in chains and i.operands[1] == pointer), None)
    if chain is None:
        return None
    base, *indices = chain.operands[2:]
    if chain.op in _UNTYPED_CHAINS:
        type_, indices = translation.types[base], indices[1:]
    else:
        type_ = translation.pointee(base)
    for index in indices[:-1]:
        type_ = constituent_type(type_, translation.constant(index) if isinstance(type_, Struct) else 0)
    if not indices or not isinstance(type_, Array):
        raise Violation("CM2-LT-04", "the pointer does not point into an array")
    if type_.length is None:
        return None
    return _Extent(indices[-1], translation.number_of(translation.type_of[indices[-1]]), type_)


def _by_instance(machine: Machine, numbers: Sequence[Value], scope: Scope, what: str) -> list[tuple[int, ...]]:
    """Return the values of numbers for each instance of a scope. They must be uniform within the instance."""
    uniform = [machine.uniform(number, scope, what, _UNIFORM) for number in numbers]
    count = machine.instances(scope)
    columns = [u.tolist() if isinstance(u, np.ndarray) else [u] * count for u in uniform]
    return list(zip(*columns, strict=True))


@replaceable
def layouts_of(machine: Machine, scope: Scope, type_: TensorLayoutType, value: Value) -> list[Layout]:
    """Return each scope instance's tensor layout in ``value``."""
    state, dim = layout_state(machine, type_, value), type_.dim
    before, after = (*state.block_size, *state.dimension, *state.stride), (*state.span, state.clamp_value)
    numbers = [*map(wide, before), *map(wide_signed, state.offset), *map(wide, after)]
    found = []
    for instance in _by_instance(machine, numbers, scope, "the tensor layout"):
        block_size, dimension, stride, offset, span = (instance[i * dim : (i + 1) * dim] for i in range(5))
        found.append(Layout(type_.clamp_mode, block_size, dimension, stride, offset, span, instance[-1]))
    return found


@replaceable
def views_of(machine: Machine, scope: Scope, type_: TensorViewType, value: Value) -> list[View]:
    """Return each scope instance's tensor view in ``value``."""
    state, dim = view_state(machine, type_, value), type_.dim
    numbers = [wide(number) for number in (*state.dimension, *state.stride, *state[2:])]
    found = []
    for instance in _by_instance(machine, numbers, scope, "the tensor view"):
        dimension, stride = instance[:dim], instance[dim : 2 * dim]
        row_offset, row_span, col_offset, col_span = instance[2 * dim :]
        clip = (row_offset, row_span), (col_offset, col_span)
        found.append(View(type_.has_dimensions, type_.permutation, dimension, stride, *clip))
    return found


@dataclass(frozen=True)
class _Place:
    """Where a scope instance accesses ``memory``: the byte offset ``start``, and the accessible bytes from ``low`` up to ``high``."""

    memory: Memory
    start: int
    low: int
    high: int


def _memory_places(machine: Machine, operands: _Operands, values: list[Value]) -> list[_Place]:
    scope = operands.matrix.scope
    pointer = values[operands.pointer]
    offset = pointer.address if isinstance(pointer, AddressPointer) else pointer.offset
    resolved = pointer.resolve(machine)
    memory = resolved.memory
    base = memory.base if isinstance(pointer, AddressPointer) else 0
    index = signed_index(values[operands.extent.index], operands.extent.index_type) if operands.extent else 0
    found = []
    for address, at in _by_instance(machine, [offset, index], scope, "the pointer"):
        start, low, high = address - base, 0, memory.size
        if operands.extent is not None:
            array = operands.extent.array
            assert array.length is not None
            low = start - at * array.stride
            high = low + array.length * array.stride
        found.append(_Place(memory, start, low, high))
    return found


def _check_place(machine: Machine, operands: _Operands, place: _Place) -> None:
    address = place.memory.base + place.start
    at = f"the pointer is at byte {place.start} of '{place.memory.name}' (address {address:#x}), not aligned to"
    if address % POINTER_ALIGNMENT:
        machine.forbid("CM2-LT-06", f"{at} {POINTER_ALIGNMENT} bytes", cause=place.memory.name)
    if address % operands.access.alignment:
        machine.forbid("SPIR-V 3.26 Aligned", f"{at} the promised {operands.access.alignment} bytes", cause=place.memory.name)


@replaceable
def places_of(machine: Machine, matrix: MatrixType, layout: Layout, view: View | None, store: bool) -> Places:
    """Return where the elements of one scope instance are in the tensor.

    Raises:
        Violation: the addressing calculation breaks a rule.
    """
    places = tensor_places(layout, view, matrix.rows, matrix.columns, store, machine.wide_indexing)
    for rule, text in places.broken:
        machine.forbid(rule, text)
    return places


class _Addressing:
    """Finds the elements of an access: layouts and views of all scope instances, and the places of one instance's elements."""

    def __init__(self, translation: Translation, operands: _Operands, store: bool) -> None:
        self._machine, self._operands, self._store = translation.machine, operands, store
        self._layouts_of, self._views_of = translation.performing(layouts_of), translation.performing(views_of)
        self._places_of = translation.performing(places_of)

    def layouts(self) -> list[Layout]:
        operands = self._operands
        return self._layouts_of(self._machine, operands.matrix.scope, operands.layout_type, self._machine.values[operands.layout])

    def views(self) -> list[View] | list[None]:
        operands, machine = self._operands, self._machine
        if operands.view_type is None:
            return [None] * machine.instances(operands.matrix.scope)
        return self._views_of(machine, operands.matrix.scope, operands.view_type, machine.values[operands.view])

    def places(self, layout: Layout, view: View | None) -> Places:
        return self._places_of(self._machine, self._operands.matrix, layout, view, self._store)


def _offsets(machine: Machine, operands: _Operands, place: _Place, places: Places) -> np.ndarray:
    """Return the offset of each reached element in the memory's data, int64 of shape (elements,)."""
    size, reached = operands.matrix.number.bytes, places.reached
    distance = places.index[reached] * size
    offsets: np.ndarray = place.start + distance
    outside = (offsets < place.low) | (offsets + size > place.high) | (offsets < 0) | (offsets + size > place.memory.size)
    # Places that break a rule of the calculation are only a consequence.
    if outside.any() and not places.broken:
        which = int(np.flatnonzero(outside)[0])
        row, column = (int(i) for i in np.argwhere(reached)[which])
        machine.forbid(
            "F-CM2-9",
            f"out of bounds: element ({row}, {column}) at byte {int(offsets[which])} of '{place.memory.name}', "
            f"where bytes {place.low} to {min(place.high, place.memory.size) - 1} may be accessed",
            cause=place.memory.name,
        )
    if offsets.size and not places.broken:
        machine.check_range(place.memory.name, int(offsets.max()) + size)
    return place.memory.held(offsets, size)


def _touched(memory: Memory, offsets: np.ndarray, size: int) -> np.ndarray:
    """Return the bytes of elements that are in the memory, each once."""
    inside = offsets[(offsets >= 0) & (offsets + size <= memory.data.size)]
    return (np.unique(inside)[:, None] + np.arange(size)).ravel()


def _clamp_value(machine: Machine, operands: _Operands, layout: Layout) -> Any:
    """Return the low bits of the clamp value, as a component (F-TA-16)."""
    number = operands.matrix.number
    if number.bits > _CLAMP_VALUE_BITS and layout.clamp_value:
        machine.forbid("F-TA-16", f"a clamp value of 32 bits for components of {number.bits}")
    return np.array(layout.clamp_value & number.mask, number.component.bits_dtype).view(number.dtype)[()]


@executes(Op.CooperativeMatrixLoadTensorNV)
def _load(translation: Translation, words: Words) -> Run:
    what = "OpCooperativeMatrixLoadTensorNV"
    matrix, object_ = translation.types[words[0]], words[3]
    if not isinstance(matrix, MatrixType):
        raise Violation("CM2-LT-01", "the result is not a cooperative matrix")
    if translation.type_ids[object_] != words[0]:
        raise Violation("CM2-LT-01", "the object is not of the result's type")
    operands = _operands(translation, what, matrix, words[2], words[4], words[5:], writes=False)
    fetch = (_decoded if operands.decode or operands.decode_vector else _from_memory)(translation, operands)
    addressing = _Addressing(translation, operands, store=False)
    machine, values = translation.machine, translation.values
    number, instances = matrix.number, translation.machine.instances(matrix.scope)
    shape = (instances, matrix.rows, matrix.columns)

    def run() -> Value:
        active = machine.active_instances(matrix.scope)
        memory_places = _memory_places(machine, operands, values)
        layouts, views = addressing.layouts(), addressing.views()
        result, defined = _object(values[object_], shape, number)
        for i in range(instances) if active is None else active:
            _check_place(machine, operands, memory_places[i])
            places = addressing.places(layouts[i], views[i])
            if places.clamped.any():
                result[i][places.clamped] = _clamp_value(machine, operands, layouts[i])
            if places.reached.any():
                result[i][places.reached] = fetch(i, memory_places[i], layouts[i], places)
            if defined is not None:
                defined[i] |= ~places.skipped
        if defined is None:
            return result
        if active is not None:
            # Instances that do not execute do not use the result.
            defined[np.setdiff1d(np.arange(instances), active)] = True
        return partly(result, defined)

    return run


_Fetch = Callable[[int, _Place, Layout, Places], np.ndarray]
"""Returns the reached elements in row-major order: an array of shape (elements,) of the component's dtype.

Its arguments are the number of a scope instance, its place in memory, its layout, and the places of its elements."""


def _from_memory(translation: Translation, operands: _Operands) -> _Fetch:
    machine, number, manner = translation.machine, operands.matrix.number, operands.access.manner
    instances = machine.instances(operands.matrix.scope)
    whole_workgroup = instances == 1 and machine.subgroups > 1
    load_elements = translation.performing(robust_load)

    def fetch(instance: int, place: _Place, _: Layout, places: Places) -> np.ndarray:
        memory, offsets = place.memory, _offsets(machine, operands, place, places)
        if memory.checked and memory.strict:
            touched = _touched(memory, offsets, number.bytes)
            memory.check_defined(touched)
            if memory.traced:
                record = machine.clock.matrix(instances, manner, whole_workgroup)[instance]
                memory = memory.record_read(touched, record, machine.clock, manner)
        return load_elements(memory, offsets, number)

    return fetch


def _decoded(translation: Translation, operands: _Operands) -> _Fetch:
    storage = translation.storage(operands.pointer)
    decode = Decode(translation, operands.decode, operands.decode_vector, operands.matrix, operands.layout_type.dim, storage)

    def fetch(instance: int, place: _Place, layout: Layout, places: Places) -> np.ndarray:
        return decode.elements(int(instance), place.memory, place.start, layout, places)

    return fetch


def _object(value: Value, shape: tuple[int, ...], number: Number) -> tuple[np.ndarray, np.ndarray | None]:
    """Return a copy of a matrix, and which of its elements are defined; None if all are (CM2-VW-01)."""
    contents, defined = with_defined(value, shape, number.dtype)
    return contents.copy(), defined.copy() if isinstance(value, Undefined) else None


@executes(Op.CooperativeMatrixStoreTensorNV)
def _store(translation: Translation, words: Words) -> Run:
    what = "OpCooperativeMatrixStoreTensorNV"
    pointer, object_ = words[0], words[1]
    matrix = translation.matrix_type(object_, "CM2-ST-04", "the object")
    operands = _operands(translation, what, matrix, pointer, words[2], words[3:], writes=True)
    addressing = _Addressing(translation, operands, store=True)
    store_elements = translation.performing(robust_store)
    check_write = write_check(translation, pointer)
    machine, values = translation.machine, translation.values
    number, instances = matrix.number, translation.machine.instances(matrix.scope)
    whole_workgroup = instances == 1 and machine.subgroups > 1
    shape = (instances, matrix.rows, matrix.columns)

    def run() -> Value:
        active = machine.active_instances(matrix.scope)
        check_write()
        memory_places = _memory_places(machine, operands, values)
        layouts, views = addressing.layouts(), addressing.views()
        data, defined = _object(settle(values[object_], machine.mask), shape, number)
        manner = operands.access.manner
        for i in range(instances) if active is None else active:
            place, memory = memory_places[i], memory_places[i].memory
            _check_place(machine, operands, place)
            places = addressing.places(layouts[i], views[i])
            reached = places.reached
            if not reached.any():
                continue
            if defined is not None and not defined[i][reached].all():
                raise UndefinedUse("an undefined matrix, or an undefined element of it, is stored")
            if not memory.check_writable():
                memory.stray.append(StrayWrite(memory.name, "read-only", place.start, int(reached.sum()) * number.bytes))
                continue
            offsets = _offsets(machine, operands, place, places)
            if memory.checked:
                touched = _touched(memory, offsets, number.bytes)
                if memory.traced:
                    memory.record_write(touched, machine.clock.matrix(instances, manner, whole_workgroup)[i], machine.clock, manner)
                memory.define(touched)
            store_elements(memory, offsets, data[i][reached])

    return run
