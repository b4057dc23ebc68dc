"""Arithmetic on the elements of matrices."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from generators.errors import GeneratorError, Rule
from generators.program.elementwise import MatrixArithmetic, MatrixNegate, MatrixTimesScalar
from generators.program.values import Matrix
from generators.spirv.enumerants import Decoration, Op
from generators.spirv.shader import Shader, emits
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


def _define(shader: Shader, result: Matrix, no_contraction: bool) -> int:
    id_ = shader.define(result)
    if no_contraction:
        shader.module.decorate(id_, Decoration.NoContraction)
    return id_


@emits(MatrixNegate)
def emit_negate(shader: Shader, operation: MatrixNegate) -> None:
    """Emit OpFNegate or OpSNegate."""
    op = opcode("negate", operation.result.type.component)
    type_ = shader.matrix_type(operation.result.type)
    shader.module.value(op, type_, shader.define(operation.operand), result=shader.define(operation.result))


@emits(MatrixArithmetic)
def emit_elementwise(shader: Shader, operation: MatrixArithmetic) -> None:
    """Emit a binary instruction.

    Raises:
        GeneratorError: no instruction applies the operator to the component type.
    """
    op = opcode(operation.operator, operation.result.type.component)
    type_ = shader.matrix_type(operation.result.type)
    left, right = shader.define(operation.left), shader.define(operation.right)
    shader.module.value(op, type_, left, right, result=_define(shader, operation.result, operation.no_contraction))


@emits(MatrixTimesScalar)
def emit_times_scalar(shader: Shader, operation: MatrixTimesScalar) -> None:
    """Emit OpMatrixTimesScalar."""
    _check(operation.result.type.component)
    type_ = shader.matrix_type(operation.result.type)
    matrix, scalar = shader.define(operation.matrix), shader.id(operation.scalar)
    result = _define(shader, operation.result, operation.no_contraction)
    shader.module.value(Op.MatrixTimesScalar, type_, matrix, scalar, result=result)
