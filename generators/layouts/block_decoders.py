"""Decode functions of blocks: of the formats, of coordinates alone, and of blocks with two planes; whole or split into calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from generators.layouts.block_formats import FORMATS, U32, planes, word
from generators.program.blocks import BlockPointer, BlockType
from generators.program.callbacks import Binary, BlockRead, Called, Choose, Converted, Expression, Part, constant, element_function
from generators.program.functions import Function, Parameter
from generators.program.memory import Array
from generators.program.operation import Hint
from generators.program.variables import Aggregate, ArrayType, length
from generators.types import COMPONENT_TYPES, ComponentType

DECODERS = ("none", "coordinates", "planes", *FORMATS)
"""What a case decodes: ``none`` has no function, ``coordinates`` does not look at the block."""

CALLS = ("plain", "nested", "deep")

_MULTIPLIERS = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1, 0xD3A2646D, 0xFD7046C5, 0xB55A4F09, 0x7FEB352D, 0x846CA68B)
"""Odd, of all 32 bits: one for each coordinate that a function gets, so that no two can take each other's place unseen."""


@dataclass(frozen=True)
class Parameters:
    """What a function gets: the pointer, the block's coordinates and those in the block."""

    pointer: BlockPointer
    block: Aggregate
    within: Aggregate

    @property
    def in_order(self) -> tuple[Parameter, ...]:
        """As a decode function has them."""
        return self.pointer, self.block, self.within


@dataclass(frozen=True)
class Decoder:
    """A decode function to be made.

    Attributes:
        kind: one of DECODERS but ``none``.
        component: of the result.
        block: the size of a block in each dimension.
        coordinates: the type of coordinates, u32 or s32.
        calls: ``nested``: the function calls one that takes its parameters in another order; ``deep``: that one calls another.
        control: of all these functions.
        table: of numbers, for formats that have one.
        result: ``value`` for elements, ``code`` for the numbers that the format keeps of them, or the hash of coordinates.
    """

    kind: str
    component: ComponentType
    block: tuple[int, ...]
    coordinates: ComponentType = U32
    calls: str = "plain"
    control: Hint = "none"
    table: Array | None = None
    result: Literal["value", "code", "coordinates"] = "value"

    @property
    def elements(self) -> int:
        """In a block."""
        count = 1
        for size in self.block:
            count *= size
        return count

    @property
    def pointee(self) -> BlockType:
        """What the pointer points to."""
        if self.kind in FORMATS:
            return FORMATS[self.kind].type
        return planes(self.component if self.kind == "planes" else COMPONENT_TYPES["u32"], self.elements)


def hash_bits(component: ComponentType) -> int:
    """Bits of a hash of coordinates that the component type holds."""
    if component.is_float:
        return min(32, component.precision)
    return min(32, component.bits) - component.is_signed


def _coordinate(of: Aggregate, dimension: int) -> Expression:
    part = Part(of, dimension)
    return part if part.component is U32 else Converted(U32, part)


def _sum(terms: list[Expression]) -> Expression:
    result = terms[0]
    for term in terms[1:]:
        result = Binary("add", result, term)
    return result


def _hash(*arrays: Aggregate) -> Expression:
    """A u32 whose upper bits depend on every coordinate."""
    coordinates = [_coordinate(array, dimension) for array in arrays for dimension in range(length(array.type))]
    return _sum([Binary("multiply", c, word(m)) for c, m in zip(coordinates, _MULTIPLIERS, strict=False)])


def _top(value: Expression, bits: int) -> Expression:
    return value if bits == 32 else Binary("shift_right", value, word(32 - bits))


def _index(decoder: Decoder, within: Aggregate) -> Expression:
    """The element's number in the block, the last dimension fastest."""
    terms: list[Expression] = []
    stride = 1
    for dimension in range(len(decoder.block) - 1, -1, -1):
        size = decoder.block[dimension]
        if size > 1:
            coordinate = _coordinate(within, dimension)
            terms.append(coordinate if stride == 1 else Binary("multiply", coordinate, word(stride)))
        stride *= size
    return _sum(terms) if terms else word(0)


def _code(decoder: Decoder, given: Parameters) -> Expression:
    """u32: of a format the code of the element, of planes which of them counts, else the hash of all coordinates."""
    if decoder.result == "coordinates" or decoder.kind == "coordinates":
        return _top(_hash(given.block, given.within), hash_bits(decoder.component))
    if decoder.kind == "planes":
        return _top(_hash(given.block), 1)
    return FORMATS[decoder.kind].code(given.pointer, _index(decoder, given.within))


def _value(decoder: Decoder, given: Parameters, code: Expression) -> Expression:
    if decoder.result == "coordinates" or decoder.kind == "coordinates":
        return Converted(decoder.component, code)
    if decoder.result == "code":
        # Codes of eight bits are signed.
        return Converted(decoder.component, Converted(COMPONENT_TYPES["s32"], code))
    index = _index(decoder, given.within)
    if decoder.kind == "planes":
        first, second = (BlockRead(given.pointer, plane, index) for plane in (0, 1))
        return Choose(Binary("equal", code, constant(U32, 0)), first, second)
    return FORMATS[decoder.kind].value(given.pointer, index, code, decoder.component, decoder.table)


def decode_function(decoder: Decoder, name: str) -> Function:
    """The decode function called ``name``; those that it calls begin with the same name."""

    def parameters(prefix: str) -> Parameters:
        rank = len(decoder.block)
        arrays = (Aggregate(f"{prefix}_{which}", ArrayType(decoder.coordinates, rank)) for which in ("coordinates", "within"))
        return Parameters(BlockPointer(f"{prefix}_block", decoder.pointee), *arrays)

    def function(name: str, order: tuple[int, ...], body: Callable[[Parameters], Expression]) -> Function:
        given = parameters(name)
        return element_function(name, tuple(given.in_order[i] for i in order), body(given), decoder.control)

    def called(function: Function, order: tuple[int, ...], given: Parameters) -> Expression:
        whole = (given.pointer, given.block, given.within)
        return Called(function, tuple(whole[i] for i in order))

    def plain(given: Parameters) -> Expression:
        return _value(decoder, given, _code(decoder, given))

    straight, other, another = (0, 1, 2), (2, 0, 1), (1, 2, 0)
    if decoder.calls == "plain":
        return function(name, straight, plain)
    body = plain
    if decoder.calls == "deep":
        code = function(f"{name}_code", another, lambda given: _code(decoder, given))

        def body(given: Parameters) -> Expression:
            return _value(decoder, given, called(code, another, given))

    inner = function(f"{name}_inner", other, body)
    return function(name, straight, lambda given: called(inner, other, given))
