"""Extended instructions of GLSL.std.450 on scalars and vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from cts.embedded.diagnostics import Unsupported, Violation, enumerant_text, need
from cts.embedded.instructions.arithmetic.elementwise import apply_to, forbid_where
from cts.embedded.instructions.registry import computes
from cts.embedded.machine.machine import Run
from cts.embedded.module.float_controls import corrected
from cts.embedded.module.translation import Handler, Translation, Words
from cts.embedded.types.shapes import TypeKind, are_alike, element_of, kind_of, shape_of
from cts.embedded.types.spirv_types import MatrixType, Number, type_text
from cts.embedded.types.values import Value
from generators.spirv.enumerants import GlslStd450, Op

SomeHandler = TypeVar("SomeHandler", bound=Handler)


def extends(which: GlslStd450, operands: int) -> Callable[[SomeHandler], SomeHandler]:
    """Return a decorator that registers the handler of an instruction that does not work on each component for itself.

    Args:
        which: the instruction.
        operands: the number of its operands.
    """

    def register(handler: SomeHandler) -> SomeHandler:
        def counted(translation: Translation, words: Words) -> Run:
            need(len(words) == 4 + operands, f"{which.name} has {len(words) - 4} operands; it takes {operands}")
            if isinstance(translation.types[words[0]], MatrixType):
                raise Violation("KHR-ARI-06", f"{which.name} is not allowed on a cooperative matrix")
            return handler(translation, words)

        _SHAPED[which] = counted
        return handler

    return register


def _like(x: Value, result: Value) -> Value:
    return result if isinstance(result, np.ndarray) and result.ndim else (int(result) if x.__class__ is int else result)


def _wide(function: Callable[..., Value]) -> Callable[..., Value]:
    """Return a version of a function on floats that computes in at least binary32 and rounds once."""

    def apply(*operands: Value) -> Value:
        found = [np.asarray(x) for x in operands]
        return np.asarray(function(*(x.astype(np.float64) for x in found))).astype(found[0].dtype)[()]

    return apply


def _smooth(low: np.ndarray, high: np.ndarray, x: np.ndarray) -> Value:
    t = np.clip((x - low) / (high - low), 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)


def _clamp(x: Value, low: Value, high: Value) -> Value:
    return _like(x, np.minimum(np.maximum(x, low), high))


_UNSIGNED: Mapping[GlslStd450, Callable[..., Value]] = MappingProxyType(
    {
        GlslStd450.UMin: lambda x, y: _like(x, np.minimum(x, y)),
        GlslStd450.UMax: lambda x, y: _like(x, np.maximum(x, y)),
        GlslStd450.UClamp: _clamp,
    }
)


def _bit(x: Value) -> Value:
    """Return the number of the highest bit of integers below 2^32, as u32; 2^32 - 1 for 0."""
    x = np.asarray(x, np.int64)
    place = (np.frexp(x.astype(np.float64))[1] - 1).astype(np.uint32)
    return place if place.ndim else int(place)


def _without_sign(x: Value) -> np.ndarray:
    signed = np.asarray(x, np.uint32).view(np.int32).astype(np.int64)
    return np.where(signed < 0, ~signed, signed)


_PLACES: Mapping[GlslStd450, Callable[[Value], Value]] = MappingProxyType(
    {
        GlslStd450.FindILsb: lambda x: _bit(np.asarray(x, np.int64) & -np.asarray(x, np.int64)),
        GlslStd450.FindUMsb: _bit,
        GlslStd450.FindSMsb: lambda x: _bit(_without_sign(x)),
    }
)
"""Instructions that return the number of a bit of 32-bit integers."""

_SIGNED: Mapping[GlslStd450, Callable[..., Value]] = MappingProxyType(
    {
        GlslStd450.SMin: np.minimum,
        GlslStd450.SMax: np.maximum,
        GlslStd450.SClamp: lambda x, low, high: np.minimum(np.maximum(x, low), high),
        GlslStd450.SAbs: np.abs,
        GlslStd450.SSign: np.sign,
    }
)
_FLOAT: Mapping[GlslStd450, Callable[..., Value]] = MappingProxyType(
    {
        GlslStd450.FMin: np.minimum,
        GlslStd450.FMax: np.maximum,
        GlslStd450.FClamp: lambda x, low, high: np.minimum(np.maximum(x, low), high),
        GlslStd450.NMin: np.fmin,
        GlslStd450.NMax: np.fmax,
        GlslStd450.NClamp: lambda x, low, high: np.fmin(np.fmax(x, low), high),
        GlslStd450.FAbs: np.abs,
        GlslStd450.FSign: np.sign,
        GlslStd450.Floor: np.floor,
        GlslStd450.Ceil: np.ceil,
        GlslStd450.Trunc: np.trunc,
        GlslStd450.RoundEven: np.rint,
        GlslStd450.Round: np.rint,
        GlslStd450.Sqrt: _wide(np.sqrt),
        GlslStd450.InverseSqrt: _wide(lambda x: 1.0 / np.sqrt(x)),
        GlslStd450.Exp: _wide(np.exp),
        GlslStd450.Exp2: _wide(np.exp2),
        GlslStd450.Log: _wide(np.log),
        GlslStd450.Log2: _wide(np.log2),
        GlslStd450.Sin: _wide(np.sin),
        GlslStd450.Cos: _wide(np.cos),
        GlslStd450.Tanh: _wide(np.tanh),
        GlslStd450.Tan: _wide(np.tan),
        GlslStd450.Asinh: _wide(np.arcsinh),
        GlslStd450.Acosh: _wide(np.arccosh),
        GlslStd450.Atanh: _wide(np.arctanh),
        GlslStd450.Atan2: _wide(np.arctan2),
        GlslStd450.Radians: _wide(np.radians),
        GlslStd450.Degrees: _wide(np.degrees),
        GlslStd450.Fract: lambda x: x - np.floor(x),
        GlslStd450.Asin: _wide(np.arcsin),
        GlslStd450.Acos: _wide(np.arccos),
        GlslStd450.Atan: _wide(np.arctan),
        GlslStd450.Sinh: _wide(np.sinh),
        GlslStd450.Cosh: _wide(np.cosh),
        GlslStd450.Pow: _wide(np.power),
        GlslStd450.SmoothStep: _wide(_smooth),
        GlslStd450.Fma: lambda x, y, z: x * y + z,
        GlslStd450.FMix: lambda x, y, a: x * (1 - a) + y * a,
        GlslStd450.Step: lambda edge, x: np.where(np.less(x, edge), 0, 1).astype(np.asarray(x).dtype)[()],
    }
)
_THREE = frozenset(
    {GlslStd450.UClamp, GlslStd450.SClamp, GlslStd450.FClamp, GlslStd450.NClamp, GlslStd450.Fma, GlslStd450.FMix, GlslStd450.SmoothStep}
)
_TWO = frozenset(
    {
        *(GlslStd450.UMin, GlslStd450.UMax, GlslStd450.SMin, GlslStd450.SMax, GlslStd450.FMin, GlslStd450.FMax),
        *(GlslStd450.NMin, GlslStd450.NMax, GlslStd450.Step, GlslStd450.Pow, GlslStd450.Atan2),
    }
)
_OPERANDS: Mapping[int, int] = MappingProxyType(
    {int(which): 3 if which in _THREE else 2 if which in _TWO else 1 for table in (_UNSIGNED, _SIGNED, _FLOAT, _PLACES) for which in table}
)
"""Instruction -> the number of its operands."""

_SHAPED: dict[GlslStd450, Handler] = {}
"""Instructions whose operands and result have different types, or that combine components."""

_CLAMPS = frozenset({GlslStd450.UClamp, GlslStd450.SClamp, GlslStd450.FClamp})


def _signed(function: Callable[..., Value], type_: Number) -> Callable[..., Value]:
    def apply(*operands: Value) -> Value:
        result = function(*(np.asarray(o, type_.dtype).view(type_.signed_dtype) for o in operands))
        bits = np.asarray(result).astype(type_.signed_dtype).view(type_.dtype)
        return bits if bits.ndim else int(bits)

    return apply


@computes(Op.ExtInst)
def _extended(translation: Translation, words: Words) -> Run:
    name = translation.instruction_sets.get(words[2], "")
    if name != "GLSL.std.450":
        raise Unsupported(f"instruction set '{name}'")
    if words[3] in _SHAPED:
        return _SHAPED[GlslStd450(words[3])](translation, words)
    if words[3] not in _OPERANDS:
        raise Unsupported(f"GLSL.std.450 {enumerant_text(GlslStd450, words[3])}")
    which, type_ = GlslStd450(words[3]), translation.types[words[0]]
    if isinstance(type_, MatrixType):
        raise Violation("KHR-ARI-06", f"{which.name} is not allowed on a cooperative matrix")
    kind = TypeKind.FLOAT if which in _FLOAT else TypeKind.INT
    need(kind_of(element_of(type_)) is kind, f"{which.name} cannot give a {type_text(type_)}")
    need(len(words) == 4 + _OPERANDS[which], f"{which.name} has {len(words) - 4} operands; it takes {_OPERANDS[which]}")
    for operand in (translation.type_of[id_] for id_ in words[4:]):
        fits = shape_of(operand) == shape_of(type_) and are_alike(element_of(operand), element_of(type_))
        need(fits, f"an operand of {which.name} is a {type_text(operand)} where the result is a {type_text(type_)}")
    number = translation.number_of(type_)
    need(which not in _PLACES or number.bits == 32, f"{which.name} of integers of {number.bits} bits; it takes 32")
    function = _UNSIGNED.get(which) or _FLOAT.get(which) or _PLACES.get(which) or _signed(_SIGNED[which], number)
    if which in _UNDEFINED:
        function = _defined(translation, function, which)
    if which in _FLOAT and which is not GlslStd450.FSign:
        function = corrected(translation, Op.ExtInst, number, function)
    if which in _CLAMPS:
        function = _checked_clamp(translation, function, translation.number_of(type_), which is GlslStd450.SClamp)
    return apply_to(translation, Op.ExtInst, type_, words[4:], function)


def _checked_clamp(translation: Translation, clamp: Callable[..., Value], type_: Number, signed: bool) -> Callable[..., Value]:
    def apply(x: Value, low: Value, high: Value) -> Value:
        bounds = [np.asarray(v, type_.dtype).view(type_.signed_dtype) if signed else v for v in (low, high)]
        crossed = np.greater(*bounds)
        text = "a clamp to at least {} and at most {}, which no number is"
        forbid_where(translation.machine, crossed, "GLSL.std.450 Clamp", text, *bounds)
        return clamp(x, low, high)

    return apply


_UNDEFINED: Mapping[GlslStd450, tuple[Callable[..., Value], str]] = MappingProxyType(
    {
        GlslStd450.Pow: (lambda x, y: np.less(x, 0) | (np.equal(x, 0) & np.less_equal(y, 0)), "{} to the power of {} is undefined"),
        GlslStd450.SmoothStep: (lambda low, high, _: np.greater_equal(low, high), "a smooth step from {} to {} is undefined"),
        GlslStd450.Atan2: (lambda y, x: np.equal(x, 0) & np.equal(y, 0), "the angle of y = {} and x = {} is undefined"),
    }
)
"""Instruction -> a function that tells which operands give an undefined result, and a sentence about the first two of them."""


def _defined(translation: Translation, function: Callable[..., Value], which: GlslStd450) -> Callable[..., Value]:
    def apply(*operands: Value) -> Value:
        is_undefined, text = _UNDEFINED[which]
        forbid_where(translation.machine, is_undefined(*operands), f"GLSL.std.450 {which.name}", text, *operands[:2])
        return function(*operands)

    return apply
