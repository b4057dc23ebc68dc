"""Comparing runs by their journals."""

from __future__ import annotations

import json
import random
import re

import pytest
from msgspec import structs

from cts.cli import main
from cts.journal.outline import outline_of
from cts.journal.record import result_of
from cts.verdict.verdict import Verdict
from reports.comparison.changes import ChangeKind, changes, kind_of
from reports.comparison.compare import compare
from reports.comparison.groups import groups
from reports.comparison.pairs import pairs
from reports.comparison.runs import read_runs
from reports.comparison.statistics import Changed, CompiledCode, compiled_code
from reports.comparison.times import times

META = {"started": "2027-03-01T12:00:00Z", "finished": "2027-03-01T12:01:00Z", "suite_version": "0.1.0", "tier": "nightly"}


@pytest.fixture
def outlines(example):
    """Return a function that makes outlines by id from verdicts, or from records' fields."""

    def made(**cases):
        records = [example.record(f"a[b:{name}]", **(one if isinstance(one, dict) else {"verdict": one})) for name, one in cases.items()]
        return {record["id"]: outline_of(result_of(record)) for record in records}

    return made


@pytest.fixture
def runs(example, tmp_path):
    """Return a function that writes the journals of runs, given by folder, and reads them."""

    def written(**cases):
        return [example.write_journal(tmp_path / name, records, **META).parent for name, records in cases.items()]

    return written


def one(outlines, **fields):
    return next(iter(outlines(x=fields).values()))


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("pass", "fail", ChangeKind.NEW_FAILURE),
        ("known_fail", "fail", ChangeKind.NEW_FAILURE),
        ("not_supported", "fail", ChangeKind.NEW_FAILURE),
        ("resource_error", "crash", ChangeKind.NEW_FAILURE),
        ("unexpected_pass", "fail", ChangeKind.NEW_FAILURE),
        ("quality_warning", "timeout", ChangeKind.NEW_FAILURE),
        ("pass", "flaky", ChangeKind.NEW_FAILURE),
        ("pass", "error", ChangeKind.NEW_FAILURE),
        (None, "device_lost", ChangeKind.NEW_FAILURE),
        ("pass", "not_supported", ChangeKind.LOST),
        ("quality_warning", "not_supported", ChangeKind.LOST),
        ("fail", "pass", ChangeKind.MENDED),
        ("known_fail", "unexpected_pass", ChangeKind.MENDED),
        ("known_fail", "pass", ChangeKind.MENDED),
        ("crash", "quality_warning", ChangeKind.MENDED),
        ("fail", "crash", ChangeKind.CHANGED_VERDICT),
        ("fail", "known_fail", ChangeKind.CHANGED_VERDICT),
        ("pass", "quality_warning", ChangeKind.CHANGED_VERDICT),
        ("pass", "resource_error", ChangeKind.CHANGED_VERDICT),
        ("known_fail", "not_supported", ChangeKind.CHANGED_VERDICT),
        ("not_supported", "pass", ChangeKind.CHANGED_VERDICT),
        ("unexpected_pass", "pass", ChangeKind.CHANGED_VERDICT),
        ("pass", None, ChangeKind.ONLY_BEFORE),
        ("fail", None, ChangeKind.ONLY_BEFORE),
        (None, "pass", ChangeKind.ONLY_AFTER),
        ("pass", "pass", None),
        ("fail", "fail", None),
    ],
)
def test_what_became_of_a_case(outlines, before, after, kind):
    was, is_ = (None if verdict is None else one(outlines, verdict=verdict, code=verdict) for verdict in (before, after))
    assert kind_of(was, is_) is kind


@pytest.mark.parametrize("code", ["missing.glsl", "missing.judge.static"])
def test_a_case_that_a_front_end_cannot_express_is_not_a_lost_feature(outlines, code):
    lost = one(outlines, verdict="not_supported", code=code)
    assert kind_of(one(outlines, verdict="pass"), lost) is ChangeKind.CHANGED_VERDICT


