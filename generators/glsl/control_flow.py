"""Loops that carry matrices: each carried matrix is a variable that the body assigns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType

from generators.glsl.shader import Shader
from generators.glsl.spelling import identifier
from generators.program.construction import MatrixSplat
from generators.program.control_flow import Carried, Exit, Hint, Loop, Merged, bodies
from generators.program.load_store import MatrixLoad
from generators.program.muladd import MatrixMulAdd
from generators.program.program import Operation
from generators.program.values import Matrix

_ATTRIBUTES: Mapping[Hint, str] = MappingProxyType({"none": "", "for": "[[unroll]] ", "against": "[[dont_unroll]] "})


def emit_loop(shader: Shader, loop: Loop) -> None:
    """Writes a loop."""
    for carried in loop.carried:
        shader.line(f"{shader.assignee(carried.current)} = {shader.matrix(carried.initial)};")
    in_place = {carried.next.name for carried in loop.carried if _in_place(loop, carried)}
    for carried in loop.carried:
        if carried.next.name in in_place:
            shader.variables[carried.next.name] = shader.matrix(carried.current)
    index, trip_count = identifier(loop.index.name), shader.scalar(loop.trip_count)
    if loop.hint != "none":
        shader.require("GL_EXT_control_flow_attributes")
    with shader.braces(f"{_ATTRIBUTES[loop.hint]}for (uint {index} = 0u; {index} < {trip_count}; ++{index})"):
        shader.emit(loop.body)
        _assign(shader, [carried for carried in loop.carried if carried.next.name not in in_place])


def _assign(shader: Shader, carried: list[Carried]) -> None:
    """All at once: what another assignment overwrites is kept first."""
    current = {item.current.name for item in carried}
    carried = [item for item in carried if item.next != item.current]
    values = {}
    for item in carried:
        values[item.current.name] = shader.matrix(item.next)
        if item.next.name in current:
            values[item.current.name] = identifier(f"{item.current.name}_next")
            shader.line(f"{shader.matrix_type(item.next.type)} {values[item.current.name]} = {shader.matrix(item.next)};")
    for item in carried:
        shader.line(f"{shader.matrix(item.current)} = {values[item.current.name]};")


def _in_place(loop: Loop, carried: Carried) -> bool:
    """Whether the operation that computes the next value may write it to the carried variable right away: the body reads the
    current value no more, nor ends the iteration, and no other carried matrix takes it or the next one over."""
    computed = [
        isinstance(operation, MatrixLoad | MatrixSplat | MatrixMulAdd) and operation.result == carried.next for operation in loop.body
    ]
    if True not in computed:
        return False
    later = loop.body[computed.index(True) + 1 :]
    if any(isinstance(operation, Exit) for operation in later):
        return False
    others = {other.next.name for other in loop.carried if other is not carried}
    return not any(carried.current.name in _reads(operation) for operation in later) and others.isdisjoint(
        (carried.current.name, carried.next.name)
    )


def _reads(operation: Operation) -> set[str]:
    """The names of the matrices that an operation and those inside of it read."""
    own = (getattr(operation, field.name) for field in fields(operation) if field.name != "result")
    inside = (_reads(inner) for body in bodies(operation) for inner in body)
    return set[str]().union(*(_names(value) for value in own), *inside)


def _names(value: object) -> set[str]:
    match value:
        case Matrix():
            return {value.name}
        case Carried():
            return {value.initial.name, value.next.name}
        case Merged():
            return _names(value.sources)
        case tuple():
            return set[str]().union(*(_names(part) for part in value))
        case _:
            return set()
