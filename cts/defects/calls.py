"""Defects of calls: exchanged arguments, and a result that is lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from cts.defects.defect import Defect, every
from cts.defects.edits import given
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


def _exchanged(call_: Call, first: int, second: int) -> Substitute:
    arguments = list(call_.arguments)
    arguments[first], arguments[second] = arguments[second], arguments[first]
    return given(arguments=tuple(arguments))


def _copying(position: int, to_result: bool) -> Substitute:
    """Build a step that copies an argument to the result after the call, or the result to the argument; scalars stay as they are."""

    def step(state: State, operation: Call) -> None:
        call(state, operation)
        argument, result = operation.arguments[position], operation.result
        assert result is not None, "the function returns a value"
        source, target = (argument, result) if to_result else (result, argument)
        if source.name in state.matrices:
            state.matrices[target.name] = state.matrices[source.name]
        elif source.name in state.aggregates:
            state.aggregates[target.name] = state.aggregates[source.name]

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


def _passed(value: object) -> object:
    """Return what a call passes for a parameter: values that are equal in it can be exchanged. All scalars are alike."""
    if isinstance(value, PointerParameter):
        return PointerParameter, value.variable.type
    return value.type if is_matrix(value) or is_cooperative_vector(value) or is_tensor(value) else None


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
            if _passed(parameters[first]) == _passed(parameters[second]) and operation.arguments[first] != operation.arguments[second]:
                pair: dict[str, ParameterValue] = {"function": name, "first": first, "second": second}
                yield Defect("call.arguments_exchanged", {operation: _exchanged(operation, first, second)}, pair)
        returned = operation.function.returned
        for position, parameter in enumerate(parameters):
            if returned is not None and parameter != returned and _passed(parameter) == _passed(returned):
                one: dict[str, ParameterValue] = {"function": name, "argument": position}
                yield Defect("call.returns_argument", {operation: _copying(position, to_result=True)}, one)
                yield Defect("call.result_overwrites_argument", {operation: _copying(position, to_result=False)}, one)
