"""Operands that the grammar distinguishes."""

from __future__ import annotations

import pytest

from generators.spirv.enumerants import Decoration, MemoryAccess, Op
from generators.spirv.operands import LiteralWidths, split_operands
from generators.spirv.reader import Instruction, NotSpirv


def widths() -> LiteralWidths:
    """Build literal widths in which %1 is a 64-bit integer type and %2 a value of it."""
    found = LiteralWidths()
    found.learn(Instruction(Op.TypeInt, (1, 64, 0), 5))
    found.learn(Instruction(Op.Undef, (1, 2), 9))
    return found


@pytest.mark.parametrize(
    ("op", "words", "kinds"),
    [
        (Op.IAdd, (1, 2, 3, 4), "T R id id"),
        (Op.Phi, (1, 2, 3, 4, 5, 6), "T R id id id id"),
        (Op.Constant, (1, 2, 7, 8), "T R number"),
        (Op.Switch, (2, 3, 7, 0, 4, 8, 0, 5), "id id case id case id"),
        (Op.Store, (1, 2, MemoryAccess.Aligned | MemoryAccess.MakePointerAvailable, 4, 9), "id id MemoryAccess int id"),
        (Op.Decorate, (1, Decoration.SpecId, 0), "id Decoration int"),
        (Op.SpecConstantOp, (1, 2, Op.CompositeExtract, 3, 0, 1), "T R opcode id int int"),
        (Op.Name, (1, 0x00636261), "id str"),
    ],
)
def test_each_word_has_its_kind(op: Op, words: tuple[int, ...], kinds: str) -> None:
    assert " ".join(operand.kind for operand in split_operands(Instruction(op, words, 5), widths())) == kinds


@pytest.mark.parametrize(
    ("op", "words", "message"),
    [
        (Op.IAdd, (1, 2, 3), "OpIAdd lacks operands"),
        (Op.IAdd, (1, 2, 3, 4, 5), "OpIAdd has 1 operands too many"),
        (Op.Phi, (1, 2, 3), "OpPhi lacks operands"),
        (Op.Constant, (1, 2, 7), "OpConstant lacks operands"),
        (Op.Constant, (3, 2, 7), "the type of the constant is not a type of numbers"),
        (Op.Switch, (9, 3, 7, 4), "the type of the selector"),
        (Op.Store, (1, 2, MemoryAccess.Aligned), "OpStore lacks operands"),
        (Op.SpecConstantOp, (1, 2, 0xFFFF), "opcode 65535, which is unknown"),
        (Op.Name, (1, 0x41414141), "zero byte"),
    ],
)
def test_words_that_do_not_fit_the_grammar_are_refused(op: Op, words: tuple[int, ...], message: str) -> None:
    with pytest.raises(NotSpirv, match=message):
        split_operands(Instruction(op, words, 5), widths())
