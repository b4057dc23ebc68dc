"""Single elements of arrays in memory: subscripts, ``atomicAdd`` and ``atomicOr``."""

from __future__ import annotations

from generators.glsl.shader import Shader, prints
from generators.glsl.values import assign, assignee
from generators.glsl.workgroup import SCOPES
from generators.program.arrays import ArrayLoad, ArrayStore, AtomicAdd, AtomicOr
from generators.types import MemoryScope


@prints(ArrayLoad)
def emit_array_load(shader: Shader, operation: ArrayLoad) -> None:
    """Write the value of an element."""
    assign(shader, operation.result, _element(shader, operation))


@prints(ArrayStore)
def emit_array_store(shader: Shader, operation: ArrayStore) -> None:
    """Write an assignment to an element."""
    shader.line(f"{_element(shader, operation)} = {shader.text(operation.value)};")


@prints(AtomicAdd)
def emit_atomic_add(shader: Shader, operation: AtomicAdd) -> None:
    """Write ``atomicAdd`` with a scope."""
    shader.require("GL_KHR_memory_scope_semantics")
    order = f"{SCOPES[operation.scope]}, gl_StorageSemanticsBuffer, gl_SemanticsAcquireRelease"
    assign(shader, operation.result, f"atomicAdd({_element(shader, operation)}, {shader.text(operation.value)}, {order})")


@prints(AtomicOr)
def emit_atomic_or(shader: Shader, operation: AtomicOr) -> None:
    """Write ``atomicOr`` with a scope, and with memory order if the operation has any."""
    shader.require("GL_KHR_memory_scope_semantics")
    semantics = "Buffer, gl_SemanticsAcquireRelease" if operation.ordered else "None, gl_SemanticsRelaxed"
    order = f"{SCOPES[MemoryScope.QUEUE_FAMILY]}, gl_StorageSemantics{semantics}"
    result = operation.result
    before = "" if result is None else f"{assignee(shader, result)} = "
    shader.line(f"{before}atomicOr({_element(shader, operation)}, {shader.text(operation.value)}, {order});")


def _element(shader: Shader, operation: ArrayLoad | ArrayStore | AtomicAdd | AtomicOr) -> str:
    elements, index, inner = shader.elements(operation.array), shader.text(operation.index), operation.array.inner
    return f"{elements}[{index}]" if inner is None else f"{elements}[{index} / {inner.pitch}u][{index} % {inner.pitch}u]"
