"""All instructions of a generation by mnemonic."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from cts.devices.executed.encoding.decoder import Instruction
from cts.devices.executed.errors import NotModelled
from cts.devices.executed.instructions.atomics import atomics
from cts.devices.executed.instructions.control import IGNORED, STATE
from cts.devices.executed.instructions.floats import COMPARISONS, FLOATS
from cts.devices.executed.instructions.integers import INTEGERS
from cts.devices.executed.instructions.lanes import LANES
from cts.devices.executed.instructions.matrices import matrices
from cts.devices.executed.instructions.meaning import Meaning, Step
from cts.devices.executed.instructions.packed import PACKED
from cts.devices.executed.instructions.scalar import SCALARS
from cts.devices.executed.instructions.transfers import transfers
from cts.devices.executed.instructions.vector import Pair, Vector


@cache
def load_meanings(generation: str) -> Mapping[str, Meaning]:
    """Return the meaning of each mnemonic, except of those that end a block and those without an effect."""
    own: dict[str, Meaning] = {**matrices(generation), **transfers(generation), **atomics(generation)}
    return {**INTEGERS, **FLOATS, **COMPARISONS, **PACKED, **SCALARS, **LANES, **STATE, **own}


def prepare(instruction: Instruction, generation: str) -> Step | None:
    """Return a function that executes an instruction; None if it has no effect.

    Raises:
        NotModelled: the instruction, or a modifier of it, is not modelled.
    """
    if instruction.mnemonic in IGNORED:
        return None
    meanings = load_meanings(generation)
    if instruction.halves:
        first, second = (_meaning(meanings, half) for half in instruction.halves)
        assert isinstance(first, Vector)
        assert isinstance(second, Vector)
        return Pair(first, second)(instruction)
    meaning = _meaning(meanings, instruction)
    if instruction.dpp is not None and not isinstance(meaning, Vector):
        raise NotModelled(instruction.mnemonic, "with DPP")
    return meaning(instruction)


def _meaning(meanings: Mapping[str, Meaning], instruction: Instruction) -> Meaning:
    found = meanings.get(instruction.mnemonic)
    if found is None:
        raise NotModelled(instruction.mnemonic)
    return found
