"""Functions that matrix instructions call: their bodies run for all elements at once, each call in its own lane. The instructions are
OpCooperativeMatrixReduceNV (CM2-RED-*) and OpCooperativeMatrixPerElementOpNV (CM2-PE-*); for decode functions see cts.reference.decode."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from cts.reference.functions import run_body
from cts.reference.memory import Memory
from cts.reference.scalars import bits_of, numbers
from cts.reference.state import State, evaluates
from cts.reference.trees import taken
from cts.reference.values import CERTAIN, Knowledge, MatrixValue, Range
from cts.verdict.expected import Authority
from generators.errors import GeneratorError, Rule
from generators.numerics.exactness import quantum_exponents
from generators.numerics.formats import encode, values
from generators.program.callbacks import ExtraOperand, PerElement, Reduce, StructOperand, VectorOperand
from generators.program.functions import Function
from generators.program.scalars import ScalarArithmetic
from generators.program.values import (
    Aggregate,
    ArrayType,
    MatrixType,
    ScalarValue,
    StructType,
    ValueType,
    VectorType,
    is_aggregate,
    is_block_pointer,
    is_matrix,
    is_scalar,
)
from generators.program.variables import Variable, part_type
from generators.program.walking import flattened
from generators.types import ComponentType, ReduceMode


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


COMBINED = Authority("CM2-RED-08")

_ORDERS = 3
"""Number of different orders in which a group is combined, whose results must agree: forwards in runs, backwards in pairs, and one more."""

_SHAPES = MappingProxyType({ReduceMode.ROW: "CM2-RED-04", ReduceMode.COLUMN: "CM2-RED-05", ReduceMode.TWO_BY_TWO: "CM2-RED-03"})
"""The requirement on the shape of the result, by mode."""


@evaluates(Reduce)
def reduce(state: State, operation: Reduce) -> None:
    """Combine the elements of each group: each counts once, in any order and grouping (CM2-RED-08, F-CM2-4), and all results of a group are
    equal (CM2-RED-10).

    Raises:
        GeneratorError: the shapes do not match (CM2-RED-03 to CM2-RED-05), or the result depends on the order of combination.
    """
    source, target = operation.matrix.type, operation.result.type
    groups = grouped(operation, state.matrices[operation.matrix.name].numbers)
    if source.component.is_float:
        _check_sums(state, groups, operation.function, source.component)
    result = spread(operation, _combined(state, operation.function, groups))
    bits = encode(target.component, result)
    state.matrices[operation.result.name] = MatrixValue(target.component, bits, target.component.is_float, authority=COMBINED)


def grouped(operation: Reduce, values: np.ndarray) -> np.ndarray:
    """Return the elements of (instances, rows, columns) with each group along the last axis.

    Raises:
        GeneratorError: the shapes do not match (CM2-RED-03 to CM2-RED-05).
    """
    rows, columns = operation.matrix.type.shape
    to_rows, to_columns = operation.result.type.shape
    count = len(values)
    match operation.mode:
        case ReduceMode.ROW:
            fits, groups = to_rows == rows, values
        case ReduceMode.COLUMN:
            fits, groups = to_columns == columns, values.transpose(0, 2, 1)
        case ReduceMode.ROW_AND_COLUMN:
            fits, groups = True, values.reshape(count, 1, -1)
        case ReduceMode.TWO_BY_TWO:
            fits = (2 * to_rows, 2 * to_columns) == (rows, columns)
            if fits:
                squares = values.reshape(count, to_rows, 2, to_columns, 2).transpose(0, 1, 3, 2, 4)
                groups = squares.reshape(count, to_rows, to_columns, 4)
    if not fits:
        raise GeneratorError(
            _SHAPES[operation.mode],
            f"a {operation.mode.name} reduction of {rows}x{columns} has no result of {to_rows}x{to_columns} (CM2-RED-03 to CM2-RED-05)",
        )
    return groups


def spread(operation: Reduce, combined: np.ndarray) -> np.ndarray:
    """Copy the value of each group to all elements of the result that it determines, (instances, rows, columns)."""
    shape = len(combined), *operation.result.type.shape
    match operation.mode:
        case ReduceMode.COLUMN:
            return np.broadcast_to(combined[:, None, :], shape)
        case ReduceMode.TWO_BY_TWO:
            return combined
        case _:
            return np.broadcast_to(combined[:, :, None], shape)


def _combined(state: State, function: Function, groups: np.ndarray) -> np.ndarray:
    """Combine each group, along the last axis, to one value.

    Raises:
        GeneratorError: orders disagree.
    """
    length = groups.shape[-1]
    forwards = _in_runs(state, function, groups)
    rng = np.random.default_rng(length)
    arrangements = [np.arange(length)[::-1], *(rng.permutation(length) for _ in range(2, _ORDERS))]
    others = _in_pairs(state, function, np.stack([groups[..., arrangement] for arrangement in arrangements], axis=-2))
    if (others != forwards[..., None]).any():
        state.undefined(
            "CM2-RED-09", f"{function.name} gives another result in another order; use other data or another function (CM2-RED-09)"
        )
    return forwards


def in_order(state: State, function: Function, groups: np.ndarray) -> np.ndarray:
    """Combine each group, along the last axis, from its first element to its last."""
    result, owners = groups[..., 0], _owners(state, groups)
    for i in range(1, groups.shape[-1]):
        result = applied(state, function, [result, groups[..., i]], owners)
    return np.asarray(result)


def _in_runs(state: State, function: Function, groups: np.ndarray) -> np.ndarray:
    """Combine runs of each group from first element to last, then their results from first to last. Runs of about the square root of a
    group's length need the fewest calls."""
    run = math.isqrt(groups.shape[-1])
    whole = groups.shape[-1] // run * run
    runs = groups[..., :whole].reshape(*groups.shape[:-1], -1, run)
    return in_order(state, function, np.concatenate([in_order(state, function, runs), groups[..., whole:]], axis=-1))


