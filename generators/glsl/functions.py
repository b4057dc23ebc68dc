"""Functions and calls. glslang passes ``in`` parameters as pointers to copies, where the other reading passes values."""

from __future__ import annotations

from generators.errors import NotExpressible
from generators.glsl.shader import Shader
from generators.glsl.spelling import identifier
from generators.program.functions import Call, Function
from generators.program.values import Matrix, Scalar


def emit_call(shader: Shader, call: Call) -> None:
    """Writes a call, and before the first one the function.

    Raises:
        NotExpressible: the function has a control.
    """
    function = call.function
    if function.name not in shader.functions:
        shader.functions[function.name] = ()
        shader.functions[function.name] = _declared(shader, function)
        # A function that this one calls must stand before it.
        shader.functions[function.name] = shader.functions.pop(function.name)
    arguments = (shader.matrix(value) if isinstance(value, Matrix) else shader.scalar(value) for value in call.arguments)
    text = f"{identifier(function.name)}({', '.join(arguments)});"
    if isinstance(call.result, Matrix):
        text = f"{shader.assignee(call.result)} = {text}"
    elif call.result is not None:
        text = f"{_type(shader, call.result)} {identifier(call.result.name)} = {text}"
    shader.line(text)


def _type(shader: Shader, value: Matrix | Scalar | None) -> str:
    if value is None:
        return "void"
    return shader.matrix_type(value.type) if isinstance(value, Matrix) else shader.scalar_type(value.component)


def _declared(shader: Shader, function: Function) -> tuple[str, ...]:
    if function.control != "none":
        raise NotExpressible("GLSL has no words for a function control (Inline, DontInline)")
    parameters = ", ".join(f"{_type(shader, parameter)} {identifier(parameter.name)}" for parameter in function.parameters)
    with shader.apart() as lines, shader.braces(f"{_type(shader, function.returned)} {identifier(function.name)}({parameters})"):
        shader.emit(function.body)
        if function.returned is not None:
            value = function.returned
            shader.line(f"return {shader.matrix(value) if isinstance(value, Matrix) else identifier(value.name)};")
    return tuple(lines)
