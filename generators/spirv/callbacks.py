"""OpCooperativeMatrixReduceNV and OpCooperativeMatrixPerElementOpNV."""

from __future__ import annotations

from generators.program.callbacks import ExtraOperand, PerElement, Reduce, StructOperand, VectorOperand
from generators.program.values import is_aggregate
from generators.spirv.enumerants import Op
from generators.spirv.functions import function_id
from generators.spirv.shader import Shader, emits
from generators.spirv.values import compute, type_id


@emits(Reduce)
def emit_reduce(shader: Shader, operation: Reduce) -> None:
    """Emit the instruction; emit its function before the first use."""
    function = function_id(shader, operation.function)
    compute(shader, Op.CooperativeMatrixReduceEXT, operation.result, operation.matrix, int(operation.mode), function)


@emits(PerElement)
def emit_per_element(shader: Shader, operation: PerElement) -> None:
    """Emit the instruction; emit its function before the first use."""
    function = function_id(shader, operation.function)
    # The first three parameters are row, column and element.
    extra = [_extra(shader, operation, i, operand) for i, operand in enumerate(operation.extra, 3)]
    compute(shader, Op.CooperativeMatrixPerElementOpEXT, operation.result, operation.matrix, function, *extra)


def _extra(shader: Shader, operation: PerElement, place: int, operand: ExtraOperand) -> int:
    module = shader.module
    if isinstance(operand, VectorOperand | StructOperand):
        parameter = operation.function.parameters[place]
        assert is_aggregate(parameter), "a vector or struct is the operand of a parameter of its type"
        return module.value(Op.CompositeConstruct, type_id(shader, parameter.type), *(shader.id(part) for part in operand.parts))
    return shader.id(operand)
