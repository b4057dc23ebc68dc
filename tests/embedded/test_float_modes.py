"""Execution modes of float arithmetic on the embedded device, with values worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from generators.dispatch import dispatch, kernel
from generators.program.builder import U32, ProgramBuilder
from generators.program.memory import Pointee
from generators.program.program import Subcase
from generators.program.shape import WorkgroupShape
from generators.program.values import CooperativeVectorType, Value
from generators.program.vector_builder import VectorBuilder
from generators.routines.vector_components import load_components, store_components
from generators.spirv.emit import emit
from generators.types import COMPONENT_TYPES, Scope, StorageClass
from tests.float_rows import Row, controls
from tests.undefined import undefined

TINY = 2.0**-24
LEAST = 2.0**-14
BETWEEN = 1.0 + 2.0**-10


@pytest.fixture(scope="module")
def device():
    return EmbeddedDevice(load_profile("universal"))


@pytest.mark.parametrize(
    ("operation", "left", "right", "nearest", "toward_zero"),
    [
        ("add", BETWEEN, 2.0**-11, 1.0 + 2.0**-9, BETWEEN),
        ("subtract", -BETWEEN, 2.0**-11, -1.0 - 2.0**-9, -BETWEEN),
        ("multiply", BETWEEN, 1.5, 1.5 + 2.0**-9, 1.5 + 2.0**-10),
        ("times_scalar", BETWEEN, -1.5, -1.5 - 2.0**-9, -1.5 - 2.0**-10),
        ("add", 65504.0, 65504.0, math.inf, 65504.0),
        ("add", 1.0, 1.0, 2.0, 2.0),
    ],
)
def test_results_are_rounded_as_the_mode_says(operation, left, right, nearest, toward_zero, device):
    assert Row(operation, "f16", "rte16 special16", [left], [right]).numbers(device) == [nearest]
    assert Row(operation, "f16", "rtz16 special16", [left], [right]).numbers(device) == [toward_zero]
    assert Row(operation, "f16", "rtz32 special16", [left], [right]).numbers(device) == [nearest]


def test_doubles_are_rounded_toward_zero(device):
    assert Row("add", "f64", "rtz64", [1.0], [0.75 * 2.0**-52]).numbers(device) == [1.0]
    assert Row("multiply", "f64", "rtz64", [1.0 + 2.0**-52], [1.5]).numbers(device) == [1.5 + 2.0**-52]
    assert Row("add", "f64", "rte64", [1.0], [0.75 * 2.0**-52]).numbers(device) == [1.0 + 2.0**-52]


def test_conversions_are_rounded_as_the_mode_says(device):
    assert Row("convert", "f32", "rtz16 rtz32", [1.0 + 2.0**-10 + 2.0**-11, 65520.0], to="f16").numbers(device) == [BETWEEN, 65504.0]
    assert Row("convert", "f32", "rtz16 rtz32", [1.0 + 2.0**-7 + 2.0**-8], to="bf16").numbers(device) == [1.0 + 2.0**-6]


def test_denormals_are_flushed_where_the_mode_says_so(device):
    assert Row("add", "f16", "flush16", [TINY, LEAST], [TINY, TINY]).numbers(device) == [0.0, LEAST + TINY]
    assert Row("add", "f16", "preserve16", [TINY], [TINY]).numbers(device) == [2 * TINY]
    assert Row("negate", "f16", "flush16", [TINY]).result(device).tolist() == [0x8000]
    assert Row("divide", "f16", "flush16", [LEAST], [4.0]).numbers(device) == [0.0]
    assert Row("convert", "f32", "flush16 flush32", [TINY], to="f16").numbers(device) == [0.0]
    assert Row("move", "f16", "flush16", [TINY]).numbers(device) == [TINY]


def test_moves_keep_every_bit(device):
    bits = [0x7D01, 0xFC01, 0x8000, 0x7C00, 0x0001, 0xFFFF, 0xFC00, 0x7E00]
    assert Row("move", "f16", "special16", bits).result(device).tolist() == bits


def test_zero_is_negated(device):
    assert Row("negate", "f16", "special16", [0.0, -0.0]).result(device).tolist() == [0x8000, 0]


@pytest.mark.parametrize("modes", ["rte16 rtz16", "flush16 preserve16"])
def test_modes_that_exclude_each_other_are_refused(modes, device):
    with undefined("SPIR-V 2.16.1"):
        Row("move", "f16", modes, [1.0]).result(device)


def of_vectors(device, modes, function, *arguments):
    """Return a device's result for a function of f16 vectors with one component each, in one invocation."""
    builder = ProgramBuilder(Scope.WORKGROUP, shape=WorkgroupShape(invocations=1), float_controls=controls(modes))
    f16 = COMPONENT_TYPES["f16"]
    type_, zero = CooperativeVectorType(f16, 1), builder.literal(0)
    names = "abc"[: len(arguments)]
    sources = [builder.array(name, Pointee(f16), 1, StorageClass.STORAGE_BUFFER, "input") for name in names]
    out = builder.array("out", Pointee(f16), 1, StorageClass.STORAGE_BUFFER, "output")
    with builder.per_invocation(Value("me", U32), 1):
        vectors = [load_components(builder, f"vector_{source.name}", type_, source, zero) for source in sources]
        store_components(builder, VectorBuilder(builder).function("result", function, *vectors), out, zero)
    program = builder.build()
    contents = {name: np.array([number], np.float16).view(np.uint8) for name, number in zip(names, arguments, strict=True)}
    given = dispatch(program, Subcase("only", contents), {**contents, "out": np.zeros(2, np.uint8)})
    (outcome,) = device.run(kernel(program, emit(program)), [given])
    return float(outcome.outputs["out"].view(np.float16)[0])


@pytest.mark.parametrize(
    ("function", "arguments", "result"),
    [
        ("FMin", (TINY, 1.0), TINY),
        ("NMax", (-1.0, TINY), TINY),
        ("NClamp", (TINY, -1.0, 1.0), TINY),
        ("Fma", (2.0**-12, 2.0**-2, -LEAST + TINY), TINY),
        ("Exp", (-12.0,), 103 * TINY),
    ],
)
def test_denormals_of_functions_are_flushed_where_the_mode_says_so(function, arguments, result, device):
    assert of_vectors(device, "preserve16", function, *arguments) == result
    assert of_vectors(device, "flush16", function, *arguments) == 0.0
    assert of_vectors(device, "flush32", function, *arguments) != 0.0


def test_numbers_win_over_nan(device):
    assert of_vectors(device, "special16", "NMin", math.nan, 2.0) == 2.0
    assert of_vectors(device, "special16", "NClamp", math.nan, -1.0, 2.0) == -1.0
    assert math.isnan(of_vectors(device, "special16", "NMax", math.nan, math.nan))
