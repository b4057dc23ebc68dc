"""Instructions that end early: modules that are wrong on purpose."""

from __future__ import annotations

import struct

import pytest

from generators.spirv.assemble import NotAssembly, assemble
from generators.spirv.enumerants import Op


def test_an_instruction_ends_where_three_dots_are() -> None:
    words = struct.unpack("<8I", assemble("OpMemoryModel Logical ...\nOpNop")[:32])
    assert words[5:] == (2 << 16 | Op.MemoryModel, 0, 1 << 16 | Op.Nop)


@pytest.mark.parametrize("line", ["OpMemoryModel Logical", "OpMemoryModel"])
def test_an_operand_that_is_missing_is_refused_without_them(line: str) -> None:
    with pytest.raises(NotAssembly, match=r"OpMemoryModel has further operands; write \.\.\. to end it here"):
        assemble(line)
