"""Vector instructions on integers and bits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType

import numpy as np

from cts.devices.executed.arrays import Array
from cts.devices.executed.instructions.vector import Vector

_WIDE = np.uint64(32)


def _reversed_bits(a: Array) -> Array:
    bits = np.unpackbits(np.ascontiguousarray(a).view(np.uint8), bitorder="little").reshape(-1, 32)
    return np.packbits(bits[:, ::-1], axis=1, bitorder="little").view(np.uint32).reshape(a.shape)


def _highest_bit(a: Array) -> Array:
    """Return the number of the highest bit that is set, -1 for 0."""
    return np.frexp(a.astype(np.float64))[1].astype(np.int32) - 1


def _leading_zeros(a: Array) -> Array:
    return np.where(a == 0, -1, 31 - _highest_bit(a)).astype(np.int32)


def _trailing_zeros(a: Array) -> Array:
    return np.where(a == 0, -1, _highest_bit(a & (~a + np.uint32(1)))).astype(np.int32)


def _permuted(a: Array, b: Array, selects: Array) -> Array:
    """Return four bytes: 0-3 from b, 4-7 from a, 8-11 the sign of every second byte, 12 zero, from 13 on all ones."""
    both = b.astype(np.uint64) | a.astype(np.uint64) << _WIDE
    result = np.zeros(np.broadcast_shapes(a.shape, b.shape, selects.shape), np.uint32)
    for place in range(4):
        select = (selects >> 8 * place & 0xFF).astype(np.uint64)
        byte = both >> 8 * np.minimum(select, 7) & 0xFF
        sign = np.where(both >> 16 * (select & 3) + 15 & 1, 0xFF, 0)
        chosen = np.where(select < 8, byte, np.where(select < 12, sign, np.where(select == 12, 0, 0xFF)))
        result |= (chosen.astype(np.uint32) << 8 * place).astype(np.uint32)
    return result


def _extracted_signed(a: Array, offset: Array, width: Array) -> Array:
    bits = width & 31
    shifted = (a >> (offset & 31)).astype(np.int64)
    sign = np.int64(1) << np.maximum(bits, 1).astype(np.int64) - 1
    field = shifted & (np.int64(1) << bits.astype(np.int64)) - 1
    return np.where(bits == 0, 0, (field ^ sign) - sign).astype(np.int32)


def _aligned(a: Array, b: Array, shift: Array) -> Array:
    return ((a.astype(np.uint64) << _WIDE | b) >> shift.astype(np.uint64)).astype(np.uint32)


def _sum_and_carry(a: Array, b: Array, carry: Array | int = 0) -> tuple[Array, Array]:
    total = a.astype(np.uint64) + b + np.asarray(carry, np.uint64)
    return total.astype(np.uint32), total > 0xFFFFFFFF


def _difference_and_borrow(a: Array, b: Array, borrow: Array | int = 0) -> tuple[Array, Array]:
    total = a.astype(np.int64) - b - np.asarray(borrow, np.int64)
    return total.astype(np.uint32), total < 0


@cache
def _below(first: int, lanes: int) -> Array:
    """Return for each lane the bits of a mask that are below it; the mask's lowest bit is of lane ``first``."""
    number = np.clip(np.arange(lanes, dtype=np.int64) - first, 0, 32)
    return ((np.int64(1) << number) - 1).astype(np.uint32)


def _counted(first: int) -> Vector:
    """Return the count of a mask's bits below each lane, added to a number; the mask's lowest bit is of lane ``first``."""
    return Vector("u32 <- u32 u32", lambda wave, mask, base: base + np.bitwise_count(mask & _below(first, wave.lanes)), modal=True)


def _with(name: str, kinds: str, operands: str, function: Callable[..., Array]) -> dict[str, Vector]:
    """Return the same instruction for several kinds, which are ``*`` in the operands; its name ends in each."""
    return {f"{name}_{kind}": Vector(f"{kind} <- {operands.replace('*', kind)}", function) for kind in kinds.split()}


