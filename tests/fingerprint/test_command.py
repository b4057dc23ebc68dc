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
