"""coopMatLoadTensorNV and coopMatStoreTensorNV (GL_NV_cooperative_matrix2)."""

from __future__ import annotations

from generators.errors import Lack, NotExpressible
from generators.glsl.functions import callback
from generators.glsl.shader import Shader, prints
from generators.glsl.spelling import identifier
from generators.glsl.values import assign
from generators.program.functions import Function
from generators.program.tensor_access import TensorLoad, TensorStore
from generators.program.values import ScalarValue, is_aggregate
from generators.program.variables import part_type
from generators.types import COMPONENT_TYPES

S32 = COMPONENT_TYPES["s32"]


@prints(TensorLoad)
def emit_tensor_load(shader: Shader, load: TensorLoad) -> None:
    """Write a load into a matrix that holds the previous elements."""
    assign(shader, load.result, shader.text(load.before))
    shader.line(f"coopMatLoadTensorNV({_arguments(shader, shader.text(load.result), load)});")


@prints(TensorStore)
def emit_tensor_store(shader: Shader, store: TensorStore) -> None:
    """Write a store."""
    shader.line(f"coopMatStoreTensorNV({_arguments(shader, shader.text(store.matrix), store)});")


def _arguments(shader: Shader, matrix: str, access: TensorLoad | TensorStore) -> str:
    shader.require("GL_NV_cooperative_matrix2")
    parts = [matrix, shader.elements(access.array), _first(shader, access.first), identifier(access.layout.name)]
    if access.view is not None:
        parts.append(identifier(access.view.name))
    if isinstance(access, TensorLoad) and access.decode is not None:
        parts.append(callback(shader, _decode(access.decode)))
        if access.decode_vector is not None:
            shader.require("GL_NV_cooperative_matrix_decode_vector")
            parts.append(callback(shader, _decode(access.decode_vector)))
    return ", ".join(parts)


def _decode(function: Function) -> Function:
    if any(is_aggregate(parameter) and part_type(parameter.type, (0,)) is S32 for parameter in function.parameters):
        raise NotExpressible(Lack.COORDINATE_TYPE, "the coordinates that a decode function gets are uint in GLSL, not int")
    return function


def _first(shader: Shader, value: ScalarValue) -> str:
    if value.type.is_float or value.type.bits != 32:
        raise NotExpressible(Lack.INDEX_TYPE, f"the first element is a uint in GLSL, not {value.type}")
    return shader.text(value)
