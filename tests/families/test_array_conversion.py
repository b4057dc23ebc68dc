"""Conversions of arrays on wrong devices: each mistake makes at least two cases of the smoke tier fail."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
import pytest

from cts.embedded.device import EmbeddedDevice
from cts.embedded.faults import Faults
from cts.embedded.instructions.matrices.array_conversion import Lanes, placed, read_as, taken_apart
from cts.embedded.profile import load_profile
from cts.embedded.types.spirv_types import MatrixType, Number
from generators.types import Use
from tests.broken_devices.smoke import fails, smoke_cases

Place = Callable[[MatrixType, int, np.ndarray], np.ndarray]
Take = Callable[[MatrixType, int, np.ndarray], np.ndarray]
Read = Callable[[Lanes, Number], Lanes]


def rows_of_neighbours(place: Place) -> Place:
    """Make invocation i + 1 supply row i."""
    return lambda type_, lines, arrays: place(type_, lines, np.roll(arrays, -1, axis=1))


def rows_of_others(place: Place) -> Place:
    """Make the last invocations of a subgroup supply the rows."""
    return lambda type_, lines, arrays: place(type_, lines, arrays[:, -lines:])


def as_an_a(place: Place) -> Place:
    """Treat a square B as if it were an A, and an A as if it were a B."""

    def wrong(type_: MatrixType, lines: int, arrays: np.ndarray) -> np.ndarray:
        found = place(type_, lines, arrays)
        return found.swapaxes(1, 2).reshape(found.shape) if type_.use is not Use.ACCUMULATOR else found

    return wrong


def first_subgroup(place: Place) -> Place:
    """Make the first subgroup supply all rows."""
    return lambda type_, lines, arrays: place(type_, lines, np.broadcast_to(arrays[:1], arrays.shape))


def taken_backward(take: Take) -> Take:
    """Return the rows of a matrix in reverse order."""
    return lambda type_, size, matrices: take(type_, size, matrices[:, :, ::-1] if type_.use is Use.B else matrices[:, ::-1])


def taken_columns(take: Take) -> Take:
    """Return the elements in the order of the other use."""
    return lambda type_, size, matrices: take(type_, size, matrices.swapaxes(1, 2).reshape(matrices.shape))


def high_first(read: Read) -> Read:
    """Read the upper bits of a word first."""

    def wrong(lanes: Lanes, to: Number) -> Lanes:
        found = read(lanes, to)
        count = max(1, lanes.value.dtype.itemsize // to.bytes)
        value = found.value.reshape(len(found.value), -1, count)[..., ::-1].reshape(found.value.shape)
        return Lanes(np.ascontiguousarray(value), found.defined)

    return wrong


def half_read(read: Read) -> Read:
    """Read only the first half of an array."""

    def wrong(lanes: Lanes, to: Number) -> Lanes:
        found = read(lanes, to)
        value = found.value.copy()
        value[:, value.shape[1] // 2 :] = 0
        return Lanes(value, found.defined)

    return wrong


WRONG: tuple[tuple[Any, Any, str], ...] = (
    (placed, rows_of_neighbours, "array_conversion"),
    (placed, rows_of_others, "array_conversion"),
    (placed, as_an_a, "array_conversion"),
    (placed, first_subgroup, "array_conversion"),
    (placed, rows_of_neighbours, "array_chain"),
    (taken_apart, taken_backward, "array_conversion"),
    (taken_apart, taken_columns, "array_conversion"),
    (taken_apart, taken_backward, "array_chain"),
    (read_as, high_first, "array_conversion"),
    (read_as, high_first, "bitcast_arrays"),
    (read_as, half_read, "array_chain"),
    (read_as, half_read, "bitcast_arrays"),
)


@pytest.mark.parametrize(("operation", "fault", "family"), WRONG, ids=[f"{fault.__name__}-{family}" for _, fault, family in WRONG])
def test_two_cases_notice(operation: Any, fault: Any, family: str) -> None:
    device = EmbeddedDevice(load_profile("universal"), faults=Faults(operations={operation: fault}))
    failing = (case.id for case in smoke_cases(family) if fails(case.id, device))
    assert len(list(islice(failing, 2))) == 2
