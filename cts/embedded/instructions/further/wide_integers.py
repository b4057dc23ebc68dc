"""Integer instructions with two results, and bit fields."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cts.embedded.instructions.arithmetic.conversion import narrow, wide
from cts.embedded.instructions.arithmetic.elementwise import forbid_where, on_values
from cts.embedded.instructions.registry import computes
from cts.embedded.machine.machine import Run
from cts.embedded.module.translation import Handler, Translation, Words
from cts.embedded.types.spirv_types import Vector
from cts.embedded.types.values import Value, to_signed
from generators.spirv.enumerants import Op


def _extended_multiply(signed: bool) -> Handler:
    def handler(translation: Translation, words: Words) -> Run:
        type_ = translation.number_of(translation.type_of[words[2]])
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

        return _two_results(translation, words, one)

    return handler


def _two_results(translation: Translation, words: Words, function: Callable[[Value, Value], tuple[Value, Value]]) -> Run:
    """Return a function that returns both results of ``function``, each of the type of the operands ``words[2:]``."""
    if isinstance(translation.type_of[words[2]], Vector):
        return on_values(translation, words[2:], lambda a, b: tuple(zip(*map(function, a, b), strict=True)))
    return on_values(translation, words[2:], function)


def _sum(x: Value, y: Value, mask: int) -> tuple[Value, Value]:
    total = (x + y) & mask
    return total, total < x


def _difference(x: Value, y: Value, mask: int) -> tuple[Value, Value]:
    return (x - y) & mask, x < y


def _with_carry(compute: Callable[[Value, Value, int], tuple[Value, Value]]) -> Handler:
    """Return the handler of an instruction that returns a number and its carry or borrow."""

    def handler(translation: Translation, words: Words) -> Run:
        mask = translation.number_of(translation.type_of[words[2]]).mask

        def one(x: Value, y: Value) -> tuple[Value, Value]:
            found, carried = compute(x, y, mask)
            return found, carried.astype(found.dtype) if isinstance(carried, np.ndarray) else int(carried)

        return _two_results(translation, words, one)

    return handler


def _bit_field(kind: str) -> Handler:
    def handler(translation: Translation, words: Words) -> Run:
        type_ = translation.number_of(translation.types[words[0]])
        bits, mask, machine = type_.bits, type_.mask, translation.machine
        is_vector = isinstance(translation.types[words[0]], Vector)

        def checked(offset: Value, count: Value) -> tuple[Value, Value]:
            # The sum of two large numbers may be small again.
            outside = (wide(offset) > bits) | (wide(count) > bits) | (wide(offset) + wide(count) > bits)
            text = f"a bit field of {{}} bits at bit {{}} does not fit into a value of {bits} bits"
            forbid_where(machine, outside, "SPIR-V 3.42.14", text, count, offset)
            # Where mistakes are collected, the run goes on: with an empty field.
            inside = ~outside if isinstance(outside, np.ndarray) else not outside
            return wide(offset) * inside, wide(count) * inside

        def field_mask(count: Value) -> Value:
            return (wide(count) * 0 + 1 << wide(count)) - 1

        def extract(base: Value, offset: Value, count: Value) -> Value:
            offset, count = checked(offset, count)
            field = wide(base) >> wide(offset) & field_mask(count)
            if kind == "signed":
                sign = field & (field_mask(count) + 1 >> 1)
                field = (field ^ sign) - sign
            return narrow(type_, field)

        def insert(base: Value, new: Value, offset: Value, count: Value) -> Value:
            offset, count = checked(offset, count)
            where = field_mask(count) << wide(offset)
            return narrow(type_, (wide(base) & (where ^ mask)) | ((wide(new) << wide(offset)) & where))

        function: Callable[..., Value] = insert if kind == "insert" else extract

        def each(*operands: Value) -> Value:
            *bases, offset, count = operands
            return tuple(function(*parts, offset, count) for parts in zip(*bases, strict=True))

        return on_values(translation, words[2:], each if is_vector else function)

    return handler


computes(Op.UMulExtended)(_extended_multiply(signed=False))
computes(Op.SMulExtended)(_extended_multiply(signed=True))
computes(Op.IAddCarry)(_with_carry(_sum))
computes(Op.ISubBorrow)(_with_carry(_difference))
computes(Op.BitFieldInsert)(_bit_field("insert"))
computes(Op.BitFieldSExtract)(_bit_field("signed"))
computes(Op.BitFieldUExtract)(_bit_field("unsigned"))
