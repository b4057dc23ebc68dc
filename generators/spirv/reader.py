"""Reads a module's words back: its header and its instructions, one by one."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from generators.errors import GeneratorError
from generators.spirv.enumerants import MAGIC, Op

HEADER_WORDS = 5
_KNOWN = {int(op): op for op in Op}


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
    """The words before the first instruction: ``version`` (major, minor), ``generator``, and the ``bound`` that all ids are below."""

    version: tuple[int, int]
    generator: int
    bound: int
    schema: int


def read_header(module: bytes) -> Header:
    """The header of ``module``, little-endian words.

    Raises:
        GeneratorError: not a SPIR-V module.
    """
    if len(module) % 4 or len(module) < 4 * HEADER_WORDS:
        raise GeneratorError(f"a SPIR-V module is at least {HEADER_WORDS} whole words; these are {len(module)} bytes")
    magic, version, generator, bound, schema = struct.unpack_from("<5I", module)
    if magic != MAGIC:
        raise GeneratorError(f"a SPIR-V module begins with {MAGIC:#010x}; this one with {magic:#010x}")
    return Header((version >> 16 & 0xFF, version >> 8 & 0xFF), generator, bound, schema)


def read_instructions(module: bytes) -> Iterator[Instruction]:
    """The instructions of ``module`` in order.

    Raises:
        GeneratorError: not a SPIR-V module, an opcode that the tables do not have, or an instruction that runs past the end.
    """
    for opcode, operands, position in read_words(module):
        op = _KNOWN.get(opcode)
        if op is None:
            raise GeneratorError(f"SPIR-V word {position}: opcode {opcode} is not in generators.spirv.enumerants; add it there")
        yield Instruction(op, operands, position)


def read_words(module: bytes) -> Iterator[tuple[int, tuple[int, ...], int]]:
    """The opcode, operands and position of each instruction of ``module`` in order, whether the tables have it or not.

    Raises:
        GeneratorError: not a SPIR-V module, or an instruction that runs past the end.
    """
    read_header(module)
    words = struct.unpack(f"<{len(module) // 4}I", module)
    position = HEADER_WORDS
    while position < len(words):
        count, opcode = words[position] >> 16, words[position] & 0xFFFF
        if count == 0 or position + count > len(words):
            raise GeneratorError(f"SPIR-V word {position}: an instruction of {count} words does not fit")
        yield opcode, words[position + 1 : position + count], position
        position += count


def read_string(words: tuple[int, ...]) -> tuple[str, int]:
    """A literal string at the start of ``words``, and how many words it takes.

    Raises:
        GeneratorError: it does not end.
    """
    data = struct.pack(f"<{len(words)}I", *words)
    end = data.find(b"\0")
    if end < 0:
        raise GeneratorError("a literal string in a SPIR-V module ends with a zero byte; this one does not end")
    return data[:end].decode(errors="replace"), end // 4 + 1
