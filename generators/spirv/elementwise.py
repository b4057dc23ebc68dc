"""Arithmetic on the elements of matrices, and instructions on the components of cooperative vectors."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from generators.errors import GeneratorError, Rule
from generators.program import elementwise as language
from generators.program.values import CooperativeVector
from generators.spirv.enumerants import Decoration, GlslStd450, Op
from generators.spirv.shader import Shader, emits
from generators.spirv.values import compute
from generators.types import ComponentType

_OPCODES: Mapping[tuple[str, bool], Op] = MappingProxyType(
    {
        ("negate", True): Op.FNegate,
        ("add", True): Op.FAdd,
        ("subtract", True): Op.FSub,
        ("multiply", True): Op.FMul,
        ("divide", True): Op.FDiv,
        ("negate", False): Op.SNegate,
        ("add", False): Op.IAdd,
        ("subtract", False): Op.ISub,
        ("multiply", False): Op.IMul,
        ("signed_divide", False): Op.SDiv,
        ("unsigned_divide", False): Op.UDiv,
    }
)
"""The opcodes, by operator and whether the components are floats."""
_BITS: Mapping[language.BitOperator, Op] = MappingProxyType(
    {
        "and": Op.BitwiseAnd,
        "or": Op.BitwiseOr,
        "xor": Op.BitwiseXor,
        "shift_left": Op.ShiftLeftLogical,
        "shift_right_logical": Op.ShiftRightLogical,
        "shift_right_arithmetic": Op.ShiftRightArithmetic,
    }
)


def _check(component: ComponentType) -> None:
    if not component.has_arithmetic:
        raise GeneratorError(Rule.COMPONENT_TYPE, f"no arithmetic instruction takes {component}; use another component type")


def opcode(operator: str, component: ComponentType) -> Op:
    """Return the instruction that applies ``operator`` to components.

    Raises:
        GeneratorError: there is none.
    """
    _check(component)
    found = _OPCODES.get((operator, component.is_float))
    if found is None:
        raise GeneratorError("KHR-ARI-03", f"'{operator}' has no instruction for {component} (KHR-ARI-03)")
    if found is Op.UDiv and component.is_signed:
        raise GeneratorError(Rule.SIGNEDNESS, f"OpUDiv needs a type whose signedness is 0, not {component}; use its unsigned twin")
    return found


@emits(language.MatrixNegate, language.CooperativeVectorNegate)
def emit_negate(shader: Shader, operation: language.MatrixNegate | language.CooperativeVectorNegate) -> None:
    """Emit OpFNegate or OpSNegate."""
    compute(shader, opcode("negate", operation.result.type.component), operation.result, operation.operand)


@emits(language.MatrixArithmetic, language.CooperativeVectorArithmetic)
def emit_arithmetic(shader: Shader, operation: language.MatrixArithmetic | language.CooperativeVectorArithmetic) -> None:
    """Emit a binary instruction.

    Raises:
        GeneratorError: no instruction applies the operator to the component type.
    """
    op = opcode(operation.operator, operation.result.type.component)
    _decorate(shader, compute(shader, op, operation.result, operation.left, operation.right), operation.no_contraction)


@emits(language.MatrixTimesScalar)
def emit_times_scalar(shader: Shader, operation: language.MatrixTimesScalar) -> None:
    """Emit OpMatrixTimesScalar."""
    _check(operation.result.type.component)
    result = compute(shader, Op.MatrixTimesScalar, operation.result, operation.matrix, operation.scalar)
    _decorate(shader, result, operation.no_contraction)


@emits(language.CooperativeVectorTimesScalar)
def emit_vector_times_scalar(shader: Shader, operation: language.CooperativeVectorTimesScalar) -> None:
    """Emit OpVectorTimesScalar.

    Raises:
        GeneratorError: the components are not floats.
    """
    if not operation.result.type.component.is_float:
        raise GeneratorError("CV-ARI-03", f"OpVectorTimesScalar takes floats, not {operation.result.type.component} (CV-ARI-03)")
    result = compute(shader, Op.VectorTimesScalar, operation.result, operation.vector, operation.scalar)
    _decorate(shader, result, operation.no_contraction)


def _decorate(shader: Shader, result: int, no_contraction: bool) -> None:
    if no_contraction:
        shader.module.decorate(result, Decoration.NoContraction)


@emits(language.CooperativeVectorNot)
def emit_vector_not(shader: Shader, operation: language.CooperativeVectorNot) -> None:
    """Emit OpNot."""
    _check_integer(operation.result)
    compute(shader, Op.Not, operation.result, operation.operand)


@emits(language.CooperativeVectorBits)
def emit_vector_bits(shader: Shader, operation: language.CooperativeVectorBits) -> None:
    """Emit a bit instruction or a shift."""
    _check_integer(operation.result)
    compute(shader, _BITS[operation.operator], operation.result, operation.left, operation.right)


def _check_integer(result: CooperativeVector) -> None:
    if result.type.component.is_float:
        raise GeneratorError("CV-BIT-01", f"bit instructions take integers, not {result.type.component} (CV-BIT-01)")


@emits(language.CooperativeVectorConvert)
def emit_vector_convert(shader: Shader, operation: language.CooperativeVectorConvert) -> None:
    """Emit a conversion.

    Raises:
        GeneratorError: the instruction does not convert these types.
    """
    if not language.converts(operation):
        source, target = operation.vector.type, operation.result.type
        raise GeneratorError(
            Rule.NO_CONVERSION, f"Op{operation.conversion.value} does not convert {source} to {target} (CV-CVT-01, CV-CVT-02)"
        )
    compute(shader, Op.named(operation.conversion.value), operation.result, operation.vector)


@emits(language.CooperativeVectorFunction)
def emit_vector_function(shader: Shader, operation: language.CooperativeVectorFunction) -> None:
    """Emit an OpExtInst.

    Raises:
        GeneratorError: the function takes other components, or another number of arguments.
    """
    component = operation.result.type.component
    if not language.takes(operation.function, component) or len(operation.arguments) != language.ARGUMENTS[operation.function]:
        raise GeneratorError(
            "CV-ARI-04",
            f"{operation.function} takes {language.ARGUMENTS[operation.function]} vectors, but cannot take "
            f"{len(operation.arguments)} of {component} (CV-ARI-04)",
        )
    function = int(GlslStd450.named(operation.function))
    compute(shader, Op.ExtInst, operation.result, shader.module.instruction_set("GLSL.std.450"), function, *operation.arguments)
