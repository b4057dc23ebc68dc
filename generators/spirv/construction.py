"""Constructed matrices and cooperative vectors: constants, null, undefined, and composites of a scalar."""

from __future__ import annotations

from generators.errors import GeneratorError, Rule
from generators.program import construction as language
from generators.program.values import CooperativeVectorType, MatrixType
from generators.spirv.enumerants import Op
from generators.spirv.shader import Shader, emits
from generators.spirv.values import capabilities, compute, type_id

_CONSTANTS = {
    (False, False): Op.ConstantComposite,
    (False, True): Op.SpecConstantComposite,
    (True, False): Op.ConstantCompositeReplicateEXT,
    (True, True): Op.SpecConstantCompositeReplicateEXT,
}
"""By whether the instruction replicates, and whether it is for specialization."""


@emits(language.MatrixSplat, language.CooperativeVectorSplat)
def emit_splat(shader: Shader, splat: language.MatrixSplat | language.CooperativeVectorSplat) -> None:
    """Emit an OpCompositeConstructReplicateEXT, or an OpCompositeConstruct: of one constituent for a matrix, of one for each component for
    a vector.

    Raises:
        GeneratorError: the length of the vector is not a literal, so the number of constituents is unknown.
    """
    if splat.replicated:
        compute(shader, Op.CompositeConstructReplicateEXT, splat.result, splat.value)
        return
    count = 1 if isinstance(splat, language.MatrixSplat) else _literal_length(splat.result.type)
    compute(shader, Op.CompositeConstruct, splat.result, *[splat.value] * count)


@emits(language.MatrixConstant, language.CooperativeVectorConstant)
def emit_constant(shader: Shader, constant: language.MatrixConstant | language.CooperativeVectorConstant) -> None:
    """Declare a constant composite.

    Raises:
        GeneratorError: a constituent is not a constant, or their number is not the number of a vector's components.
    """
    name, values, type_ = constant.result.name, constant.values, constant.result.type
    for value in values:
        if value.source not in ("literal", "specialization"):
            raise GeneratorError(Rule.CONSTANT_SOURCE, f"constant {name}: a value comes from a {value.source}; make it a splat")
    if len(values) != (1 if constant.replicated or isinstance(type_, MatrixType) else _literal_length(type_)):
        raise GeneratorError(Rule.OPERAND_COUNT, f"constant {name}: give a value for each component, and one for all if it is replicated")
    op = _CONSTANTS[constant.replicated, is_specialized(constant)]
    shader.module.require(*capabilities(op))
    type_word, words = type_id(shader, type_), [shader.id(value) for value in values]
    shader.module.new_constant(op, type_word, *words, result=shader.define(constant.result))


def is_specialized(constant: language.MatrixConstant | language.CooperativeVectorConstant) -> bool:
    """Return whether a specialization-constant instruction declares the constant."""
    forced = isinstance(constant, language.MatrixConstant) and constant.specializable
    return forced or any(value.source == "specialization" for value in constant.values)


@emits(language.MatrixNull, language.CooperativeVectorNull)
def emit_null(shader: Shader, null: language.MatrixNull | language.CooperativeVectorNull) -> None:
    """Declare an OpConstantNull."""
    shader.module.new_constant(Op.ConstantNull, type_id(shader, null.result.type), result=shader.define(null.result))


@emits(language.MatrixUndefined, language.CooperativeVectorUndefined)
def emit_undefined(shader: Shader, undefined: language.MatrixUndefined | language.CooperativeVectorUndefined) -> None:
    """Emit an OpUndef, or declare it."""
    add = shader.module.new_constant if undefined.place == "module" else shader.module.value
    add(Op.Undef, type_id(shader, undefined.result.type), result=shader.define(undefined.result))


def _literal_length(type_: CooperativeVectorType) -> int:
    if not isinstance(type_.length, int):
        raise GeneratorError(
            "CV-COMP-04", "a vector whose length is a specialization constant can only be constructed by replication (CV-COMP-04)"
        )
    return type_.length
