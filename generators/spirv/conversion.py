"""Conversion instructions on matrices."""

from __future__ import annotations

from generators.errors import GeneratorError, Rule
from generators.program.conversion import MatrixConvert, changes_use, is_allowed
from generators.spirv.enumerants import Decoration, Op
from generators.spirv.shader import Shader, emits
from generators.spirv.use_conversion import use_capability


@emits(MatrixConvert)
def emit_convert(shader: Shader, convert: MatrixConvert) -> None:
    """Emit a conversion.

    Raises:
        GeneratorError: the instruction does not convert these types.
    """
    maintenance1 = shader.program.maintenance1
    if not is_allowed(convert, maintenance1):
        source, target = convert.matrix.type, convert.result.type
        raise GeneratorError(
            Rule.NO_CONVERSION,
            f"Op{convert.conversion.value} from {source.component} to {target.component} is not allowed"
            f"{' with saturation' if convert.saturating else ''}, or the matrices differ in more than the component type; "
            "generators.program.conversion.conversions lists the allowed conversions (KHR-CVT-02, KHR-CVT-03)",
        )
    if changes_use(convert, maintenance1):
        shader.module.require(use_capability(shader))
    result = shader.define(convert.result)
    if convert.saturating:
        shader.module.decorate(result, Decoration.SaturatedToLargestFloat8NormalConversionEXT)
    op = Op.named(convert.conversion.value)
    shader.module.value(op, shader.matrix_type(convert.result.type), shader.define(convert.matrix), result=result)
