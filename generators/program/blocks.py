"""Blocks of packed data in physical storage, and pointers to them: what decode functions read (SPV_NV_cooperative_matrix2)."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from generators.program.operation import Operation
from generators.program.values import Scalar, ScalarValue
from generators.types import ComponentType


@dataclass(frozen=True)
class BlockMember:
    """A member of a block: ``length`` scalars at byte ``offset``, one if None and else an array."""

    component: ComponentType
    offset: int
    length: int | None = None

    @property
    def end(self) -> int:
        """The byte after it."""
        return self.offset + self.component.bytes * (1 if self.length is None else self.length)


@dataclass(frozen=True)
class BlockType:
    """The struct that a decode function's pointer points to; the next block follows its last member (F-CM2-6).

    Attributes:
        name: unique in the program.
        alignment: bytes, a power of two that divides the size.
    """

    name: str
    members: tuple[BlockMember, ...]
    alignment: int

    @property
    def bytes(self) -> int:
        """Its size."""
        return max(member.end for member in self.members)


@dataclass(frozen=True)
class BlockPointer:
    """A pointer to a block, as a value."""

    name: str
    block: BlockType


@dataclass(frozen=True)
class BlockLoad(Operation):
    """``result`` is a member of the block that ``pointer`` points to, at ``index`` where it is an array.

    The load promises no more than the block's alignment, and all of it where the place allows (``promised_alignment``).
    """

    result: Scalar
    pointer: BlockPointer
    member: int
    index: ScalarValue | None = None


def promised_alignment(load: BlockLoad) -> int:
    """Return the bytes to which a block's alignment aligns the place of ``load``, whatever its index is: a power of two."""
    block, member = load.pointer.block, load.pointer.block.members[load.member]
    steps = (member.offset, 0 if load.index is None else member.component.bytes)
    return gcd(block.alignment, *steps)
