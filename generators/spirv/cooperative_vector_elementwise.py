"""Instructions on the components of cooperative vectors."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from generators.errors import GeneratorError, Rule
from generators.program.cooperative_vector_elementwise import (
    ARGUMENTS,
    BitOperator,
    CooperativeVectorArithmetic,
    CooperativeVectorBits,
    CooperativeVectorConvert,
    CooperativeVectorFunction,
    CooperativeVectorNegate,
    CooperativeVectorNot,
    CooperativeVectorTimesScalar,
    converts,
    takes,
)
from generators.program.values import CooperativeVector
from generators.spirv.elementwise import opcode
from generators.spirv.enumerants import Decoration, GlslStd450, Op
from generators.spirv.shader import Shader, emits

_BITS: Mapping[BitOperator, Op] = MappingProxyType(
    {
        "and": Op.BitwiseAnd,
        "or": Op.BitwiseOr,
        "xor": Op.BitwiseXor,
        "shift_left": Op.ShiftLeftLogical,
        "shift_right_logical": Op.ShiftRightLogical,
        "shift_right_arithmetic": Op.ShiftRightArithmetic,
    }
)


@emits(CooperativeVectorNegate)
def emit_vector_negate(shader: Shader, operation: CooperativeVectorNegate) -> None:
    """Emit OpFNegate or OpSNegate."""
    _emit(shader, opcode("negate", operation.result.type.component), operation.result, operation.operand)


@emits(CooperativeVectorNot)
def emit_vector_not(shader: Shader, operation: CooperativeVectorNot) -> None:
    """Emit OpNot."""
    _check_integer(operation.result)
    _emit(shader, Op.Not, operation.result, operation.operand)


@emits(CooperativeVectorArithmetic)
def emit_vector_arithmetic(shader: Shader, operation: CooperativeVectorArithmetic) -> None:
    """Emit a binary instruction.

    Raises:
        GeneratorError: no instruction does this to the component type.
    """
    _decorate(shader, operation.result, operation.no_contraction)
    op = opcode(operation.operator, operation.result.type.component)
    _emit(shader, op, operation.result, operation.left, operation.right)


@emits(CooperativeVectorBits)
def emit_vector_bits(shader: Shader, operation: CooperativeVectorBits) -> None:
    """Emit a bit instruction or a shift."""
    _check_integer(operation.result)
    _emit(shader, _BITS[operation.operator], operation.result, operation.left, operation.right)


@emits(CooperativeVectorTimesScalar)
def emit_vector_times_scalar(shader: Shader, operation: CooperativeVectorTimesScalar) -> None:
    """Emit OpVectorTimesScalar.

    Raises:
        GeneratorError: the components are not floats.
    """
    if not operation.result.type.component.is_float:
        raise GeneratorError("CV-ARI-03", f"OpVectorTimesScalar takes floats, not {operation.result.type.component} (CV-ARI-03)")
    _decorate(shader, operation.result, operation.no_contraction)
    type_, vector, scalar = shader.vector_type(operation.result.type), shader.define(operation.vector), shader.id(operation.scalar)
    shader.module.value(Op.VectorTimesScalar, type_, vector, scalar, result=shader.define(operation.result))


@emits(CooperativeVectorConvert)
def emit_vector_convert(shader: Shader, operation: CooperativeVectorConvert) -> None:
    """Emit a conversion.

    Raises:
        GeneratorError: the instruction does not convert these types.
    """
    if not converts(operation):
        source, target = operation.vector.type, operation.result.type
        raise GeneratorError(
            Rule.NO_CONVERSION, f"Op{operation.conversion.value} does not convert {source} to {target} (CV-CVT-01, CV-CVT-02)"
        )
    _emit(shader, Op.named(operation.conversion.value), operation.result, operation.vector)


@emits(CooperativeVectorFunction)
def emit_vector_function(shader: Shader, operation: CooperativeVectorFunction) -> None:
    """Emit an OpExtInst.

    Raises:
        GeneratorError: the function takes other components, or another number of arguments.
    """
    component = operation.result.type.component
    if not takes(operation.function, component) or len(operation.arguments) != ARGUMENTS[operation.function]:
        raise GeneratorError(
            "CV-ARI-04",
            f"{operation.function} takes {ARGUMENTS[operation.function]} vectors, but cannot take "
            f"{len(operation.arguments)} of {component} (CV-ARI-04)",
        )
    arguments = [shader.define(argument) for argument in operation.arguments]
    type_, instructions = shader.vector_type(operation.result.type), shader.module.instruction_set("GLSL.std.450")
    function = int(GlslStd450.named(operation.function))
    shader.module.value(Op.ExtInst, type_, instructions, function, *arguments, result=shader.define(operation.result))


def _emit(shader: Shader, op: Op, result: CooperativeVector, *operands: CooperativeVector) -> None:
    ids = [shader.define(operand) for operand in operands]
    shader.module.value(op, shader.vector_type(result.type), *ids, result=shader.define(result))


def _decorate(shader: Shader, result: CooperativeVector, no_contraction: bool) -> None:
    if no_contraction:
        shader.module.decorate(shader.define(result), Decoration.NoContraction)


def _check_integer(result: CooperativeVector) -> None:
    if result.type.component.is_float:
        raise GeneratorError("CV-BIT-01", f"bit instructions take integers, not {result.type.component} (CV-BIT-01)")
