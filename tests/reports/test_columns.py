"""The columns of the tables of cases, which follow from how the fields of a result are declared."""

from __future__ import annotations

import json
import re

import pytest

from cts.journal.declared import Shown
from reports import facts, write


@pytest.fixture
def written(example, tmp_path):
    """Write the reports of some records; return the columns of the list of all cases, with its texts in the order of the column."""

    def of(*records):
        write(example.write_journal(tmp_path, records), tmp_path)
        page = (tmp_path / "index.html").read_text()
        table = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page).group(1))
        texts = {
            title: [each[rank] for rank in sorted(row[3][n] for row in table["cases"])]
            for n, (_, title, _, each) in enumerate(table["columns"])
        }
        assert re.findall(r'<option value="(\w+)">', page)[2:] == [key for key, *_ in table["columns"]]
        return texts

    return of


def test_numbers_come_in_the_order_of_their_values_in_their_unit(example, written):
    texts = written(*(example.record(f"a[{n}]", seconds=seconds) for n, seconds in enumerate((0.5, 70.0, 0.004, 3.0))))
    assert texts == {"Time": ["1 min 10 s", "3.0 s", "500 ms", "4.0 ms"]}


def test_a_field_that_is_declared_a_column_is_in_each_table_of_cases(example, written, tmp_path, monkeypatch):
    monkeypatch.setattr(facts, "FIELDS", facts.FIELDS | {"subcases": Shown("Module", "byte", order="largest first", number=True)})
    texts = written(*(example.record(f"a[{n}]", subcases=n, requirements=["KHR-MAD-03"]) for n in (9, 1000, 0)))
    assert texts["Module"] == ["1,000 bytes", "9 bytes", ""]
    page = (tmp_path / "requirements" / "KHR-MAD-03.html").read_text()
    assert '<th scope="col" class="n">Module</th>' in page
    assert '<td class="n" data-label="Module">1,000 bytes</td>' in page


def test_texts_come_from_a_to_z_and_empty_ones_last(example, written, monkeypatch):
    monkeypatch.setattr(facts, "FIELDS", facts.FIELDS | {"code": Shown("Code", order="by code")})
    codes = {"fail": "timeout", "crash": "crash", "pass": ""}
    texts = written(*(example.record(f"a[{verdict}]", verdict, code=code) for verdict, code in codes.items()))
    assert texts["Code"] == ["crash", "timeout", ""]


def test_a_column_that_says_nothing_is_left_out(example, written):
    assert written(example.record("a[1]", seconds=0.0)) == {}
