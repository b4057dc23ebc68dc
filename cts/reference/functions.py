"""Calls: the body sees its parameters, variables of the module, and nothing else of its caller (SPIR-V, OpFunctionCall)."""

from __future__ import annotations

import numpy as np

from cts.reference.state import Activation, State
from cts.reference.trees import Tree, replaced
from cts.reference.values import MatrixValue, join
from cts.reference.variables import initialize
from generators.errors import GeneratorError
from generators.program.blocks import BlockPointer
from generators.program.functions import Call, Function, Returned, mistake
from generators.program.tensor import TensorLayout, TensorView
from generators.program.values import Matrix, Scalar
from generators.program.variables import Aggregate, Variable


def call(state: State, operation: Call) -> None:
    """Runs the body with the arguments for its parameters.

    Raises:
        GeneratorError: arguments and parameters differ in type or number, or two pointers lead to one variable.
    """
    function = operation.function
    wrong = mistake(operation)
    if wrong:
        raise GeneratorError(wrong)
    callee = state.part(np.arange(len(state.instances)))
    pointers: dict[str, str] = {}
    callee.matrices, callee.scalars, callee.aggregates, callee.blocks = {}, {}, {}, {}
    for parameter, argument in zip(function.parameters, operation.arguments, strict=True):
        if isinstance(argument, Matrix):
            callee.matrices[parameter.name] = state.matrices[argument.name]
        elif isinstance(argument, Variable):
            pointers[parameter.name] = argument.name
            callee.variables[parameter.name] = state.variables.get(argument.name)
        elif isinstance(argument, TensorLayout | TensorView | Aggregate):
            callee.aggregates[parameter.name] = state.aggregates[argument.name]
        elif isinstance(argument, BlockPointer):
            callee.scalars[parameter.name] = state.scalars[argument.name]
            callee.blocks[parameter.name] = state.blocks[argument.name]
        else:
            callee.scalars[parameter.name] = state.scalar(argument)
    callee.activation = Activation(pointers, frozenset(variable.name for variable in function.variables))
    returned = run_body(callee, function)
    if operation.result is not None and function.returned is not None:
        _define(state, operation.result, [(state.positions(instances), value) for instances, value in returned])


def run_body(callee: State, function: Function) -> list[tuple[np.ndarray, MatrixValue | np.ndarray | tuple[Tree | None, ...]]]:
    """Run the body of a function in a state that has its parameters and an activation of its own.

    Returns what it returned, each value with the numbers of the instances that returned it.
    """
    for variable in function.variables:
        callee.variables[variable.name] = None
    initialize(callee, function.variables)
    callee.run(function.body)
    returned = callee.activation.returned
    if len(callee.instances) and function.returned is not None:
        returned.append((callee.instances, _value(callee, function.returned)))
    return returned


def _value(state: State, value: Returned) -> MatrixValue | np.ndarray | tuple[Tree | None, ...]:
    if isinstance(value, Matrix):
        return state.matrices[value.name]
    return state.scalar(value) if isinstance(value, Scalar) else tuple(state.aggregates[value.name])


def _define(state: State, result: Returned, returned: list[tuple[np.ndarray, MatrixValue | np.ndarray | tuple[Tree | None, ...]]]) -> None:
    """Gives the result what each instance returned."""
    if isinstance(result, TensorLayout | TensorView):
        tree: Tree | None = None
        for where, value in returned:
            tree = replaced(tree, where, value, len(state.instances))
        state.aggregates[result.name] = tree
        return
    if isinstance(result, Matrix):
        state.matrices[result.name] = join([(where, value) for where, value in returned if isinstance(value, MatrixValue)])
        return
    order = np.argsort(np.concatenate([where for where, _ in returned]))
    state.scalars[result.name] = np.concatenate([value for _, value in returned if isinstance(value, np.ndarray)])[order]
