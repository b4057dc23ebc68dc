"""Conversion instructions on matrices, and changes of a matrix's use."""

from __future__ import annotations

from generators.errors import GeneratorError, Rule
from generators.program import conversion as language
from generators.spirv.enumerants import Capability, Decoration, Op
from generators.spirv.shader import Shader, emits
from generators.spirv.values import compute, type_id


@emits(language.MatrixConvert)
def emit_convert(shader: Shader, convert: language.MatrixConvert) -> None:
    """Emit a conversion.

    Raises:
        GeneratorError: the instruction does not convert these types.
    """
    maintenance1 = shader.program.maintenance1
    if not language.is_allowed_conversion(convert, maintenance1):
        source, target = convert.matrix.type, convert.result.type
        raise GeneratorError(
            Rule.NO_CONVERSION,
            f"Op{convert.conversion.value} from {source.component} to {target.component} is not allowed"
            f"{' with saturation' if convert.saturating else ''}, or the matrices differ in more than the component type; "
            "generators.program.conversion.conversions lists the allowed conversions (KHR-CVT-02, KHR-CVT-03)",
        )
    if language.changes_use(convert, maintenance1):
        shader.module.require(_use_capability(shader))
    _define(shader, convert)
    compute(shader, Op.named(convert.conversion.value), convert.result, convert.matrix)


@emits(language.TransposedConvert)
def emit_transposed_convert(shader: Shader, operation: language.TransposedConvert) -> None:
    """Emit the conversion and its decorations. Raises GeneratorError as ``check_transposed_conversion``."""
    language.check_transposed_conversion(operation, shader.program.maintenance1)
    module, conversion = shader.module, operation.conversion
    module.require(Capability.CooperativeMatrixConversionsEXT)
    module.decorate(shader.define(operation.result), Decoration.CooperativeMatrixTransposeEXT)
    _define(shader, operation)
    op = Op.CooperativeMatrixConvertUseEXT if conversion is None else Op.named(conversion.value)
    compute(shader, op, operation.result, operation.matrix)


def _define(shader: Shader, operation: language.MatrixConvert | language.TransposedConvert) -> None:
    """Give the result its id, and the decoration that saturates it."""
    result = shader.define(operation.result)
    if operation.saturating:
        shader.module.decorate(result, Decoration.SaturatedToLargestFloat8NormalConversionEXT)


@emits(language.UseConvert)
def emit_use_convert(shader: Shader, operation: language.UseConvert) -> None:
    """Emit a conversion of the use."""
    module = shader.module
    module.require(_use_capability(shader))
    type_, matrix = type_id(shader, operation.result.type), shader.define(operation.matrix)
    module.value(Op.CooperativeMatrixConvertUseEXT, type_, matrix, result=shader.define(operation.result))


@emits(language.Transpose)
def emit_transpose(shader: Shader, operation: language.Transpose) -> None:
    """Emit a transposition."""
    compute(shader, Op.CooperativeMatrixTransposeNV, operation.result, operation.matrix)


def _use_capability(shader: Shader) -> Capability:
    """Return the capability that lets conversions change the use: each extension has its own."""
    extended = shader.program.maintenance1
    return Capability.CooperativeMatrixConversionsEXT if extended else Capability.CooperativeMatrixConversionsNV
