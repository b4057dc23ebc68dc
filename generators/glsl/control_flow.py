"""if, switch, for, return, break and continue: the results of arms and iterations are variables that are declared before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from generators.errors import GeneratorError, Rule
from generators.glsl.shader import Shader, prints
from generators.glsl.spelling import identifier
from generators.glsl.values import assign, assignee, type_name
from generators.program import control_flow as language
from generators.program.construction import MatrixSplat
from generators.program.load_store import MatrixLoad
from generators.program.muladd import MatrixMulAdd
from generators.program.operation import Hint, Operation
from generators.program.values import is_matrix
from generators.program.walking import names_read

_SELECTIONS: Mapping[Hint, str] = MappingProxyType({"none": "", "for": "[[flatten]] ", "against": "[[dont_flatten]] "})

_RELATIONS: Mapping[language.Relation, str] = MappingProxyType(
    {"equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">="}
)


def condition_text(shader: Shader, condition: language.Condition) -> str:
    """Return the expression of a comparison.

    Raises:
        GeneratorError: two types are compared.
    """
    if condition.left.type != condition.right.type:
        raise GeneratorError(Rule.TYPES_DIFFER, f"{condition.left.name} and {condition.right.name} are compared: give them one type")
    return f"{shader.text(condition.left)} {_RELATIONS[condition.relation]} {shader.text(condition.right)}"


@prints(language.Select)
def emit_select(shader: Shader, select: language.Select) -> None:
    """Write a conditional expression."""
    then, otherwise = shader.text(select.then), shader.text(select.otherwise)
    assign(shader, select.result, f"{condition_text(shader, select.condition)} ? {then} : {otherwise}")


@prints(language.Branch)
def emit_branch(shader: Shader, branch: language.Branch) -> None:
    """Write an if, with an else if the other arm does or assigns something."""
    for item in branch.merged:
        _declare(shader, item, None if branch.otherwise else item.sources[1])
    with shader.braces(f"{_attribute(shader, _SELECTIONS, branch.hint)}if ({condition_text(shader, branch.condition)})"):
        _arm(shader, branch.then, branch.merged, 0)
    if branch.otherwise:
        with shader.braces("else"):
            _arm(shader, branch.otherwise, branch.merged, 1)


@prints(language.Switch)
def emit_switch(shader: Shader, switch: language.Switch) -> None:
    """Write a switch, each case with a break."""
    for item in switch.merged:
        _declare(shader, item, None)
    with shader.braces(f"{_attribute(shader, _SELECTIONS, switch.hint)}switch ({shader.text(switch.selector)})"):
        number = 0
        for arm in switch.arms:
            for literal in arm.literals[:-1]:
                shader.line(f"case {literal}u:")
            with shader.braces(f"case {arm.literals[-1]}u:"):
                _arm(shader, arm.body, () if arm.continues else switch.merged, number)
                shader.line("continue;" if arm.continues else "break;")
            number += not arm.continues
        with shader.braces("default:"):
            _arm(shader, switch.default, switch.merged, number)
            shader.line("break;")


@prints(language.Exit)
def emit_exit(shader: Shader, operation: language.Exit) -> None:
    """Write an ``if`` that ends with return, break or continue."""
    with shader.braces(f"if ({condition_text(shader, operation.condition)})"):
        shader.emit(operation.body)
        value = "" if operation.returned is None else f" {shader.text(operation.returned)}"
        shader.line(f"{operation.kind}{value};")


@prints(language.ReturnBoth)
def emit_return_both(shader: Shader, operation: language.ReturnBoth) -> None:
    """Write an if and an else that end with return."""
    with shader.braces(f"if ({condition_text(shader, operation.condition)})"):
        shader.emit(operation.then)
        shader.line(f"return {shader.text(operation.then_returned)};")
    with shader.braces("else"):
        shader.emit(operation.otherwise)
        shader.line(f"return {shader.text(operation.otherwise_returned)};")


def _attribute(shader: Shader, attributes: Mapping[Hint, str], hint: Hint) -> str:
    if hint != "none":
        shader.require("GL_EXT_control_flow_attributes")
    return attributes[hint]


def _declare(shader: Shader, item: language.Merged, initial: language.FlowingSource | None) -> None:
    # Another operation may have declared the variable already.
    if initial is None and item.result.name in shader.variables:
        return
    declaration = assignee(shader, item.result)
    shader.line(f"{declaration};" if initial is None else f"{declaration} = {shader.text(initial)};")


def _arm(shader: Shader, body: Sequence[Operation], merged: Sequence[language.Merged], number: int) -> None:
    """Write an arm. A matrix that the arm computes goes straight into the variable of the result."""
    computed = {operation.result for operation in body if isinstance(operation, MatrixLoad | MatrixSplat | MatrixMulAdd)}
    assigned = []
    for item in merged:
        source = item.sources[number]
        if is_matrix(item.result) and is_matrix(source) and source in computed and source.name not in shader.variables:
            shader.variables[source.name] = shader.text(item.result)
        else:
            assigned.append((item.result, source))
    shader.emit(body)
    for result, source in assigned:
        target = shader.text(result)
        shader.line(f"{target} = {shader.text(source)};")


_LOOPS: Mapping[Hint, str] = MappingProxyType({"none": "", "for": "[[unroll]] ", "against": "[[dont_unroll]] "})


@prints(language.Loop)
def emit_loop(shader: Shader, loop: language.Loop) -> None:
    """Write a loop."""
    for carried in loop.carried:
        assign(shader, carried.current, shader.text(carried.initial))
    in_place = {carried.next.name for carried in loop.carried if _in_place(loop, carried)}
    for carried in loop.carried:
        if carried.next.name in in_place:
            shader.variables[carried.next.name] = shader.text(carried.current)
    index, start, step = identifier(loop.index.name), shader.text(loop.start), shader.text(loop.step)
    onwards = f"++{index}" if step == "1u" else f"{index} += {step}"
    with shader.braces(
        f"{_attribute(shader, _LOOPS, loop.hint)}for (uint {index} = {start}; {index} < {shader.text(loop.limit)}; {onwards})"
    ):
        shader.emit(loop.body)
        _assign(shader, [carried for carried in loop.carried if carried.next.name not in in_place])


def _assign(shader: Shader, carried: list[language.Carried]) -> None:
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


def _in_place(loop: language.Loop, carried: language.Carried) -> bool:
    """Tell whether the operation that computes the next value may write it directly to the carried variable. This holds if the body neither
    reads the current value afterwards nor ends the iteration, and no other carried matrix takes the current or the next value."""
    computed = [
        isinstance(operation, MatrixLoad | MatrixSplat | MatrixMulAdd) and operation.result == carried.next for operation in loop.body
    ]
    if True not in computed:
        return False
    later = loop.body[computed.index(True) + 1 :]
    if any(language.leaves_iteration(operation, "return", "break", "continue") for operation in later):
        return False
    others = {other.next.name for other in loop.carried if other is not carried}
    return not any(carried.current.name in names_read(operation) for operation in later) and others.isdisjoint(
        (carried.current.name, carried.next.name)
    )


@prints(language.PerInvocation, language.Stated)
def emit_body(shader: Shader, operation: language.PerInvocation | language.Stated) -> None:
    """Write the code."""
    shader.emit(operation.body)
