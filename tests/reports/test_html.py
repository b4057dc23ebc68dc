"""The HTML report."""

from __future__ import annotations

import json
import re
from collections import Counter
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cts.journal.record import result_of
from cts.verdict.verdict import Verdict
from reports import html, read, summarise, write
from reports.causes import causes
from reports.context import context, headline
from reports.links import slug

STYLE = Path(html.__file__).with_name("templates") / "report.css"
VOID = {"meta", "input", "br", "link", "wbr"}


class Page(HTMLParser):
    """Checks that every element is closed correctly, and collects ids, links and titles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: Counter[str] = Counter()
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags[tag] += 1
        values = dict(attributes)
        self.ids += [values["id"]] if "id" in values else []
        self.links += [values[name] for name in ("href", "src") if name in values]
        if tag not in VOID and not self.get_starttag_text().endswith("/>"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags[tag] += 1

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def words(markup: str) -> str:
    """Return the text without its tags."""
    return unescape(re.sub(r"<[^>]*>", "", markup))


@pytest.fixture(scope="module")
def report(journal, tmp_path_factory):
    directory = tmp_path_factory.mktemp("report")
    write(journal, directory)
    return directory


@pytest.fixture(scope="module")
def pages(report):
    return {path.name: path.read_text() for path in (report / "index.html", *sorted((report / "failures").iterdir()))}


def test_every_page_is_well_formed_with_unique_ids(pages):
    for text in pages.values():
        page = Page(text)
        assert len(page.ids) == len(set(page.ids))


def test_no_page_needs_a_network(pages):
    for page in pages.values():
        # The reader may follow a link to a public document.
        text = re.sub(r'<a class="outside" href="https://[^"]+"|<script.*?</script>', "", page, flags=re.DOTALL)
        assert not re.search(r"(https?:)?//\w+\.", text)
        assert "@import" not in text


def test_every_link_leads_somewhere(report):
    for path in report.rglob("*.html"):
        text = path.read_text()
        for link in Page(text).links:
            if link.startswith("https://"):
                continue
            file, _, anchor = link.partition("#")
            target = (path.parent / file).read_text() if file else text
            assert not anchor or f'id="{anchor.partition("?")[0]}"' in target


def test_each_failure_has_a_page_and_is_linked_from_the_index(journal, pages):
    bad = [result for result in read(journal).results if result.verdict not in ("pass", "not_supported")]
    assert len(pages) == len(bad) + 1 == 33
    for result in bad:
        assert f'href="failures/{slug(result.id)}.html">{result.id}</a>' in pages["index.html"]


def test_the_index_does_not_hold_a_row_for_each_case(pages):
    assert Page(pages["index.html"]).tags["tr"] < 100


def test_the_embedded_list_has_every_case(journal, pages):
    table = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', pages["index.html"]).group(1))
    ids = [table["families"][row[0]] + row[1] for row in table["cases"]]
    assert ids == [result.id for result in read(journal).results]
    assert {table["verdicts"][row[2]][0] for row in table["cases"]} == {str(result.verdict) for result in read(journal).results}


def test_text_from_a_driver_cannot_become_markup(example, tmp_path):
    reason = "</script><script>alert(1)</script><b>"
    path = example.write_journal(
        tmp_path, [example.record("a[<i>]", "crash", reason=reason, message=reason, driver=reason, driver_messages=[reason])]
    )
    write(path, tmp_path)
    for page in (tmp_path / "index.html", *(tmp_path / "failures").iterdir()):
        assert "<script>alert" not in page.read_text()
        assert "<b>" not in page.read_text()
        Page(page.read_text())


def test_a_failure_page_has_what_the_driver_said(example, tmp_path):
    said = ["SPIR-V parsing FAILED:\n    Invalid access chain type", "out of ideas"]
    write(example.write_journal(tmp_path, [example.record("a[i:1]", "crash", driver_messages=said)]), tmp_path)
    (page,) = (tmp_path / "failures").iterdir()
    section = re.search(r'<section id="driver">(.*?)</section>', page.read_text(), re.DOTALL).group(1)
    assert "What the driver said" in section
    assert re.findall(r"<pre data-copy>(.*?)</pre>", section, re.DOTALL) == said


def test_a_failure_page_shows_how_machine_code_made_the_element(example, tmp_path):
    record = example.record("a[i:1]")
    values = {"result": "v1 = 0x00000007", "sources": ["s4 = 0x00000007"]}
    line = {"offset": 24, "code": "v_mov_b32 v1, s<4>", **values, "note": "seldom", "times": 3}
    example.fail(
        record, example.failure(2, 2, lambda row, _: row == 1) | {"machine": {"what": "stored by lane 5", "lines": [line], "more": True}}
    )
    write(example.write_journal(tmp_path, [record]), tmp_path)
    (page,) = (tmp_path / "failures").iterdir()
    text = page.read_text()
    Page(text)
    (row,) = re.findall(r"<tr><td class=\"n\"><code>0x0018</code>.*?</tr>", text)
    shown = ("v_mov_b32 v1, s&lt;4&gt;", "the last of 3 times", "v1 = 0x00000007", "s4 = 0x00000007", "seldom")
    assert all(part in row for part in shown)
    assert "stored by lane 5" in text
    assert "and more instructions" in text


def test_a_failure_page_tells_how_to_run_the_case_again(pages):
    text = next(text for name, text in pages.items() if name.startswith("load_store"))
    id_ = words(re.search(r'<h1 class="id" data-copy>(.*?)</h1>', text).group(1))
    assert f"cts repro '{id_}' DIR --device 00112233" in words(text)
    assert f"cts run '{id_}' --device 00112233" in words(text)


def test_a_failure_page_has_the_text_of_its_requirements(pages):
    text = next(text for name, text in pages.items() if name.startswith("load_store"))
    assert re.search(r"KHR-LOAD-03: With RowMajorKHR .*\(SPV_KHR_cooperative_matrix, Cooperative Matrix Layout\)", words(text))


def test_a_failure_page_has_the_positions_that_its_verdict_rests_on(pages):
    texts = {name: text for name, text in pages.items() if name != "index.html"}
    assert {name.startswith("load_store") for name, text in texts.items() if "Positions" in text} == {True}
    text = next(text for name, text in texts.items() if name.startswith("load_store"))
    assert re.search(r"F-KHR-1</dt><dd>may a stride be negative.*because", text)


def test_elements_that_were_not_written_look_different(pages):
    for name, text in pages.items():
        if name != "index.html":
            assert ('class="unwritten' in text) == ("Not written in" in text)
            assert ('class="wrong' in text) == ("Wrong value in" in text)


def test_pages_are_capped_so_that_every_family_and_verdict_has_some(example, monkeypatch):
    monkeypatch.setattr(html, "PAGES", 6)
    records = [example.record(f"a[{n:03}]", "fail") for n in range(50)] + [example.record(f"b[{n}]", "crash") for n in range(2)]
    assert [id_ for id_, _ in html.pages([result_of(record) for record in records])] == [
        "a[000]",
        "a[001]",
        "a[002]",
        "a[003]",
        "b[0]",
        "b[1]",
    ]


def test_a_capped_report_says_so(example, tmp_path, monkeypatch):
    monkeypatch.setattr(html, "PAGES", 2)
    write(example.write_journal(tmp_path, [example.record(f"a[{n}]", "fail") for n in range(5)]), tmp_path)
    assert len(list((tmp_path / "failures").iterdir())) == 2
    assert "Only 2 of them have a page" in (tmp_path / "index.html").read_text()


@given(st.text(max_size=300), st.text(max_size=300))
def test_slugs_are_file_names_and_differ_where_ids_do(one, other):
    assert re.fullmatch(r"[A-Za-z0-9._-]{9,100}", slug(one))
    assert (slug(one) == slug(other)) == (one == other)


@pytest.mark.parametrize("verdict", ["pass", "not_supported", "fail", "error"])
def test_a_run_of_one_verdict_makes_a_page(example, tmp_path, verdict):
    write(example.write_journal(tmp_path, [example.record("a[1]", verdict)]), tmp_path)
    Page((tmp_path / "index.html").read_text())


def test_an_empty_journal_makes_a_page_that_says_so(example, tmp_path):
    write(example.write_journal(tmp_path, []), tmp_path)
    assert "No case was judged" in (tmp_path / "index.html").read_text()


def test_code_in_the_words_of_a_cause_looks_like_code(example, tmp_path):
    line = example.record("muladd[row:8x8x8.f16.f16.f16.f16]", "crash", code="crash.dispatch", reason="`vkQueueSubmit` does not return")
    write(example.write_journal(tmp_path, [line]), tmp_path)
    assert "<code>vkQueueSubmit</code> does not return" in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_every_verdict_has_a_colour():
    style = STYLE.read_text(encoding="utf-8")
    assert [verdict for verdict in Verdict if f".{verdict} {{ --tone: " not in style] == []


def test_a_known_failure_is_told_once_with_its_report(known_failure):
    run = read(known_failure.journal)
    summary, about = summarise(run.results), context(run)
    text = html.index(run, summary, causes(run.results), about, headline(summary, about), {}, {}, known_failure.issues)
    before = text.partition('<section id="cases"')[0]
    assert words(before).count(known_failure.reason) == 1
    assert f'href="{known_failure.link}"' in before
    assert 'id="failures"' not in before
