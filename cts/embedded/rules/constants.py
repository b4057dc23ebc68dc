"""Checks operands that must be constants, and the instructions that compute constants."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cts.embedded.diagnostics import need
from cts.embedded.module.references import LENGTHS
from cts.embedded.module.translation import Rule, Translation, Words
from cts.embedded.rules.arithmetic import FLOATS, INTEGER_COMPARISONS, INTEGERS, LOGIC, MATRIX_CONVERSIONS, SHIFTS
from cts.embedded.types.shapes import TypeKind, kind_of
from generators.spirv.enumerants import Op

_SPECIALIZABLE = (
    frozenset((*INTEGERS, *SHIFTS, *INTEGER_COMPARISONS, *LOGIC, *FLOATS)) - {Op.BitCount, Op.BitReverse}
    | MATRIX_CONVERSIONS
    | LENGTHS
    | {Op.Select, Op.VectorShuffle, Op.CompositeExtract, Op.CompositeInsert, Op.QuantizeToF16}
)
"""The instructions that OpSpecConstantOp computes."""


def constant_integer(translation: Translation, id_: int, what: str) -> int:
    """Return the value of an integer constant.

    Raises:
        Malformed: the operand is not an integer constant; the message has ``what``.
    """
    value = translation.constant(id_)
    need(kind_of(translation.type_of[id_]) is TypeKind.INT and value.__class__ is int, f"{what} is not a constant integer")
    return int(value)


def _computed(_: Translation, words: Words) -> None:
    inner = Op(words[2])
    need(inner in _SPECIALIZABLE, f"OpSpecConstantOp of Op{inner.name}, which it does not compute")


RULES: Mapping[Op, Rule] = MappingProxyType({Op.SpecConstantOp: _computed})
"""Opcode -> rule."""
