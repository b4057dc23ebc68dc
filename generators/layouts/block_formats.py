"""Block formats of quantised weights: the contents of a block, and the decoding of an element.

The layouts are the ones in which weights are distributed (with ggml's names), so the tests decode the same data as inference. Scales are
whole numbers times a power of two, so every step is exact in the result's type: rounding and contraction have no effect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from generators.program.expressions import Binary, BlockRead, Choose, Converted, ElementRead, Expression, binary, constant
from generators.program.memory import Array
from generators.program.values import BlockMember, BlockPointer, BlockType, Operand
from generators.types import COMPONENT_TYPES, ComponentType

F16, F32, S8, U8, S16, U16, S32, U32 = (COMPONENT_TYPES[name] for name in ("f16", "f32", "s8", "u8", "s16", "u16", "s32", "u32"))

_QUANTUM = -4
"""Exponent of a power of two that divides every scale. It also divides every product, and no product is denormal in f16."""

_LARGEST_WIDE = (1 << F16.precision) - 1
"""Scales for results of 24 bits use all bits of f16, so a product kept in f16 is noticed."""

TABLE = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.int8)
"""The numbers for the codes of ``iq4_nl``."""


def word(value: int) -> Operand:
    """Return a u32 constant."""
    return constant(U32, value)


def bits_at(value: Expression, first: Expression | int, count: int) -> Expression:
    """Extract ``count`` bits of a number, from bit ``first`` on, as u32."""
    start = word(first) if isinstance(first, int) else first
    return Binary("and", Binary("shift_right", Converted(U32, value), start), word((1 << count) - 1))


def _quotient(value: Expression, power: int) -> Expression:
    return Binary("shift_right", value, word(power))


def _remainder(value: Expression, power: int) -> Expression:
    return Binary("and", value, word((1 << power) - 1))


@dataclass(frozen=True, eq=False)
class BlockFormat:
    """A format of blocks of ``elements`` elements.

    Attributes:
        type: the struct.
        code: computes the element's code, u32, from the pointer and the element's index in the block.
        value: computes the element from the pointer, its index, its code, the component type and the table.
        scales: the f16 scale members, each with the greatest whole number that keeps results exact in f16.
        components: the component types of results.
        table: whether it reads a table of numbers.
    """

    elements: int
    type: BlockType
    code: Callable[[BlockPointer, Expression], Expression]
    value: Callable[[BlockPointer, Expression, Expression, ComponentType, Array | None], Expression]
    scales: Mapping[int, int]
    components: tuple[ComponentType, ...] = (F16, F32)
    table: bool = False


def _code(nibbles: int) -> Callable[[BlockPointer, Expression], Expression]:
    """Return a function that reads four bits: the low halves of 16 bytes, then their high halves."""

    def code(pointer: BlockPointer, index: Expression) -> Expression:
        byte = BlockRead(pointer, nibbles, _remainder(index, 4))
        return bits_at(byte, Binary("multiply", _quotient(index, 4), word(4)), 4)

    return code


def _fifth_in_halves(pointer: BlockPointer, index: Expression) -> Expression:
    mask = BlockRead(pointer, 1, _quotient(index, 4))
    return Binary("or", _code(2)(pointer, index), Binary("shift_left", bits_at(mask, _remainder(index, 4), 1), word(4)))


def _fifth_in_word(pointer: BlockPointer, index: Expression) -> Expression:
    return Binary("or", _code(3)(pointer, index), Binary("shift_left", bits_at(BlockRead(pointer, 2), index, 1), word(4)))


def _byte(pointer: BlockPointer, index: Expression) -> Expression:
    return Converted(U32, Converted(S32, BlockRead(pointer, 1, index)))


def _two_bits(pointer: BlockPointer, index: Expression) -> Expression:
    """Read two bits. Half of a super-block has 32 bytes; the first 32 of its elements are the lowest two bits of these bytes, and so on."""
    place = Binary("add", Binary("multiply", _quotient(index, 7), word(32)), _remainder(index, 5))
    return bits_at(BlockRead(pointer, 1, place), Binary("multiply", _remainder(_quotient(index, 5), 2), word(2)), 2)


def _four_bits(pointer: BlockPointer, index: Expression) -> Expression:
    """Read four bits. A quarter of a super-block has 32 bytes: first their low halves, then their high halves."""
    place = Binary("add", Binary("multiply", _quotient(index, 6), word(32)), _remainder(index, 5))
    return bits_at(BlockRead(pointer, 3, place), Binary("multiply", _remainder(_quotient(index, 5), 1), word(4)), 4)


def _scaled(scale: int, bias: int) -> Callable[..., Expression]:
    """Return a function that computes scale * (code - bias)."""

    def value(pointer: BlockPointer, _: Expression, code: Expression, component: ComponentType, __: Array | None) -> Expression:
        number: Expression = Converted(S32, code)
        if bias:
            number = Binary("subtract", number, constant(S32, bias))
        return Binary("multiply", Converted(component, number), Converted(component, BlockRead(pointer, scale)))

    return value


def with_minimum(pointer: BlockPointer, _: Expression, code: Expression, component: ComponentType, __: Array | None) -> Expression:
    """Compute scale * code + minimum."""
    scale, least = (Converted(component, BlockRead(pointer, member)) for member in (0, 1))
    return Binary("add", Binary("multiply", Converted(component, code), scale), least)


def _from_zero_point(pointer: BlockPointer, _: Expression, code: Expression, component: ComponentType, __: Array | None) -> Expression:
    """Compute 7 * code + zero point, which wraps in 8 bits."""
    step = Binary("multiply", Converted(component, code), constant(component, 7))
    return Binary("add", step, Converted(component, BlockRead(pointer, 0)))


def _looked_up(pointer: BlockPointer, _: Expression, code: Expression, component: ComponentType, table: Array | None) -> Expression:
    assert table is not None, "the format has a table"
    return Binary("multiply", Converted(component, ElementRead(table, code)), Converted(component, BlockRead(pointer, 0)))


def _less_minimum(scale: Expression, step: Expression, code: Expression, least: Expression, minimum: Expression) -> Expression:
    return Binary("subtract", binary("multiply", scale, step, code), Binary("multiply", least, minimum))


def _of_two_bits(pointer: BlockPointer, index: Expression, code: Expression, component: ComponentType, _: Array | None) -> Expression:
    both = BlockRead(pointer, 0, _quotient(index, 4))
    scale, least = (Converted(component, BlockRead(pointer, member)) for member in (2, 3))
    step, minimum = (Converted(component, bits_at(both, first, 4)) for first in (0, 4))
    return _less_minimum(scale, step, Converted(component, code), least, minimum)


def _of_four_bits(pointer: BlockPointer, index: Expression, code: Expression, component: ComponentType, _: Array | None) -> Expression:
    """Decode an element. Twelve bytes have eight scales and eight minima of six bits: the first four of each are stored whole in the first
    eight bytes; the others have four bits each in the last four bytes, and their upper two bits in the top bits of the first eight."""
    group = _quotient(index, 5)
    low, middle, high = (BlockRead(pointer, 2, Binary("add", _remainder(group, 2), word(4 * third))) for third in range(3))
    first = Binary("less", group, word(4))
    packed = []
    for whole, half in ((low, 0), (middle, 4)):
        split = Binary("or", bits_at(high, half, 4), Binary("shift_left", bits_at(whole, 6, 2), word(4)))
        packed.append(Converted(component, Choose(first, bits_at(whole, 0, 6), split)))
    scale, least = (Converted(component, BlockRead(pointer, member)) for member in (0, 1))
    return _less_minimum(scale, packed[0], Converted(component, code), least, packed[1])


def block_of(name: str, alignment: int, *members: tuple[ComponentType, int | None]) -> BlockType:
    """Return a struct of adjacent members, each given as a component type and, for an array, its length."""
    placed: list[BlockMember] = []
    for component, length in members:
        placed.append(BlockMember(component, placed[-1].end if placed else 0, length))
    return BlockType(name, tuple(placed), alignment)


FORMATS: Mapping[str, BlockFormat] = MappingProxyType(
    {
        "int4": BlockFormat(
            32,
            block_of("BlockInt4", 1, (S8, None), (U8, 16)),
            _code(1),
            _from_zero_point,
            {},
            (S8, U8, S16, U16, S32, U32),
        ),
        "q4_0": BlockFormat(32, block_of("BlockQ4_0", 2, (F16, None), (U8, 16)), _code(1), _scaled(0, 8), {0: 127}),
        "q4_1": BlockFormat(32, block_of("BlockQ4_1", 4, (F16, None), (F16, None), (U8, 16)), _code(2), with_minimum, {0: 63, 1: 1000}),
        "q5_0": BlockFormat(32, block_of("BlockQ5_0", 2, (F16, None), (U16, 2), (U8, 16)), _fifth_in_halves, _scaled(0, 16), {0: 63}),
        "q5_1": BlockFormat(
            32,
            block_of("BlockQ5_1", 8, (F16, None), (F16, None), (U32, None), (U8, 16)),
            _fifth_in_word,
            with_minimum,
            {0: 31, 1: 1000},
        ),
        "q8_0": BlockFormat(32, block_of("BlockQ8_0", 2, (F16, None), (S8, 32)), _byte, _scaled(0, 0), {0: 15}),
        "iq4_nl": BlockFormat(32, block_of("BlockIq4Nl", 2, (F16, None), (U8, 16)), _code(1), _looked_up, {0: 15}, table=True),
        "q2_k": BlockFormat(
            256,
            block_of("BlockQ2K", 4, (U8, 16), (U8, 64), (F16, None), (F16, None)),
            _two_bits,
            _of_two_bits,
            {2: 31, 3: 31},
        ),
        "q4_k": BlockFormat(
            256,
            block_of("BlockQ4K", 16, (F16, None), (F16, None), (U8, 12), (U8, 128)),
            _four_bits,
            _of_four_bits,
            {0: 2, 1: 2},
        ),
    }
)
"""Formats by name. Sizes and alignments differ: 17 bytes and 1, 18 and 2, 20 and 4, 22 and 2, 24 and 8, 34 and 2, 84 and 4, 144 and 16."""


def planes(component: ComponentType, elements: int) -> BlockType:
    """Return a block of two arrays that each contain all elements."""
    block = block_of(f"BlockPlanes{elements}", component.bytes, (component, elements), (component, elements))
    assert block.bytes == 2 * elements * component.bytes, "there is no gap between the planes"
    return block


def set_scales(
    data: np.ndarray, block_format: BlockFormat, begins: list[int], blocks: int, component: ComponentType, rng: np.random.Generator
) -> None:
    """Write the scales of ``blocks`` adjacent blocks starting at each byte in ``begins``, for exact results of ``component``.

    Args:
        data: the data of the whole array, uint8.
    """
    for member, largest in block_format.scales.items():
        wide = component.precision >= _LARGEST_WIDE.bit_length() * 2
        low, high = (_LARGEST_WIDE // 2, _LARGEST_WIDE) if wide else (1, largest)
        whole = rng.integers(low, high, (len(begins), blocks), endpoint=True) * rng.choice(np.array([-1, 1]), (len(begins), blocks))
        scales = np.ldexp(whole.astype(np.float64), _QUANTUM - (4 if wide else 0)).astype(np.float16)
        size, at = block_format.type.bytes, block_format.type.members[member].offset
        for begin, row in zip(begins, scales, strict=True):
            places = begin + at + size * np.arange(blocks)
            data[places[:, None] + np.arange(2)] = np.ascontiguousarray(row).view(np.uint8).reshape(-1, 2)
