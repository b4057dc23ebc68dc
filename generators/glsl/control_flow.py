"""Loops that carry matrices: each carried matrix is a variable that the body assigns."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from generators.glsl.shader import Shader
from generators.glsl.spelling import identifier
from generators.glsl.variables import assignee, type_name
from generators.program.construction import MatrixSplat
from generators.program.control_flow import Carried, Exit, Loop
from generators.program.load_store import MatrixLoad
from generators.program.muladd import MatrixMulAdd
from generators.program.operation import Hint
from generators.program.walking import names_read

_ATTRIBUTES: Mapping[Hint, str] = MappingProxyType({"none": "", "for": "[[unroll]] ", "against": "[[dont_unroll]] "})


def emit_loop(shader: Shader, loop: Loop) -> None:
    """Write a loop."""
    for carried in loop.carried:
        shader.line(f"{assignee(shader, carried.current)} = {shader.text(carried.initial)};")
    in_place = {carried.next.name for carried in loop.carried if _in_place(loop, carried)}
    for carried in loop.carried:
        if carried.next.name in in_place:
            shader.variables[carried.next.name] = shader.text(carried.current)
    index, start, step = identifier(loop.index.name), shader.text(loop.start), shader.text(loop.step)
    onwards = f"++{index}" if step == "1u" else f"{index} += {step}"
    if loop.hint != "none":
        shader.require("GL_EXT_control_flow_attributes")
    with shader.braces(f"{_ATTRIBUTES[loop.hint]}for (uint {index} = {start}; {index} < {shader.text(loop.limit)}; {onwards})"):
        shader.emit(loop.body)
        _assign(shader, [carried for carried in loop.carried if carried.next.name not in in_place])


def _assign(shader: Shader, carried: list[Carried]) -> None:
    """Assign all values at once: first save every value that another assignment overwrites."""
    current = {item.current.name for item in carried}
    carried = [item for item in carried if item.next != item.current]
    values = {}
    for item in carried:
        values[item.current.name] = shader.text(item.next)
        if item.next.name in current:
            values[item.current.name] = identifier(f"{item.current.name}_next")
            type_ = type_name(shader, item.next.type)
            shader.line(f"{type_} {values[item.current.name]} = {shader.text(item.next)};")
    for item in carried:
        shader.line(f"{shader.text(item.current)} = {values[item.current.name]};")


def _in_place(loop: Loop, carried: Carried) -> bool:
    """Tell whether the operation that computes the next value may write it directly to the carried variable. This holds if the body neither
    reads the current value afterwards nor ends the iteration, and no other carried matrix takes the current or the next value."""
    computed = [
        isinstance(operation, MatrixLoad | MatrixSplat | MatrixMulAdd) and operation.result == carried.next for operation in loop.body
    ]
    if True not in computed:
        return False
    later = loop.body[computed.index(True) + 1 :]
    if any(isinstance(operation, Exit) for operation in later):
        return False
    others = {other.next.name for other in loop.carried if other is not carried}
    return not any(carried.current.name in names_read(operation) for operation in later) and others.isdisjoint(
        (carried.current.name, carried.next.name)
    )
