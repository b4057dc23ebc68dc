"""The data of cases that address tensors must give another result under each known defect of addressing, not merely run into an error."""

import numpy as np
import pytest

from cts.compare import compare
from cts.defects.tensor import tensor_defects
from cts.diagnose import diagnose, known_defects
from cts.poison import initial_contents
from cts.reference.evaluate import evaluate
from generators.casebook import build_program, build_subcases, expand, find_case
from generators.errors import GeneratorError
from tests.families.evidence import BEYOND, casebook, outcome_of, seen

OVER = {"offset": "over", "mode": "constant", "clamp_value": "last"}


def case_of(family, **labels):
    """The case with these labels, and the first of every other axis."""
    axes = casebook().family(family).axes
    wrong = labels.keys() - {axis.name for axis in axes}
    assert not wrong, wrong
    return find_case(casebook(), f"{family}[{'-'.join(str(labels.get(axis.name, next(iter(axis.labels)))) for axis in axes)}]")


def shown(case, words):
    """Of each known defect whose description is ``words``: whether a subcase of the case gives another result with it."""
    program = build_program(case)
    subcases = build_subcases(case, program)
    defects = [defect for defect in tensor_defects(program) if defect.words == words]
    return [any(_differs(program, subcase, defect) for subcase in subcases) for defect in defects]


def _differs(program, subcase, defect):
    expected = evaluate(program, subcase)
    before = initial_contents(program, subcase, expected)
    try:
        with np.errstate(all="ignore"):
            broken = evaluate(program, subcase, defect.substitutes, BEYOND)
    except GeneratorError:
        return False
    return bool(compare(program, expected, before, outcome_of(program, broken, before)))


LAYOUT = [
    ({}, "the offset of a slice ignored"),
    ({}, "the span of a slice ignored"),
    ({"slices": "nested"}, "the offset of a slice replaces that of the one before"),
    ({"slices": "back", "strides": "padded", "rank": 3}, "the offset of a slice kept inside the tensor"),
    ({}, "a slice with the spans of the whole tensor"),
    ({"slices": "thrice"}, "a slice of a slice never longer than that"),
    ({}, "the offsets of a slice taken innermost first"),
    ({"shape": "16x32"}, "the spans of a slice taken innermost first"),
    ({"form": "copied_slice"}, "setting the slice changes the layout that it copies"),
    ({"form": "copied_dimension"}, "setting the dimension does not reset the offset"),
    ({"form": "copied_dimension"}, "setting the dimension does not set the span"),
    ({}, "setting the dimension does not set the strides"),
    ({"order": "dimension_again", "offset": "over", "mode": "constant"}, "setting the dimension again ignored"),
    ({"offset": "over", "mode": "edge", "shape": "16x32"}, "the dimensions taken innermost first, but not for strides and spans"),
    ({}, "default strides computed outermost first"),
    ({"blocks": "uneven"}, "the default strides of blocks rounded down"),
    ({"blocks": "uneven", "rank": 3}, "the default strides of blocks rounded down"),
    ({"form": "copied_dimension", "access": "store"}, "setting the dimension changes the layout that it copies"),
    ({"strides": "padded"}, "the strides ignored"),
    ({"strides": "spread"}, "the innermost stride taken for 1"),
    ({"strides": "doubled", "order": "slice_then_stride"}, "the strides ignored"),
    ({"strides": "far", "rank": 3, "component": "u8"}, "the strides kept in 16 bits"),
    ({"form": "copied_stride"}, "setting the stride changes the layout that it copies"),
    (OVER, "the clamp value ignored"),
    ({**OVER, "clamp_value": "twice"}, "the clamp value ignored"),
    ({**OVER, "component": "f32"}, "the clamp value kept in 8 bits"),
    ({**OVER, "form": "copied_clamp_value"}, "setting the clamp value changes the layout that it copies"),
    ({"form": "copied_block_size"}, "the block sizes ignored"),
    ({"blocks": "even", "shape": "16x32"}, "the block sizes taken innermost first"),
    ({"blocks": "even", "order": "block_last"}, "setting the block size computes the strides again"),
    ({"form": "copied_block_size"}, "setting the block size changes the layout that it copies"),
    ({}, "the matrix counted down its columns"),
    ({"span": "reshaped"}, "rows and columns of the matrix taken for the last coordinates of the slice"),
    ({"span": "odd", "rank": 3}, "rows and columns of the matrix taken for the last coordinates of the slice"),
    ({"span": "shorter"}, "the outermost coordinate goes on beyond its span"),
    ({"blocks": "even", "rank": 5}, "the place in a block added to its address"),
    ({}, "the element's number taken for bytes"),
    ({"pointee": "uvec4"}, "the first element of the pointer counted in components"),
    ({}, "the first element of the pointer ignored"),
    ({"first": "far"}, "the bytes before the pointer kept in 16 bits"),
    ({"subgroups": 2}, "the tensor of instance 0 in every scope instance"),
    ({"subgroups": 2, "form": "instance"}, "the layout of instance 0 in every scope instance"),
    ({"subgroups": 2, "form": "instance_shape"}, "the layout of instance 0 in every scope instance"),
    ({"subgroups": 2, "form": "branch", "access": "store"}, "the layout of instance 0 in every scope instance"),
    ({"access": "store"}, "the tensor is not stored to"),
]
CLAMP = {"side": "before", "which": "all", "reach": "part", "size": "odd"}
CLAMPS = [
    ({"mode": "constant", "clamp_value": "low"}, "the clamp value ignored"),
    ({"mode": "constant", "clamp_value": "low"}, "the clamp value taken for zero"),
    ({"mode": "constant", "component": "f32", "clamp_value": "garbage"}, "the clamp value kept in 8 bits"),
    ({"mode": "constant"}, "coordinates out of bounds clamped to the edge"),
    ({"mode": "constant"}, "coordinates out of bounds repeated"),
    ({"mode": "constant", "side": "after"}, "bounds looked at in the innermost dimension alone"),
    ({"mode": "constant", "side": "after"}, "bounds looked at in the outermost dimension alone"),
    ({"mode": "edge"}, "coordinates out of bounds repeated"),
    ({"mode": "edge"}, "coordinates out of bounds mirrored"),
    ({"mode": "edge"}, "coordinates out of bounds clamped to the edge as unsigned numbers"),
    ({"mode": "repeat"}, "coordinates out of bounds clamped to the edge"),
    ({"mode": "repeat"}, "coordinates out of bounds mirrored"),
    ({"mode": "repeat"}, "coordinates out of bounds repeated as unsigned numbers"),
    ({"mode": "repeat", "reach": "periods"}, "coordinates out of bounds moved by one period at most"),
    ({"mode": "repeat", "reach": "periods"}, "coordinates out of bounds repeated with a remainder that has the sign of the coordinate"),
    ({"mode": "repeat"}, "coordinates out of bounds give the clamp value"),
    ({"mode": "mirrored"}, "coordinates out of bounds clamped to the edge"),
    ({"mode": "mirrored"}, "coordinates out of bounds repeated"),
    ({"mode": "mirrored", "size": "fit"}, "coordinates out of bounds mirrored as unsigned numbers"),
    ({"mode": "mirrored", "reach": "periods"}, "coordinates out of bounds mirrored at most once"),
    ({"mode": "mirrored"}, "coordinates out of bounds mirrored with a period of 2d"),
    ({"mode": "mirrored"}, "coordinates out of bounds mirrored with a period of 2d - 1"),
    (
        {"mode": "mirrored", "which": "beside_one"},
        "coordinates in bounds mirrored, too: the tensor's first element for a remainder by zero",
    ),
    ({"mode": "edge", "access": "store", "size": "fit"}, "a store out of bounds goes where a repeated tensor has it"),
]


