"""Functions that matrix instructions call: their bodies run for all elements at once, each call in a lane of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cts.reference.functions import run_body
from cts.reference.memory import Memory
from cts.reference.scalars import bits_of, numbers
from cts.reference.state import State
from cts.reference.trees import taken
from generators.errors import GeneratorError
from generators.program.functions import Function
from generators.program.values import (
    Aggregate,
    ArrayType,
    MatrixType,
    StructType,
    ValueType,
    VectorType,
    is_aggregate,
    is_block_pointer,
    is_scalar,
)
from generators.program.variables import Variable, part_type
from generators.types import ComponentType


@dataclass(frozen=True)
class BlockPointers:
    """The argument of a pointer parameter: byte offsets in ``memory``, int64, of any shape."""

    memory: Memory
    offsets: np.ndarray


Argument = np.ndarray | Sequence[np.ndarray] | BlockPointers
"""Numbers, as ``numbers`` gives them; numbers of the parts of a vector, struct or array; or pointers."""


def applied(state: State, function: Function, arguments: Sequence[Argument], owners: np.ndarray | None = None) -> np.ndarray:
    """Return what ``function`` returns for each element, as numbers of its type, which is a scalar. Parameters as of ``applied_parts``."""
    (result,) = applied_parts(state, function, arguments, owners)
    return result


def applied_parts(
    state: State, function: Function, arguments: Sequence[Argument], owners: np.ndarray | None = None
) -> tuple[np.ndarray, ...]:
    """Return what ``function`` returns for each element, as numbers: one array for a scalar, one for each component of a vector.

    Args:
        state: of the program.
        function: returns a scalar or a vector, and calls with matrices or pointers to variables are not in it.
        arguments: of its parameters; their shapes broadcast to the result's shape.
        owners: numbers of the scope instances that the elements belong to, of a shape that broadcasts. Without them the function reads no
            variable of the module and no workgroup memory.

    Raises:
        GeneratorError: the arguments are not as many as the parameters; a float result is not exact; or what is read is undefined.
    """
    if len(arguments) != len(function.parameters):
        raise GeneratorError(f"{function.name} has {len(function.parameters)} parameters and gets {len(arguments)} arguments")
    shape = np.broadcast_shapes(*(np.shape(one) for argument in arguments for one in _arrays(argument)))
    count = int(np.prod(shape))

    def lanes(values: np.ndarray, component: ComponentType | None = None) -> np.ndarray:
        bits = values.astype(np.uint64) if component is None else bits_of(values, component)
        return np.ascontiguousarray(np.broadcast_to(bits, shape)).reshape(count)

    inside = state.apart(np.arange(count, dtype=np.int64), None if owners is None else lanes(owners).astype(np.int64))
    if inside.owners is not None:
        positions = state.positions(inside.owners)
        inside.variables = {one.name: taken(state.variables.get(one.name), positions) for one in _private(state)}
    for parameter, argument in zip(function.parameters, arguments, strict=True):
        if is_scalar(parameter):
            assert isinstance(argument, np.ndarray), "the argument of a scalar is a number of each element"
            inside.scalars[parameter.name] = lanes(argument, parameter.type)
        elif is_block_pointer(parameter):
            assert isinstance(argument, BlockPointers), "the argument of a pointer is a pointer"
            inside.scalars[parameter.name] = lanes(argument.offsets)
            inside.blocks[parameter.name] = argument.memory
        else:
            assert is_aggregate(parameter), "instructions call functions of scalars, aggregates of scalars, and pointers to blocks"
            inside.aggregates[parameter.name] = tuple(lanes(part, _component(parameter, i)) for i, part in enumerate(_arrays(argument)))
    assert function.returned is not None, "instructions call functions that return something"
    type_ = function.returned.type
    assert isinstance(type_, ComponentType | VectorType), "instructions call functions that return scalars or vectors"
    component = type_ if isinstance(type_, ComponentType) else type_.component
    results = np.zeros((1 if isinstance(type_, ComponentType) else type_.lanes, count), np.uint64)
    for where, value in run_body(inside, function):
        for result, part in zip(results, value if isinstance(value, tuple) else (value,), strict=True):
            assert isinstance(part, np.ndarray), "the returned value is defined"
            result[where] = part
    return tuple(numbers(result, component).reshape(shape) for result in results)


def _private(state: State) -> Iterator[Variable]:
    """Yield the variables of the module that functions can read; their values are the same for all invocations of a scope instance."""
    return (variable for variable in state.program.variables if variable.storage == "private" and not _has_matrix(variable.type))


def _has_matrix(type_: ValueType) -> bool:
    if isinstance(type_, ArrayType):
        return _has_matrix(type_.element)
    return isinstance(type_, MatrixType) or (isinstance(type_, StructType) and any(map(_has_matrix, type_.members)))


def _component(parameter: Aggregate, index: int) -> ComponentType:
    component = part_type(parameter.type, (index,))
    assert isinstance(component, ComponentType), "an aggregate of scalars has scalars"
    return component


def _arrays(argument: Argument) -> Sequence[np.ndarray]:
    if isinstance(argument, BlockPointers):
        return (argument.offsets,)
    return (argument,) if isinstance(argument, np.ndarray) else argument
