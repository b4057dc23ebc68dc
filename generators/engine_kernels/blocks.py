"""Define formats of quantised weights for whole kernels: a block with a scale and packed numbers, and the function that decodes one number.

Blocks have any number of elements, unlike the published formats of block_formats.py, and tiles begin and end anywhere in a block.
Elements are so small that sums over all of K are exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np

from generators.engine_kernels.parts import constant_of
from generators.inputs.whole_numbers import any_signs
from generators.layouts.block_formats import F16, S8, S32, U8, U32, bits_at, block_of, word
from generators.program.expressions import Binary, BlockRead, Choose, Converted, Expression, Part, element_function
from generators.program.functions import Function
from generators.program.values import ArrayType, BlockType, Value
from generators.types import ComponentType


@dataclass(frozen=True)
class Format:
    """How a block of ``count`` numbers is stored.

    Attributes:
        nibbles: how four-bit numbers share a byte: ``halves`` puts a number of the block's first half in the low bits and one of its second
            half in the high bits; ``pairs`` puts neighbours together; None for numbers of a byte each.
        minimum: whether a second f16 is added to each number; without it the numbers are centred at 0.
        scaled: whether there is a scale.
    """

    nibbles: Literal["halves", "pairs"] | None
    minimum: bool = False
    scaled: bool = True

    def block(self, count: int) -> BlockType:
        """Return the struct of a block."""
        numbers: list[tuple[ComponentType, int | None]] = [(F16, None)] * (self.scaled + self.minimum)
        return block_of("Block", 2 if numbers else 1, *numbers, (U8, count // 2) if self.nibbles else (S8, count))

    def decode(self, count: int, target: ComponentType) -> Function:
        """Return the function that decodes an element of type ``target`` from the block and the element's index in it."""
        block = self.block(count)
        pointer = Value("block", block)
        of_block, within = Value("block_place", ArrayType(U32, 2)), Value("place", ArrayType(U32, 2))
        place: Expression = Part(within, 1)
        last = len(block.members) - 1
        result: Expression
        index: Expression
        shift: Expression
        if self.nibbles is None:
            result = Converted(S32, BlockRead(pointer, last, place))
        else:
            half = word(count // 2)
            if self.nibbles == "halves":
                index = Choose(Binary("less", place, half), place, Binary("subtract", place, half))
                shift = Choose(Binary("less", place, half), word(0), word(4))
            else:
                index = Binary("shift_right", place, word(1))
                shift = Binary("multiply", Binary("and", place, word(1)), word(4))
            result = Converted(S32, bits_at(BlockRead(pointer, last, index), shift, 4))
            if not self.minimum:
                result = Binary("subtract", result, constant_of(8, S32))
        result = Converted(target, result)
        if self.scaled:
            result = Binary("multiply", result, BlockRead(pointer, 0))
        if self.minimum:
            result = Binary("add", result, BlockRead(pointer, 1))
        return element_function("decode", (pointer, of_block, within), result)

    @property
    def largest(self) -> int:
        """Upper bound of an element's magnitude, in halves."""
        return 2 * ((2 * 15 + 4) if self.minimum else 2 * 8 if self.nibbles else 2 * 31)

    def draw(self, blocks: int, count: int, rng: np.random.Generator) -> np.ndarray:
        """Draw blocks of random numbers, uint8 of shape (blocks, bytes). Scales are one half, one or two, of either sign."""
        type_ = self.block(count)
        data = np.zeros((blocks, type_.bytes), np.uint8)
        if self.scaled:
            scales = any_signs(np.exp2(rng.integers(-1, 1, blocks, endpoint=True)), rng)
            data[:, :2] = scales.astype(np.float16).view(np.uint8).reshape(blocks, 2)
        if self.minimum:
            data[:, 2:4] = rng.integers(-4, 4, blocks, endpoint=True).astype(np.float16).view(np.uint8).reshape(blocks, 2)
        last = type_.members[-1]
        if self.nibbles:
            data[:, last.offset : last.end] = rng.integers(0, 256, (blocks, count // 2))
        else:
            limit = 31 if self.scaled else 127
            data[:, last.offset : last.end] = rng.integers(-limit, limit, (blocks, count), np.int8, endpoint=True).view(np.uint8)
        return data


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "halves": Format("halves"),
        "pairs": Format("pairs"),
        "minimum": Format("halves", minimum=True),
        "bytes": Format(None),
        "whole": Format("pairs", scaled=False),
    }
)
