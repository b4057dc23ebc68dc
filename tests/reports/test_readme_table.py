from __future__ import annotations

import json
from collections import Counter
from xml.etree import ElementTree

import pytest

from generators.errors import CtsError
from reports.readme_table import ROOT, main, updated

README = "before\n<!-- published runs -->\nold\n<!-- end of published runs -->\nafter\n"


def publish(root, name, verdicts, modelled="", **counts):
    folder = root / name
    folder.mkdir(parents=True)
    device = {"name": "Device (CHIP), executed by a model" if modelled else "Device", "driver": "driver 1"}
    meta = {"device": device, "tier": "smoke", "front_end": "spirv", "modelled": modelled}
    (folder / "summary.json").write_text(json.dumps({"verdicts": verdicts, **counts}))
    (folder / "meta.json").write_text(json.dumps(meta))


def test_every_published_run_has_a_row(tmp_path):
    publish(tmp_path, "one", {"pass": 1200, "fail": 3})
    publish(tmp_path, "two", {"crash": 1, "known_fail": 5, "unexpected_pass": 4, "not_supported": 2})
    text, _ = updated(README, tmp_path)
    assert "| [one](reports/published/one/summary.md) | Device, driver 1 | 1,200 | 3 fail | 0 | none | 0 |" in text
    assert "| 0 | 1 crash | 5 | 4 unexpected_pass | 2 |" in text


def test_a_specification_has_what_each_run_judged_of_it(tmp_path):
    families = {"muladd": {"pass": 7, "not_supported": 2}, "vector_muladd": {"not_supported": 3}}
    requirements = {"KHR-MAD-01": {"pass": 7}, "KHR-MAD-02": {"not_supported": 2}, "CV-MM-01": {"not_supported": 3}}
    publish(tmp_path, "one", {"pass": 7}, families=families, requirements=requirements)
    text, _ = updated("<!-- published specifications -->\n<!-- end of published specifications -->\n", tmp_path)
    assert "| SPV_KHR_cooperative_matrix | 95 | 1 requirements; 7 pass, 2 not_supported |" in text
    assert "| SPV_NV_cooperative_vector | 103 | 0 requirements; 3 not_supported |" in text
    assert "| SPV_NV_cooperative_matrix2 | 90 | none |" in text


def test_a_run_on_a_model_has_a_row_only_in_the_table_of_models(tmp_path):
    publish(tmp_path / "executed", "chip", {"pass": 7}, "executed by a model")
    text, _ = updated(README + README.replace("runs", "models"), tmp_path)
    runs, _, models = text.partition("published models")
    assert "chip" not in runs
    assert "| [chip](../reports/published/executed/chip/summary.md) | Device (CHIP), executed by a model, driver 1 | 7 |" in models


def test_a_run_on_a_model_is_refused_among_those_of_drivers(tmp_path):
    publish(tmp_path, "chip", {"pass": 7}, "executed by a model")
    with pytest.raises(CtsError):
        updated(README, tmp_path)


def test_text_around_the_table_stays(tmp_path):
    text, _ = updated(README, tmp_path)
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert updated(text, tmp_path) == (text, {})


MULADD = "muladd[row:8x8x16.f16.f16.f32.f32/data:exact/form:reuse/layouts:cccc]"
SHOWN = "<!-- published failure: lavapipe-26.1.6-smoke {} it.svg -->\nold\n<!-- end of published failure -->\n"


def test_a_failure_is_shown_with_its_matrix():
    text, pictures = updated(SHOWN.format(MULADD), ROOT / "reports" / "published")
    assert "old" not in text
    assert f"```\nFAIL {MULADD}\nwrong value: 36 of 64 elements" in text
    assert "required by KHR-MAD-15" in text
    drawing = ElementTree.fromstring(pictures["it.svg"])
    kinds = Counter(element.get("class") for element in drawing.iter())
    assert (kinds["wrong"], kinds["want"], kinds["got"], kinds["right"]) == (36, 36, 36, 28)


@pytest.mark.parametrize("case", ["muladd[row:8x8x8.f16.f16.f32.f32]", "nonesuch[a:b]"])
def test_a_failure_that_no_run_has_is_refused(case):
    with pytest.raises(CtsError):
        updated(SHOWN.format(case), ROOT / "reports" / "published")


def test_the_pages_are_up_to_date():
    assert main(["--check"]) == 0
