"""OpCooperativeMatrixPerElementOpNV."""

from __future__ import annotations

from generators.program.callbacks import StructParameter
from generators.program.per_element import ExtraOperand, PerElement, StructOperand, VectorOperand
from generators.program.values import Matrix
from generators.spirv.callbacks import callback, callback_struct
from generators.spirv.declarations import scalar
from generators.spirv.enumerants import Capability, Op
from generators.spirv.shader import Shader


def emit_per_element(shader: Shader, operation: PerElement) -> None:
    """Emits the instruction, and before the first one that uses it the function."""
    shader.module.require(Capability.CooperativeMatrixPerElementOperationsEXT)
    function = callback(shader, operation.function)
    # The first three parameters are row, column and element.
    extra = [_extra(shader, operation, i, operand) for i, operand in enumerate(operation.extra, 3)]
    shader.module.value(
        Op.CooperativeMatrixPerElementOpEXT,
        shader.matrix_type(operation.result.type),
        shader.define(operation.matrix),
        function,
        *extra,
        result=shader.define(operation.result),
    )


def _extra(shader: Shader, operation: PerElement, place: int, operand: ExtraOperand) -> int:
    module = shader.module
    if isinstance(operand, Matrix):
        return shader.define(operand)
    if isinstance(operand, VectorOperand):
        lanes = [shader.scalar(lane) for lane in operand.lanes]
        type_ = module.type(Op.TypeVector, scalar(module, operand.lanes[0].component), len(lanes))
        return module.value(Op.CompositeConstruct, type_, *lanes)
    if isinstance(operand, StructOperand):
        parameter = operation.function.parameters[place]
        assert isinstance(parameter, StructParameter), "a struct operand is for a struct parameter"
        members = [shader.scalar(member) for member in operand.members]
        return module.value(Op.CompositeConstruct, callback_struct(shader, parameter.type_name, parameter.members), *members)
    return shader.scalar(operand)
