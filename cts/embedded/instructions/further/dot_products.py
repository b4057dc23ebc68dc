"""Dot products of integers (SPV_KHR_integer_dot_product, SPIR-V 3.52.13) and of narrow floats (SPV_VALVE_mixed_float_dot_product).

Integers are components of vectors, or four 8-bit integers packed in 32 bits. Products of narrow floats are added as 64-bit floats, and the
sum is rounded to the type of the result. This is a choice: no text at hand says how the sum is rounded.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cts.embedded.diagnostics import Violation, need, needed
from cts.embedded.instructions.registry import computes
from cts.embedded.machine.machine import Run
from cts.embedded.module.translation import Handler, Translation, Words
from cts.embedded.types.shapes import is_int32, is_number
from cts.embedded.types.spirv_types import Number, Vector, type_text
from cts.embedded.types.values import Value
from generators.spirv.enumerants import Op

_Parts = Callable[[Value], tuple[np.ndarray, ...]]

_PACKED_PARTS = 4


def _parts(translation: Translation, operand: int, signed: bool, is_packed: bool) -> _Parts:
    """Return a function that reads the components of an operand as Python integers, so no sum of products wraps."""
    type_ = translation.type_of[operand]
    if isinstance(type_, Vector):
        number = translation.number_of(type_)
        dtype = number.signed_dtype if signed else number.dtype
        return lambda value: tuple(np.asarray(part, number.dtype).view(dtype).astype(object) for part in value)
    need(is_int32(type_) and is_packed, f"a dot product of a {type_text(type_)}")

    def unpacked(value: Value) -> tuple[np.ndarray, ...]:
        bits = np.asarray(value, np.uint32)
        found = (((bits >> np.uint32(8 * i)) & np.uint32(0xFF)).astype(np.uint8) for i in range(_PACKED_PARTS))
        return tuple((part.view(np.int8) if signed else part).astype(object) for part in found)

    return unpacked


def _integer_dot(signs: tuple[bool, bool], accumulates: bool) -> Handler:
    """Return the handler of a dot product. ``signs`` has the signedness of the operands; the result is signed if one of them is."""

    def handler(translation: Translation, words: Words) -> Run:
        type_, values = translation.number_of(translation.types[words[0]]), translation.values
        if len({isinstance(translation.type_of[id_], Vector) for id_ in words[2:4]}) > 1:
            raise Violation("SPIR-V 3.52.13", "a dot product of a vector and a scalar")
        formats = words[5:] if accumulates else words[4:]
        read_a, read_b = (_parts(translation, id_, signed, bool(formats)) for id_, signed in zip(words[2:4], signs, strict=True))
        a, b, accumulator = words[2], words[3], words[4] if accumulates else 0
        is_signed = any(signs)
        low, high = (-(1 << type_.bits - 1), (1 << type_.bits - 1) - 1) if is_signed else (0, type_.mask)
        machine = translation.machine

        def run() -> Value:
            total: Value = sum(x * y for x, y in zip(read_a(values[a]), read_b(values[b]), strict=True))
            if accumulator:
                outside = np.asarray((total < low) | (total > high), bool)
                if (np.broadcast_to(outside, machine.mask.shape) & machine.mask).any():
                    machine.forbid("SPIR-V 3.52.13", "a dot product is too large for its type, even before the accumulator is added")
                start = np.asarray(values[accumulator], type_.dtype)
                total = np.clip(total + (start.view(type_.signed_dtype) if is_signed else start).astype(object), low, high)
            bits = np.asarray(total & type_.mask, object).astype(type_.dtype)
            return bits if bits.ndim else int(bits)

        return run

    return handler


_SIGNED, _UNSIGNED, _MIXED = (True, True), (False, False), (True, False)

_HALVES, _QUARTERS = frozenset({"f16", "bf16"}), frozenset({"e4m3", "e5m2"})


def _result_type(translation: Translation, words: Words, factors: frozenset[str], count: int, is_wide: bool) -> Number:
    """Return the type of the result, if the operands have types that fit."""
    vector, result = translation.type_of[words[2]], translation.types[words[0]]
    narrow = vector.element if isinstance(vector, Vector) and vector.count == count else None
    narrow = needed(narrow, Number, f"a mixed dot product of a {type_text(vector)}")
    need(narrow.component.name in factors, f"a mixed dot product of a {type_text(vector)}")
    need(translation.type_of[words[3]] == vector, "a mixed dot product of vectors of two types")
    wanted = "f32" if is_wide else narrow.component.name
    need(is_number(result, wanted), f"the result is a {type_text(result)}, not a {wanted}")
    need(translation.type_of[words[4]] == result, "the accumulator does not have the type of the result")
    return translation.number_of(result)


def _mixed_dot(factors: frozenset[str], count: int, is_wide: bool) -> Handler:
    """Return the handler of a dot product of ``count`` components of a type in ``factors``; its result is f32 if it ``is_wide``."""

    def handler(translation: Translation, words: Words) -> Run:
        result = _result_type(translation, words, factors, count, is_wide)
        values, (a, b, accumulator) = translation.values, words[2:5]

        def run() -> Value:
            total = np.asarray(values[accumulator]).astype(np.float64)
            for x, y in zip(values[a], values[b], strict=True):
                total = total + np.asarray(x).astype(np.float64) * np.asarray(y).astype(np.float64)
            return total.astype(result.dtype)[()]

        return run

    return handler


computes(Op.SDot)(_integer_dot(_SIGNED, False))
computes(Op.UDot)(_integer_dot(_UNSIGNED, False))
computes(Op.SUDot)(_integer_dot(_MIXED, False))
computes(Op.SDotAccSat)(_integer_dot(_SIGNED, True))
computes(Op.UDotAccSat)(_integer_dot(_UNSIGNED, True))
computes(Op.SUDotAccSat)(_integer_dot(_MIXED, True))
computes(Op.FDot2MixAcc32VALVE)(_mixed_dot(_HALVES, 2, True))
computes(Op.FDot2MixAcc16VALVE)(_mixed_dot(_HALVES, 2, False))
computes(Op.FDot4MixAcc32VALVE)(_mixed_dot(_QUARTERS, 4, True))
