"""Loads from blocks of packed data."""

from __future__ import annotations

import numpy as np

from cts.reference.state import State, evaluates
from generators.errors import GeneratorError, Rule
from generators.program.blocks import BlockAddress, BlockCast, BlockLoad


@evaluates(BlockLoad)
def block_load(state: State, operation: BlockLoad) -> None:
    """Load the member of the block that each pointer points to.

    Raises:
        GeneratorError: the index is beyond the member.
    """
    pointer, member = operation.pointer, operation.pointer.type.members[operation.member]
    offsets = state.scalars[pointer.name].astype(np.int64) + member.offset
    if operation.index is not None:
        index = state.scalar(operation.index)
        if (index >= (member.length or 1)).any():
            raise GeneratorError(
                Rule.OUT_OF_BOUNDS,
                f"{operation.result.name} is loaded from beyond the end of member {operation.member} of {pointer.type.name}",
            )
        offsets = offsets + index.astype(np.int64) * member.component.bytes
    state.scalars[operation.result.name] = state.blocks[pointer.name].load(offsets, member.component).astype(np.uint64)


@evaluates(BlockAddress)
def block_address(state: State, operation: BlockAddress) -> None:
    """Point to a block of an array.

    Raises:
        GeneratorError: it is not aligned, or partly outside the array.
    """
    block, offsets, name = operation.result.type, state.scalar(operation.offset), operation.result.name
    if (offsets % np.uint64(block.alignment)).any():
        raise GeneratorError(Rule.MISALIGNED, f"{name} points to a {block.name} that is not aligned to {block.alignment} bytes; move it")
    if (offsets + np.uint64(block.bytes) > operation.array.bytes).any():
        raise GeneratorError(Rule.OUT_OF_BOUNDS, f"{name} points to a {block.name} beyond {operation.array.name}; make it longer")
    state.blocks[name] = state.memories[operation.array.name]
    state.scalars[name] = offsets


@evaluates(BlockCast)
def block_cast(state: State, operation: BlockCast) -> None:
    """Point to the same address.

    Raises:
        GeneratorError: the address need not have the alignment of the other block.
    """
    source, target = operation.pointer.type, operation.result.type
    if source.alignment % target.alignment:
        raise GeneratorError(
            Rule.ALIGNMENT_TYPE, f"{operation.result.name} has another alignment than {operation.pointer.name}: cast to a weaker one"
        )
    state.blocks[operation.result.name] = state.blocks[operation.pointer.name]
    state.scalars[operation.result.name] = state.scalars[operation.pointer.name]
