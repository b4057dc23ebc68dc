"""Functions and calls. glslang passes all parameters as pointers to copies, and copies ``out`` and ``inout`` parameters back after the
call. The other reading passes values and the caller's own variables."""

from __future__ import annotations

from generators.errors import Lack, NotExpressible
from generators.glsl.shader import Shader, prints
from generators.glsl.spelling import identifier
from generators.glsl.values import check_movable, type_name
from generators.glsl.variables import declare
from generators.program.control_flow import ReturnBoth
from generators.program.functions import Argument, Call, Function, Parameter, PointerParameter
from generators.program.values import AnyValue, is_matrix
from generators.program.variables import Variable


@prints(Call)
def emit_call(shader: Shader, call: Call) -> None:
    """Write a call, and before the first one the function.

    Raises:
        NotExpressible: the function has a control.
    """
    name = _name(shader, call.function)
    arguments = (_argument(shader, argument) for argument in call.arguments)
    text = f"{name}({', '.join(arguments)});"
    if is_matrix(call.result):
        text = f"{shader.assignee(call.result)} = {text}"
    elif call.result is not None:
        text = f"{_type(shader, call.result)} {identifier(call.result.name)} = {text}"
    shader.line(text)


def callback(shader: Shader, function: Function) -> str:
    """Return the name of a function that an instruction calls; write the function the first time. Its parameters, and the parameters of the
    functions that it calls, are ``const in``.

    Raises:
        NotExpressible: the function has a control.
    """
    before, shader.constant_parameters = shader.constant_parameters, True
    name = _name(shader, function)
    shader.constant_parameters = before
    return name


def _name(shader: Shader, function: Function) -> str:
    """Return the name of a function; write the function the first time."""
    if function.name not in shader.functions:
        shader.functions[function.name] = ()
        shader.functions[function.name] = _declared(shader, function)
        # Functions that this one calls must come before it.
        shader.functions[function.name] = shader.functions.pop(function.name)
    return identifier(function.name)


def _argument(shader: Shader, argument: Argument) -> str:
    if isinstance(argument, Variable):
        check_movable(argument.type)
        return identifier(argument.name)
    return shader.text(argument)


def _parameter(shader: Shader, parameter: Parameter) -> str:
    if isinstance(parameter, PointerParameter):
        return f"{parameter.direction} {type_name(shader, parameter.variable.type)} {identifier(parameter.name)}"
    constant = "const in " if shader.constant_parameters else ""
    return f"{constant}{type_name(shader, parameter.type)} {identifier(parameter.name)}"


def _type(shader: Shader, value: AnyValue | None) -> str:
    if value is None:
        return "void"
    return type_name(shader, value.type)


def _declared(shader: Shader, function: Function) -> tuple[str, ...]:
    if function.control != "none":
        raise NotExpressible(Lack.FUNCTION_CONTROL, "GLSL has no syntax for a function control (Inline, DontInline)")
    parameters = ", ".join(_parameter(shader, parameter) for parameter in function.parameters)
    names, shader.variables = shader.variables, {}
    with shader.apart() as lines, shader.braces(f"{_type(shader, function.returned)} {identifier(function.name)}({parameters})"):
        declare(shader, function.variables)
        shader.emit(function.body)
        ended = bool(function.body) and isinstance(function.body[-1], ReturnBoth)
        if function.returned is not None and not ended:
            shader.line(f"return {shader.text(function.returned)};")
    shader.variables = names
    return tuple(lines)
