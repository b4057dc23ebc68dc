"""Functions that matrix instructions call: their bodies run for all elements at once, each call in its own lane."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cts.reference.functions import run_body
from cts.reference.memory import Memory
from cts.reference.scalars import bits_of, numbers
from cts.reference.state import State
from cts.reference.trees import taken
from cts.reference.values import MatrixValue, Range
from generators.errors import GeneratorError, Rule
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
"""An argument: numbers as from ``numbers``; numbers of the parts of a vector, struct or array; or pointers."""


@dataclass(frozen=True)
class Returned:
    """The results of a function for each element.

    Attributes:
        numbers: numbers of the function's type.
        range: ranges of the same shape, if the specification permits more than one value for some of them; otherwise None.
    """

    numbers: np.ndarray
    range: Range | None = None


def applied(state: State, function: Function, arguments: Sequence[Argument], owners: np.ndarray | None = None) -> np.ndarray:
    """Return the result of ``function`` for each element, as numbers of its type, which is a scalar. Arguments are as for ``results``.

    Raises:
        GeneratorError: see ``applied_parts``.
    """
    (result,) = applied_parts(state, function, arguments, owners)
    return result


def applied_parts(
    state: State, function: Function, arguments: Sequence[Argument], owners: np.ndarray | None = None
) -> tuple[np.ndarray, ...]:
    """Return the numbers of ``results``.

    Raises:
        GeneratorError: see ``results``; or the specification permits a range of values.
    """
    parts = results(state, function, arguments, owners)
    if any(part.range is not None for part in parts):
        raise GeneratorError(
            Rule.VALUE_RANGE, f"{function.name} returns numbers for which the specification permits a range, but one value is needed"
        )
    return tuple(part.numbers for part in parts)


def results(state: State, function: Function, arguments: Sequence[Argument], owners: np.ndarray | None = None) -> tuple[Returned, ...]:
    """Return the results of ``function`` for each element: one part for a scalar, one for each component of a vector.

    Args:
        state: the program's state.
        function: returns a scalar or a vector, and makes no calls with matrices or pointers to variables.
        arguments: the arguments for its parameters; their shapes broadcast to the result's shape.
        owners: numbers of the scope instances that the elements belong to, of a shape that broadcasts. Without them the function reads no
            variable of the module and no workgroup memory.

    Raises:
        GeneratorError: the number of arguments is not the number of parameters; a float step is not exact and has no bounds; or a value
            that is read is undefined.
    """
    if len(arguments) != len(function.parameters):
        raise GeneratorError(
            Rule.OPERAND_COUNT, f"{function.name} has {len(function.parameters)} parameters and gets {len(arguments)} arguments"
        )
    shape = np.broadcast_shapes(*(np.shape(one) for argument in arguments for one in _arrays(argument)))
    count = math.prod(shape)

    def lanes(values: np.ndarray, component: ComponentType | None = None) -> np.ndarray:
        bits = values.astype(np.uint64) if component is None else bits_of(values, component)
        return (bits if bits.shape == shape else np.broadcast_to(bits, shape)).reshape(count)

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
            assert is_aggregate(parameter), (
                "the functions that instructions call take scalars, aggregates of scalars, and pointers to blocks"
            )
            inside.aggregates[parameter.name] = tuple(lanes(part, _component(parameter, i)) for i, part in enumerate(_arrays(argument)))
    assert function.returned is not None, "instructions call functions that return something"
    type_ = function.returned.type
    assert isinstance(type_, ComponentType | VectorType), "instructions call functions that return scalars or vectors"
    component = type_ if isinstance(type_, ComponentType) else type_.component
    width = 1 if isinstance(type_, ComponentType) else type_.lanes
    bits, ranges = np.zeros((width, count), np.uint64), [list[tuple[np.ndarray, Range]]() for _ in range(width)]
    for where, value in run_body(inside, function):
        for place, part in enumerate(value if isinstance(value, tuple) else (value,)):
            if isinstance(part, MatrixValue):
                assert isinstance(part.known, Range), "a scalar has one value or a range"
                ranges[place].append((where, part.known))
                bits[place][where] = part.bits.reshape(-1)
            else:
                assert isinstance(part, np.ndarray), "the returned value is defined"
                bits[place][where] = part
    found = [numbers(part, component).reshape(shape) for part in bits]
    return tuple(Returned(part, _ends(part, known) if known else None) for part, known in zip(found, ranges, strict=True))


def _ends(found: np.ndarray, ranges: Sequence[tuple[np.ndarray, Range]]) -> Range:
    """Return ranges for all elements: some lanes have known ranges, and the others have one value."""
    ends = [found.reshape(-1).astype(np.float64) for _ in range(3)]
    for where, known in ranges:
        for end, part in zip(ends, (known.low, known.high, known.center), strict=True):
            end[where] = part.reshape(-1)
    low, high, center = (end.reshape(found.shape) for end in ends)
    return Range(low, high, center)


def _private(state: State) -> Iterator[Variable]:
    """Yield the variables of the module that functions can read; their values are the same in all invocations of a scope instance."""
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
