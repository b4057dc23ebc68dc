"""Defects of reductions and of operations on elements: wrong groups and elements, and exchanged places and operands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from cts.defects.defect import Defect, each_and_all, every
from cts.defects.evaluation import Substitute
from cts.defects.glossary import ParameterValue
from cts.defects.known import defects_of
from cts.reference.callbacks import applied, apply, arguments, grouped, in_order, per_element, reduce, spread
from cts.reference.evaluate import empty_state
from cts.reference.state import State
from cts.reference.values import MatrixValue
from generators.errors import GeneratorError
from generators.numerics.formats import encode
from generators.program.arrays import ArrayLoad
from generators.program.callbacks import ExtraOperand, PerElement, Reduce, StructOperand, VectorOperand
from generators.program.control_flow import Condition, Select
from generators.program.functions import Call, Function, passed_type
from generators.program.operation import Operation
from generators.program.program import Program
from generators.program.scalars import ScalarConvert
from generators.program.values import Matrix, Value, is_matrix, is_scalar
from generators.program.walking import Change, changed_function, flattened, names_read
from generators.types import COMPONENT_TYPES, ComponentType, ReduceMode

Rewrite = Callable[[Function], Function]
"""Returns a function as a device with a defect would execute it."""

Calling = TypeVar("Calling", Reduce, PerElement)

_FRAGMENTS = (8, 16)
"""Rows and columns of the pieces that implementations split matrices into."""


@defects_of("reduce", Reduce, PerElement)
def callback_defects(program: Program) -> Iterator[Defect]:
    """Yield defects of the reductions and the operations on elements in ``program``."""
    yield from _reduction_defects(every(program.operations, Reduce))
    yield from _element_defects(every(program.operations, PerElement))


def _other_sign(component: ComponentType) -> ComponentType:
    return COMPONENT_TYPES[component.name.replace("u", "s") if component.kind == "unsigned" else component.name.replace("s", "u")]


def _compared_otherwise(operation: Operation) -> Sequence[Operation]:
    if not isinstance(operation, Select) or operation.condition.relation != "less" or operation.condition.left.type.is_float:
        return (operation,)
    condition, name = operation.condition, operation.result.name
    other = _other_sign(condition.left.type)
    left, right = Value(f"{name}_left", other), Value(f"{name}_right", other)
    return (
        ScalarConvert(left, condition.left),
        ScalarConvert(right, condition.right),
        replace(operation, condition=Condition(left, "less", right)),
    )


def _last_comparison_exchanged(function: Function) -> Function:
    """Exchange the operands of the last comparison of a function and of the functions that it calls: one mistake, which others cannot
    undo."""
    body = list(function.body)
    for position in range(len(body) - 1, -1, -1):
        operation = body[position]
        if isinstance(operation, Select) and operation.condition.relation == "less":
            condition = operation.condition
            body[position] = replace(operation, condition=replace(condition, left=condition.right, right=condition.left))
            break
    called = (replace(one, function=_last_comparison_exchanged(one.function)) if isinstance(one, Call) else one for one in body)
    return replace(function, body=tuple(called))


def _everywhere(change: Change) -> Rewrite:
    return lambda function: changed_function(function, change)


def _exchanged_arguments(operation: Operation) -> Sequence[Operation]:
    if not isinstance(operation, Call) or not all(is_scalar(argument) for argument in operation.arguments):
        return (operation,)
    arguments = operation.arguments
    types = [argument.type for argument in arguments if is_scalar(argument)]
    if types == types[::-1]:
        return (replace(operation, arguments=arguments[::-1]),)
    return (replace(operation, arguments=(arguments[1], arguments[0], *arguments[2:])),)


def _changed(operations: list[Calling], rewrite: Rewrite) -> list[Calling]:
    """Return the operations whose function ``rewrite`` changes."""
    return [o for o in operations if rewrite(o.function) != o.function]


def _name(operation: Reduce | PerElement) -> str:
    return operation.result.name


def _function(operation: Reduce | PerElement) -> Mapping[str, ParameterValue]:
    return {"function": operation.function.name}


def _with_function(rewrite: Rewrite) -> Substitute:
    def step(state: State, operation: Reduce | PerElement) -> None:
        changed = replace(operation, function=rewrite(operation.function))
        if isinstance(changed, Reduce):
            _of_groups(lambda groups: groups)(state, changed)
        else:
            per_element(state, changed)

    return step


def _groups(state: State, operation: Reduce) -> np.ndarray:
    return grouped(operation, state.matrices[operation.matrix.name].numbers)


def _of_groups(change: Callable[[np.ndarray], np.ndarray]) -> Substitute:
    """Build a reduction of other groups, combined in one order."""

    def step(state: State, operation: Reduce) -> None:
        groups = change(_groups(state, operation))
        _set(state, operation.result, spread(operation, in_order(state, operation.function, groups)))

    return step


def _set(state: State, result: Matrix, numbers: np.ndarray) -> None:
    component = result.type.component
    state.matrices[result.name] = MatrixValue(component, encode(component, numbers), computed=component.is_float)


def _by(mode: ReduceMode) -> Substitute:
    def step(state: State, operation: Reduce) -> None:
        reduce(state, replace(operation, mode=mode))

    return step


def _first_only(state: State, operation: Reduce) -> None:
    """Keep the first element of each group."""
    groups = _groups(state, operation)
    _set(state, operation.result, spread(operation, groups[..., 0]))


def _last_only(state: State, operation: Reduce) -> None:
    """Keep the last element of each group."""
    groups = _groups(state, operation)
    _set(state, operation.result, spread(operation, groups[..., -1]))


def _of_fragments(fragment: int) -> Substitute:
    """Build a reduction whose result is, for each element, the first element of its fragment of the group; for a fragment of 1, itself."""

    def step(state: State, operation: Reduce) -> None:
        numbers = state.matrices[operation.matrix.name].numbers
        axis = 1 if operation.mode is ReduceMode.COLUMN else 2
        _set(state, operation.result, np.take(numbers, np.arange(numbers.shape[axis]) // fragment * fragment, axis))

    return step


def _not_replicated(state: State, operation: Reduce) -> None:
    """Give the value only to the first element of each group of the result, and zero to the others."""
    reduce(state, operation)
    value = state.matrices[operation.result.name]
    kept = np.zeros_like(value.bits)
    part = {ReduceMode.ROW: np.s_[:, :, :1], ReduceMode.COLUMN: np.s_[:, :1, :]}.get(operation.mode, np.s_[:, :1, :1])
    kept[part] = value.bits[part]
    state.matrices[operation.result.name] = replace(value, bits=kept)


def _within(fragment: int) -> Substitute:
    """Build a reduction that combines only the first ``fragment`` elements of each group."""

    def step(state: State, operation: Reduce) -> None:
        groups = _groups(state, operation)
        _set(state, operation.result, spread(operation, in_order(state, operation.function, groups[..., :fragment])))

    return step


def _first_line_of_fragments(fragment: int) -> Substitute:
    """Build a reduction that combines only the first line of fragments. Line n of fragments gets the result of fragment n of the first
    line."""

    def step(state: State, operation: Reduce) -> None:
        groups = _groups(state, operation)
        result = in_order(state, operation.function, groups).copy()
        for line in range(1, groups.shape[1] // fragment):
            where = min(line, groups.shape[2] // fragment - 1) * fragment
            part = groups[:, :fragment, where : where + fragment]
            result[:, line * fragment : (line + 1) * fragment] = in_order(state, operation.function, part)
        _set(state, operation.result, spread(operation, result))

    return step


def _reduction_defects(operations: list[Reduce]) -> Iterator[Defect]:
    def of(name: str, step: Substitute, chosen: list[Reduce] | None = None, **kinds: str | int) -> Iterator[Defect]:
        those = operations if chosen is None else chosen
        return each_and_all(those, f"reduce.{name}", "reduction", _name, step, _function, **kinds)

    yield from of("last_element_missing", _of_groups(lambda groups: groups[..., :-1]))
    yield from of("first_element_missing", _of_groups(lambda groups: groups[..., 1:]))
    counted = [o for o in operations if not _is_idempotent(o.function)]
    yield from of("last_element_twice", _of_groups(lambda groups: np.concatenate([groups, groups[..., -1:]], -1)), counted)
    yield from of("every_element_twice", _of_groups(lambda groups: np.concatenate([groups, groups], -1)), counted)
    padded = [o for o in operations if not _ignores_zero(o.function)]
    yield from of("padded_with_zeros", _of_groups(lambda groups: np.concatenate([groups, np.zeros_like(groups[..., :1])], -1)), padded)
    yield from of("not_combined", _first_only)
    yield from of("last_argument_kept", _last_only)
    kept = [o for o in operations if o.mode in (ReduceMode.ROW, ReduceMode.COLUMN) and o.matrix.type.shape == o.result.type.shape]
    for fragment in (1, 2, *_FRAGMENTS):
        long = [o for o in kept if _group_size(o) > fragment]
        yield from of("argument_of_fragment_kept", _of_fragments(fragment), long, fragment=fragment)
    yield from of("first_element_set", _not_replicated, [o for o in operations if o.mode is not ReduceMode.TWO_BY_TWO])
    for fragment in _FRAGMENTS:
        split = [o for o in operations if o.mode in (ReduceMode.ROW, ReduceMode.COLUMN) and _group_size(o) > fragment]
        yield from of("within_fragments", _within(fragment), split, fragment=fragment)
        lines = [o for o in split if o.matrix.type.shape[o.mode is ReduceMode.COLUMN] > fragment]
        yield from of("first_line_of_fragments", _first_line_of_fragments(fragment), lines, fragment=fragment)
    for name, wrong, right in (
        ("columns_for_rows", ReduceMode.COLUMN, (ReduceMode.ROW,)),
        ("rows_for_columns", ReduceMode.ROW, (ReduceMode.COLUMN,)),
        ("rows_for_all", ReduceMode.ROW, (ReduceMode.ROW_AND_COLUMN,)),
        ("columns_for_all", ReduceMode.COLUMN, (ReduceMode.ROW_AND_COLUMN,)),
        ("all_for_lines", ReduceMode.ROW_AND_COLUMN, (ReduceMode.ROW, ReduceMode.COLUMN)),
    ):
        same = wrong is not ReduceMode.ROW_AND_COLUMN
        yield from of(name, _by(wrong), [o for o in operations if o.mode in right and not (same and o.matrix.type != o.result.type)])
    for name, rewrite in _FUNCTION_DEFECTS.items():
        # The order of the two parameters of a reduction's function is free.
        if name != "arguments_exchanged":
            yield from of(name, _with_function(rewrite), _changed(operations, rewrite))


_FUNCTION_DEFECTS: Mapping[str, Rewrite] = MappingProxyType(
    {
        "comparisons_turned": _last_comparison_exchanged,
        "compared_by_other_sign": _everywhere(_compared_otherwise),
        "arguments_exchanged": _everywhere(_exchanged_arguments),
    }
)


def _group_size(operation: Reduce) -> int:
    rows, columns = operation.matrix.type.shape
    return columns if operation.mode is ReduceMode.ROW else rows


def _samples(component: ComponentType) -> np.ndarray:
    if component.is_float:
        return np.array([1.0, -2.0, 0.5])
    limits = np.iinfo(component.dtype)
    return np.array([limits.min, limits.max, 1, 6], component.dtype)


def _component(function: Function) -> ComponentType:
    assert is_scalar(function.returned), "instructions call functions that return scalars"
    return function.returned.type


def _gives(function: Function, left: np.ndarray, right: np.ndarray) -> np.ndarray | None:
    """Return the function's results; None if it reads values from outside of it, or does not accept these numbers."""
    try:
        return applied(empty_state(), function, [left, right])
    except (GeneratorError, LookupError):
        return None


