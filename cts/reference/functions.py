"""Calls: the body sees its parameters, variables of the module, and nothing else of its caller (SPIR-V, OpFunctionCall)."""

from __future__ import annotations

import numpy as np

from cts.reference.state import Activation, State, evaluates
from cts.reference.trees import Tree
from cts.reference.variables import define, initialize, merge, value_of
from generators.program.functions import Call, Function, check_call
from generators.program.values import is_block_pointer
from generators.program.variables import Variable


@evaluates(Call)
def call(state: State, operation: Call) -> None:
    """Run the body with the arguments for its parameters.

    Raises:
        GeneratorError: arguments and parameters differ in type or number, or two pointers lead to one variable.
    """
    function = operation.function
    check_call(operation)
    callee = state.part(np.arange(len(state.instances)))
    pointers: dict[str, str] = {}
    callee.matrices, callee.scalars, callee.aggregates, callee.blocks = {}, {}, {}, {}
    for parameter, argument in zip(function.parameters, operation.arguments, strict=True):
        if isinstance(argument, Variable):
            pointers[parameter.name] = argument.name
            callee.variables[parameter.name] = state.variables.get(argument.name)
        elif is_block_pointer(argument):
            callee.scalars[parameter.name] = state.scalars[argument.name]
            callee.blocks[parameter.name] = state.blocks[argument.name]
        else:
            define(callee, parameter.name, value_of(state, argument))
    callee.activation = Activation(pointers, frozenset(variable.name for variable in function.variables))
    returned = run_body(callee, function)
    if operation.result is not None and returned:
        merge(state, operation.result.name, [(state.positions(instances), value) for instances, value in returned])


def run_body(callee: State, function: Function) -> list[tuple[np.ndarray, Tree]]:
    """Run the body of a function in a state that has its parameters and its own activation.

    Return the returned values, each with the indices of the instances that returned it.
    """
    for variable in function.variables:
        callee.variables[variable.name] = None
    initialize(callee, function.variables)
    callee.run(function.body)
    returned = callee.activation.returned
    if len(callee.instances) and function.returned is not None:
        returned.append((callee.instances, value_of(callee, function.returned)))
    return returned
