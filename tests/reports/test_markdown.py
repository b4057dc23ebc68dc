"""The Markdown summary."""

from __future__ import annotations

import re

import pytest

from reports import read, summarise
from reports.causes import causes
from reports.context import context, headline
from reports.markdown import markdown


@pytest.fixture
def text_of():
    def text(path):
        run = read(path)
        summary, about = summarise(run.results), context(run)
        return markdown(summary, causes(run.results), about, headline(summary, about))

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
