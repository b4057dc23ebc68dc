"""OpCooperativeVectorOuterProductAccumulateNV and OpCooperativeVectorReduceSumAccumulateNV."""

from __future__ import annotations

from generators.errors import GeneratorError
from generators.program.cooperative_vector_training import OuterProductAccumulate, ReduceSumAccumulate
from generators.spirv.cooperative_vector_matmul import interpretation_id, layout_id, stride_ids
from generators.spirv.cooperative_vectors import offset_id
from generators.spirv.enumerants import Capability, Op
from generators.spirv.shader import Shader, emits


@emits(OuterProductAccumulate)
def emit_outer_product(shader: Shader, operation: OuterProductAccumulate) -> None:
    """Emit OpCooperativeVectorOuterProductAccumulateNV.

    Raises:
        GeneratorError: A and B have different component types.
    """
    if operation.a.type.component is not operation.b.type.component:
        raise GeneratorError("CV-OPA-02", "the vectors of an outer product have one component type (CV-OPA-02)")
    shader.module.require(Capability.CooperativeVectorTrainingNV)
    shader.module.instruction(
        Op.CooperativeVectorOuterProductAccumulateNV,
        shader.elements(operation.array),
        offset_id(shader, operation.offset),
        shader.define(operation.a),
        shader.define(operation.b),
        layout_id(shader, operation.layout),
        interpretation_id(shader, operation.interpretation),
        *stride_ids(shader, operation.layout, operation.stride),
    )


@emits(ReduceSumAccumulate)
def emit_reduce_sum(shader: Shader, operation: ReduceSumAccumulate) -> None:
    """Emit OpCooperativeVectorReduceSumAccumulateNV."""
    shader.module.require(Capability.CooperativeVectorTrainingNV)
    pointer, offset = shader.elements(operation.array, operation.inner), offset_id(shader, operation.offset)
    shader.module.instruction(Op.CooperativeVectorReduceSumAccumulateNV, pointer, offset, shader.define(operation.vector))
