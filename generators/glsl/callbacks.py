"""Functions that matrix instructions call. Their parameters are all ``const in``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from generators.errors import NotExpressible
from generators.glsl.shader import Shader
from generators.glsl.spelling import SPELLINGS, identifier, literal
from generators.program.callbacks import (
    ArrayParameter,
    Binary,
    BlockRead,
    BlockType,
    Called,
    Choose,
    Constant,
    Converted,
    ElementFunction,
    ElementRead,
    Expression,
    Operator,
    Outside,
    Parameter,
    Part,
    PointerParameter,
    ScalarParameter,
    StructParameter,
    VectorParameter,
    Whole,
)
from generators.program.memory import Pointee

_OPERATORS: Mapping[Operator, str] = MappingProxyType(
    {
        "add": "+",
        "subtract": "-",
        "multiply": "*",
        "and": "&",
        "or": "|",
        "xor": "^",
        "shift_left": "<<",
        "shift_right": ">>",
        "equal": "==",
        "less": "<",
    }
)


def callback(shader: Shader, function: ElementFunction) -> str:
    """The name of a function, which is written before ``main`` the first time.

    Raises:
        NotExpressible: the function has a control.
    """
    name = identifier(function.name)
    if name not in shader.functions:
        if function.control != "none":
            raise NotExpressible("GLSL has no words for a function control (Inline, DontInline)")
        # What it calls is written, and so stands, before it.
        result = _text(shader, function.result)
        parameters = ", ".join(f"const in {_parameter(shader, parameter)}" for parameter in function.parameters)
        head = f"{shader.scalar_type(function.result.component)} {name}({parameters}) {{"
        shader.functions[name] = (head, f"    return {result};", "}")
    return name


def struct_name(shader: Shader, parameter: StructParameter) -> str:
    """The name of a struct of scalars, which is declared the first time."""
    name = identifier(parameter.type_name)
    shader.structs.setdefault(name, tuple(f"{shader.scalar_type(member)} member{i};" for i, member in enumerate(parameter.members)))
    return name


def _parameter(shader: Shader, parameter: Parameter) -> str:
    name = identifier(parameter.name)
    match parameter:
        case ScalarParameter():
            return f"{shader.scalar_type(parameter.component)} {name}"
        case VectorParameter():
            return f"{shader.pointee_type(Pointee(parameter.component, parameter.lanes))} {name}"
        case StructParameter():
            return f"{struct_name(shader, parameter)} {name}"
        case ArrayParameter():
            return f"{shader.scalar_type(parameter.component)} {name}[{parameter.length}]"
        case PointerParameter():
            return f"{_reference(shader, parameter.block)} {name}"


def _reference(shader: Shader, block: BlockType) -> str:
    """The name of a buffer reference, which is declared the first time."""
    name = identifier(block.name)
    shader.require("GL_EXT_buffer_reference", "GL_EXT_scalar_block_layout")
    members = []
    for i, member in enumerate(block.members):
        length = "" if member.length is None else f"[{member.length}]"
        members.append(f"layout(offset = {member.offset}) {shader.scalar_type(member.component)} member{i}{length};")
    head = f"layout(buffer_reference, scalar, buffer_reference_align = {block.alignment}) readonly buffer {name}"
    shader.references.setdefault(name, (f"{head} {{", *(f"    {member}" for member in members), "};"))
    return name


def _text(shader: Shader, expression: Expression) -> str:
    match expression:
        case ScalarParameter():
            return identifier(expression.name)
        case Constant():
            shader.scalar_type(expression.component)
            return literal(expression.component, expression.bits)
        case Outside():
            return shader.scalar(expression.operand)
        case Part():
            return f"{identifier(expression.of.name)}{_step(expression)}"
        case BlockRead():
            index = "" if expression.index is None else f"[{_text(shader, expression.index)}]"
            return f"{identifier(expression.pointer.name)}.member{expression.member}{index}"
        case ElementRead():
            return f"{shader.elements(expression.array)}[{_text(shader, expression.index)}]"
        case Binary():
            return _binary(shader, expression)
        case Choose():
            parts = (_text(shader, part) for part in (expression.condition, expression.then, expression.otherwise))
            return "({} ? {} : {})".format(*parts)
        case Converted():
            return f"{shader.scalar_type(expression.component)}({_text(shader, expression.value)})"
        case Called():
            arguments = ", ".join(
                identifier(argument.name) if isinstance(argument, Whole) else _text(shader, argument) for argument in expression.arguments
            )
            return f"{callback(shader, expression.function)}({arguments})"


def _step(part: Part) -> str:
    match part.of:
        case VectorParameter():
            return f".{'xyzw'[part.index]}"
        case StructParameter():
            return f".member{part.index}"
        case ArrayParameter():
            return f"[{part.index}]"


def _binary(shader: Shader, expression: Binary) -> str:
    """In parentheses. Small integers compute in 32 bits in GLSL's own mind, unless their type is explicit, which all here are."""
    left, right = _text(shader, expression.left), _text(shader, expression.right)
    component = expression.component
    if component.is_float and SPELLINGS[component.name].extension and component.bits < 16:
        raise NotExpressible(f"GLSL has no arithmetic of {component}")
    if expression.operator in ("minimum", "maximum"):
        return f"{expression.operator[:3]}({left}, {right})"
    return f"({left} {_OPERATORS[expression.operator]} {right})"
