"""Memory operands of loads and stores, by their labels in families."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from generators.types import MemoryAccess


@dataclass(frozen=True)
class Masks:
    """The memory operands of load and store."""

    load: MemoryAccess
    store: MemoryAccess


_UNORDERED = MemoryAccess.VOLATILE | MemoryAccess.ALIGNED | MemoryAccess.NONTEMPORAL
_VISIBLE = MemoryAccess.NON_PRIVATE_POINTER | MemoryAccess.MAKE_POINTER_VISIBLE
_AVAILABLE = MemoryAccess.NON_PRIVATE_POINTER | MemoryAccess.MAKE_POINTER_AVAILABLE

MASKS: Mapping[str, Masks | None] = MappingProxyType(
    {
        "none": None,
        "explicit_none": Masks(MemoryAccess.NONE, MemoryAccess.NONE),
        "volatile": Masks(MemoryAccess.VOLATILE, MemoryAccess.VOLATILE),
        "aligned": Masks(MemoryAccess.ALIGNED, MemoryAccess.ALIGNED),
        "nontemporal": Masks(MemoryAccess.NONTEMPORAL, MemoryAccess.NONTEMPORAL),
        "non_private": Masks(MemoryAccess.NON_PRIVATE_POINTER, MemoryAccess.NON_PRIVATE_POINTER),
        "coherent": Masks(_VISIBLE, _AVAILABLE),
        "all": Masks(_UNORDERED | _VISIBLE, _UNORDERED | _AVAILABLE),
    }
)
"""``none`` has no memory operands at all; ``explicit_none`` has an empty mask."""

EXTRAS: Mapping[str, MemoryAccess] = MappingProxyType(
    {"none": MemoryAccess.NONE, "volatile": MemoryAccess.VOLATILE, "nontemporal": MemoryAccess.NONTEMPORAL}
)
"""Operands beside the ones that make accesses available and visible."""
