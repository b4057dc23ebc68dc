"""Cooperative vectors under execution modes: the permitted results of moves, bitcasts and functions, with values worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from cts.reference.evaluate import evaluate
from cts.reference.values import Choice, MatrixValue, join, select
from cts.reference.vector_functions import function_of
from cts.verdict.expected import Authority, Expectation
from generators.errors import Rule
from generators.numerics.formats import encode
from generators.program.builder import U32, ProgramBuilder
from generators.program.conversion import Conversion
from generators.program.float_controls import Modes
from generators.program.memory import Pointee
from generators.program.program import Subcase
from generators.program.shape import WorkgroupShape
from generators.program.values import CooperativeVectorType, Value
from generators.program.vector_builder import VectorBuilder
from generators.routines.vector_components import load_components, store_components
from generators.types import COMPONENT_TYPES, ComponentType, Scope, StorageClass
from tests.broken_rules import breaks
from tests.float_rows import controls

F16, F32, E4M3 = (COMPONENT_TYPES[name] for name in ("f16", "f32", "e4m3"))
TINY = 2.0**-24
NAN, INF = math.nan, math.inf
SPECIAL = Modes(special=True)


def moved(
    component: ComponentType, bits: list[int], modes: str, loads: str = "components", stores: str = "components", cast: str = ""
) -> Expectation:
    """Return the expectation for a vector that one invocation loads and stores, after a bitcast to ``cast``."""
    builder = ProgramBuilder(Scope.WORKGROUP, shape=WorkgroupShape(invocations=1), float_controls=controls(modes))
    vectors, type_ = VectorBuilder(builder), CooperativeVectorType(component, len(bits))
    target = COMPONENT_TYPES[cast] if cast else component
    source = builder.array("source", Pointee(component), len(bits), StorageClass.STORAGE_BUFFER, "input")
    out = builder.array("out", Pointee(target), len(bits), StorageClass.STORAGE_BUFFER, "output")
    zero = builder.literal(0)
    with builder.per_invocation(Value("me", U32), 1):
        if loads == "components":
            vector = load_components(builder, "vector", type_, source, zero)
        else:
            vector = vectors.load("vector", type_, source, zero)
        if cast:
            vector = vectors.convert("cast", vector, target, Conversion.BITCAST)
        if stores == "components":
            store_components(builder, vector, out, zero)
        else:
            vectors.store(vector, out, zero)
    data = np.array(bits, component.bits_dtype).view(np.uint8)
    (placed,) = evaluate(builder.build(), Subcase("only", {"source": data})).placed
    return placed.expectation


def allows(expectation: Expectation, bits: list[int]) -> tuple[list[bool], list[bool]]:
    """Return which of ``bits`` are permitted, and which are expected."""
    given = np.array(bits, expectation.expected.component.bits_dtype).reshape(1, 1, -1)
    return expectation.permitted.contains(given)[0, 0].tolist(), expectation.expected.contains(given)[0, 0].tolist()


VALUES = [0x7D01, 0x7C00, 0x8000, 0x0001, 0x3C00]
"""A signaling NaN, infinity, minus zero, the smallest denormal and 1."""

CHANGED = [0x7F01, 0x7BFF, 0x0000, 0x0000, 0x3C00]
"""The same with a quiet NaN, the largest number, zero, and the denormal flushed."""


def test_composite_instructions_must_preserve_bits():
    expectation = moved(F16, VALUES, "special16")
    assert allows(expectation, VALUES) == ([True] * 5, [True] * 5)
    assert allows(expectation, CHANGED) == ([True, False, False, False, True], [False, False, False, False, True])
    assert (expectation.authority.requirement, expectation.authority.position) == ("CV-FC-01", "F-KHR-33")
    assert moved(F16, [1, 0x3C00], "flush16").authority.requirement == "CV-FC-03"


@pytest.mark.parametrize(("loads", "stores"), [("whole", "whole"), ("whole", "components"), ("components", "whole")])
def test_loads_and_stores_of_whole_vectors_should_preserve_bits(loads, stores):
    expectation = moved(F16, VALUES, "special16", loads, stores)
    assert allows(expectation, VALUES) == ([True] * 5, [True] * 5)
    assert allows(expectation, CHANGED) == ([True] * 5, [False, False, False, False, True])
    assert allows(expectation, [0, 0x1234, 0x8001, 0x0002, 0x3C01])[0] == [True, True, False, False, False]
    assert expectation.authority.quality == "F-CV-21"


def test_a_bitcast_must_keep_denormals_and_should_keep_the_rest():
    values, changed = [0x7FA00001, 0xFF800000, 0x80000000, 0x00000001], [0x7FE00001, 0, 0, 0]
    for component, target in ((F32, "u32"), (U32, "f32")):
        expectation = moved(component, values, "special32", cast=target)
        assert allows(expectation, values) == ([True] * 4, [True] * 4)
        assert allows(expectation, changed) == ([True, True, True, False], [False] * 4)
        assert (expectation.authority.requirement, expectation.authority.quality) == ("CV-CVT-02", "F-CV-21")


def test_types_of_8_bits_have_no_mode_and_should_keep_nan():
    expectation = moved(E4M3, [0x7F, 0xFF, 0x80, 0x01, 0x7E], "")
    assert allows(expectation, [0xFF, 0x00, 0x00, 0x01, 0x7E]) == ([True] * 5, [False, False, False, True, True])
    assert allows(expectation, [0x7F, 0xFF, 0x80, 0x00, 0x7E]) == ([True, True, True, False, True], [True, True, True, False, True])


def test_without_modes_a_vector_of_numbers_has_one_set():
    expectation = moved(F16, [0x3C00, 0x0400], "", "whole", "whole")
    assert expectation.permitted is expectation.expected
    assert expectation.authority.requirement == "CV-ST-01"


def test_without_modes_a_denormal_may_be_flushed():
    expectation = moved(F16, [0x3C00, 0x0001], "", "whole", "components")
    assert allows(expectation, [0x3C00, 0x0000]) == ([True, True], [True, False])
    assert allows(expectation, [0x3C00, 0x0002]) == ([True, False], [True, False])
    assert expectation.authority.quality == "F-CV-21"


def test_arms_of_a_branch_permit_what_their_loads_do():
    made = MatrixValue(F16, np.array([[[0x0001]], [[0x3C00]]], np.uint16))
    tiny = replace(
        select(made, np.array([0])), permitted=Choice((np.array([[[0]]], np.uint16),)), authority=Authority("CV-LD-01", quality="F-CV-21")
    )
    joined = join([(np.array([1]), select(made, np.array([1]))), (np.array([0]), tiny)])
    inside = joined.expectation().permitted.contains
    assert inside(np.array([[[0]], [[0x3C00]]], np.uint16)).all()
    assert not inside(np.array([[[0]], [[0]]], np.uint16)).all()
    assert joined.authority.quality == "F-CV-21"


def result(function: str, modes: Modes, *arguments: float, component: ComponentType = F16) -> Expectation:
    values = [MatrixValue(component, encode(component, np.array([[[each]]]))) for each in arguments]
    return function_of(function, values, modes).expectation()


def contains(allowed, number: float) -> bool:
    return bool(allowed.contains(encode(allowed.component, np.array([[[number]]]))).all())


@pytest.mark.parametrize(
    ("function", "arguments", "expected", "others"),
    [
        ("NMin", (NAN, 2.0), 2.0, [NAN]),
        ("NMax", (-3.0, NAN), -3.0, [NAN]),
        ("NMin", (NAN, NAN), NAN, [0.0]),
        ("NMin", (-INF, 5.0), -INF, [-65504.0, 5.0]),
        ("FMax", (INF, 5.0), INF, [5.0]),
        ("NClamp", (NAN, -1.0, 2.0), -1.0, [2.0, NAN]),
        ("NClamp", (7.0, NAN, 2.0), 2.0, [7.0]),
        ("NClamp", (7.0, 1.0, NAN), 7.0, [1.0]),
        ("FClamp", (-INF, -4.0, INF), -4.0, [-INF]),
    ],
)
def test_functions_of_nan_and_infinities_should_be_those_of_glsl(function, arguments, expected, others):
    found = result(function, SPECIAL, *arguments)
    assert contains(found.expected, expected)
    assert not any(contains(found.expected, other) for other in others)
    assert all(contains(found.permitted, other) for other in [*others, 17.0])
    assert (found.authority.requirement, found.authority.quality) == ("CV-ARI-04", "F-CV-19")


def test_either_of_two_zeros_is_the_minimum_and_a_single_zero_keeps_its_sign():
    for function in ("FMin", "NMax"):
        both = result(function, SPECIAL, 0.0, -0.0)
        assert contains(both.expected, 0.0)
        assert contains(both.expected, -0.0)
    one = result("FMin", SPECIAL, -0.0, 5.0)
    assert contains(one.expected, -0.0)
    assert not contains(one.expected, 0.0)
    assert contains(one.permitted, 0.0)
    assert not contains(one.permitted, 5.0)


def test_functions_of_numbers_have_one_set():
    found = result("NClamp", SPECIAL, 3.0, -2.0, 1.5)
    assert found.permitted is found.expected
    assert contains(found.expected, 1.5)


@pytest.mark.parametrize("function", ["FMin", "FMax", "FClamp", "NMin", "NMax", "NClamp"])
def test_denormals_of_functions_are_kept_or_flushed(function):
    arguments = (3 * TINY, -1.0, 1.0) if "Clamp" in function else (3 * TINY, 3 * TINY)
    kept, flushed = result(function, Modes(denormals="kept"), *arguments), result(function, Modes(denormals="flushed"), *arguments)
    assert [contains(kept.permitted, each) for each in (3 * TINY, 0.0)] == [True, False]
    assert [contains(flushed.permitted, each) for each in (3 * TINY, 0.0)] == [False, True]
    assert (kept.authority.requirement, flushed.authority.requirement) == ("CV-FC-05", "CV-FC-04")


def test_fma_keeps_or_flushes_a_denormal_result():
    arguments = (2.0**-12, 2.0**-2, -(2.0**-14) + 3 * TINY)
    assert [contains(result("Fma", Modes(denormals="kept"), *arguments).permitted, each) for each in (3 * TINY, 0.0)] == [True, False]
    assert [contains(result("Fma", Modes(denormals="flushed"), *arguments).permitted, each) for each in (3 * TINY, 0.0)] == [False, True]


@pytest.mark.parametrize(
    ("function", "modes", "arguments", "rule"),
    [
        ("FMin", SPECIAL, (NAN, 1.0), Rule.NAN_OPERAND),
        ("NClamp", SPECIAL, (1.0, 2.0, -INF), Rule.CLAMP_BOUNDS),
        ("Step", SPECIAL, (1.0, 2.0), "F-CV-19"),
        ("NMin", SPECIAL, (TINY, INF), Rule.DENORMAL),
        ("Fma", Modes(denormals="kept"), (1.0 + 2.0**-10, 1.0 + 2.0**-10, 0.0), Rule.INEXACT),
        ("Fma", Modes(rounding="nearest"), (1.0, 1.0, 1.0), Rule.UNKNOWN_BOUND),
    ],
)
def test_undefined_or_unsupported_results_are_refused(function, modes, arguments, rule):
    with breaks(rule):
        result(function, modes, *arguments)
