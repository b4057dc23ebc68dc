"""The interface of a program's shader: bindings, push constants and specialization constants.

Both emitters and the dispatcher use the same layout, so one kernel description fits either front end: descriptor set 0; StorageBuffer
arrays take bindings 0, 1, 2 … in order; the buffer with buffer-sourced operands comes after them; push constants hold first the 64-bit
addresses of PhysicalStorageBuffer arrays, then push-constant operands, each at its natural alignment; the operand buffer holds its operands
at their natural alignment too.
"""

from __future__ import annotations

from dataclasses import dataclass

from generators.program.memory import Array
from generators.program.program import Program
from generators.program.values import Operand
from generators.types import StorageClass


@dataclass(frozen=True)
class Member:
    """An operand's offset, in bytes from the start of its block."""

    operand: Operand
    offset: int


@dataclass(frozen=True)
class Address:
    """The offset of a PhysicalStorageBuffer array's address, in bytes from the start of the push constants."""

    array: Array
    offset: int


@dataclass(frozen=True)
class DescriptorArray:
    """An array of descriptors: ``arrays`` are its elements, in their order, at one binding."""

    binding: int
    arrays: tuple[Array, ...]

    @property
    def name(self) -> str:
        """Its name."""
        return self.arrays[0].descriptors


@dataclass(frozen=True)
class Interface:
    """The resources to which a program's shader is connected.

    Attributes:
        bindings: (binding, array) of every StorageBuffer array that is not in an array of descriptors.
        descriptor_arrays: arrays of descriptors. Each has the binding of its first array; the other arrays take no binding.
        addresses: places of the addresses in the push constants.
        push_constants: places of the push-constant operands.
        push_constant_bytes: size of the push-constant block; 0 if there is none.
        operand_binding: binding of the operand buffer, None if there is none.
        operand_members: places of the operands in that buffer.
        operand_bytes: its size.
        specialization: the specialization-constant operands.
    """

    bindings: tuple[tuple[int, Array], ...]
    addresses: tuple[Address, ...]
    push_constants: tuple[Member, ...]
    push_constant_bytes: int
    operand_binding: int | None
    operand_members: tuple[Member, ...]
    operand_bytes: int
    specialization: tuple[Operand, ...]
    descriptor_arrays: tuple[DescriptorArray, ...] = ()


def _place(operands: list[Operand], start: int) -> tuple[tuple[Member, ...], int]:
    members = []
    offset = start
    for operand in operands:
        size = operand.type.bytes
        offset = -(-offset // size) * size
        members.append(Member(operand, offset))
        offset += size
    return tuple(members), -(-offset // 4) * 4


def interface(program: Program) -> Interface:
    """Lay out the interface of ``program``."""
    # Its module, its kernel and each of its dispatches need it.
    known: Interface | None = getattr(program, "_interface", None)
    if known is None:
        known = _laid_out(program)
        object.__setattr__(program, "_interface", known)
    return known


def _laid_out(program: Program) -> Interface:
    buffers = [array for array in program.arrays if array.storage is StorageClass.STORAGE_BUFFER]
    physical = [array for array in program.arrays if array.storage is StorageClass.PHYSICAL_STORAGE_BUFFER]
    addresses = tuple(Address(array, 8 * i) for i, array in enumerate(physical))
    pushed, push_bytes = _place([o for o in program.operands if o.source == "push_constant"], 8 * len(physical))
    stored, stored_bytes = _place([o for o in program.operands if o.source == "buffer"], 0)
    groups = dict.fromkeys(array.descriptors or array for array in buffers)
    bindings = {group: binding for binding, group in enumerate(groups)}
    return Interface(
        bindings=tuple((binding, group) for group, binding in bindings.items() if not isinstance(group, str)),
        addresses=addresses,
        push_constants=pushed,
        push_constant_bytes=push_bytes,
        operand_binding=len(bindings) if stored else None,
        operand_members=stored,
        operand_bytes=stored_bytes,
        specialization=tuple(o for o in program.operands if o.source == "specialization"),
        descriptor_arrays=tuple(
            DescriptorArray(binding, tuple(array for array in buffers if array.descriptors == group))
            for group, binding in bindings.items()
            if isinstance(group, str)
        ),
    )
