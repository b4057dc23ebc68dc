"""Arguments of bit operators and functions on cooperative vectors."""

from __future__ import annotations

import numpy as np
import pytest

from cts.reference.values import MatrixValue
from cts.reference.vector_functions import function_of
from generators.inputs.vector_functions import arguments, bit_operands, patterns
from generators.program.elementwise import ARGUMENTS, takes
from generators.types import COMPONENT_TYPES

COMPONENTS = [COMPONENT_TYPES[name] for name in ("f16", "f32", "s8", "u8", "s32", "u32")]
TAKEN = [(function, component) for function in ARGUMENTS for component in COMPONENTS if takes(function, component)]
IDS = [f"{function}.{component.name}" for function, component in TAKEN]
SHAPE = (64, 33)


def drawn(function, component, pattern, shape=SHAPE):
    return arguments(function, component, pattern, shape, np.random.default_rng(1))


@pytest.mark.parametrize(("function", "component"), TAKEN, ids=IDS)
def test_every_result_is_defined(function, component):
    for pattern in patterns(function, component):
        found = drawn(function, component, pattern)
        assert len(found) == ARGUMENTS[function]
        assert {(one.shape, one.dtype) for one in found} == {(SHAPE, component.dtype)}
        given = [MatrixValue(component, one.view(component.bits_dtype).reshape(1, *SHAPE)) for one in found]
        function_of(function, given)


@pytest.mark.parametrize(("function", "component"), TAKEN, ids=IDS)
def test_small_arrays_have_arguments(function, component):
    for pattern in patterns(function, component):
        assert all(one.shape == (1, 1) for one in drawn(function, component, pattern, (1, 1)))


@pytest.mark.parametrize(("function", "component"), [(f, c) for f, c in TAKEN if f.endswith("Clamp")])
def test_arguments_are_below_between_and_above_the_limits(function, component):
    for pattern in patterns(function, component):
        x, low, high = drawn(function, component, pattern)
        if not component.is_float:
            x, low, high = (one.view(f"{'i' if function[0] == 'S' else 'u'}{component.bytes}") for one in (x, low, high))
        assert (low <= high).all()
        assert ((x < low).any(), (x > high).any(), ((low < x) & (x < high)).any()) == (True, True, True)


@pytest.mark.parametrize(("function", "component"), [(f, c) for f, c in TAKEN if f[0] != "U" and f != "Log"])
def test_each_argument_is_negative_and_positive(function, component):
    """Except: the logarithm of a negative number is undefined, and U functions read no negative numbers."""
    for pattern in patterns(function, component):
        for argument in drawn(function, component, pattern, (32, 8)):
            numbers = argument if component.is_float else argument.view(f"i{component.bytes}")
            assert (numbers < 0).mean() > 0.1
            assert (numbers > 0).mean() > 0.1


@pytest.mark.parametrize("function", ["FMin", "NMax", "Step"])
@pytest.mark.parametrize("name", ["f16", "f32"])
def test_edges_are_equal_or_differ_in_the_last_bit(function, name):
    component = COMPONENT_TYPES[name]
    left, right = drawn(function, component, "edges")
    left = np.where(np.abs(left) < 100, left, component.dtype.type(0))
    assert (left == right).any()
    assert ((left > 0) & (np.nextafter(left, left * component.dtype.type(1.5)) == right)).any()


@pytest.mark.parametrize("pattern", ["random", "edges"])
@pytest.mark.parametrize("name", ["s8", "u32"])
def test_shifts_have_every_distance(name, pattern):
    component = COMPONENT_TYPES[name]
    _, distances = bit_operands(component, "shift_left", pattern, SHAPE, np.random.default_rng(1))
    assert set(distances.ravel().tolist()) == set(range(component.bits))
