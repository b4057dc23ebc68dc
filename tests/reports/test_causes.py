"""Grouping failures by cause."""

from __future__ import annotations

import random

import pytest

from cts.journal.record import result_of
from cts.verdict.verdict import Verdict
from reports import read
from reports.causes import causes
from reports.causes.groups import Searcher, groups


def test_cases_that_one_defect_explains_are_one_cause_with_the_conditions_that_decide(journal):
    first = next(cause for cause in causes(read(journal).results) if cause.defects)
    assert (first.id, first.words) == ("load_store.layout_swapped", "matrix a loaded row major instead of column major")
    assert (first.verdict, first.families, len(first.results)) == (Verdict.FAIL, {"load_store": 14}, 14)
    (inside,) = first.inside
    assert (inside.failing, inside.passing) == (14, 0)
    assert {"layout:column_major", "storage:workgroup"} <= set(map(str, inside.box))


def matching(example, number, *matches):
    return example.record(f"a[{number}]", "fail", failures=[example.overwritten() | {"matches": list(matches)}])


def test_one_defect_of_different_matrices_is_one_cause_by_its_id(example):
    records = [
        matching(example, n, {"id": "load_store.load_transposed", "text": f"matrix {name} loaded transposed"})
        for n, name in ((1, "A"), (2, "B"))
    ]
    (cause,) = causes([result_of(record) for record in records])
    assert cause.words == "load_store.load_transposed"


def test_one_text_of_different_defects_is_two_causes(example):
    records = [
        matching(example, n, {"id": id_, "text": "d computed in f32"})
        for n, id_ in enumerate(("elementwise.float_narrowed", "elementwise.through_float"))
    ]
    assert len(causes([result_of(record) for record in records])) == 2


def test_a_journal_without_ids_groups_by_text(example):
    records = [matching(example, n, "matrix a loaded transposed") for n in (1, 2)]
    (cause,) = causes([result_of(record) for record in records])
    assert cause.words == "matrix a loaded transposed"


def test_passes_and_not_supported_have_no_cause(example):
    assert causes([result_of(example.record("a[1]")), result_of(example.record("a[2]", "not_supported"))]) == []


def test_reasons_that_differ_are_one_cause_by_their_code(example):
    records = [example.record(f"a[{n}]", "timeout", reason=f"no answer within {n} s", code="timeout.pipeline") for n in (10, 20)]
    (cause,) = causes([result_of(record) for record in records])
    assert (cause.code, cause.words) == ("timeout.pipeline", "the device did not answer in time")


def test_a_reason_that_all_share_is_kept(example):
    records = [example.record(f"a[{n}]", "timeout", reason="no answer within 60 s", code="timeout.pipeline") for n in (10, 20)]
    (cause,) = causes([result_of(record) for record in records])
    assert cause.words == "no answer within 60 s"


def test_one_reason_with_different_codes_is_two_causes(example):
    codes = ("timeout.pipeline", "timeout.dispatch")
    records = [example.record(f"a[{code}]", "timeout", reason="no answer within 60 s", code=code) for code in codes]
    assert {cause.code for cause in causes([result_of(record) for record in records])} == set(codes)


def test_a_code_that_this_version_does_not_know_stands_for_itself(example):
    records = [example.record(f"a[{n}]", "fail", reason=f"reason {n}", code="fail.of_tomorrow") for n in (1, 2)]
    (cause,) = causes([result_of(record) for record in records])
    assert cause.words == "fail.of_tomorrow"


def test_bytes_are_one_cause_wherever_they_are(example):
    records = [example.record(f"a[{n}]", "fail", failures=[example.overwritten() | {"pattern": f"at byte {n}"}]) for n in range(2)]
    (cause,) = causes([result_of(record) for record in records])
    assert cause.words == "padding overwritten: bytes that no store may touch"


def decided(records):
    (cause,) = causes([result_of(record) for record in records])
    return cause.decided


def test_parameters_that_every_case_has_decide_nothing(example):
    records = [example.record(f"a[type:f16/number:{n}]", "crash") for n in range(3)]
    assert decided(records) == ("3 of 3 cases that ran fail; 0 pass",)


