"""Products on units: the rows and shapes of real hardware, beside the ones that a family lists."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from generators.casebook import Family, expand, load_family
from generators.casebook.cases import full_rows
from generators.casebook.pinning import tier_faults
from generators.casebook.tiers import PinnedTiers, pinned_file, read_tiers
from generators.casebook.units import FILE, load_units
from generators.errors import CasebookError
from tests.suite import casebook, pin

Checkout = Callable[[str], Family]

UNITS = """\
wide:
  chips: one
  subgroup_sizes: [16]
  strength: 2
  rows: [8x16x16.f16.f16.f32.f32, 8x16x32.u8.u8.u32.u32]
"""

ROWS = """\
family: toy
specification: SPV_KHR_cooperative_matrix
builder: elements
covers: [KHR-A-01]
plan: components
parameters:
  row: {property_rows: true, values: [16x16x16.f16.f16.f32.f32, 8x8x8.u8.u8.u32.u32]}
  subgroups: [1, 2]
  layouts: [rr, cr]
  leading: [0]
units: 2
products:
  - name: floats
    why: floats
    parameters: {row: [16x16x16.f16.f16.f32.f32], scope: all, layouts: all, member: all}
    smoke: 1
    nightly: 2
  - name: rows
    why: every row
    parameters: {row: all, subgroups: all}
    smoke: 1
    nightly: 1
  - name: workgroups
    why: matrices of a workgroup
    parameters: {row: all, scope: [workgroup]}
    smoke: 0
    nightly: 1
"""

SHAPES = """\
family: toy
specification: SPV_KHR_cooperative_matrix
builder: load_store
covers: [KHR-A-01]
plan: loads
parameters:
  component: [f16, f32, u8]
  shape: [16x16]
  subgroups: [1]
units: 1
products:
  - name: all
    why: every type
    parameters: {component: all, use: all}
    smoke: 1
    nightly: 1
