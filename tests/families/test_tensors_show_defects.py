"""The data of cases that address tensors must give a different result under each known defect of addressing, not only an error."""

import pytest

from cts.defects.evaluation import evaluate_defect
from cts.defects.known import known_defects
from cts.defects.tensor import tensor_defects
from cts.diagnosis.diagnose import diagnose
from cts.diagnosis.shown import changes, outcome_of
from cts.reference.evaluate import evaluate
from cts.verdict.poison import initial_contents
from generators.casebook import build, expand, find_case
from generators.errors import GeneratorError
from tests.families.evidence import chosen, judged, seen, unseen
from tests.suite import casebook

OVER = {"offset": "over", "mode": "constant", "clamp_value": "last"}


def case_of(family, **labels):
    """Return the case with these labels. Every other parameter has its default or, without one, its first label."""
    parameters = casebook().family(family).parameters
    wrong = labels.keys() - {parameter.name for parameter in parameters}
    assert not wrong, wrong
    given = {parameter.name: parameter.labels[0] for parameter in parameters if parameter.default is None} | labels
    return find_case(casebook(), f"{family}[{'/'.join(f'{name}:{label}' for name, label in given.items())}]")


def shown(case, wanted):
    """Return, for each known defect of an id (and a parameter), whether a subcase of the case gives another result with it."""
    id_, *parameter = (wanted,) if isinstance(wanted, str) else wanted
    built = build(case)
    program = built.program
    subcases = built.subcases()
    defects = chosen(tensor_defects(program), id_, **dict([parameter] if parameter else []))
    return [any(_differs(program, subcase, defect) for subcase in subcases) for defect in defects]


def _differs(program, subcase, defect):
    try:
        return changes(defect, judged(program, subcase))
    except GeneratorError:
        return False


def named(part):
    """Return a test id for a parameter."""
    return part if isinstance(part, str) else "_".join(map(str, part.values() if isinstance(part, dict) else part))


LAYOUT = [
    ({}, "tensor_layout.slice_offset_ignored"),
    ({}, "tensor_layout.slice_span_ignored"),
    ({"slices": "nested"}, "tensor_layout.slice_offset_replaced"),
    ({"slices": "back", "strides": "padded", "rank": 3}, "tensor_layout.slice_offset_clamped"),
    ({}, "tensor_layout.slice_span_whole"),
    ({"slices": "thrice"}, "tensor_layout.slice_span_clipped"),
    ({}, "tensor_layout.slice_offsets_reversed"),
    ({"shape": "16x32"}, "tensor_layout.slice_spans_reversed"),
    ({"form": "copied_slice"}, ("tensor_layout.changed_in_place", "setting", "slice")),
    ({"form": "copied_dimension"}, "tensor_layout.dimension_keeps_offset"),
    ({"form": "copied_dimension"}, "tensor_layout.dimension_keeps_span"),
    ({}, "tensor_layout.dimension_keeps_strides"),
    ({"order": "dimension_again", "offset": "over", "mode": "constant"}, "tensor_layout.dimension_set_once"),
    ({"offset": "over", "mode": "edge", "shape": "16x32"}, "tensor_layout.dimensions_reversed"),
    ({}, "tensor_layout.default_strides_reversed"),
    ({"blocks": "uneven"}, "tensor_layout.block_strides_rounded_down"),
    ({"blocks": "uneven", "rank": 3}, "tensor_layout.block_strides_rounded_down"),
    ({"form": "copied_dimension", "access": "store"}, ("tensor_layout.changed_in_place", "setting", "dimension")),
    ({"strides": "padded"}, "tensor_layout.strides_ignored"),
    ({"strides": "spread"}, "tensor_layout.innermost_stride_one"),
    ({"strides": "doubled", "order": "slice_then_stride"}, "tensor_layout.strides_ignored"),
    ({"strides": "far", "rank": 3, "component": "u8"}, "tensor_layout.strides_in_16_bits"),
    ({"form": "copied_stride"}, ("tensor_layout.changed_in_place", "setting", "stride")),
    (OVER, "tensor_layout.clamp_value_ignored"),
    ({**OVER, "clamp_value": "twice"}, "tensor_layout.clamp_value_ignored"),
    ({**OVER, "component": "f32"}, "tensor_layout.clamp_value_in_8_bits"),
    ({**OVER, "form": "copied_clamp_value"}, ("tensor_layout.changed_in_place", "setting", "clamp value")),
    ({"form": "copied_block_size"}, "tensor_layout.block_sizes_ignored"),
    ({"blocks": "even", "shape": "16x32"}, "tensor_layout.block_sizes_reversed"),
    ({"blocks": "even", "order": "block_last"}, "tensor_layout.block_size_resets_strides"),
    ({"form": "copied_block_size"}, ("tensor_layout.changed_in_place", "setting", "block size")),
    ({}, "tensor_access.counted_down_columns"),
    ({"span": "reshaped"}, "tensor_access.matrix_for_slice"),
    ({"span": "odd", "rank": 3}, "tensor_access.matrix_for_slice"),
    ({"span": "shorter"}, "tensor_access.outermost_without_end"),
    ({"blocks": "even", "rank": 5}, "tensor_access.place_in_block_added"),
    ({}, "tensor_access.number_in_bytes"),
    ({"pointee": "uvec4"}, "tensor_access.pointer_in_components"),
    ({}, "tensor_access.pointer_ignored"),
    ({"first": "far"}, "tensor_access.pointer_in_16_bits"),
    ({"subgroups": 2}, "tensor_access.tensor_of_first_instance"),
    ({"subgroups": 2, "form": "instance"}, "tensor_access.layout_of_first_instance"),
    ({"subgroups": 2, "form": "instance_shape"}, "tensor_access.layout_of_first_instance"),
    ({"subgroups": 2, "form": "branch", "access": "store"}, "tensor_access.layout_of_first_instance"),
    ({"access": "store"}, "tensor_access.not_stored"),
]
CLAMP = {"side": "before", "which": "all", "reach": "part", "size": "odd"}
CLAMPS = [
    ({"mode": "constant", "clamp_value": "low"}, "tensor_layout.clamp_value_ignored"),
    ({"mode": "constant", "clamp_value": "low"}, "tensor_layout.clamp_value_zero"),
    ({"mode": "constant", "component": "f32", "clamp_value": "garbage"}, "tensor_layout.clamp_value_in_8_bits"),
    ({"mode": "constant"}, "tensor_access.clamped_to_edge"),
    ({"mode": "constant"}, "tensor_access.repeated"),
    ({"mode": "constant", "side": "after"}, ("tensor_access.bounds_of_one_dimension", "dimension", "innermost")),
    ({"mode": "constant", "side": "after"}, ("tensor_access.bounds_of_one_dimension", "dimension", "outermost")),
    ({"mode": "edge"}, "tensor_access.repeated"),
    ({"mode": "edge"}, "tensor_access.mirrored"),
    ({"mode": "edge"}, "tensor_access.clamped_unsigned"),
    ({"mode": "repeat"}, "tensor_access.clamped_to_edge"),
    ({"mode": "repeat"}, "tensor_access.mirrored"),
    ({"mode": "repeat"}, "tensor_access.repeated_unsigned"),
    ({"mode": "repeat", "reach": "periods"}, "tensor_access.moved_by_one_period"),
    ({"mode": "repeat", "reach": "periods"}, "tensor_access.repeated_by_remainder"),
    ({"mode": "repeat"}, "tensor_access.constant_out_of_bounds"),
    ({"mode": "mirrored"}, "tensor_access.clamped_to_edge"),
    ({"mode": "mirrored"}, "tensor_access.repeated"),
    ({"mode": "mirrored", "size": "fit"}, "tensor_access.mirrored_unsigned"),
    ({"mode": "mirrored", "reach": "periods"}, "tensor_access.mirrored_once"),
    ({"mode": "mirrored"}, "tensor_access.mirrored_period_even"),
    ({"mode": "mirrored"}, "tensor_access.mirrored_period_odd"),
    (
        {"mode": "mirrored", "which": "beside_one"},
        "tensor_access.in_bounds_mirrored_to_first",
    ),
    ({"mode": "edge", "access": "store", "size": "fit"}, "tensor_access.store_repeated"),
]


