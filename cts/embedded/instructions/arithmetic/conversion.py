"""Conversions between numbers, and bit casts."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np

from cts.embedded.diagnostics import Malformed, Unsupported, Violation
from cts.embedded.instructions.arithmetic.elementwise import Function, apply, forbid_where, on_values
from cts.embedded.instructions.registry import computes
from cts.embedded.machine.machine import Machine, Run
from cts.embedded.machine.pointers import AddressPointer
from cts.embedded.module.float_controls import corrected
from cts.embedded.module.translation import Handler, Translation, Words
from cts.embedded.types.shapes import bits_of
from cts.embedded.types.spirv_types import MatrixType, Number, PointerType, Type, Vector, type_text
from cts.embedded.types.values import Value, to_signed
from generators.spirv.enumerants import Decoration, Op

_LARGEST_FLOAT8 = {"e4m3": 448.0, "e5m2": 57344.0}


def _float_to_int(signed: bool) -> Callable[[Machine, Number, Number], Function]:
    def make(machine: Machine, _: Number, to: Number) -> Function:
        low = -(2.0 ** (to.bits - 1)) if signed else 0.0
        high = 2.0 ** (to.bits - 1 if signed else to.bits)
        through = to.signed_dtype if signed else to.dtype

        def function(x: Value) -> Value:
            wide = np.trunc(np.asarray(x, np.float64))
            outside = ~((wide >= low) & (wide < high))
            holds = f"which holds {int(low)} to {int(high) - 1}"
            forbid_where(machine, outside, "SPIR-V 3.42.11", f"{{}} is converted to {to.component}, {holds}", wide)
            whole = np.where(outside, 0.0, wide)
            result = whole.astype(through).view(to.dtype)
            return result if result.ndim else int(result)

        return function

    return make


def _int_to_float(signed: bool, op: Op) -> Handler:
    def handler(translation: Translation, words: Words) -> Run:
        from_, to = translation.number_of(translation.type_of[words[2]]), translation.number_of(translation.types[words[0]])
        largest = _saturation(translation, words, to)

        def function(x: Value) -> Value:
            number = to_signed(x, from_.bits, from_.signed_dtype) if signed else x
            if not isinstance(number, np.ndarray):
                number = np.asarray(number, from_.signed_dtype if signed else from_.dtype)
            if to.bits < 32:
                number = number.astype(np.float64)
            if largest is not None:
                number = np.clip(number, -largest, largest)
            return number.astype(to.dtype)[()]

        return apply(translation, op, words, function)

    return handler


def _saturation(translation: Translation, words: Words, to: Number) -> float | None:
    """Return the largest finite value of an 8-bit float result if the instruction is decorated to saturate (KHR-CVT-06), else None."""
    saturated = translation.decoration(words[1], Decoration.SaturatedToLargestFloat8NormalConversionEXT) is not None
    return _LARGEST_FLOAT8.get(to.component.name) if saturated else None


def _resize(signed: bool) -> Callable[[Machine, Number, Number], Function]:
    def make(_: Machine, from_: Number, to: Number) -> Function:
        def function(x: Value) -> Value:
            if not isinstance(x, np.ndarray):
                return (to_signed(x, from_.bits, from_.signed_dtype) if signed else x) & to.mask
            if signed:
                return x.view(from_.signed_dtype).astype(to.signed_dtype).view(to.dtype)
            return x.astype(to.dtype)

        return function

    return make


def _convert(op: Op, make: Callable[[Machine, Number, Number], Function]) -> Handler:
    def handler(translation: Translation, words: Words) -> Run:
        from_ = translation.number_of(translation.type_of[words[2]])
        to = translation.number_of(translation.types[words[0]])
        return apply(translation, op, words, make(translation.machine, from_, to))

    return handler


@computes(Op.FConvert)
def _float_to_float(translation: Translation, words: Words) -> Run:
    to = translation.number_of(translation.types[words[0]])
    largest = _saturation(translation, words, to)

    def function(x: Value) -> Value:
        number = np.asarray(x)
        if largest is not None:
            number = np.clip(number.astype(np.float64), -largest, largest)
        return number.astype(to.dtype)[()]

    return apply(translation, Op.FConvert, words, corrected(translation, Op.FConvert, to, function))


@computes(Op.QuantizeToF16)
def _quantize(translation: Translation, words: Words) -> Run:
    return apply(translation, Op.QuantizeToF16, words, lambda x: np.asarray(x).astype(np.float16).astype(np.float32)[()])


def to_bits(type_: Number, value: Value) -> Value:
    """Return the bits of a number, as an integer."""
    if not type_.is_float:
        return value
    bits = np.asarray(value).view(type_.component.bits_dtype)
    return bits if bits.ndim else int(bits)


def from_bits(type_: Number, bits: Value) -> Value:
    """Return the number with these bits."""
    if not type_.is_float:
        return bits
    return np.asarray(bits, type_.component.bits_dtype).view(type_.dtype)[()]


def wide(value: Value) -> Value:
    """Return an unsigned integer in 64 bits, or as a Python int."""
    return value.astype(np.uint64) if isinstance(value, np.ndarray) else value


def narrow(type_: Number, value: Value) -> Value:
    """Return the low bits of an integer, as many as a number of the type has."""
    return (value & type_.mask).astype(type_.component.bits_dtype) if isinstance(value, np.ndarray) else value & type_.mask


@computes(Op.Bitcast, Op.ConvertUToPtr, Op.ConvertPtrToU)
def _bitcast(translation: Translation, words: Words) -> Run:
    to, from_ = translation.types[words[0]], translation.type_of[words[2]]
    if isinstance(to, MatrixType) or isinstance(from_, MatrixType):
        return _matrix_bitcast(translation, words)
    if isinstance(to, PointerType) and isinstance(from_, PointerType):
        return on_values(translation, words[2:], lambda pointer: pointer)
    if not isinstance(to, PointerType) and not isinstance(from_, PointerType):
        from_number, to_number = translation.number_of(from_), translation.number_of(to)
        if isinstance(to, Vector) == isinstance(from_, Vector) and to_number.bits == from_number.bits:
            return apply(translation, Op.Bitcast, words, lambda x: from_bits(to_number, to_bits(from_number, x)))
        if max(bits_of(to), bits_of(from_)) > 64:
            return _regroup(translation, words, from_number, to_number, to)
    unpack, pack = _unpacker(from_), _packer(translation, to)
    return on_values(translation, words[2:], lambda value: pack(unpack(value)))


def _regroup(translation: Translation, words: Words, from_: Number, to: Number, type_: Type) -> Run:
    """Return a function that casts the bits of vectors of more than 64 bits."""
    if not isinstance(type_, Vector):
        raise Unsupported("a bit cast of this width")
    ratio, group = from_.bits // to.bits, to.bits // from_.bits

    def cast(vector: Value) -> Value:
        if ratio:
            bits = [wide(to_bits(from_, part)) for part in vector]
            return tuple(from_bits(to, narrow(to, part >> to.bits * i)) for part in bits for i in range(ratio))
        groups = (vector[start : start + group] for start in range(0, len(vector), group))
        return tuple(from_bits(to, narrow(to, _joined(from_, parts))) for parts in groups)

    return on_values(translation, words[2:], cast)


def _joined(type_: Number, parts: Sequence[Value]) -> Value:
    """Return the bits of numbers as one integer, the first in the lowest bits."""
    return reduce(operator.or_, (wide(to_bits(type_, part)) << type_.bits * i for i, part in enumerate(parts)))


def _unpacker(type_: Type) -> Callable[[Value], Value]:
    """Return a function that packs the bits of a scalar, an address or a vector of at most 64 bits into one integer."""
    match type_:
        case PointerType():
            return lambda pointer: wide(pointer.address)
        case Vector(Number() as element):
            return lambda vector: _joined(element, vector)
        case Number():
            return lambda value: wide(to_bits(type_, value))
        case _:
            raise Malformed(f"a {type_text(type_)} has no bits")


def _packer(translation: Translation, type_: Type) -> Callable[[Value], Value]:
    """Return the inverse of ``_unpacker``."""
    match type_:
        case PointerType():
            return lambda bits: AddressPointer(translation.space, bits.astype(np.int64) if isinstance(bits, np.ndarray) else bits)
        case Vector(Number() as element, count):
            return lambda bits: tuple(from_bits(element, narrow(element, bits >> element.bits * i)) for i in range(count))
        case Number():
            return lambda bits: from_bits(type_, narrow(type_, bits))
        case _:
            raise Malformed(f"a {type_text(type_)} has no bits")


def _matrix_bitcast(translation: Translation, words: Words) -> Run:
    from_, to = translation.type_of[words[2]], translation.types[words[0]]
    if not isinstance(from_, MatrixType) or not isinstance(to, MatrixType):
        raise Violation("KHR-CVT-03", "OpBitcast between a cooperative matrix and another type")
    if from_.number.is_float or to.number.is_float or from_.number.bits != to.number.bits:
        raise Violation("KHR-CVT-03", f"OpBitcast from a {from_} to a {to}; both must be integers of one width")
    return apply(translation, Op.Bitcast, words, lambda x: x.view(to.number.dtype))


computes(Op.ConvertFToU)(_convert(Op.ConvertFToU, _float_to_int(signed=False)))
computes(Op.ConvertFToS)(_convert(Op.ConvertFToS, _float_to_int(signed=True)))
computes(Op.ConvertSToF)(_int_to_float(signed=True, op=Op.ConvertSToF))
computes(Op.ConvertUToF)(_int_to_float(signed=False, op=Op.ConvertUToF))
computes(Op.UConvert)(_convert(Op.UConvert, _resize(signed=False)))
computes(Op.SConvert)(_convert(Op.SConvert, _resize(signed=True)))
