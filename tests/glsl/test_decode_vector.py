"""Vector decode functions in GLSL: the argument, extensions, and vectors of eight components."""

from __future__ import annotations

import pytest

from generators.casebook import build, find_case
from generators.errors import Lack
from generators.glsl.emit import emit
from tests.lacks import lacks
from tests.suite import casebook

CASE = "decode_vector[component:f16/lanes:{}/block:8/decode:planes/place:split/coordinates:{}]"


def text(lanes: int, coordinates: str = "u32") -> str:
    return emit(build(find_case(casebook(), CASE.format(lanes, coordinates))).program)


@pytest.mark.parametrize(("lanes", "type_", "is_long"), [(2, "f16vec2", False), (4, "f16vec4", False), (8, "vector<float16_t, 8>", True)])
def test_the_function_follows_the_scalar_one(lanes: int, type_: str, is_long: bool) -> None:
    shader = text(lanes)
    assert ", decode, decode_group);" in shader
    assert f"\n{type_} decode_group(const in " in shader
    assert "#extension GL_NV_cooperative_matrix_decode_vector : " in shader
    assert ("#extension GL_EXT_long_vector : " in shader) is is_long


def test_signed_coordinates_cannot_be_expressed() -> None:
    with lacks(Lack.COORDINATE_TYPE):
        text(2, "s32")
