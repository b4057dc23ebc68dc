"""Memory Operands (SPIR-V 3.26) of an access, checked."""

from __future__ import annotations

from dataclasses import dataclass

from cts.devices.embedded.diagnostics import Violation
from cts.devices.embedded.ordering import Manner
from cts.devices.embedded.translation import Translation, Words
from generators.spirv.enumerants import MemoryAccess, Scope, StorageClass

_WIDE_SCOPES = (Scope.Device, Scope.Workgroup, Scope.QueueFamily)
"""Scopes at which availability and visibility reach all invocations of a workgroup."""


@dataclass(frozen=True)
class Access:
    """How an instruction accesses memory: the alignment in bytes that it promises (1: none), and how it takes part in ordering."""

    alignment: int
    manner: Manner


def memory_operands(translation: Translation, words: Words, storage: StorageClass, writes: bool, what: str) -> Access:
    """Reads the Memory Operands ``words`` of an access that reads, or ``writes``.

    Raises:
        Violation: operands that the specification forbids for it.
    """
    mask, extra = (words[0], list(words[1:])) if words else (0, [])
    alignment, available, visible = 1, False, False
    if mask & MemoryAccess.Aligned:
        alignment = extra.pop(0)
        if alignment < 1 or alignment & (alignment - 1):
            raise Violation("SPIR-V 3.26 Aligned", f"{what}: alignment {alignment} is not a power of two")
    elif storage is StorageClass.PhysicalStorageBuffer:
        raise Violation("VUID-StandaloneSpirv-PhysicalStorageBuffer64-04708", f"{what} of PhysicalStorageBuffer storage without Aligned")
    if mask & MemoryAccess.MakePointerAvailable:
        if not writes:
            raise Violation("KHR-LOAD-09", f"{what} with MakePointerAvailable")
        available = _scope(translation, extra.pop(0)) in _WIDE_SCOPES
    if mask & MemoryAccess.MakePointerVisible:
        if writes:
            raise Violation("KHR-STORE-04", f"{what} with MakePointerVisible")
        visible = _scope(translation, extra.pop(0)) in _WIDE_SCOPES
    made = mask & (MemoryAccess.MakePointerAvailable | MemoryAccess.MakePointerVisible)
    if made and not mask & MemoryAccess.NonPrivatePointer:
        raise Violation(
            "SPIR-V 3.26 NonPrivatePointer", f"{what} with MakePointerAvailable or MakePointerVisible but not NonPrivatePointer"
        )
    return Access(alignment, translation.manner(mask, available, visible))


def _scope(translation: Translation, id_: int) -> int:
    value = translation.constant(id_)
    if value.__class__ is not int:
        raise Violation("SPIR-V 2.16.2", "a Scope that is not a constant")
    return int(value)
