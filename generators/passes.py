"""Passes: several dispatches of a pipeline in one submission, on the same buffers, with a pipeline barrier before each but the first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

OrderingBarrier = Literal["memory", "buffers"]
"""A pipeline barrier between two passes that makes what shaders wrote visible to shaders: one VkMemoryBarrier, or a VkBufferMemoryBarrier
for each written buffer."""

PassBarrier = Literal[OrderingBarrier, "execution", "none"]
"""The pipeline barrier between two passes. Only tests have the last two, under which passes race: a barrier without accesses, and none."""


@dataclass(frozen=True)
class Passes:
    """How the passes of a dispatch differ, and what is between them.

    Attributes:
        offset: the byte offset in the push constants where a device writes the number of the pass, from 0 (u32).
        barrier: the pipeline barrier between two passes.
    """

    offset: int
    barrier: PassBarrier