def _is_idempotent(function: Function) -> bool:
    """Tell whether an element can count twice without a change of the result; True if that cannot be told."""
    samples = _samples(_component(function))
    found = _gives(function, samples, samples)
    return found is None or bool((found == samples).all())


def _ignores_zero(function: Function) -> bool:
    """Tell whether 0 is neutral; True if that cannot be told."""
    samples = _samples(_component(function))
    found = _gives(function, samples, np.zeros_like(samples))
    return found is None or bool((found == samples).all())


def _of_places(change: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]) -> Substitute:
    """Build a step that gives the function other rows and columns."""

    def step(state: State, operation: PerElement) -> None:
        row, column, *rest = arguments(state, operation)
        assert isinstance(row, np.ndarray), "rows are numbers"
        assert isinstance(column, np.ndarray), "columns are numbers"
        apply(state, operation, [*change(row, column), *rest])

    return step


def _element_defects(operations: list[PerElement]) -> Iterator[Defect]:
    def of(name: str, step: Substitute, chosen: list[PerElement] | None = None, **kinds: str | int) -> Iterator[Defect]:
        those = operations if chosen is None else chosen
        return each_and_all(those, f"per_element.{name}", "element_function", _name, step, _function, **kinds)

    placed = [o for o in operations if _used(o, 0) and _used(o, 1)]
    yield from of("row_and_column_exchanged", _of_places(lambda row, column: (column, row)), placed)
    rows, columns = [o for o in operations if _used(o, 0)], [o for o in operations if _used(o, 1)]
    yield from of("row_too_great", _of_places(lambda row, column: (row + row.dtype.type(1), column)), _reads_nothing(rows))
    yield from of("row_zero", _of_places(lambda row, column: (row * row.dtype.type(0), column)), rows)
    yield from of("column_zero", _of_places(lambda row, column: (row, column * column.dtype.type(0))), columns)
    for fragment in _FRAGMENTS:
        tall = [o for o in rows if o.matrix.type.shape[0] > fragment]
        wide = [o for o in columns if o.matrix.type.shape[1] > fragment]
        yield from of("row_in_fragment", _of_places(_row_within(fragment)), tall, fragment=fragment)
        yield from of("column_in_fragment", _of_places(_column_within(fragment)), wide, fragment=fragment)
    changed = [o for o in operations if _used(o, 2)]
    yield from of("element_transposed", _transposed_element, [o for o in changed if _is_square(o)])
    yield from of("element_zero", _zero_element, changed)
    yield from of("without_effect", _unchanged)
    for operation in operations:
        yield from _operand_defects(operation)
    for name, rewrite in _FUNCTION_DEFECTS.items():
        yield from of(name, _with_function(rewrite), _changed(operations, rewrite))