@pytest.mark.parametrize(("labels", "words"), LAYOUT, ids=lambda part: part if isinstance(part, str) else "_".join(map(str, part.values())))
def test_tensor_layout_shows(labels, words):
    found = shown(case_of("tensor_layout", **labels), words)
    assert found, f"no known defect is described with {words!r}"
    assert all(found)


@pytest.mark.parametrize(("labels", "words"), CLAMPS, ids=lambda part: part if isinstance(part, str) else "_".join(map(str, part.values())))
def test_tensor_clamp_shows(labels, words):
    found = shown(case_of("tensor_clamp", **CLAMP | {"rank": 2} | labels), words)
    assert found, f"no known defect is described with {words!r}"
    assert all(found)


def test_the_diagnosis_knows_the_defects_of_tensors():
    program = build_program(case_of("tensor_layout"))
    assert "the offset of a slice ignored" in [defect.words for defect in known_defects(program)]


@pytest.mark.parametrize(("side", "reach", "size"), [("before", "part", "odd"), ("inside", "one", "large")])
def test_a_remainder_by_zero_is_named_before_strides_of_zero_which_give_the_same(side, reach, size):
    """A reader begins with the first words, and no stride is wrong in the other clamp modes."""
    case = case_of("tensor_clamp", rank=2, mode="mirrored", access="load", which="beside_one", side=side, reach=reach, size=size)
    words = "coordinates in bounds mirrored, too: the tensor's first element for a remainder by zero"
    program = build_program(case)
    subcase = build_subcases(case, program)[0]
    expected = evaluate(program, subcase)
    before = initial_contents(program, subcase, expected)
    (defect,) = (defect for defect in known_defects(program) if defect.words == words)
    broken = evaluate(program, subcase, defect.substitutes)
    found = diagnose(program, subcase, expected, before, outcome_of(program, broken, before))
    assert found[:2] == (words, "setting the dimension does not set the strides")


def test_a_function_that_returns_the_layout_that_it_got_shows():
    cases = [case for case in expand(casebook().family("tensor_layout"), "smoke") if "from_function" in case.values.values()]
    found = [is_visible for case in cases for is_visible in seen(case.id, "returns its argument").values()]
    assert found
    assert all(found)
