"""The contents of the pages of cases and requirements, and of the sections of the index."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

import pytest

from cts.blame.evidence import Evidence, Found, Step
from cts.blame.gathering import facts_of
from cts.blame.report import add, blame
from cts.journal.record import result_of
from generators.casebook import load_casebook
from reports import summarise, write
from reports.case_page import turns
from reports.case_sources import UNKNOWN, case_source
from reports.commands import commands
from reports.html import pages
from reports.known_issues import known_issues
from reports.leading import LEADING
from tests.suite import REPOSITORY, casebook

STATIC = {"verdict": "not_supported", "code": "missing.judge.static", "reason": "static rules are judged by --device spirv-val"}
MULADD = "muladd[row:16x16x16.f16.f16.f32.f32/data:exact]"
PARAMETERS = {
    "row": "16x16x16.f16.f16.f32.f32",
    "scope": "subgroup",
    "subgroups": "1",
    "data": "exact",
    "form": "single",
    "declared": "same",
    "layouts": "rrrr",
    "padding": "tight",
    "storage": "storage_buffer",
}
H200 = "NVIDIA 580.159.04"


@pytest.fixture
def written(example, tmp_path):
    """Return a function that writes a report of records, and returns its index and the pages of cases, without tags."""

    def made(*records):
        write(example.write_journal(tmp_path, records, started="2027-03-01T12:00:00Z", finished="2027-03-01T12:01:00Z"), tmp_path)
        return plain(tmp_path / "index.html"), [plain(path) for path in sorted((tmp_path / "failures").iterdir())]

    return made


def plain(path):
    return unescape(re.sub(r"<[^>]*>", "", re.sub(r"<(script|style).*?</\1>", "", path.read_text(), flags=re.DOTALL)))


def test_a_page_has_the_shader_and_what_the_parameters_mean(example, written):
    _, (page,) = written(example.record(MULADD, "crash", parameters={}))
    assert "coopMatMulAdd" in page
    assert "OpCooperativeMatrixMulAddKHR" in page


def test_a_page_says_what_parameters_and_rows_mean(example, written):
    _, (page,) = written(example.record(MULADD, "crash", parameters=PARAMETERS))
    assert "the scope whose invocations hold a matrix together" in page
    assert "M 16, N 16, K 16; A f16, B f16, C f32, Result f32" in page


def test_a_page_is_written_by_the_casebook_that_is_given(example, tmp_path):
    journal = example.write_journal(tmp_path, [example.record(MULADD, "crash", parameters={})])
    write(journal, tmp_path, casebook=replace(load_casebook(REPOSITORY), families={}))
    assert "OpTypeCooperativeMatrixKHR" not in plain(next((tmp_path / "failures").iterdir()))


@pytest.mark.parametrize("record", [{"id_": "no_family[a:b]"}, {"id_": MULADD, "parameters": {"row": "another"}}])
def test_a_case_that_the_suite_at_hand_does_not_have_has_no_shader(example, record):
    assert case_source(result_of(example.record(**record)), load_casebook(REPOSITORY)) == UNKNOWN


def test_the_failure_and_how_to_run_it_again_come_before_everything_else(example, written):
    line = example.record(MULADD, parameters=PARAMETERS)
    example.fail(line, example.failure(16, 16, lambda row, column: row != column))
    _, (page,) = written(line)
    parts = (
        "✗ Fail",
        "have a wrong value",
        "Probably at fault",
        "What explains it",
        "Wrong value in",
        "more elements",
        "Point at an element",
    )
    places = [page.index(words) for words in (*parts, "Run it again", "The case", "The shader", "The run", "Front end")]
    assert places == sorted(places)
    assert len(re.findall(r"0x[0-9a-f]{4} \(", page[: page.index("more elements")])) == 2 * 8


def test_pages_lead_to_each_other_worst_first_then_by_family(example):
    verdicts = {"b[1]": "fail", "a[2]": "crash", "a[1]": "fail", "a[3]": "known_fail"}
    found = pages([result_of(example.record(id_, verdict)) for id_, verdict in sorted(verdicts.items())])
    assert [id_ for id_, _ in found] == ["a[1]", "b[1]", "a[2]", "a[3]"]
    by_id = {id_: turn for (id_, _), turn in turns(list(found))}
    assert (by_id["a[1]"].previous, by_id["a[3]"].next) == ("", "")
    assert by_id["b[1]"].next == found["a[2]", 1].removeprefix("failures/")
    assert (by_id["a[2]"].number, by_id["a[2]"].total) == (3, 4)


def test_a_known_failure_has_a_page_with_versions_and_evidence(example, written):
    id_ = next(iter(known_issues({"block-strides-rounded-down"}, {H200}, load_casebook(REPOSITORY))))
    index, (page,) = written(example.record("a[1]", "known_fail", known=id_, driver=H200))
    assert "golden/known_failures/nvidia.yaml" in page
    assert "seen on NVIDIA 580.159.04 (H200)" in page
    assert "seen on NVIDIA 580.159.04 (H200)" in index


def test_a_known_failure_of_another_driver_is_not_taken():
    assert known_issues({"block-strides-rounded-down"}, {"llvmpipe Mesa 26.1.6"}, load_casebook(REPOSITORY)) == {}


def test_cases_for_another_judge_are_not_counted_as_not_supported(example, written):
    lacking = example.record("a[2]", "not_supported")
    index, _ = written(example.record("a[1]"), lacking, *(example.record(f"rules[{n}]", **STATIC) for n in range(3)))
    assert "1 pass, 1 not supported, and 3 cases for another kind of judge" in index
    assert "– Not supported 1 case, 50.0 %" in index
    assert "static rules are judged by --device spirv-val" in index


def test_the_summary_says_how_many_cases_of_a_family_are_for_another_judge(example):
    summary = summarise(result_of(example.record(f"{family}[1]", **STATIC)) for family in ("rules", "rules_too"))
    assert (summary.elsewhere, summary.judged_elsewhere) == ({"rules": 1, "rules_too": 1}, 2)


def test_families_of_which_nothing_ran_are_folded(example, written, tmp_path):
    written(example.record("runs[1]"), example.record("idle[1]", "not_supported"))
    text = (tmp_path / "index.html").read_text()
    before, _, folded = text.partition('<details id="idle-families">')
    assert re.search(r"family=runs", before)
    assert not re.search(r"family=idle", before)
    assert re.search(r"family=idle", folded)


def test_a_requirement_has_a_page_with_its_text_its_cases_and_its_devices(example, written, tmp_path):
    records = [example.record(f"muladd[{n}]", verdict, requirements=["KHR-MAD-03"]) for n, verdict in enumerate(("pass", "fail"))]
    written(*records, example.record("muladd[2]", requirements=["KHR-MAD-03"], driver="example 2"))
    page = plain(tmp_path / "requirements" / "KHR-MAD-03.html")
    assert "SPV_KHR_cooperative_matrix" in page
    assert "SPV_KHR_cooperative_matrix.html#OpCooperativeMatrixMulAddKHR" in (tmp_path / "requirements" / "KHR-MAD-03.html").read_text()
    assert page.index("muladd[1]") < page.index("muladd[0]")
    assert all(driver in page for driver in ("example 1.2.3", "example 2"))


def test_names_that_are_not_ids_of_requirements_are_also_file_names(example, written, tmp_path):
    written(example.record("a[1]", requirements=["../../x", "A" * 300]))
    assert len(list((tmp_path / "requirements").iterdir())) == 2
    assert not (tmp_path.parent / "x.html").exists()


STATIC_RULE = "static_load_store[rule:store_stride_0/form:broken]"


def test_a_page_of_a_static_rule_shows_the_instruction_that_breaks_it(example, written):
    _, (page,) = written(example.record(STATIC_RULE, "fail", code="fail.accepted", parameters={}))
    difference = page.partition("The module beside the nearest legal one")[2].partition("Run it again")[0]
    assert re.search(r"^\+ +OpCooperativeMatrixStoreKHR .* %uint_0$", difference, re.MULTILINE)
    assert re.search(r"^- +%\d+ = OpCooperativeMatrixLoadKHR .* %uint_0$", difference, re.MULTILINE)


def test_a_legal_module_has_no_difference(example, written):
    _, (page,) = written(example.record("static_load_store[rule:store_stride_0]", "fail", code="fail.rejected", parameters={}))
    assert "nearest legal one" not in page


def test_elements_that_were_not_written_show_no_value(example, written):
    line = example.record(MULADD, parameters=PARAMETERS)
    example.fail(line, example.failure(16, 16, lambda row, column: row == 3, "not written"))
    _, (page,) = written(line)
    values = page.partition("The first 8")[2].partition("more elements")[0]
    assert values.count("not written") == 8
    assert len(re.findall(r"0x[0-9a-f]{4} \(", values)) == 8


def test_the_nearest_passes_lead_to_their_lines_in_the_list(example, written, tmp_path):
    passed = example.record(MULADD.replace("exact", "wrap"), parameters=PARAMETERS | {"data": "wrap"})
    written(example.record(MULADD, "crash", parameters=PARAMETERS), passed)
    text = next((tmp_path / "failures").iterdir()).read_text()
    assert f'href="../index.html#cases?words=%22{passed["id"].replace("[", "%5B").replace(":", "%3A")[:20]}' in text


CONVERSION = "vector_layout_conversion[types:f16.f16.f16/layouts:row-inferencing-row/capacity:generous]"
REUSE = "muladd[row:8x8x16.f16.f16.f32.f32/data:exact/form:reuse/layouts:cccc]"


def reused(example, **changes):
    """Return a failure of REUSE in element (3, 5) of its first result."""
    found = example.failure(8, 8, lambda row, column: (row, column) == (3, 5))
    found |= {"array": "d0", "what": "again", "subcase": "pattern:kept_width"} | changes
    for element in found["elements"]:
        element["instance"] = 0
    return found


def test_a_page_follows_the_first_wrong_element_back(example, written):
    line = example.record(REUSE, parameters={})
    example.fail(line, reused(example))
    _, (page,) = written(line)
    assert "How element (3, 5) was computed" in page
    assert re.search(r"matrix_a \(3, 0\): a byte \d+", page)
    assert "--element 3,5 --subcase pattern:kept_width --instance 0 --array d0" in page


def test_the_command_that_follows_an_element_runs_the_module_that_failed(example):
    line = example.record(REUSE, parameters={}, front_end="glsl")
    example.fail(line, reused(example))
    meta = {"device": {"name": line["device"]}, "selector": "0"}
    (following,) = (one for one in commands(result_of(line), [meta], {}, casebook()).values() if "--element" in one)
    assert following.endswith("--device 0 --front-end glsl")


def test_a_conversion_has_no_element_to_follow(example, written):
    line = example.record(CONVERSION, parameters={})
    example.fail(line, reused(example))
    _, (page,) = written(line)
    assert "Judge it again" in page
    assert "--element" not in page


def test_only_the_first_pages_of_a_kind_of_failure_have_a_walk(example, written):
    records = [example.record(REUSE, parameters={}, attempt=attempt) for attempt in range(1, LEADING + 3)]
    for line in records:
        example.fail(line, reused(example))
    _, pages = written(*records)
    assert sum("How element (3, 5) was computed" in page for page in pages) == LEADING
    assert sum("OpTypeCooperativeMatrixKHR" in page for page in pages) == LEADING


def test_a_page_of_an_element_that_the_suite_does_not_store_has_no_walk(example, written):
    line = example.record(REUSE, parameters={})
    example.fail(line, reused(example, array="elsewhere"))
    _, (page,) = written(line)
    assert "was computed" not in page


def test_a_page_shows_the_evidence_of_whose_fault_it_is(example, written, tmp_path):
    record = example.record(MULADD, "crash", code="crash.dispatch")
    result = result_of(record)
    evidence = (Evidence(Step.FIRST, Found.SAME), Evidence(Step.EMBEDDED, Found.NOT_RUN, "no <b>feature</b>"))
    for other in (replace(result, device="another"), replace(result, driver="an older one")):
        add(tmp_path, blame(other, facts_of(other, evidence)))
    _, (page,) = written(record)
    assert "Whose fault it is" not in page
    add(tmp_path, told := blame(result, facts_of(result, evidence)))
    _, (page,) = written(record)
    assert told.headline in page
    assert "Probably at fault" not in page
    assert "not run: no <b>feature</b>" in page
