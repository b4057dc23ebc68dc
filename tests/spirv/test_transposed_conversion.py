"""Modules with a transposing conversion: the instruction, its decoration, the capability, and its text in GLSL."""

from __future__ import annotations

from dataclasses import replace

import pytest

from generators.errors import Lack, NotExpressible
from generators.glsl.emit import emit as emit_glsl
from generators.layouts.matrix_arrays import matrix_in, matrix_out
from generators.program.builder import ProgramBuilder
from generators.program.conversion import Conversion, TransposedConvert
from generators.program.values import MatrixType, Value
from generators.spirv.disassemble import disassemble
from generators.spirv.emit import emit
from generators.types import COMPONENT_TYPES, Scope, Use
from tests.broken_rules import breaks

SOURCE = MatrixType(COMPONENT_TYPES["f32"], Scope.SUBGROUP, 16, 8, Use.ACCUMULATOR)
TURNED = replace(SOURCE, rows=8, columns=16, use=Use.A)


def program_of(target, conversion=None, saturating=False, source=SOURCE, maintenance1=True):
    builder = ProgramBuilder(Scope.SUBGROUP, maintenance1=maintenance1)
    matrix, result = matrix_in(builder, "source", source), Value("result", target)
    builder.add(TransposedConvert(result, matrix, conversion, saturating))
    matrix_out(builder, "target", result)
    return builder.build()


def of(name, **other):
    return replace(TURNED, component=COMPONENT_TYPES[name], **other)


@pytest.mark.parametrize(
    ("target", "conversion", "op", "type_"),
    [
        (TURNED, None, "OpCooperativeMatrixConvertUseEXT", "float, gl_ScopeSubgroup, 8, 16, gl_MatrixUseA"),
        (of("f16", use=Use.B), Conversion.F_TO_F, "OpFConvert", "float16_t, gl_ScopeSubgroup, 8, 16, gl_MatrixUseB"),
        (of("s8"), Conversion.F_TO_S, "OpConvertFToS", "int8_t, gl_ScopeSubgroup, 8, 16, gl_MatrixUseA"),
    ],
    ids=["moved", "narrowed", "made an integer"],
)
def test_one_decorated_instruction(target, conversion, op, type_):
    program = program_of(target, conversion)
    text = disassemble(emit(program))
    assert text.count(f"{op} ") == 1
    assert "OpDecorate %result CooperativeMatrixTransposeEXT" in text
    assert "OpCapability CooperativeMatrixConversionsEXT" in text
    assert '"SPV_EXT_cooperative_matrix_maintenance1"' in text
    glsl = emit_glsl(program)
    assert "#extension GL_EXT_cooperative_matrix_maintenance1" in glsl
    assert f"coopmat<{type_}> result;" in glsl
    assert "coopMatTransposeEXT(result, source_matrix);" in glsl


def test_an_8_bit_float_may_saturate_in_spirv_alone():
    program = program_of(of("e4m3"), Conversion.F_TO_F, saturating=True)
    assert "OpDecorate %result SaturatedToLargestFloat8NormalConversionEXT" in disassemble(emit(program))
    with pytest.raises(NotExpressible) as caught:
        emit_glsl(program)
    assert caught.value.lack is Lack.SATURATION_USE


def test_glsl_converts_by_the_types():
    source = replace(SOURCE, component=COMPONENT_TYPES["u32"])
    with pytest.raises(NotExpressible) as caught:
        emit_glsl(program_of(of("f32"), Conversion.S_TO_F, source=source))
    assert caught.value.lack is Lack.CONVERSION


@pytest.mark.parametrize(
    ("target", "options", "rule"),
    [
        (TURNED, {"maintenance1": False}, "M1-TR-04"),
        (replace(SOURCE, use=Use.A), {}, "M1-TR-01"),
        (replace(TURNED, use=Use.ACCUMULATOR), {}, "M1-TR-01"),
        (TURNED, {"source": replace(SOURCE, use=Use.B)}, "M1-TR-01"),
        (of("f16"), {}, "M1-USE-04"),
        (TURNED, {"conversion": Conversion.F_TO_F}, "no_conversion"),
        (of("u32"), {"conversion": Conversion.BITCAST, "source": replace(SOURCE, component=COMPONENT_TYPES["s32"])}, "no_conversion"),
        (of("f16"), {"conversion": Conversion.F_TO_F, "saturating": True}, "no_conversion"),
    ],
    ids=["another extension", "not swapped", "to an accumulator", "from B", "another type", "the same type", "a bitcast", "saturated f16"],
)
def test_other_programs_are_refused(target, options, rule):
    with breaks(rule):
        emit(program_of(target, **options))
