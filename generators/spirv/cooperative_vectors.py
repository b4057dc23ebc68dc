"""Cooperative vectors: loads, stores, construction, and components at a run-time index."""

from __future__ import annotations

from generators.errors import GeneratorError, Rule
from generators.program.cooperative_vectors import (
    VECTOR_ALIGNMENT,
    CooperativeVectorConstant,
    CooperativeVectorExtract,
    CooperativeVectorInsert,
    CooperativeVectorLoad,
    CooperativeVectorNull,
    CooperativeVectorSplat,
    CooperativeVectorStore,
    CooperativeVectorUndefined,
)
from generators.program.values import CooperativeVectorType, ScalarValue
from generators.spirv.declarations import scalar
from generators.spirv.enumerants import Capability, Op
from generators.spirv.load_store import memory_operands
from generators.spirv.shader import Shader, emits
from generators.types import MemoryScope


def offset_id(shader: Shader, offset: ScalarValue) -> int:
    """Return the id of an offset in bytes.

    Raises:
        GeneratorError: it is not a 32-bit integer (RuntimeSpirv-OpCooperativeVectorLoadNV-11809).
    """
    if offset.type.is_float or offset.type.bits != 32:
        raise GeneratorError("CV-LD-05", f"offset {offset.name}: give a 32-bit integer, not {offset.type}")
    return shader.id(offset)


@emits(CooperativeVectorLoad)
def emit_vector_load(shader: Shader, load: CooperativeVectorLoad) -> None:
    """Emit OpCooperativeVectorLoadNV."""
    shader.module.value(
        Op.CooperativeVectorLoadNV,
        shader.vector_type(load.result.type),
        shader.elements(load.array),
        offset_id(shader, load.offset),
        *memory_operands(shader, load.array, VECTOR_ALIGNMENT, load.memory, int(MemoryScope.WORKGROUP), writes=False),
        result=shader.define(load.result),
    )


@emits(CooperativeVectorStore)
def emit_vector_store(shader: Shader, store: CooperativeVectorStore) -> None:
    """Emit OpCooperativeVectorStoreNV."""
    shader.module.instruction(
        Op.CooperativeVectorStoreNV,
        shader.elements(store.array),
        offset_id(shader, store.offset),
        shader.define(store.vector),
        *memory_operands(shader, store.array, VECTOR_ALIGNMENT, store.memory, int(MemoryScope.WORKGROUP), writes=True),
    )


@emits(CooperativeVectorSplat)
def emit_vector_splat(shader: Shader, splat: CooperativeVectorSplat) -> None:
    """Emit OpCompositeConstruct with a constituent for each component, or OpCompositeConstructReplicateEXT.

    Raises:
        GeneratorError: the length is not a literal, so the number of constituents is unknown.
    """
    type_, value = shader.vector_type(splat.result.type), shader.id(splat.value)
    if splat.replicated:
        shader.module.require(Capability.ReplicatedCompositesEXT)
        shader.module.value(Op.CompositeConstructReplicateEXT, type_, value, result=shader.define(splat.result))
        return
    constituents = [value] * _literal_length(splat.result.type)
    shader.module.value(Op.CompositeConstruct, type_, *constituents, result=shader.define(splat.result))


@emits(CooperativeVectorConstant)
def emit_vector_constant(shader: Shader, constant: CooperativeVectorConstant) -> None:
    """Declare a constant composite.

    Raises:
        GeneratorError: the number of values is not the number of components, or a value is not a constant.
    """
    specialized = any(value.source == "specialization" for value in constant.values)
    if any(value.source not in ("literal", "specialization") for value in constant.values):
        raise GeneratorError(Rule.CONSTANT_SOURCE, f"constant {constant.result.name}: its values are literals and specialization constants")
    if len(constant.values) != (1 if constant.replicated else _literal_length(constant.result.type)):
        raise GeneratorError(
            Rule.OPERAND_COUNT, f"constant {constant.result.name}: give a value for each component, and one for all if it is replicated"
        )
    if constant.replicated:
        shader.module.require(Capability.ReplicatedCompositesEXT)
        op = Op.SpecConstantCompositeReplicateEXT if specialized else Op.ConstantCompositeReplicateEXT
    else:
        op = Op.SpecConstantComposite if specialized else Op.ConstantComposite
    type_, values = shader.vector_type(constant.result.type), [shader.id(value) for value in constant.values]
    shader.module.new_constant(op, type_, *values, result=shader.define(constant.result))


@emits(CooperativeVectorNull)
def emit_vector_null(shader: Shader, null: CooperativeVectorNull) -> None:
    """Declare an OpConstantNull."""
    shader.module.new_constant(Op.ConstantNull, shader.vector_type(null.result.type), result=shader.define(null.result))


@emits(CooperativeVectorUndefined)
def emit_vector_undefined(shader: Shader, undefined: CooperativeVectorUndefined) -> None:
    """Emit an OpUndef, or declare it."""
    type_, result = shader.vector_type(undefined.result.type), shader.define(undefined.result)
    if undefined.place == "module":
        shader.module.new_constant(Op.Undef, type_, result=result)
    else:
        shader.module.value(Op.Undef, type_, result=result)


@emits(CooperativeVectorExtract)
def emit_vector_extract(shader: Shader, extract: CooperativeVectorExtract) -> None:
    """Emit OpVectorExtractDynamic."""
    type_ = scalar(shader.module, extract.result.type)
    vector, index = shader.define(extract.vector), shader.id(extract.index)
    shader.module.value(Op.VectorExtractDynamic, type_, vector, index, result=shader.define(extract.result))


@emits(CooperativeVectorInsert)
def emit_vector_insert(shader: Shader, insert: CooperativeVectorInsert) -> None:
    """Emit OpVectorInsertDynamic."""
    type_ = shader.vector_type(insert.result.type)
    operands = shader.define(insert.vector), shader.id(insert.part), shader.id(insert.index)
    shader.module.value(Op.VectorInsertDynamic, type_, *operands, result=shader.define(insert.result))


def _literal_length(type_: CooperativeVectorType) -> int:
    if not isinstance(type_.length, int):
        raise GeneratorError(
            "CV-COMP-04", "a vector whose length is a specialization constant can only be constructed by replication (CV-COMP-04)"
        )
    return type_.length
