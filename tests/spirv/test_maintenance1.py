"""Modules of programs that take shared instructions from SPV_EXT_cooperative_matrix_maintenance1."""

from __future__ import annotations

from dataclasses import replace

import pytest

from generators.errors import Rule
from generators.glsl.emit import emit as emit_glsl
from generators.layouts.matrix_arrays import matrix_in, matrix_out
from generators.program.builder import ProgramBuilder
from generators.program.conversion import Conversion, MatrixConvert, UseConvert
from generators.program.elements import ComponentsPlaced
from generators.program.values import MatrixType, Value
from generators.routines.elements import place_components
from generators.spirv.disassemble import disassemble
from generators.spirv.emit import emit
from generators.types import COMPONENT_TYPES, Scope, Use
from tests.broken_rules import breaks

SOURCE = MatrixType(COMPONENT_TYPES["f16"], Scope.SUBGROUP, 16, 8, Use.A)
BACK = replace(SOURCE, use=Use.ACCUMULATOR)


def program_of(target, operation, maintenance1=True):
    builder = ProgramBuilder(Scope.SUBGROUP, maintenance1=maintenance1)
    matrix, result = matrix_in(builder, "source", SOURCE), Value("result", target)
    builder.add(operation(result, matrix))
    matrix_out(builder, "target", result)
    return builder.build()


def converted(result, matrix):
    return MatrixConvert(result, matrix, Conversion.F_TO_F)


@pytest.mark.parametrize(
    ("target", "operation", "op"),
    [(BACK, UseConvert, "OpCooperativeMatrixConvertUseEXT"), (replace(BACK, component=COMPONENT_TYPES["f32"]), converted, "OpFConvert")],
)
def test_the_extension_and_its_capability_are_declared(target, operation, op):
    program = program_of(target, operation)
    text = disassemble(emit(program))
    assert text.count(op) == 1
    assert "OpCapability CooperativeMatrixConversionsEXT" in text
    assert '"SPV_EXT_cooperative_matrix_maintenance1"' in text
    assert "matrix2" not in text
    glsl = emit_glsl(program)
    assert "#extension GL_EXT_cooperative_matrix_maintenance1" in glsl
    assert "matrix2" not in glsl


def test_only_this_extension_converts_to_an_accumulator():
    program = program_of(replace(BACK, component=COMPONENT_TYPES["f32"]), converted, maintenance1=False)
    with breaks(Rule.NO_CONVERSION):
        emit(program)


def test_a_coordinate_is_one_instruction():
    builder = ProgramBuilder(Scope.SUBGROUP, maintenance1=True)
    matrix = matrix_in(builder, "source", SOURCE)
    placed = builder.variable("placed", SOURCE, "function")
    builder.set(placed, (), matrix)
    place_components(builder, ComponentsPlaced(placed, matrix, "number"))
    matrix_out(builder, "target", builder.get_matrix("matrix_placed", placed))
    program = builder.build()
    text = disassemble(emit(program))
    assert text.count("OpCooperativeMatrixGetCoordinateEXT") == 1
    assert "OpCapability CooperativeMatrixGetCoordinateEXT" in text
    assert "coopMatGetCoordinateEXT(source_matrix, " in emit_glsl(program)
