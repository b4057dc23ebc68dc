"""The opcodes of arithmetic on elements, and the operations without an instruction."""

from __future__ import annotations

import re

import pytest

from generators.errors import Lack, Rule
from generators.glsl.emit import emit as emit_glsl
from generators.program.builder import ProgramBuilder
from generators.program.elementwise import Operator
from generators.program.memory import Pointee
from generators.program.program import Program
from generators.program.values import MatrixType
from generators.spirv.disassemble import disassemble
from generators.spirv.emit import emit
from generators.types import COMPONENT_TYPES, Layout, Scope, StorageClass, Use
from tests.broken_rules import breaks
from tests.lacks import lacks


def _program(component: str, operator: str, no_contraction: bool = False) -> Program:
    builder = ProgramBuilder(Scope.SUBGROUP)
    type_ = COMPONENT_TYPES[component]
    source = builder.array("source", Pointee(type_), 64, StorageClass.STORAGE_BUFFER, "input")
    zero, eight = builder.literal(0), builder.literal(8)
    matrix = MatrixType(type_, Scope.SUBGROUP, 8, 8, Use.A)
    left, right = (builder.load(name, matrix, source, zero, eight, layout) for name, layout in zip(("x", "y"), Layout, strict=True))
    if operator == "negate":
        builder.negate("result", left)
    elif operator == "times_scalar":
        builder.times_scalar("result", left, builder.operand("factor", type_, "push_constant"), no_contraction)
    else:
        chosen: Operator = operator  # type: ignore[assignment]
        builder.elementwise("result", chosen, left, right, no_contraction)
    return builder.build()


@pytest.mark.parametrize(
    ("component", "operator", "instruction"),
    [
        ("f16", "add", "OpFAdd %matrix_f16_8x8_A %x %y"),
        ("f32", "subtract", "OpFSub %matrix_f32_8x8_A %x %y"),
        ("f64", "multiply", "OpFMul"),
        ("f32", "divide", "OpFDiv"),
        ("f32", "negate", "OpFNegate %matrix_f32_8x8_A %x"),
        ("s8", "add", "OpIAdd"),
        ("u16", "subtract", "OpISub"),
        ("s64", "multiply", "OpIMul"),
        ("s8", "signed_divide", "OpSDiv"),
        ("u32", "signed_divide", "OpSDiv"),
        ("u32", "unsigned_divide", "OpUDiv"),
        ("u8", "negate", "OpSNegate"),
        ("s32", "times_scalar", "OpMatrixTimesScalar %matrix_s32_8x8_A %x %factor"),
    ],
)
def test_each_operator_has_its_opcode(component: str, operator: str, instruction: str) -> None:
    assert re.search(rf"%result = {re.escape(instruction)}\b", disassemble(emit(_program(component, operator))))


@pytest.mark.parametrize("operator", ["multiply", "times_scalar"])
def test_contraction_can_be_forbidden(operator: str) -> None:
    assert "OpDecorate %result NoContraction" in disassemble(emit(_program("f16", operator, no_contraction=True)))
    assert "NoContraction" not in disassemble(emit(_program("f16", operator)))
    assert "precise coopmat" in emit_glsl(_program("f16", operator, no_contraction=True))


@pytest.mark.parametrize("component", ["bf16", "e4m3", "e5m2"])
@pytest.mark.parametrize("operator", ["add", "negate", "times_scalar"])
def test_types_that_have_no_arithmetic_are_refused(component: str, operator: str) -> None:
    with breaks(Rule.COMPONENT_TYPE):
        emit(_program(component, operator))


@pytest.mark.parametrize(("component", "operator"), [("s32", "divide"), ("f32", "signed_divide"), ("s32", "unsigned_divide")])
def test_operators_of_another_kind_of_type_are_refused(component: str, operator: str) -> None:
    with breaks("KHR-ARI-03", Rule.SIGNEDNESS):
        emit(_program(component, operator))


def test_glsl_has_the_operators() -> None:
    text = "".join(
        emit_glsl(_program("s32", operator)) for operator in ("add", "subtract", "multiply", "signed_divide", "negate", "times_scalar")
    )
    for expression in ("x + y", "x - y", "x * y", "x / y", "-x", "x * factor"):
        assert f" = {expression};" in text


def test_glsl_divides_by_the_signedness_of_the_type() -> None:
    with lacks(Lack.SIGNEDNESS):
        emit_glsl(_program("u32", "signed_divide"))
