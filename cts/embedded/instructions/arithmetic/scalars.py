"""Arithmetic, comparisons and logic."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import reduce
from types import MappingProxyType

import numpy as np

from cts.embedded.diagnostics import Violation, need
from cts.embedded.instructions.arithmetic.elementwise import Function, apply, forbid_where, on_values
from cts.embedded.instructions.registry import computes
from cts.embedded.machine.machine import Machine, Run
from cts.embedded.module.float_controls import corrected
from cts.embedded.module.translation import Handler, Translation, Words
from cts.embedded.types.shapes import is_columns
from cts.embedded.types.spirv_types import Array, Bool, MatrixType, Number, TensorLayoutType, TensorViewType, Type, Vector
from cts.embedded.types.values import Value, blend, expand, to_signed, varies
from generators.spirv.enumerants import Op

Make = Callable[[Machine, Number], Function]


def _signed(type_: Number) -> Callable[[Value], Value]:
    bits, dtype = type_.bits, type_.signed_dtype
    return lambda x: to_signed(x, bits, dtype)


def _back(type_: Number) -> Callable[[Value], Value]:
    """Return a function that converts a signed result to its bits."""
    mask, dtype = type_.mask, type_.dtype
    return lambda x: x.view(dtype) if isinstance(x, np.ndarray) else x & mask


def _wrapping(function: Callable[[Value, Value], Value]) -> Make:
    def make(_: Machine, type_: Number) -> Function:
        mask = type_.mask
        return lambda x, y: function(x, y) & mask

    return make


def _negate(_: Machine, type_: Number) -> Function:
    mask = type_.mask
    return lambda x: (0 - x) & mask if x.__class__ is int else np.negative(x)


def _bitwise_not(_: Machine, type_: Number) -> Function:
    mask = type_.mask
    return lambda x: x ^ mask


def _divisor(machine: Machine, y: Value, what: str) -> Value:
    """Return a divisor with 1 in place of each zero, and report zeros. The results of these divisions do not matter."""
    zero = y == 0
    forbid_where(machine, zero, "SPIR-V 3.42.13", f"{what} by zero")
    if isinstance(y, np.ndarray):
        return np.where(zero, np.ones_like(y), y) if zero.any() else y
    return 1 if zero else y


def _unsigned_division(function: Callable[[Value, Value], Value], what: str) -> Make:
    return lambda machine, _: lambda x, y: function(x, _divisor(machine, y, what))


def _truncated(x: Value, y: Value) -> Value:
    if isinstance(x, np.ndarray) or isinstance(y, np.ndarray):
        quotient = np.floor_divide(x, y)
        inexact = quotient * y != x
        return quotient + (inexact & ((np.less(x, 0)) != np.less(y, 0))).astype(quotient.dtype)
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


_SIGNED: Mapping[str, str] = MappingProxyType({"SDiv": "a signed division", "SRem": "a signed remainder", "SMod": "a signed modulo"})


def _signed_division(kind: str) -> Make:
    def make(machine: Machine, type_: Number) -> Function:
        signed, back, least = _signed(type_), _back(type_), -(1 << type_.bits - 1)

        def function(x: Value, y: Value) -> Value:
            x, y = signed(x), _divisor(machine, signed(y), _SIGNED[kind])
            overflow = (x == least) & (y == -1)
            forbid_where(machine, overflow, "SPIR-V 3.42.13", "the least signed integer is divided by -1")
            if isinstance(overflow, np.ndarray) and overflow.any():
                y = np.where(overflow, np.ones_like(y), y)
            if kind == "SDiv":
                return back(_truncated(x, y))
            if kind == "SMod":
                return back(x % y)
            return back(x - _truncated(x, y) * y)

        return function

    return make


def _shift(kind: str) -> Make:
    def make(machine: Machine, type_: Number) -> Function:
        bits, mask, signed, back = type_.bits, type_.mask, _signed(type_), _back(type_)

        def function(x: Value, by: Value) -> Value:
            too_far = by >= bits
            forbid_where(machine, too_far, "SPIR-V 3.42.14", f"a value of {bits} bits is shifted by {{}}", by)
            if isinstance(by, np.ndarray):
                by = np.where(too_far, 0, by).astype(type_.signed_dtype if kind == "arithmetic" else type_.dtype)
            elif too_far:
                by = 0
            if kind == "left":
                return (x << by) & mask
            return back(signed(x) >> by) if kind == "arithmetic" else x >> by

        return function

    return make


def _bool(value: Value) -> Value:
    return value if isinstance(value, np.ndarray) else bool(value)


def _compare(function: Callable[[Value, Value], Value], signed: bool = False) -> Make:
    def make(_: Machine, type_: Number) -> Function:
        if not signed:
            return lambda x, y: _bool(function(x, y))
        convert = _signed(type_)
        return lambda x, y: _bool(function(convert(x), convert(y)))

    return make


def _unordered(function: Callable[[Value, Value], Value]) -> Make:
    return lambda _, __: lambda x, y: _bool(function(x, y) | np.isnan(x) | np.isnan(y))


def _ordered(function: Callable[[Value, Value], Value]) -> Make:
    return lambda _, __: lambda x, y: _bool(function(x, y) & ~(np.isnan(x) | np.isnan(y)))


def _plain(function: Callable[..., Value]) -> Make:
    return lambda _, __: function


def _bit_count(_: Machine, type_: Number) -> Function:
    def function(x: Value) -> Value:
        if not isinstance(x, np.ndarray):
            return int(x).bit_count()
        return np.bitwise_count(x).astype(type_.dtype)

    return function


def _bit_reverse(_: Machine, type_: Number) -> Function:
    bits = type_.bits

    def function(x: Value) -> Value:
        result = x & 0
        for bit in range(bits):
            result = result | (((x >> bit) & 1) << (bits - 1 - bit))
        return result

    return function


_INTEGERS: Mapping[Op, Make] = MappingProxyType(
    {
        Op.IAdd: _wrapping(operator.add),
        Op.ISub: _wrapping(operator.sub),
        Op.IMul: _wrapping(operator.mul),
        Op.UDiv: _unsigned_division(operator.floordiv, "an unsigned division"),
        Op.UMod: _unsigned_division(operator.mod, "an unsigned remainder"),
        Op.SDiv: _signed_division("SDiv"),
        Op.SRem: _signed_division("SRem"),
        Op.SMod: _signed_division("SMod"),
        Op.BitwiseAnd: _plain(operator.and_),
        Op.BitwiseOr: _plain(operator.or_),
        Op.BitwiseXor: _plain(operator.xor),
        Op.SNegate: _negate,
        Op.Not: _bitwise_not,
        Op.BitCount: _bit_count,
        Op.BitReverse: _bit_reverse,
    }
)
_SHIFTS: Mapping[Op, Make] = MappingProxyType(
    {
        Op.ShiftLeftLogical: _shift("left"),
        Op.ShiftRightLogical: _shift("right"),
        Op.ShiftRightArithmetic: _shift("arithmetic"),
    }
)
_FLOATS: Mapping[Op, Make] = MappingProxyType(
    {
        Op.FAdd: _plain(operator.add),
        Op.FSub: _plain(operator.sub),
        Op.FMul: _plain(operator.mul),
        Op.FDiv: _plain(np.divide),
        Op.FRem: _plain(np.fmod),
        Op.FMod: _plain(np.mod),
        Op.FNegate: _plain(operator.neg),
    }
)
_EQUALITIES = {"Equal": operator.eq, "NotEqual": operator.ne}
_ORDERS = {"LessThan": operator.lt, "LessThanEqual": operator.le, "GreaterThan": operator.gt, "GreaterThanEqual": operator.ge}
_INTEGER_COMPARISONS: Mapping[Op, Make] = MappingProxyType(
    {
        Op.named(f"{letter}{name}"): _compare(function, signed=letter == "S")
        for letter, comparisons in (("I", _EQUALITIES), ("U", _ORDERS), ("S", _ORDERS))
        for name, function in comparisons.items()
    }
)
_FLOAT_TESTS: Mapping[Op, Make] = MappingProxyType(
    {
        Op.named(f"F{kind}{name}"): make(function)
        for kind, make in (("Ord", _ordered), ("Unord", _unordered))
        for name, function in (_EQUALITIES | _ORDERS).items()
    }
    | {Op.IsNan: _plain(lambda x: _bool(np.isnan(x))), Op.IsInf: _plain(lambda x: _bool(np.isinf(x)))}
)
"""Each maps an opcode to the function that makes its computation, for operands of a type."""


def _arithmetic(op: Op, make: Make) -> Handler:
    def handler(translation: Translation, words: Words) -> Run:
        type_ = translation.number_of(translation.type_of[words[2]])
        return apply(translation, op, words, corrected(translation, op, type_, make(translation.machine, type_)))

    return handler


def _logical_not(x: Value) -> Value:
    return ~x if isinstance(x, np.ndarray) else not x


_LOGIC: Mapping[Op, Callable[..., Value]] = MappingProxyType(
    {
        Op.LogicalAnd: operator.and_,
        Op.LogicalOr: operator.or_,
        Op.LogicalEqual: lambda x, y: _bool(np.equal(x, y)),
        Op.LogicalNotEqual: lambda x, y: _bool(np.not_equal(x, y)),
        Op.LogicalNot: _logical_not,
    }
)


def _logic(op: Op, function: Callable[..., Value]) -> Handler:
    return lambda translation, words: apply(translation, op, words, function)


def _any_all(combine: Callable[[Value, Value], Value], start: bool) -> Handler:
    return lambda translation, words: on_values(translation, words[2:], lambda vector: reduce(combine, vector, start))


@computes(Op.Select)
def _select(translation: Translation, words: Words) -> Run:
    values = translation.values
    type_ = translation.types[words[0]]
    condition, yes, no = words[2:]
    if isinstance(type_, MatrixType):
        raise Violation("F-KHR-5", "OpSelect on a cooperative matrix")
    if isinstance(type_, TensorLayoutType | TensorViewType):
        raise Violation("TA-OPQ-01", "OpSelect on a tensor layout or view, which are neither scalars nor composites")

    def choose(element: Type, chosen: Value, x: Value, y: Value) -> Value:
        if varies(chosen):
            return blend(element, chosen, x, y)
        return x if chosen else y

    if isinstance(translation.type_of[condition], Bool):
        return lambda: choose(type_, values[condition], values[yes], values[no])
    assert isinstance(type_, Vector)
    element, count = type_.element, type_.count
    return lambda: tuple(
        choose(element, c, x, y) for c, x, y in zip(values[condition], expand(values[yes], count), expand(values[no], count), strict=True)
    )


@computes(Op.VectorTimesScalar, Op.MatrixTimesScalar)
def _times_scalar(translation: Translation, words: Words) -> Run:
    values, machine = translation.values, translation.machine
    type_ = translation.types[words[0]]
    composite, scalar = words[2:]
    if isinstance(type_, Vector):
        times = corrected(translation, Op.VectorTimesScalar, translation.number_of(type_), operator.mul)
        return lambda: tuple(times(x, values[scalar]) for x in values[composite])
    if is_columns(type_):
        return _columns_times_scalar(translation, words)
    matrix = translation.matrix_type(composite, "KHR-ARI-05", "the operand of OpMatrixTimesScalar")
    mask = matrix.number.mask
    times = corrected(translation, Op.MatrixTimesScalar, matrix.number, operator.mul)

    def run() -> Value:
        machine.active_instances(matrix.scope)
        factor = machine.uniform(values[scalar], matrix.scope, "the scalar")
        if isinstance(factor, np.ndarray):
            factor = factor[:, None, None]
        product = times(values[composite], factor)
        return product if matrix.number.is_float else product & mask

    return run


def _columns_times_scalar(translation: Translation, words: Words) -> Run:
    """Return a function that multiplies each component of a matrix of OpTypeMatrix (OpMatrixTimesScalar)."""
    values, matrix, scalar = translation.values, words[2], words[3]
    type_ = translation.types[words[0]]
    need(
        translation.type_of[matrix] == type_ and isinstance(translation.type_of[scalar], Number),
        "a matrix times a scalar of the wrong type",
    )
    assert isinstance(type_, Array)
    times = corrected(translation, Op.VectorTimesScalar, translation.number_of(type_.element), operator.mul)
    return lambda: tuple(tuple(times(part, values[scalar]) for part in column) for column in values[matrix])


@computes(Op.Dot)
def _dot(translation: Translation, words: Words) -> Run:
    return on_values(translation, words[2:], lambda a, b: reduce(operator.add, map(operator.mul, a, b)))


@computes(Op.ExpectKHR)
def _expected(translation: Translation, words: Words) -> Run:
    return on_values(translation, words[2:3], lambda value: value)


def fused(x: Value, y: Value, z: Value) -> Value:
    """Return x * y + z of floats of one type, rounded once (Vulkan, "Precision of core SPIR-V Instructions": OpFmaKHR)."""
    dtype = np.asarray(x).dtype
    if dtype == np.float64:
        return np.vectorize(_fused_double, otypes=[dtype])(x, y, z)[()]
    product, third = np.asarray(x, np.float64) * np.asarray(y, np.float64), np.asarray(z, np.float64)
    total = product + third
    # The product is exact. Rounding the sum to odd keeps enough of it to round again (Boldo and Melquiond).
    back = total - product
    error = (product - (total - back)) + (third - back)
    is_even = np.asarray(total).view(np.int64) & 1 == 0
    inexact = np.isfinite(total) & (error != 0) & is_even
    odd = np.where(inexact, np.nextafter(total, np.copysign(np.inf, error)), total)
    return odd.astype(dtype)[()]


def _fused_double(x: float, y: float, z: float) -> float:
    plain = x * y + z
    if not (np.isfinite(x) and np.isfinite(y) and np.isfinite(z)):
        return plain
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    try:
        return float(exact) if exact else plain
    except OverflowError:
        return np.inf if exact > 0 else -np.inf


@computes(Op.FmaKHR)
def _fma(translation: Translation, words: Words) -> Run:
    return apply(translation, Op.FmaKHR, words, fused)


for _table in (_INTEGERS, _SHIFTS, _FLOATS, _INTEGER_COMPARISONS, _FLOAT_TESTS):
    for _op, _make in _table.items():
        computes(_op)(_arithmetic(_op, _make))
for _op, _function in _LOGIC.items():
    computes(_op)(_logic(_op, _function))
computes(Op.Any)(_any_all(operator.or_, False))
computes(Op.All)(_any_all(operator.and_, True))
