"""Operands of matrix-vector multiplies: inputs that are converted, matrices and biases.

Sums of floats equal the sums of a matrix multiply-add with each input as a column of B (generators.inputs.products), so the same data are
exact in any order. An input that its interpretation changes has special numbers: numbers that saturate, and ties.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from generators.inputs import integers, products
from generators.inputs.products import Chain
from generators.inputs.whole_numbers import any_signs, few, up_to
from generators.numerics.formats import largest_finite
from generators.property_rows import PropertyRow
from generators.types import ComponentType
from generators.vector_rows import VectorTypes

FloatPattern = Literal["kept_width", "full_width", "identity_a", "identity_b", "permutation", "rounded", "general"]
IntegerPattern = Literal["random", "edges", "selecting"]
NetworkPattern = Literal["network"]

_KEPT = 4
"""Number of nonzero elements in a row of a network's float matrix: four layers stay below 2**11."""


@dataclass(frozen=True)
class VectorOperands:
    """The operands of multiplies.

    Attributes:
        inputs: (invocations, components), of the input's dtype.
        matrices: (count, M, K), of the matrix's dtype.
        biases: (count, M), of the bias's dtype.
    """

    inputs: np.ndarray
    matrices: np.ndarray
    biases: np.ndarray


@dataclass(frozen=True)
class Multiplies:
    """Multiplies of ``invocations`` inputs by any of ``count`` matrices, M x K."""

    types: VectorTypes
    rows: int
    columns: int
    count: int
    invocations: int

    @property
    def chain(self) -> Chain:
        """The multiply-adds with the same sums."""
        types = self.types
        factor = types.interpretation.component
        if types.input.is_float and factor.is_float and types.input.precision < factor.precision:
            factor = types.input
        components = (types.matrix.component, factor, types.bias.component, types.result)
        return Chain(PropertyRow(self.rows, self.invocations, self.columns, *components, False), self.count, 1)


def _taken(drawn: products.Operands) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the inputs (invocations, K), matrices and biases from the operands of a chain."""
    return drawn.b[0, 0].T, drawn.a[:, 0], drawn.c[:, :, 0]


def floats(pattern: FloatPattern, multiplies: Multiplies, rng: np.random.Generator) -> VectorOperands:
    """Draw operands of a row of floats."""
    types, chain = multiplies.types, multiplies.chain
    match pattern:
        case "kept_width":
            drawn = products.exact(chain, rng)
        case "full_width":
            drawn = products.exact(chain, rng, full=True)
        case "general":
            drawn = products.general(chain, rng)
        case "rounded":
            return _rounded(multiplies, rng)
        case _:
            drawn = products.identity(chain, rng, pattern.removeprefix("identity_"), full=True)
    inputs, matrices, biases = _taken(drawn)
    if pattern == "identity_b":
        matrices = _with_largest(types.matrix.component, matrices, rng)
    elif pattern in ("identity_a", "permutation"):
        inputs = _with_largest(types.interpretation.component, inputs, rng)
    numbers = inputs.astype(np.float64)
    if not types.input.is_float and not types.input.is_signed:
        numbers = np.abs(numbers)
    return VectorOperands(numbers.astype(types.input.dtype), matrices, biases)


def _with_largest(component: ComponentType, numbers: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return numbers, a quarter of which are in the highest binade of e4m3 instead: numbers from 256 to 448, of both signs."""
    if component.name != "e4m3":
        return numbers
    large = any_signs(32 * rng.integers(8, 15, numbers.shape), rng)
    return np.where(rng.random(numbers.shape) < 0.25, large, numbers.astype(np.float64)).astype(numbers.dtype)


def _rounded(multiplies: Multiplies, rng: np.random.Generator) -> VectorOperands:
    """Draw inputs of which the interpretation rounds only a few terms: sums of rounded inputs are exact, and so are sums of unrounded
    inputs. No float is halfway between two numbers, since either would be equally accurate (F-CV-17)."""
    types, rows, columns = multiplies.types, multiplies.rows, multiplies.columns
    shape = multiplies.invocations, columns
    if types.input.is_float:
        # 6 bits, while 8-bit floats have 4 or 3; odd numbers are never halfway.
        kept, numbers = min(4, columns), any_signs(rng.integers(32, 64, shape) | 1, rng)
    else:
        precision = types.interpretation.component.precision
        kept, numbers = 1, rng.integers(1 << precision, 2 << precision, shape) | 1
        if types.input.is_signed:
            numbers = any_signs(numbers, rng)
    mask = few(kept, (multiplies.count, rows, columns), rng)
    matrices = up_to(1, mask.shape, rng) * mask
    biases = np.zeros((multiplies.count, rows))
    return VectorOperands(
        numbers.astype(types.input.dtype),
        matrices.astype(np.float64).astype(types.matrix.component.dtype),
        biases.astype(types.bias.component.dtype),
    )


def whole(pattern: IntegerPattern, multiplies: Multiplies, rng: np.random.Generator) -> VectorOperands:
    """Draw operands of a row of integers: random bits, ends of the types, or matrices that select elements of the input."""
    types, chain = multiplies.types, multiplies.chain
    draw = {"random": integers.wrapping, "edges": integers.edges, "selecting": integers.selecting}[pattern]
    inputs, matrices, biases = _taken(draw(chain, rng))
    if pattern == "edges":
        # The largest sum of magnitudes needs more than 24 bits in a long vector.
        inputs, matrices = inputs.copy(), matrices.copy()
        inputs[0], matrices[:, 0] = _largest(types.interpretation.component), _largest(types.matrix.component)
    if types.packed:
        return VectorOperands(packed(types, inputs, rng), matrices, biases)
    if types.input is not types.interpretation.component:
        inputs = converted(types.input, types.interpretation.component, pattern == "edges", inputs.shape, rng)
    return VectorOperands(inputs, matrices, biases)


