"""The machine code of a shader as blocks of prepared functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from cts.devices.executed.encoding.decoder import LONGEST, Instruction, load_encoding
from cts.devices.executed.errors import NotModelled
from cts.devices.executed.instructions.control import ENDINGS, Ending
from cts.devices.executed.instructions.meaning import Step
from cts.devices.executed.instructions.table import prepare
from cts.devices.executed.memory import ADDRESSES, Memory

_PREPARED = 1 << 14
"""How many different instructions to keep prepared."""

_FETCHED = 256
"""How many words of code to fetch at a time."""

_ACCESSES = ("buffer_", "global_", "ds_", "s_wait_storecnt", "s_waitcnt_vscnt")
"""What the mnemonics begin with before which another wave may go on: accesses to memory, and waits that publish stores."""


Watch = Callable[[int, Instruction, Step], Step]
"""Takes the address of an instruction, the instruction, and what executes it, and returns what executes it and is told of it."""


@dataclass(frozen=True)
class Block:
    """Instructions that are executed one after another, and the one that decides what comes next.

    Attributes:
        parts: the instructions; each part but the first begins with an access to memory that other waves may see.
        end: the last instruction.
    """

    parts: tuple[tuple[Step, ...], ...]
    end: Ending


class Program:
    """The blocks of a shader by the address of their first instruction, decoded when they are reached.

    Raises:
        NotModelled: from ``block``: an instruction is not modelled.
    """

    def __init__(self, memory: Memory, generation: str, watch: Watch | None = None) -> None:
        self._memory, self._generation, self._watch = memory, generation, watch
        self._blocks: dict[int, Block] = {}
        self._first, self._fetched = 0, list[int]()

    def block(self, address: int) -> Block:
        """Return the block that begins at an address."""
        found = self._blocks.get(address)
        if found is None:
            found = self._blocks[address] = self._decoded(address)
        return found

    def _decoded(self, address: int) -> Block:
        parts: list[list[Step]] = [[]]
        while True:
            instruction, words = self._instruction(address)
            begin, address = address, address + 4 * instruction.words
            ending = ENDINGS.get(instruction.mnemonic)
            if ending is not None:
                return Block(tuple(map(tuple, parts)), ending(instruction, address))
            step = _prepared(words[: instruction.words], self._generation)
            if instruction.mnemonic.startswith(_ACCESSES):
                parts.append([])
            if step is not None:
                parts[-1].append(step if self._watch is None else self._watch(begin, instruction, step))

    def _instruction(self, address: int) -> tuple[Instruction, tuple[int, ...]]:
        place = address - self._first >> 2
        if not 0 <= place <= len(self._fetched) - LONGEST:
            buffer = self._memory.at(address, 4)
            start = (address & ADDRESSES) - buffer.first >> 2
            self._first, place, self._fetched = address, 0, buffer.words[start : start + _FETCHED].tolist()
        words = tuple(self._fetched[place : place + LONGEST])
        return _decode(words, self._generation), words


def _decode(words: tuple[int, ...], generation: str) -> Instruction:
    # The cache's key has only an instruction's own words: the first one tells whether there are more.
    size = 1
    while (found := _decode_own(words[:size], generation)).words > size:
        size = found.words
    return found


@lru_cache(_PREPARED)
def _decode_own(words: tuple[int, ...], generation: str) -> Instruction:
    return load_encoding(generation).decode((*words, *(0,) * (LONGEST - len(words))))


@lru_cache(_PREPARED)
def _prepared(words: tuple[int, ...], generation: str) -> Step | None:
    instruction = _decode(words, generation)
    try:
        return prepare(instruction, generation)
    except NotModelled as error:
        shown = " ".join(f"{word:08x}" for word in words)
        raise NotModelled(error.part, f"{error.how} ({instruction.mnemonic or 'a pair'}: {shown} on {generation})".strip()) from None