def test_a_parameter_that_is_at_its_default_and_so_not_in_the_id_decides_like_others(example):
    records = [
        example.record(f"a[scope:{scope}/number:{n}]", verdict, parameters={"number": str(n % 4), "scope": scope})
        for n in range(8)
        for scope, verdict in (("subgroup", "crash"), ("workgroup", "pass"))
    ]
    assert decided(records) == ("8 of 8 cases with scope:subgroup fail; 0 pass",)


def test_a_cause_without_parameters_has_no_box(example):
    records = [example.record(f"a[f16-{n}]", "crash") for n in range(3)]
    for record in records:
        del record["parameters"]
    assert decided([*records, example.record("a[type:f32]")]) == ()


def test_cases_that_pass_inside_of_a_box_are_counted(example):
    records = [
        example.record(f"a[type:{type_}/number:{n}]", "crash" if type_ == "f16" and n != 3 else "pass")
        for n in range(12)
        for type_ in ("f16", "f32", "s8")
    ]
    assert decided(records) == ("11 of 12 cases with type:f16 fail; 1 passes",)


def test_cases_that_did_not_run_are_in_no_box(example):
    records = [example.record(f"a[type:{t}/number:{n}]", v) for n in range(4) for t, v in (("f16", "crash"), ("f32", "not_supported"))]
    assert decided(records) == ("4 of 4 cases that ran fail; 0 pass",)


def test_few_failures_may_be_by_chance(example):
    records = [
        example.record(f"a[type:{t}/number:{n}]", "crash" if (t, n) == ("f16", 2) else "pass") for n in range(4) for t in ("f16", "f32")
    ]
    (_, chance) = decided(records)
    assert "by chance" in chance


def grid(example, family, ends):
    """Return the records of a family of 4 x 3 x 3 x 4 cases, each with the fields that ``ends`` returns for its labels except the last."""
    for use in ("a", "b", "c", "d"):
        for type_ in ("f16", "f32", "s8"):
            for n in ("8", "16", "32"):
                for shape in ("square", "wide", "tall", "tiny"):
                    yield example.record(f"{family}[use:{use}/type:{type_}/n:{n}/shape:{shape}]", **ends(use, type_, n))


def by_defect(example, id_):
    return {
        "verdict": "fail",
        "code": "fail.padding",
        "failures": [example.overwritten() | {"matches": [{"id": id_, "text": f"text of {id_}"}]}],
    }


def test_one_defect_in_five_families_is_one_cause(example):
    records = [
        record
        for family in "vwxyz"
        for record in grid(example, family, lambda use, type_, n: by_defect(example, "a.b") if type_ == "f16" else {})
    ]
    (cause,) = causes([result_of(record) for record in records])
    assert cause.families == dict.fromkeys("vwxyz", 48)
    assert cause.decided[0] == "48 of 48 cases of v with type:f16 fail; 0 pass"


def test_the_cause_is_the_equally_good_defect_that_explains_most(example):
    def ends(use, type_, n):
        if type_ != "f16":
            return {}
        both = by_defect(example, "a.rare")
        both["failures"][0]["matches"].append({"id": "a.frequent", "text": "text of a.frequent"})
        return both if n == "8" else by_defect(example, "a.frequent")

    (cause,) = causes([result_of(record) for record in grid(example, "x", ends)])
    assert (cause.id, cause.defects, cause.words) == ("a.frequent", ("a.frequent",), "text of a.frequent")


def test_a_crash_that_the_box_of_a_defect_has_is_of_the_same_cause(example):
    def ends(use, type_, n):
        if type_ != "f16":
            return {}
        return {"verdict": "crash", "code": "crash.dispatch"} if n == "32" else by_defect(example, "a.b")

    (cause,) = causes([result_of(record) for record in grid(example, "x", ends)])
    assert (cause.verdict, cause.codes) == (Verdict.FAIL, {"fail.padding": 32, "crash.dispatch": 16})
    assert cause.decided == ("48 of 48 cases with type:f16 fail; 0 pass",)


def test_one_code_of_two_boxes_is_two_causes(example):
    def ends(use, type_, n):
        fails = (use, type_) == ("a", "f16") or (use, n) == ("d", "32")
        return {"verdict": "crash", "code": "crash.dispatch"} if fails else {}

    found = causes([result_of(record) for name in ("x",) for record in grid(example, name, ends)])
    assert {cause.decided[0] for cause in found} == {
        "12 of 12 cases with type:f16 and use:a fail; 0 pass",
        "12 of 12 cases with n >= 32 and use:d fail; 0 pass",
    }
    assert [cause.id for cause in found] == ["x.crash.dispatch", "x.crash.dispatch-2"]