def failing(example, code="fail.value", *defects, **more):
    matches = [{"id": id_, "text": f"words {random.random()}"} for id_ in defects]
    return {"verdict": "fail", "code": code, "failures": [example.overwritten() | {"matches": matches}], **more}


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        (("fail.value",), ("fail.unwritten",), True),
        (("fail.value", "a.b"), ("fail.value", "a.c"), True),
        (("fail.value", "a.b", "a.c"), ("fail.value", "a.c", "a.b"), False),
        (("fail.value", "a.b"), ("fail.value", "a.b"), False),
        (("",), ("fail.value",), False),
    ],
)
def test_a_reason_changed_if_its_ids_did(example, outlines, before, after, changed):
    kind = kind_of(one(outlines, **failing(example, *before)), one(outlines, **failing(example, *after, reason="other words")))
    assert kind is (ChangeKind.CHANGED_REASON if changed else None)


def test_new_failures_of_one_cause_are_one_group_whatever_they_were_before(example, outlines):
    before = outlines(x="pass", y="known_fail", z="pass", w="pass")
    after = outlines(
        x=failing(example, "fail.value", "muladd.c_dropped"),
        y=failing(example, "fail.value", "muladd.c_dropped"),
        z=failing(example, "fail.unwritten"),
        w="pass",
    )
    first, second = groups(changes(before, after), before.values(), after.values())
    assert ([change.id for change in first.changes], first.after.defects) == (["a[b:x]", "a[b:y]"], ("muladd.c_dropped",))
    assert first.verdicts_before == {"pass": 1, "known_fail": 1}
    assert second.after.code == "fail.unwritten"


def test_a_lost_feature_is_one_group_in_all_families(example):
    made = {
        verdict: {id_: outline_of(result_of(example.record(id_, verdict, code=code))) for id_ in ("a[b:x]", "c[d:y]")}
        for verdict, code in (("pass", ""), ("not_supported", "missing.feature.f"))
    }
    (group,) = groups(changes(*made.values()), *(outlines.values() for outlines in made.values()))
    assert (group.kind, group.families, group.after.code) == (ChangeKind.LOST, {"a": 1, "c": 1}, "missing.feature.f")


def loops(example, outlines, fails):
    """Return runs of eight cases, four of them loops, which fail in the second run if ``fails`` is true for their number."""
    cases = {f"n{number}": {"parameters": {"form": "loop" if number < 4 else "single", "n": str(number)}} for number in range(8)}
    after = {name: (failing(example) | fields if fails(number) else fields) for number, (name, fields) in enumerate(cases.items())}
    return outlines(**cases), outlines(**after)


def test_new_failures_say_which_condition_decides(example, outlines):
    before, after = loops(example, outlines, lambda number: number < 4)
    (group,) = groups(changes(before, after), before.values(), after.values())
    assert group.decided == ("4 of 4 cases with form:loop fail; 0 pass",)


def test_fixed_cases_say_which_condition_decided_in_the_first_run(example, outlines):
    before, after = loops(example, outlines, lambda number: number < 4)
    (group,) = groups(changes(after, before), after.values(), before.values())
    assert (group.kind, group.decided) == (ChangeKind.MENDED, ("4 of 4 cases with form:loop fail; 0 pass",))


def test_new_failures_that_one_defect_explains_are_one_group_in_all_families(example):
    def run(*ends):
        records = [example.record(f"{family}[n:{n}]", **end) for n, end in enumerate(ends) for family in ("a", "b")]
        return {record["id"]: outline_of(result_of(record)) for record in records}

    before, after = run({}, {}), run(failing(example, "fail.value", "muladd.c_dropped"), {})
    (group,) = groups(changes(before, after), before.values(), after.values())
    assert (group.families, group.after.defects) == ({"a": 1, "b": 1}, ("muladd.c_dropped",))


