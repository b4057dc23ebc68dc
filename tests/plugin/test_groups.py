"""Several devices in one run."""

from __future__ import annotations

import json


def units(checkout) -> dict[str, str]:
    lines = (checkout.root / "out" / "results.jsonl").read_text(encoding="utf-8").splitlines()
    return {record["id"]: record["unit"] for record in map(json.loads, lines) if "id" in record}


def test_each_record_names_the_device_and_what_was_set_aside_keeps_its_own(checkout):
    behaviours = {"copying[number:n0]": "lost", "copying[number:n7]": "kill"}
    done = checkout.run("cts", "--device", "a", "--device", "b", "-n", "2", "--report-dir", "out", behaviours=behaviours)
    assert done.returncode == 1, done.stdout
    assert len(checkout.results()) == 8
    assert {unit.partition(":")[0] for unit in units(checkout).values()} == {"0", "1"}
    assert len(json.loads((checkout.root / "out" / "meta.json").read_text(encoding="utf-8"))["units"]) == 2


def test_devices_without_a_process_each_are_refused(checkout):
    done = checkout.run("cts", "--device", "a", "--device", "b")
    assert done.returncode == 2
    assert "-n 2" in done.stdout + done.stderr
