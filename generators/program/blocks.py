"""Blocks of packed data in physical storage, and pointers to them, which decode functions read (SPV_NV_cooperative_matrix2)."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from generators.program.memory import Array
from generators.program.operation import InvocationOperation
from generators.program.values import BlockPointer, Scalar, ScalarValue


@dataclass(frozen=True)
class BlockLoad(InvocationOperation):
    """``result`` is a member of the block that ``pointer`` points to, at ``index`` if it is an array.

    The load promises as much of the block's alignment as the member's offset allows (``promised_alignment``).
    """

    result: Scalar
    pointer: BlockPointer
    member: int
    index: ScalarValue | None = None


@dataclass(frozen=True)
class BlockAddress(InvocationOperation):
    """``result`` points to the block that begins ``offset`` (u32) bytes after the address of ``array``, which is in physical storage. The
    address has the block's alignment."""

    result: BlockPointer
    array: Array
    offset: ScalarValue


@dataclass(frozen=True)
class BlockCast(InvocationOperation):
    """``result`` points to the same address as ``pointer``, as a block of its own type. The address has that block's alignment."""

    result: BlockPointer
    pointer: BlockPointer


def promised_alignment(load: BlockLoad) -> int:
    """Return the alignment in bytes that a block's alignment guarantees for the address of ``load``, for every index: a power of two."""
    block, member = load.pointer.type, load.pointer.type.members[load.member]
    steps = (member.offset, 0 if load.index is None else member.component.bytes)
    return gcd(block.alignment, *steps)
