"""Integer instructions with two results, and bit fields."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cts.embedded.instructions.arithmetic.elementwise import happens
from cts.embedded.instructions.registry import computes
from cts.embedded.machine.machine import Run
from cts.embedded.module.translation import Handler, Translation, Words
from cts.embedded.types.spirv_types import Vector
from cts.embedded.types.values import Value, to_signed
from generators.spirv.enumerants import Op


def _extended_multiply(signed: bool) -> Handler:
    def handler(translation: Translation, words: Words) -> Run:
        values, a, b = translation.values, words[2], words[3]
        operand = translation.type_of[a]
        type_ = translation.number_of(operand)
        bits, mask = type_.bits, type_.mask

        def one(x: Value, y: Value) -> tuple[Value, Value]:
            if isinstance(x, np.ndarray) or isinstance(y, np.ndarray):
                wide = np.broadcast_arrays(np.asarray(x, type_.dtype), np.asarray(y, type_.dtype))
                parts = [(v.view(type_.signed_dtype) if signed else v).astype(object) for v in wide]
                product = parts[0] * parts[1]
                return (product & mask).astype(type_.dtype), (product >> bits & mask).astype(type_.dtype)
            if signed:
                x, y = to_signed(x, bits, type_.signed_dtype), to_signed(y, bits, type_.signed_dtype)
            return x * y & mask, x * y >> bits & mask

        if isinstance(operand, Vector):
            return lambda: tuple(zip(*map(one, values[a], values[b]), strict=True))
        return lambda: one(values[a], values[b])

    return handler


def _sum(x: Value, y: Value, mask: int) -> tuple[Value, Value]:
    total = (x + y) & mask
    return total, total < x


def _difference(x: Value, y: Value, mask: int) -> tuple[Value, Value]:
    return (x - y) & mask, x < y


def _with_carry(compute: Callable[[Value, Value, int], tuple[Value, Value]]) -> Handler:
    """Return the handler of an instruction that returns a number and its carry or borrow."""

    def handler(translation: Translation, words: Words) -> Run:
        values, a, b = translation.values, words[2], words[3]
        operand = translation.type_of[a]
        mask = translation.number_of(operand).mask

        def one(x: Value, y: Value) -> tuple[Value, Value]:
            found, carried = compute(x, y, mask)
            return found, carried.astype(found.dtype) if isinstance(carried, np.ndarray) else int(carried)

        if isinstance(operand, Vector):
            return lambda: tuple(zip(*map(one, values[a], values[b]), strict=True))
        return lambda: one(values[a], values[b])

    return handler


def _bit_field(kind: str) -> Handler:
    def handler(translation: Translation, words: Words) -> Run:
        type_ = translation.number_of(translation.types[words[0]])
        bits, mask, machine = type_.bits, type_.mask, translation.machine

        def checked(offset: Value, count: Value) -> None:
            if happens(machine, offset + count > bits):
                machine.forbid("SPIR-V 3.42.14", f"a bit field that ends beyond bit {bits}")

        def wide(x: Value) -> Value:
            return x.astype(np.uint64) if isinstance(x, np.ndarray) else x

        def field_mask(count: Value) -> Value:
            return (wide(count) * 0 + 1 << wide(count)) - 1

        def narrow(x: Value) -> Value:
            return (x & mask).astype(type_.dtype) if isinstance(x, np.ndarray) else x & mask

        def extract(base: Value, offset: Value, count: Value) -> Value:
            checked(offset, count)
            field = wide(base) >> wide(offset) & field_mask(count)
            if kind == "signed":
                sign = field & (field_mask(count) + 1 >> 1)
                field = (field ^ sign) - sign
            return narrow(field)

        def insert(base: Value, new: Value, offset: Value, count: Value) -> Value:
            checked(offset, count)
            where = field_mask(count) << wide(offset)
            return narrow((wide(base) & (where ^ mask)) | ((wide(new) << wide(offset)) & where))

        operands = words[2:]
        values = translation.values
        function = insert if kind == "insert" else extract
        count = 2 if kind == "insert" else 1
        if isinstance(translation.types[words[0]], Vector):
            return lambda: tuple(
                function(*parts, *(values[o] for o in operands[count:]))
                for parts in zip(*(values[o] for o in operands[:count]), strict=True)
            )
        return lambda: function(*(values[o] for o in operands))

    return handler


computes(Op.UMulExtended)(_extended_multiply(signed=False))
computes(Op.SMulExtended)(_extended_multiply(signed=True))
computes(Op.IAddCarry)(_with_carry(_sum))
computes(Op.ISubBorrow)(_with_carry(_difference))
computes(Op.BitFieldInsert)(_bit_field("insert"))
computes(Op.BitFieldSExtract)(_bit_field("signed"))
computes(Op.BitFieldUExtract)(_bit_field("unsigned"))
