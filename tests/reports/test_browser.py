"""The pages in a real browser, from files: clicks and keys have their stated effects."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.util import find_spec

import pytest

from cts.cli import main
from cts.journal.record import result_of
from reports import Run, html, summarise, write
from reports.causes import causes
from reports.context import context, headline
from reports.links import failure_place
from tests.reports.chromium import Chromium, installed

pytestmark = pytest.mark.skipif(not installed(), reason="there is no Chromium: apt-get install chromium")

HAS_DUCKDB = find_spec("duckdb") is not None

needs_duckdb = pytest.mark.skipif(not HAS_DUCKDB, reason="DuckDB is not installed: pip install '.[farm]'")

WIDTHS = (1920, 1280, 390)


STATIC_RULE = "static_load_store[rule:store_stride_0/form:broken]"
REUSE = "muladd[row:8x8x16.f16.f16.f32.f32/data:exact/form:reuse/layouts:cccc]"
DEFECT = "multiply_add.c_overwritten"
WHERE = "operand_c:matrix C/result:product/fragment:8"
OVERWRITTEN = "matrix C, operand C of product, overwritten by the sum over all but the last 8 of K: later uses of it see that"


@pytest.fixture(scope="module")
def suite_cases(example, tmp_path_factory):
    """Return the report of a failure whose first wrong element can be followed back, and of one of a static rule."""
    wrong = example.failure(8, 8, lambda row, column: row == 3)
    wrong |= {"array": "d1", "what": "fresh", "subcase": "pattern:kept_width"}
    wrong |= {"matches": [{"id": DEFECT, "text": OVERWRITTEN, "where": WHERE}]}
    for element in wrong["elements"]:
        element["instance"] = 0
    failed = example.record(REUSE, parameters={})
    example.fail(failed, wrong)
    rule = example.record(STATIC_RULE, "fail", parameters={}, code="fail.accepted", reason="breaks VUID-StandaloneSpirv-None-10685")
    folder = tmp_path_factory.mktemp("suite_cases")
    write(example.write_journal(folder, [failed, rule]), folder)
    return folder


@pytest.fixture(scope="module")
def runs(example, tmp_path_factory):
    """Return a folder of three runs; some cases fail only in the second one."""
    folder = tmp_path_factory.mktemp("runs")
    for day, broken in (("monday", ""), ("tuesday", "type:f16"), ("wednesday", "")):
        records = example.realistic(300)
        for record in records:
            if broken and broken in record["id"] and record["verdict"] == "pass":
                example.fail(record, example.failure(16, 16, lambda row, column: (row, column) != (3, 4)))
        when = f"2027-03-0{1 + len(list(folder.iterdir()))}T12:00:00Z"
        example.write_journal(folder / day, records, suite_version="0.1.0", device=example.DEVICE, started=when, finished=when)
    write(folder / "tuesday" / "results.jsonl", folder / "tuesday", history=str(folder) if HAS_DUCKDB else None)
    assert main(["compare", str(folder / "monday"), str(folder / "tuesday"), "--html", str(folder / "compared.html")]) == 1
    return folder


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    with Chromium(tmp_path_factory.mktemp("profile")) as browser:
        browser.send("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        yield browser


@pytest.fixture
def browser(chromium):
    yield chromium
    assert chromium.wrong() == []


@pytest.fixture
def index(browser, runs):
    def opened(fragment=""):
        browser.open(runs / "tuesday" / "index.html", fragment)
        browser.until("document.getElementById('cases').dataset.ready")
        return browser

    return opened


@pytest.fixture
def failure(browser, runs):
    """Open the page of a case with a wrong matrix; there are failures before and after it."""
    pages = sorted((runs / "tuesday" / "failures").glob("muladd_type_f16*.html"))
    page = next(page for page in pages if all(f'rel="{way}"' in page.read_text() for way in ("prev", "next")))
    browser.open(page)
    return browser


def shown(browser):
    return browser.text("#cases .pager span")


def address(browser):
    return browser.run("decodeURIComponent(location.hash)")


def name_of(browser):
    """Return the id that the page of a case or a requirement is about."""
    return browser.run("document.querySelector('h1').dataset.copy")


def clipboard(browser):
    return browser.run("navigator.clipboard.readText()")


def test_words_that_are_typed_find_cases_and_stay_in_the_address(index):
    browser = index()
    assert shown(browser) == "1 to 50 of 300 cases"
    browser.press("/", *"64x64 bf16")
    browser.until("location.hash.includes('bf16')")
    assert address(browser) == "#cases?words=64x64+bf16"
    ids = browser.texts("#cases [data-line]")
    assert ids
    assert all("64x64" in id_ and "type:bf16" in id_ for id_ in ids)


def test_an_address_brings_back_what_was_searched(index):
    browser = index("#cases?words=workgroup&verdict=pass&family=load_store&order=time&from=1")
    form = browser.run("Object.fromEntries(new FormData(document.querySelector('#cases form')))")
    assert form == {"words": "workgroup", "verdict": "pass", "family": "load_store", "requirement": "", "order": "time"}
    assert {text.split()[-1] for text in browser.texts("#cases .badge")} == {"Pass"}
    assert all(id_.startswith("load_store") and "workgroup" in id_ for id_ in browser.texts("#cases [data-line]"))
    assert browser.run("Math.abs(document.getElementById('cases').getBoundingClientRect().top)") < 100


def test_a_number_leads_to_its_cases(index):
    browser = index()
    browser.click("#families .badge.fail")
    browser.until("document.querySelector('#cases form').elements.verdict.value === 'fail'")
    assert address(browser) in ("#cases?family=load_store&verdict=fail", "#cases?family=muladd&verdict=fail")
    number = browser.text("#families .badge.fail")
    assert shown(browser).endswith(f" of {number} cases")


def test_a_defect_leads_to_the_cases_that_it_explains(index):
    browser = index()
    number = browser.text("#defects td a")
    browser.click("#defects td a")
    browser.until("document.querySelector('#cases form').elements.verdict.value === 'fail'")
    assert address(browser) == "#cases?words=load_store.layout_swapped&verdict=fail"
    assert shown(browser).endswith(f" of {number} cases")


def test_words_between_quotation_marks_are_one(index):
    browser = index('#cases?words="row:f16"')
    assert shown(browser) == "No cases match."


def test_pages_of_the_list_have_addresses(index):
    browser = index()
    browser.click("#cases .pager button[name=forward]")
    assert shown(browser) == "51 to 100 of 300 cases"
    assert address(browser) == "#cases?from=51"
    browser.click("#cases .pager .copy")
    browser.until("document.querySelector('#cases .pager .copy').innerText === 'Copied'")
    assert clipboard(browser).endswith("index.html#cases?from=51")
    assert shown(index("#cases?from=51")) == "51 to 100 of 300 cases"


def test_j_and_k_walk_through_the_list(index):
    browser = index("#cases?verdict=fail")
    first, second = browser.texts("#cases [data-line]")[:2]
    browser.run("document.querySelector('#cases [data-line]').focus()")
    browser.press("j")
    assert browser.run("document.activeElement.innerText") == second
    browser.press("k")
    assert browser.run("document.activeElement.innerText") == first
    browser.run("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    browser.press("c")
    browser.until("window.copied")
    assert browser.run("window.copied") == first
    browser.press("Enter")
    browser.until("document.querySelector('h1 .copy')")
    assert name_of(browser) == first


def test_folds_open_and_close(failure):
    assert not failure.run("document.querySelector('#shader details, .failing details').open")
    failure.click(".failing details summary")
    assert failure.run("document.querySelector('.failing details').open")
    failure.click(".failing details summary")
    assert not failure.run("document.querySelector('.failing details').open")
    failure.press("e")
    assert failure.run("[...document.querySelectorAll('main details')].every((one) => one.open)")
    failure.press("e")
    assert not failure.run("[...document.querySelectorAll('main details')].some((one) => one.open)")


def test_a_link_opens_the_fold_that_it_leads_into(index):
    browser = index()
    browser.run("document.querySelector('main details:not([open]) li').id = 'inside'")
    browser.run("location.hash = '#inside'")
    browser.until("document.getElementById('inside').closest('details').open")


def test_commands_and_ids_are_copied_whole(failure):
    failure.click("#again .copy")
    failure.until("document.querySelector('#again .copy').innerText === 'Copied'")
    command = clipboard(failure)
    assert command == failure.run("document.querySelector('#again pre').textContent")
    failure.press("c")
    failure.until("document.querySelector('h1 .copy').innerText === 'Copied'")
    assert clipboard(failure) == name_of(failure)
    assert clipboard(failure) in command


def test_copying_works_without_a_clipboard(failure):
    failure.run("Object.defineProperty(navigator, 'clipboard', {value: undefined, configurable: true})")
    failure.run("document.addEventListener('copy', () => { window.copied = document.activeElement.value; })")
    failure.click("#again .copy")
    failure.until("window.copied")
    assert failure.run("window.copied === document.querySelector('#again pre').textContent")


def test_previous_and_next_walk_through_the_failures(failure):
    here = failure.text("h1")
    failure.click("a[rel=next]")
    failure.until(f"document.querySelector('h1') && document.querySelector('h1').innerText !== {json.dumps(here)}")
    failure.loaded()
    there = failure.text("h1")
    failure.press("k")
    failure.until(f"document.querySelector('h1') && document.querySelector('h1').innerText !== {json.dumps(there)}")
    failure.loaded()
    assert failure.text("h1") == here
    failure.press("j")
    failure.until(f"document.querySelector('h1') && document.querySelector('h1').innerText === {json.dumps(there)}")
    failure.loaded()
    failure.press("u")
    failure.until("document.getElementById('families')")


def test_the_walk_of_a_wrong_element_unfolds_and_leads_to_where_the_defect_departs(browser, suite_cases):
    browser.open(suite_cases / failure_place(REUSE))
    assert not browser.run("document.getElementById('walk').open")
    browser.click("#walk summary")
    browser.until("document.getElementById('walk').open")
    assert "d1 byte" in browser.text("#walk li")
    assert len(browser.texts("#walk tbody tr")) == 1 + 16
    # The page's own listener, which unfolds what the link leads to, comes before this one.
    browser.run("addEventListener('hashchange', () => { window.hasArrived = true })")
    browser.click("#walk a[href='#departure']")
    browser.until("window.hasArrived && location.hash === '#departure'")
    assert "MatrixMulAdd" in browser.text("#departure strong")
    assert browser.run("document.getElementById('departure').getBoundingClientRect().top") < 900
    browser.press("e")
    browser.press("e")
    assert not browser.run("document.getElementById('walk').open")


def test_the_terms_of_a_sum_can_be_read_on_a_phone(browser, suite_cases):
    browser.send("Emulation.setDeviceMetricsOverride", width=400, height=900, deviceScaleFactor=1, mobile=False)
    browser.open(suite_cases / failure_place(REUSE), "#departure")
    browser.until("document.getElementById('walk').open")
    lines = "[...document.querySelectorAll('#walk td code')].map(one => one.getClientRects().length)"
    assert max(browser.run(lines)) <= 2
    assert browser.run("document.documentElement.scrollWidth") <= 400
    browser.send("Emulation.clearDeviceMetricsOverride")


def test_a_link_into_the_walk_unfolds_it(browser, suite_cases):
    browser.open(suite_cases / failure_place(REUSE), "#departure")
    browser.until("document.getElementById('walk').open")


def test_a_static_rule_shows_the_instruction_that_breaks_it(browser, suite_cases):
    browser.open(suite_cases / failure_place(STATIC_RULE))
    assert ["OpCooperativeMatrixStoreKHR" in line for line in browser.texts("#difference .added")] == [True]
    assert ["OpCooperativeMatrixLoadKHR" in line for line in browser.texts("#difference .removed")] == [True]
    browser.click("#difference .copy")
    browser.until("document.querySelector('#difference .copy').innerText === 'Copied'")
    assert "OpCooperativeMatrixStoreKHR" in clipboard(browser)


def test_rules_lead_to_their_public_documents(browser, suite_cases):
    browser.open(suite_cases / failure_place(STATIC_RULE))
    links = browser.run("[...document.querySelectorAll('a.outside')].map((one) => one.href)")
    assert any(link.endswith("vkspec.html#VUID-StandaloneSpirv-None-10685") for link in links)


def test_a_near_pass_leads_to_its_line_in_the_list(failure):
    id_ = failure.text("#nearest a.id").replace("\n", "")
    failure.click("#nearest a.id")
    failure.until("document.getElementById('cases')?.dataset.ready")
    failure.loaded()
    assert failure.texts("#cases [data-line]") == [id_]
    assert "Pass" in failure.text("#cases .badge")


@pytest.mark.parametrize("height", [600, 900])
def test_the_first_picture_is_not_higher_than_the_window(failure, height):
    failure.send("Emulation.setDeviceMetricsOverride", width=1440, height=height, deviceScaleFactor=1, mobile=False)
    assert failure.run("document.querySelector('figure').getBoundingClientRect().height") <= height
    failure.send("Emulation.clearDeviceMetricsOverride")


def test_an_element_under_the_pointer_is_read_out(failure):
    failure.click(".failing figure rect")
    failure.until("document.querySelector('.readout').innerText.startsWith('row ')")
    assert "expected 0x" in failure.text(".readout")


def test_a_requirement_leads_to_its_cases(failure):
    failure.click("#requirements a.id")
    failure.until("document.getElementById('devices')")
    failure.loaded()
    id_ = name_of(failure)
    assert "Example GPU 9000" in failure.text("#devices tbody")
    failure.click("#cases p a:last-child")
    failure.until("document.getElementById('cases')?.dataset.ready")
    assert address(failure) == f"#cases?requirement={id_}"


@needs_duckdb
def test_the_history_shows_what_changed_and_each_case(browser, runs):
    browser.open(runs / "tuesday" / "history.html")
    browser.until("document.getElementById('cases').dataset.ready")
    assert browser.texts("#runs tbody th") == ["monday", "tuesday", "wednesday"]
    assert all("type:f16" in id_ for id_ in browser.texts("#cases [data-line]"))
    assert browser.texts("#cases tr:first-child .marks .badge") == ["✓", "✗", "✓"]
    browser.click("#cases tbody summary")
    browser.until("document.querySelectorAll('#cases tr:first-child details tr').length === 3")
    assert browser.texts("#cases tr:first-child details .badge") == ["✓ Pass", "✗ Fail", "✓ Pass"]


@needs_duckdb
def test_a_failure_leads_to_its_history(failure):
    id_ = name_of(failure)
    assert len(failure.texts("#history tbody tr")) == 3
    failure.click("#history p a")
    failure.until("document.getElementById('cases')?.dataset.ready")
    assert failure.texts("#cases [data-line]") == [id_]
    assert failure.run("document.querySelector('#cases details').open")


def test_a_comparison_leads_to_the_pages_of_new_failures(browser, runs):
    browser.open(runs / "compared.html")
    assert "new failure" in browser.text(".banner")
    browser.click("nav a[href^='#new_failure']")
    browser.press("e")
    id_ = browser.text("section a.id")
    browser.click("section a.id")
    browser.until("document.querySelector('h1 .copy')")
    assert name_of(browser) == id_


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    "page", ["index.html", pytest.param("history.html", marks=needs_duckdb), "../compared.html", "failures", "requirements"]
)
def test_no_page_is_wider_than_its_window(browser, runs, page, width):
    place = runs / "tuesday" / page
    browser.send("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    for file in [place] if place.is_file() else sorted(place.iterdir())[:40:8]:
        browser.open(file)
        assert browser.run("document.documentElement.scrollWidth") <= width
        if page == "history.html":
            assert not browser.run("[...document.querySelectorAll('.scroll')].some((one) => one.scrollWidth > one.clientWidth)")
    browser.send("Emulation.clearDeviceMetricsOverride")


def test_what_is_stacked_on_a_phone_is_not_cut(browser, example, tmp_path):
    long = "cooperativeMatrixFlexibleDimensionsMaxDimension"
    records = [example.record("a[1]", "fail", requirements=["CM2-LIM-02"], reason=f"{long}: {long}")]
    records.append(example.record("a[2]", "not_supported", code=f"missing.limit.{long}", reason=f"{long} is 4,294,967,295"))
    write(example.write_journal(tmp_path, records), tmp_path)
    browser.send("Emulation.setDeviceMetricsOverride", width=400, height=900, deviceScaleFactor=1, mobile=False)
    browser.open(tmp_path / "index.html")
    cut = "[...document.querySelectorAll('.scroll')].filter(one => one.querySelector('.stacked') && one.scrollWidth > one.clientWidth)"
    assert browser.run(f"{cut}.map(one => one.closest('section').id)") == []
    assert browser.run("document.documentElement.scrollWidth") <= 400
    browser.send("Emulation.clearDeviceMetricsOverride")


def test_a_long_list_is_made_as_it_is_shown(browser, example, tmp_path):
    some = [result_of(record) for record in example.realistic(1000)]
    results = tuple(replace(one, id=f"{one.id[:-1]}/copy:{copy}]", failures=()) for copy in range(20) for one in some)
    run = Run((tmp_path / "results.jsonl",), results)
    summary, about = summarise(results), context(run)
    text = html.index(run, summary, causes(results), about, headline(summary, about), {}, html.pages(results), {})
    (tmp_path / "index.html").write_text(text)
    browser.open(tmp_path / "index.html")
    browser.until("document.getElementById('cases').dataset.ready")
    assert shown(browser) == "1 to 50 of 20,000 cases"
    assert browser.run("document.querySelectorAll('#cases tbody tr').length") == 50
    assert browser.run("document.querySelectorAll('*').length") < 5000


@needs_duckdb
def test_marks_of_runs_that_did_not_judge_a_case_are_also_in_narrow_windows(browser, example, tmp_path):
    for day, cases in enumerate((("a[x]", "a[y]"), ("a[x]",)), 1):
        verdict = "pass" if day > 1 else "fail"
        example.write_journal(tmp_path / str(day), [example.record(id_, verdict) for id_ in cases], started=f"2027-03-0{day}")
    assert main(["history", str(tmp_path), "--html", str(tmp_path / "page.html")]) == 0
    browser.send("Emulation.setDeviceMetricsOverride", width=400, height=900, deviceScaleFactor=1, mobile=False)
    browser.open(tmp_path / "page.html", "#cases?words=y&show=all")
    browser.until("document.getElementById('cases').dataset.ready")
    assert browser.text("#cases .marks") == "✗·"
    browser.send("Emulation.clearDeviceMetricsOverride")
