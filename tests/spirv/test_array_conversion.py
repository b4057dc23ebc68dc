"""Modules and shaders with conversions of arrays: the instructions, their capability, and the functions of GLSL."""

from __future__ import annotations

import pytest

from generators.glsl.emit import emit as emit_glsl
from generators.program.builder import U32
from generators.program.program import Program
from generators.program.values import ArrayType, MatrixType
from generators.spirv.disassemble import disassemble
from generators.spirv.emit import emit
from generators.types import COMPONENT_TYPES, Scope, Use
from tests.reference.array_programs import cast, constructed, extracted, part

F16, F32 = COMPONENT_TYPES["f16"], COMPONENT_TYPES["f32"]
A = MatrixType(F16, Scope.SUBGROUP, 8, 16, Use.A)
PROGRAMS = {
    "OpBitCastArrayQCOM": cast(ArrayType(F32, 2), ArrayType(U32, 2)),
    "OpExtractSubArrayQCOM": part(ArrayType(F32, 8), 4, 4),
    "OpCompositeConstructCoopMatQCOM": constructed(A, "u32", 8),
    "OpCompositeExtractCoopMatQCOM": extracted(A, "u32", 8),
}
CALLS = {
    "OpBitCastArrayQCOM": "uint[2] made;\n    bitcastQCOM(array, made);",
    "OpExtractSubArrayQCOM": "float[4] made;\n    extractSubArrayQCOM(array, 4, made);",
    "OpCompositeConstructCoopMatQCOM": "vectorToCoopmatQCOM(array, matrix);",
    "OpCompositeExtractCoopMatQCOM": "uint[8] array;\n    coopmatToVectorQCOM(matrix, array);",
}


@pytest.mark.parametrize(("op", "program"), PROGRAMS.items())
def test_one_instruction_and_its_capability(op: str, program: Program) -> None:
    text = disassemble(emit(program))
    assert text.count(op) == 1
    assert "OpCapability CooperativeMatrixConversionQCOM" in text
    assert '"SPV_QCOM_cooperative_matrix_conversion"' in text


def test_the_start_is_signed() -> None:
    text = disassemble(emit(PROGRAMS["OpExtractSubArrayQCOM"]))
    assert "%int_4" in next(line for line in text.splitlines() if "OpExtractSubArrayQCOM" in line)


@pytest.mark.parametrize(("op", "call"), CALLS.items())
def test_the_last_argument_is_written(op: str, call: str) -> None:
    text = emit_glsl(PROGRAMS[op])
    assert call in text
    assert "#extension GL_QCOM_cooperative_matrix_conversion : require" in text
