"""The cases of both families of execution modes show devices that ignore the modes, and devices that always truncate and flush."""

from __future__ import annotations

import pytest

from cts.embedded.faults import Faults
from cts.embedded.module.float_controls import Corrections, corrections
from cts.verdict.verdict import Verdict
from tests.broken_devices.doubles import Broken, verdict_on

PLAIN = str.maketrans("[]", "()")


def case(family, operation, *parameters, component="f16"):
    """Return a case's id; ``parameters`` are in the order of ids."""
    return "/".join((f"{family}[component:{component}", f"operation:{operation}", *parameters)) + "]"


def nothing(_):
    return lambda translation, op, number: Corrections()


def both(_):
    return lambda translation, op, number: Corrections(True, True)


IGNORED = (
    case("float_controls", "add", "rounding:rtz"),
    case("float_controls", "multiply", "rounding:rtz", component="f32"),
    case("float_controls", "times_scalar", "rounding:rtz"),
    case("float_controls", "convert", "rounding:rtz", component="f32"),
    case("float_controls", "negate", "denormals:flush"),
    case("float_controls", "divide", "denormals:flush", component="f32"),
    case("float_controls", "subtract", "denormals:flush"),
    case("vector_float_controls", "add", "rounding:rtz"),
    case("vector_float_controls", "times_scalar", "rounding:rtz", "access:memory", component="f32"),
    case("vector_float_controls", "convert", "rounding:rtz", component="f32"),
    case("vector_float_controls", "negate", "denormals:flush"),
    case("vector_float_controls", "divide", "denormals:flush", component="f32"),
    case("vector_float_controls", "FMin", "denormals:flush"),
    case("vector_float_controls", "NClamp", "denormals:flush", component="f32"),
    case("vector_float_controls", "Fma", "denormals:flush"),
)
OVERDONE = (
    case("float_controls", "add", "rounding:rte"),
    case("float_controls", "convert", "rounding:rte", component="f32"),
    case("float_controls", "multiply", "denormals:preserve"),
    case("float_controls", "convert", "denormals:preserve", component="f32"),
    case("vector_float_controls", "add", "rounding:rte", "access:memory"),
    case("vector_float_controls", "convert", "rounding:rte", component="f32"),
    case("vector_float_controls", "multiply", "denormals:preserve"),
    case("vector_float_controls", "FMax", "denormals:preserve"),
    case("vector_float_controls", "Fma", "denormals:preserve", component="f32"),
)


@pytest.mark.parametrize("case_id", [*IGNORED, *OVERDONE], ids=lambda text: text.translate(PLAIN))
def test_a_device_that_keeps_the_modes_passes(case_id):
    assert verdict_on(case_id, Broken()) is Verdict.PASS


@pytest.mark.parametrize("case_id", IGNORED, ids=lambda text: text.translate(PLAIN))
def test_a_device_that_ignores_the_modes_fails(case_id):
    assert verdict_on(case_id, Broken(faults=Faults(operations={corrections: nothing}))) is Verdict.FAIL


@pytest.mark.parametrize("case_id", OVERDONE, ids=lambda text: text.translate(PLAIN))
def test_a_device_that_always_truncates_and_flushes_fails(case_id):
    assert verdict_on(case_id, Broken(faults=Faults(operations={corrections: both}))) is Verdict.FAIL
