"""OpCooperativeMatrixReduceNV."""

from __future__ import annotations

from generators.program.reduce import Reduce
from generators.spirv.enumerants import Capability, Op
from generators.spirv.functions import function_id
from generators.spirv.shader import Shader, emits


@emits(Reduce)
def emit_reduce(shader: Shader, operation: Reduce) -> None:
    """Emit the instruction; emit its function before the first use."""
    shader.module.require(Capability.CooperativeMatrixReductionsEXT)
    function = function_id(shader, operation.function)
    type_ = shader.matrix_type(operation.result.type)
    matrix, result = shader.define(operation.matrix), shader.define(operation.result)
    shader.module.value(Op.CooperativeMatrixReduceEXT, type_, matrix, int(operation.mode), function, result=result)
