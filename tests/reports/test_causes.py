"""Grouping failures by cause."""

from __future__ import annotations

from cts.journal.record import result_of
from cts.verdict.verdict import Verdict
from reports import read
from reports.causes import causes


def test_cases_that_one_defect_explains_are_one_cause_with_the_parameters_that_they_share(journal):
    (first, *_) = causes(read(journal).results)
    assert first.words == "matrix a loaded row major instead of column major"
    assert (first.verdict, first.family, len(first.results)) == (Verdict.FAIL, "load_store", 14)
    assert first.parameters == {"layout": "column_major", "storage": "workgroup"}
    with_both = [r for r in read(journal).results if "/layout:column_major/storage:workgroup/" in r.id and r.family == "load_store"]
    assert first.with_parameters == sum(result.verdict is not Verdict.NOT_SUPPORTED for result in with_both)


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


def test_parameters_that_every_case_has_say_nothing(example):
    records = [example.record(f"a[type:f16/number:{n}]", "crash") for n in range(3)]
    (cause,) = causes([result_of(record) for record in records])
    assert cause.parameters == {}


def test_a_parameter_that_is_at_its_default_and_so_not_in_the_id_is_shared_like_others(example):
    shared = {"scope": "subgroup"}
    records = [example.record(f"a[number:{n}]", "crash", parameters={"number": str(n)} | shared) for n in range(3)]
    (cause,) = causes([result_of(record) for record in [*records, example.record("a[scope:workgroup/number:4]")]])
    assert (cause.parameters, cause.with_parameters) == (shared, 3)


def test_one_label_of_two_parameters_is_not_shared(example):
    failed = [example.record(f"a[{name}:f16/number:{name}]", "crash") for name in ("a", "b", "c")]
    (cause,) = causes([result_of(record) for record in [*failed, example.record("a[number:4]")]])
    assert cause.parameters == {}


def test_a_journal_without_parameters_has_causes_without_them(example):
    records = [example.record(f"a[f16-{n}]", "crash") for n in range(3)]
    for record in records:
        del record["parameters"]
    (cause,) = causes([result_of(record) for record in [*records, example.record("a[type:f32]")]])
    assert (len(cause.results), cause.parameters, cause.with_parameters) == (3, {}, 0)


def test_cases_whose_parameters_nobody_knows_make_no_parameter_special(example):
    failed = [example.record(f"a[type:f16/number:{n}]", "crash") for n in range(3)]
    unknown = example.record("a[f32-4]")
    del unknown["parameters"]
    (cause,) = causes([result_of(record) for record in [*failed, unknown]])
    assert (cause.parameters, cause.with_parameters) == ({}, 0)