def _row_within(fragment: int) -> Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    return lambda row, column: (row % row.dtype.type(fragment), column)


def _column_within(fragment: int) -> Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    return lambda row, column: (row, column % column.dtype.type(fragment))


def _used(operation: PerElement, position: int) -> bool:
    """Tell whether the function reads a parameter."""
    function = operation.function
    name = function.parameters[position].name
    return any(name in names_read(one) for one in function.body)


def _reads_nothing(operations: list[PerElement]) -> list[PerElement]:
    """Return the operations whose function reads no array: with other rows, it would read beyond the array."""
    return [o for o in operations if not any(isinstance(e, ArrayLoad) for e in flattened(o.function.body))]


def _is_square(operation: PerElement) -> bool:
    rows, columns = operation.matrix.type.shape
    return rows == columns


def _transposed_element(state: State, operation: PerElement) -> None:
    _with_matrix(state, operation, operation.matrix, lambda bits: bits.transpose(0, 2, 1))


def _zero_element(state: State, operation: PerElement) -> None:
    _with_matrix(state, operation, operation.matrix, np.zeros_like)


def _with_matrix(state: State, operation: PerElement, matrix: Matrix, change: Callable[[np.ndarray], np.ndarray]) -> None:
    """Perform the operation with other elements in ``matrix``, then restore ``matrix``."""
    before = state.matrices[matrix.name]
    state.matrices[matrix.name] = replace(before, bits=np.ascontiguousarray(change(before.bits)))
    per_element(state, operation)
    state.matrices[matrix.name] = before


