"""Vector decode functions: they decode a group of adjacent elements of a block at once (SPV_NV_cooperative_matrix_decode_vector).

A function that is called for an element other than the first of a group returns the group's first element in every component, so results
that depend on such a call are wrong and noticed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

import numpy as np

from generators.errors import GeneratorError, Rule
from generators.layouts.block_decoders import (
    BlockArguments,
    Decoder,
    Element,
    code_of,
    given_element,
    hashed,
    number_in_block,
    value_of,
)
from generators.layouts.block_formats import F16, U8, U32, BlockFormat, bits_at, block_of, with_minimum, word
from generators.program.expressions import (
    Binary,
    BlockRead,
    Choose,
    Converted,
    Expression,
    constant,
    early_vector_function,
    looped_vector_function,
    vector_function,
)
from generators.program.functions import Call, Function, Parameter
from generators.program.values import Aggregate, ArrayType, BlockMember, BlockPointer, BlockType, Value

Body = Literal["formula", "loop", "early"]
"""How a vector decode function makes its components: one by one, in a loop, or in one of two equivalent ways, the first of which returns
from inside a branch."""

Pointees = Literal["same", "words", "apart"]
"""The pointee of the vector function: the block of the scalar function; another struct with the same bytes, with wider members if the block
packs bits; or a larger struct, with copies of the blocks in other places."""


@dataclass(frozen=True, eq=False)
class PackedFormat(BlockFormat):
    """A format with adjacent codes, starting with the first element in the lowest bits of the first byte.

    Attributes:
        bits: the number of bits of a code: 1, 2, 4 or 8.
        words: the block as a scale and a minimum in one array, and 32-bit words.
    """

    bits: int = 8
    words: BlockType | None = None


def _packed(bits: int, largest: int) -> PackedFormat:
    """Return a format of 32 codes of ``bits`` bits, with a scale of at most ``largest`` and a minimum."""
    per_byte = 8 // bits

    def code(pointer: BlockPointer, index: Expression) -> Expression:
        byte = BlockRead(pointer, 2, Binary("shift_right", index, word(per_byte.bit_length() - 1)))
        return bits_at(byte, Binary("multiply", Binary("and", index, word(per_byte - 1)), word(bits)), bits)

    as_bytes = block_of(f"BlockBits{bits}", 4, (F16, None), (F16, None), (U8, 4 * bits))
    as_words = block_of(f"BlockBits{bits}Words", 4, (F16, 2), (U32, bits))
    return PackedFormat(32, as_bytes, code, with_minimum, {0: largest, 1: 1000}, bits=bits, words=as_words)


PACKED: Mapping[str, BlockFormat] = MappingProxyType({f"bits{bits}": _packed(bits, 3 if bits == 8 else 63) for bits in (1, 2, 4, 8)})
"""Formats of 1, 2, 4 and 8 bits. A result is a whole number of at most 11 bits times a power of two."""


def other_pointee(decoder: Decoder, pointees: Pointees, before: int) -> BlockType:
    """Return the pointee of the vector function.

    Args:
        decoder: the decoder of the scalar function.
        before: bytes before the copy of a block, for ``apart``.

    Raises:
        GeneratorError: the blocks of a format cannot be apart.
    """
    block = decoder.pointee
    if pointees == "same":
        return block
    if pointees == "words":
        if isinstance(decoder.decoding, PackedFormat):
            assert decoder.decoding.words is not None, "a packed format has words"
            return decoder.decoding.words
        if decoder.decoding in ("planes", "coordinates"):
            member = block.members[0]
            length = sum(one.length or 1 for one in block.members)
            return BlockType(f"{block.name}Joined", (BlockMember(member.component, 0, length),), block.alignment)
        return replace(block, name=f"{block.name}Again")
    if decoder.decoding != "planes":
        raise GeneratorError(Rule.PLANES, "the vector function has separate blocks only if its blocks consist of planes")
    moved = tuple(replace(member, offset=member.offset + before) for member in block.members)
    return BlockType(f"{block.name}Apart", moved, block.alignment)


@dataclass(frozen=True)
class VectorDecoder:
    """A vector decode function to build.

    Attributes:
        scalar: the decoder of the scalar function.
        lanes: number of elements decoded at once: 2, 4 or 8.
        pointee: the struct that the pointer points to.
        body: how the components are made.
    """

    scalar: Decoder
    lanes: int
    pointee: BlockType
    body: Body = "formula"


def vector_decode_function(decoder: VectorDecoder, name: str) -> Function:
    """Build the vector decode function called ``name``; the names of functions that it calls begin with it."""
    scalar = decoder.scalar
    straight, other, another = (0, 1, 2), (2, 0, 1), (1, 2, 0)
    inner = _body(decoder, name if scalar.calls == "plain" else f"{name}_body", straight if scalar.calls == "plain" else other)
    order = other
    if scalar.calls == "deep":
        inner, order = _handing_on(decoder, f"{name}_between", another, inner, other), another
    return inner if scalar.calls == "plain" else _handing_on(decoder, name, straight, inner, order)


def _given(decoder: VectorDecoder, prefix: str) -> BlockArguments:
    type_ = ArrayType(decoder.scalar.coordinates, len(decoder.scalar.block))
    arrays = (Value(f"{prefix}_{which}", type_) for which in ("coordinates", "within"))
    return BlockArguments(Value(f"{prefix}_block", decoder.pointee), *arrays)


def _handing_on(decoder: VectorDecoder, name: str, order: tuple[int, ...], inner: Function, its: tuple[int, ...]) -> Function:
    """Return a function with parameters in ``order`` that calls another function, which takes them in the order ``its``."""
    given = _given(decoder, name)
    whole = (given.pointer, given.block, given.within)
    assert inner.returned is not None, "a decode function returns something"
    result: Aggregate = Value(f"{name}_vector", inner.returned.type)  # type: ignore[arg-type]
    parameters: tuple[Parameter, ...] = tuple(given.in_order[i] for i in order)
    call = Call(result, inner, tuple(whole[i] for i in its))
    return Function(name, parameters, (call,), result, decoder.scalar.control)


def _body(decoder: VectorDecoder, name: str, order: tuple[int, ...]) -> Function:
    given = _given(decoder, name)
    parameters: tuple[Parameter, ...] = tuple(given.in_order[i] for i in order)
    element = given_element(given)
    control = decoder.scalar.control
    if decoder.body == "loop":
        return looped_vector_function(name, parameters, decoder.lanes, lambda lane: _component(decoder, element, lane), control)
    components = [_component(decoder, element, word(lane)) for lane in range(decoder.lanes)]
    if decoder.body == "formula":
        return vector_function(name, parameters, components, control)
    odd = Binary("equal", Binary("and", hashed(*element.block[::-1]), word(1)), constant(U32, 1))
    return early_vector_function(name, parameters, odd, components, components, control)


def _begin_and_lane(first: Element, lanes: int, lane: Expression) -> tuple[Expression, Expression]:
    """Return the last coordinate of a group's first element, and ``lane``; in a call for another element, return 0 instead of ``lane``."""
    last = first.within[-1]
    low = Binary("and", last, word(lanes - 1))
    return Binary("subtract", last, low), Choose(Binary("equal", low, constant(U32, 0)), lane, word(0))


