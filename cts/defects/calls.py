"""Defects of calls: exchanged arguments, and a result that is lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from cts.defects.defect import Defect, every
from cts.defects.evaluation import Substitute
from cts.defects.glossary import ParameterValue
from cts.defects.known import defects_of
from cts.reference.functions import call
from cts.reference.state import State
from cts.reference.trees import selected
from cts.reference.variables import initialize
from generators.program.functions import Call, PointerParameter
from generators.program.operation import Operation
from generators.program.program import Program
from generators.program.values import is_cooperative_vector, is_matrix, is_tensor
from generators.program.variables import Variable


def _exchanged(first: int, second: int) -> Substitute:
    def step(state: State, operation: Call) -> None:
        arguments = list(operation.arguments)
        arguments[first], arguments[second] = arguments[second], arguments[first]
        call(state, replace(operation, arguments=tuple(arguments)))

    return step


def _copied(state: State, source: object, target: object) -> None:
    """Copy ``source`` to ``target`` if both are matrices, both cooperative vectors, or both layouts or views."""
    if (is_matrix(source) and is_matrix(target)) or (is_cooperative_vector(source) and is_cooperative_vector(target)):
        state.matrices[target.name] = state.matrices[source.name]
    elif is_tensor(source) and is_tensor(target):
        state.aggregates[target.name] = state.aggregates[source.name]


def _returning(position: int) -> Substitute:
    def step(state: State, operation: Call) -> None:
        call(state, operation)
        _copied(state, operation.arguments[position], operation.result)

    return step


def _overwriting(position: int) -> Substitute:
    def step(state: State, operation: Call) -> None:
        call(state, operation)
        _copied(state, operation.result, operation.arguments[position])

    return step


def _losing(position: int) -> Substitute:
    """Build a step that loses what the function writes through a pointer, as if it wrote to a copy."""

    def step(state: State, operation: Call) -> None:
        argument = operation.arguments[position]
        assert isinstance(argument, Variable)
        before = state.variables.get(argument.name)
        call(state, operation)
        state.set_variable(argument.name, before if len(state.instances) else None)

    return step


def _static(state: State, operation: Call) -> None:
    """Initialize the function's variables only once, so each call begins with the values that the last call left."""
    function = operation.function
    root = state
    while root.outside is not None:
        root = root.outside
    initialize(root, [variable for variable in function.variables if variable.name not in root.variables])
    for variable in function.variables:
        state.variables[variable.name] = selected(root.variables.get(variable.name), root.positions(state.instances))
    call(state, replace(operation, function=replace(function, variables=())))


def _is_like(one: object, other: object) -> bool:
    if is_matrix(one) or is_matrix(other):
        return is_matrix(one) and is_matrix(other) and one.type == other.type
    if is_cooperative_vector(one) or is_cooperative_vector(other):
        return is_cooperative_vector(one) and is_cooperative_vector(other) and one.type == other.type
    if isinstance(one, PointerParameter) or isinstance(other, PointerParameter):
        return isinstance(one, PointerParameter) and isinstance(other, PointerParameter) and one.variable.type == other.variable.type
    if is_tensor(one) or is_tensor(other):
        return is_tensor(one) and is_tensor(other) and one.type == other.type
    return True


@defects_of("call", Call)
def call_defects(program: Program) -> Iterator[Defect]:
    """Yield defects of the calls of ``program``."""
    calls = every(program.operations, Call)
    for operation in calls:
        for position, pointer in enumerate(operation.function.parameters):
            if isinstance(pointer, PointerParameter) and pointer.direction != "in":
                where: dict[str, ParameterValue] = {"function": operation.function.name, "argument": position}
                yield Defect("call.argument_copied", {operation: _losing(position)}, where)
    for function in dict.fromkeys(call_.function for call_ in calls if call_.function.variables):
        users: dict[Operation, Substitute] = {call_: _static for call_ in calls if call_.function == function}
        yield Defect("call.variables_kept", users, {"function": function.name})
    for operation in calls:
        name, parameters = operation.function.name, operation.function.parameters
        for first, second in combinations(range(len(parameters)), 2):
            if _is_like(parameters[first], parameters[second]) and operation.arguments[first] != operation.arguments[second]:
                pair: dict[str, ParameterValue] = {"function": name, "first": first, "second": second}
                yield Defect("call.arguments_exchanged", {operation: _exchanged(first, second)}, pair)
        returned = operation.function.returned
        for position, parameter in enumerate(parameters):
            if returned is not None and parameter != returned and _is_like(parameter, returned):
                one: dict[str, ParameterValue] = {"function": name, "argument": position}
                yield Defect("call.returns_argument", {operation: _returning(position)}, one)
                yield Defect("call.result_overwrites_argument", {operation: _overwriting(position)}, one)
