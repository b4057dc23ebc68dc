"""All instructions of a generation by mnemonic."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, partial

from cts.devices.executed.encoding.decoder import Instruction, load_encoding
from cts.devices.executed.errors import NotModelled
from cts.devices.executed.instructions.atomics import atomic
from cts.devices.executed.instructions.control import IGNORED, STATE
from cts.devices.executed.instructions.floats import COMPARISONS, FLOATS
from cts.devices.executed.instructions.integers import INTEGERS
from cts.devices.executed.instructions.lanes import LANES
from cts.devices.executed.instructions.matrices import multiply_accumulate
from cts.devices.executed.instructions.meaning import Meaning, Step
from cts.devices.executed.instructions.packed import PACKED, packed
from cts.devices.executed.instructions.scalar import SCALARS, of_vector
from cts.devices.executed.instructions.transfers import scalar_load, transfer, transposed_load
from cts.devices.executed.instructions.vector import Pair, Vector

_FAMILIES: Mapping[str, Callable[[str, str], Meaning]] = {
    r"v_wmma_": multiply_accumulate,
    r"v_pk_": lambda mnemonic, _: packed(mnemonic),
    r"s_(cvt_|.*_f(16|32)$)": lambda mnemonic, _: of_vector(mnemonic),
    r"s_(buffer_)?load_": lambda _, generation: partial(scalar_load, generation),
    r"global_load_tr_": lambda _, generation: partial(transposed_load, generation),
    r"(buffer|global|ds)_(load|store)_": lambda _, generation: partial(transfer, generation),
    r"(buffer|global)_atomic_|ds_": lambda _, generation: partial(atomic, generation),
}
"""The beginning of mnemonics -> what makes their meaning from mnemonic and generation. The first pattern that fits counts."""


@cache
def load_meanings(generation: str) -> Mapping[str, Meaning]:
    """Return the meaning of each mnemonic, except of those that end a block and those without an effect."""
    found: dict[str, Meaning] = {**INTEGERS, **FLOATS, **COMPARISONS, **PACKED, **SCALARS, **LANES, **STATE}
    for name in load_encoding(generation).mnemonics.values():
        family = next((family for pattern, family in _FAMILIES.items() if name not in found and re.match(pattern, name)), None)
        if family is not None:
            found[name] = family(name, generation)
    return found


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
