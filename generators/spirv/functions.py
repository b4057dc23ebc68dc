"""Functions and calls. A function is emitted at its first call, and follows the entry point in the module."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from generators.program.control_flow import ReturnBoth
from generators.program.functions import Argument, Call, Function, Parameter, PointerParameter, check_call
from generators.program.operation import Hint
from generators.program.variables import Variable
from generators.spirv.control_flow import emit_return
from generators.spirv.enumerants import FunctionControl, Op
from generators.spirv.shader import Shader, emits
from generators.spirv.values import type_id
from generators.spirv.variables import declare, part_pointer, variable_pointer

CONTROLS: Mapping[Hint, FunctionControl] = MappingProxyType(
    {"none": FunctionControl.None_, "for": FunctionControl.Inline, "against": FunctionControl.DontInline}
)


@emits(Call)
def emit_call(shader: Shader, call: Call) -> None:
    """Emit a call, and before the first one the function.

    Raises:
        GeneratorError: arguments and parameters differ in type or number, or two pointers lead to one variable.
    """
    function = call.function
    check_call(call)
    id_ = function_id(shader, function)
    arguments = [_argument(shader, argument) for argument in call.arguments]
    result = None if call.result is None else shader.define(call.result)
    shader.module.value(Op.FunctionCall, _type(shader, function.returned), id_, *arguments, result=result)


def function_id(shader: Shader, function: Function) -> int:
    """Return the id of a function; emit the function the first time."""
    return shader.module.once(("function", function.name), lambda: _declare(shader, function))


def _argument(shader: Shader, argument: Argument) -> int:
    if isinstance(argument, Variable):
        return part_pointer(shader, argument, ())
    return shader.id(argument)


def _type(shader: Shader, value: Parameter | None) -> int:
    if value is None:
        return shader.module.type(Op.TypeVoid)
    return variable_pointer(shader, value.variable) if isinstance(value, PointerParameter) else type_id(shader, value.type)


def _declare(shader: Shader, function: Function) -> int:
    module = shader.module
    result = _type(shader, function.returned)
    types = [_type(shader, parameter) for parameter in function.parameters]
    type_ = module.type(Op.TypeFunction, result, *types)
    outside = shader.block, shader.loops
    names = shader.enter()
    with module.function(result, type_, function.name, CONTROLS[function.control]) as id_:
        for parameter, parameter_type in zip(function.parameters, types, strict=True):
            if isinstance(parameter, PointerParameter):
                shader.variables[parameter.name] = module.value(Op.FunctionParameter, parameter_type, result=module.new_id(parameter.name))
            else:
                module.value(Op.FunctionParameter, parameter_type, result=shader.define(parameter))
        shader.loops = []
        shader.begin_block(module.new_id(f"{function.name}_entry"))
        declare(shader, function.variables)
        shader.emit(function.body)
        if function.body and isinstance(function.body[-1], ReturnBoth):
            module.instruction(Op.Unreachable)
        else:
            emit_return(shader, function.returned)
    shader.block, shader.loops = outside
    shader.leave(names)
    return id_
