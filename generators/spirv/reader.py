"""Reads a module's words back: its header and its instructions."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, cast

from generators.errors import GeneratorError, Rule
from generators.spirv.enumerants import MAGIC, Op

HEADER_WORDS = 5
MAX_BOUND = 0x3FFFFF
"""The largest bound of ids that a module may have (SPIR-V 2.17, Universal Limits)."""

_FOREIGN_MAGIC = int.from_bytes(MAGIC.to_bytes(4, "little"), "big")
_OPS = {int(op): op for op in Op}


class NotSpirv(GeneratorError):
    """Words that are not a valid module. The message begins with the place.

    Attributes:
        word: the index of the word, from 0.
        what: the mistake there.
    """

    def __init__(self, word: int, what: str) -> None:
        super().__init__(Rule.MODULE, f"SPIR-V word {word}: {what}")
        self.word = word
        self.what = what


class UnknownInstruction(GeneratorError):
    """An opcode that the grammar lacks.

    Attributes:
        word: the index of the instruction's first word.
        name: ``opcode N``.
    """

    def __init__(self, word: int, opcode: int) -> None:
        name = f"opcode {opcode}"
        super().__init__(
            Rule.INSTRUCTION,
            f"SPIR-V word {word}: {name} is not in the grammar; update the grammar with generators.spirv.registry from a newer registry",
        )
        self.word = word
        self.name = name


class Instruction(NamedTuple):
    """One instruction.

    Attributes:
        op: its opcode.
        operands: the words after the first.
        position: index of its first word in the module.
    """

    op: Op
    operands: tuple[int, ...]
    position: int


@dataclass(frozen=True)
class Header:
    """The words before the first instruction: ``version`` (major, minor), ``generator``, and the ``bound`` above all ids."""

    version: tuple[int, int]
    generator: int
    bound: int
    schema: int


def read_header(module: bytes) -> Header:
    """Return the header of ``module``, little-endian words.

    Raises:
        NotSpirv: it is not a header, or its bound exceeds the maximum. Callers may size memory by the bound only after this check.
    """
    if len(module) % 4 or len(module) < 4 * HEADER_WORDS:
        raise NotSpirv(len(module) // 4, f"a SPIR-V module is at least {HEADER_WORDS} whole words; these are {len(module)} bytes")
    magic, version, generator, bound, schema = struct.unpack_from("<5I", module)
    if magic == _FOREIGN_MAGIC:
        raise NotSpirv(0, "the words of a SPIR-V module must be little-endian here; reverse the bytes of each word")
    if magic != MAGIC:
        raise NotSpirv(0, f"a SPIR-V module begins with {MAGIC:#010x}; this one with {magic:#010x}")
    if version & 0xFF0000FF or version >> 16 != 1:
        raise NotSpirv(1, f"version word {version:#010x} is not a version 1.x of SPIR-V")
    if not 1 <= bound <= MAX_BOUND:
        raise NotSpirv(3, f"the bound of the ids is {bound}, not from 1 to {MAX_BOUND}")
    if schema:
        raise NotSpirv(4, f"instruction schema {schema} does not exist; the only one is 0")
    return Header((version >> 16 & 0xFF, version >> 8 & 0xFF), generator, bound, schema)


def read_instructions(module: bytes) -> Sequence[Instruction]:
    """Return the instructions of ``module`` in order.

    Raises:
        NotSpirv: not a SPIR-V module, or an instruction that runs past the end.
        UnknownInstruction: an opcode that the grammar does not have.
    """
    found, unknown = _read(module)
    if unknown is not None:
        raise UnknownInstruction(found[unknown].position, found[unknown].op)
    return found


def read_words(module: bytes) -> Sequence[tuple[int, tuple[int, ...], int]]:
    """Return the opcode, operands and position of each instruction of ``module`` in order, whether the grammar has it or not.

    Raises:
        NotSpirv: not a SPIR-V module, or an instruction that runs past the end.
    """
    return _read(module)[0]


@lru_cache(maxsize=2)
def _read(module: bytes) -> tuple[tuple[Instruction, ...], int | None]:
    """Return all instructions, and the index of the first one that the grammar does not have, whose ``op`` is a plain number.

    A device reads a module several times: for its needs, and to translate it.
    """
    read_header(module)
    found: list[Instruction] = []
    unknown: int | None = None
    ops, new, append = _OPS, tuple.__new__, found.append
    words = struct.unpack(f"<{len(module) // 4}I", module)
    position, end = HEADER_WORDS, len(words)
    while position < end:
        first = words[position]
        following = position + (first >> 16)
        if following == position or following > end:
            raise NotSpirv(position, f"an instruction of {first >> 16} words does not fit")
        op = ops.get(first & 0xFFFF)
        if op is None:
            unknown = len(found) if unknown is None else unknown
            op = cast(Op, first & 0xFFFF)
        # A module has hundreds: the class itself takes twice as long.
        append(new(Instruction, (op, words[position + 1 : following], position)))
        position = following
    return tuple(found), unknown


def read_string(words: tuple[int, ...], word: int = 0) -> tuple[str, int]:
    """Return a literal string at the start of ``words``, and its length in words.

    Args:
        words: the string and the words after it.
        word: the index of the first of them in the module.

    Raises:
        NotSpirv: it does not end.
    """
    data = struct.pack(f"<{len(words)}I", *words)
    end = data.find(b"\0")
    if end < 0:
        raise NotSpirv(word, "a literal string ends with a zero byte; this one does not end")
    return data[:end].decode(errors="replace"), end // 4 + 1
