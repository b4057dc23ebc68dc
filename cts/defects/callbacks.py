"""Defects of reductions and of operations on elements: wrong groups and elements, and exchanged places and operands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from cts.defects.defect import Defect, Each, every, result_of
from cts.defects.edits import Bend, bits, given, unchanged, with_matrix
from cts.defects.evaluation import Substitute
from cts.defects.glossary import ParameterValue
from cts.defects.known import defects_of
from cts.reference.callbacks import applied, apply, arguments, grouped, in_order, reduce, spread
from cts.reference.evaluate import empty_state, perform
from cts.reference.state import State
from cts.reference.values import MatrixValue
from generators.errors import GeneratorError
from generators.numerics.formats import encode
from generators.program.arrays import ArrayLoad
from generators.program.callbacks import PerElement, Reduce, StructOperand, VectorOperand
from generators.program.control_flow import Condition, Select
from generators.program.functions import Call, Function, passed_type
from generators.program.operation import Operation
from generators.program.program import Program
from generators.program.scalars import ScalarConvert
from generators.program.values import Matrix, Operand, Value, is_matrix, is_scalar
from generators.program.walking import Change, changed_function, flattened, names_read
from generators.types import ReduceMode, of_other_sign

Rewrite = Callable[[Function], Function]
"""Returns a function as a device with a defect would execute it."""

Calling = TypeVar("Calling", Reduce, PerElement)
Item = TypeVar("Item")

_FRAGMENTS = (8, 16)
"""Rows and columns of the pieces that implementations split matrices into."""


@defects_of("reduce", Reduce, PerElement)
def callback_defects(program: Program) -> Iterator[Defect]:
    """Yield defects of the reductions and the operations on elements in ``program``."""
    yield from _reduction_defects(every(program.operations, Reduce))
    yield from _element_defects(every(program.operations, PerElement))


def _compared_otherwise(operation: Operation) -> Sequence[Operation]:
    if not isinstance(operation, Select) or operation.condition.relation != "less" or operation.condition.left.type.is_float:
        return (operation,)
    condition, name = operation.condition, operation.result.name
    other = of_other_sign(condition.left.type)
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


def _function(operation: Reduce | PerElement) -> Mapping[str, ParameterValue]:
    return {"function": operation.function.name}


def _with_function(rewrite: Rewrite) -> Substitute:
    return lambda state, operation: in_one_order(state, replace(operation, function=rewrite(operation.function)))


def in_one_order(state: State, operation: Operation) -> None:
    """Execute an instruction, a reduction in one fixed order: a wrong function need not be commutative."""
    if isinstance(operation, Reduce):
        _of_groups(lambda groups: groups)(state, operation)
    else:
        perform(state, operation)


def _groups(state: State, operation: Reduce) -> np.ndarray:
    return grouped(operation, state.matrices[operation.matrix.name].numbers)


def _of_groups(change: Bend) -> Substitute:
    """Build a reduction of other groups, combined in one order."""

    def step(state: State, operation: Reduce) -> None:
        groups = change(_groups(state, operation))
        set_result(state, operation.result, spread(operation, in_order(state, operation.function, groups)))

    return step


def set_result(state: State, result: Matrix, numbers: np.ndarray) -> None:
    """Set a matrix to numbers that its component type has."""
    component = result.type.component
    state.matrices[result.name] = MatrixValue(component, encode(component, numbers), computed=component.is_float)


def _of_fragments(fragment: int) -> Substitute:
    """Build a reduction whose result is, for each element, the first element of its fragment of the group; for a fragment of 1, itself."""

    def step(state: State, operation: Reduce) -> None:
        numbers = state.matrices[operation.matrix.name].numbers
        axis = 1 if operation.mode is ReduceMode.COLUMN else 2
        set_result(state, operation.result, np.take(numbers, np.arange(numbers.shape[axis]) // fragment * fragment, axis))

    return step


def _not_replicated(state: State, operation: Reduce) -> None:
    """Give the value only to the first element of each group of the result, and zero to the others."""
    reduce(state, operation)
    value = state.matrices[operation.result.name]
    kept = np.zeros_like(value.bits)
    part = {ReduceMode.ROW: np.s_[:, :, :1], ReduceMode.COLUMN: np.s_[:, :1, :]}.get(operation.mode, np.s_[:, :1, :1])
    kept[part] = value.bits[part]
    state.matrices[operation.result.name] = replace(value, bits=kept)


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
        set_result(state, operation.result, spread(operation, result))

    return step


_GROUPS: tuple[tuple[str, Bend], ...] = (
    ("last_element_missing", lambda groups: groups[..., :-1]),
    ("first_element_missing", lambda groups: groups[..., 1:]),
    ("last_element_twice", lambda groups: np.concatenate([groups, groups[..., -1:]], -1)),
    ("every_element_twice", lambda groups: np.concatenate([groups, groups], -1)),
    ("padded_with_zeros", lambda groups: np.concatenate([groups, np.zeros_like(groups[..., :1])], -1)),
    ("not_combined", lambda groups: groups[..., :1]),
    ("last_argument_kept", lambda groups: groups[..., -1:]),
)

_MODES: tuple[tuple[str, ReduceMode, tuple[ReduceMode, ...]], ...] = (
    ("columns_for_rows", ReduceMode.COLUMN, (ReduceMode.ROW,)),
    ("rows_for_columns", ReduceMode.ROW, (ReduceMode.COLUMN,)),
    ("rows_for_all", ReduceMode.ROW, (ReduceMode.ROW_AND_COLUMN,)),
    ("columns_for_all", ReduceMode.COLUMN, (ReduceMode.ROW_AND_COLUMN,)),
    ("all_for_lines", ReduceMode.ROW_AND_COLUMN, (ReduceMode.ROW, ReduceMode.COLUMN)),
)
"""A wrong mode, and the right modes that it may replace."""


_of_reductions = Each("reduce", "reduction", result_of, _function)
_of_elements = Each("per_element", "element_function", result_of, _function)


def _reduction_defects(operations: list[Reduce]) -> Iterator[Defect]:
    counted = [o for o in operations if not _returns_first(o.function, lambda element: element)]
    padded = [o for o in operations if not _returns_first(o.function, np.zeros_like)]
    showing = {"last_element_twice": counted, "every_element_twice": counted, "padded_with_zeros": padded}
    for name, change in _GROUPS:
        yield from _of_reductions(showing.get(name, operations), name, _of_groups(change))
    lines = [o for o in operations if o.mode in (ReduceMode.ROW, ReduceMode.COLUMN)]
    kept = [o for o in lines if o.matrix.type.shape == o.result.type.shape]
    for fragment in (1, 2, *_FRAGMENTS):
        long = [o for o in kept if _group_size(o) > fragment]
        yield from _of_reductions(long, "argument_of_fragment_kept", _of_fragments(fragment), fragment=fragment)
    yield from _of_reductions([o for o in operations if o.mode is not ReduceMode.TWO_BY_TWO], "first_element_set", _not_replicated)
    for fragment in _FRAGMENTS:
        split = [o for o in lines if _group_size(o) > fragment]
        yield from _of_reductions(split, "within_fragments", _of_groups(partial(_first_elements, fragment)), fragment=fragment)
        several = [o for o in split if o.matrix.type.shape[o.mode is ReduceMode.COLUMN] > fragment]
        yield from _of_reductions(several, "first_line_of_fragments", _first_line_of_fragments(fragment), fragment=fragment)
    for name, wrong, right in _MODES:
        of_lines = wrong is not ReduceMode.ROW_AND_COLUMN
        same = [o for o in operations if o.mode in right and not (of_lines and o.matrix.type != o.result.type)]
        yield from _of_reductions(same, name, given(mode=wrong))
    for name, rewrite in _FUNCTION_DEFECTS.items():
        # The order of the two parameters of a reduction's function is free.
        if name != "arguments_exchanged":
            yield from _of_reductions(_changed(operations, rewrite), name, _with_function(rewrite))


def _first_elements(count: int, groups: np.ndarray) -> np.ndarray:
    return groups[..., :count]


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


def _returns_first(function: Function, second: Bend) -> bool:
    """Tell whether a function of two elements returns the first one when the other is ``second`` of the first.

    Also True if that is unknown, because the function reads values from outside of it, or does not accept the samples.
    """
    assert is_scalar(function.returned), "instructions call functions that return scalars"
    component = function.returned.type
    samples = np.array([1.0, -2.0, 0.5]) if component.is_float else np.array([*component.limits, 1, 6], component.dtype)
    try:
        found = applied(empty_state(), function, [samples, second(samples)])
    except (GeneratorError, LookupError):
        return True
    return bool((found == samples).all())


Places = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Takes rows and columns, and returns others."""


