"""Components of the invocation: ``length()`` and subscripts (GL_KHR_cooperative_matrix, 5.X)."""

from __future__ import annotations

from generators.errors import NotExpressible
from generators.glsl.shader import Shader
from generators.glsl.variables import part
from generators.program.elements import ElementFunction, ElementUpdate


def _applied(shader: Shader, function: ElementFunction, value: str, turned: bool = False) -> str:
    for operand, operator in ((function.factor, "*"), (function.addend, "+")):
        if operand is not None:
            text = shader.text(operand)
            value = f"{text} {operator} {value}" if turned else f"{value} {operator} {text}"
    return value


def _update(shader: Shader, update: ElementUpdate, index: str) -> None:
    target = f"{part(shader, update.target, update.target_path)}[{index}]"
    shader.line(f"{shader.scalar_type(update.type.component)} value = {part(shader, update.source, update.source_path)}[{index}];")
    assign = f"{target} = {_applied(shader, update.function, 'value')};"
    match update.condition:
        case "always":
            shader.line(assign)
        case "below":
            assert update.threshold is not None, "a comparison has a threshold"
            with shader.braces(f"if (value < {shader.text(update.threshold)})"):
                shader.line(assign)
        case _:
            with shader.braces("if ((gl_LocalInvocationIndex & 1u) != 0u)"):
                shader.line(assign)
            with shader.braces("else"):
                shader.line(f"{target} = {_applied(shader, update.function, 'value', turned=True)};")


def emit_element_update(shader: Shader, update: ElementUpdate) -> None:
    """Writes the leading components, then a loop over the others.

    Raises:
        NotExpressible: the component type has no arithmetic in GLSL.
    """
    component = update.type.component
    if not component.has_arithmetic and update.function != ElementFunction():
        raise NotExpressible(f"GLSL has no arithmetic on {component}")
    length = f"{part(shader, update.source, update.source_path)}.length()"
    for k in range(update.leading):
        with shader.braces(f"if ({k} < {length})"):
            _update(shader, update, str(k))
    with shader.braces(f"for (int component = {update.leading}; component < {length}; ++component)"):
        _update(shader, update, "component")
