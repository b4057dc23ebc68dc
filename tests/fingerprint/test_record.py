"""Fingerprints as files, their comparison, and models that are expected."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cts.fingerprint.comparison import differences, unexpected
from cts.fingerprint.inference import infer, judge
from cts.fingerprint.measuring import Measured, measure
from cts.fingerprint.observing import observe
from cts.fingerprint.one_operand import parse
from cts.fingerprint.page import page
from cts.fingerprint.record import BadFingerprint, Fingerprint, RowPrint, document, read
from generators.property_rows import parse_row
from tests.fingerprint.units import blocks_cut_toward_zero, converting_to_nearest, reducing

ROW = parse_row("2x2x2.f16.f16.f32.f32")


def _measured(bits: int) -> Measured:
    return measure(blocks_cut_toward_zero(2, bits), ROW, seed=7, elements=1500)


def _fingerprint(measured: Measured) -> Fingerprint:
    return Fingerprint("unit", "driver 1", (RowPrint(measured, infer(measured), observe(measured), measured.random.size),))


@pytest.fixture(scope="module")
def wide() -> Fingerprint:
    return _fingerprint(_measured(25))


@pytest.fixture(scope="module")
def narrow() -> Fingerprint:
    return _fingerprint(_measured(23))


def _written(found: Fingerprint, path: Path, results: bool = True) -> Path:
    path.write_text(json.dumps(document(found, results)))
    return path


def test_a_file_gives_the_same_fingerprint_again(wide: Fingerprint, tmp_path: Path) -> None:
    (old,), (new,) = wide.rows, read(_written(wide, tmp_path / "f.json")).rows
    assert (new.fit, new.elements, new.observed) == (old.fit, old.elements, old.observed)
    for name in ("results", "random"):
        np.testing.assert_array_equal(getattr(new.measured, name), getattr(old.measured, name))
    for name in ("names", "a", "b", "c"):
        np.testing.assert_array_equal(getattr(new.measured.probes, name), getattr(old.measured.probes, name))


def test_results_in_a_file_give_the_same_model_again(wide: Fingerprint, tmp_path: Path) -> None:
    (kept,) = read(_written(wide, tmp_path / "f.json")).rows
    assert infer(kept.measured) == wide.rows[0].fit


@pytest.mark.parametrize("text", ["", "{}", '{"format": 9, "recipe": 1, "device": "", "driver": "", "rows": []}'])
def test_what_is_no_fingerprint_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "f.json").write_text(text)
    with pytest.raises(BadFingerprint):
        read(tmp_path / "f.json")


@pytest.mark.parametrize("what", [{"seed": -1}, {"elements": -1}, {"observed": {"a": float("nan")}}])
def test_a_row_that_nobody_measured_is_refused(what: dict[str, object], wide: Fingerprint, tmp_path: Path) -> None:
    changed = document(wide, results=False)
    changed["rows"][0].update(what)
    (tmp_path / "f.json").write_text(json.dumps(changed))
    with pytest.raises(BadFingerprint):
        read(tmp_path / "f.json")


def test_a_name_in_a_file_does_not_control_the_terminal(wide: Fingerprint, tmp_path: Path) -> None:
    found = page(read(_written(replace(wide, device="a\x1b[2J\ud800\nb"), tmp_path / "f.json", results=False)))
    assert found.replace("\n", "").isprintable()
    assert "\nb" not in found


@pytest.mark.parametrize("what", [{"shape": [1 << 40]}, {"data": "!"}, {"bytes": 3}])
def test_an_array_of_another_size_is_refused(what: dict[str, object], wide: Fingerprint, tmp_path: Path) -> None:
    changed = document(wide)
    changed["rows"][0]["random"].update(what)
    (tmp_path / "f.json").write_text(json.dumps(changed))
    with pytest.raises(BadFingerprint):
        read(tmp_path / "f.json")


@pytest.mark.parametrize(
    "what",
    [
        {"block": 0},
        {"block": 3},
        {"nan": -1},
        {"alignment": 99},
        {"partial": "s8"},
        {"order": "none"},
        {"order": "halves"},
        {"products": ""},
    ],
)
def test_a_model_that_no_unit_has_is_refused(what: dict[str, object], wide: Fingerprint, tmp_path: Path) -> None:
    changed = document(wide, results=False)
    changed["rows"][0]["fit"]["model"].update(what)
    (tmp_path / "f.json").write_text(json.dumps(changed))
    with pytest.raises(BadFingerprint):
        read(tmp_path / "f.json")


def test_the_same_unit_has_no_differences(wide: Fingerprint) -> None:
    assert not list(differences(wide, _fingerprint(_measured(25))))


def test_another_alignment_differs_in_model_probes_and_results(wide: Fingerprint, narrow: Fingerprint) -> None:
    found = "\n".join(differences(wide, narrow))
    assert "alignment 25, then 23" in found
    assert "probes: " in found
    assert "random results" in found


def test_rows_that_only_one_has_are_named(wide: Fingerprint) -> None:
    nothing = replace(wide, rows=())
    assert len(list(differences(wide, nothing))) == len(list(differences(nothing, wide))) == 1


def test_an_expected_model_fits_the_same_unit(wide: Fingerprint, tmp_path: Path) -> None:
    expected = read(_written(wide, tmp_path / "models.json", results=False))
    assert not list(unexpected(expected, wide))


def test_an_expected_model_notices_a_changed_unit(wide: Fingerprint, narrow: Fingerprint, tmp_path: Path) -> None:
    expected = read(_written(wide, tmp_path / "models.json", results=False))
    assert list(unexpected(expected, narrow))


def test_an_expected_row_that_is_missing_is_noticed(wide: Fingerprint) -> None:
    assert len(list(unexpected(wide, replace(wide, rows=())))) == 1


def test_a_wrong_model_predicts_less(wide: Fingerprint) -> None:
    (row,) = wide.rows
    assert row.fit is not None
    assert row.fit.model is not None
    assert row.fit.random == 1
    assert judge(replace(row.fit.model, alignment=24), row.measured).random < 1


def test_the_ladder_shows_the_alignment(wide: Fingerprint) -> None:
    assert any("c_large_last 2^-25" in text for text in observe(wide.rows[0].measured).values())


@pytest.fixture(scope="module")
def reduced() -> Fingerprint:
    measured = measure(reducing("two_lanes"), parse("reduce_row.4x8.f16.f16"), seed=7, elements=400)
    return _fingerprint(measured)


def test_a_reduction_in_a_file_is_the_same_again(reduced: Fingerprint, tmp_path: Path) -> None:
    (kept,) = read(_written(reduced, tmp_path / "f.json")).rows
    assert infer(kept.measured) == kept.fit == reduced.rows[0].fit
    assert not list(differences(reduced, read(tmp_path / "f.json")))
    assert not list(unexpected(read(_written(reduced, tmp_path / "models.json", results=False)), reduced))


def test_another_order_of_a_reduction_is_noticed(reduced: Fingerprint) -> None:
    other = _fingerprint(measure(reducing("neighbours"), reduced.rows[0].measured.row, seed=7, elements=400))
    assert any(": model: order 0 1 + 4 +" in line for line in differences(reduced, other))
    assert list(unexpected(reduced, other))


@pytest.mark.parametrize("order", ["0 1 +", "0 1 + 2", "none"])
def test_an_order_of_other_elements_is_refused(order: str, reduced: Fingerprint, tmp_path: Path) -> None:
    changed = document(reduced, results=False)
    changed["rows"][0]["fit"]["model"]["order"] = order
    (tmp_path / "f.json").write_text(json.dumps(changed))
    with pytest.raises(BadFingerprint):
        read(tmp_path / "f.json")


def test_a_page_has_the_fields_that_a_conversion_has(tmp_path: Path) -> None:
    found = page(_fingerprint(measure(converting_to_nearest, parse("convert.4x4.f32.e5m2"), seed=7, elements=400)))
    assert "| final_rounding | nearest even |" in found
    assert "| block |" not in found


def test_a_page_has_the_share_of_each_row(wide: Fingerprint) -> None:
    assert "| 2x2x2.f16.f16.f32.f32 | 100 % |" in page(wide)
