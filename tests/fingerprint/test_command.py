"""The commands, on the embedded device."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cts.cli import main

ROW = ["--row", "16x16x32.s8", "--elements", "4096"]


def test_integers_of_the_embedded_device_are_exact(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.json"
    assert main(["fingerprint", "--device", "embedded", *ROW, "--out", str(out), "--page", str(tmp_path / "page.md")]) == 0
    (row,) = json.loads(out.read_text())["rows"]
    assert (row["fit"]["random"], row["fit"]["probes"]) == (1, 1)
    assert main(["fingerprint", "--from", str(out), "--expect-model", str(out)]) == 0
    assert main(["compare-fingerprints", str(out), str(out)]) == 0
    capsys.readouterr()


def test_a_difference_gives_exit_code_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, other = tmp_path / "out.json", tmp_path / "other.json"
    assert main(["fingerprint", "--device", "embedded", *ROW, "--out", str(out), "--page", str(tmp_path / "page.md")]) == 0
    document = json.loads(out.read_text())
    document["rows"][0]["fit"]["random"] = 0.5
    other.write_text(json.dumps(document))
    assert main(["compare-fingerprints", str(out), str(other), "--json"]) == 1
    capsys.readouterr()


def test_rows_that_the_device_lacks_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fingerprint", "--device", "embedded", "--row", "none"]) == 2
    capsys.readouterr()


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the results and the models of two rows."""
    folder = tmp_path_factory.mktemp("fingerprint")
    rows = ["--row", "16x16x32.s8", "--row", "16x16x32.u8", "--elements", "4096"]
    files = ["--out", str(folder / "f.json"), "--models", str(folder / "m.json"), "--page", str(folder / "f.md")]
    assert main(["fingerprint", "--device", "embedded", *rows, *files]) == 0
    return folder


def test_an_expected_row_that_is_not_asked_for_is_not_missed(measured: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--row", "16x16x32.s8", "--expect-model", str(measured / "m.json")]
    assert main(["fingerprint", "--from", str(measured / "f.json"), *arguments]) == 0
    assert main(["fingerprint", "--device", "embedded", *arguments]) == 0
    capsys.readouterr()


def test_the_rows_of_an_expected_model_are_measured(measured: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.json"
    assert main(["fingerprint", "--device", "embedded", "--expect-model", str(measured / "m.json"), "--models", str(out)]) == 0
    assert [row["row"] for row in json.loads(out.read_text())["rows"]] == [
        row["row"] for row in json.loads((measured / "m.json").read_text())["rows"]
    ]
    capsys.readouterr()


def test_models_without_results_give_no_fingerprint(measured: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fingerprint", "--from", str(measured / "m.json")]) == 2
    capsys.readouterr()


def test_no_row_of_a_file_is_refused(measured: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fingerprint", "--from", str(measured / "f.json"), "--row", "none"]) == 2
    assert main(["fingerprint", "--device", "embedded", "--row", "8x8x8.f16", "--expect-model", str(measured / "m.json")]) == 2
    capsys.readouterr()


@pytest.mark.parametrize("option", ["--out", "--models", "--page"])
def test_a_file_that_cannot_be_written_is_named(measured: Path, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fingerprint", "--from", str(measured / "f.json"), option, str(measured / "absent" / "x")]) == 2
    assert "absent" in capsys.readouterr().err
    assert main(["fingerprint", "--from", str(measured / "f.json"), option, str(measured)]) == 2
    capsys.readouterr()


def test_a_reduction_and_a_conversion_of_the_embedded_device_are_predicted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, rows = tmp_path / "out.json", ["--row", "reduce_2x2.32x32.f32", "--row", "convert_to_a"]
    assert main(["fingerprint", "--device", "embedded", *rows, "--elements", "500", "--out", str(out)]) == 0
    reduction, conversion = json.loads(out.read_text())["rows"]
    assert (reduction["row"], reduction["fit"]["random"]) == ("reduce_2x2.32x32.f32.f32", 1)
    assert (conversion["row"], conversion["fit"]["random"]) == ("convert_to_a.16x16.f32.bf16", 1)
    assert main(["fingerprint", "--from", str(out), "--expect-model", str(out)]) == 0
    capsys.readouterr()
