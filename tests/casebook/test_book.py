"""The casebook: its families, and finding a case by its id."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from generators.casebook import Casebook, Family, expand, find_case, load_casebook, named_case
from generators.errors import CasebookError
from tests.casebook.conftest import Declare

Write = Callable[[str], Path]


@pytest.fixture
def book(write: Write, text: str, root: Path) -> Casebook:
    write(text)
    return load_casebook(root)


def test_a_checkout_or_its_folder_of_cases_can_be_loaded(book: Casebook, root: Path) -> None:
    assert list(book.families) == ["toy"]
    assert list(load_casebook(root / "cases").families) == ["toy"]


def test_an_id_finds_its_case(book: Casebook) -> None:
    for case in expand(book.family("toy"), "full"):
        assert find_case(book, case.id) == case


def test_a_node_id_finds_its_case(book: Casebook) -> None:
    assert (
        find_case(book, "cases/khr_cooperative_matrix/toy.yaml::toy[bytes:1/columns:8/use:a/stride:tight]").id
        == "toy[bytes:1/columns:8/use:a/stride:tight]"
    )


def test_a_case_outside_of_every_product_can_be_found(book: Casebook) -> None:
    assert "toy[bytes:1/columns:16/use:a/stride:padded]" not in {case.id for case in expand(book.family("toy"), "full")}
    assert find_case(book, "toy[bytes:1/columns:16/use:a/stride:padded]").values["stride"] == [16, 32]


def test_a_row_of_a_device_can_be_found(pinned: Callable[[str], Family], declare: Declare, text: str, root: Path) -> None:
    declare({"row": str})
    parameter = "row: {property_rows: true, values: [8x8x8.f16.f16.f16.f16]}"
    pinned(text.replace("use: [a, b]", f"use: [a, b]\n  {parameter}").replace("use: all}", "use: all, row: all}"))
    book = load_casebook(root)
    cases = expand(book.family("toy"), "nightly", ["4x4x4.f16.f16.f16.f16"])
    assert [find_case(book, case.id) for case in cases] == cases
    assert cases[-1].subcases[0][1].row == "4x4x4.f16.f16.f16.f16"


@pytest.mark.parametrize(
    ("id_", "message"),
    [
        ("toy", r"'toy' is not a case id; expected family\[name:label/name:label/…\]"),
        ("tov[bytes:1/columns:8/use:a/stride:tight]", r"there is no family 'tov'; did you mean toy\?"),
        ("muladd[bytes:1]", "there is no family 'muladd'; expected one of toy"),
        ("toy[bytes:1/columns:8/use:a]", "parameter 'stride' is missing and has no default"),
        ("toy[]", "parameter 'bytes' is missing and has no default"),
        ("toy[1-8-a-tight]", "expected name:label, found '1-8-a-tight'"),
        ("toy[bytes:1/columns:8/use:a/use:a/stride:tight]", "parameter 'use' is given twice"),
        ("toy[bytes:1/columns:8/uses:a/stride:tight]", "there is no parameter 'uses'; expected one of bytes, columns, use, stride"),
        ("toy[bytes:1/columns:8/use:c/stride:tight]", "parameter 'use' has no label 'c'; expected one of a, b"),
        ("toy[bytes:4/columns:32/use:a/stride:tight]", "is not a case of the suite: rows fit in 64 bytes"),
        ("toy[bytes:1/columns:8/use:b/stride:padded]", "is not a case of the suite: B is never padded"),
        ("cases/khr_cooperative_matrix/top.yaml::toy[bytes:1/columns:8/use:a/stride:tight]", "the family 'toy' is in .*toy.yaml"),
    ],
)
def test_an_id_that_names_no_case_is_explained(book: Casebook, id_: str, message: str) -> None:
    with pytest.raises(CasebookError, match=message):
        find_case(book, id_)


def test_the_constraints_of_an_accepted_id_are_not_asked_again(book: Casebook) -> None:
    assert named_case(book, "toy[bytes:1/columns:8/use:b/stride:padded]").labels == ("1", "8", "b", "padded")


def test_two_families_of_one_name_are_an_error(book: Casebook, root: Path, text: str) -> None:
    requirements = (root / "cases/requirements/khr_cooperative_matrix.yaml").read_text()
    other = requirements.replace("SPV_KHR_cooperative_matrix", "SPV_NV_cooperative_matrix2").replace("KHR-", "CV-")
    (root / "cases/requirements/nv_cooperative_matrix2.yaml").write_text(other)
    path = root / "cases/nv_cooperative_matrix2/toy.yaml"
    path.parent.mkdir()
    path.write_text(text.replace("SPV_KHR_cooperative_matrix", "SPV_NV_cooperative_matrix2"))
    with pytest.raises(CasebookError, match=r"toy.yaml:1: family: 'toy' is already the family of .*khr_cooperative_matrix"):
        load_casebook(root)


def test_a_file_that_would_be_passed_over_is_refused(write: Write, text: str, root: Path) -> None:
    path = write(text)
    path.rename(path.with_suffix(".yml"))
    with pytest.raises(CasebookError, match=r"toy\.yml: files of the casebook end in \.yaml: rename it to toy\.yaml"):
        load_casebook(root)