"""


@pytest.fixture
def checkout(root: Path, write: Callable[[str], Path]) -> Checkout:
    """Return a function that writes the text of the family ``toy``, beside the units, and loads it."""
    (root / "cases" / FILE).write_text(UNITS)
    return lambda text: load_family(write(text))


def labels(family: Family, product: str, name: str) -> set[str]:
    """Return the labels of a parameter that a product takes."""
    place = [parameter.name for parameter in family.parameters].index(name)
    chosen = next(one for one in family.products if one.name == product).choices[place]
    return {family.parameters[place].labels[number] for number in chosen}


def test_a_product_on_a_unit_has_the_units_rows_of_the_same_kind_of_components(checkout: Checkout) -> None:
    assert labels(checkout(ROWS), "floats on wide", "row") == {"8x16x16.f16.f16.f32.f32"}
    assert labels(checkout(ROWS), "rows on wide", "row") == {"8x16x16.f16.f16.f32.f32", "8x16x32.u8.u8.u32.u32"}


def test_all_labels_of_a_product_are_the_ones_that_the_family_lists(checkout: Checkout) -> None:
    assert labels(checkout(ROWS), "rows", "row") == {"16x16x16.f16.f16.f32.f32", "8x8x8.u8.u8.u32.u32"}


def test_matrices_on_a_unit_have_subgroup_scope(checkout: Checkout) -> None:
    family = checkout(ROWS)
    assert labels(family, "floats on wide", "scope") == {"subgroup"}
    assert "workgroups on wide" not in [product.name for product in family.products]


def test_a_family_has_products_on_units_only_if_it_asks_for_them(checkout: Checkout) -> None:
    family = checkout(ROWS.replace("units: 2\n", ""))
    assert [product.name for product in family.products] == ["floats", "rows", "workgroups"]
    assert len(family.parameters[0].labels) == 2


def test_a_matrix_on_a_unit_is_one_of_its_rows(checkout: Checkout) -> None:
    family = checkout(SHAPES)
    found = {(labels[0], labels[1], labels[2]) for labels in (case.labels for case in expand(pin(family), "full")) if labels[2] != "16x16"}
    assert found == {("f16", "a", "8x16"), ("u8", "a", "8x32"), ("u8", "b", "32x16"), ("f32", "acc", "8x16")}


def test_products_on_units_leave_pinned_cases_as_they_are(checkout: Checkout) -> None:
    before = pin(checkout(ROWS.replace("units: 2\n", "")))
    old = read_tiers(pinned_file(before.path.parents[2], "toy")).cases
    assert old
    after = read_tiers(pinned_file(before.path.parents[2], pin(checkout(ROWS)).name)).cases
    assert set(old) < set(after)


def test_smoke_has_the_first_product_on_a_unit(checkout: Checkout) -> None:
    smoke = [case for case in expand(pin(checkout(ROWS)), "smoke") if case.labels[0].startswith("8x16")]
    assert smoke
    assert {case.labels[0] for case in smoke} == {"8x16x16.f16.f16.f32.f32"}


def test_pinned_tiers_without_the_cases_of_a_unit_are_faulty(checkout: Checkout) -> None:
    family = pin(checkout(ROWS))
    tiers = read_tiers(pinned_file(family.path.parents[2], family.name))
    assert not any(vars_ for vars_ in (tier_faults(family, tiers).notes, tier_faults(family, tiers).lost))
    fewer = PinnedTiers(tiers.outline, tuple(case for case in tiers.cases if "8x16x32" not in case.id))
    assert any("rows on wide" in note for note in tier_faults(family, fewer).notes)


def test_other_rows_of_a_unit_make_the_tiers_outdated(checkout: Checkout, root: Path) -> None:
    pin(checkout(ROWS))
    (root / "cases" / FILE).write_text(UNITS.replace("8x16x32.u8", "8x16x64.u8"))
    with pytest.raises(CasebookError, match="changed since its cases were pinned"):
        expand(checkout(ROWS), "nightly")


def test_a_device_that_lists_a_row_of_a_unit_has_every_case_once(checkout: Checkout) -> None:
    family = pin(checkout(ROWS))
    for tier in ("smoke", "nightly", "full"):
        alone = [case.id for case in expand(family, tier)]
        with_rows = [case.id for case in expand(family, tier, ["8x16x16.f16.f16.f32.f32", "8x16x32.u8.u8.u32.u32"])]
        assert with_rows[: len(alone)] == alone
        assert len(set(with_rows)) == len(with_rows)


def test_the_full_tier_of_a_family_with_subcases_has_every_case_of_an_added_row_once() -> None:
    family = casebook().family("every_row")
    ids = [case.id for case in expand(family, "full", ["8x16x16.f16.f16.f32.f32"])]
    assert any("8x16x16.f16" in id_ for id_ in ids)
    assert len(set(ids)) == len(ids)


def test_a_row_of_a_unit_also_has_the_cases_of_the_most_similar_listed_row(checkout: Checkout) -> None:
    """As if no unit had it: a family that asks for units loses no case of a device."""
    row = "8x16x32.u8.u8.u32.u32"
    without = {case.id for case in expand(pin(checkout(ROWS.replace("units: 2\n", ""))), "nightly", [row])}
    assert without <= {case.id for case in expand(pin(checkout(ROWS)), "nightly", [row])}


def test_the_full_tier_has_each_case_of_a_unit(checkout: Checkout) -> None:
    family = pin(checkout(ROWS))
    full = {tuple(parameter.labels[number] for parameter, number in zip(family.parameters, row, strict=True)) for row in full_rows(family)}
    assert {case.labels for case in expand(family, "nightly")} <= full


def test_a_required_subgroup_size_is_one_of_the_units(checkout: Checkout) -> None:
    text = ROWS.replace("builder: elements", "builder: workgroup_shapes").replace("  leading: [0]\n", "  workgroups: [1x1x1]\n")
    text = text.replace("layouts: [rr, cr]", "layouts: [rccr, crrc]\n  subgroup_size: [device, 16, 32]")
    family = pin(checkout(text.replace("scope: all, layouts: all, member: all", "subgroup_size: all").split("  - name: workgroups\n")[0]))
    sizes = {case.named["subgroup_size"] for case in expand(family, "full") if case.labels[0].startswith("8x16")}
    assert sizes == {"device", "16"}


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("8x16x16.f16", "8x16.f16", r"units.yaml:5: wide.rows\[0\]: .* is not a property row"),
        ("8x16x16.f16", "08x16x16.f16", r"rows\[0\]: .* must be written 8x16x16"),
        ("strength: 2", "strength: 3", "strength: expected an integer from 1 to 2"),
        ("chips: one", "chip: one", "unknown key"),
    ],
)
def test_a_mistake_in_the_units_is_named(root: Path, before: str, after: str, says: str) -> None:
    (root / "cases" / FILE).write_text(UNITS.replace(before, after, 1))
    with pytest.raises(CasebookError, match=says):
        load_units(root)


def test_units_that_are_asked_for_must_exist(root: Path, checkout: Checkout) -> None:
    (root / "cases" / FILE).unlink()
    with pytest.raises(CasebookError, match="units"):
        checkout(ROWS)