def _unchanged(state: State, operation: PerElement) -> None:
    state.matrices[operation.result.name] = state.matrices[operation.matrix.name]


def _operand_defects(operation: PerElement) -> Iterator[Defect]:
    extra = operation.extra

    def wrong(name: str, step: Substitute, **which: ParameterValue) -> Defect:
        return Defect(f"per_element.{name}", {operation: step}, {"element_function": _name(operation), **_function(operation), **which})

    read = [_used(operation, i + 3) for i in range(len(extra))]
    for first, second in combinations(range(len(extra)), 2):
        if (read[first] or read[second]) and extra[first] != extra[second] and _is_like(operation, first, second):
            yield wrong("operands_exchanged", _exchanged(first, second), first=first, second=second)
    for i, operand in enumerate(extra):
        if not read[i]:
            continue
        if is_matrix(operand) and operand != operation.matrix:
            yield wrong("element_for_operand", _given(i, operation.matrix), operand=i)
            if _is_square(operation):
                yield wrong("operand_transposed", _transposed_operand(operand), operand=i)
        if isinstance(operand, VectorOperand):
            backwards = VectorOperand(operand.parts[::-1])
            yield wrong("components_reversed", _given(i, backwards), operand=i)
        if isinstance(operand, StructOperand):
            types = [member.type for member in operand.parts]
            for first, second in combinations(range(len(types)), 2):
                if types[first] is types[second]:
                    members = list(operand.parts)
                    members[first], members[second] = members[second], members[first]
                    step = _given(i, StructOperand(tuple(members)))
                    yield wrong("members_exchanged", step, operand=i, first=first, second=second)


def _is_like(operation: PerElement, first: int, second: int) -> bool:
    one, other = (operation.function.parameters[i + 3] for i in (first, second))
    return passed_type(one) == passed_type(other)


def _exchanged(first: int, second: int) -> Substitute:
    def step(state: State, operation: PerElement) -> None:
        extra = list(operation.extra)
        extra[first], extra[second] = extra[second], extra[first]
        per_element(state, replace(operation, extra=tuple(extra)))

    return step


def _given(i: int, operand: ExtraOperand) -> Substitute:
    def step(state: State, operation: PerElement) -> None:
        per_element(state, replace(operation, extra=(*operation.extra[:i], operand, *operation.extra[i + 1 :])))

    return step


def _transposed_operand(operand: Matrix) -> Substitute:
    def step(state: State, operation: PerElement) -> None:
        _with_matrix(state, operation, operand, lambda bits: bits.transpose(0, 2, 1))

    return step
