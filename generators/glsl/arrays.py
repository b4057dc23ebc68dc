"""Single elements of arrays in memory: subscripts, and ``atomicAdd``."""

from __future__ import annotations

from generators.glsl.shader import Shader
from generators.glsl.variables import assignee
from generators.glsl.workgroup import SCOPES
from generators.program.arrays import ArrayLoad, ArrayStore, AtomicAdd


def emit_array_load(shader: Shader, operation: ArrayLoad) -> None:
    """Write the value of an element."""
    shader.line(f"{assignee(shader, operation.result)} = {_element(shader, operation)};")


def emit_array_store(shader: Shader, operation: ArrayStore) -> None:
    """Write an assignment to an element."""
    shader.line(f"{_element(shader, operation)} = {shader.text(operation.value)};")


def emit_atomic_add(shader: Shader, operation: AtomicAdd) -> None:
    """Write ``atomicAdd`` with a scope."""
    shader.require("GL_KHR_memory_scope_semantics")
    order = f"{SCOPES[operation.scope]}, gl_StorageSemanticsBuffer, gl_SemanticsAcquireRelease"
    call = f"atomicAdd({_element(shader, operation)}, {shader.text(operation.value)}, {order})"
    shader.line(f"{assignee(shader, operation.result)} = {call};")


def _element(shader: Shader, operation: ArrayLoad | ArrayStore | AtomicAdd) -> str:
    return f"{shader.elements(operation.array)}[{shader.text(operation.index)}]"
