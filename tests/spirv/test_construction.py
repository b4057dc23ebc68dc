"""Each way to make a matrix without loading it becomes the instruction that the case asks for, in both readings."""

import pytest

from generators.errors import NotExpressible, Rule
from generators.glsl.emit import emit as emit_glsl
from generators.program.builder import ProgramBuilder
from generators.program.construction import MatrixNull
from generators.program.values import ArrayType, MatrixType, Value
from generators.spirv.disassemble import disassemble
from generators.spirv.emit import emit
from generators.types import COMPONENT_TYPES, Scope, Use
from tests.broken_rules import breaks

F16 = COMPONENT_TYPES["f16"]
TYPE = MatrixType(F16, Scope.SUBGROUP, 8, 8, Use.A)
SPELLED = "coopmat<float16_t, gl_ScopeSubgroup, 8, 8, gl_MatrixUseA>"


def constant(builder, source="literal", **how):
    builder.constant("made", TYPE, builder.operand("value", F16, source, 0xBF00, 0x4100), **how)


MADE = {
    "OpConstantComposite": constant,
    "OpSpecConstantComposite": lambda builder: constant(builder, "specialization"),
    "OpSpecConstantComposite %matrix_f16_8x8_A %half": lambda builder: constant(builder, specializable=True),
    "OpConstantCompositeReplicateEXT": lambda builder: constant(builder, replicated=True),
    "OpSpecConstantCompositeReplicateEXT": lambda builder: constant(builder, "specialization", replicated=True),
    "OpConstantNull": lambda builder: builder.null("made", TYPE),
    "OpUndef": lambda builder: builder.undefined("made", TYPE, "module"),
    "OpCompositeConstruct ": lambda builder: builder.splat("made", TYPE, builder.literal(0xBF00, F16)),
    "OpCompositeConstructReplicateEXT": lambda builder: builder.splat("made", TYPE, builder.literal(0xBF00, F16), replicated=True),
}


@pytest.mark.parametrize("instruction", MADE)
def test_the_instruction_that_makes_the_matrix(instruction):
    builder = ProgramBuilder(Scope.SUBGROUP)
    MADE[instruction](builder)
    text = disassemble(emit(builder.build()))
    assert f"%made = {instruction}" in text
    assert ("SPV_EXT_replicated_composites" in text) == ("Replicate" in instruction)


def test_an_undefined_matrix_of_the_function_is_declared_in_the_function():
    builder = ProgramBuilder(Scope.SUBGROUP)
    builder.undefined("outside", TYPE, "module")
    builder.undefined("inside", TYPE, "function")
    before, main = disassemble(emit(builder.build())).split("OpFunction ")
    assert "%outside = OpUndef" in before
    assert "%inside = OpUndef" in main


def test_a_constant_is_made_of_a_constant():
    builder = ProgramBuilder(Scope.SUBGROUP)
    constant(builder, "push_constant")
    with breaks(Rule.CONSTANT_SOURCE):
        emit(builder.build())


def test_variables_and_arrays_of_matrices_are_initialized():
    builder = ProgramBuilder(Scope.SUBGROUP)
    builder.variable("local", TYPE, "function", MatrixNull(Value("zero", TYPE)))
    builder.variable("private_array", ArrayType(TYPE, 2), "private", "null")
    program = builder.build()
    text = disassemble(emit(program))
    assert "%local = OpVariable %_ptr_Function_matrix_f16_8x8_A Function %zero" in text
    assert any("%private_array = OpVariable" in line and len(line.split()) == 6 for line in text.splitlines())
    assert f"{SPELLED} local = {{}};" in emit_glsl(program)


@pytest.mark.parametrize("how", [{"replicated": True}, {"specializable": True}])
def test_glsl_says_what_it_cannot(how):
    builder = ProgramBuilder(Scope.SUBGROUP)
    constant(builder, **how)
    with pytest.raises(NotExpressible):
        emit_glsl(builder.build())


def test_a_constant_in_glsl_is_const_so_that_glslang_makes_a_constant_composite():
    builder = ProgramBuilder(Scope.SUBGROUP)
    constant(builder)
    assert f"const {SPELLED} made = {SPELLED}(-1.75hf);" in emit_glsl(builder.build())
