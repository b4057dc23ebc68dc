"""Defects of loads and stores: another layout, another unit, an operand ignored, the data of another instance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cts.defects.defect import Defect, Substitute, each_and_all, every, named
from cts.reference.load_store import Place, load, load_from, place, store_to
from cts.reference.state import State
from generators.errors import GeneratorError
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
        pitch = at.array.pointee.bytes
        array = replace(at.array, pointee=Pointee(COMPONENT_TYPES["u8"]), length=at.array.bytes)
        return Place(array, [first * pitch for first in at.first], [stride * pitch for stride in at.stride], at.layout)

    def line(self, layout: Layout) -> int:
        """Bytes of a row (column)."""
        return (self.shape[1] if layout is Layout.ROW_MAJOR else self.shape[0]) * self.component.bytes


_WIDEST_ALIGNMENT = 16
"""Bytes that are enough for every access: lines of fewer need less (KHR-ALIGN-01)."""

Bend = Callable[[Reading], Place]
"""Another place for a matrix."""


def _type(access: Access) -> tuple[ComponentType, tuple[int, int]]:
    type_ = access.result.type if isinstance(access, MatrixLoad) else access.matrix.type
    return type_.component, type_.shape


def _bent(bend: Bend) -> Substitute:
    def step(state: State, access: Access) -> None:
        access_at(state, access, bend(Reading(place(state, access), *_type(access))))

    return step


def access_at(state: State, access: Access, at: Place) -> None:
    """The load or store, at another place."""
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


def _by_array_stride(reading: Reading) -> Place:
    unit = reading.at.array.array_stride or reading.at.array.pointee.bytes
    return replace(reading.in_bytes, first=_firsts(reading, unit), stride=_strides(reading, unit))


def _without_repetition(reading: Reading) -> Place:
    return _tight(reading) if 0 in reading.at.stride else reading.at


def _line_later(reading: Reading) -> Place:
    return replace(reading.at, first=[first + stride for first, stride in zip(reading.at.first, reading.at.stride, strict=True)])


def _line_earlier(reading: Reading) -> Place:
    first = [first - stride for first, stride in zip(reading.at.first, reading.at.stride, strict=True)]
    if min(first) < 0:
        raise GeneratorError("no line lies before the first element of an array")
    return replace(reading.at, first=first)


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


def _transposed(state: State, operation: MatrixLoad) -> None:
    load(state, operation)
    value = state.matrices[operation.result.name]
    if value.bits.shape[1] == value.bits.shape[2]:
        state.matrices[operation.result.name] = replace(value, bits=np.ascontiguousarray(value.bits.transpose(0, 2, 1)))


def _nothing(state: State, operation: MatrixStore) -> None:
    """The store is left out."""


_BENDS: tuple[tuple[Bend, str], ...] = (
    (_stride_in_elements, "with the stride counted in matrix elements instead of the array's"),
    (_first_in_elements, "with the first element counted in matrix elements instead of the array's"),
    (_both_in_elements, "with stride and first element counted in matrix elements instead of the array's"),
    (_tight, "with the stride ignored (lines close together)"),
    (_tight_the_other_way, "with the matrix's other dimension as stride"),
    (_swapped_tight, "in the other layout with the stride ignored"),
    (_from_zero, "with the first element ignored"),
    (_first_rounded, "from an address rounded down to 16 bytes"),
    (_stride_in_16_bits, "with the bytes of the stride kept in 16 bits"),
    (_stride_rounded, "with the stride rounded down to 16 bytes"),
    (_line_later, "one line too far"),
    (_line_earlier, "one line too early"),
)

_ONE_UNIT = frozenset((_stride_in_elements, _first_in_elements, _both_in_elements))


def _layout_words(verb: str, layout: Layout) -> str:
    names = {Layout.ROW_MAJOR: "row major", Layout.COLUMN_MAJOR: "column major"}
    return f"{verb} {names[_other(layout)]} instead of {names[layout]}"


def address_defects(program: Program) -> Iterator[Defect]:
    """Defects of the loads and stores of ``program``, the likeliest first."""
    loads, stores = every(program.operations, MatrixLoad), every(program.operations, MatrixStore)
    accesses: list[Access] = [*loads, *stores]
    swap = _bent(_swapped)

    def loaded(access: MatrixLoad) -> str:
        return named(access.result)

    def stored(access: MatrixStore) -> str:
        return named(access.matrix)

    for one in loads:
        yield Defect(f"{loaded(one)} {_layout_words('loaded', layout_value(one.layout))}", {one: swap})
    for access in stores:
        yield Defect(f"{stored(access)} {_layout_words('stored', layout_value(access.layout))}", {access: swap})
    groups: tuple[tuple[Sequence[Access], str], ...] = (
        (loads, "every matrix loaded"),
        (stores, "every matrix stored"),
        (accesses, "every matrix loaded and stored"),
    )
    for several, words in groups:
        if len(several) > 1:
            yield Defect(f"{words} in the other layout", dict.fromkeys(several, swap))
    yield from each_and_all(loads, loaded, "every matrix", "loaded transposed", _transposed)
    repeating = [one for one in loads if isinstance(one.stride, Operand) and one.stride.value in (0, None)]
    yield from each_and_all(repeating, loaded, "every matrix", "loaded with stride 0 taken as close together", _bent(_without_repetition))
    for bend, words in _BENDS:
        if bend in _ONE_UNIT and all(one.array.pointee.bytes == _type(one)[0].bytes for one in accesses):
            continue
        step = _bent(bend)
        yield from each_and_all(loads, loaded, "every matrix", f"loaded {words}", step)
        yield from each_and_all(stores, stored, "every matrix", f"stored {words}", step)
        if loads and stores:
            yield Defect(f"every matrix loaded and stored {words}", dict.fromkeys(accesses, step))
    decorated: list[Access] = [one for one in accesses if one.array.other_stride is not None]
    if decorated:
        yield Defect("the ArrayStride decoration taken for the size of an element", dict.fromkeys(decorated, _bent(_by_array_stride)))
    if program.instances > 1:
        yield from each_and_all(
            loads, loaded, "every matrix", "of every scope instance loaded from the place of instance 0", _bent(_from_first_instance)
        )
    yield from each_and_all(stores, stored, "every matrix", "not stored", _nothing)
