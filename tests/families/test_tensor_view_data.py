"""The data of tensor_view must give a different result under each known defect of views."""

import numpy as np
import pytest

from cts.defects.evaluation import evaluate_defect
from cts.defects.tensor_view import tensor_view_defects
from cts.diagnosis.diagnose import diagnose
from cts.diagnosis.shown import outcome_of
from cts.reference.evaluate import evaluate
from cts.verdict.compare import compare
from cts.verdict.poison import initial_contents
from generators.casebook import Tier, build, expand, find_case
from generators.errors import GeneratorError
from generators.families.nv_cooperative_matrix2.tensor_view import geometry
from tests.families.evidence import chosen, seen, unseen
from tests.families.tensor_view_cases import view_case
from tests.suite import casebook

DERIVED = ("matrix derived", "stored")


def both(id_: str, **values):
    """Return a defect's id with a load and with a store."""
    return [(view_case(access=access, **values), id_) for access in ("load", "store")]


@pytest.mark.parametrize(
    ("case_id", "id_"),
    [
        *both("tensor_view.ignored"),
        *both("tensor_view.permutation_ignored", form="span"),
        *both("tensor_view.permutation_inverted", permutation="p120"),
        *both("tensor_view.permutation_inverted", permutation="p3012", form="odd", spans="odd"),
        *both("tensor_view.permutation_backwards", permutation="p201"),
        *both("tensor_view.dimensions_permuted_only", permutation="p021"),
        *both("tensor_view.strides_permuted_only", permutation="p120"),
        *both("tensor_view.strides_of_permuted_dimensions"),
        *both("tensor_view.strides_of_permuted_dimensions", form="span", shape="16x8"),
        *both("tensor_view.strides_of_tensor"),
        *both("tensor_view.slice_offset_ignored"),
        *both("tensor_view.strides_ignored", form="padded"),
        *both("tensor_view.strides_ignored", form="crossed"),
        (view_case(form="sliding", permutation="p0123"), "tensor_view.strides_ignored"),
        *both("tensor_view.strides_outlive_dimensions", form="reset"),
        *both("tensor_view.spans_of_slice"),
        *both("tensor_view.dimensions_of_tensor", form="span"),
        (view_case(form="outer_zero"), "tensor_view.stride_zero_as_one"),
        (view_case(form="inner_zero", shape="8x8"), "tensor_view.stride_zero_as_one"),
        (view_case(form="wrapping"), "tensor_view.outermost_without_end"),
        *both("tensor_view.clip_ignored", clip="inside"),
        *both("tensor_view.clip_rows_only", clip="inside"),
        *both("tensor_view.clip_columns_only", clip="over_bottom"),
        *both("tensor_view.clip_axes_exchanged", clip="inside"),
        *both("tensor_view.clip_offsets_and_spans_exchanged", clip="inside"),
        *both("tensor_view.clip_operands_grouped", clip="inside"),
        *both("tensor_view.clip_end_included", clip="inside"),
        *both("tensor_view.clip_offset_not_subtracted", clip="inside"),
        *both("tensor_view.clip_offset_not_subtracted", clip="corner", permutation="p120", form="span", rank=3),
        *both("tensor_view.numbered_in_matrix", clip="inside"),
        *both("tensor_view.clip_lines_of_matrix", clip="inside", fit="window"),
        *both("tensor_view.clip_lines_of_span", clip="wide"),
        (view_case(clip="rows", permutation="p120"), "tensor_view.clip_lines_of_span"),
        *both("tensor_view.clip_lines_of_seen", clip="over_right"),
        *both("tensor_view.clip_lines_of_seen", clip="corner", fit="window"),
        *both("tensor_view.clip_spans_as_ends", clip="inside"),
        *both("tensor_view.clip_ended_by_dimensions", clip="inside", place="clip_first"),
        *both("tensor_view.changed_in_place", clip="inside", place="derived"),
        (view_case(clip="inside"), "tensor_view.clipped_elements_zero"),
        (view_case(clip="over_bottom", component="u8"), "tensor_view.clipped_elements_shifted"),
        (view_case(clip="inside", component="s8", access="store"), "tensor_view.clip_ignored"),
        (view_case(clip="inside", edge="over", mode="constant"), "tensor_view.clip_ignored"),
        (view_case(clip="inside", edge="over", mode="repeat", permutation="p201", form="crossed"), "tensor_view.permutation_inverted"),
    ],
    ids=lambda text: text.replace("[", "(").replace("]", ")"),
)
def test_the_data_show_the_defect(case_id, id_):
    # The elements stored through the derived view move with it.
    found = [one for one in seen(case_id, id_) if (one.defect.parameters["matrix"], one.defect.parameters["access"]) != DERIVED]
    assert found
    assert any(one.is_visible for one in found), unseen(found)


