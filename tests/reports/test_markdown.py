"""The Markdown summary."""

from __future__ import annotations

import re

import pytest

from reports import read, summarise
from reports.causes import causes
from reports.context import context, headline
from reports.markdown import markdown
from reports.requirement_texts import requirement_texts
from tests.suite import casebook


@pytest.fixture
def text_of():
    def text(path, **more):
        run = read(path)
        summary, about = summarise(run.results), context(run)
        return markdown(summary, causes(run.results), about, headline(summary, about), **more)

    return text


def test_it_begins_with_the_verdict_on_the_run(text_of, journal):
    assert text_of(journal).startswith("## ❌ 31 of 1,")


def test_every_row_of_a_table_has_as_many_cells(text_of, journal):
    blocks = [block.splitlines() for block in text_of(journal).split("\n\n") if block.startswith("| ")]
    assert len(blocks) == 4
    for rows in blocks:
        assert len({row.count(" | ") for row in rows}) == 1


def test_text_from_a_driver_is_neither_markup_nor_a_new_cell(text_of, example, tmp_path):
    reason = "<b>died</b> | `x` *y*\nsecond line"
    text = text_of(
        example.write_journal(
            tmp_path, [example.record("a[1]", "crash", reason=reason), example.record("a[2]", "not_supported", reason=reason)]
        )
    )
    assert "<b>died" not in re.sub("`.*`", "", text)
    assert "\\`x\\` \\*y\\*\\\\nsecond line" in text
    assert "| `<b>died</b> \\| 'x' *y*\\nsecond line` | 1 |" in text


def test_a_cause_names_the_requirements_that_all_of_its_cases_exercise(text_of, example, tmp_path):
    both = [["KHR-LOAD-03", "KHR-STORE-01"], ["KHR-LOAD-04", "KHR-STORE-01"]]
    records = [example.record(f"load_store[{n}]", "fail", requirements=ids, reason="wrong") for n, ids in enumerate(both)]
    text = text_of(example.write_journal(tmp_path, records))
    assert "\nAll exercise `KHR-STORE-01`.\n" in text
    assert "KHR-LOAD-03" not in text


def test_a_job_summary_stays_far_below_its_limit_of_a_mebibyte(text_of, example, tmp_path):
    records = [example.record(f"a[{n}]", "fail", reason=f"{'x' * n}") for n in range(1, 400)]
    assert len(text_of(example.write_journal(tmp_path, records)).encode()) < 100_000


def test_the_defects_that_explain_failing_cases_are_counted(text_of, journal):
    assert "| `load_store.layout_swapped` | 14 |" in text_of(journal)


def test_a_cause_has_its_codes_its_defects_and_the_places_of_its_requirements(text_of, example, tmp_path):
    record = example.record("muladd[1]", "fail", code="fail.value", requirements=["KHR-MAD-15"])
    example.fail(record, example.failure(8, 8, lambda row, column: row == 3) | {"matches": [{"id": "multiply_add.c_dropped", "text": "C"}]})
    texts = requirement_texts(casebook())
    text = text_of(example.write_journal(tmp_path, [record]), texts=texts)
    assert "<code>fail.value</code>, <code>multiply\\_add.c\\_dropped</code>" in text
    assert "[`KHR-MAD-15`](https://github.khronos.org/SPIRV-Registry/" in text


def test_a_known_failure_is_told_once_with_its_code_and_its_report(text_of, known_failure, tmp_path):
    text = text_of(known_failure.journal, issues=known_failure.issues)
    assert text.count(known_failure.reason) == 1
    assert "What did not pass" not in text
    assert "<code>rows-lost</code>" in text
    assert "<code>fail.value</code>" in text
    assert f"<{known_failure.link}>" in text
