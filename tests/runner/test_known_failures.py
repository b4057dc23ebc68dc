"""Known failures of drivers: the files, and their effect on results."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from cts.defects.glossary import glossary
from cts.verdict.failure import Failure, Match, Mismatch
from cts.verdict.known_failures import KnownFailures, known_failures, load_file, load_files
from cts.verdict.verdict import CaseResult, Verdict
from generators.casebook import Case, Casebook, Tier, expand, find_case
from generators.errors import CasebookError
from tests import suite

from .conftest import REPOSITORY

WIDE = "load_store[component:f16/source:buffer/integer:u64]"
NARROW = WIDE.replace("u64", "u32")

STRAIGHT = "muladd[row:8x8x8.f16.f16.f32.f32/data:exact]"
LOOP = "muladd[row:8x8x8.f16.f16.f32.f32/data:exact/form:loop]"

ENTRY = """\
driver: Example
seen: Example 1.2
failures:
  - id: wide-strides
    cases: [{family: load_store, when: {integer: [u64, s64]}}]
    ends: [fail.call, crash.pipeline]
    what: wide strides are refused
    smallest: ["SMALLEST"]
""".replace("SMALLEST", WIDE)


@pytest.fixture(scope="module")
def book() -> Casebook:
    return suite.casebook()


@pytest.fixture
def write(tmp_path: Path):
    def made(text: str, name: str = "example.yaml") -> Path:
        folder = tmp_path / "golden" / "known_failures"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
        return tmp_path

    return made


def result(verdict: Verdict, code: str = "", **changes: object) -> CaseResult:
    values = {"reason": code, "device": "", "driver": "", "front_end": "", "tier": "", "requirements": (), "subcases": 1} | changes
    return CaseResult(id="", family="", verdict=verdict, code=code, seconds=0.0, **values)  # type: ignore[arg-type]


def known_of(root: Path, book: Casebook, driver: str = "Example 1.2.3") -> KnownFailures:
    return known_failures(root, book, driver)


def verdict(known: KnownFailures, case: Case, *what: str, **changes: object) -> tuple[Verdict, str]:
    judged = known.judged(result(Verdict(what[0]), *what[1:], **changes), case)
    return judged.verdict, judged.known


@pytest.mark.parametrize("code", ["fail.call.pipeline", "fail.call", "crash.pipeline"])
def test_a_case_that_fails_as_listed_is_a_known_fail_that_names_the_entry(write, book, code):
    known = known_of(write(ENTRY), book)
    before = result(Verdict(code.split(".")[0]), code, message="last words")
    after = known.judged(before, find_case(book, WIDE))
    assert (after.verdict, after.known, after.code, after.reason) == (Verdict.KNOWN_FAIL, "wide-strides", code, "wide strides are refused")
    assert "last words" in after.message


@pytest.mark.parametrize(
    "what",
    [
        ("fail", "fail.value"),
        ("crash", "crash.dispatch"),
        ("crash", "crash"),
        ("timeout", "timeout.pipeline"),
        ("error", "error.suite"),
        ("not_supported", "missing.glsl"),
    ],
)
def test_a_case_that_ends_in_another_way_keeps_its_verdict(write, book, what):
    assert verdict(known_of(write(ENTRY), book), find_case(book, WIDE), *what) == (Verdict(what[0]), "")


def test_a_case_that_passes_although_it_is_listed_is_an_unexpected_pass(write, book):
    after = known_of(write(ENTRY), book).judged(result(Verdict.PASS), find_case(book, WIDE))
    assert (after.verdict, after.known, after.code) == (Verdict.UNEXPECTED_PASS, "wide-strides", "unexpected_pass")
    assert "'until'" in after.message


@pytest.mark.parametrize(
    ("ends", "verdict"), [("[fail.call.pipeline, crash.pipeline]", "unexpected_pass"), ("[crash.pipeline, fail.value]", "compiled")]
)
def test_a_case_that_compiled_disproves_only_a_failure_of_the_compiler(write, book, ends, verdict):
    known = known_of(write(ENTRY.replace("[fail.call, crash.pipeline]", ends)), book)
    assert known.judged(result(Verdict.COMPILED), find_case(book, WIDE)).verdict == verdict


def test_cases_that_no_entry_names_are_as_without_the_file(write, book):
    known, narrow = known_of(write(ENTRY), book), find_case(book, NARROW)
    assert verdict(known, narrow, "fail", "fail.call.pipeline") == (Verdict.FAIL, "")
    assert verdict(known, narrow, "pass") == (Verdict.PASS, "")


def test_where_some_cases_pass_a_pass_is_one(write, book):
    known = known_of(write(ENTRY.replace("[fail.call,", "[pass, fail.call,")), book)
    assert verdict(known, find_case(book, WIDE), "pass") == (Verdict.PASS, "")
    assert verdict(known, find_case(book, WIDE), "fail", "fail.call.pipeline") == (Verdict.KNOWN_FAIL, "wide-strides")


def test_a_wrong_value_is_known_only_if_the_diagnosis_names_a_listed_defect(write, book):
    text = ENTRY.replace("ends: [fail.call, crash.pipeline]", "ends: [fail.value]\n    defects: [load_store.layout_swapped]")
    known, wide = known_of(write(text), book), find_case(book, WIDE)
    mismatch = Mismatch("wrong value", "d_out", "d", 0, 1, 4, "one element")
    unexplained = Failure("first", mismatch)
    listed, other = (replace(unexplained, matches=(Match(id_, ""),)) for id_ in ("load_store.layout_swapped", "muladd.c_dropped"))
    assert verdict(known, wide, "fail", "fail.value", failures=(listed, unexplained)) == (Verdict.KNOWN_FAIL, "wide-strides")
    for failures in ((other,), (listed, other), (unexplained,), ()):
        assert verdict(known, wide, "fail", "fail.value", failures=failures) == (Verdict.FAIL, "")


def test_a_case_may_be_listed_by_its_id(write, book):
    known = known_of(write(ENTRY.replace("{family: load_store, when: {integer: [u64, s64]}}", f'"{WIDE}"')), book)
    assert verdict(known, find_case(book, WIDE), "fail", "fail.call") == (Verdict.KNOWN_FAIL, "wide-strides")
    assert verdict(known, find_case(book, WIDE.replace("u64", "s64")), "fail", "fail.call") == (Verdict.FAIL, "")


def test_a_star_stands_for_any_characters_of_a_label(write, book):
    known = known_of(write(ENTRY.replace("integer: [u64, s64]", "integer: '*64', source: buffer")), book)
    assert verdict(known, find_case(book, WIDE), "fail", "fail.call") == (Verdict.KNOWN_FAIL, "wide-strides")
    assert verdict(known, find_case(book, NARROW), "fail", "fail.call") == (Verdict.FAIL, "")


@pytest.mark.parametrize(
    ("bounds", "driver", "concerned"),
    [
        ("since: 1.10", "Example 1.9", False),
        ("since: 1.10", "Example 1.10", True),
        ("until: 1.10", "Example 1.10.1-3 (LLVM 21)", False),
        ("until: 1.10.2", "Example 1.10.1-3 (LLVM 21)", True),
        ("since: 1.2\n    until: 1.4", "Example 1.3", True),
        ("until: '1'", "Example nightly", True),
        ("", "Examples 1.2", False),
        ("", "Example", True),
    ],
)
def test_the_driver_and_its_version_decide_which_entries_apply(write, book, bounds, driver, concerned):
    root = write(ENTRY.replace("    what:", f"    {bounds}\n    what:") if bounds else ENTRY)
    assert bool(known_of(root, book, driver).entries) is concerned


def test_a_checkout_without_files_knows_nothing(tmp_path, book):
    assert known_failures(tmp_path, book, "Example 1.2") == KnownFailures()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("driver: Example\n", "", "key 'driver' is missing"),
        ("id: wide-strides", "id: Wide strides", "is not an id"),
        ("load_store, when", "load_stores, when", "there is no family 'load_stores'"),
        ("{integer:", "{integers:", "has no parameter 'integers'; expected one of component"),
        ("[u64, s64]", "[u64, s65]", "parameter 'integer' has no label 's65'; expected one of u32"),
        ("fail.call, ", "fail.calls, ", "'fail.calls' is not the code of a failure"),
        ("fail.call, ", "missing.glsl, ", "'missing.glsl' is not the code of a failure"),
        ("    what:", "    since: 1.x\n    what:", "'1.x' is not a version"),
        ("    what:", "    since: 1.3\n    until: 1.2\n    what:", "it is before 'since'"),
        ("integer:u64]", "integer:u65]", "parameter 'integer' has no label 'u65'"),
        ("    what: wide strides are refused\n", "", "key 'what' is missing"),
        ("    ends:", "    end:", "unknown key"),
        ("    what:", "    front_end: hlsl\n    what:", "there is no front end 'hlsl'; expected one of spirv, glsl"),
        ("cases: [{family: load_store, when: {integer: [u64, s64]}}]", "cases: []", "expected at least one case id"),
    ],
)
def test_a_malformed_file_is_named_with_line_and_key(write, book, old, new, said):
    assert old in ENTRY
    with pytest.raises(CasebookError, match=re.escape(said)) as error:
        known_failures(write(ENTRY.replace(old, new)), book, "Example 1.2")
    assert re.search(r"example\.yaml:\d+: ", str(error.value)) or old == "driver: Example\n"


def test_an_id_is_given_once(write, book):
    entry = ENTRY[ENTRY.index("  - id") :]
    with pytest.raises(CasebookError, match="the id 'wide-strides' is taken by"):
        known_failures(write(ENTRY + entry), book, "Example 1.2")


def test_two_files_of_one_driver_are_refused(write, book):
    write(ENTRY)
    with pytest.raises(CasebookError, match="join them"):
        known_failures(write(ENTRY, "other.yaml"), book, "Example 1.2")


def test_a_condition_on_a_parameter_that_a_case_does_not_have_does_not_select_it(write, book):
    text = ENTRY.replace("load_store, when: {integer: [u64, s64]}", "muladd, when: {trips: '*'}").replace(WIDE, LOOP)
    known = known_of(write(text), book)
    loop, straight = find_case(book, LOOP), find_case(book, STRAIGHT)
    assert "trips" in loop.named
    assert "trips" not in straight.named
    assert verdict(known, loop, "fail", "fail.call") == (Verdict.KNOWN_FAIL, "wide-strides")
    assert verdict(known, straight, "fail", "fail.call") == (Verdict.FAIL, "")
    assert verdict(known, straight, "pass") == (Verdict.PASS, "")


@pytest.mark.parametrize(("judged", "other"), [("spirv", "glsl"), ("glsl", "spirv")])
def test_an_entry_of_one_front_end_says_nothing_of_the_other(write, book, judged, other):
    known = known_of(write(ENTRY.replace("    what:", f"    front_end: {judged}\n    what:")), book)
    wide = find_case(book, WIDE)
    assert verdict(known, wide, "fail", "fail.call", front_end=judged) == (Verdict.KNOWN_FAIL, "wide-strides")
    assert verdict(known, wide, "pass", front_end=judged) == (Verdict.UNEXPECTED_PASS, "wide-strides")
    assert verdict(known, wide, "fail", "fail.call", front_end=other) == (Verdict.FAIL, "")
    assert verdict(known, wide, "pass", front_end=other) == (Verdict.PASS, "")


FILES = sorted(path.stem for path in (REPOSITORY / "golden" / "known_failures").glob("*.yaml"))


@pytest.mark.parametrize("name", FILES)
def test_every_entry_names_a_case_of_the_nightly_tier_and_its_smallest_cases(book, name):
    file = load_file(REPOSITORY / "golden" / "known_failures" / f"{name}.yaml", book)
    families = {selector.family for entry in file.entries for selector in entry.selectors}
    cases = [case for family in families for case in expand(book.family(family), Tier.NIGHTLY)]
    for entry in file.entries:
        assert any(entry.selects(case) for case in cases), entry.id
        for selector in entry.selectors:
            assert any(selector.selects(case) for case in cases), (entry.id, selector)
        assert all(entry.selects(find_case(book, id_)) for id_ in entry.smallest), entry.id
        assert set(entry.defects) <= set(glossary().entries), entry.id


def test_every_case_of_the_findings_is_a_known_failure(book):
    findings = (REPOSITORY / "docs" / "findings.md").read_text(encoding="utf-8")
    before, _, rest = findings.partition("## Correct but unexpected results")
    ids = set(re.findall(r"`(\w+\[[^\]`]+\])`", before + rest.partition("## Compilers")[2]))
    assert len(ids) > 30
    entries = [entry for file in load_files(REPOSITORY, book).values() for entry in file.entries]
    assert [id_ for id_ in sorted(ids) if not any(entry.selects(find_case(book, id_)) for entry in entries)] == []


@pytest.mark.parametrize("name", FILES)
def test_the_findings_page_shows_every_file(name):
    assert f"<!-- table: known failures: {name} -->" in (REPOSITORY / "docs" / "findings.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("driver", "file"),
    [
        ("radv Mesa 26.2.6-1", "radv.yaml"),
        ("Intel open-source Mesa driver Mesa 26.2.6-1", "anv.yaml"),
        ("NVK Mesa 26.2.6-1", "nvk.yaml"),
        ("NVIDIA 580.159.04", "nvidia.yaml"),
        ("llvmpipe Mesa 26.1.6-1 (LLVM 21.1.8)", "lavapipe.yaml"),
    ],
)
def test_the_name_of_a_driver_in_results_finds_its_file(book, driver, file):
    assert known_failures(REPOSITORY, book, driver).file == file