def test_verdicts_that_changed_say_which_condition_decides(example, outlines):
    before, _ = loops(example, outlines, lambda number: False)
    after = before | {
        id_: structs.replace(one, verdict=Verdict.QUALITY_WARNING) for id_, one in before.items() if "loop" in one.parameters["form"]
    }
    (group,) = groups(changes(before, after), before.values(), after.values())
    assert group.decided == ("4 of 4 cases with form:loop are quality warnings; 0 pass",)


# Outputs


def test_passing_cases_with_other_bits_are_told(runs, example):
    same, other = ({"verdict": "pass", "module": "12345678", "outputs": bits} for bits in ("aaaaaaaabbbbbbbb", "aaaaaaaacccccccc"))
    first, second = runs(
        first=[example.record("a[n:1]", **same), example.record("a[n:2]", **same)],
        second=[example.record("a[n:1]", **other), example.record("a[n:2]", **same)],
    )
    (pair,) = pairs(read_runs([first, second], {}))
    assert [(group.kind, [change.id for change in group.changes]) for group in pair.groups] == [(ChangeKind.OTHER_OUTPUTS, ["a[n:1]"])]
    assert pair.regressions == 0


@pytest.mark.parametrize("fields", [{"module": "87654321"}, {"outputs": ""}], ids=["another module", "no outputs"])
def test_outputs_of_other_modules_are_not_compared(outlines, fields):
    before = {"verdict": "pass", "module": "12345678", "outputs": "aaaaaaaa"}
    after = before | {"outputs": "bbbbbbbb"} | fields
    assert kind_of(one(outlines, **before), one(outlines, **after), same_inputs=True) is None


def test_outputs_of_other_versions_of_the_suite_are_not_compared(outlines):
    ends = ({"verdict": "pass", "module": "12345678", "outputs": bits} for bits in ("aaaaaaaa", "bbbbbbbb"))
    assert kind_of(*(one(outlines, **end) for end in ends), same_inputs=False) is None


# Runs


def test_the_worst_and_the_fastest_of_several_attempts_count(example, runs):
    verdicts = enumerate(("pass", "fail", "pass"), 1)
    attempts = [example.record("a[b:x]", verdict, attempt=number, seconds=number) for number, verdict in verdicts]
    (run,) = read_runs(runs(night=attempts), {})
    assert (run.cases["a[b:x]"].verdict, run.cases["a[b:x]"].seconds) == ("fail", 1.0)


def test_a_renamed_case_is_compared_under_its_present_id(example, runs):
    first, second = runs(old=[example.record("a[b:old]")], new=[example.record("a[b:new]", "fail")])
    (pair,) = pairs(read_runs([first, second], {"a[b:old]": "a[b:new]"}))
    assert (pair.compared, pair.regressions) == (1, 1)


def test_an_id_that_was_another_cases_before_a_default_changed_keeps_its_case(example, runs):
    renames = {"a[b:x]": "a[b:x/c:short]"}
    today = [
        example.record("a[b:x]", parameters={"b": "x", "c": "whole"}),
        example.record("a[b:x/c:short]", parameters={"b": "x", "c": "short"}),
    ]
    before = [example.record("a[b:x]", parameters={"b": "x", "c": "short"})]
    old, new = read_runs(runs(old=before, new=today), renames)
    assert (set(old.cases), set(new.cases)) == ({"a[b:x/c:short]"}, {"a[b:x]", "a[b:x/c:short]"})


def test_differences_in_how_runs_were_judged_are_reported(example, tmp_path):
    first = example.write_journal(tmp_path / "a", [example.record("a[b:x]")], **META)
    other = example.record("a[b:x]", driver="example 1.2.4", tier="smoke")
    second = example.write_journal(tmp_path / "b", [other], **META | {"suite_version": "0.2.0"})
    (pair,) = pairs(read_runs([first, second], {}))
    assert {one.key: (one.before, one.after) for one in pair.differences} == {
        "driver": ("example 1.2.3", "example 1.2.4"),
        "tier": ("nightly", "smoke"),
        "suite_version": ("0.1.0", "0.2.0"),
    }


