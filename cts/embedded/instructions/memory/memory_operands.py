"""Reads and checks the Memory Operands (SPIR-V 3.26) of an access."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from cts.embedded.diagnostics import Violation
from cts.embedded.memory.ordering import Manner, Reach
from cts.embedded.module.translation import Translation, Words
from generators.spirv.enumerants import MemoryAccess, Scope, StorageClass

# Plain integers, because the operators of flags are slow and every access uses them.
_ALIGNED, _AVAILABLE, _VISIBLE, _NON_PRIVATE = (
    int(flag)
    for flag in (MemoryAccess.Aligned, MemoryAccess.MakePointerAvailable, MemoryAccess.MakePointerVisible, MemoryAccess.NonPrivatePointer)
)

_REACH: Mapping[int, Reach] = MappingProxyType(
    {
        Scope.Device: Reach.BEYOND,
        Scope.QueueFamily: Reach.BEYOND,
        Scope.Workgroup: Reach.WORKGROUP,
        Scope.Subgroup: Reach.SUBGROUP,
        Scope.Invocation: Reach.NONE,
    }
)
"""Scope -> how far availability and visibility reach."""


@dataclass(frozen=True)
class Access:
    """How an instruction accesses memory: its promised alignment in bytes (1: none), and how it takes part in ordering."""

    alignment: int
    manner: Manner


MATRIX_RULES, VECTOR_RULES = ("KHR-LOAD-09", "KHR-STORE-04"), ("CV-LD-06", "CV-ST-02")
"""The rules against MakePointerAvailable in a load and MakePointerVisible in a store."""


def memory_operands(
    translation: Translation, words: Words, storage: StorageClass, writes: bool, what: str, rules: tuple[str, str] = MATRIX_RULES
) -> Access:
    """Read the Memory Operands ``words`` of a read or (``writes``) a write. ``rules`` are the instruction's rules.

    Raises:
        Violation: the specification forbids the operands for the access.
    """
    mask, extra = (words[0], list(words[1:])) if words else (0, [])
    alignment, available, visible = 1, Reach.NONE, Reach.NONE
    if mask & _ALIGNED:
        alignment = extra.pop(0)
        if alignment < 1 or alignment & (alignment - 1):
            raise Violation("SPIR-V 3.26 Aligned", f"alignment {alignment} is not a power of two")
    elif storage is StorageClass.PhysicalStorageBuffer:
        raise Violation("VUID-StandaloneSpirv-PhysicalStorageBuffer64-04708", f"{what} of PhysicalStorageBuffer storage without Aligned")
    if mask & _AVAILABLE:
        if not writes:
            raise Violation(rules[0], f"{what} with MakePointerAvailable")
        available = _reach(translation, extra.pop(0))
    if mask & _VISIBLE:
        if writes:
            raise Violation(rules[1], f"{what} with MakePointerVisible")
        visible = _reach(translation, extra.pop(0))
    made = mask & (_AVAILABLE | _VISIBLE)
    if made and not mask & _NON_PRIVATE:
        raise Violation(
            "SPIR-V 3.26 NonPrivatePointer", f"{what} with MakePointerAvailable or MakePointerVisible but not NonPrivatePointer"
        )
    return Access(alignment, translation.manner(mask, available, visible))


def _reach(translation: Translation, id_: int) -> Reach:
    value = translation.constant(id_)
    if value not in _REACH:
        raise Violation("SPIR-V 2.16.2", f"a Scope of availability or visibility that is not a constant scope ({value})")
    return _REACH[value]
