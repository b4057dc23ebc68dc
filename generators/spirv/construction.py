"""Constructed matrices: constants, null, undefined, and composites of a scalar."""

from __future__ import annotations

from generators.errors import GeneratorError, Rule
from generators.program.construction import MatrixConstant, MatrixNull, MatrixSplat, MatrixUndefined
from generators.spirv.enumerants import Capability, Op
from generators.spirv.shader import Shader, emits

_CONSTANTS = {
    (False, False): Op.ConstantComposite,
    (False, True): Op.SpecConstantComposite,
    (True, False): Op.ConstantCompositeReplicateEXT,
    (True, True): Op.SpecConstantCompositeReplicateEXT,
}
"""By whether the instruction replicates, and whether it is for specialization."""


@emits(MatrixSplat)
def emit_splat(shader: Shader, splat: MatrixSplat) -> None:
    """Emit an OpCompositeConstruct of one constituent, or an OpCompositeConstructReplicateEXT."""
    op = Op.CompositeConstruct
    if splat.replicated:
        shader.module.require(Capability.ReplicatedCompositesEXT)
        op = Op.CompositeConstructReplicateEXT
    type_ = shader.matrix_type(splat.result.type)
    shader.module.value(op, type_, shader.id(splat.value), result=shader.define(splat.result))


@emits(MatrixConstant)
def emit_constant(shader: Shader, constant: MatrixConstant) -> None:
    """Declare a constant composite of one constituent.

    Raises:
        GeneratorError: the constituent is not a constant.
    """
    if constant.value.source not in ("literal", "specialization"):
        raise GeneratorError(
            Rule.CONSTANT_SOURCE, f"constant {constant.result.name}: its value comes from a {constant.value.source}; make it a splat"
        )
    if constant.replicated:
        shader.module.require(Capability.ReplicatedCompositesEXT)
    op = _CONSTANTS[constant.replicated, constant.specializable or constant.value.source == "specialization"]
    type_, value = shader.matrix_type(constant.result.type), shader.id(constant.value)
    shader.module.new_constant(op, type_, value, result=shader.define(constant.result))


@emits(MatrixNull)
def emit_null(shader: Shader, null: MatrixNull) -> None:
    """Declare an OpConstantNull."""
    shader.module.new_constant(Op.ConstantNull, shader.matrix_type(null.result.type), result=shader.define(null.result))


@emits(MatrixUndefined)
def emit_undefined(shader: Shader, undefined: MatrixUndefined) -> None:
    """Emit an OpUndef, or declare it."""
    type_, result = shader.matrix_type(undefined.result.type), shader.define(undefined.result)
    if undefined.place == "module":
        shader.module.new_constant(Op.Undef, type_, result=result)
    else:
        shader.module.value(Op.Undef, type_, result=result)
