"""Cases of a family: tiers, ids, subcases, and rows that a device adds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import combinations, product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from generators.casebook import Family, build, expand, full_ids, load_family
from generators.casebook.constraints import Exclusion
from generators.casebook.ids import parse_labels
from generators.errors import CasebookError
from tests.casebook.conftest import Declare

Write = Callable[[str], Path]
Pinned = Callable[[str], Family]
ROW = "16x16x16.f16.f16.f32.f32"
NEW = "8x8x8.s8.s8.s32.s32.sat"


def ids(family: Family, tier: str, extra: list[str] | None = None) -> list[str]:
    return [case.id for case in expand(family, tier, extra)]


def allowed(size: int, columns: int, use: str, stride: str) -> bool:
    return size * columns <= 64 and not (use == "b" and stride == "padded") and not (size == 1 and columns == 3)


def test_the_full_tier_is_the_union_of_the_products(toy: Family) -> None:
    lengths = product([1, 2, 4], [8, 16, 32, 3], "ab", ["tight"])
    strides = product([1, 2, 4], [8, 3], "a", ["tight", "padded"])
    rows = {row for row in (*lengths, *strides) if allowed(*row)}
    expected = {f"toy[bytes:{size}/columns:{columns}/use:{use}/stride:{stride}]" for size, columns, use, stride in rows}
    full = ids(toy, "full")
    assert len(full) == len(set(full))
    assert set(full) == expected


def test_ids_of_the_full_tier_are_those_of_its_cases(toy: Family) -> None:
    assert list(full_ids(toy)) == ids(toy, "full")


def test_smaller_tiers_are_parts_of_larger_ones_in_the_same_order(toy: Family) -> None:
    smoke, nightly, full = (ids(toy, tier) for tier in ("smoke", "nightly", "full"))
    assert [id_ for id_ in full if id_ in set(nightly)] == nightly
    assert [id_ for id_ in nightly if id_ in set(smoke)] == smoke
    assert 0 < len(smoke) < len(nightly) < len(full)


def test_nightly_has_every_allowed_pair_of_a_product_of_strength_2(toy: Family) -> None:
    def pairs(tier: str) -> set[tuple[tuple[int, str], ...]]:
        rows = [case.labels for case in expand(toy, tier) if case.labels[3] == "tight"]
        return {pair for row in rows for pair in combinations(enumerate(row), 2)}

    assert pairs("nightly") == pairs("full")


def test_strength_0_takes_no_case_of_a_product(toy: Family) -> None:
    assert not any(case.labels[3] == "padded" for case in expand(toy, "smoke"))


def test_an_id_has_the_labels_and_values_have_the_values(toy: Family) -> None:
    case = next(case for case in expand(toy, "full") if case.labels[3] == "padded")
    assert case.id == "toy[bytes:1/columns:8/use:a/stride:padded]"
    assert case.family == "toy"
    assert case.values == {"bytes": 1, "columns": 8, "use": "a", "stride": [16, 32]}


def test_constraints_on_subcase_parameters_apply_to_the_dispatches(toy: Family) -> None:
    names = {case.labels[1]: [name for name, _ in case.subcases] for case in expand(toy, "full")}
    assert names["8"] == ["pattern:index/seed:0", "pattern:index/seed:1", "pattern:halves/seed:0", "pattern:halves/seed:1"]
    assert names["3"] == ["pattern:index/seed:0", "pattern:index/seed:1"]


def test_a_family_keeps_no_decisions_about_the_subcases_of_a_case(toy: Family) -> None:
    cases = expand(toy, "full")
    before = repr(toy.rules)
    assert [name for case in cases for name, _ in case.subcases]
    assert repr(toy.rules) == before


def test_a_family_without_subcase_parameters_has_one_subcase(write: Write, declare: Declare, text: str) -> None:
    declare({"bytes": int, "columns": int, "use": str, "stride": int | list[int]}, alone=True)
    family = load_family(
        write(
            text.partition("subcases:")[0].replace("  - predicate: even_pattern\n    because: halves need an even number of columns\n", "")
        )
    )
    case = expand(family, "full")[0]
    assert case.subcases == [("only", case.parameters)]
    assert vars(case.parameters) == case.values


def test_a_case_that_is_left_without_subcases_is_an_error(write: Write, text: str) -> None:
    family = load_family(write(text.replace("pattern: [index, halves]", "pattern: [halves]")))
    case = next(case for case in expand(family, "full") if case.labels[1] == "3")
    with pytest.raises(CasebookError, match=re.escape(f"leave no subcase of {case.id}; exclude the case")):
        _ = case.subcases


def test_a_product_that_the_constraints_leave_empty_is_an_error(write: Write, text: str) -> None:
    family = load_family(write(text.replace("{bytes: all, columns: [8, 3], stride: all}", "{columns: [3]}")))
    with pytest.raises(CasebookError, match=r"toy.yaml:30: products\[1\]: the constraints leave no case of the product 'strides'"):
        expand(family, "full")


def test_a_predicate_that_misspells_a_parameter_is_named(write: Write, text: str) -> None:
    family = load_family(write(text.replace("predicate: short_row", "predicate: misspelt")))
    with pytest.raises(
        CasebookError, match=r"toy\.yaml:15: constraints\[0\]: predicate 'misspelt' cannot judge .*AttributeError: .* no attribute 'byte'"
    ):
        expand(family, "full")


def test_an_unknown_tier_is_an_error(toy: Family) -> None:
    with pytest.raises(CasebookError, match="unknown tier 'weekly'; expected one of smoke, nightly, full"):
        expand(toy, "weekly")


def test_programs_and_data_come_from_the_builder(toy: Family) -> None:
    case = expand(toy, "full")[0]
    built = build(case)
    program = built.program
    assert program.subgroups == 8
    subcases = built.subcases()
    assert [subcase.name for subcase in subcases] == [name for name, _ in case.subcases]
    assert subcases[0].properties == case.values | {"pattern": "index", "seed": 0}


def test_data_depend_on_case_and_subcase_and_on_nothing_else(toy: Family) -> None:
    cases = expand(toy, "full")[:2]
    data = [bytes(subcase.inputs["data"]) for case in cases for subcase in build(case).subcases()]
    again = [bytes(subcase.inputs["data"]) for case in cases for subcase in build(case).subcases()]
    assert data == again
    assert len(set(data)) == len(data)
    assert (cases[0].id, cases[0].subcases[0][0]) == ("toy[bytes:1/columns:8/use:a/stride:tight]", "pattern:index/seed:0")
    assert data[0].hex() == "0e526329234967775966a7dcff79b54c"


@pytest.fixture
def rows_text(declare: Declare, text: str) -> str:
    declare({"row": str})
    parameter = f"row: {{property_rows: true, values: [{ROW}, 8x8x8.f16.f16.f16.f16]}}"
    return text.replace("use: [a, b]", f"use: [a, b]\n  {parameter}").replace("use: all}", "use: all, row: all}")


def test_rows_that_a_device_adds_come_after_the_others_and_leave_them_alone(pinned: Pinned, rows_text: str) -> None:
    family = pinned(rows_text)
    for tier in ("smoke", "nightly", "full"):
        before, after = ids(family, tier), ids(family, tier, [ROW, NEW])
        assert after[: len(before)] == before
        assert len(after) > len(before)
        assert all(NEW in id_ for id_ in after[len(before) :])


def test_added_rows_come_only_from_products_that_take_all_rows(pinned: Pinned, rows_text: str) -> None:
    family = pinned(rows_text)
    added = [case for case in expand(family, "full", [NEW]) if NEW in case.labels]
    assert {case.values["stride"] for case in added} == {0}
    assert {case.values["row"] for case in added} == {NEW}


def test_tiers_of_added_rows_are_parts_of_each_other(pinned: Pinned, rows_text: str) -> None:
    family = pinned(rows_text)
    smoke, nightly, full = (set(ids(family, tier, [NEW])) for tier in ("smoke", "nightly", "full"))
    assert smoke < nightly < full


@pytest.mark.parametrize("tier", ["smoke", "nightly"])
@pytest.mark.parametrize(
    ("added", "model"),
    [("8x8x8.f16.f16.f32.f32", ROW), ("16x16x16.f16.f16.f16.f16", "8x8x8.f16.f16.f16.f16"), ("4x4x4.bf16.bf16.f32.f32", ROW)],
)
def test_an_added_row_has_the_pinned_cases_of_the_row_that_is_most_like_it(
    pinned: Pinned, rows_text: str, tier: str, added: str, model: str
) -> None:
    cases = expand(pinned(rows_text), tier, [added])
    there = [case.labels for case in cases if case.labels[4] == model and case.labels[3] == "tight"]
    assert there
    assert [case.labels for case in cases if case.labels[4] == added] == [(*labels[:4], added) for labels in there]


def test_an_added_row_has_no_case_that_the_constraints_forbid_for_it(pinned: Pinned, rows_text: str) -> None:
    rule = f"  - when: {{use: [b]}}\n    require: {{row: [{ROW}, 8x8x8.f16.f16.f16.f16]}}\n    because: B has listed rows\nproducts:"
    cases = expand(pinned(rows_text.replace("products:", rule)), "nightly", ["8x8x8.f16.f16.f32.f32"])
    assert {case.labels[2] for case in cases if case.labels[4] == "8x8x8.f16.f16.f32.f32"} == {"a"}


def test_an_added_row_has_no_smoke_case_where_no_product_of_all_rows_has_one(pinned: Pinned, rows_text: str) -> None:
    family = pinned(
        rows_text.replace("smoke: 1", "smoke: 0")
        .replace("nightly: 1", "nightly: 2")
        .replace("smoke: 0\n    nightly: 2\nsub", "smoke: 1\n    nightly: 2\nsub")
    )
    assert [id_ for id_ in ids(family, "smoke", [NEW]) if NEW in id_] == []
    assert [id_ for id_ in ids(family, "nightly", [NEW]) if NEW in id_]


def test_the_cases_of_an_added_row_do_not_depend_on_other_rows(pinned: Pinned, rows_text: str) -> None:
    family = pinned(rows_text)
    alone = [id_ for id_ in ids(family, "nightly", [NEW]) if NEW in id_]
    with_another = [id_ for id_ in ids(family, "nightly", ["4x4x4.f16.f16.f16.f16", NEW]) if NEW in id_]
    assert alone == with_another


def test_an_added_row_must_have_the_form_of_one(pinned: Pinned, rows_text: str) -> None:
    family = pinned(rows_text)
    with pytest.raises(CasebookError, match=r"'8x8\.f16' is not a property row"):
        expand(family, "smoke", ["8x8.f16"])
    with pytest.raises(CasebookError, match=r"'08x8x8.f16.f16.f16.f16' must be written 8x8x8"):
        expand(family, "smoke", ["08x8x8.f16.f16.f16.f16"])


def test_added_rows_mean_nothing_to_a_family_without_a_row_parameter(toy: Family) -> None:
    assert ids(toy, "nightly", [NEW]) == ids(toy, "nightly")


_labels = st.text(st.characters(codec="utf-8", exclude_characters="/[],:'\"\\", exclude_categories=("Z", "C")), min_size=1, max_size=4)


@st.composite
def parameters_text(draw: st.DrawFn) -> Iterator[str]:
    parameters = draw(st.lists(st.lists(_labels, min_size=1, max_size=4, unique=True), min_size=1, max_size=4))
    return "".join(f"  x{number}: [{', '.join(repr(label) for label in labels)}]\n" for number, labels in enumerate(parameters))


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(parameters_text())
def test_ids_are_unique_and_stable(write: Write, declare: Declare, text: str, parameters: str) -> None:
    declare(dict.fromkeys(re.findall(r"^  (x\d):", parameters, re.MULTILINE), str), alone=True)
    head = text.partition("parameters:\n")[0]
    names = ", ".join(f"{line.split(':')[0].strip()}: all" for line in parameters.splitlines())
    products = f"products:\n  - {{name: all, why: all, parameters: {{{names}}}, smoke: 1, nightly: 2}}\n"
    path = write(f"{head}parameters:\n{parameters}{products}")
    family = load_family(path)
    first, second = ids(family, "full"), ids(load_family(path), "full")
    assert first == second
    assert len(first) == len(set(first))
    assert [parse_labels(family.parameters, id_.partition("[")[2].removesuffix("]")) for id_ in first] == [
        case.labels for case in expand(family, "full")
    ]


def test_an_expansion_asks_a_constraint_about_the_labels_that_it_names_and_not_about_each_case(
    write: Write, declare: Declare, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0
    decide = Exclusion.decide

    def counting(self: Exclusion, assignment: list[int]) -> int:
        nonlocal asked
        asked += 1
        return decide(self, assignment)

    monkeypatch.setattr(Exclusion, "decide", counting)
    head = text.partition("parameters:\n")[0]
    names = ["component", "use", "shape", "load", "store", "storage", "first", "source"]
    sizes = (14, 3, 9, 2, 2, 3, 6, 8)
    parameters = "".join(f"  {name}: [{', '.join(f'{name}{n}' for n in range(size))}]\n" for name, size in zip(names, sizes, strict=True))
    rule = "constraints:\n  - {when: {component: [component3]}, require: {use: [use1, use2]}, because: it is so}\n"
    chosen = ", ".join(f"{name}: all" for name in names)
    products = f"products:\n  - {{name: all, why: all, parameters: {{{chosen}}}, smoke: 1, nightly: 2}}\n"
    declare(dict.fromkeys(names, str), alone=True)
    family = load_family(write(f"{head}parameters:\n{parameters}{rule}{products}"))
    full = expand(family, "full")
    assert len(full) > 200_000
    assert len({case.id for case in full}) == len(full)
    # The constraint is asked once before anything is known, again for each label of its two parameters, and for the covering array.
    assert asked < 100
