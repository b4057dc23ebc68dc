"""Pictures of tensor addressing: their input, their contents, and the pictures of docs/."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import msgspec
import pytest

from cts.cli import main
from cts.defects.evaluation import evaluate_defect
from cts.defects.tensor_view import tensor_view_defects
from cts.diagnosis.shown import outcome_of
from cts.journal.record import failure_of
from cts.kinds.kernel import WrongSubcase, _failed, arrange
from cts.pictures.drawing import NotDrawable, draw
from cts.pictures.picture import picture_of_case, shown_pictures
from cts.pictures.tracing import tensor_maps
from cts.verdict.compare import compare
from cts.verdict.effort import Effort
from cts.verdict.failure import FailingMatrix, Failure, Mismatch
from cts.verdict.tensor_map import NOWHERE, PartsDiffer, TensorMap
from generators.casebook import build, find_case
from reports.picture import failing_array
from tests.families.tensor_view_cases import view_case

from .conftest import REPOSITORY

DOCS = REPOSITORY / "docs"
SVG = "{http://www.w3.org/2000/svg}"
PAGE = {page.name: shown_pictures(page.read_text(encoding="utf-8")) for page in sorted(DOCS.glob("*.md"))}
SHOWN = [(name, case) for pictures in PAGE.values() for name, case in pictures.items()]


MISMATCH = {"kind": "wrong value", "array": "d_out", "what": "d", "instance": 0, "count": 8, "total": 64, "pattern": "column 0"}


def tensor(**changes):
    """Build a matrix of 2 by 3 elements that begins at row 1 and column 1 of a tensor of 4 by 3."""
    values = {
        "access": "load",
        "matrix": "m",
        "array": "source",
        "instance": 0,
        "shape": (2, 3),
        "dimensions": (4, 3),
        "offset": (1, 1),
        "span": (2, 3),
        "block_size": (1, 1),
        "clamp": "CONSTANT",
        "in_slice": (0, 1, 2, NOWHERE, 4, 5),
        "in_tensor": (4, 5, NOWHERE, NOWHERE, 8, NOWHERE),
    }
    return TensorMap(**(values | changes))


def parsed(svg: str):
    return ElementTree.fromstring(svg)


def titles(svg: str) -> list[str]:
    return [title.text or "" for title in parsed(svg).iter(f"{SVG}title")][1:]


def words(svg: str) -> list[str]:
    return [text.text or "" for text in parsed(svg).iter(f"{SVG}text")]


def test_every_element_says_what_becomes_of_it():
    assert titles(draw(tensor())) == [
        "(0, 0) is read from (1, 1)",
        "(0, 1) is read from (1, 2)",
        "(0, 2) is at (1, 3), out of bounds: it is the clamp value",
        "(1, 0) is left out by the clip window: it keeps its old value",
        "(1, 1) is read from (2, 2)",
        "(1, 2) is at (2, 3), out of bounds: it is the clamp value",
    ]


def test_a_store_discards_and_leaves_out():
    found = titles(draw(tensor(access="store")))
    assert found[0] == "(0, 0) is written to (1, 1)"
    assert found[2].endswith("it is discarded")
    assert found[3].endswith("it is not stored")


def test_an_element_that_was_moved_names_both_places():
    found = titles(draw(tensor(clamp="CLAMP_TO_EDGE", in_tensor=(4, 5, 5, NOWHERE, 8, 8))))
    assert found[2] == "(0, 2) is read from (1, 2); (1, 3) is out of bounds"


def test_an_element_of_the_tensor_has_the_name_of_that_of_the_matrix_or_how_many_there_are():
    found = words(draw(tensor(in_tensor=(4, 5, 5, NOWHERE, 8, NOWHERE))))
    assert found.count("0,0") == 2, "once in the matrix, once in the tensor"
    assert found.count("×2") == 1


def test_wrong_elements_are_crossed_out_in_the_matrix_and_in_the_tensor():
    def crosses(wrong):
        return sum(path.get("class") == "x" for path in parsed(draw(tensor(), wrong)).iter(f"{SVG}path"))

    assert crosses({0, 4}) == 4
    assert crosses({3}) == 1, "an element that is left out is nowhere in the tensor"
    assert crosses(()) == 0


@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5])
def test_slices_of_more_than_two_dimensions_are_named(rank):
    sizes = (2, 2, 2, 3, 4)[-rank:]
    drawn = draw(
        tensor(
            dimensions=sizes, offset=(0,) * rank, span=sizes, block_size=(1,) * rank, in_slice=tuple(range(6)), in_tensor=tuple(range(6))
        )
    )
    labels = [text for text in words(drawn) if text.endswith("…)")]
    assert len(labels) == (2 ** (rank - 2) if rank > 2 else 0)
    assert len(set(labels)) == len(labels)


def test_a_slice_far_away_is_not_drawn_with_the_tensor():
    near, far = (draw(tensor(offset=(offset, 1), in_tensor=(NOWHERE,) * 6)) for offset in (-3, 1_000_000))
    assert 'class="o"' in near
    assert 'class="o"' not in far


def test_a_tensor_too_large_to_draw_is_refused():
    with pytest.raises(NotDrawable) as caught:
        draw(tensor(dimensions=(400, 400)))
    assert caught.value.obstacle == "size"


def test_text_from_a_record_cannot_leave_the_picture():
    assert "<script>" not in draw(tensor(matrix="<script>", clamp="<script>"))
    record = {**MISMATCH, "shape": [2, 3], "component": "f16", "tensor": msgspec.to_builtins(tensor()) | {"dimensions": ["<script>", "3"]}}
    assert failure_of(record).unreadable
    assert failure_of(record).tensor is None


def test_a_map_whose_parts_do_not_fit_is_refused():
    for changes in ({"offset": (1,)}, {"in_slice": (0,)}, {"shape": (2, 4)}):
        with pytest.raises(PartsDiffer):
            tensor(**changes)


def test_the_map_of_a_case_is_that_of_the_reference_model(casebook):
    one = find_case(casebook, view_case(shape="8x8", form="span", clip="over_right", fit="window"))
    built = build(one)
    program = built.program
    (found,) = tensor_maps(program, built.subcases()[0])
    assert (found.access, found.matrix, found.shape) == ("load", "matrix", (8, 8))
    assert (found.dimensions, found.offset, found.span) == ((7, 8), (1, 2), (4, 4))
    inside = {(i // 8, i % 8) for i, number in enumerate(found.in_slice) if number != NOWHERE}
    assert inside == {(row, column) for row in range(1, 5) for column in range(5, 8)}
    # Row 2, column 6 is number 1 * 4 + 1 in the window: coordinate 1 of dimension 0 and 1 of dimension 1, which are exchanged.
    assert found.in_slice[2 * 8 + 6] == 1 * 4 + 1
    assert found.in_tensor[2 * 8 + 7] == (2 + 1) * 8 + (1 + 2)


def test_every_scope_instance_has_its_own_map(casebook):
    one = find_case(casebook, view_case(subgroups=2, permutation="p120"))
    built = build(one)
    program = built.program
    assert [tensor_maps(program, built.subcases()[0], instance)[0].instance for instance in (0, 1)] == [0, 1]


def test_the_page_of_a_failure_shows_the_wrong_elements(casebook):
    one = find_case(casebook, view_case(shape="8x8", clip="inside"))
    built = build(one)
    program = built.program
    plan = arrange(built)
    defect = next(defect for defect in tensor_view_defects(program) if defect.id == "tensor_view.clip_offset_not_subtracted")
    outcome = outcome_of(program, evaluate_defect(program, plan.subcases[0], defect.substitutes), plan.before[0])
    mismatches = compare(program, plan.expected[0], plan.before[0], outcome)
    (failure,) = _failed(one, plan, [WrongSubcase(0, outcome, mismatches)], "", Effort()).failures
    drawn = parsed(failing_array(failure).tensor)
    assert drawn.get("id") == "tensor0"
    assert sum(path.get("class") == "x" for path in drawn.iter(f"{SVG}path")) == 2 * failure.mismatch.count


def test_a_page_draws_one_tensor_and_none_that_would_make_it_heavy(casebook):
    one = find_case(casebook, view_case(shape="8x8", clip="inside"))
    built = build(one)
    program = built.program
    masks = ("1",) * 8
    matrix = FailingMatrix((8, 8), "f16", masks, instances={0: masks})
    (tensor, *_) = tensor_maps(program, built.subcases()[0])
    failure = Failure("s", replace(msgspec.convert(MISMATCH, Mismatch), matrix=matrix), tensor=tensor)
    assert failing_array(failure).tensor
    assert not failing_array(failure, 1).tensor
    assert not failing_array(replace(failure, tensor=replace(tensor, dimensions=(64, 64)))).tensor
    assert not failing_array(replace(failure, tensor=replace(tensor, span=(1 << 20, 8)))).tensor


def test_a_matrix_that_no_tensor_has_gets_no_picture():
    matrix = FailingMatrix((1, 1), "f16", ("1",), instances={0: ("1",)})
    assert failing_array(Failure("s", replace(msgspec.convert(MISMATCH, Mismatch), matrix=matrix))).tensor == ""


def test_the_command_writes_what_the_function_draws(casebook, tmp_path, capsys):
    target = tmp_path / "picture.svg"
    assert main(["--root", str(REPOSITORY), "picture", view_case(), "--out", str(target)]) == 0
    assert target.read_text(encoding="utf-8") == picture_of_case(find_case(casebook, view_case()))
    assert main(["--root", str(REPOSITORY), "picture", view_case()]) == 0
    assert capsys.readouterr().out == target.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["missing/picture.svg", "."])
def test_a_place_that_cannot_be_written_is_named(tmp_path, capsys, name):
    assert main(["--root", str(REPOSITORY), "picture", view_case(), "--out", str(tmp_path / name)]) == 2
    assert f"--out {tmp_path / name}: cannot write it" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("case_id", "access", "instance", "obstacle"),
    [
        (view_case(), 1, 0, "access"),
        (view_case(), 0, 1, "instance"),
        ("muladd[row:16x16x16.f16.f16.f32.f32/data:exact]", 0, 0, "tensor"),
        ("static_types[rule:use_3/form:broken]", 0, 0, "shader"),
    ],
    ids=["access", "instance", "no tensor", "no shader"],
)
def test_obstacles_to_drawing_are_named(casebook, case_id, access, instance, obstacle):
    with pytest.raises(NotDrawable) as caught:
        picture_of_case(find_case(casebook, case_id), access, instance)
    assert caught.value.obstacle == obstacle


@pytest.mark.parametrize(("name", "case_id"), SHOWN, ids=[name for name, _ in SHOWN])
def test_a_picture_of_the_pages_is_that_of_its_case(casebook, name, case_id):
    drawn = (DOCS / "pictures" / name).read_text(encoding="utf-8")
    assert drawn == picture_of_case(find_case(casebook, case_id)), "the picture is stale: run 'cts pages'"


def test_every_picture_is_shown_where_its_case_is_named():
    assert {name for name, _ in SHOWN} == {path.name for path in (DOCS / "pictures").iterdir()}
    for page, pictures in PAGE.items():
        text = (DOCS / page).read_text(encoding="utf-8")
        for name in pictures:
            assert re.search(rf"<!-- picture: {re.escape(name)} \S+ -->\n!\[.+\]\(pictures/{re.escape(name)}\)", text)
