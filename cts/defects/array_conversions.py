"""Defects of conversions between arrays and matrices: rows of other invocations, elements in another order, parts that begin elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import get_args

import numpy as np

from cts.defects.defect import Defect, Each, each_and_all, every
from cts.defects.edits import Bend, of_first, with_scalar, zero
from cts.defects.evaluation import Substitute
from cts.defects.known import defects_of
from cts.reference.array_conversion import (
    Elements,
    bitcast_array,
    element_of,
    elements,
    line_of,
    lines_of_matrix,
    starts,
    sub_array,
    surrounded,
)
from cts.reference.control_flow import lanes_of
from cts.reference.scalars import numbers
from cts.reference.state import State
from cts.reference.values import MatrixValue
from generators.errors import GeneratorError, Rule
from generators.program.array_conversion import BitCastArray, ConstructCoopMat, ExtractCoopMat, ExtractSubArray
from generators.program.control_flow import Branch
from generators.program.domains import Domain, check_domains
from generators.program.program import Program
from generators.program.values import ArrayType, MatrixType, extent
from generators.types import Use

_WORD_BYTES = 4

Exchange = ConstructCoopMat | ExtractCoopMat


def _transposed(lines: np.ndarray) -> np.ndarray:
    """Return the lines with their components in the order of the other use."""
    return lines.swapaxes(1, 2).reshape(lines.shape)


def _halved(lines: np.ndarray) -> np.ndarray:
    """Return lines whose second half is zero."""
    result = lines.copy()
    result[:, :, lines.shape[2] // 2 :] = 0
    return result


_LINES: tuple[tuple[str, Bend], ...] = (
    ("next_invocation", lambda lines: np.roll(lines, -1, axis=1)),
    ("invocations_reversed", lambda lines: lines[:, ::-1]),
    ("first_invocation", lambda lines: np.broadcast_to(lines[:, :1], lines.shape)),
    ("elements_reversed", lambda lines: lines[:, :, ::-1]),
    ("other_use", _transposed),
    ("half_of_line", _halved),
)
"""Functions that take the lines of matrices, (matrices, lines, components), and return the lines that a device uses instead."""


def _types(operation: Exchange) -> tuple[MatrixType, ArrayType]:
    if isinstance(operation, ConstructCoopMat):
        return operation.result.type, operation.source.type
    return operation.matrix.type, operation.result.type


def _is_packed(operation: Exchange) -> bool:
    """Tell whether an element of the array has several components."""
    matrix, array = _types(operation)
    return element_of(array).bytes > matrix.component.bytes


def _words_reversed(operation: Exchange) -> Bend:
    """Return a function that reverses the order of the components in each element of the array."""
    matrix, array = _types(operation)
    count = element_of(array).bytes // matrix.component.bytes
    return lambda lines: lines.reshape(*lines.shape[:2], -1, count)[..., ::-1].reshape(lines.shape)


def _size(state: State) -> int:
    size = state.program.shape.subgroup_size
    assert size is not None, "programs with conversions state the subgroup size"
    return size


def _given(state: State, operation: ConstructCoopMat) -> np.ndarray:
    """Return the arrays of all invocations as components, (matrices, invocations, components)."""
    type_, size = operation.result.type, _size(state)
    found = elements(lanes_of(state, size), operation.source).cast(type_.component)
    return found.bits.reshape(-1, size, line_of(type_)[1])


def _constructed(state: State, operation: ConstructCoopMat, lines: np.ndarray) -> None:
    type_ = operation.result.type
    bits = lines.swapaxes(1, 2) if type_.use_value is Use.B else lines
    state.matrices[operation.result.name] = MatrixValue(type_.component, np.ascontiguousarray(bits))


def _extracted(state: State, operation: ExtractCoopMat, lines: np.ndarray) -> None:
    size = _size(state)
    inside = lanes_of(state, size)
    inside.aggregates[operation.result.name] = surrounded(lines, size).cast(element_of(operation.result.type)).tree()
    state.invocations = inside


def _lines(bend: Bend) -> Substitute:
    def step(state: State, operation: Exchange) -> None:
        if isinstance(operation, ConstructCoopMat):
            arrays = _given(state, operation)
            _constructed(state, operation, bend(arrays[:, : line_of(operation.result.type)[0]]))
        else:
            _extracted(state, operation, bend(lines_of_matrix(state.matrices[operation.matrix.name], operation.matrix.type)))

    return step


def _last_invocations(state: State, operation: ConstructCoopMat) -> None:
    """Take the arrays of the last invocations of the subgroup."""
    _constructed(state, operation, _given(state, operation)[:, -line_of(operation.result.type)[0] :])


def _of_all_subgroups(program: Program, operations: Sequence[Exchange]) -> list[Exchange]:
    """Return the operations outside of branches: in a branch, the first subgroup may be missing."""
    arms = [arm for branch in every(program.operations, Branch) for arm in (branch.then, branch.otherwise)]
    apart = {one.result.name for arm in arms for one in every(arm, *get_args(Exchange))}
    return [one for one in operations if one.result.name not in apart]


_of = Each("array_conversion", "exchange")


def _exchange_defects(program: Program, operations: Sequence[Exchange], way: str, size: int) -> Iterator[Defect]:
    for name, bend in _LINES:
        yield from _of(operations, name, _lines(bend), way=way)
    if program.instances > 1:
        yield from _of(_of_all_subgroups(program, operations), "first_subgroup", _lines(of_first), way=way)
    for operation in operations:
        if _is_packed(operation):
            yield from _of([operation], "packed_in_other_order", _lines(_words_reversed(operation)), way=way)
        if isinstance(operation, ConstructCoopMat) and line_of(operation.result.type)[0] < size:
            yield from _of([operation], "last_invocations", _last_invocations, way=way)


def _reversed_words(state: State, operation: BitCastArray) -> None:
    """Exchange the halves of each 32-bit element."""
    source, target = element_of(operation.source.type), element_of(operation.result.type)
    found = elements(state, operation.source)
    narrow, wide = sorted((source, target), key=lambda type_: type_.bytes)
    halves = found.cast(narrow).bits.reshape(len(found.bits), -1, wide.bytes // narrow.bytes)[..., ::-1]
    swapped = np.ascontiguousarray(halves.reshape(len(found.bits), -1))
    state.aggregates[operation.result.name] = Elements(swapped, np.ones(swapped.shape, bool)).cast(target).tree()


def _by_value(state: State, operation: BitCastArray) -> None:
    """Convert each element as a number."""
    source, target = element_of(operation.source.type), element_of(operation.result.type)
    found = elements(state, operation.source)
    values = numbers(found.bits.astype(np.uint64), source)
    converted = (
        values.astype(target.dtype) if target.is_float else np.clip(values, -(2.0**31), 2.0**31 - 1).astype(np.int64).astype(np.uint32)
    )
    bits = np.ascontiguousarray(converted).view(target.bits_dtype)
    state.aggregates[operation.result.name] = Elements(bits, np.ones(bits.shape, bool)).tree()


def _elements_reversed(state: State, operation: BitCastArray) -> None:
    bitcast_array(state, operation)
    tree = state.aggregates[operation.result.name]
    state.aggregates[operation.result.name] = tree[::-1]


def _cast_defects(operations: Sequence[BitCastArray]) -> Iterator[Defect]:
    types = {one: (element_of(one.source.type), element_of(one.result.type)) for one in operations}
    different = [one for one, (source, result) in types.items() if source.bytes != result.bytes]
    numeric = [one for one, (source, result) in types.items() if one not in different and source.is_float != result.is_float]
    for chosen, name, step in (
        (different, "halves_exchanged", _reversed_words),
        (numeric, "cast_by_value", _by_value),
        (operations, "cast_reversed", _elements_reversed),
    ):
        yield from each_and_all(chosen, f"array_conversion.{name}", "cast", step)


def _beginning_at(moved: Callable[[ExtractSubArray, np.ndarray], np.ndarray]) -> Substitute:
    """Build a step that extracts a part from another start, which ``moved`` makes of the operation and its start.

    The part must stay inside the array: no device is known to read beyond it.
    """

    def step(state: State, operation: ExtractSubArray) -> None:
        start = moved(operation, starts(state, operation.start))
        length = extent(operation.result.type.length)
        if (start < 0).any() or (start + length > extent(operation.source.type.length)).any():
            raise GeneratorError(Rule.DEFECT_INAPPLICABLE, "the part is not in the array")
        state.aggregates[operation.result.name] = sub_array(elements(state, operation.source), start, length).tree()

    return step


def _spread(state: State, operation: ExtractSubArray) -> None:
    """Take every second element, as if the elements had a wider type."""
    start, length = starts(state, operation.start), extent(operation.result.type.length)
    total = extent(operation.source.type.length)
    places = (start[:, None] + 2 * np.arange(length)) % total
    found = elements(state, operation.source)
    lane = np.arange(len(start))[:, None]
    state.aggregates[operation.result.name] = Elements(found.bits[lane, places], found.defined[lane, places]).tree()


_PART_DEFECTS: tuple[tuple[str, Substitute], ...] = (
    ("start_ignored", with_scalar("start", zero)),
    ("start_of_first_invocation", with_scalar("start", of_first)),
    ("start_in_parts", _beginning_at(lambda operation, start: start // extent(operation.result.type.length))),
    ("start_in_words", _beginning_at(lambda operation, start: start * element_of(operation.source.type).bytes // _WORD_BYTES)),
    ("start_one_later", _beginning_at(lambda _, start: start + 1)),
    ("every_second_element", _spread),
)


@defects_of("array_conversion", Exchange, BitCastArray, ExtractSubArray)
def array_conversion_defects(program: Program) -> Iterator[Defect]:
    """Yield defects of the conversions of arrays of ``program``."""
    size = program.shape.subgroup_size or 0
    for way, kind in (("constructed", ConstructCoopMat), ("extracted", ExtractCoopMat)):
        found: Sequence[Exchange] = every(program.operations, kind)
        yield from _exchange_defects(program, found, way, size)
    yield from _cast_defects(every(program.operations, BitCastArray))
    parts = every(program.operations, ExtractSubArray)
    domains = check_domains(program) if parts else {}
    own = [one for one in parts if domains.get(one.start.name) is Domain.INVOCATION]
    narrow = [one for one in parts if element_of(one.source.type).bytes < _WORD_BYTES]
    chosen = {"start_of_first_invocation": own, "start_in_words": narrow}
    for name, step in _PART_DEFECTS:
        yield from each_and_all(chosen.get(name, parts), f"array_conversion.{name}", "part", step)
