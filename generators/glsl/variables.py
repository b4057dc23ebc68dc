"""Variables of ``main`` and of the module, and structs."""

from __future__ import annotations

from collections.abc import Sequence

from generators.glsl.construction import constant_text
from generators.glsl.shader import Shader, prints
from generators.glsl.spelling import identifier
from generators.glsl.values import assign, steps, type_name, value_text
from generators.program.construction import CooperativeVectorConstant, MatrixConstant
from generators.program.values import Operand
from generators.program.variables import Initializer, Path, Variable, VariableLoad, VariableStore


def declare_variables(shader: Shader) -> None:
    """Declare the variables: with Function storage in ``main``, all others before it."""
    declare(shader, shader.program.variables)


def declare(shader: Shader, variables: Sequence[Variable]) -> None:
    """Declare variables: with Function storage here, all others before the functions."""
    for variable in variables:
        start = "" if variable.initializer is None else f" = {_initializer(shader, variable.initializer)}"
        declaration = f"{type_name(shader, variable.type)} {identifier(variable.name)}{start};"
        if variable.storage == "private":
            shader.globals.append(declaration)
        else:
            shader.line(declaration)


def _initializer(shader: Shader, initializer: Initializer) -> str:
    if isinstance(initializer, MatrixConstant | CooperativeVectorConstant):
        return constant_text(shader, initializer)
    if isinstance(initializer, Operand):
        return shader.text(initializer)
    if isinstance(initializer, tuple):
        return f"{{{', '.join(_initializer(shader, part) for part in initializer)}}}"
    shader.require("GL_EXT_null_initializer")
    return "{}"


def part(shader: Shader, variable: Variable, path: Path) -> str:
    """Return the expression for a part of a variable."""
    return identifier(variable.name) + steps(shader, variable.type, path)


@prints(VariableLoad)
def emit_variable_load(shader: Shader, load: VariableLoad) -> None:
    """Write a load of a part."""
    assign(shader, load.result, part(shader, load.variable, load.path))


@prints(VariableStore)
def emit_variable_store(shader: Shader, store: VariableStore) -> None:
    """Write an assignment to a part, unless a load has written it."""
    if not isinstance(store.value, Operand) and shader.loaded_into.get(store.value.name) == store:
        return
    shader.line(f"{part(shader, store.variable, store.path)} = {value_text(shader, store.value)};")
