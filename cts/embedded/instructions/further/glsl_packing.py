"""Extended instructions of GLSL.std.450 that pack, unpack or split numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cts.embedded.diagnostics import need
from cts.embedded.instructions.arithmetic.elementwise import on_components, on_values
from cts.embedded.instructions.arithmetic.extended import extends
from cts.embedded.machine.machine import Run
from cts.embedded.machine.pointers import CellPointer
from cts.embedded.module.translation import Handler, Translation, Words
from cts.embedded.types.shapes import TypeKind, element_of, kind_of, shape_of
from cts.embedded.types.spirv_types import PointerType, Struct, Type, Vector, number, type_text
from cts.embedded.types.values import Value, to_signed
from generators.spirv.enumerants import GlslStd450

_WORDS = (number("u32"), number("s32"))


def _whole(bits: np.ndarray) -> Value:
    return bits if bits.ndim else int(bits)


def _merged(parts: list[np.ndarray], width: int) -> np.ndarray:
    """Return unsigned parts of ``width`` bits as one word, the first in the lowest bits."""
    total = np.asarray(0, np.uint32)
    for place, part in enumerate(parts):
        total = total | part.astype(np.uint32) << np.uint32(width * place)
    return total


def _split(word: Value, width: int) -> list[np.ndarray]:
    """Return the parts of ``width`` bits of a word, the lowest first."""
    bits = np.asarray(word, np.uint32)
    dtype = np.dtype(f"u{width // 8}")
    return [(bits >> np.uint32(at) & np.uint32((1 << width) - 1)).astype(dtype) for at in range(0, 32, width)]


def _normalized(width: int, signed: bool) -> tuple[Callable[[Value], np.ndarray], Callable[[np.ndarray], Value]]:
    """Return a function that encodes a normalized number as bits, and one that decodes it."""
    scale = float((1 << width - 1) - 1 if signed else (1 << width) - 1)
    low, unsigned, dtype = (-1.0 if signed else 0.0), np.dtype(f"u{width // 8}"), np.dtype(f"{'i' if signed else 'u'}{width // 8}")

    def pack(part: Value) -> np.ndarray:
        scaled = np.rint(np.clip(np.asarray(part).astype(np.float64), low, 1.0) * scale)
        return np.nan_to_num(scaled).astype(dtype).view(unsigned)

    def unpack(bits: np.ndarray) -> Value:
        return np.clip(bits.view(dtype).astype(np.float64) / scale, low, 1.0).astype(np.float32)[()]

    return pack, unpack


def _half_bits(part: Value) -> np.ndarray:
    return np.asarray(part).astype(np.float16).view(np.uint16)


def _from_half(bits: np.ndarray) -> Value:
    return bits.view(np.float16).astype(np.float32)[()]


def _pack(width: int, encoded: Callable[[Value], np.ndarray]) -> Handler:
    """Return a handler that packs the components of a vector into a word, as the ``width`` bits that ``encoded`` makes of each."""
    source = Vector(number("f32"), 32 // width)

    def handler(translation: Translation, words: Words) -> Run:
        fits = translation.type_of[words[4]] == source and translation.types[words[0]] in _WORDS
        need(fits, f"{GlslStd450(words[3]).name} cannot make a u32 of {source.count} f32")
        return on_values(translation, words[4:], lambda parts: _whole(_merged([encoded(part) for part in parts], width)))

    return handler


def _unpack(width: int, decoded: Callable[[np.ndarray], Value]) -> Handler:
    """Return a handler that makes a vector of a word, with the component that ``decoded`` makes of each ``width`` bits."""
    result = Vector(number("f32"), 32 // width)

    def handler(translation: Translation, words: Words) -> Run:
        fits = translation.type_of[words[4]] in _WORDS and translation.types[words[0]] == result
        need(fits, f"{GlslStd450(words[3]).name} cannot make {result.count} f32 of a u32")
        return on_values(translation, words[4:], lambda word: tuple(decoded(bits) for bits in _split(word, width)))

    return handler


@extends(GlslStd450.PackDouble2x32, 1)
def _pack_double(translation: Translation, words: Words) -> Run:
    def pack(parts: Value) -> Value:
        low, high = (np.asarray(part, np.uint32).astype(np.uint64) for part in parts)
        return (low | high << np.uint64(32)).view(np.float64)[()]

    return on_values(translation, words[4:], pack)


@extends(GlslStd450.UnpackDouble2x32, 1)
def _unpack_double(translation: Translation, words: Words) -> Run:
    def unpack(value: Value) -> Value:
        bits = np.asarray(value, np.float64).view(np.uint64)
        return tuple(_whole((bits >> np.uint64(shift)).astype(np.uint32)) for shift in (0, 32))

    return on_values(translation, words[4:], unpack)


def _both(type_: Type, function: Callable[[Value], tuple[Value, Value]]) -> Callable[[Value], tuple[Value, Value]]:
    """Return ``function`` applied to a scalar, or to each component of a vector."""
    if not shape_of(type_):
        return function

    def of_vector(value: Value) -> tuple[Value, Value]:
        first, second = zip(*map(function, value), strict=True)
        return first, second

    return of_vector


def _modf(value: Value) -> tuple[Value, Value]:
    x = np.asarray(value)
    whole = np.trunc(x)
    fraction = np.where(np.isinf(x), np.zeros_like(x), x - whole)
    return np.copysign(fraction, x).astype(x.dtype)[()], whole[()]


def _frexp(value: Value) -> tuple[Value, Value]:
    x = np.asarray(value)
    significand, exponent = np.frexp(x.astype(np.float64))
    bits = exponent.astype(np.int32).view(np.uint32)
    return significand.astype(x.dtype)[()], _whole(bits)


def _two_parts(function: Callable[[Value], tuple[Value, Value]], through_pointer: bool) -> Handler:
    """Return the handler of an instruction with two results: in a struct, or the second one through a pointer."""

    def handler(translation: Translation, words: Words) -> Run:
        values, machine, operand = translation.values, translation.machine, words[4]
        type_, result, name = translation.type_of[operand], translation.types[words[0]], GlslStd450(words[3]).name
        need(kind_of(element_of(type_)) is TypeKind.FLOAT, f"{name} of a {type_text(type_)}")
        compute = _both(type_, function)
        if not through_pointer:
            need(isinstance(result, Struct) and len(result.members) == 2, f"{name} cannot give a {type_text(result)}")
            return lambda: compute(values[operand])
        pointer = words[5]
        need(isinstance(translation.type_of[pointer], PointerType), f"the second operand of {name} is not a pointer")

        def run() -> Value:
            first, second = compute(values[operand])
            place = values[pointer]
            need(isinstance(place, CellPointer), f"{name} writes to memory that is not a variable of the function")
            place.store(machine, second)
            return first

        return run

    return handler


@extends(GlslStd450.Ldexp, 2)
def _ldexp(translation: Translation, words: Words) -> Run:
    type_, (x, exponent) = translation.types[words[0]], words[4:]
    from_ = translation.type_of[exponent]
    fits = translation.type_of[x] == type_ and kind_of(element_of(type_)) is TypeKind.FLOAT and kind_of(element_of(from_)) is TypeKind.INT
    need(fits and shape_of(from_) == shape_of(type_), f"Ldexp of a {type_text(translation.type_of[x])} by a {type_text(from_)}")
    power, dtype = translation.number_of(from_), translation.number_of(type_).dtype

    def one(value: Value, by: Value) -> Value:
        times = np.clip(np.asarray(to_signed(by, power.bits, power.signed_dtype)), -4096, 4096).astype(np.int32)
        return np.ldexp(np.asarray(value).astype(np.float64), times).astype(dtype)[()]

    return on_components(translation, type_, words[4:], one)


_SNORM8, _UNORM8, _SNORM16, _UNORM16 = (_normalized(width, signed) for width in (8, 16) for signed in (True, False))

for _which, _handler in (
    (GlslStd450.PackHalf2x16, _pack(16, _half_bits)),
    (GlslStd450.PackSnorm4x8, _pack(8, _SNORM8[0])),
    (GlslStd450.PackUnorm4x8, _pack(8, _UNORM8[0])),
    (GlslStd450.PackSnorm2x16, _pack(16, _SNORM16[0])),
    (GlslStd450.PackUnorm2x16, _pack(16, _UNORM16[0])),
    (GlslStd450.UnpackHalf2x16, _unpack(16, _from_half)),
    (GlslStd450.UnpackSnorm4x8, _unpack(8, _SNORM8[1])),
    (GlslStd450.UnpackUnorm4x8, _unpack(8, _UNORM8[1])),
    (GlslStd450.UnpackSnorm2x16, _unpack(16, _SNORM16[1])),
    (GlslStd450.UnpackUnorm2x16, _unpack(16, _UNORM16[1])),
    (GlslStd450.ModfStruct, _two_parts(_modf, False)),
    (GlslStd450.FrexpStruct, _two_parts(_frexp, False)),
):
    extends(_which, 1)(_handler)
extends(GlslStd450.Modf, 2)(_two_parts(_modf, True))
extends(GlslStd450.Frexp, 2)(_two_parts(_frexp, True))
