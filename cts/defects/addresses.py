"""Defects of loads and stores: another layout, another unit, an operand ignored, the data of another instance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cts.defects.defect import Defect, each_and_all, every, named
from cts.defects.evaluation import Substitute
from cts.defects.glossary import EVERY, ParameterValue
from cts.defects.known import defects_of
from cts.reference.load_store import Place, load, load_from, place, store_to
from cts.reference.state import State
from generators.errors import GeneratorError, Rule
from generators.program.load_store import MatrixLoad, MatrixStore, layout_value
from generators.program.memory import Pointee
from generators.program.program import Program
from generators.program.values import Operand
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


def _type(access: Access) -> tuple[ComponentType, tuple[int, int]]:
    type_ = access.result.type if isinstance(access, MatrixLoad) else access.matrix.type
    return type_.component, type_.shape


def _bent(bend: Bend) -> Substitute:
    def step(state: State, access: Access) -> None:
        access_at(state, access, bend(Reading(place(state, access), *_type(access))))

    return step


def access_at(state: State, access: Access, at: Place) -> None:
    """Load or store at another place."""
    if isinstance(access, MatrixLoad):
        load_from(state, access, at)
    else:
        store_to(state, access, at)


def _other(layout: Layout) -> Layout:
    return Layout(1 - layout)


def _swapped(reading: Reading) -> Place:
    return replace(reading.at, layout=_other(reading.at.layout))


def _with_stride(at: Place, stride: int) -> Place:
    return replace(at, stride=[stride] * len(at.stride))


def _tight(reading: Reading) -> Place:
    return _with_stride(reading.in_bytes, reading.line(reading.at.layout))


def _tight_the_other_way(reading: Reading) -> Place:
    return _with_stride(reading.in_bytes, reading.line(_other(reading.at.layout)))


def _swapped_tight(reading: Reading) -> Place:
    return _tight(replace(reading, at=_swapped(reading)))


def _from_zero(reading: Reading) -> Place:
    return replace(reading.at, first=[0] * len(reading.at.first))


def _from_first_instance(reading: Reading) -> Place:
    return replace(reading.at, first=[reading.at.first[0]] * len(reading.at.first))


def _strides(reading: Reading, unit: int) -> list[int]:
    return [stride * unit for stride in reading.at.stride]


def _firsts(reading: Reading, unit: int) -> list[int]:
    return [first * unit for first in reading.at.first]


def _stride_in_elements(reading: Reading) -> Place:
    return replace(reading.in_bytes, stride=_strides(reading, reading.component.bytes))


def _first_in_elements(reading: Reading) -> Place:
    return replace(reading.in_bytes, first=_firsts(reading, reading.component.bytes))


def _both_in_elements(reading: Reading) -> Place:
    unit = reading.component.bytes
    return replace(reading.in_bytes, first=_firsts(reading, unit), stride=_strides(reading, unit))


def _strides_in_components(reading: Reading) -> list[int]:
    return _strides(reading, reading.at.array.pointee.component.bytes)


def _firsts_in_components(reading: Reading) -> list[int]:
    return _firsts(reading, reading.at.array.pointee.component.bytes)


def _stride_in_components(reading: Reading) -> Place:
    return replace(reading.in_bytes, stride=_strides_in_components(reading))


def _first_in_components(reading: Reading) -> Place:
    return replace(reading.in_bytes, first=_firsts_in_components(reading))


def _both_in_components(reading: Reading) -> Place:
    return replace(reading.in_bytes, first=_firsts_in_components(reading), stride=_strides_in_components(reading))


def _stride_too_large(reading: Reading) -> Place:
    return replace(reading.at, stride=[stride + 1 for stride in reading.at.stride])


def _stride_too_small(reading: Reading) -> Place:
    return replace(reading.at, stride=[max(stride - 1, 0) for stride in reading.at.stride])


def _by_array_stride(reading: Reading) -> Place:
    unit = reading.at.array.ignored_stride or reading.at.array.pointee.bytes
    return replace(reading.in_bytes, first=_firsts(reading, unit), stride=_strides(reading, unit))


def _in_first_inner_array(reading: Reading) -> Place:
    inner = reading.at.array.inner
    assert inner is not None, "the array has inner arrays"
    return replace(reading.at, first=[first % inner.pitch for first in reading.at.first])


def _at_first_member(reading: Reading) -> Place:
    inner = reading.at.array.inner
    assert inner is not None, "the array has inner arrays"
    return replace(reading.at, first=[first - inner.head for first in reading.at.first])


def _without_repetition(reading: Reading) -> Place:
    return _tight(reading) if 0 in reading.at.stride else reading.at


def _zero_as_count(reading: Reading) -> Place:
    """Take the number of elements in a line for a stride of 0, counted in elements of the array."""
    count = reading.line(reading.at.layout) // reading.component.bytes
    return replace(reading.at, stride=[stride or count for stride in reading.at.stride])


def _line_later(reading: Reading) -> Place:
    at = reading.in_bytes
    return replace(at, first=[first + stride for first, stride in zip(at.first, at.stride, strict=True)])


def _line_earlier(reading: Reading) -> Place:
    at = reading.in_bytes
    first = [first - stride for first, stride in zip(at.first, at.stride, strict=True)]
    if min(first) < 0:
        raise GeneratorError(Rule.DEFECT_INAPPLICABLE, "no line is before the first element of an array")
    return replace(at, first=first)


def _rounded_down(value: int, unit: int) -> int:
    return value // unit * unit


def _first_rounded(reading: Reading) -> Place:
    at = reading.in_bytes
    return replace(at, first=[_rounded_down(first, _WIDEST_ALIGNMENT) for first in at.first])


def _stride_rounded(reading: Reading) -> Place:
    at = reading.in_bytes
    return replace(at, stride=[_rounded_down(stride, _WIDEST_ALIGNMENT) for stride in at.stride])


def _stride_in_16_bits(reading: Reading) -> Place:
    at = reading.in_bytes
    return replace(at, stride=[stride % (1 << 16) for stride in at.stride])


def _stride_number_in_16_bits(reading: Reading) -> Place:
    return replace(reading.at, stride=[stride % (1 << 16) for stride in reading.at.stride])


def _first_in_16_bits(reading: Reading) -> Place:
    return replace(reading.at, first=[first % (1 << 16) for first in reading.at.first])


def _first_bytes_in_16_bits(reading: Reading) -> Place:
    at = reading.in_bytes
    return replace(at, first=[first % (1 << 16) for first in at.first])


def _transposed(state: State, operation: MatrixLoad) -> None:
    load(state, operation)
    value = state.matrices[operation.result.name]
    if value.bits.shape[1] == value.bits.shape[2]:
        state.matrices[operation.result.name] = replace(value, bits=np.ascontiguousarray(value.bits.transpose(0, 2, 1)))


def _nothing(state: State, operation: MatrixStore) -> None:
    """Skip the store."""


_BENDS: tuple[tuple[Bend, str], ...] = (
    (_stride_in_elements, "load_store.stride_in_elements"),
    (_first_in_elements, "load_store.first_in_elements"),
    (_both_in_elements, "load_store.both_in_elements"),
    (_stride_in_components, "load_store.stride_in_components"),
    (_first_in_components, "load_store.first_in_components"),
    (_both_in_components, "load_store.both_in_components"),
    (_tight, "load_store.stride_ignored"),
    (_tight_the_other_way, "load_store.stride_of_other_dimension"),
    (_swapped_tight, "load_store.other_layout_tight"),
    (_from_zero, "load_store.first_ignored"),
    (_first_rounded, "load_store.address_rounded_down"),
    (_stride_in_16_bits, "load_store.stride_in_16_bits"),
    (_stride_number_in_16_bits, "load_store.stride_number_in_16_bits"),
    (_first_in_16_bits, "load_store.first_in_16_bits"),
    (_first_bytes_in_16_bits, "load_store.first_bytes_in_16_bits"),
    (_stride_rounded, "load_store.stride_rounded_down"),
    (_stride_too_large, "load_store.stride_too_large"),
    (_stride_too_small, "load_store.stride_too_small"),
    (_line_later, "load_store.line_too_far"),
    (_line_earlier, "load_store.line_too_early"),
)

_BY_ELEMENT = frozenset((_stride_in_elements, _first_in_elements, _both_in_elements))
_BY_COMPONENT = frozenset((_stride_in_components, _first_in_components, _both_in_components))


def _has_another_unit(bend: Bend, access: Access) -> bool:
    """Tell whether ``bend`` changes the unit of this access; False also if another defect, counting in the same unit, is likelier."""
    pointee, element = access.array.pointee, _type(access)[0].bytes
    if bend in _BY_ELEMENT:
        return pointee.bytes != element
    return bend not in _BY_COMPONENT or pointee.component.bytes not in (pointee.bytes, element)


def _is_nested(access: Access, in_struct: bool) -> bool:
    inner = access.array.inner
    return inner is not None and (inner.head > 0 or not in_struct)


def _swap(matrix: str, access: str, layout: Layout) -> dict[str, ParameterValue]:
    names = {Layout.ROW_MAJOR: "row", Layout.COLUMN_MAJOR: "column"}
    return {"matrix": matrix, "access": access, "wrong": names[_other(layout)], "right": names[layout]}


@defects_of("load_store", Access)
def address_defects(program: Program) -> Iterator[Defect]:
    """Yield defects of the loads and stores of ``program``, the likeliest first."""
    loads, stores = every(program.operations, MatrixLoad), every(program.operations, MatrixStore)
    accesses: list[Access] = [*loads, *stores]
    swap = _bent(_swapped)

    def loaded(access: MatrixLoad) -> str:
        return named(access.result)

    def stored(access: MatrixStore) -> str:
        return named(access.matrix)

    for one in loads:
        yield Defect("load_store.layout_swapped", {one: swap}, _swap(loaded(one), "loaded", layout_value(one.layout)))
    for access in stores:
        yield Defect("load_store.layout_swapped", {access: swap}, _swap(stored(access), "stored", layout_value(access.layout)))
    groups: tuple[tuple[Sequence[Access], str], ...] = (
        (loads, "loaded"),
        (stores, "stored"),
        (accesses, "loaded and stored"),
    )
    for several, verb in groups:
        if len(several) > 1:
            yield Defect("load_store.every_layout_swapped", dict.fromkeys(several, swap), {"matrix": EVERY, "access": verb})
    yield from each_and_all(loads, "load_store.load_transposed", "matrix", loaded, _transposed)
    repeating = [one for one in loads if not isinstance(one.stride, Operand) or one.stride.value in (0, None)]
    yield from each_and_all(repeating, "load_store.stride_zero_as_tight", "matrix", loaded, _bent(_without_repetition))
    counting = [one for one in repeating if one.array.pointee.bytes != _type(one)[0].bytes]
    yield from each_and_all(counting, "load_store.stride_zero_as_count", "matrix", loaded, _bent(_zero_as_count))
    for bend, id_ in _BENDS:
        if not any(_has_another_unit(bend, one) for one in accesses):
            continue
        step = _bent(bend)
        yield from each_and_all(loads, id_, "matrix", loaded, step, access="loaded")
        yield from each_and_all(stores, id_, "matrix", stored, step, access="stored")
        if loads and stores:
            yield Defect(id_, dict.fromkeys(accesses, step), {"matrix": EVERY, "access": "loaded and stored"})
    decorated: list[Access] = [one for one in accesses if one.array.ignored_stride is not None]
    if decorated:
        yield Defect("load_store.array_stride_as_element", dict.fromkeys(decorated, _bent(_by_array_stride)))
    for bend, id_ in ((_in_first_inner_array, "load_store.outer_index_ignored"), (_at_first_member, "load_store.member_offset_ignored")):
        heads, step = bend is _at_first_member, _bent(bend)
        yield from each_and_all([one for one in loads if _is_nested(one, heads)], id_, "matrix", loaded, step, access="loaded")
        yield from each_and_all([one for one in stores if _is_nested(one, heads)], id_, "matrix", stored, step, access="stored")
    if program.instances > 1:
        yield from each_and_all(loads, "load_store.place_of_first_instance", "matrix", loaded, _bent(_from_first_instance))
    yield from each_and_all(stores, "load_store.not_stored", "matrix", stored, _nothing)
