"""Modules that change the use of a matrix: the instruction, its types, and the capability."""

from __future__ import annotations

from dataclasses import replace

import pytest

from generators.glsl.emit import emit as emit_glsl
from generators.layouts.matrix_arrays import matrix_in, matrix_out
from generators.program.builder import ProgramBuilder
from generators.program.conversion import Conversion, MatrixConvert, Transpose, UseConvert
from generators.program.values import MatrixType, Value
from generators.spirv.disassemble import disassemble
from generators.spirv.emit import emit
from generators.types import COMPONENT_TYPES, Scope, Use

SOURCE = MatrixType(COMPONENT_TYPES["f32"], Scope.SUBGROUP, 16, 8, Use.ACCUMULATOR)


def program_of(target, operation):
    builder = ProgramBuilder(Scope.SUBGROUP)
    matrix, result = matrix_in(builder, "source", SOURCE), Value("result", target)
    builder.add(operation(result, matrix))
    matrix_out(builder, "target", result)
    return builder.build()


MOVED = program_of(replace(SOURCE, use=Use.A), UseConvert)
TURNED = program_of(replace(SOURCE, rows=8, columns=16, use=Use.B), Transpose)
CONVERTED = program_of(
    replace(SOURCE, component=COMPONENT_TYPES["f16"], use=Use.B), lambda result, matrix: MatrixConvert(result, matrix, Conversion.F_TO_F)
)


@pytest.mark.parametrize(
    ("program", "op"), [(MOVED, "OpCooperativeMatrixConvertUseEXT"), (TURNED, "OpCooperativeMatrixTransposeNV"), (CONVERTED, "OpFConvert")]
)
def test_one_instruction_and_its_capability(program, op):
    text = disassemble(emit(program))
    assert text.count(op) == 1
    assert "OpCapability CooperativeMatrixConversionsNV" in text
    assert '"SPV_NV_cooperative_matrix2"' in text


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (MOVED, "coopmat<float, gl_ScopeSubgroup, 16, 8, gl_MatrixUseA>(source_matrix)"),
        (CONVERTED, "coopmat<float16_t, gl_ScopeSubgroup, 16, 8, gl_MatrixUseB>(source_matrix)"),
        (TURNED, "coopMatTransposeNV(result, source_matrix)"),
    ],
    ids=["constructor", "converting constructor", "call"],
)
def test_glsl_has_words_for_it(program, words):
    text = emit_glsl(program)
    assert words in text, text
    assert "#extension GL_NV_cooperative_matrix2" in text
