"""Execution modes of float arithmetic in modules and in GLSL."""

from __future__ import annotations

import pytest

from generators.glsl.emit import emit as emit_glsl
from generators.spirv.emit import emit
from generators.spirv.enumerants import Capability, ExecutionMode, Op
from generators.spirv.reader import read_instructions
from tests.float_rows import MODES, Row

ALL = "rte16 rtz32 preserve16 flush32 special16 special32"


def operands(module: bytes, op: Op) -> list[tuple[int, ...]]:
    return [instruction.operands for instruction in read_instructions(module) if instruction.op is op]


def test_a_module_declares_each_mode_with_its_width_for_its_entry_point():
    module = emit(Row("move", "f16", ALL, [1.0]).program())
    (entry,) = operands(module, Op.EntryPoint)
    assert [words for words in operands(module, Op.ExecutionMode) if words[1] != ExecutionMode.LocalSize] == [
        (entry[1], ExecutionMode.RoundingModeRTE, 16),
        (entry[1], ExecutionMode.RoundingModeRTZ, 32),
        (entry[1], ExecutionMode.DenormPreserve, 16),
        (entry[1], ExecutionMode.DenormFlushToZero, 32),
        (entry[1], ExecutionMode.SignedZeroInfNanPreserve, 16),
        (entry[1], ExecutionMode.SignedZeroInfNanPreserve, 32),
    ]


@pytest.mark.parametrize("name", MODES)
def test_glsl_names_the_numbers_that_spirv_has(name):
    program = Row("move", "f16", f"{name}16", [1.0]).program()
    (capability,) = {words[0] for words in operands(emit(program), Op.Capability)} & {
        Capability.DenormPreserve,
        Capability.DenormFlushToZero,
        Capability.SignedZeroInfNanPreserve,
        Capability.RoundingModeRTE,
        Capability.RoundingModeRTZ,
    }
    (mode,) = (words[1] for words in operands(emit(program), Op.ExecutionMode) if len(words) == 3)
    text = emit_glsl(program)
    assert f"spirv_execution_mode(capabilities = [{int(capability)}], {int(mode)}, 16);" in text
    assert "#extension GL_EXT_spirv_intrinsics : require" in text


def test_a_program_without_modes_declares_none():
    program = Row("move", "f16", "", [1.0]).program()
    assert not [words for words in operands(emit(program), Op.ExecutionMode) if len(words) == 3]
    assert "spirv_execution_mode" not in emit_glsl(program)
