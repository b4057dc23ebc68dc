"""Known failures in the formats of deqp-runner: how they are read, applied to results, and updated."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cts.cli import main
from cts.commands.failure_list_updates import Why, update_fails, update_flakes
from cts.journal.journal import Journal
from cts.journal.outline import Explanation, Match, Outline
from cts.verdict.failure_lists import (
    Expressions,
    ListError,
    expression,
    listed_lines,
    read_expressions,
    read_fails,
)
from cts.verdict.known_failures import NONE_KNOWN, KnownFailures, with_files
from cts.verdict.verdict import CaseResult, Verdict
from generators.casebook import Casebook, find_case
from tests import suite

CASE = "load_store[component:f16/source:buffer/integer:u64]"
OTHER = "muladd[row:8x8x8.f16.f16.f32.f32/data:exact/form:loop]"


@pytest.fixture(scope="module")
def book() -> Casebook:
    return suite.casebook()


def written(tmp_path: Path, name: str, *lines: str) -> Path:
    path = tmp_path / name
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def result(verdict: str, code: str = "", id_: str = CASE) -> CaseResult:
    return CaseResult(
        id=id_, family=id_.partition("[")[0], verdict=Verdict(verdict), code=code, reason=code, front_end="spirv", tier="smoke"
    )


def outline(id_: str, verdict: str, code: str = "", **more: object) -> Outline:
    return Outline(id_, id_.partition("[")[0], Verdict(verdict), code=code, driver="Example 1.2", **more)  # type: ignore[arg-type]


# Reading


def test_a_list_of_failures_has_a_case_and_how_it_ends(tmp_path, book):
    path = written(tmp_path, "x-fails.txt", "# why", "", f"{CASE},Fail", f"{OTHER},Crash,0.25")
    assert read_fails(path, book).cases == {CASE: (Verdict.FAIL,), OTHER: (Verdict.CRASH, Verdict.DEVICE_LOST)}


def test_a_case_may_be_written_with_its_file_and_its_defaults(tmp_path, book):
    stated = CASE.replace("]", "/use:a]")
    path = written(tmp_path, "x-fails.txt", f"cases/khr_cooperative_matrix/load_store.yaml::{stated},Fail")
    assert list(read_fails(path, book).cases) == [find_case(book, stated).id]


def test_results_of_deqp_runner_are_a_list_of_failures(tmp_path, book):
    path = written(tmp_path, "failures.csv", f"{CASE},UnexpectedImprovement(Pass)", f"{OTHER},UnexpectedImprovement(Fail)")
    assert read_fails(path, book).cases == {OTHER: (Verdict.FAIL,)}


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([CASE], "x-fails.txt:1: expected CASE,WORD"),
        ([f"{CASE},Failed"], "x-fails.txt:1: 'Failed' is not one of Fail, Crash"),
        ([f"{CASE},Fail", "", f"{CASE},Crash"], "x-fails.txt:3: .* is already listed in line 1"),
        (["muladd[row:none],Fail"], "x-fails.txt:1: .*fix the line, or remove it"),
    ],
)
def test_a_line_that_cannot_be_used_is_named(tmp_path, book, lines, said):
    with pytest.raises(ListError, match=said):
        read_fails(written(tmp_path, "x-fails.txt", *lines), book)


def test_flakes_and_skips_are_expressions_that_match_anywhere(tmp_path):
    found = read_expressions(written(tmp_path, "x-flakes.txt", "# why", r"form:loop", r"load_store\[.*u64"))
    assert [found.match(id_) for id_ in (CASE, OTHER, OTHER.replace("loop", "single"))] == [True, True, False]


def test_lines_that_are_not_expressions_are_named(tmp_path):
    with pytest.raises(ListError, match=r"x-skips.txt:2: not a regular expression: .*backslash"):
        read_expressions(written(tmp_path, "x-skips.txt", "a", "(b"))


LABELS = st.text("abcdefghijklmnopqrstuvwxyzABCXYZ0123456789_-+.", min_size=1, max_size=12)
IDS = st.builds(lambda name, labels: f"{name}[{'/'.join(f'p:{label}' for label in labels)}]", LABELS, st.lists(LABELS, max_size=4))


@given(IDS, IDS)
def test_the_expression_of_an_id_matches_that_id_alone(one, other):
    assert bool(re.search(expression(one), other)) is (one == other)
    assert re.search(expression(one), one)


@given(st.dictionaries(IDS, st.sampled_from(["Fail", "Crash", "Timeout"])))
def test_lines_that_are_written_are_read_back(statuses):
    verdicts = {"Fail": "fail", "Crash": "crash", "Timeout": "timeout"}
    judged = {id_: outline(id_, verdicts[status]) for id_, status in statuses.items()}
    text = update_fails("", [], judged).text
    found = [line.rsplit(",", 1) for line in text.splitlines() if not line.startswith("#")]
    assert dict(found) == statuses


def test_no_id_of_the_suite_needs_quotes_in_a_list(book):
    for family in book.families.values():
        names = [family.name, *(f"{one.name}:{label}" for one in family.parameters for label in one.labels)]
        assert not [name for name in names if set(name) & set(", \t\"'#")], family.name


# Their effect on results


def known(tmp_path: Path, book: Casebook, **files: str) -> KnownFailures:
    paths = [written(tmp_path, f"x-{name}.txt", *text.splitlines()) for name, text in files.items()]
    return with_files(NONE_KNOWN, paths, book, "Example 1.2")


@pytest.mark.parametrize(
    ("status", "verdict", "expected"),
    [
        ("Fail", "fail", "known_fail"),
        ("Fail", "crash", "crash"),
        ("Crash", "device_lost", "known_fail"),
        ("Timeout", "timeout", "known_fail"),
        ("Fail", "pass", "unexpected_pass"),
        ("Fail", "quality_warning", "unexpected_pass"),
        ("Fail", "not_supported", "not_supported"),
        ("Fail", "resource_error", "resource_error"),
        ("Fail", "error", "error"),
        ("Pass", "fail", "fail"),
        ("Pass", "pass", "pass"),
    ],
)
def test_a_listed_case_is_known_if_it_ends_as_listed(tmp_path, book, status, verdict, expected):
    after = known(tmp_path, book, fails=f"{CASE},{status}").judged(result(verdict, verdict), find_case(book, CASE))
    assert after.verdict == expected
    assert after.known == ("x-fails.txt" if expected != verdict else "")


@pytest.mark.parametrize("verdict", ["fail", "crash", "timeout", "flaky"])
def test_a_flake_may_fail_in_any_way_and_may_pass(tmp_path, book, verdict):
    lists = known(tmp_path, book, flakes=expression(CASE), fails=f"{CASE},Fail")
    case = find_case(book, CASE)
    assert lists.judged(result(verdict), case).verdict is Verdict.KNOWN_FAIL
    assert lists.judged(result("pass"), case).verdict is Verdict.PASS


def test_a_case_that_is_not_listed_stays_as_it_is(tmp_path, book):
    lists = known(tmp_path, book, fails=f"{CASE},Fail", flakes=expression(CASE))
    assert lists.judged(result("fail", id_=OTHER), find_case(book, OTHER)).verdict is Verdict.FAIL


@pytest.mark.parametrize(("status", "costly"), [("Fail", False), ("Crash", True), ("Timeout", True)])
def test_a_case_that_is_listed_to_lose_the_device_is_kept_for_the_end(tmp_path, book, status, costly):
    assert known(tmp_path, book, fails=f"{CASE},{status}").costs_the_device(find_case(book, CASE), "spirv") is costly


def test_the_end_of_a_name_says_what_a_file_is(tmp_path, book):
    with pytest.raises(ListError, match=r"-fails.txt, -flakes.txt, -skips.txt, .csv or .yaml"):
        with_files(NONE_KNOWN, [written(tmp_path, "known.txt")], book, "Example")


def test_yaml_of_another_driver_is_refused(tmp_path, book):
    path = written(tmp_path, "other.yaml", "driver: Other", "seen: Other 1", "failures: []")
    with pytest.raises(ListError, match=r"the known failures of 'Other', and the driver is 'Example 1\.2'"):
        with_files(NONE_KNOWN, [path], book, "Example 1.2")


# Updates


def update(text: str, *judged: Outline, tmp_path: Path, **more):
    listed = listed_lines(written(tmp_path, "x-fails.txt", *text.splitlines()))
    return update_fails(text, listed, {one.id: one for one in judged}, **more)


def test_an_update_adds_what_fails_with_a_comment_that_says_how(tmp_path):
    found = update("", outline("a[b:2]", "fail", "fail.value"), outline("a[b:1]", "fail", "fail.value"), tmp_path=tmp_path)
    assert found.text == "# a: fail.value (Example 1.2)\na[b:1],Fail\na[b:2],Fail\n"
    assert [(one.id, one.why) for one in found.changes] == [("a[b:1]", Why.FAILS), ("a[b:2]", Why.FAILS)]


@pytest.mark.parametrize(
    ("verdict", "code", "line", "why"),
    [
        ("pass", "", "", Why.PASSES),
        ("unexpected_pass", "unexpected_pass", "", Why.PASSES),
        ("not_supported", "missing.glsl", "", Why.NOT_SUPPORTED),
        ("crash", "crash.pipeline", "a[b:1],Crash\n", Why.ENDS_OTHERWISE),
        ("fail", "fail.value", "a[b:1],Fail\n", None),
        ("known_fail", "fail.value", "a[b:1],Fail\n", None),
        ("resource_error", "resource_error", "a[b:1],Fail\n", None),
        ("flaky", "flaky", "a[b:1],Fail\n", None),
    ],
)
def test_an_update_keeps_comments_and_changes_lines_that_are_wrong(tmp_path, verdict, code, line, why):
    text = "# mine\na[b:1],Fail\n# not in this tier\nz[y:x],Timeout\n"
    found = update(text, outline("a[b:1]", verdict, code), tmp_path=tmp_path)
    assert found.text == f"# mine\n{line}# not in this tier\nz[y:x],Timeout\n"
    assert [one.why for one in found.changes] == ([why] if why else [])
    assert found.unjudged == 1


def test_an_update_leaves_to_other_files_what_they_explain(tmp_path):
    explained = outline("a[b:1]", "known_fail", "fail.value", known="an-entry")
    assert update("", explained, covered=frozenset({"an-entry"}), tmp_path=tmp_path).text == ""
    assert "a[b:1],Fail" in update("", explained, tmp_path=tmp_path).text


def test_an_update_says_of_a_line_its_code_its_defects_and_its_report(tmp_path):
    explained = Explanation((Match("x.y"),))
    known = outline("a[b:1]", "known_fail", "fail.value", known="an-entry", failures=(explained,))
    link = "https://example.org/7"
    found = update("", known, tmp_path=tmp_path, links={"an-entry": link})
    assert found.text.splitlines()[0] == f"# a: fail.value x.y (Example 1.2) {link}"
    (change,) = found.changes
    assert (change.code, change.defects, change.link) == ("fail.value", ("x.y",), link)


def test_an_update_of_flakes_adds_each_once_and_removes_none(tmp_path):
    judged = {one.id: one for one in (outline("a[b:1]", "flaky", "flaky"), outline("a[b:2]", "pass"))}
    first = update_flakes("# mine\na\\[b:2\n", (), judged)
    assert first.text == f"# mine\na\\[b:2\n\n# a: flaky (Example 1.2)\n{expression('a[b:1]')}\n"
    flakes = Expressions("x", tuple(line for line in first.text.splitlines() if not line.startswith("#")))
    assert update_flakes(first.text, [id_ for id_ in judged if flakes.match(id_)], judged).text == first.text


def journal(directory: Path, *results: CaseResult) -> Path:
    directory.mkdir()
    with Journal(directory / "results.jsonl") as file:
        for one in results:
            file.append(one)
    return directory


def test_known_update_writes_the_lists_and_says_what_changed_and_why(tmp_path, capsys):
    night = journal(tmp_path / "night", result("fail", "fail.value"), replace(result("flaky", "flaky"), id=OTHER))
    fails = written(tmp_path, "gpu-fails.txt", f"{OTHER},Crash", "muladd[row:gone],Fail")
    arguments = ["known", "update", str(night), "--out", str(tmp_path / "gpu")]
    assert main([*arguments, "--check"]) == 1
    assert CASE not in fails.read_text()
    assert main(arguments) == 0
    assert f"+ {CASE},Fail  (fails, fail.value)" in capsys.readouterr().out
    assert f"{CASE},Fail\n" in fails.read_text()
    assert (tmp_path / "gpu-flakes.txt").read_text().splitlines()[1:] == [expression(OTHER)]
    assert main([*arguments, "--check"]) == 0


def test_known_list_shows_entries_and_lines(tmp_path, capsys):
    path = written(tmp_path, "gpu-fails.txt", f"{CASE},Fail")
    assert main(["--root", str(suite.REPOSITORY), "known", "list", "--driver", "nvidia", str(path)]) == 0
    out = capsys.readouterr().out
    assert "nvidia.yaml: NVIDIA" in out
    assert "lavapipe.yaml" not in out
    assert f"{CASE},Fail" in out
