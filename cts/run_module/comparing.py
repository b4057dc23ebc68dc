"""Compares the results of a module with the expected contents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cts.run_module.job import Expectation
from cts.run_module.values import Tolerance
from generators.types import ComponentType


@dataclass(frozen=True)
class Difference:
    """Elements of a buffer that differ.

    Attributes:
        buffer: its name.
        count, of: how many elements differ, and how many there are.
        index: the index of the first one.
        expected, got: its values, with bits.
    """

    buffer: str
    count: int
    of: int
    index: int
    expected: str
    got: str


def compare(buffer: str, left: np.ndarray, expectation: Expectation) -> Difference | None:
    """Return the difference between the bytes ``left`` and the expected contents; None if there is none."""
    component, wanted = expectation.component, expectation.elements
    dtype = component.dtype if component.is_float else component.bits_dtype
    got = left[: wanted.nbytes].view(dtype)
    wanted = np.ascontiguousarray(wanted).astype(dtype, copy=False)
    wrong = _bits(component, got) != _bits(component, wanted)
    if expectation.tolerance != Tolerance():
        wrong &= ~_within(component, got, wanted, expectation.tolerance)
    if not wrong.any():
        return None
    index = int(np.flatnonzero(wrong)[0])
    return Difference(buffer, int(wrong.sum()), wanted.size, index, _text(component, wanted[index]), _text(component, got[index]))


def _bits(component: ComponentType, values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values).view(component.bits_dtype)


def _numbers(component: ComponentType, values: np.ndarray) -> np.ndarray:
    if component.is_float:
        return values.astype(np.float64)
    return values.view(np.dtype(f"i{component.bytes}")).astype(np.float64) if component.is_signed else values.astype(np.float64)


def _within(component: ComponentType, got: np.ndarray, wanted: np.ndarray, tolerance: Tolerance) -> np.ndarray:
    one, other = _numbers(component, got), _numbers(component, wanted)
    both_nan = np.isnan(one) & np.isnan(other)
    with np.errstate(invalid="ignore"):
        near = (one == other) | (np.abs(one - other) <= tolerance.absolute + tolerance.relative * np.abs(other))
    found: np.ndarray = near | both_nan
    return found


def _text(component: ComponentType, value: np.generic) -> str:
    array = np.asarray(value).reshape(1)
    bits = int(array.view(component.bits_dtype)[0])
    number = _numbers(component, array)[0]
    shown = f"{float(number):.9g}" if component.is_float else str(int(number))
    return f"{shown} ({bits:#0{2 + component.bits // 4}x})"