def test_a_run_that_did_not_end_is_reported(example, tmp_path):
    path = example.write_journal(tmp_path / "a", [example.record("a[b:x]")], started="2027-03-01T12:00:00Z", stopped="the disk is full")
    path.write_text(path.read_text() + "{\n")
    (run,) = read_runs([path], {})
    assert run.notes == ("did not finish", "stopped early: the disk is full", "has a line without a result that can be read")


def test_a_case_that_another_device_does_not_support_is_not_a_regression(example, runs):
    before = example.record("a[b:x]")
    after = example.record("a[b:x]", "not_supported", code="missing.feature.f")
    same, other = runs(same=[after], other=[after | {"device": "Another GPU"}])
    (first,) = runs(first=[before])
    found = pairs(read_runs([first, same, other], {}))
    assert [pair.regressions for pair in found] == [1, 0]
    assert [pair.titles[ChangeKind.LOST] for pair in found] == ["No longer supported", "Supported only in the first run"]


# Times


def timed(example, count, seconds):
    records = (example.record(f"{'abc'[n % 3]}[n:{n}]", steps={"pipeline": seconds(n), "dispatch": 0.0001}) for n in range(count))
    return {record["id"]: outline_of(result_of(record)) for record in records}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("pace", [0.5, 1.0, 3.0])
def test_noise_is_not_slower_whatever_the_pace(example, seed, pace):
    draw = random.Random(seed)
    before = timed(example, 3000, lambda n: 0.03 * draw.lognormvariate(0, 0.4))
    after = timed(example, 3000, lambda n: pace * 0.03 * draw.lognormvariate(0, 0.4) * (20 if draw.random() < 0.005 else 1))
    assert times(before, after).families == ()
    assert len(times(before, before).cases) == 0


def test_a_family_that_takes_longer_is_slower_whatever_the_pace(example):
    draw = random.Random(1)
    before = timed(example, 300, lambda n: 0.03 * draw.lognormvariate(0, 0.2))
    after = timed(example, 300, lambda n: 2 * 0.03 * draw.lognormvariate(0, 0.2) * (1.6 if n % 3 == 1 else 1))
    (slower,) = times(before, after).families
    assert (slower.family, slower.step, slower.cases) == ("b", "pipeline", 100)
    assert slower.ratio == pytest.approx(1.6, rel=0.15)


def test_a_case_that_compiles_for_seconds_more_is_slower(example):
    before = timed(example, 300, lambda n: 0.05)
    after = timed(example, 300, lambda n: 4.0 if n == 7 else 0.05)
    assert [(one.id, one.before, one.after) for one in times(before, after).cases] == [("b[n:7]", 0.05, 4.0)]


def test_short_times_and_few_cases_say_nothing(example):
    assert times(timed(example, 300, lambda n: 0.0001), timed(example, 300, lambda n: 0.004)).why_not
    assert times(timed(example, 20, lambda n: 0.1), timed(example, 20, lambda n: 1.0)).why_not


# The command


def night(example, **changed):
    records = {name: example.record(f"a[b:{name}]") for name in "uvwxyz"}
    return [record | changed.get(name, {}) for name, record in records.items()]


def test_the_exit_code_is_1_as_soon_as_a_case_more_fails(example, runs, capsys):
    known = {"verdict": "known_fail", "code": "fail.value", "known": "an-entry"}
    first, same, worse = runs(
        monday=night(example, x=known), tuesday=night(example, x=known), friday=night(example, x=known, y=failing(example))
    )
    assert main(["compare", str(first), str(same)]) == 0
    assert "No new failure; 6 cases in both runs, 6 with the same result" in capsys.readouterr().out
    assert main(["compare", str(first), str(worse)]) == 1
    out = capsys.readouterr().out
    assert "1 new failure of 1 cause" in out
    assert "1  a: 1 pass -> fail fail.value" in out
    assert "a[b:y]" in out
    assert main(["compare", str(first), str(same), str(worse)]) == 1
    assert "== friday compared with monday ==" in capsys.readouterr().out