def element_of_group(first: Element, lanes: int, lane: Expression) -> Element:
    """Return the element ``lane`` places after the first of a group of ``lanes``; in a call for another element, return the first."""
    begin, shift = _begin_and_lane(first, lanes, lane)
    return replace(first, within=(*first.within[:-1], Binary("add", begin, shift)))


def _component(decoder: VectorDecoder, first: Element, lane: Expression) -> Expression:
    """Return the component of the element ``lane`` places after the first of a group."""
    scalar = decoder.scalar
    decoding = scalar.decoding
    if isinstance(decoding, PackedFormat) and decoder.pointee is decoding.words and scalar.result == "value":
        begin, shift = _begin_and_lane(first, decoder.lanes, lane)
        return _from_words(decoding, scalar, first.pointer, number_in_block(scalar, (*first.within[:-1], begin)), shift)
    element = element_of_group(first, decoder.lanes, lane)
    if decoding == "planes" and scalar.result == "value" and len(decoder.pointee.members) == 1:
        return _joined(scalar, element)
    return value_of(scalar, element, code_of(scalar, element))


def _from_words(packed: PackedFormat, scalar: Decoder, pointer: BlockPointer, begin: Expression, lane: Expression) -> Expression:
    """Return an element from 32-bit words: the one ``lane`` elements after element ``begin`` of the block."""
    bit = Binary("multiply", Binary("add", begin, lane), word(packed.bits))
    code = bits_at(BlockRead(pointer, 1, Binary("shift_right", bit, word(5))), Binary("and", bit, word(31)), packed.bits)
    scale, least = (Converted(scalar.component, BlockRead(pointer, 0, word(which))) for which in (0, 1))
    return Binary("add", Binary("multiply", Converted(scalar.component, code), scale), least)


def _joined(scalar: Decoder, element: Element) -> Expression:
    """Return an element of two planes declared as one array."""
    count = 1
    for size in scalar.block:
        count *= size
    plane = Binary("multiply", code_of(scalar, element), word(count))
    return BlockRead(element.pointer, 0, Binary("add", plane, number_in_block(scalar, element.within)))


def copy_blocks(data: np.ndarray, begins: Sequence[int], blocks: int, source: BlockType, target: BlockType) -> None:
    """Copy adjacent blocks of ``source``, starting at each byte in ``begins``, to the places of the separate blocks of ``target``.

    Args:
        data: the data of the whole array, uint8.
    """
    gap = target.members[0].offset
    for begin in begins:
        for number in range(blocks):
            block = data[begin + number * source.bytes :][: source.bytes]
            data[begin + number * target.bytes + gap :][: source.bytes] = block
