"""Functions and calls. A function is emitted where it is first called, and stands after the entry point in the module."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from generators.errors import GeneratorError
from generators.program.control_flow import Hint
from generators.program.functions import Call, Function
from generators.program.values import Matrix, Operand, Scalar
from generators.spirv.declarations import scalar
from generators.spirv.enumerants import FunctionControl, Op
from generators.spirv.shader import Shader

_CONTROLS: Mapping[Hint, FunctionControl] = MappingProxyType(
    {"none": FunctionControl.None_, "for": FunctionControl.Inline, "against": FunctionControl.DontInline}
)


def emit_call(shader: Shader, call: Call) -> None:
    """Emits a call, and before the first one the function.

    Raises:
        GeneratorError: arguments and parameters differ in type or number.
    """
    function = call.function
    given = [_kind(argument) for argument in call.arguments]
    if given != [_kind(parameter) for parameter in function.parameters]:
        raise GeneratorError(f"a call of {function.name} needs arguments of the types of its parameters, in their order")
    id_ = shader.module.once(("function", function.name), lambda: _declare(shader, function))
    arguments = [shader.define(value) if isinstance(value, Matrix) else shader.scalar(value) for value in call.arguments]
    result = None if call.result is None else shader.define(call.result)
    shader.module.value(Op.FunctionCall, _type(shader, function.returned), id_, *arguments, result=result)


def _kind(value: Matrix | Scalar | Operand) -> object:
    return value.type if isinstance(value, Matrix) else value.component


def _type(shader: Shader, value: Matrix | Scalar | None) -> int:
    if value is None:
        return shader.module.type(Op.TypeVoid)
    return shader.matrix_type(value.type) if isinstance(value, Matrix) else scalar(shader.module, value.component)


def _declare(shader: Shader, function: Function) -> int:
    module = shader.module
    result = _type(shader, function.returned)
    types = [_type(shader, parameter) for parameter in function.parameters]
    type_ = module.type(Op.TypeFunction, result, *types)
    outside = shader.block, shader.loops
    with module.function(result, type_, function.name, _CONTROLS[function.control]) as id_:
        for parameter, parameter_type in zip(function.parameters, types, strict=True):
            module.value(Op.FunctionParameter, parameter_type, result=shader.define(parameter))
        shader.loops = []
        shader.begin_block(module.new_id(f"{function.name}_entry"))
        shader.emit(function.body)
        if function.returned is None:
            module.instruction(Op.Return)
        else:
            module.instruction(Op.ReturnValue, shader.define(function.returned))
    shader.block, shader.loops = outside
    return id_
