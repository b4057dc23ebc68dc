"""OpCooperativeMatrixLoadTensorNV and OpCooperativeMatrixStoreTensorNV."""

from __future__ import annotations

from generators.program.tensor_access import POINTER_ALIGNMENT, TensorLoad, TensorStore
from generators.spirv.enumerants import Capability, Op, TensorAddressingOperands
from generators.spirv.functions import function_id
from generators.spirv.load_store import memory_operands
from generators.spirv.shader import Shader, emits


@emits(TensorLoad)
def emit_tensor_load(shader: Shader, load: TensorLoad) -> None:
    """Emit a load. Both masks are always there (CM2-LT-03)."""
    shader.module.require(Capability.CooperativeMatrixTensorAddressingNV)
    shader.module.value(
        Op.CooperativeMatrixLoadTensorNV,
        shader.matrix_type(load.result.type),
        shader.element(load.array, shader.id(load.first)),
        shader.define(load.before),
        shader.define(load.layout),
        *(memory_operands(shader, load.array, POINTER_ALIGNMENT, load.memory, int(load.result.type.scope_value), writes=False) or (0,)),
        *_addressing(shader, load),
        result=shader.define(load.result),
    )


@emits(TensorStore)
def emit_tensor_store(shader: Shader, store: TensorStore) -> None:
    """Emit a store."""
    shader.module.require(Capability.CooperativeMatrixTensorAddressingNV)
    shader.module.instruction(
        Op.CooperativeMatrixStoreTensorNV,
        shader.element(store.array, shader.id(store.first)),
        shader.define(store.matrix),
        shader.define(store.layout),
        *(memory_operands(shader, store.array, POINTER_ALIGNMENT, store.memory, int(store.matrix.type.scope_value), writes=True) or (0,)),
        *_addressing(shader, store),
    )


def _addressing(shader: Shader, access: TensorLoad | TensorStore) -> tuple[int, ...]:
    """Return the mask and its operands, in the order of the mask's bits."""
    mask = 0
    operands: list[int] = []
    if access.view is not None:
        mask |= TensorAddressingOperands.TensorView
        operands.append(shader.define(access.view))
    if isinstance(access, TensorLoad) and access.decode is not None:
        shader.module.require(Capability.CooperativeMatrixBlockLoadsNV)
        mask |= TensorAddressingOperands.DecodeFunc
        operands.append(function_id(shader, access.decode))
        if access.decode_vector is not None:
            shader.module.require(Capability.CooperativeMatrixDecodeVectorNV)
            mask |= TensorAddressingOperands.DecodeVectorFunc
            operands.append(function_id(shader, access.decode_vector))
    return mask, *operands
