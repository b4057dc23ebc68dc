"""Loads from blocks of packed data."""

from __future__ import annotations

import numpy as np

from cts.reference.state import State
from generators.errors import GeneratorError
from generators.program.blocks import BlockLoad


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
            raise GeneratorError(f"{operation.result.name} is loaded from beyond member {operation.member} of {pointer.type.name}")
        offsets = offsets + index.astype(np.int64) * member.component.bytes
    state.scalars[operation.result.name] = state.blocks[pointer.name].load(offsets, member.component).astype(np.uint64)
