"""coopMatLoad and coopMatStore (GL_KHR_cooperative_matrix, 8.X)."""

from __future__ import annotations

from generators.errors import Lack, NotExpressible
from generators.glsl.shader import REFERENCE_MEMBER, Shader, prints
from generators.glsl.spelling import LAYOUTS
from generators.glsl.values import declared
from generators.glsl.variables import part
from generators.program.load_store import MatrixLoad, MatrixStore, MemoryLayout
from generators.program.memory import Array, Inner
from generators.program.values import ScalarValue
from generators.types import Layout


@prints(MatrixLoad)
def emit_load(shader: Shader, load: MatrixLoad) -> None:
    """Write a load; it writes directly to a part of a variable if nothing else reads the matrix."""
    if store := shader.loaded_into.get(load.result.name):
        target = part(shader, store.variable, store.path)
        shader.line(f"coopMatLoad({_arguments(shader, target, load.array, load.first, load.stride, load.layout)});")
        return
    shader.line(f"coopMatLoad({_arguments(shader, declared(shader, load.result), load.array, load.first, load.stride, load.layout)});")


@prints(MatrixStore)
def emit_store(shader: Shader, store: MatrixStore) -> None:
    """Write a store."""
    shader.line(f"coopMatStore({_arguments(shader, shader.text(store.matrix), store.array, store.first, store.stride, store.layout)});")


def _arguments(shader: Shader, matrix: str, array: Array, first: ScalarValue, stride: ScalarValue, layout: MemoryLayout) -> str:
    if array.pointee.component.name == "u64":
        # glslang 16.6 asks for GL_EXT_shader_64bit_indexing, and with it finds the call ambiguous; it accepts int64_t.
        raise NotExpressible(Lack.POINTEE, f"glslang has no matrix access to arrays of uint64_t such as '{array.name}'")
    return call_arguments(shader, matrix, shader.elements(array), first, stride, layout, array.inner)


def call_arguments(
    shader: Shader,
    matrix: str,
    elements: str,
    first: ScalarValue,
    stride: ScalarValue,
    layout: MemoryLayout,
    inner: Inner | None = None,
) -> str:
    """Return the arguments of coopMatLoad and coopMatStore.

    Raises:
        NotExpressible: the first element or the stride is not a uint, or the layout is not a constant.
    """
    element = _uint(shader, first, "first element")
    if inner is not None:
        elements = f"{elements}[{element} / {inner.pitch}u]"
        element = f"{element} % {inner.pitch}u"
        if inner.head:
            elements, element = f"{elements}.{REFERENCE_MEMBER}", f"{element} - {inner.head}u"
    parts = (
        matrix,
        elements,
        element,
        _uint(shader, stride, "stride"),
        _layout(shader, layout),
    )
    return ", ".join(parts)


def _uint(shader: Shader, value: ScalarValue, what: str) -> str:
    """Return the value as uint, the type of the parameters. An int keeps its bits. Any other width would be converted, so the module would
    differ from the program."""
    if value.type.is_float or value.type.bits != 32:
        raise NotExpressible(Lack.INDEX_TYPE, f"the {what} is a uint in GLSL, not {value.type}")
    return shader.text(value)


def _layout(shader: Shader, layout: MemoryLayout) -> str:
    """Return the layout. A specialization constant of type uint is converted, and the conversion is still a constant instruction."""
    if isinstance(layout, Layout):
        return LAYOUTS[layout]
    if layout.source not in ("literal", "specialization"):
        raise NotExpressible(Lack.CONSTANT, f"the layout must be a constant, but '{layout.name}' is not one")
    expression = shader.text(layout)
    return expression if layout.type.name == "s32" else f"int({expression})"
