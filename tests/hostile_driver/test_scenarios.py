"""The suite on a driver that misbehaves: each scenario of the table is reported for the right case, and for no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.hostile_driver.building import build, obstacle
from tests.hostile_driver.running import execute, undisturbed
from tests.hostile_driver.scenario import Run, case_ids, read_table
from tests.hostile_driver.verification import complaints, records_of
from tests.lavapipe import needs

pytestmark = needs(obstacle())


@pytest.fixture(scope="session")
def layer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that has the layer."""
    folder = tmp_path_factory.mktemp("layer")
    build(folder)
    return folder


@pytest.fixture(scope="session")
def usual(layer: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Return family -> the record of its case in a run without faults."""
    seen = undisturbed(tmp_path_factory.mktemp("undisturbed"), layer)
    records = records_of(seen)
    assert seen.exit == 0, seen.output.decode(errors="replace")
    assert {family: record["verdict"] for family, record in records.items()} == dict.fromkeys(case_ids(), "pass")
    return records


@pytest.mark.parametrize("run", read_table(), ids=lambda run: run.name.replace(" ", "-"))
def test_each_fault_is_reported_of_the_case_that_it_hit(run: Run, layer: Path, usual: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    seen, resumed = execute(run, tmp_path, layer)
    wrong = complaints(run, seen, resumed, usual)
    assert not wrong, "\n".join(f"{scenario}: {text}" for scenario, texts in wrong.items() for text in texts)