def test_one_code_is_one_cause_in_two_families_where_one_box_decides(example):
    def ends(use, type_, n):
        return {"verdict": "crash", "code": "crash.pipeline"} if (use, type_) == ("a", "f16") else {}

    (cause,) = causes([result_of(record) for family in ("x", "y") for record in grid(example, family, ends)])
    assert cause.decided == tuple(f"12 of 12 cases of {family} with type:f16 and use:a fail; 0 pass" for family in ("x", "y"))


def test_one_code_is_two_causes_where_other_boxes_decide(example):
    def ends(family):
        fails = {"x": ("a", "f16"), "y": ("c", "s8")}[family]
        return lambda use, type_, n: {"verdict": "crash", "code": "crash.pipeline"} if (use, type_) == fails else {}

    assert len(causes([result_of(record) for family in ("x", "y") for record in grid(example, family, ends(family))])) == 2


def test_a_known_failure_is_one_cause_of_its_own_with_its_box(example):
    def ends(use, type_, n):
        if use == "b":
            return {"verdict": "known_fail", "code": "fail.value", "known": "lost-rows", "reason": "rows are lost"}
        return by_defect(example, "a.b") if type_ == "f16" else {}

    fails, known = causes([result_of(record) for record in grid(example, "x", ends)])
    assert (fails.id, known.id, known.known, known.words) == ("a.b", "lost-rows", "lost-rows", "rows are lost")
    assert known.decided == ("36 of 36 cases with use:b fail; 0 pass",)
    assert fails.decided == ("36 of 48 cases with type:f16 fail; 0 pass, 12 end in other ways",)


def test_a_quality_warning_is_one_cause_by_its_position(example):
    def ends(use, type_, n):
        return {"verdict": "quality_warning", "code": "quality_warning.F-X-1"} if type_ == "f16" else {}

    (cause,) = causes([result_of(record) for record in grid(example, "x", ends)])
    assert cause.decided == ("48 of 48 cases with type:f16 are quality warnings; 0 pass",)


def test_a_quality_warning_speaks_against_a_box_of_failures(example):
    def ends(use, type_, n):
        if type_ != "f16":
            return {}
        return {"verdict": "quality_warning", "code": "quality_warning.F-X-1"} if use == "a" else {"verdict": "crash", "code": "crash"}

    crash, _ = causes([result_of(record) for record in grid(example, "x", ends)])
    assert crash.decided == ("36 of 36 cases with type:f16 and use not a fail; 0 pass",)


def test_words_decide_nothing(example):
    def ends(use, type_, n):
        return {"verdict": "crash", "code": "crash.dispatch", "reason": f"{use} {type_} {n}"} if type_ == "f16" else {}

    (cause,) = causes([result_of(record) for record in grid(example, "x", ends)])
    assert cause.words == "the process that held the device died"


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_a_journal_decides_nothing(example, seed):
    def ends(use, type_, n):
        return by_defect(example, "a.b") if type_ == "f16" or (use, n) == ("a", "8") else {}

    results = [result_of(record) for record in grid(example, "x", ends)]
    shuffled = random.Random(seed).sample(results, len(results))
    assert [cause.decided for cause in causes(shuffled)] == [cause.decided for cause in causes(results)]


def test_cases_in_no_box_are_counted(example):
    def ends(use, type_, n):
        return by_defect(example, "a.b") if type_ == "f16" else {}

    records = list(grid(example, "x", ends))
    passing = next(record for record in records if record["verdict"] == "pass")
    passing |= by_defect(example, "a.b")
    (cause,) = causes([result_of(record) for record in records])
    assert (cause.outside, cause.decided[1]) == (1, "1 more is in no such box")


def test_a_run_has_only_so_much_work_for_searches_and_the_largest_groups_come_first(example):
    def ends(use, type_, n):
        return by_defect(example, "a.large") if type_ == "f16" else by_defect(example, "a.small") if (use, type_) == ("b", "s8") else {}

    results = [result_of(record) for record in grid(example, "x", ends)]
    failing = [place for place, result in enumerate(results) if result.verdict is Verdict.FAIL]
    found = {group.explanation: group.inside for group in groups(results, failing, Searcher(results, work=1))}
    assert (len(found["a.large"]), found["a.small"]) == (1, ())