@pytest.mark.parametrize(("labels", "wanted"), LAYOUT, ids=named)
def test_tensor_layout_shows(labels, wanted):
    found = shown(case_of("tensor_layout", **labels), wanted)
    assert found
    assert all(found)


@pytest.mark.parametrize(("labels", "wanted"), CLAMPS, ids=named)
def test_tensor_clamp_shows(labels, wanted):
    found = shown(case_of("tensor_clamp", **CLAMP | {"rank": 2} | labels), wanted)
    assert found
    assert all(found)


def test_the_diagnosis_knows_the_defects_of_tensors():
    program = build(case_of("tensor_layout")).program
    assert "tensor_layout.slice_offset_ignored" in [defect.id for defect in known_defects(program)]


@pytest.mark.parametrize(("side", "reach", "size"), [("before", "part", "odd"), ("inside", "one", "large")])
def test_a_remainder_by_zero_is_named_before_strides_of_zero_which_give_the_same(side, reach, size):
    """Readers look at the first explanation, and no stride is wrong in the other clamp modes."""
    case = case_of("tensor_clamp", rank=2, mode="mirrored", access="load", which="beside_one", side=side, reach=reach, size=size)
    built = build(case)
    program = built.program
    subcase = built.subcases()[0]
    expected = evaluate(program, subcase)
    before = initial_contents(program, subcase, expected)
    (defect,) = chosen(known_defects(program), "tensor_access.in_bounds_mirrored_to_first")
    broken = evaluate_defect(program, subcase, defect.substitutes)
    first, *others = diagnose(program, subcase, expected, before, outcome_of(program, broken, before))
    assert first.id == defect.id
    assert "tensor_layout.dimension_keeps_strides" in [match.id for match in others]


def test_a_function_that_returns_the_layout_that_it_got_shows():
    cases = [case for case in expand(casebook().family("tensor_layout"), "smoke") if case.named["form"] == "from_function"]
    found = [one for case in cases for one in seen(case.id, "call.returns_argument")]
    assert found
    assert not unseen(found)
