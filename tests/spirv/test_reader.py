"""Reading words back, and refusing words that are not a module."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.spirv.enumerants import MAGIC, Op
from generators.spirv.module import Module, string_words
from generators.spirv.reader import NotSpirv, UnknownInstruction, read_header, read_instructions, read_string

HEADER = (MAGIC, 0x00010600, 8 << 16 | 11, 5, 0)


def _module(*words: int) -> bytes:
    return struct.pack(f"<{5 + len(words)}I", *HEADER, *words)


def test_the_header_is_read() -> None:
    header = read_header(_module())
    assert (header.version, header.generator, header.bound) == ((1, 6), 0x8000B, 5)


def test_instructions_come_with_their_place() -> None:
    first, second = read_instructions(_module(2 << 16 | Op.TypeVoid, 1, 3 << 16 | Op.TypeFunction, 2, 1))
    assert first == (Op.TypeVoid, (1,), 5)
    assert second == (Op.TypeFunction, (2, 1), 7)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "at least 5 whole words"),
        (_module()[:-1], "at least 5 whole words"),
        (b"\0" * 20, "begins with 0x07230203"),
    ],
)
def test_bytes_that_are_not_a_module_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(NotSpirv, match=message):
        read_header(data)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((3 << 16 | Op.TypeVoid, 1), "word 5: an instruction of 3 words does not fit"),
        ((0,), "word 5: an instruction of 0 words does not fit"),
    ],
)
def test_a_broken_instruction_is_refused(words: tuple[int, ...], message: str) -> None:
    with pytest.raises(NotSpirv, match=message):
        list(read_instructions(_module(*words)))


def test_an_opcode_that_the_grammar_does_not_have_is_named() -> None:
    with pytest.raises(UnknownInstruction) as caught:
        list(read_instructions(_module(2 << 16 | Op.TypeVoid, 1, 1 << 16 | 0xFFFE)))
    assert (caught.value.word, caught.value.name) == (7, "opcode 65534")


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_a_string_reads_as_it_was_written(text: str) -> None:
    words = string_words(text)
    assert read_string((*words, 7)) == (text, len(words))


def test_a_string_without_an_end_is_refused() -> None:
    with pytest.raises(NotSpirv, match="zero byte"):
        read_string((0x41414141,))


def test_an_empty_module_has_an_entry_point_of_one_block() -> None:
    module = Module()
    one = module.constant(Op.Constant, module.type(Op.TypeInt, 32, 0), 1)
    module.label(module.new_id())
    module.instruction(Op.Return)
    module.end_entry_point("main", (one, one, one))
    ops = [instruction.op for instruction in read_instructions(module.assemble())]
    assert ops[-4:] == [Op.Function, Op.Label, Op.Return, Op.FunctionEnd]


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (0, 0x03022307, "word 0: .*little-endian"),
        (1, 0x00020000, "word 1: version"),
        (1, 0x06010000, "word 1: version"),
        (3, 0, "word 3: the bound of the ids is 0"),
        (3, 0xFFFFFFFF, "word 3: the bound of the ids is 4294967295, not from 1 to 4194303"),
        (4, 1, "word 4: instruction schema"),
    ],
)
def test_a_header_that_no_module_has_is_refused(place: int, value: int, message: str) -> None:
    words = [*HEADER[:place], value, *HEADER[place + 1 :]]
    with pytest.raises(NotSpirv, match=message) as caught:
        read_header(struct.pack("<5I", *words))
    assert caught.value.word == place
