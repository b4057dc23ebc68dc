"""The requirements of the specifications, and their coverage."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from generators.casebook import Family, TestKind, load_casebook, load_requirements
from generators.coverage import Status, Todo, UnusedLabel, coverage
from generators.errors import CasebookError
from tests.suite import casebook

Pinned = Callable[[str], Family]
CHECKOUT = Path(__file__).parents[2]


def test_the_suites_requirements_are_complete() -> None:
    requirements = load_requirements(CHECKOUT)
    counts = Counter(requirement.specification for requirement in requirements.values())
    assert counts == {
        "SPV_KHR_cooperative_matrix": 95,
        "SPV_NV_cooperative_matrix2": 90,
        "SPV_NV_cooperative_matrix_decode_vector": 23,
        "SPV_NV_cooperative_vector": 102,
        "SPV_NV_tensor_addressing": 39,
        "SPV_QCOM_cooperative_matrix_conversion": 36,
        "SPV_EXT_cooperative_matrix_maintenance1": 49,
        "GLSL_EXT_cooperative_matrix_maintenance1": 23,
        "SPV_KHR_untyped_pointers": 10,
        "SPV_KHR_variable_pointers": 5,
        "SPV_KHR_workgroup_memory_explicit_layout": 5,
        "Vulkan": 19,
    }


def test_every_requirement_is_a_sentence() -> None:
    texts = {id_: requirement.text for id_, requirement in load_requirements(CHECKOUT).items()}
    name = "max|vk|pSpec|cooperative(?=[A-Z])"
    assert not {id_: text for id_, text in texts.items() if not re.match(rf"[A-Z]|{name}", text) or not text.endswith(".")}
    # Notation need not be a sentence.
    assert not {id_: text for id_, text in texts.items() if re.search(r" (?:->|iff|w/|<=|>=|=) |\w/[A-Z]", text) or len(text.split()) < 3}


def test_every_place_of_a_requirement_is_a_section_by_name() -> None:
    places = {id_: requirement.place for id_, requirement in load_requirements(CHECKOUT).items()}
    parts = [(id_, part.strip()) for id_, place in places.items() for part in re.split("[;,]", place)]
    assert not [(id_, part) for id_, part in parts if re.fullmatch(r"[0-9.X]+|VUID-[0-9]+.*", part) or re.match(r"[0-9]+\.X", part)]
    assert not [
        (id_, part) for id_, part in parts if "VUID" in part and not re.fullmatch(r"VUID-\w+-\w+-[0-9]{5}(?: (?:and|to) .+)?", part)
    ]


def test_every_requirement_that_is_not_testable_has_a_reason() -> None:
    assert all(requirement.testable or requirement.why_not_testable for requirement in load_requirements(CHECKOUT).values())


def test_every_requirement_that_the_code_cites_is_listed() -> None:
    known = load_requirements(CHECKOUT)
    specifications = "|".join(sorted({id_.partition("-")[0] for id_ in known}))
    cited = {
        (id_, str(path.relative_to(CHECKOUT)))
        for folder in ("cts", "generators", "docs")
        for path in (CHECKOUT / folder).rglob("*.*")
        if path.suffix in (".py", ".md")
        for id_ in re.findall(rf"(?<!F-)\b(?:{specifications})-[A-Z0-9]+-[0-9]+\b", path.read_text(encoding="utf-8"))
    }
    assert cited
    assert not {(id_, path) for id_, path in cited if id_ not in known}


def test_the_suite_has_no_fault_of_coverage() -> None:
    assert coverage(casebook()).faults == ()


def test_a_requirement_has_what_its_file_says(root: Path) -> None:
    requirement = load_requirements(root)["KHR-A-01"]
    assert requirement.kinds == (TestKind.DYNAMIC, TestKind.STATIC)
    assert (requirement.text, requirement.place) == ("a row has its length", "3.1")
    assert (requirement.validator, requirement.note) == ("rejects a violation", "every length")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "[static]",
            "[statical]",
            r":12: requirements\.KHR-A-02\.test\[0\]: unknown kind of test 'statical'; expected one of dynamic, static",
        ),
        ("KHR-A-02", "KHR-A-2", r":9: requirements\.KHR-A-2: 'KHR-A-2' is not a requirement id"),
        ("KHR-A-02", "KHR-A-01", r"requirements\.KHR-A-01: duplicate key"),
        ("    text: a row may be empty\n", "", r"requirements\.KHR-A-02: key 'text' is missing"),
        (
            "specification: SPV_KHR_",
            "specification: SPV_NV_",
            r":1: specification: the file of 'SPV_NV_\w+' must be named nv_cooperative_matrix.yaml",
        ),
    ],
)
def test_a_wrong_requirement_is_named(root: Path, old: str, new: str, message: str) -> None:
    path = root / "cases/requirements/khr_cooperative_matrix.yaml"
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(CasebookError, match=message):
        load_requirements(root)


def test_a_checkout_without_requirements_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CasebookError, match="requirements: no requirements found"):
        load_requirements(tmp_path)


def test_coverage_tells_covered_open_and_not_testable_apart(pinned: Pinned, text: str, root: Path) -> None:
    pinned(text)
    entries = {entry.requirement.id: entry for entry in coverage(load_casebook(root)).requirements}
    assert entries["KHR-A-01"].families == ("toy",)
    assert {id_: entry.status for id_, entry in entries.items()} == {
        "KHR-A-01": Status.COVERED,
        "KHR-A-02": Status.OPEN,
        "KHR-B-01": Status.NOT_TESTABLE,
        "KHR-B-02": Status.NOT_TESTABLE,
    }
    assert entries["KHR-B-01"].reason == "a violation is undefined behaviour: it constrains what the suite generates (constants)"
    assert entries["KHR-B-02"].reason == "any order conforms"


def test_coverage_counts_and_lists_what_is_missing(pinned: Pinned, text: str, root: Path) -> None:
    pinned(text.replace("columns: [8, 16, 32, 3]", "columns: [8, 16, 32, 3, 5]").replace("columns: all", "columns: [8, 16, 32, 3]"))
    found = coverage(load_casebook(root))
    assert found.totals == {"SPV_KHR_cooperative_matrix": {Status.COVERED: 1, Status.OPEN: 1, Status.NOT_TESTABLE: 2}}
    assert [entry.requirement.id for entry in found.open] == ["KHR-A-02"]
    assert found.todo == (Todo("toy", "rows of no length"),)
    assert found.unused == (UnusedLabel("toy", "columns", "5"),)


OPEN = "KHR-A-02 is open: let a family cover it; if nothing can test it, say so in its 'test' and why in its 'note'"
FILE = "cases/requirements/khr_cooperative_matrix.yaml"


def test_open_requirements_are_faults_only_of_a_finished_specification(pinned: Pinned, text: str, root: Path) -> None:
    pinned(text)
    assert coverage(load_casebook(root)).faults == (OPEN,)
    path = root / FILE
    path.write_text(f"unfinished: rows may still be empty\n{path.read_text()}")
    found = coverage(load_casebook(root))
    assert found.unfinished == {"SPV_KHR_cooperative_matrix": "rows may still be empty"}
    assert [entry.requirement.id for entry in found.open] == ["KHR-A-02"]
    assert found.faults == ()


def test_requirements_that_cannot_be_tested_need_a_note(pinned: Pinned, text: str, root: Path) -> None:
    pinned(text.replace("[KHR-A-01]", "[KHR-A-01, KHR-A-02]"))
    assert coverage(load_casebook(root)).faults == ()
    path = root / FILE
    path.write_text(path.read_text().replace("    note: constants\n", "").replace("    note: any order conforms\n", ""))
    wanted = tuple(f"{id_} cannot be tested, and nothing says why: write its 'note'" for id_ in ("KHR-B-01", "KHR-B-02"))
    assert coverage(load_casebook(root)).faults == wanted


def test_a_specification_with_nothing_open_is_finished(pinned: Pinned, text: str, root: Path) -> None:
    pinned(text.replace("[KHR-A-01]", "[KHR-A-01, KHR-A-02]"))
    path = root / FILE
    path.write_text(f"unfinished: nobody looked\n{path.read_text()}")
    assert coverage(load_casebook(root)).faults == (
        "SPV_KHR_cooperative_matrix is called unfinished but has no open requirement: remove the key",
    )


def test_a_label_that_no_product_takes_is_a_fault(pinned: Pinned, text: str, root: Path) -> None:
    whole = text.replace("[KHR-A-01]", "[KHR-A-01, KHR-A-02]").replace("columns: [8, 16, 32, 3]", "columns: [8, 16, 32, 3, 5]")
    pinned(whole.replace("columns: all", "columns: [8, 16, 32, 3]"))
    assert coverage(load_casebook(root)).faults == ("no product of toy takes '5' of 'columns': use or remove it",)
