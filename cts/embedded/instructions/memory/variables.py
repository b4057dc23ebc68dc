"""Variables, access chains, loads and stores."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cts.embedded.diagnostics import Unsupported, Violation
from cts.embedded.faults import replaceable
from cts.embedded.instructions.memory import access
from cts.embedded.instructions.memory.access import member_offset
from cts.embedded.instructions.memory.memory_operands import Access, memory_operands
from cts.embedded.instructions.registry import executes
from cts.embedded.machine.machine import Machine, Run
from cts.embedded.machine.pointers import BytePointer, Cell, CellPointer, ChosenPointer, DescriptorArray, Offset, out_of_range
from cts.embedded.module.translation import Translation, Words
from cts.embedded.types.shapes import CELL_STORAGE
from cts.embedded.types.spirv_types import Array, MatrixType, Number, Struct, Type, Vector, constituent_type, size_of, stored_constituent
from cts.embedded.types.values import UNDEFINED, Mask, Partly, Value, settle, signed_index, varies
from generators.spirv.enumerants import Decoration, Op, StorageClass

_Step = tuple[int, Number, int, int | None]
"""Id of an index, its type, bytes from one constituent to the next, and the number of constituents (None: unknown)."""


@executes(Op.Variable)
def variable(translation: Translation, words: Words) -> Run:
    """Return a function that creates a variable of a function (OpVariable) at each call."""
    id_, initializer = words[1], words[3] if len(words) > 3 else 0
    if words[2] != StorageClass.Function:
        raise Violation("SPIR-V 2.4", "a variable in a function must be of Function storage")
    translation.budget.take(translation.value_bytes(translation.pointee_id(id_)), "the variable", id_)
    cell = Cell(translation.pointee(id_), translation.name(id_))
    pointer, values = CellPointer(cell, (), translation.settings.mapping), translation.values
    undefined = UNDEFINED if translation.settings.strict else translation.zero(cell.type)

    def begin() -> None:
        values[id_] = pointer
        cell.value = values[initializer] if initializer else undefined

    return begin


@executes(Op.AccessChain, Op.InBoundsAccessChain)
def _access_chain(translation: Translation, words: Words) -> Run:
    return _chain(translation, words[1], words[2], words[3:], None)


@executes(Op.PtrAccessChain, Op.InBoundsPtrAccessChain)
def _pointer_access_chain(translation: Translation, words: Words) -> Run:
    return _chain(translation, words[1], words[2], words[4:], words[3])


@executes(Op.UntypedAccessChainKHR, Op.UntypedInBoundsAccessChainKHR)
def _untyped_access_chain(translation: Translation, words: Words) -> Run:
    return _chain(translation, words[1], words[3], words[4:], None, words[2])


@executes(Op.UntypedPtrAccessChainKHR, Op.UntypedInBoundsPtrAccessChainKHR)
def _untyped_pointer_access_chain(translation: Translation, words: Words) -> Run:
    return _chain(translation, words[1], words[3], words[5:], words[4], words[2])


def _chain(translation: Translation, result: int, base: int, indices: Words, element: int | None, base_type: int = 0) -> Run:
    """Return a function that computes a pointer from ``base``, ``element`` if it is not None, and ``indices``.

    The indices are into ``base_type`` or, if that is 0, into the pointee of the base.
    """
    values = translation.values
    type_ = translation.types[base_type] if base_type else _in_memory(translation, base)
    if base in translation.read_only:
        translation.read_only.add(result)
    if translation.storage(base) in CELL_STORAGE:
        return _cell_chain(translation, base, indices)
    if translation.is_descriptor_array(base) and indices and element is None:
        return _descriptor_chain(translation, result, base, indices, type_)
    return _byte_chain(translation, result, base, type_, indices, element, base_type, lambda: values[base])


def _in_memory(translation: Translation, pointer: int) -> Type:
    """Return the type that the pointee has in memory."""
    return translation.stored.get(pointer) or translation.pointee(pointer)


def _descriptor_chain(translation: Translation, result: int, base: int, indices: Words, type_: Type) -> Run:
    """Return a function that computes a pointer into the buffer of a descriptor. The first index selects the descriptor."""
    values, machine, which = translation.values, translation.machine, indices[0]
    number = translation.number_of(translation.type_of[which])
    is_non_uniform = translation.decoration(result, Decoration.NonUniform) is not None
    choose = translation.performing(chosen_descriptor)

    def begin() -> Value:
        return choose(machine, values[base], signed_index(values[which], number), is_non_uniform)

    return _byte_chain(translation, result, base, constituent_type(type_, 0), indices[1:], None, 0, begin)


@replaceable
def chosen_descriptor(machine: Machine, array: DescriptorArray, which: Offset, is_non_uniform: bool) -> BytePointer | ChosenPointer:
    """Return the buffer of each invocation."""
    return array.chosen(machine, which, is_non_uniform)


class _Walk:
    """A walk into a type, one index after another.

    Attributes:
        type: the type that it has reached.
        fixed: the bytes of constant indices.
        steps: the indices that are computed at run time.
        beyond: the first constant index outside of its array, and the length of the array; None if all are inside.
    """

    def __init__(self, translation: Translation, result: int, type_: Type) -> None:
        self._translation = translation
        self._result = result
        self.type = type_
        self.fixed = 0
        self.steps: list[_Step] = []
        self.beyond: tuple[int, int | None] | None = None

    def into(self, index: int) -> None:
        """Go on to the constituent of the type with the index that an id has."""
        value = self._translation.constant(index)
        if isinstance(self.type, Struct):
            self._into_member(self.type, value)
        elif isinstance(self.type, Array | Vector):
            self._into_element(self.type, index, value)
        else:
            raise Unsupported(f"an access chain into {self.type}")

    def _into_member(self, type_: Struct, member: Value) -> None:
        if member.__class__ is not int or member >= len(type_.members):
            raise Violation("SPIR-V 3.42.8 OpAccessChain", "an index into a structure must be a constant that names a member")
        if member in type_.read_only:
            self._translation.read_only.add(self._result)
        self.fixed += type_.offsets[member]
        self.type = stored_constituent(type_, member)

    def _into_element(self, type_: Array | Vector, index: int, value: Value) -> None:
        translation = self._translation
        stride = member_offset(type_, 1)
        count = type_.length if isinstance(type_, Array) else type_.count
        number = translation.number_of(translation.type_of[index])
        if value.__class__ is int:
            at = signed_index(value, number)
            if at < 0 or (count is not None and at >= count):
                self.beyond = self.beyond or (at, count)
            self.fixed += at * stride
        else:
            self.steps.append((index, number, stride, count))
        self.type = constituent_type(type_, 0)

    def distance(self, machine: Machine) -> Offset:
        """Return the distance in bytes, with the indices that the steps have now."""
        distance: Offset = self.fixed
        for index, number, stride, count in self.steps:
            at = signed_index(machine.values[index], number)
            distance = distance + (at if count is None else _index_inside(machine, at, count)) * stride
        return distance


def _byte_chain(
    translation: Translation, result: int, base: int, type_: Type, indices: Words, element: int | None, base_type: int, begin: Run
) -> Run:
    """Return a function that computes a pointer from the result of ``begin``, and ``element`` and ``indices`` into ``type_``."""
    machine, walk = translation.machine, _Walk(translation, result, type_)
    if element is not None:
        stride = _element_stride(translation, base, type_, bool(base_type))
        walk.steps.append((element, translation.number_of(translation.type_of[element]), stride, None))
    for index in indices:
        walk.into(index)
    if not base_type and walk.type != translation.pointee(result):
        translation.stored[result] = walk.type
    if walk.beyond is not None:
        # Do not refuse before execution: a branch on a specialization constant may prevent it.
        outside, length = walk.beyond

        def refuse() -> Value:
            _refuse_index(machine, outside, length)
            return begin()

        return refuse
    if not walk.steps:
        fixed = walk.fixed
        return lambda: begin().moved(fixed)

    def run() -> Value:
        distance = walk.distance(machine)
        return begin().moved(distance)

    return run


def _index_inside(machine: Machine, at: Value, count: int) -> Value:
    """Return an index into an array of ``count`` elements. Refuse it if it is outside; if the device is not strict, take 0 instead."""
    wrong = (at < 0) | (at >= count)
    if not varies(at):
        if wrong:
            _refuse_index(machine, at, count)
            return 0
    elif (wrong & machine.mask).any():
        _refuse_index(machine, int(at[wrong & machine.mask][0]), count, wrong)
        return np.where(wrong, 0, at)
    return at


def _element_stride(translation: Translation, base: int, type_: Type, is_untyped: bool) -> int:
    stride = translation.decoration(translation.type_ids[base], Decoration.ArrayStride)
    if stride is None and is_untyped:
        raise Violation("UP-CHN-03", "the type of the base of OpUntypedPtrAccessChainKHR is not decorated with ArrayStride")
    return stride[0] if stride else size_of(type_)


def _refuse_index(machine: Machine, index: int, count: int | None, where: Mask | None = None) -> None:
    machine.forbid("SPIR-V 3.42.8 OpAccessChain", out_of_range(index, count), where)


def _cell_chain(translation: Translation, base: int, indices: Words) -> Run:
    values, mapping = translation.values, translation.settings.mapping
    numbers = [translation.number_of(translation.type_of[i]) for i in indices]

    def run() -> Value:
        pointer = values[base]
        path = tuple(signed_index(values[i], n) for i, n in zip(indices, numbers, strict=True))
        return CellPointer(pointer.cell, pointer.path + path, mapping)

    return run


def _matrix_check(translation: Translation, type_: Type) -> None:
    """Check that all invocations of the scope execute together, as a copy of a whole matrix requires (KHR-UNI-01)."""
    if isinstance(type_, MatrixType):
        translation.machine.active_instances(type_.scope)


def _check_uniform_path(machine: Machine, type_: MatrixType, place: CellPointer) -> None:
    """Check that all invocations of the scope refer to the same matrix of an array (KHR-UNI-02)."""
    for index in place.path:
        machine.uniform(index, type_.scope, "the index of a matrix in an array")


@executes(Op.Load)
def _load(translation: Translation, words: Words) -> Run:
    values, machine, pointer = translation.values, translation.machine, words[2]
    type_, storage = translation.types[words[0]], translation.storage(pointer)
    how = memory_operands(translation, words[3:], storage, False, "OpLoad")
    if storage in CELL_STORAGE:
        whole = isinstance(type_, MatrixType)

        def from_cell() -> Value:
            if whole and not machine.full:
                _matrix_check(translation, type_)
            place = values[pointer]
            if place.path:
                if isinstance(type_, MatrixType):
                    _check_uniform_path(machine, type_, place)
                return place.load(machine)
            value = place.cell.value
            return settle(value, machine.mask) if isinstance(value, Partly | tuple) else value

        return from_cell
    if storage is StorageClass.UniformConstant:
        return lambda: values[pointer]
    space, stored = translation.space, translation.stored.get(pointer, type_)

    def from_memory() -> Value:
        return access.load_parts(machine, values[pointer], stored, how, space)

    return from_memory


@executes(Op.Store)
def _store(translation: Translation, words: Words) -> Run:
    values, machine, pointer, object_ = translation.values, translation.machine, words[0], words[1]
    type_, storage = translation.type_of[object_], translation.storage(pointer)
    how = memory_operands(translation, words[2:], storage, True, "OpStore")
    if storage is StorageClass.Input:
        raise Violation("SPIR-V 3.7 Input", "a store to Input storage")
    if storage in CELL_STORAGE:

        def to_cell() -> Value:
            if not machine.full:
                _matrix_check(translation, type_)
            if isinstance(type_, MatrixType):
                _check_uniform_path(machine, type_, values[pointer])
            values[pointer].store(machine, values[object_])

        return to_cell
    check_write, stored = write_check(translation, pointer), translation.stored.get(pointer, type_)

    def to_memory() -> Value:
        check_write()
        access.store_parts(machine, values[pointer], stored, values[object_], how)

    return to_memory


def write_check(translation: Translation, pointer: int) -> Callable[[], None]:
    """Return a function that reports writing through ``pointer``, if it is not allowed."""
    machine, storage = translation.machine, translation.storage(pointer)
    is_constant = storage in (StorageClass.PushConstant, StorageClass.UniformConstant)
    if pointer in translation.read_only:
        text = "a store to memory that is declared read-only (NonWritable)"
    elif is_constant or (storage is StorageClass.Uniform and not translation.has_buffer_blocks):
        text = f"a store to {storage.name} storage, which shaders may not write"
    else:
        return lambda: None
    return lambda: machine.forbid("SPIR-V 3.20 NonWritable", text)


@executes(Op.CopyMemory)
def _copy_memory(translation: Translation, words: Words) -> Run:
    values, machine, target, source = translation.values, translation.machine, words[0], words[1]
    type_ = translation.pointee(source if translation.is_untyped(target) else target)
    target_cell, source_cell = (translation.storage(p) in CELL_STORAGE for p in (target, source))
    reads = memory_operands(translation, words[2:], translation.storage(source), False, "OpCopyMemory")
    writes = Access(reads.alignment, reads.manner)
    check_write = write_check(translation, target)
    from_, to = (translation.stored.get(pointer, type_) for pointer in (source, target))
    space = translation.space

    def run() -> Value:
        place = values[source]
        value = place.load(machine) if source_cell else access.load_parts(machine, place, from_, reads, space)
        if target_cell:
            values[target].store(machine, value)
            return
        check_write()
        access.store_parts(machine, values[target], to, value, writes)

    return run


@executes(Op.ArrayLength)
def _array_length(translation: Translation, words: Words) -> Run:
    return _length(translation, words[2], translation.pointee(words[2]), words[3])


@executes(Op.UntypedArrayLengthKHR)
def _untyped_array_length(translation: Translation, words: Words) -> Run:
    return _length(translation, words[3], translation.types[words[2]], words[4])


def _length(translation: Translation, structure: int, type_: Type, member: int) -> Run:
    values = translation.values
    assert isinstance(type_, Struct)
    array, offset = type_.members[member], type_.offsets[member]
    assert isinstance(array, Array)

    def run() -> Value:
        pointer = values[structure]
        assert isinstance(pointer, BytePointer)
        assert isinstance(pointer.offset, int)
        return max(pointer.memory.size - pointer.offset - offset, 0) // array.stride

    return run
