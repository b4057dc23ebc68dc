"""OpCooperativeMatrixMulAddKHR (SPV_KHR_cooperative_matrix, 3.42.13).

A device may compute floats in any order and precision (facts.md C1). This device multiplies and adds in binary64, where products of all
narrower types are exact, and rounds once to the result's type. For binary64 itself, it adds one product after the other.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cts.embedded.diagnostics import Violation, demanded
from cts.embedded.faults import replaceable
from cts.embedded.instructions.registry import executes
from cts.embedded.machine.machine import Machine, Run
from cts.embedded.module.translation import Translation, Words
from cts.embedded.types.spirv_types import MatrixType, Number
from cts.embedded.types.values import Value
from generators.spirv.enumerants import Op
from generators.types import MatrixOperands, Use

_SIGNED = (MatrixOperands.A_SIGNED, MatrixOperands.B_SIGNED, MatrixOperands.C_SIGNED, MatrixOperands.RESULT_SIGNED)
"""The sign flags of A, B, C and the result."""

_KNOWN = sum(MatrixOperands)
_EXACT_FLOAT_BITS = 53
_EXACT_INT_BITS = 62


def _check(a: MatrixType, b: MatrixType, c: MatrixType, result: MatrixType, flags: int) -> None:
    uses = (a.use, b.use, c.use, result.use)
    if uses != (Use.A, Use.B, Use.ACCUMULATOR, Use.ACCUMULATOR):
        found = ", ".join("none" if use is None else use.name for use in uses)
        raise Violation("KHR-MAD-01", f"A, B, C and the result have the uses {found}, not A, B, ACCUMULATOR, ACCUMULATOR")
    if not (a.rows == c.rows == result.rows and b.columns == c.columns == result.columns and a.columns == b.rows):
        raise Violation("KHR-MAD-01", f"the sizes of A x B + C do not fit: {a} x {b} + {c} to {result}")
    if len({a.scope, b.scope, c.scope, result.scope}) > 1:
        raise Violation("KHR-MAD-02", "operands of different scopes")
    if flags & ~_KNOWN:
        raise Violation("SPIR-V, Cooperative Matrix Operands", f"operands {flags:#x} have unknown bits")
    for matrix, flag in zip((a, b, c, result), _SIGNED, strict=True):
        if flags & flag and matrix.number.is_float:
            raise Violation("KHR-MAD-11", f"{flag.name} with a {matrix}")
    kinds = {m.number.is_float for m in (a, b, c, result)}
    if len(kinds) > 1:
        raise Violation("KHR-MAD-13", "a multiply-add of integer and floating-point matrices")


@executes(Op.CooperativeMatrixMulAddKHR)
def _muladd(translation: Translation, words: Words) -> Run:
    result = demanded(translation.types[words[0]], MatrixType, "KHR-MAD-01", "the result is not a cooperative matrix")
    ids = words[2:5]
    a, b, c = (translation.matrix_type(i, "KHR-MAD-01", f"operand {name}") for i, name in zip(ids, "ABC", strict=True))
    flags = words[5] if len(words) > 5 else 0
    _check(a, b, c, result, flags)
    machine, values = translation.machine, translation.values
    multiply = translation.performing(float_product)(result) if result.number.is_float else _integers(machine, a, b, c, result, flags)

    def run() -> Value:
        machine.active_instances(result.scope)
        return multiply(*(values[i] for i in ids))

    return run


_Multiply = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


@replaceable
def float_product(result: MatrixType) -> _Multiply:
    """Return the function that computes A x B + C in floats; any order and precision is allowed."""
    if result.number.bits == 64:
        return _sequential
    dtype = result.number.dtype

    def multiply(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        total: np.ndarray = np.matmul(a.astype(np.float64), b.astype(np.float64)) + c.astype(np.float64)
        return total.astype(dtype)

    return multiply


def _sequential(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    a, b = a.astype(np.float64), b.astype(np.float64)
    total = c.astype(np.float64)
    for k in range(a.shape[2]):
        total = total + a[:, :, k, None] * b[:, None, k, :]
    return total


def _extended(number: Number, signed: bool) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that reads elements as integers with the signedness flag, in a sufficient dtype (KHR-MAD-05)."""
    if signed:
        return lambda x: x.view(number.signed_dtype)
    return lambda x: x


def _integers(machine: Machine, a: MatrixType, b: MatrixType, c: MatrixType, result: MatrixType, flags: int) -> _Multiply:
    signs = [bool(flags & flag) for flag in _SIGNED]
    read_a, read_b, read_c = (_extended(m.number, s) for m, s in zip((a, b, c), signs, strict=False))
    product_bits = a.number.bits + b.number.bits + max(a.columns - 1, 1).bit_length()
    dtype = result.number.dtype
    if flags & MatrixOperands.SATURATING_ACCUMULATION:
        return _saturating(machine, (read_a, read_b, read_c), product_bits, result, signs[3])
    if product_bits <= _EXACT_FLOAT_BITS:
        # Every partial sum is an integer below 2^53, so binary64 is exact, and fast.
        def small(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
            product = np.matmul(read_a(x).astype(np.float64), read_b(y).astype(np.float64)).astype(np.int64)
            wrapped: np.ndarray = product.view(np.uint64) + modulo(read_c(z))
            return wrapped.astype(dtype)

        return small

    def wrapping(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        # Arithmetic modulo 2^64 gives the right low-order bits for every narrower width as well (KHR-MAD-06).
        product = np.matmul(modulo(read_a(x)), modulo(read_b(y)))
        wrapped: np.ndarray = product + modulo(read_c(z))
        return wrapped.astype(dtype)

    return wrapping


def modulo(x: np.ndarray) -> np.ndarray:
    """Return integers modulo 2^64."""
    return x.astype(np.int64).view(np.uint64) if x.dtype.kind == "i" else x.astype(np.uint64)


def _saturating(
    machine: Machine, read: tuple[Callable[[np.ndarray], np.ndarray], ...], product_bits: int, result: MatrixType, signed: bool
) -> _Multiply:
    bits = result.number.bits
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    narrow = np.int64 if product_bits <= _EXACT_INT_BITS and bits < 64 else object
    wide = np.dtype(np.float64 if product_bits <= _EXACT_FLOAT_BITS else narrow)
    dtype, through = result.number.dtype, result.number.signed_dtype if signed else result.number.dtype

    def multiply(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        a: np.ndarray = read[0](x).astype(wide)
        b: np.ndarray = read[1](y).astype(wide)
        # No order of the sum may leave the range. The worst order adds all products of one sign first.
        plus_a, plus_b = np.maximum(a, 0), np.maximum(b, 0)
        minus_a, minus_b = plus_a - a, plus_b - b
        above = np.matmul(plus_a, plus_b) + np.matmul(minus_a, minus_b)
        below = np.matmul(plus_a, minus_b) + np.matmul(minus_a, plus_b)
        active = machine.active_instances(result.scope)
        chosen = slice(None) if active is None else active
        if (above[chosen] > high).any() or (-below[chosen] < low).any():
            machine.forbid("KHR-MAD-10", f"A x B leaves the range of the {result} before C is added, with SaturatingAccumulation")
        exact = (above - below).astype(object if bits == 64 else np.int64)
        total = exact + read[2](z).astype(object if bits == 64 else np.int64)
        clamped: np.ndarray = np.minimum(np.maximum(total, low), high)
        return clamped.astype(through).view(dtype)

    return multiply
