"""The data of tensor_view must give another result under each defect of views that is known."""

import numpy as np
import pytest

from cts.compare import compare
from cts.defects.tensor_view import tensor_view_defects
from cts.diagnose import diagnose
from cts.poison import initial_contents
from cts.reference.evaluate import evaluate
from generators.casebook import Tier, build_program, build_subcases, expand, find_case
from generators.errors import GeneratorError
from generators.families.tensor_view import geometry
from tests.families.evidence import casebook, outcome_of, seen
from tests.families.tensor_view_cases import view_case


def both(words: str, **values):
    """The same for a load and a store."""
    return [(view_case(access=access, **values), words) for access in ("load", "store")]


@pytest.mark.parametrize(
    ("case_id", "words"),
    [
        *both("without the view"),
        *both("the permutation ignored", form="span"),
        *both("the permutation inverted", permutation="p120"),
        *both("the permutation inverted", permutation="p3012", form="odd", spans="odd"),
        *both("the permutation read backwards", permutation="p201"),
        *both("the dimensions permuted and the strides not", permutation="p021"),
        *both("the strides permuted and the dimensions not", permutation="p120"),
        *both("strides in the order of the permuted dimensions"),
        *both("strides in the order of the permuted dimensions", form="span", shape="16x8"),
        *both("the strides of the tensor in the view"),
        *both("the slice's offset ignored"),
        *both("the view's strides ignored", form="padded"),
        *both("the view's strides ignored", form="crossed"),
        (view_case(form="sliding", permutation="p0123"), "the view's strides ignored"),
        *both("strides that outlive", form="reset"),
        *both("the spans of the slice as dimensions"),
        *both("the dimensions of the tensor as those", form="span"),
        (view_case(form="outer_zero"), "stride 0 taken"),
        (view_case(form="inner_zero", shape="8x8"), "stride 0 taken"),
        (view_case(form="wrapping"), "without end"),
        *both("the clip window ignored", clip="inside"),
        *both("window's rows alone", clip="inside"),
        *both("window's columns alone", clip="over_bottom"),
        *both("rows and columns of the clip window exchanged", clip="inside"),
        *both("offsets and spans of the clip window exchanged", clip="inside"),
        *both("taken as offsets and then spans", clip="inside"),
        *both("the end of the clip window inside", clip="inside"),
        *both("not subtracted", clip="inside"),
        *both("not subtracted", clip="corner", permutation="p120", form="span", rank=3),
        *both("numbered as in the whole matrix", clip="inside"),
        *both("as wide as the matrix", clip="inside", fit="window"),
        *both("as wide as its span", clip="wide"),
        (view_case(clip="rows", permutation="p120"), "as wide as its span"),
        *both("as wide as what is seen of it", clip="over_right"),
        *both("as wide as what is seen of it", clip="corner", fit="window"),
        *both("spans of the clip window taken as its ends", clip="inside"),
        *both("that new dimensions of the view end", clip="inside", place="clip_first"),
        *both("that was derived from its own", clip="inside", place="derived"),
        (view_case(clip="inside"), "with zero where"),
        (view_case(clip="over_bottom", component="u8"), "with old elements of the next column"),
        (view_case(clip="inside", component="s8", access="store"), "the clip window ignored"),
        (view_case(clip="inside", edge="over", mode="constant"), "the clip window ignored"),
        (view_case(clip="inside", edge="over", mode="repeat", permutation="p201", form="crossed"), "the permutation inverted"),
    ],
    ids=lambda text: text.replace("[", "(").replace("]", ")"),
)
def test_the_data_show_the_defect(case_id, words):
    found = {words_: is_seen for words_, is_seen in seen(case_id, words).items() if "derived stored" not in words_}
    assert found, f"no known defect of this case is described with {words!r}"
    assert any(found.values()), found


