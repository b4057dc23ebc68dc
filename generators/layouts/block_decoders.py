"""Decode functions for blocks of the formats, for coordinates alone, and for blocks with two planes; in one function or split into
calls."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from generators.layouts.block_formats import U32, BlockFormat, planes, word
from generators.program.expressions import Binary, BlockRead, Called, Choose, Converted, Expression, Part, constant, element_function
from generators.program.functions import Function, Parameter
from generators.program.memory import Array
from generators.program.operation import Hint
from generators.program.values import Aggregate, ArrayType, BlockPointer, BlockType, Value
from generators.program.variables import length
from generators.types import COMPONENT_TYPES, ComponentType

Decoding = BlockFormat | Literal["coordinates", "planes"]
"""The result of a decode function: the elements of a format; a hash of coordinates that ignores the block; or elements of the block's two
planes."""

Calls = Literal["plain", "nested", "deep"]
"""The functions: one; one that calls a second function with the parameters in another order; or a second that calls a third."""

_MULTIPLIERS = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1, 0xD3A2646D, 0xFD7046C5, 0xB55A4F09, 0x7FEB352D, 0x846CA68B)
"""Odd 32-bit factors, one for each coordinate that a function gets, so exchanging two coordinates changes the hash."""


@dataclass(frozen=True)
class BlockArguments:
    """The arguments of a function: the pointer, the block's coordinates and the coordinates in the block."""

    pointer: BlockPointer
    block: Aggregate
    within: Aggregate

    @property
    def in_order(self) -> tuple[Parameter, ...]:
        """The parameters in the order of a decode function."""
        return self.pointer, self.block, self.within


def block_type(decoding: Decoding, component: ComponentType, block: tuple[int, ...]) -> BlockType:
    """Return the struct that the pointer of a decode function points to, for results of ``component`` and blocks of the size ``block``."""
    if isinstance(decoding, BlockFormat):
        return decoding.type
    return planes(component if decoding == "planes" else U32, math.prod(block))


@dataclass(frozen=True)
class Element:
    """An element to decode: the pointer to its block, the block's coordinates, and its own coordinates in the block, as u32."""

    pointer: BlockPointer
    block: tuple[Expression, ...]
    within: tuple[Expression, ...]


@dataclass(frozen=True)
class Decoder:
    """A decode function to build.

    Attributes:
        decoding: the kind of its result.
        component: the component type of the result.
        block: the size of a block in each dimension.
        coordinates: the type of coordinates, u32 or s32.
        calls: its functions.
        control: the function control of all these functions.
        table: the table of numbers, for formats that have one.
        result: ``value`` for elements; ``code`` for the numbers that the format stores for them, or the hash of coordinates.
        mark: the index, 0 or 1, of this function among two with different results: the lowest bit of a hash, or the plane; None for
            functions that agree.
    """

    decoding: Decoding
    component: ComponentType
    block: tuple[int, ...]
    coordinates: ComponentType = U32
    calls: Calls = "plain"
    control: Hint = "none"
    table: Array | None = None
    result: Literal["value", "code", "coordinates"] = "value"
    mark: int | None = None

    @property
    def pointee(self) -> BlockType:
        """The struct that the pointer points to."""
        return block_type(self.decoding, self.component, self.block)


def hash_bits(component: ComponentType) -> int:
    """Return the number of bits of a coordinate hash that fit in the component type."""
    if component.is_float:
        return min(32, component.precision)
    return min(32, component.bits) - component.is_signed


def coordinates(of: Aggregate) -> tuple[Expression, ...]:
    """Return the elements of an array of coordinates, as u32."""
    parts = [Part(of, dimension) for dimension in range(length(of.type))]
    return tuple(part if part.type is U32 else Converted(U32, part) for part in parts)


def given_element(given: BlockArguments) -> Element:
    """Return the element that a single-element function decodes."""
    return Element(given.pointer, coordinates(given.block), coordinates(given.within))


def _sum(terms: list[Expression]) -> Expression:
    result = terms[0]
    for term in terms[1:]:
        result = Binary("add", result, term)
    return result


