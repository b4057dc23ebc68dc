"""The GLSL spelling of types, literals and identifiers, and the extension that each spelling needs."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from generators.errors import Lack, NotExpressible
from generators.types import COMPONENT_TYPES, ClampMode, ComponentType, Layout, Scope, Use


@dataclass(frozen=True)
class Spelling:
    """A component type in GLSL.

    Attributes:
        scalar: the scalar type.
        vector: the name of the vector types without the number of lanes.
        extension: the extension that they need; None for GLSL's own types.
        matrix: whether ``coopmat`` takes it as its component.
    """

    scalar: str
    vector: str
    extension: str | None = None
    matrix: bool = True


_ARITHMETIC = "GL_EXT_shader_explicit_arithmetic_types"

# coopmat of double, int64_t and uint64_t: "coopmat invalid basic type" in glslang 16.6, whatever is enabled.
SPELLINGS: Mapping[str, Spelling] = MappingProxyType(
    {
        "f16": Spelling("float16_t", "f16vec", f"{_ARITHMETIC}_float16"),
        "f32": Spelling("float", "vec"),
        "f64": Spelling("double", "dvec", matrix=False),
        "bf16": Spelling("bfloat16_t", "bf16vec", "GL_EXT_bfloat16"),
        "e4m3": Spelling("floate4m3_t", "fe4m3vec", "GL_EXT_float_e4m3"),
        "e5m2": Spelling("floate5m2_t", "fe5m2vec", "GL_EXT_float_e5m2"),
        "s8": Spelling("int8_t", "i8vec", f"{_ARITHMETIC}_int8"),
        "s16": Spelling("int16_t", "i16vec", f"{_ARITHMETIC}_int16"),
        "s32": Spelling("int", "ivec"),
        "s64": Spelling("int64_t", "i64vec", f"{_ARITHMETIC}_int64", matrix=False),
        "u8": Spelling("uint8_t", "u8vec", f"{_ARITHMETIC}_int8"),
        "u16": Spelling("uint16_t", "u16vec", f"{_ARITHMETIC}_int16"),
        "u32": Spelling("uint", "uvec"),
        "u64": Spelling("uint64_t", "u64vec", f"{_ARITHMETIC}_int64", matrix=False),
    }
)
"""Every component type by the suite's name."""

SCOPES: Mapping[Scope, str] = MappingProxyType({Scope.SUBGROUP: "gl_ScopeSubgroup", Scope.WORKGROUP: "gl_ScopeWorkgroup"})
USES: Mapping[Use, str] = MappingProxyType({Use.A: "gl_MatrixUseA", Use.B: "gl_MatrixUseB", Use.ACCUMULATOR: "gl_MatrixUseAccumulator"})
CLAMP_MODES: Mapping[ClampMode, str] = MappingProxyType(
    {
        ClampMode.UNDEFINED: "gl_CooperativeMatrixClampModeUndefinedNV",
        ClampMode.CONSTANT: "gl_CooperativeMatrixClampModeConstantNV",
        ClampMode.CLAMP_TO_EDGE: "gl_CooperativeMatrixClampModeClampToEdgeNV",
        ClampMode.REPEAT: "gl_CooperativeMatrixClampModeRepeatNV",
        ClampMode.REPEAT_MIRRORED: "gl_CooperativeMatrixClampModeMirrorRepeatNV",
    }
)
LAYOUTS: Mapping[Layout, str] = MappingProxyType(
    {
        Layout.ROW_MAJOR: "gl_CooperativeMatrixLayoutRowMajor",
        Layout.COLUMN_MAJOR: "gl_CooperativeMatrixLayoutColumnMajor",
    }
)

_SUFFIXES: Mapping[str, str] = MappingProxyType(
    {"f16": "hf", "f32": "", "f64": "lf", "s16": "s", "s32": "", "s64": "l", "u16": "us", "u32": "u", "u64": "ul"}
)


def literal(component: ComponentType, value: int) -> str:
    """Return the number as a constant expression of type ``component``.

    Args:
        component: its type.
        value: the integer, taken modulo its width; the bits of a floating-point number.

    Raises:
        NotExpressible: NaN and infinities have no literal.
    """
    bits = value % (1 << component.bits)
    if component.is_float:
        number = float(np.array(bits, component.bits_dtype).view(component.dtype)[()])
        if not math.isfinite(number):
            raise NotExpressible(Lack.LITERAL, f"GLSL has no {component} literal for {number}")
        text = repr(number)
    else:
        text = str(bits - (1 << component.bits) if component.is_signed and bits >> component.bits - 1 else bits)
    suffix = _SUFFIXES.get(component.name)
    return f"{SPELLINGS[component.name].scalar}({text})" if suffix is None else text + suffix


_RESERVED = frozenset(
    """
    const uniform buffer shared attribute varying coherent volatile restrict readonly writeonly nonprivate nontemporal
    subgroupcoherent workgroupcoherent queuefamilycoherent devicecoherent shadercallcoherent nonuniformEXT layout centroid flat
    smooth noperspective patch sample invariant precise break continue do for while switch case default if else subroutine in
    out inout int void bool true false float double discard return uint atomic_uint lowp mediump highp precision struct coopmat
    common partition active asm class union enum typedef template this resource goto inline noinline public static extern
    external interface long short half fixed unsigned superp input output filter sizeof cast namespace using main barrier
    controlBarrier coopMatLoad coopMatStore coopMatMulAdd element coopvecNV
    """.split()  # noqa: SIM905
)
_TYPE_NAME = re.compile(
    r"([biud]|[iu](8|16|32|64)|f(16|32|64)|bf16|fe4m3|fe5m2|h|f)?vec[234]|d?mat[234](x[234])?|.*(image|sampler|texture).*"
)
_SCALAR_TYPES = frozenset(SPELLINGS[name].scalar for name in COMPONENT_TYPES)


def identifier(name: str) -> str:
    """Return ``name`` as an identifier, changed only if GLSL reserves it (keywords and reserved words, ``gl_``, ``__``)."""
    if name in _RESERVED or name in _SCALAR_TYPES or name.startswith("gl_") or _TYPE_NAME.fullmatch(name):
        name = f"{name.removeprefix('gl_')}_"
    while "__" in name:
        name = name.replace("__", "_")
    return name
