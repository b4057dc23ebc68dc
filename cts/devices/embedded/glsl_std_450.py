"""Extended instructions of GLSL.std.450 on scalars and vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from cts.devices.embedded.diagnostics import Unsupported, Violation, enumerant_text, need
from cts.devices.embedded.elementwise import apply_to, happens
from cts.devices.embedded.machine import Run
from cts.devices.embedded.shapes import Kind, alike, element_of, kind_of, shape_of
from cts.devices.embedded.spirv_types import MatrixType, Number, type_text
from cts.devices.embedded.translation import Handler, Translation, Words
from cts.devices.embedded.values import Value
from generators.spirv.enumerants import GlslStd450, Op


def _like(x: Value, result: Value) -> Value:
    return result if isinstance(result, np.ndarray) and result.ndim else (int(result) if x.__class__ is int else result)


def _wide(function: Callable[[Value], Value]) -> Callable[[Value], Value]:
    """Return what computes a function of floats in at least binary32 and rounds once."""

    def apply(x: Value) -> Value:
        x = np.asarray(x)
        return function(x.astype(np.float64)).astype(x.dtype)[()]

    return apply


def _clamp(x: Value, low: Value, high: Value) -> Value:
    return _like(x, np.minimum(np.maximum(x, low), high))


_UNSIGNED: Mapping[GlslStd450, Callable[..., Value]] = MappingProxyType(
    {
        GlslStd450.UMin: lambda x, y: _like(x, np.minimum(x, y)),
        GlslStd450.UMax: lambda x, y: _like(x, np.maximum(x, y)),
        GlslStd450.UClamp: _clamp,
    }
)
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
        GlslStd450.Atan: _wide(np.arctan),
        GlslStd450.Fma: lambda x, y, z: x * y + z,
        GlslStd450.FMix: lambda x, y, a: x * (1 - a) + y * a,
        GlslStd450.Step: lambda edge, x: np.where(np.less(x, edge), 0, 1).astype(np.asarray(x).dtype)[()],
    }
)
_THREE = frozenset({GlslStd450.UClamp, GlslStd450.SClamp, GlslStd450.FClamp, GlslStd450.NClamp, GlslStd450.Fma, GlslStd450.FMix})
_TWO = frozenset(
    {
        *(GlslStd450.UMin, GlslStd450.UMax, GlslStd450.SMin, GlslStd450.SMax, GlslStd450.FMin, GlslStd450.FMax),
        *(GlslStd450.NMin, GlslStd450.NMax, GlslStd450.Step),
    }
)
_OPERANDS: Mapping[int, int] = MappingProxyType(
    {int(which): 3 if which in _THREE else 2 if which in _TWO else 1 for table in (_UNSIGNED, _SIGNED, _FLOAT) for which in table}
)
"""By instruction, the number of its operands."""

_CLAMPS = frozenset({GlslStd450.UClamp, GlslStd450.SClamp, GlslStd450.FClamp})


def _signed(function: Callable[..., Value], type_: Number) -> Callable[..., Value]:
    def apply(*operands: Value) -> Value:
        result = function(*(np.asarray(o, type_.dtype).view(type_.signed_dtype) for o in operands))
        bits = np.asarray(result).astype(type_.signed_dtype).view(type_.dtype)
        return bits if bits.ndim else int(bits)

    return apply


def _extended(translation: Translation, words: Words) -> Run:
    name = translation.instruction_sets.get(words[2], "")
    if name != "GLSL.std.450":
        raise Unsupported(f"instruction set '{name}'")
    if words[3] not in _OPERANDS:
        raise Unsupported(f"GLSL.std.450 {enumerant_text(GlslStd450, words[3])}")
    which, type_ = GlslStd450(words[3]), translation.types[words[0]]
    if isinstance(type_, MatrixType):
        raise Violation("KHR-ARI-06", f"{which.name} on a cooperative matrix")
    kind = Kind.FLOAT if which in _FLOAT else Kind.INT
    need(kind_of(element_of(type_)) is kind, f"{which.name} gives a {type_text(type_)}")
    need(len(words) == 4 + _OPERANDS[which], f"{which.name} has {len(words) - 4} operands; it takes {_OPERANDS[which]}")
    for operand in (translation.type_of[id_] for id_ in words[4:]):
        fits = shape_of(operand) == shape_of(type_) and alike(element_of(operand), element_of(type_))
        need(fits, f"an operand of {which.name} is a {type_text(operand)} where the result is a {type_text(type_)}")
    function = _UNSIGNED.get(which) or _FLOAT.get(which) or _signed(_SIGNED[which], translation.number_of(type_))
    if which in _CLAMPS:
        function = _checked_clamp(translation, function, translation.number_of(type_), which is GlslStd450.SClamp)
    return apply_to(translation, Op.ExtInst, type_, words[4:], function)


def _checked_clamp(translation: Translation, clamp: Callable[..., Value], type_: Number, signed: bool) -> Callable[..., Value]:
    def apply(x: Value, low: Value, high: Value) -> Value:
        bounds = [np.asarray(v, type_.dtype).view(type_.signed_dtype) if signed else v for v in (low, high)]
        if happens(translation.machine, np.greater(*bounds)):
            translation.machine.forbid("GLSL.std.450 Clamp", "a clamp whose lower bound is above the upper one")
        return clamp(x, low, high)

    return apply


HANDLERS: Mapping[Op, Handler] = MappingProxyType({Op.ExtInst: _extended})
"""The handler of extended instructions."""