def _owners(state: State, groups: np.ndarray) -> np.ndarray:
    """Return the scope instance of each group."""
    return state.instances.reshape((-1,) + (1,) * (groups.ndim - 2))


def _in_pairs(state: State, function: Function, groups: np.ndarray) -> np.ndarray:
    while groups.shape[-1] > 1:
        even = groups.shape[-1] // 2 * 2
        pairs = applied(state, function, [groups[..., 1:even:2], groups[..., 0:even:2]], _owners(state, groups)[..., None])
        groups = np.concatenate([pairs, groups[..., even:]], axis=-1)
    return groups[..., 0]


def _check_sums(state: State, groups: np.ndarray, function: Function, component: ComponentType) -> None:
    """Raise GeneratorError if some order of a sum may round: the sum of magnitudes must fit the significand in units of the lowest bit."""
    sums = (one for one in flattened(function.body) if isinstance(one, ScalarArithmetic) and one.operator in ("add", "subtract"))
    if not any(one.result.type.is_float for one in sums):
        return
    quantum = quantum_exponents(groups).min(axis=-1).astype(np.int32)
    if (np.abs(groups).sum(axis=-1) > np.ldexp(1.0, np.minimum(quantum + component.precision, 1023))).any():
        state.undefined(Rule.INEXACT, f"{function.name}: some order of summation is not exact in {component}; use smaller data")


APPLIED = Authority("CM2-PE-03")


@evaluates(PerElement)
def per_element(state: State, operation: PerElement) -> None:
    """Replace every element with the function's result for its row, column, value, and the extra operands (CM2-PE-03 to CM2-PE-06).

    Raises:
        GeneratorError: see ``applied``; or the instruction does not accept the types (CM2-PE-01, CM2-PE-02).
    """
    apply(state, operation, arguments(state, operation))


def arguments(state: State, operation: PerElement) -> list[Argument]:
    """Return the row and the column of each element, its value, and the extra operands."""
    rows, columns = operation.matrix.type.shape
    shape = len(state.instances), rows, columns
    found: list[Argument] = []
    for parameter, place in zip(operation.function.parameters[:2], np.indices((rows, columns)), strict=True):
        assert is_scalar(parameter), "rows and columns are scalars"
        found.append(np.broadcast_to(place.astype(parameter.type.dtype), shape))
    return [*found, state.matrices[operation.matrix.name].numbers, *(_extra(state, operand) for operand in operation.extra)]


def apply(state: State, operation: PerElement, given: Sequence[Argument]) -> None:
    """Set the result to the function's result for the arguments ``given``. Raises GeneratorError as ``per_element``."""
    type_, function = operation.matrix.type, operation.function
    assert is_scalar(function.returned), "the function of an operation on elements returns a scalar"
    if operation.result.type != type_:
        raise GeneratorError("CM2-PE-01", f"{operation.result.name} does not have the type of {operation.matrix.name} (CM2-PE-01)")
    if function.returned.type is not type_.component:
        raise GeneratorError("CM2-PE-02", f"{function.name} does not return the component type of {operation.matrix.name} (CM2-PE-02)")
    shape = len(state.instances), *type_.shape
    (returned,) = results(state, function, given, state.instances[:, None, None])
    bits = encode(type_.component, np.broadcast_to(returned.numbers, shape))
    known: Knowledge = CERTAIN
    if returned.range is not None:
        found = returned.range
        known = Range(np.broadcast_to(found.low, shape), np.broadcast_to(found.high, shape), np.broadcast_to(found.center, shape))
    state.matrices[operation.result.name] = MatrixValue(type_.component, bits, type_.component.is_float, known, authority=APPLIED)


def _extra(state: State, operand: ExtraOperand) -> Argument:
    if is_matrix(operand):
        return state.matrices[operand.name].numbers
    if isinstance(operand, VectorOperand):
        return [_scalar(state, lane) for lane in operand.parts]
    if isinstance(operand, StructOperand):
        return [_scalar(state, member) for member in operand.parts]
    return _scalar(state, operand)


def _scalar(state: State, value: ScalarValue) -> np.ndarray:
    bits = state.scalar(value).astype(value.type.bits_dtype)
    return values(bits, value.type)[:, None, None]
