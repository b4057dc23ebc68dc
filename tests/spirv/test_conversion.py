"""Conversions in SPIR-V and in GLSL: the written instructions, and the conversions that neither can express."""

from __future__ import annotations

import pytest

from generators.errors import Lack, Rule
from generators.glsl.emit import emit as emit_glsl
from generators.program.builder import ProgramBuilder
from generators.program.conversion import Conversion, conversions
from generators.program.memory import Pointee
from generators.program.program import Program
from generators.program.values import MatrixType
from generators.spirv.emit import emit
from generators.spirv.enumerants import Decoration, Op
from generators.spirv.reader import read_instructions
from generators.types import COMPONENT_TYPES, Layout, Scope, StorageClass, Use
from tests.broken_rules import breaks
from tests.lacks import lacks


def program(source: str, target: str, conversion: Conversion, saturating: bool = False) -> Program:
    from_, to = COMPONENT_TYPES[source], COMPONENT_TYPES[target]
    builder = ProgramBuilder(Scope.SUBGROUP)
    given = builder.array("given", Pointee(from_), 256, StorageClass.STORAGE_BUFFER, "input")
    taken = builder.array("taken", Pointee(to), 256, StorageClass.STORAGE_BUFFER, "output")
    zero, stride = builder.literal(0), builder.literal(16)
    matrix = builder.load("matrix", MatrixType(from_, Scope.SUBGROUP, 16, 16, Use.B), given, zero, stride, Layout.ROW_MAJOR)
    builder.store(builder.convert("result", matrix, to, conversion, saturating), taken, zero, stride, Layout.ROW_MAJOR)
    return builder.build()


@pytest.mark.parametrize("conversion", Conversion)
def test_the_instruction_is_that_of_the_operation(conversion: Conversion) -> None:
    types = COMPONENT_TYPES.values()
    for source, target in ((s, t) for s in types for t in types if conversion in conversions(s, t)):
        ops = [instruction.op for instruction in read_instructions(emit(program(source.name, target.name, conversion)))]
        assert ops.count(Op.named(conversion.value)) == 1


def test_saturation_decorates_the_result() -> None:
    instructions = list(read_instructions(emit(program("s16", "e4m3", Conversion.S_TO_F, saturating=True))))
    (result,) = (i.operands[1] for i in instructions if i.op is Op.ConvertSToF)
    decorated = [i.operands for i in instructions if i.op is Op.Decorate]
    assert (result, Decoration.SaturatedToLargestFloat8NormalConversionEXT) in [tuple(operands[:2]) for operands in decorated]
    plain = emit(program("s16", "e4m3", Conversion.S_TO_F))
    assert all(
        i.operands[1] != Decoration.SaturatedToLargestFloat8NormalConversionEXT for i in read_instructions(plain) if i.op is Op.Decorate
    )


@pytest.mark.parametrize(
    ("source", "target", "conversion", "saturating"),
    [
        ("f32", "s32", Conversion.BITCAST, False),
        ("f32", "s32", Conversion.F_TO_U, False),
        ("u8", "s16", Conversion.U_TO_U, False),
        ("s16", "u16", Conversion.S_TO_S, False),
        ("f32", "f16", Conversion.F_TO_F, True),
        ("s8", "f16", Conversion.F_TO_F, False),
    ],
)
def test_operations_that_the_text_does_not_allow_are_refused(source, target, conversion, saturating) -> None:
    with breaks(Rule.NO_CONVERSION):
        emit(program(source, target, conversion, saturating))


@pytest.mark.parametrize(
    ("source", "target", "conversion", "saturating", "line"),
    [
        ("s8", "f16", Conversion.S_TO_F, False, "result = coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB>(matrix);"),
        ("u32", "s8", Conversion.S_TO_S, False, "result = coopmat<int8_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB>(matrix);"),
        ("f32", "e5m2", Conversion.F_TO_F, True, "saturatedConvertEXT(result, matrix);"),
    ],
)
def test_glsl_constructs_or_calls(source, target, conversion, saturating, line) -> None:
    assert line in emit_glsl(program(source, target, conversion, saturating))


@pytest.mark.parametrize(
    ("source", "target", "conversion"),
    [
        ("u8", "f16", Conversion.S_TO_F),
        ("s8", "f16", Conversion.U_TO_F),
        ("f32", "u8", Conversion.F_TO_S),
        ("u8", "s16", Conversion.S_TO_S),
        ("s8", "u16", Conversion.U_TO_U),
    ],
)
def test_glsl_cannot_contradict_the_types(source, target, conversion) -> None:
    with lacks(Lack.CONVERSION):
        emit_glsl(program(source, target, conversion))


def test_glsl_cannot_saturate_8_bit_floats() -> None:
    with lacks(Lack.SATURATION_TYPE):
        emit_glsl(program("e4m3", "e5m2", Conversion.F_TO_F, saturating=True))