def visible(cases, wanted) -> set[str]:
    """The defects, without the matrix, that some case shows by another result."""
    result: set[str] = set()
    for one in cases:
        program = build_program(one)
        subcase = build_subcases(one, program)[0]
        expected = evaluate(program, subcase)
        before = initial_contents(program, subcase, expected)
        for defect in tensor_view_defects(program):
            words = defect.words.split(" with ", 1)[-1]
            if words in wanted and words not in result:
                try:
                    broken = evaluate(program, subcase, defect.substitutes)
                except GeneratorError:
                    continue
                if compare(program, expected, before, outcome_of(program, broken, before)):
                    result.add(words)
    return result


def test_the_smoke_tier_shows_the_mistakes_that_are_likeliest():
    wanted = {
        "the permutation inverted",
        "the permutation ignored",
        "the view's strides ignored",
        "the view's stride 0 taken as 1",
        "the clip window ignored",
        "the offset of the clip window not subtracted",
        "lines of the clip window as wide as the matrix",
        "lines of the clip window as wide as what is seen of it",
        "strides that outlive new dimensions of the view",
        "zero where the clip window leaves elements out",
        "the outermost coordinate of the view without end",
    }
    for access in ("load", "store"):
        cases = [one for one in expand(casebook().family("tensor_view"), Tier.SMOKE) if one.values["access"] == access]
        loads_only = {"zero where the clip window leaves elements out", "the outermost coordinate of the view without end"}
        loads_only |= {"the view's stride 0 taken as 1"}
        assert visible(cases, wanted) >= (wanted if access == "load" else wanted - loads_only), access


def test_what_a_matrix_had_differs_from_what_it_would_be_loaded_with():
    one = find_case(casebook(), view_case(clip="inside"))
    program = build_program(one)
    for subcase in build_subcases(one, program):
        bits = evaluate(program, subcase).placed[0].allowed.bits[0]
        before = subcase.inputs["before"].view(np.uint16).reshape(16, -1)[:, :16]
        kept = bits == before
        window = np.zeros((16, 16), bool)
        window[1:9, 3:11] = True
        assert kept[~window].all()
        assert kept[window].mean() < 0.1


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"permutation": "p120"}, "matrix loaded with the permutation inverted"),
        ({"clip": "over_right"}, "matrix loaded with lines of the clip window as wide as what is seen of it"),
        ({"clip": "inside"}, "matrix loaded with the clip window ignored"),
    ],
    ids=str,
)
def test_the_diagnosis_names_the_defect(values, words):
    one = find_case(casebook(), view_case(**values))
    program = build_program(one)
    subcase = build_subcases(one, program)[0]
    expected = evaluate(program, subcase)
    before = initial_contents(program, subcase, expected)
    defect = next(defect for defect in tensor_view_defects(program) if defect.words.endswith(words.removeprefix("matrix ")))
    outcome = outcome_of(program, evaluate(program, subcase, defect.substitutes), before)
    assert any(words.removeprefix("matrix ") in found for found in diagnose(program, subcase, expected, before, outcome))


def test_a_slice_over_the_edges_of_its_tensor_is_partly_inside_in_every_dimension():
    over = [case for case in expand(casebook().family("tensor_view"), "nightly") if case.values["edge"] == "over"]
    assert {case.values["rank"] for case in over} >= {1, 2, 3, 5}
    for case in over:
        shape = geometry(case.values)
        for size, offset, span in zip(shape.sizes, shape.offsets, shape.spans, strict=True):
            assert -span < offset < size, case.id


def test_a_store_over_the_edges_of_its_tensor_stores_something_where_its_window_lets_it_see_elements():
    stores = [
        case
        for case in expand(casebook().family("tensor_view"), "nightly")
        if (case.values["access"], case.values["edge"]) == ("store", "over")
    ]
    seeing = [case for case in stores if case.values["clip"] not in ("beyond", "empty")]
    assert {case.values["clip"] for case in seeing} >= {"none", "inside", "over_right", "corner", "columns"}
    for case in seeing:
        program = build_program(case)
        assert all(evaluate(program, subcase).placed for subcase in build_subcases(case, program)), case.id
