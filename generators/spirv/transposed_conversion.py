"""Conversion instructions with the decoration CooperativeMatrixTransposeEXT."""

from __future__ import annotations

from generators.program.transposed_conversion import TransposedConvert, check_transposed_conversion
from generators.spirv.enumerants import Capability, Decoration, Op
from generators.spirv.shader import Shader, emits


@emits(TransposedConvert)
def emit_transposed_convert(shader: Shader, operation: TransposedConvert) -> None:
    """Emit the conversion and its decorations. Raises GeneratorError as ``check_transposed_conversion``."""
    check_transposed_conversion(operation, shader.program.maintenance1)
    module, conversion = shader.module, operation.conversion
    module.require(Capability.CooperativeMatrixConversionsEXT)
    result = shader.define(operation.result)
    module.decorate(result, Decoration.CooperativeMatrixTransposeEXT)
    if operation.saturating:
        module.decorate(result, Decoration.SaturatedToLargestFloat8NormalConversionEXT)
    op = Op.CooperativeMatrixConvertUseEXT if conversion is None else Op.named(conversion.value)
    module.value(op, shader.matrix_type(operation.result.type), shader.define(operation.matrix), result=result)