INTEGERS: Mapping[str, Vector] = MappingProxyType(
    {
        **_with("v_mov", "b32 b16", "*", lambda a: a),
        **_with("v_not", "b32 b16", "*", lambda a: ~a),
        **_with("v_and", "b32 b16", "* *", lambda a, b: a & b),
        **_with("v_or", "b32 b16", "* *", lambda a, b: a | b),
        **_with("v_xor", "b32 b16", "* *", lambda a, b: a ^ b),
        "v_xnor_b32": Vector("b32 <- b32 b32", lambda a, b: ~(a ^ b)),
        **_with("v_or3", "b32", "* * *", lambda a, b, c: a | b | c),
        **_with("v_xor3", "b32", "* * *", lambda a, b, c: a ^ b ^ c),
        "v_and_or_b32": Vector("b32 <- b32 b32 b32", lambda a, b, c: a & b | c),
        **_with("v_add_nc", "u32 i32 u16 i16", "* *", lambda a, b: a + b),
        **_with("v_sub_nc", "u32 i32 u16 i16", "* *", lambda a, b: a - b),
        **_with("v_subrev_nc", "u32", "* *", lambda a, b: b - a),
        "v_add3_u32": Vector("u32 <- u32 u32 u32", lambda a, b, c: a + b + c),
        "v_xad_u32": Vector("u32 <- u32 u32 u32", lambda a, b, c: (a ^ b) + c),
        "v_lshl_add_u32": Vector("u32 <- u32 u32 u32", lambda a, b, c: (a << (b & 31)) + c),
        "v_add_lshl_u32": Vector("u32 <- u32 u32 u32", lambda a, b, c: (a + b) << (c & 31)),
        "v_lshl_or_b32": Vector("b32 <- b32 b32 b32", lambda a, b, c: a << (b & 31) | c),
        "v_add_co_u32": Vector("u32 mask <- u32 u32", _sum_and_carry),
        "v_sub_co_u32": Vector("u32 mask <- u32 u32", _difference_and_borrow),
        "v_subrev_co_u32": Vector("u32 mask <- u32 u32", lambda a, b: _difference_and_borrow(b, a)),
        "v_add_co_ci_u32": Vector("u32 mask <- u32 u32 mask", _sum_and_carry),
        "v_sub_co_ci_u32": Vector("u32 mask <- u32 u32 mask", _difference_and_borrow),
        "v_subrev_co_ci_u32": Vector("u32 mask <- u32 u32 mask", lambda a, b, c: _difference_and_borrow(b, a, c)),
        "v_mul_lo_u32": Vector("u32 <- u32 u32", lambda a, b: a * b),
        "v_mul_lo_u16": Vector("u16 <- u16 u16", lambda a, b: a * b),
        "v_mul_hi_u32": Vector("u32 <- u32 u32", lambda a, b: (a.astype(np.uint64) * b >> _WIDE).astype(np.uint32)),
        "v_mul_hi_i32": Vector("i32 <- i32 i32", lambda a, b: (a.astype(np.int64) * b >> 32).astype(np.int32)),
        "v_mul_u32_u24": Vector("u32 <- u32 u32", lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF)),
        "v_mul_i32_i24": Vector("i32 <- i32 i32", lambda a, b: (a << 8 >> 8) * (b << 8 >> 8)),
        "v_mad_u32_u24": Vector("u32 <- u32 u32 u32", lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF) + c),
        "v_mad_i32_i24": Vector("i32 <- i32 i32 i32", lambda a, b, c: (a << 8 >> 8) * (b << 8 >> 8) + c),
        "v_mad_u16": Vector("u16 <- u16 u16 u16", lambda a, b, c: a * b + c),
        "v_mad_i16": Vector("i16 <- i16 i16 i16", lambda a, b, c: a * b + c),
        "v_mad_u32_u16": Vector("u32 <- u16 u16 u32", lambda a, b, c: a.astype(np.uint32) * b + c),
        "v_mad_i32_i16": Vector("i32 <- i16 i16 i32", lambda a, b, c: a.astype(np.int32) * b + c),
        **_with("v_min", "u32 i32 u16 i16", "* *", np.minimum),
        **_with("v_max", "u32 i32 u16 i16", "* *", np.maximum),
        **_with("v_min3", "u32 i32 u16 i16", "* * *", lambda a, b, c: np.minimum(np.minimum(a, b), c)),
        **_with("v_max3", "u32 i32 u16 i16", "* * *", lambda a, b, c: np.maximum(np.maximum(a, b), c)),
        **_with("v_med3", "u32 i32 u16 i16", "* * *", lambda a, b, c: np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c))),
        **_with("v_maxmin", "u32 i32", "* * *", lambda a, b, c: np.minimum(np.maximum(a, b), c)),
        **_with("v_minmax", "u32 i32", "* * *", lambda a, b, c: np.maximum(np.minimum(a, b), c)),
        **_with("v_lshlrev", "b32 b16", "* *", lambda a, b: b << (a & b.itemsize * 8 - 1)),
        **_with("v_lshrrev", "b32 b16", "* *", lambda a, b: b >> (a & b.itemsize * 8 - 1)),
        **_with("v_ashrrev", "i32 i16", "* *", lambda a, b: b >> (a & b.itemsize * 8 - 1)),
        **_with("v_lshlrev", "b64", "b32 *", lambda a, b: b << (a & 63)),
        **_with("v_lshrrev", "b64", "b32 *", lambda a, b: b >> (a & 63)),
        **_with("v_ashrrev", "i64", "i32 *", lambda a, b: b >> (a & 63)),
        "v_bfe_u32": Vector("u32 <- u32 u32 u32", lambda a, b, c: a >> (b & 31) & (np.uint32(1) << (c & 31)) - np.uint32(1)),
        "v_bfe_i32": Vector("i32 <- i32 u32 u32", _extracted_signed),
        "v_bfi_b32": Vector("b32 <- b32 b32 b32", lambda a, b, c: a & b | ~a & c),
        "v_bfm_b32": Vector("b32 <- b32 b32", lambda a, b: ((np.uint32(1) << (a & 31)) - np.uint32(1)) << (b & 31)),
        "v_alignbit_b32": Vector("b32 <- b32 b32 b32", lambda a, b, c: _aligned(a, b, c & 31)),
        "v_alignbyte_b32": Vector("b32 <- b32 b32 b32", lambda a, b, c: _aligned(a, b, 8 * (c & 3))),
        "v_perm_b32": Vector("b32 <- b32 b32 b32", _permuted),
        "v_bfrev_b32": Vector("b32 <- b32", _reversed_bits),
        "v_clz_i32_u32": Vector("i32 <- u32", _leading_zeros),
        "v_ctz_i32_b32": Vector("i32 <- b32", _trailing_zeros),
        "v_bcnt_u32_b32": Vector("u32 <- b32 u32", lambda a, b: np.bitwise_count(a) + b),
        "v_mbcnt_lo_u32_b32": _counted(0),
        "v_mbcnt_hi_u32_b32": _counted(32),
        "v_cndmask_b32": Vector("b32 <- b32 b32 mask", lambda a, b, mask: np.where(mask, b, a)),
        "v_cndmask_b16": Vector("b16 <- b16 b16 mask", lambda a, b, mask: np.where(mask, b, a)),
        "v_cvt_i32_i16": Vector("i32 <- i16", lambda a: a.astype(np.int32)),
        "v_cvt_u32_u16": Vector("u32 <- u16", lambda a: a.astype(np.uint32)),
        "v_pack_b32_f16": Vector("b32 <- b16 b16", lambda a, b: a.astype(np.uint32) | b.astype(np.uint32) << np.uint32(16)),
        "v_sad_u32": Vector("u32 <- u32 u32 u32", lambda a, b, c: np.where(a > b, a - b, b - a) + c),
    }
)
