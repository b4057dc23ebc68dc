"""Devices that give a wrong number of components: one too many, or the number for a matrix of another type."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest

from cts.embedded.diagnostics import Violation
from cts.embedded.faults import Faults
from generators.spirv.enumerants import Op
from tests.broken_devices.smoke import noticed, wrong

TODAY = ("llvmpipe", "nvidia-h200")


def lengths(change, beyond=None) -> Faults:
    """Return a fault that makes ``change`` compute each length from the right length and the previously requested one (None if there is
    none). ``beyond`` is the fault of loads, which by default read zeros from components that do not exist."""
    asked: list[tuple[object, list]] = []

    def fault(right):
        def handler(translation, words):
            if not asked or asked[-1][0] is not translation:
                asked.append((translation, []))
            earlier = asked[-1][1]
            run, number = right(translation, words), len(earlier)
            earlier.append(None)

            def broken():
                earlier[number] = run()
                return change(earlier[number], earlier[number - 1] if number else None)

            return broken

        return handler

    return Faults({Op.CooperativeMatrixLengthKHR: fault, Op.Load: beyond or reading_zeros, Op.Store: writing_nothing})


def reading_zeros(right):
    """Read zeros from components that do not exist, like a register that was never written."""

    def handler(translation, words):
        run, type_, machine = right(translation, words), translation.types[words[0]], translation.machine

        def broken():
            try:
                return run()
            except Violation:
                return np.zeros(machine.lanes, type_.dtype)

        return broken

    return handler


def repeating(right):
    """Read from components that do not exist what the same instruction read before: the previous component, in a loop over all."""

    def handler(translation, words):
        run, read = right(translation, words), []

        def broken():
            with suppress(Violation):
                read[:] = [run()]
            return read[0]

        return broken

    return handler


def writing_nothing(right):
    """Drop writes to components that do not exist."""

    def handler(translation, words):
        run = right(translation, words)

        def broken():
            with suppress(Violation):
                run()

        return broken

    return handler


@pytest.mark.parametrize("profile", TODAY)
def test_a_length_too_large_by_one(profile):
    assert noticed("elements", wrong(profile, lengths(lambda right, _: right + 1)), lengths="three")


@pytest.mark.parametrize("profile", TODAY)
def test_a_length_too_large_by_one_where_the_component_beyond_repeats_another(profile):
    assert noticed("elements", wrong(profile, lengths(lambda right, _: right + 1, repeating)), lengths="three")


@pytest.mark.parametrize("profile", TODAY)
def test_a_length_too_small_by_one(profile):
    assert noticed("elements", wrong(profile, lengths(lambda right, _: right - 1)), lengths="three")


def test_the_length_of_another_type():
    faults = lengths(lambda right, before: right if before is None else before)
    assert noticed("elements", wrong("nvidia-h200", faults), lengths="three")