@pytest.mark.parametrize(("option", "code"), [((), 0), (("--fail-on-quality",), 1)])
def test_a_quality_warning_is_a_regression_if_asked_for(example, runs, option, code):
    first, second = runs(a=night(example), b=night(example, x={"verdict": "quality_warning", "code": "quality_warning.F-CV-8"}))
    assert main(["compare", str(first), str(second), *option]) == code


@pytest.mark.parametrize(("option", "code"), [((), 0), (("--strict",), 1)])
def test_a_case_that_runs_out_of_memory_is_listed_and_is_a_regression_if_asked_for(example, runs, capsys, option, code):
    first, second = runs(a=night(example), b=night(example, x={"verdict": "resource_error", "code": "resource_error.dispatch"}))
    assert main(["compare", str(first), str(second), *option]) == code
    assert "resource_error.dispatch" in capsys.readouterr().out


def test_common_leaves_out_what_only_one_run_has(example, runs):
    first, second = runs(a=night(example)[1:], b=night(example, u=failing(example))[:-1])
    assert main(["compare", str(first), str(second)]) == 1
    assert main(["compare", str(first), str(second), "--common"]) == 0


def test_the_document_has_every_case_of_every_group(example, runs, capsys):
    first, second = runs(a=night(example), b=night(example, x=failing(example, "fail.value", "muladd.c_dropped")))
    main(["compare", str(first), str(second), "--json"])
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["regressions"], [run["name"] for run in document["runs"]]) == (2, 1, ["a", "b"])
    (comparison,) = document["comparisons"]
    assert comparison["counts"] == {kind: int(kind is ChangeKind.NEW_FAILURE) for kind in ChangeKind}
    (group,) = comparison["groups"]
    ended = {"verdict": "fail", "code": "fail.value", "defects": ["muladd.c_dropped"], "known": ""}
    assert group["after"] == ended
    assert group["cases"] == [{"id": "a[b:x]", "before": {"verdict": "pass", "code": "", "defects": [], "known": ""}, "after": ended}]


def test_the_page_needs_no_other_file_and_takes_any_words(example, runs, tmp_path):
    hostile = failing(example, reason="</style><script>alert(1)</script>")
    first, second = runs(a=night(example), b=night(example, x=hostile))
    page = tmp_path / "page.html"
    assert main(["compare", str(first), str(second), "--html", str(page)]) == 1
    html = page.read_text(encoding="utf-8")
    assert "&lt;script&gt;alert(1)" in html
    assert not re.search(r"<script>alert|(?:src|href)=.(?!#)|@import|url\(", html)
    targets = set(re.findall(r'href="#([^"]+)"', html))
    assert targets <= set(re.findall(r'id="([^"]+)"', html))


def test_published_runs_compare_as_they_are():
    from tests.suite import REPOSITORY

    published = REPOSITORY / "reports" / "published"
    found = compare([published / "lavapipe-26.1.6-smoke", published / "lavapipe-26.1.6-smoke-glsl"], {})
    assert "differs: front end: spirv -> glsl" in found.text


def test_runs_without_a_common_case_are_not_green(example, runs, capsys):
    first, second = runs(a=[example.record("a[b:x]")], b=[example.record("a[b:y]")])
    assert main(["compare", str(first), str(second)]) == 2
    assert "b: no case in common with the first run" in capsys.readouterr().err


def test_a_folder_that_is_not_a_run_is_refused(tmp_path, capsys):
    assert main(["compare", str(tmp_path), str(tmp_path)]) == 2
    assert "holds no results.jsonl" in capsys.readouterr().err


def compiled(example, family="a", **values):
    """Return the record of a case with statistics: its name is the family and the values of each executable come by name."""
    id_ = f"{family}[b:{values.pop('b', 'x')}]"
    return example.record(id_, statistics={"compute": values})


