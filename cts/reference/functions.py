"""Calls: the body sees its parameters and nothing else of its caller (SPIR-V, OpFunctionCall)."""

from __future__ import annotations

import numpy as np

from cts.reference.state import State
from generators.errors import GeneratorError
from generators.program.functions import Call
from generators.program.values import Matrix, Operand, Scalar


def _kind(value: Matrix | Scalar | Operand) -> object:
    return value.type if isinstance(value, Matrix) else value.component


def call(state: State, operation: Call) -> None:
    """Runs the body with the arguments for its parameters.

    Raises:
        GeneratorError: arguments and parameters differ in type or number.
    """
    function = operation.function
    if [_kind(value) for value in operation.arguments] != [_kind(value) for value in function.parameters]:
        raise GeneratorError(f"a call of {function.name} needs arguments of the types of its parameters, in their order")
    callee = state.part(np.arange(len(state.instances)))
    callee.matrices, callee.scalars = {}, {}
    for parameter, argument in zip(function.parameters, operation.arguments, strict=True):
        if isinstance(argument, Matrix):
            callee.matrices[parameter.name] = state.matrices[argument.name]
        else:
            callee.scalars[parameter.name] = state.scalar(argument)
    callee.run(callee, function.body)
    if isinstance(operation.result, Matrix) and isinstance(function.returned, Matrix):
        state.matrices[operation.result.name] = callee.matrices[function.returned.name]
    elif isinstance(operation.result, Scalar) and isinstance(function.returned, Scalar):
        state.scalars[operation.result.name] = callee.scalars[function.returned.name]