def visible(cases, wanted) -> set[str]:
    """Return the ids of the defects that change the result of some case."""
    result: set[str] = set()
    for one in cases:
        built = build(one)
        program = built.program
        subcase = built.subcases()[0]
        expected = evaluate(program, subcase)
        before = initial_contents(program, subcase, expected)
        for defect in tensor_view_defects(program):
            if defect.id in wanted and defect.id not in result:
                try:
                    broken = evaluate_defect(program, subcase, defect.substitutes)
                except GeneratorError:
                    continue
                if compare(program, expected, before, outcome_of(program, broken, before)):
                    result.add(defect.id)
    return result


def test_the_smoke_tier_shows_the_mistakes_that_are_likeliest():
    wanted = {
        "tensor_view.permutation_inverted",
        "tensor_view.permutation_ignored",
        "tensor_view.strides_ignored",
        "tensor_view.stride_zero_as_one",
        "tensor_view.clip_ignored",
        "tensor_view.clip_offset_not_subtracted",
        "tensor_view.clip_lines_of_matrix",
        "tensor_view.clip_lines_of_seen",
        "tensor_view.strides_outlive_dimensions",
        "tensor_view.clipped_elements_zero",
        "tensor_view.outermost_without_end",
    }
    for access in ("load", "store"):
        cases = [one for one in expand(casebook().family("tensor_view"), Tier.SMOKE) if one.parameters.access == access]
        loads_only = {"tensor_view.clipped_elements_zero", "tensor_view.outermost_without_end"}
        loads_only |= {"tensor_view.stride_zero_as_one"}
        assert visible(cases, wanted) >= (wanted if access == "load" else wanted - loads_only), access


def test_previous_elements_of_a_matrix_differ_from_those_loaded():
    one = find_case(casebook(), view_case(clip="inside"))
    built = build(one, is_placed=False)
    program = built.program
    for subcase in built.subcases():
        bits = evaluate(program, subcase).placed[0].expected.bits[0]
        before = subcase.inputs["before"].view(np.uint16).reshape(16, -1)[:, :16]
        kept = bits == before
        window = np.zeros((16, 16), bool)
        window[1:9, 3:11] = True
        assert kept[~window].all()
        assert kept[window].mean() < 0.1


@pytest.mark.parametrize(
    ("values", "id_"),
    [
        ({"permutation": "p120"}, "tensor_view.permutation_inverted"),
        ({"clip": "over_right"}, "tensor_view.clip_lines_of_seen"),
        ({"clip": "inside"}, "tensor_view.clip_ignored"),
    ],
    ids=str,
)
def test_the_diagnosis_names_the_defect(values, id_):
    one = find_case(casebook(), view_case(**values))
    built = build(one)
    program = built.program
    subcase = built.subcases()[0]
    expected = evaluate(program, subcase)
    before = initial_contents(program, subcase, expected)
    defect = chosen(tensor_view_defects(program), id_, access="loaded")[0]
    outcome = outcome_of(program, evaluate_defect(program, subcase, defect.substitutes), before)
    assert id_ in [match.id for match in diagnose(program, subcase, expected, before, outcome)]


def test_a_slice_over_the_edges_of_its_tensor_is_partly_inside_in_every_dimension():
    over = [case for case in expand(casebook().family("tensor_view"), "nightly") if case.parameters.edge == "over"]
    assert {case.parameters.rank for case in over} >= {1, 2, 3, 5}
    for case in over:
        tensor = geometry(case.parameters).tensor
        for size, offset, span in zip(tensor.sizes, tensor.offsets, tensor.spans, strict=True):
            assert -span < offset < size, case.id


def test_a_store_over_the_edges_of_its_tensor_stores_something_where_its_window_lets_it_see_elements():
    stores = [
        case
        for case in expand(casebook().family("tensor_view"), "nightly")
        if (case.parameters.access, case.parameters.edge) == ("store", "over")
    ]
    seeing = [case for case in stores if case.parameters.clip not in ("beyond", "empty")]
    assert {case.parameters.clip for case in seeing} >= {"none", "inside", "over_right", "corner", "columns"}
    for case in seeing:
        built = build(case)
        program = built.program
        assert all(evaluate(program, subcase).placed for subcase in built.subcases()), case.id
