"""Vector instructions on floats, and conversions."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from cts.devices.executed.arithmetic import F16, F32, ZERO, Format, added, fused, larger, middle, modal, odd, rounded, smaller, to_integer
from cts.devices.executed.arrays import Array
from cts.devices.executed.instructions.vector import Vector
from cts.devices.executed.operands import KINDS
from cts.devices.executed.wave import Wave

_FORMATS: Mapping[str, Format] = MappingProxyType({"f16": F16, "f32": F32})

Operation = Callable[..., Array]


def _float(names: str, kinds: str, operands: str, exact: Operation, native: Operation | None = None) -> dict[str, Vector]:
    """Return instructions that round once.

    Args:
        names: the mnemonics, each without the kind at its end.
        operands: with ``*`` for the kind.
        exact, native: see ``modal``.
    """
    return {
        f"{name}_{kind}": Vector(f"{kind} <- {operands.replace('*', kind)}", modal(_FORMATS[kind], exact, native), modal=True)
        for name in names.split()
        for kind in kinds.split()
    }


def _chosen(names: str, kinds: str, operands: int, function: Operation) -> dict[str, Vector]:
    """Return instructions whose result is one of their operands, or needs no rounding."""
    return _float(names, kinds, " ".join("*" * operands), function, function)


def _through_double(function: Operation) -> tuple[Operation, Operation]:
    """Return a function of one operand for ``modal``: computed in float64, then rounded."""

    def native(operand: Array) -> Array:
        result: Array = function(operand.astype(np.float64)).astype(operand.dtype)
        return result

    return function, native


def _square_root(a: Array) -> Array:
    root = np.sqrt(a)
    high, low = _split(root)
    error = np.where(np.isfinite(root), ((a - high * high) - 2 * high * low) - low * low, 0.0)
    return odd(root, error)


def _split(a: Array) -> tuple[Array, Array]:
    high = (a.view(np.uint64) & np.uint64(0xFFFFFFFFF8000000)).view(np.float64)
    return high, np.where(np.isfinite(a), a - high, 0.0)


def _reciprocal(a: Array) -> Array:
    quotient = 1.0 / a
    high, low = _split(quotient)
    rest = (1.0 - high * a) - low * a
    error = np.where(np.isfinite(quotient) & (a != 0) & np.isfinite(a), np.where(a < 0, -rest, rest), 0.0)
    return odd(quotient, error)


def _fraction(a: Array) -> Array:
    # Below 1: at most the number before it.
    found: Array = np.minimum(a - np.floor(a), np.nextafter(a.dtype.type(1), a.dtype.type(0)))
    return found


def _scaled(a: Array, exponent: Array) -> Array:
    return odd(np.ldexp(a.astype(np.float64), exponent.astype(np.int32)), np.zeros(1))


def _rounded(result: str, operand: str) -> Vector:
    """Return the conversion of an integer to a format, rounded by its mode."""
    form = _FORMATS[result]
    return Vector(f"{result} <- {operand}", lambda wave, a: rounded(a.astype(np.float64), form.dtype, form.rounding(wave)), modal=True)


def _integer(result: str, operand: str) -> Vector:
    return Vector(f"{result} <- {operand}", lambda a: to_integer(a, KINDS[result].dtype))


def _byte(number: int) -> Vector:
    return Vector("f32 <- u32", lambda a: (a >> 8 * number & 0xFF).astype(np.float32))


def _packed(low: Array, high: Array) -> Array:
    return low.view(np.uint16).astype(np.uint32) | high.view(np.uint16).astype(np.uint32) << np.uint32(16)


def _packed_towards_zero(wave: Wave, low: Array, high: Array) -> Array:
    if not F32.denormals(wave) & 1:
        low, high = F32.flushed(low), F32.flushed(high)
    return _packed(*(rounded(half.astype(np.float64), F16.dtype, ZERO) for half in (low, high)))


def _negated(function: Operation) -> Operation:
    return lambda a, b: ~function(a, b)


_COMPARISONS = {"lt": operator.lt, "eq": operator.eq, "le": operator.le, "gt": operator.gt, "ge": operator.ge}
_ORDERED = {**_COMPARISONS, "lg": lambda a, b: (a < b) | (a > b), "o": lambda a, b: ~(np.isnan(a) | np.isnan(b))}
_NEGATED = {"u": "o", "neq": "eq", **{f"n{name}": name for name in ("ge", "lg", "gt", "le", "lt")}}
_OF_FLOATS = {**_ORDERED, **{name: _negated(_ORDERED[of]) for name, of in _NEGATED.items()}}
_OF_INTEGERS = {**_COMPARISONS, "ne": operator.ne}


def _comparison(form: Format, function: Operation) -> Operation:
    def compare(wave: Wave, a: Array, b: Array) -> Array:
        if not form.denormals(wave) & 1:
            a, b = form.flushed(a), form.flushed(b)
        return function(a, b)

    return compare


def _in_class(form: Format) -> Operation:
    """Return whether a float is in one of the classes of a mask: NaN (signaling, quiet), then from -infinity to infinity."""
    quiet = form.unsigned.type(int(form.largest_denormal) + 1 >> 1)

    def member(a: Array, mask: Array) -> Array:
        bits = a.view(form.unsigned)
        negative = bits > form.magnitudes
        magnitude = bits & form.magnitudes
        size = np.select([magnitude == 0, magnitude <= form.largest_denormal, np.isfinite(a)], [0, 1, 2], 3)
        place = np.where(np.isnan(a), np.where(bits & quiet, 1, 0), np.where(negative, 5 - size, 6 + size))
        found: Array = (mask.astype(np.uint32) >> place.astype(np.uint32) & 1).astype(bool)
        return found

    return member


def _compares(prefix: str, result: str) -> dict[str, Vector]:
    ints = {
        f"{prefix}_{name}_{kind}": Vector(f"{result} <- {kind} {kind}", function)
        for kind in ("i16", "u16", "i32", "u32", "i64", "u64")
        for name, function in _OF_INTEGERS.items()
    }
    floats = {
        f"{prefix}_{name}_{kind}": Vector(f"{result} <- {kind} {kind}", _comparison(_FORMATS[kind], function), modal=True)
        for kind in _FORMATS
        for name, function in _OF_FLOATS.items()
    }
    masks = {"f16": "u16", "f32": "u32"}
    classes = {f"{prefix}_class_{kind}": Vector(f"{result} <- {kind} {masks[kind]}", _in_class(form)) for kind, form in _FORMATS.items()}
    return {**ints, **floats, **classes}


COMPARISONS: Mapping[str, Vector] = MappingProxyType({**_compares("v_cmp", "mask"), **_compares("v_cmpx", "exec")})

FLOATS: Mapping[str, Vector] = MappingProxyType(
    {
        **_float("v_add", "f16 f32", "* *", added, np.add),
        **_float("v_sub", "f16 f32", "* *", lambda a, b: added(a, -b), np.subtract),
        **_float("v_subrev", "f16 f32", "* *", lambda a, b: added(b, -a), lambda a, b: b - a),
        **_float("v_mul", "f16 f32", "* *", np.multiply, np.multiply),
        **_float("v_fma", "f16 f32", "* * *", fused),
        **_float("v_fmac", "f16 f32", "* * dst:*", fused),
        **_float("v_fmamk", "f16 f32", "* literal:* *", fused),
        **_float("v_fmaak", "f16 f32", "* * literal:*", fused),
        **_chosen("v_min v_min_num", "f16 f32", 2, smaller),
        **_chosen("v_max v_max_num", "f16 f32", 2, larger),
        **_chosen("v_min3 v_min3_num", "f16 f32", 3, lambda a, b, c: smaller(smaller(a, b), c)),
        **_chosen("v_max3 v_max3_num", "f16 f32", 3, lambda a, b, c: larger(larger(a, b), c)),
        **_chosen("v_med3 v_med3_num", "f16 f32", 3, middle),
        **_chosen("v_minmax v_minmax_num", "f16 f32", 3, lambda a, b, c: larger(smaller(a, b), c)),
        **_chosen("v_maxmin v_maxmin_num", "f16 f32", 3, lambda a, b, c: smaller(larger(a, b), c)),
        **_chosen("v_floor", "f16 f32", 1, np.floor),
        **_chosen("v_ceil", "f16 f32", 1, np.ceil),
        **_chosen("v_trunc", "f16 f32", 1, np.trunc),
        **_chosen("v_rndne", "f16 f32", 1, np.rint),
        **_chosen("v_fract", "f16 f32", 1, _fraction),
        **_float("v_rcp", "f16 f32", "*", *_through_double(_reciprocal)),
        **_float("v_rcp_iflag", "f32", "*", *_through_double(_reciprocal)),
        **_float("v_sqrt", "f16 f32", "*", *_through_double(_square_root)),
        **_float("v_rsq", "f16 f32", "*", *_through_double(lambda a: 1.0 / np.sqrt(a))),
        **_float("v_exp", "f16 f32", "*", *_through_double(np.exp2)),
        **_float("v_log", "f16 f32", "*", *_through_double(np.log2)),
        **_float("v_sin", "f16 f32", "*", *_through_double(lambda a: np.sin(2 * np.pi * (a - np.floor(a))))),
        **_float("v_cos", "f16 f32", "*", *_through_double(lambda a: np.cos(2 * np.pi * (a - np.floor(a))))),
        "v_ldexp_f32": Vector("f32 <- f32 i32", modal(F32, _scaled), modal=True),
        "v_ldexp_f16": Vector("f16 <- f16 i16", modal(F16, _scaled), modal=True),
        **{f"v_cvt_{result}_{of}": _rounded(result, of) for result, of in (("f16", "i16"), ("f16", "u16"), ("f32", "i32"), ("f32", "u32"))},
        **{f"v_cvt_{result}_{of}": _integer(result, of) for of, result in (("f16", "i16"), ("f16", "u16"), ("f32", "i32"), ("f32", "u32"))},
        "v_cvt_f16_f32": Vector("f16 <- f32", modal(F16, lambda a: a, lambda a: a.astype(np.float16), F32), modal=True),
        "v_cvt_f32_f16": Vector("f32 <- f16", modal(F32, lambda a: a, lambda a: a.astype(np.float32), F16), modal=True),
        **{f"v_cvt_f32_ubyte{number}": _byte(number) for number in range(4)},
        "v_cvt_pk_rtz_f16_f32": Vector("b32 <- f32 f32", _packed_towards_zero, modal=True),
    }
)
