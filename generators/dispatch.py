"""Build the kernel and the dispatches that a device gets from a program and its module."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from generators.kernel import BufferSlot, Dispatch, Kernel, OpaqueSlot, Specialization
from generators.passes import Passes
from generators.program.interface import Interface, Member, interface
from generators.program.memory import Array, OpaqueMatrices
from generators.program.program import LOCAL_SIZE_CONSTANT_ID, LOCAL_SIZE_Y_CONSTANT_ID, LOCAL_SIZE_Z_CONSTANT_ID, Program, Subcase
from generators.types import COMPONENT_TYPES, StorageClass

OPERAND_BUFFER = "operands"
"""Name of the buffer that holds buffer-sourced operands."""


def kernel(program: Program, spirv: bytes) -> Kernel:
    """Return the kernel that binds ``spirv``, made by any front end, according to the program's interface."""
    places = interface(program)
    bindings = {array.name: (binding, 0) for binding, array in places.bindings}
    for group in places.descriptor_arrays:
        bindings |= {array.name: (group.binding, element) for element, array in enumerate(group.arrays)}

    def slot(array: Array) -> BufferSlot:
        binding, element = bindings.get(array.name, (None, 0))
        opaque = None if array.opaque is None else _opaque_slot(array.opaque, places)
        address = addresses.get(array.name)
        return BufferSlot(array.name, array.bytes, array.role != "input", binding, address, element, opaque, array.windows)

    addresses = {address.array.name: address.offset for address in places.addresses}
    slots = [slot(array) for array in program.arrays if array.storage is not StorageClass.WORKGROUP]
    if places.operand_binding is not None:
        slots.append(BufferSlot(OPERAND_BUFFER, places.operand_bytes, False, places.operand_binding))
    specialization = []
    for operand in places.specialization:
        assert operand.constant_id is not None
        assert operand.value is not None
        specialization.append(Specialization(operand.constant_id, operand.type, operand.value))
    shape = program.shape
    if shape.local_size == "constants":
        u32 = COMPONENT_TYPES["u32"]
        specialization.append(Specialization(LOCAL_SIZE_Y_CONSTANT_ID, u32, shape.y))
        specialization.append(Specialization(LOCAL_SIZE_Z_CONSTANT_ID, u32, shape.z))
    return Kernel(
        spirv=spirv,
        buffers=tuple(slots),
        specialization=tuple(specialization),
        local_size_constant_id=LOCAL_SIZE_CONSTANT_ID,
        subgroups=program.subgroups // (shape.y * shape.z),
        push_constant_bytes=places.push_constant_bytes,
        entry_point=program.entry_point,
        required_subgroup_size=shape.subgroup_size,
        maintenance1=program.maintenance1,
        full_subgroups=shape.full_subgroups if shape.invocations is None else False,
        robust=program.robust,
        pipeline_cache=program.pipeline_cache,
        invocations=shape.invocations,
        draw=shape.draw,
        shader_object=program.shader_object,
        spare_descriptors=program.spare_descriptors,
        preceding=program.preceding,
        conversion_stage=program.conversion_stage,
        passes=_passes(program, places),
    )


def _passes(program: Program, places: Interface) -> Passes | None:
    if program.passes is None:
        return None
    place = next(member.offset for member in places.push_constants if member.operand == program.passes.operand)
    return Passes(place, program.passes.barrier)


def _opaque_slot(opaque: OpaqueMatrices, places: Interface) -> OpaqueSlot:
    pitch = next((member.offset for member in places.push_constants if member.operand == opaque.pitch), None)
    return OpaqueSlot(opaque.component, opaque.rows, opaque.columns, opaque.layout, opaque.count, pitch, opaque.command)


def _write(block: bytearray, members: tuple[Member, ...], operands: Mapping[str, int]) -> None:
    for member in members:
        component = member.operand.type
        value = operands[member.operand.name]
        block[member.offset : member.offset + component.bytes] = (value % (1 << component.bits)).to_bytes(component.bytes, "little")


def dispatch(program: Program, subcase: Subcase, contents: Mapping[str, np.ndarray]) -> Dispatch:
    """Return the dispatch of ``subcase``.

    Args:
        program: the program of the kernel.
        subcase: supplies the operands.
        contents: the initial contents of each array that is a buffer, uint8, by name.
    """
    places = interface(program)
    push_constants = bytearray(places.push_constant_bytes)
    pitches = {array.opaque.pitch.name: 0 for array in program.arrays if array.opaque is not None and array.opaque.pitch is not None}
    _write(push_constants, places.push_constants, {**pitches, **subcase.operands})
    buffers = [contents[array.name] for array in program.arrays if array.storage is not StorageClass.WORKGROUP]
    if places.operand_binding is not None:
        block = bytearray(places.operand_bytes)
        _write(block, places.operand_members, subcase.operands)
        buffers.append(np.frombuffer(bytes(block), np.uint8))
    passes = 1 if program.passes is None else subcase.operands[program.passes.operand.name]
    return Dispatch(bytes(push_constants), tuple(buffers), program.workgroups, passes=passes)
