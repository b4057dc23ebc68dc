"""Derive the qualifiers of an array from the memory operands of its accesses.

GLSL qualifies declarations, never accesses, and glslang turns the qualifiers into memory operands: ``nonprivate`` into NonPrivatePointer;
``subgroupcoherent`` into NonPrivatePointer and MakePointerVisible or MakePointerAvailable at subgroup scope; ``nontemporal`` into
Nontemporal; ``buffer_reference_align`` into Aligned.

An access without memory operands is private. Arrays through which invocations pass data across a barrier are an exception: one invocation
sees the writes of another only if both accesses are non-private (Vulkan memory model). ``shared`` arrays are always non-private; buffers
are declared ``workgroupcoherent``. So are buffers with elements that invocations access both by atomics and without.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from generators.errors import Lack, NotExpressible
from generators.program.arrays import ArrayLoad, ArrayStore, AtomicAdd, AtomicOr
from generators.program.cooperative_vectors import VECTOR_ALIGNMENT, CooperativeVectorLoad, CooperativeVectorStore
from generators.program.load_store import MatrixLoad, MatrixStore, guaranteed_alignment, layout_value
from generators.program.memory import Array
from generators.program.operation import Operation
from generators.program.tensor_access import POINTER_ALIGNMENT, TensorLoad, TensorStore
from generators.program.walking import flattened
from generators.program.workgroup import Barrier
from generators.types import MemoryAccess, MemoryScope, StorageClass

Access = MatrixLoad | MatrixStore | TensorLoad | TensorStore | CooperativeVectorLoad | CooperativeVectorStore

_HAND_OVER_QUALIFIERS = {
    MemoryScope.SUBGROUP: "subgroupcoherent",
    MemoryScope.WORKGROUP: "workgroupcoherent",
    MemoryScope.QUEUE_FAMILY: "queuefamilycoherent",
}


@dataclass(frozen=True)
class Qualification:
    """The properties of every access to an array that follow from its declaration.

    Attributes:
        qualifiers: memory qualifiers.
        alignment: the alignment in bytes, for ``buffer_reference_align``.
    """

    qualifiers: tuple[str, ...]
    alignment: int


def accesses(operations: Sequence[Operation], array: Array) -> Iterator[Access]:
    """Return the loads and stores of matrices and cooperative vectors in ``array``, including accesses in loops and branches."""
    for operation in flattened(operations):
        if isinstance(operation, Access) and operation.array == array:
            yield operation


def qualify(array: Array, operations: Sequence[Operation]) -> Qualification:
    """Return the qualification of ``array`` that gives each access among ``operations`` its memory operands.

    Raises:
        NotExpressible: there is none.
    """
    found = list(accesses(operations, array))
    unstated = (_HAND_OVER_QUALIFIERS[_widest(operations)],) if _is_handed_over(array, operations, len(found)) else ()
    wanted = {unstated if access.memory is None else _qualifiers(array, access) for access in found}
    if len(wanted) > 1:
        raise NotExpressible(
            Lack.ACCESS_OPERANDS, f"GLSL qualifies arrays, not accesses, and the accesses to '{array.name}' differ in memory operands"
        )
    return Qualification(wanted.pop() if wanted else unstated, _alignment(array, found))


def _is_handed_over(array: Array, operations: Sequence[Operation], matrix_accesses: int) -> bool:
    """Tell whether one invocation may write a buffer that another reads, with a barrier between them. Accesses to single elements alone do
    not count, unless atomics access these as well: each element always belongs to the same invocation."""
    if array.storage is StorageClass.WORKGROUP or array.role == "input":
        return False
    everything = list(flattened(operations))
    elements = sum(isinstance(operation, ArrayLoad | ArrayStore) and array == operation.array for operation in everything)
    if not matrix_accesses:
        return elements > 0 and any(isinstance(operation, AtomicAdd | AtomicOr) and array == operation.array for operation in everything)
    return matrix_accesses + elements > 1 and any(isinstance(operation, Barrier | AtomicAdd) for operation in everything)


def _widest(operations: Sequence[Operation]) -> MemoryScope:
    """Return the widest scope across which invocations pass data through memory."""
    everything = list(flattened(operations))
    atomics = (operation.scope for operation in everything if isinstance(operation, AtomicAdd))
    return max(atomics, default=None) or min(operation.scope for operation in everything if isinstance(operation, Barrier))


def _scope(access: Access) -> MemoryScope:
    assert access.memory is not None
    if access.memory.scope is not None:
        return access.memory.scope
    if isinstance(access, CooperativeVectorLoad | CooperativeVectorStore):
        return MemoryScope.WORKGROUP
    matrix = access.result if isinstance(access, MatrixLoad | TensorLoad) else access.matrix
    return MemoryScope(int(matrix.type.scope_value))


def _hand_over(access: Access) -> MemoryAccess:
    """Return the memory operands of a coherent access."""
    load = isinstance(access, MatrixLoad | TensorLoad | CooperativeVectorLoad)
    return MemoryAccess.NON_PRIVATE_POINTER | (MemoryAccess.MAKE_POINTER_VISIBLE if load else MemoryAccess.MAKE_POINTER_AVAILABLE)


def _qualifiers(array: Array, access: Access) -> tuple[str, ...]:
    assert access.memory is not None
    mask = access.memory.mask
    if array.storage is StorageClass.WORKGROUP:
        if mask != _hand_over(access) or _scope(access) is not MemoryScope.WORKGROUP:
            raise NotExpressible(
                Lack.SHARED_OPERANDS, "GLSL's shared memory takes no qualifiers: its accesses are always visible to the whole workgroup"
            )
        return ()
    if MemoryAccess.ALIGNED in mask and array.storage is StorageClass.STORAGE_BUFFER:
        raise NotExpressible(Lack.ALIGNED, "GLSL states no alignment for accesses to a storage buffer (Aligned)")
    if MemoryAccess.VOLATILE in mask:
        raise NotExpressible(Lack.VOLATILE, "GLSL's volatile always means both Volatile and coherent across the queue family")
    nontemporal = ("nontemporal",) if MemoryAccess.NONTEMPORAL in mask else ()
    rest = mask & ~(MemoryAccess.ALIGNED | MemoryAccess.NONTEMPORAL)
    if rest == MemoryAccess.NONE:
        return nontemporal
    if rest == MemoryAccess.NON_PRIVATE_POINTER:
        return (*nontemporal, "nonprivate")
    if rest == _hand_over(access):
        return (*nontemporal, _HAND_OVER_QUALIFIERS[_scope(access)])
    raise NotExpressible(Lack.MEMORY_OPERANDS, f"no GLSL qualifier gives the memory operands 0x{int(mask):x}")


def _guaranteed_alignment(array: Array, access: Access) -> int:
    if isinstance(access, TensorLoad | TensorStore):
        return POINTER_ALIGNMENT
    if isinstance(access, CooperativeVectorLoad | CooperativeVectorStore):
        return VECTOR_ALIGNMENT
    matrix = access.result if isinstance(access, MatrixLoad) else access.matrix
    return guaranteed_alignment(matrix.type, layout_value(access.layout), array)


def _alignment(array: Array, found: Sequence[Access]) -> int:
    """Return the alignment of an access. glslang gives every matrix access the alignment of the reference, and a copied element as much of
    it as its size permits."""
    stated = {access.memory.alignment for access in found if access.memory is not None and access.memory.alignment is not None}
    guaranteed = min((_guaranteed_alignment(array, access) for access in found), default=16)
    if not stated or array.storage is not StorageClass.PHYSICAL_STORAGE_BUFFER:
        return guaranteed
    alignment = stated.pop()
    unstated = [access for access in found if access.memory is None or access.memory.alignment is None]
    if stated or any(_guaranteed_alignment(array, access) != alignment for access in unstated):
        raise NotExpressible(
            Lack.ACCESS_ALIGNMENT, f"GLSL aligns references, not accesses, and the accesses to '{array.name}' differ in alignment"
        )
    if alignment & (alignment - 1):
        raise NotExpressible(Lack.ALIGNMENT, f"GLSL aligns references to powers of two, not to {alignment} bytes")
    return alignment