def _largest(component: ComponentType) -> int:
    """Return the integer of the largest magnitude."""
    low, high = component.limits
    return low or high


def packed(types: VectorTypes, elements: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return components that hold elements, (invocations, K), the first in the lowest bits (CV-MM-08); random bits follow."""
    element = types.interpretation.component
    invocations, columns = elements.shape
    size = types.components(columns) * types.input.bytes
    contents = rng.integers(0, 256, (invocations, size), np.uint8)
    data = np.ascontiguousarray(elements.astype(element.dtype)).view(np.uint8)
    contents[:, : data.shape[1]] = data
    return contents.view(types.input.dtype)


def converted(source: ComponentType, target: ComponentType, ends: bool, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Draw numbers of ``source`` that become integers of ``target``: in and beyond their range, and halves and quarters for floats.

    Args:
        ends: whether all numbers are near the limits of ``target``, or span the range of ``source``.
    """
    low, high = target.limits
    if source.is_float:
        # f16 has quarters up to 512.
        near = [low - 0.75, low - 0.5, low - 0.25, low + 0.5, high - 0.5, high + 0.25, high + 0.5, high + 1]
        inside = [0.5, 1.5, 2.5, 3.5, 0.25, 0.75, -0.75, -1.5, -2.5, -3.5]
        far = [-60000.0, 60000.0, -300.0, 511.75] if source.bits == 16 else [-(2.0**31), 2.0**31, 2.0**32 + 2.0**10, -300.0, 1e30]
        few_ends = np.array(near + inside + far)
        spread = rng.integers(4 * low - 200, 4 * high + 200, shape) / 4
        halves = rng.integers(2 * low - 20, 2 * high + 20, shape) / 2
        if source.bits == 32:
            # Near a tie: f16 and bf16 have only the tie.
            close = rng.integers(2 * low, 2 * high, shape) // 2 + 0.5 + rng.choice((-1, 1), shape) * 2.0**-13
            halves = np.where(rng.random(shape) < 0.5, close, halves)
        numbers = rng.choice(few_ends, shape) if ends else np.where(rng.random(shape) < 0.5, halves, spread)
        numbers = np.clip(numbers, -largest_finite(source), largest_finite(source))
        # This keeps minus zero out.
        return np.asarray((numbers + 0.0).astype(source.dtype))
    least, most = source.limits
    if ends:
        candidates = [low - 1, low, low + 1, high - 1, high, high + 1, 2 * high + 2, 3 * high, -1, 1, least, least + 1, most - 1, most]
        allowed = np.array([one for one in candidates if least <= one <= most], object)
        return np.asarray(rng.choice(allowed, shape).astype(source.dtype))
    return rng.integers(max(least, low - 100), min(most, high + 100), shape, endpoint=True).astype(source.dtype)


def network(multiplies: Multiplies, rng: np.random.Generator) -> VectorOperands:
    """Draw operands of one layer of a network. Floats are small whole numbers, for which the results of several layers are exact.

    The inputs belong to the first layer; each further layer takes the results of the layer before.
    """
    types, shape = multiplies.types, (multiplies.count, multiplies.rows, multiplies.columns)
    signed = types.is_float or types.matrix.component.is_signed
    if types.is_float:
        matrices = up_to(1, shape, rng) * few(min(_KEPT, multiplies.columns), shape, rng)
        biases = up_to(3, shape[:2], rng)
        least = -clamp(types) if types.input.is_float else 0
        inputs = rng.integers(least, clamp(types), (multiplies.invocations, multiplies.columns), endpoint=True)
    else:
        matrices = up_to(3, shape, rng, signed)
        biases = _biases(types, shape[:2], rng)
        drawn = whole("random", multiplies, rng)
        inputs = drawn.inputs
    return VectorOperands(
        inputs.astype(types.input.dtype),
        matrices.astype(np.float64).astype(types.matrix.component.dtype),
        biases.astype(types.bias.component.dtype),
    )


def clamp(types: VectorTypes) -> int:
    """Return the largest magnitude that a clamping activation lets pass: 8-bit types can represent all whole numbers up to it."""
    return 7 if types.is_float else 100


def _biases(types: VectorTypes, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Draw integers as Python integers. A quarter of them makes sums wrap, and the first sum of an unsigned type has its highest bit set.
    If results become floats, all are small, because a float has to hold the sums."""
    low, high = types.bias.component.limits
    small = rng.integers(max(low, -20), 20, shape).astype(object)
    if types.input.is_float:
        return small
    rest = rng.integers(0, 8, shape).astype(object)
    lower = rng.integers(0, 2, shape).astype(bool)
    if types.bias.component.is_signed:
        return np.where(rng.random(shape) < 0.25, np.where(lower, low + rest, high - rest), small)
    biases = np.where(rng.random(shape) < 0.25, high - rest, small)
    biases[:, 0] = high // 2 + 1 + rest[:, 0]
    return biases
