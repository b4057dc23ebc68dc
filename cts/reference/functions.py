"""Calls: the body sees its parameters, variables of the module, and nothing else of its caller (SPIR-V, OpFunctionCall)."""

from __future__ import annotations

import numpy as np

from cts.reference.state import Activation, State
from cts.reference.values import MatrixValue, join
from cts.reference.variables import initialize
from generators.errors import GeneratorError
from generators.program.functions import Call, mistake
from generators.program.values import Matrix, Scalar
from generators.program.variables import Variable


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
    callee.matrices, callee.scalars = {}, {}
    for parameter, argument in zip(function.parameters, operation.arguments, strict=True):
        if isinstance(argument, Matrix):
            callee.matrices[parameter.name] = state.matrices[argument.name]
        elif isinstance(argument, Variable):
            pointers[parameter.name] = argument.name
            callee.variables[parameter.name] = state.variables.get(argument.name)
        else:
            callee.scalars[parameter.name] = state.scalar(argument)
    callee.activation = Activation(pointers, frozenset(variable.name for variable in function.variables))
    for variable in function.variables:
        callee.variables[variable.name] = None
    initialize(callee, function.variables)
    callee.run(callee, function.body)
    returned = callee.activation.returned
    if operation.result is None or function.returned is None:
        return
    if len(callee.instances):
        value = callee.matrices[function.returned.name] if isinstance(function.returned, Matrix) else callee.scalar(function.returned)
        returned.append((callee.instances, value))
    _define(state, operation.result, [(state.positions(instances), value) for instances, value in returned])


def _define(state: State, result: Matrix | Scalar, returned: list[tuple[np.ndarray, MatrixValue | np.ndarray]]) -> None:
    """Gives the result what each instance returned."""
    if isinstance(result, Matrix):
        state.matrices[result.name] = join([(where, value) for where, value in returned if isinstance(value, MatrixValue)])
        return
    order = np.argsort(np.concatenate([where for where, _ in returned]))
    state.scalars[result.name] = np.concatenate([value for _, value in returned if isinstance(value, np.ndarray)])[order]
