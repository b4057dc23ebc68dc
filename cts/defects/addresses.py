"""Defects of loads and stores: another layout, another unit, an operand ignored, the data of another instance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cts.defects.defect import Defect, each_and_all, every, named
from cts.defects.edits import bits, given, skipped, then
from cts.defects.evaluation import Substitute
from cts.defects.glossary import EVERY
from cts.defects.known import defects_of
from cts.reference.load_store import Place, load_from, place, store_to
from cts.reference.state import State
from generators.errors import GeneratorError, Rule
from generators.program.load_store import MatrixLoad, MatrixStore, guaranteed_alignment, layout_value
from generators.program.memory import Pointee
from generators.program.program import Program
from generators.program.values import Matrix, Operand
from generators.types import COMPONENT_TYPES, ComponentType, Layout

Access = MatrixLoad | MatrixStore


@dataclass(frozen=True)
class Reading:
    """A matrix of ``component`` and ``shape`` and the place where it belongs."""

    at: Place
    component: ComponentType
    shape: tuple[int, int]

    @property
    def in_bytes(self) -> Place:
        """The same place, counted in bytes."""
        at = self.at
        first_bytes, stride_bytes = at.array.pointee.bytes, at.array.stride_bytes
        array = replace(at.array, pointee=Pointee(COMPONENT_TYPES["u8"]), length=at.array.bytes, inner=None)
        return Place(array, [first * first_bytes for first in at.first], [stride * stride_bytes for stride in at.stride], at.layout)

    def line(self, layout: Layout) -> int:
        """Return the bytes of a row (column)."""
        return (self.shape[1] if layout is Layout.ROW_MAJOR else self.shape[0]) * self.component.bytes


_WIDEST_ALIGNMENT = 16
"""The strictest alignment that an access can require, in bytes; shorter lines require less (KHR-ALIGN-01)."""

Bend = Callable[[Reading], Place]
"""Returns the wrong place of a matrix."""

Number = Callable[[int, Reading], int]
"""Takes the first element or the stride, and returns the wrong number."""


def matrix_of(access: Access) -> Matrix:
    """Return the matrix that is loaded or stored."""
    return access.result if isinstance(access, MatrixLoad) else access.matrix


def _name(access: Access) -> str:
    return named(matrix_of(access))


def _bent(bend: Bend) -> Substitute:
    def step(state: State, access: Access) -> None:
        type_ = matrix_of(access).type
        access_at(state, access, bend(Reading(place(state, access), type_.component, type_.shape)))

    return step


def access_at(state: State, access: Access, at: Place) -> None:
    """Load or store at another place."""
    if isinstance(access, MatrixLoad):
        load_from(state, access, at)
    else:
        store_to(state, access, at)


def _as_it_is(number: int, _: Reading) -> int:
    return number


def _numbers(first: Number = _as_it_is, stride: Number = _as_it_is) -> Bend:
    """Return a function that changes the numbers of elements of the array."""

    def bend(reading: Reading) -> Place:
        at = reading.at
        return replace(at, first=[first(one, reading) for one in at.first], stride=[stride(one, reading) for one in at.stride])

    return bend


def _bytes(first: Number = _as_it_is, stride: Number = _as_it_is) -> Bend:
    """Return a function that changes the numbers of bytes."""
    return lambda reading: _numbers(first, stride)(replace(reading, at=reading.in_bytes))


def _counted_in(unit: Callable[[Reading], int], first: bool = False, stride: bool = False) -> Bend:
    """Return a function that counts the chosen numbers in units of so many bytes, not in elements of the array."""

    def bend(reading: Reading) -> Place:
        at, own, size = reading.in_bytes, reading.at, unit(reading)
        firsts = [one * size for one in own.first] if first else at.first
        return replace(at, first=firsts, stride=[one * size for one in own.stride] if stride else at.stride)

    return bend


def _swapped(reading: Reading) -> Reading:
    return replace(reading, at=replace(reading.at, layout=_other(reading.at.layout)))


def _other(layout: Layout) -> Layout:
    return Layout(1 - layout)


def _tight(_: int, reading: Reading) -> int:
    return reading.line(reading.at.layout)


def _tight_the_other_way(_: int, reading: Reading) -> int:
    return reading.line(_other(reading.at.layout))


def _element(reading: Reading) -> int:
    return reading.component.bytes


def _component(reading: Reading) -> int:
    return reading.at.array.pointee.component.bytes


def _array_stride(reading: Reading) -> int:
    return reading.at.array.ignored_stride or reading.at.array.pointee.bytes


def _rounded_down(number: int, _: Reading) -> int:
    return number // _WIDEST_ALIGNMENT * _WIDEST_ALIGNMENT


def _in_16_bits(number: int, _: Reading) -> int:
    return number % (1 << 16)


def _from_first_instance(reading: Reading) -> Place:
    return replace(reading.at, first=[reading.at.first[0]] * len(reading.at.first))


def _in_first_inner_array(first: int, reading: Reading) -> int:
    """Ignore the index of the inner array."""
    inner = reading.at.array.inner
    assert inner is not None, "the array has inner arrays"
    return first % inner.pitch


def _at_first_member(first: int, reading: Reading) -> int:
    """Take the inner array for the first member of its struct, although another one comes before it."""
    inner = reading.at.array.inner
    assert inner is not None, "the array has inner arrays"
    return first - inner.head


def _without_repetition(reading: Reading) -> Place:
    return _bytes(stride=_tight)(reading) if 0 in reading.at.stride else reading.at


def _zero_as_count(stride: int, reading: Reading) -> int:
    """Take the number of elements in a line for a stride of 0, counted in elements of the array."""
    return stride or reading.line(reading.at.layout) // reading.component.bytes


def _line_later(reading: Reading) -> Place:
    at = reading.in_bytes
    return replace(at, first=[first + stride for first, stride in zip(at.first, at.stride, strict=True)])


def _line_earlier(reading: Reading) -> Place:
    at = reading.in_bytes
    first = [first - stride for first, stride in zip(at.first, at.stride, strict=True)]
    if min(first) < 0:
        raise GeneratorError(Rule.DEFECT_INAPPLICABLE, "no line is before the first element of an array")
    return replace(at, first=first)


def _transposed(lines: np.ndarray) -> np.ndarray:
    """Return the transpose; if the matrix is not square, itself."""
    return lines.transpose(0, 2, 1) if lines.shape[1] == lines.shape[2] else lines


def _differs_by_element(access: Access) -> bool:
    return access.array.pointee.bytes != matrix_of(access).type.component.bytes


def _differs_by_component(access: Access) -> bool:
    """Tell whether the unit is another one; False also if another defect, which counts in the same unit, is likelier."""
    pointee = access.array.pointee
    return pointee.component.bytes not in (pointee.bytes, matrix_of(access).type.component.bytes)


def _may_be_uneven(access: Access) -> bool:
    """Tell whether the address need not be a multiple of 16 bytes."""
    return guaranteed_alignment(matrix_of(access).type, layout_value(access.layout), access.array) < _WIDEST_ALIGNMENT


def _always(_: Access) -> bool:
    return True


_BENDS: tuple[tuple[Bend, str, Callable[[Access], bool]], ...] = (
    (_counted_in(_element, stride=True), "load_store.stride_in_elements", _differs_by_element),
    (_counted_in(_element, first=True), "load_store.first_in_elements", _differs_by_element),
    (_counted_in(_element, first=True, stride=True), "load_store.both_in_elements", _differs_by_element),
    (_counted_in(_component, stride=True), "load_store.stride_in_components", _differs_by_component),
    (_counted_in(_component, first=True), "load_store.first_in_components", _differs_by_component),
    (_counted_in(_component, first=True, stride=True), "load_store.both_in_components", _differs_by_component),
    (_bytes(stride=_tight), "load_store.stride_ignored", _always),
    (_bytes(stride=_tight_the_other_way), "load_store.stride_of_other_dimension", _always),
    (lambda reading: _bytes(stride=_tight)(_swapped(reading)), "load_store.other_layout_tight", _always),
    (_numbers(first=lambda _, __: 0), "load_store.first_ignored", _always),
    (_bytes(first=_rounded_down), "load_store.address_rounded_down", _may_be_uneven),
    (_bytes(stride=_in_16_bits), "load_store.stride_in_16_bits", _always),
    (_numbers(stride=_in_16_bits), "load_store.stride_number_in_16_bits", _always),
    (_numbers(first=_in_16_bits), "load_store.first_in_16_bits", _always),
    (_bytes(first=_in_16_bits), "load_store.first_bytes_in_16_bits", _always),
    (_bytes(stride=_rounded_down), "load_store.stride_rounded_down", _may_be_uneven),
    (_numbers(stride=lambda stride, _: stride + 1), "load_store.stride_too_large", _always),
    (_numbers(stride=lambda stride, _: max(stride - 1, 0)), "load_store.stride_too_small", _always),
    (_line_later, "load_store.line_too_far", _always),
    (_line_earlier, "load_store.line_too_early", _always),
)
"""The wrong place, and the accesses of which at least one must be among those that go wrong."""


def _is_nested(access: Access, in_struct: bool) -> bool:
    inner = access.array.inner
    return inner is not None and (inner.head > 0 or not in_struct)


_NAMES = {Layout.ROW_MAJOR: "row", Layout.COLUMN_MAJOR: "column"}


@defects_of("load_store", Access)
def address_defects(program: Program) -> Iterator[Defect]:
    """Yield defects of the loads and stores of ``program``, the likeliest first."""
    loads, stores = every(program.operations, MatrixLoad), every(program.operations, MatrixStore)
    accesses: list[Access] = [*loads, *stores]
    groups: tuple[tuple[Sequence[Access], str], ...] = ((loads, "loaded"), (stores, "stored"))
    both: tuple[tuple[Sequence[Access], str], ...] = (*groups, (accesses, "loaded and stored"))
    swap = _bent(lambda reading: _swapped(reading).at)
    for those, verb in groups:
        for one in those:
            right = layout_value(one.layout)
            names = {"wrong": _NAMES[_other(right)], "right": _NAMES[right]}
            yield Defect("load_store.layout_swapped", {one: swap}, {"matrix": _name(one), "access": verb, **names})
    for those, verb in both:
        if len(those) > 1:
            yield Defect("load_store.every_layout_swapped", dict.fromkeys(those, swap), {"matrix": EVERY, "access": verb})
    yield from each_and_all(loads, "load_store.load_transposed", "matrix", then(bits(_transposed)), _name)
    repeating = [one for one in loads if not isinstance(one.stride, Operand) or one.stride.value in (0, None)]
    yield from each_and_all(repeating, "load_store.stride_zero_as_tight", "matrix", _bent(_without_repetition), _name)
    counting = [one for one in repeating if _differs_by_element(one)]
    yield from each_and_all(counting, "load_store.stride_zero_as_count", "matrix", _bent(_numbers(stride=_zero_as_count)), _name)
    for bend, id_, differs in _BENDS:
        if not any(map(differs, accesses)):
            continue
        for those, verb in groups:
            if any(map(differs, those)):
                yield from each_and_all(those, id_, "matrix", _bent(bend), _name, access=verb)
        if loads and stores:
            yield Defect(id_, dict.fromkeys(accesses, _bent(bend)), {"matrix": EVERY, "access": "loaded and stored"})
    decorated = [one for one in accesses if one.array.ignored_stride is not None]
    if decorated:
        step = _bent(_counted_in(_array_stride, first=True, stride=True))
        yield Defect("load_store.array_stride_as_element", dict.fromkeys(decorated, step))
    for first, id_, in_struct in (
        (_in_first_inner_array, "load_store.outer_index_ignored", False),
        (_at_first_member, "load_store.member_offset_ignored", True),
    ):
        for those, verb in groups:
            nested = [one for one in those if _is_nested(one, in_struct)]
            yield from each_and_all(nested, id_, "matrix", _bent(_numbers(first=first)), _name, access=verb)
    if program.instances > 1:
        yield from each_and_all(loads, "load_store.place_of_first_instance", "matrix", _bent(_from_first_instance), _name)
    for those, verb in groups:
        checked = [one for one in those if one.robust]
        yield from each_and_all(checked, "load_store.unchecked", "matrix", given(robust=False), _name, access=verb)
    yield from each_and_all(stores, "load_store.not_stored", "matrix", skipped, _name)
