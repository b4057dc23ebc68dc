"""Literals and identifiers."""

import numpy as np
import pytest

from generators.errors import Lack
from generators.glsl.spelling import identifier, literal
from generators.types import COMPONENT_TYPES
from tests.lacks import lacks

hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies

INTEGERS = sorted(name for name, component in COMPONENT_TYPES.items() if not component.is_float)
FLOATS = sorted(name for name, component in COMPONENT_TYPES.items() if component.is_float)


def number(text):
    """Return the number in a literal, without its constructor or suffix."""
    return text.partition("(")[2].rstrip(")") if "(" in text else text.rstrip("ulshf")


@hypothesis.given(st.sampled_from(INTEGERS), st.integers(-(2**63), 2**64 - 1))
def test_an_integer_literal_has_the_low_bits_of_its_value(name, value):
    component = COMPONENT_TYPES[name]
    spelled = int(number(literal(component, value)))
    assert (spelled - value) % (1 << component.bits) == 0
    assert spelled in range(-(2 ** (component.bits - 1)), 2 ** (component.bits - 1)) if component.is_signed else spelled >= 0


@hypothesis.given(st.sampled_from(FLOATS), st.integers(0, 2**64 - 1))
def test_a_float_literal_reads_back_as_its_bits(name, value):
    component = COMPONENT_TYPES[name]
    bits = np.array(value % (1 << component.bits), component.bits_dtype)
    with np.errstate(invalid="ignore"):
        finite = np.isfinite(bits.view(component.dtype).astype(np.float64))
    if not finite:
        with lacks(Lack.LITERAL):
            literal(component, value)
        return
    spelled = np.float64(number(literal(component, value))).astype(component.dtype)
    assert spelled.view(component.bits_dtype) == bits


@pytest.mark.parametrize(
    "name", ["input", "output", "buffer", "vec4", "f16vec2", "u8vec4", "gl_x", "a__b", "float", "sampler2D", "coopmat"]
)
def test_names_that_glsl_keeps_for_itself_are_changed(name):
    spelled = identifier(name)
    assert spelled != name
    assert "__" not in spelled
    assert not spelled.startswith("gl_")


@pytest.mark.parametrize("name", ["source", "matrix", "step", "a0", "load_stride", "vector", "invec4"])
def test_other_names_stay(name):
    assert identifier(name) == name