def _of_places(change: Places) -> Substitute:
    """Build a step that gives the function other rows and columns."""

    def step(state: State, operation: PerElement) -> None:
        row, column, *rest = arguments(state, operation)
        assert isinstance(row, np.ndarray), "rows are numbers"
        assert isinstance(column, np.ndarray), "columns are numbers"
        apply(state, operation, [*change(row, column), *rest])

    return step


def _within(fragment: int, axis: int) -> Places:
    """Return a function that counts rows (0) or columns (1) within fragments."""

    def change(*places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        row, column = (one % one.dtype.type(fragment) if i == axis else one for i, one in enumerate(places))
        return row, column

    return change


def _element_defects(operations: list[PerElement]) -> Iterator[Defect]:
    rows, columns, changed = ([o for o in operations if _used(o, position)] for position in range(3))
    yield from _of_elements([o for o in rows if o in columns], "row_and_column_exchanged", _of_places(lambda row, column: (column, row)))
    yield from _of_elements(_reads_nothing(rows), "row_too_great", _of_places(lambda row, column: (row + row.dtype.type(1), column)))
    yield from _of_elements(rows, "row_zero", _of_places(lambda row, column: (np.zeros_like(row), column)))
    yield from _of_elements(columns, "column_zero", _of_places(lambda row, column: (row, np.zeros_like(column))))
    for fragment in _FRAGMENTS:
        for axis, name, those in ((0, "row_in_fragment", rows), (1, "column_in_fragment", columns)):
            large = [o for o in those if o.matrix.type.shape[axis] > fragment]
            yield from _of_elements(large, name, _of_places(_within(fragment, axis)), fragment=fragment)
    yield from _of_elements([o for o in changed if _is_square(o)], "element_transposed", with_matrix("matrix", bits(_turned)))
    yield from _of_elements(changed, "element_zero", with_matrix("matrix", bits(np.zeros_like)))
    yield from _of_elements(operations, "without_effect", unchanged)
    for operation in operations:
        yield from _operand_defects(operation)
    for name, rewrite in _FUNCTION_DEFECTS.items():
        yield from _of_elements(_changed(operations, rewrite), name, _with_function(rewrite))


def _turned(elements: np.ndarray) -> np.ndarray:
    return elements.transpose(0, 2, 1)


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


def _operand_defects(operation: PerElement) -> Iterator[Defect]:
    extra = operation.extra

    def wrong(name: str, step: Substitute, **which: ParameterValue) -> Defect:
        where = {"element_function": result_of(operation), **_function(operation), **which}
        return Defect(f"per_element.{name}", {operation: step}, where)

    read = [_used(operation, i + 3) for i in range(len(extra))]
    for first, second in combinations(range(len(extra)), 2):
        if (read[first] or read[second]) and extra[first] != extra[second] and _is_like(operation, first, second):
            yield wrong("operands_exchanged", given(extra=_exchanged(extra, first, second)), first=first, second=second)
    for i, operand in enumerate(extra):
        if not read[i]:
            continue
        if is_matrix(operand) and operand != operation.matrix:
            yield wrong("element_for_operand", given(extra=_replaced(extra, i, operation.matrix)), operand=i)
            if _is_square(operation):
                yield wrong("operand_transposed", with_matrix(operand, bits(_turned)), operand=i)
        if is_scalar(operand) and getattr(operand, "value", None) != 0:
            zero = Operand(f"zero_{i}", operand.type, "literal", 0)
            yield wrong("operand_zero", given(extra=_replaced(extra, i, zero)), operand=i)
        if isinstance(operand, VectorOperand):
            backwards = _replaced(extra, i, VectorOperand(operand.parts[::-1]))
            yield wrong("components_reversed", given(extra=backwards), operand=i)
        if isinstance(operand, StructOperand):
            for first, second in combinations(range(len(operand.parts)), 2):
                if operand.parts[first].type is operand.parts[second].type:
                    members = StructOperand(_exchanged(operand.parts, first, second))
                    step = given(extra=_replaced(extra, i, members))
                    yield wrong("members_exchanged", step, operand=i, first=first, second=second)


def _is_like(operation: PerElement, first: int, second: int) -> bool:
    one, other = (operation.function.parameters[i + 3] for i in (first, second))
    return passed_type(one) == passed_type(other)


def _replaced(items: tuple[Item, ...], i: int, item: Item) -> tuple[Item, ...]:
    return (*items[:i], item, *items[i + 1 :])


def _exchanged(items: tuple[Item, ...], first: int, second: int) -> tuple[Item, ...]:
    return _replaced(_replaced(items, first, items[second]), second, items[first])