def code(*runs):
    before, after = ({one["id"]: outline_of(result_of(one)) for one in records} for records in runs)
    return compiled_code(before, after)


def test_the_largest_growth_of_a_statistic_comes_first(example):
    before = [compiled(example, family, b=b, Spills=0, Size=100) for family in ("f", "g") for b in "xyz"]
    sizes = iter((90, 100, 130, 160, 100, 170))
    after = [compiled(example, family, b=b, Spills=0, Size=next(sizes)) for family in ("f", "g") for b in "xyz"]
    found = code(before, after)
    assert (found.compared, found.differing) == (6, 4)
    (size,) = found.changed
    assert (size.name, size.grew, size.total) == ("Size", 3, Changed("", "", 4, 400, 550))
    assert [(one.family, one.cases, one.growth) for one in size.families] == [("g", 2, 130), ("f", 2, 20)]
    assert [(one.id, one.growth) for one in size.cases] == [("g[b:z]", 70), ("g[b:x]", 60), ("f[b:z]", 30), ("f[b:x]", -10)]


def test_the_value_of_a_case_is_the_sum_over_its_executables(example):
    before = example.record("a[b:x]", statistics={"SIMD8": {"Size": 40}, "SIMD16": {"Size": 60}})
    after = example.record("a[b:x]", statistics={"SIMD32": {"Size": 100, "New": 1}})
    assert code([before], [after]) == CompiledCode(1, 0, ())


def test_statistics_keep_the_order_of_the_driver(example):
    before = [compiled(example, b=b, Instructions=1, Size=8) for b in "xy"]
    after = [compiled(example, b="x", Instructions=1, Size=9), compiled(example, b="y", Instructions=2, Size=8)]
    assert [one.name for one in code(before, after).changed] == ["Instructions", "Size"]


def test_hashes_and_cases_without_statistics_are_not_compared(example):
    before = [compiled(example, Hash=1), compiled(example, b="y", Size=1), example.record("a[b:z]")]
    after = [compiled(example, Hash=2), example.record("a[b:y]"), compiled(example, b="z", Size=1)]
    assert code(before, after) == CompiledCode(1, 0, ())


def test_a_comparison_tells_how_compiled_code_changed(example, runs, tmp_path, capsys):
    folders = [
        str(folder)
        for folder in runs(
            first=[compiled(example, Instructions=200, VGPRs=9, **{"<b>": 0})],
            second=[compiled(example, Instructions=250, VGPRs=6, **{"<b>": 4})],
        )
    ]
    assert main(["compare", *folders, "--html", str(tmp_path / "page.html")]) == 0
    printed = capsys.readouterr().out
    assert "Compiled code: 1 of 1 case with statistics in both runs have another value of 3 statistics." in printed
    assert "Instructions: 200 -> 250, +50 (+25.0 %), in 1 case, 1 of them more" in printed
    assert "<b>: 0 -> 4, +4, in 1 case" in printed
    assert "VGPRs: 9 -> 6, -3 (-33.3 %), in 1 case, 0 of them more" in printed
    assert "-3 (-33.3 %)  a" not in printed, "only growth is told of families and cases"
    page = (tmp_path / "page.html").read_text()
    assert "<b>" not in page
    assert "+50 (+25.0 %)" in page
    assert main(["compare", *folders, "--json"]) == 0
    changed = json.loads(capsys.readouterr().out)["comparisons"][0]["code"]["changed"]
    assert [one["total"]["after"] for one in changed] == [250, 6, 4]


def test_code_of_another_driver_is_not_compared(example, runs, capsys):
    other = compiled(example, Instructions=250) | {"driver": "another 1.0"}
    folders = runs(first=[compiled(example, Instructions=200)], second=[other])
    main(["compare", *map(str, folders)])
    assert "Compiled code" not in capsys.readouterr().out
