"""coopVecOuterProductAccumulateNV and coopVecReduceSumAccumulateNV (GL_NV_cooperative_vector, 8.X)."""

from __future__ import annotations

from generators.errors import Lack, NotExpressible
from generators.glsl.cooperative_vector_matmul import interpretation, layout, stride
from generators.glsl.cooperative_vectors import uint
from generators.glsl.shader import Shader, prints
from generators.program.cooperative_vector_training import OuterProductAccumulate, ReduceSumAccumulate
from generators.program.memory import Array
from generators.program.values import ScalarValue


@prints(OuterProductAccumulate)
def emit_outer_product(shader: Shader, operation: OuterProductAccumulate) -> None:
    """Write an accumulation of an outer product.

    Raises:
        NotExpressible: the stride is left out, or the array has vectors.
    """
    arguments = (
        shader.text(operation.a),
        shader.text(operation.b),
        _scalars(shader, operation.array),
        uint(shader, operation.offset, "offset"),
        stride(shader, operation.stride),
        layout(shader, operation.layout),
        interpretation(shader, operation.interpretation),
    )
    shader.line(f"coopVecOuterProductAccumulateNV({', '.join(arguments)});")


@prints(ReduceSumAccumulate)
def emit_reduce_sum(shader: Shader, operation: ReduceSumAccumulate) -> None:
    """Write an accumulation of a vector.

    Raises:
        NotExpressible: the array has vectors.
    """
    offset = uint(shader, operation.offset, "offset")
    shader.line(
        f"coopVecReduceSumAccumulateNV({shader.text(operation.vector)}, {_scalars(shader, operation.array, operation.inner)}, {offset});"
    )


def _scalars(shader: Shader, array: Array, inner: ScalarValue | None = None) -> str:
    if array.pointee.lanes > 1:
        raise NotExpressible(Lack.POINTEE, "GLSL accumulates only in arrays of scalars")
    return shader.elements(array, inner)