def hashed(*every: Expression) -> Expression:
    """Return a u32 whose upper bits depend on every coordinate."""
    return _sum([Binary("multiply", c, word(m)) for c, m in zip(every, _MULTIPLIERS, strict=False)])


def top_bits(value: Expression, bits: int) -> Expression:
    """Return the upper ``bits`` bits of a u32."""
    return value if bits == 32 else Binary("shift_right", value, word(32 - bits))


def number_in_block(decoder: Decoder, within: Sequence[Expression]) -> Expression:
    """Return the element's index in the block, with the last dimension fastest."""
    terms: list[Expression] = []
    stride = 1
    for dimension in range(len(decoder.block) - 1, -1, -1):
        size = decoder.block[dimension]
        if size > 1:
            coordinate = within[dimension]
            terms.append(coordinate if stride == 1 else Binary("multiply", coordinate, word(stride)))
        stride *= size
    return _sum(terms) if terms else word(0)


def code_of(decoder: Decoder, element: Element) -> Expression:
    """Return a u32: the element's code for a format, the deciding plane for planes, otherwise the hash of all coordinates."""
    if decoder.result == "coordinates" or decoder.decoding == "coordinates":
        whole, bits = hashed(*element.block, *element.within), hash_bits(decoder.component)
        if decoder.mark is None:
            return top_bits(whole, bits)
        return Binary("or", Binary("shift_left", top_bits(whole, bits - 1), word(1)), word(decoder.mark))
    if decoder.decoding == "planes" and decoder.mark is not None:
        return word(decoder.mark)
    if decoder.decoding == "planes":
        return top_bits(hashed(*element.block), 1)
    return decoder.decoding.code(element.pointer, number_in_block(decoder, element.within))


def value_of(decoder: Decoder, element: Element, code: Expression) -> Expression:
    """Return the element, of the component type, from its code."""
    if decoder.result == "coordinates" or decoder.decoding == "coordinates":
        return Converted(decoder.component, code)
    if decoder.result == "code":
        # Codes of eight bits are signed.
        return Converted(decoder.component, Converted(COMPONENT_TYPES["s32"], code))
    index = number_in_block(decoder, element.within)
    if decoder.decoding == "planes":
        first, second = (BlockRead(element.pointer, plane, index) for plane in (0, 1))
        return Choose(Binary("equal", code, constant(U32, 0)), first, second)
    return decoder.decoding.value(element.pointer, index, code, decoder.component, decoder.table)


def decode_function(decoder: Decoder, name: str) -> Function:
    """Build the decode function called ``name``; the names of functions that it calls begin with it."""

    def parameters(prefix: str) -> BlockArguments:
        rank = len(decoder.block)
        arrays = (Value(f"{prefix}_{which}", ArrayType(decoder.coordinates, rank)) for which in ("coordinates", "within"))
        return BlockArguments(Value(f"{prefix}_block", decoder.pointee), *arrays)

    def function(name: str, order: tuple[int, ...], body: Callable[[BlockArguments], Expression]) -> Function:
        given = parameters(name)
        return element_function(name, tuple(given.in_order[i] for i in order), body(given), decoder.control)

    def called(function: Function, order: tuple[int, ...], given: BlockArguments) -> Expression:
        whole = (given.pointer, given.block, given.within)
        return Called(function, tuple(whole[i] for i in order))

    def plain(given: BlockArguments) -> Expression:
        element = given_element(given)
        return value_of(decoder, element, code_of(decoder, element))

    straight, other, another = (0, 1, 2), (2, 0, 1), (1, 2, 0)
    if decoder.calls == "plain":
        return function(name, straight, plain)
    body = plain
    if decoder.calls == "deep":
        code = function(f"{name}_code", another, lambda given: code_of(decoder, given_element(given)))

        def body(given: BlockArguments) -> Expression:
            return value_of(decoder, given_element(given), called(code, another, given))

    inner = function(f"{name}_inner", other, body)
    return function(name, straight, lambda given: called(inner, other, given))
