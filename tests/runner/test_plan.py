"""The plan that other processes of a run get."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from cts.devices.device import DeviceDescription
from cts.devices.messages import NotAMessage, Unsendable
from cts.engine.attempts import Attempts
from cts.engine.plan import Plan, checked_settings, plan_from_bytes, plan_to_bytes
from cts.engine.session import Settings
from cts.engine.shards import Shard
from cts.validators.validator import ValidatorSpec
from cts.verdict.failure_lists import Expressions, FailureList
from cts.verdict.known_failures import load_files
from cts.verdict.verdict import Verdict
from generators.casebook import Casebook, Tier

from .conftest import REPOSITORY

OPTIONS: Mapping[str, str | None] = dict.fromkeys(
    ("tier", "front_end", "validation", "embedded_mapping", "step_timeout", "isolation"), None
) | {"device": "embedded:nvidia-h200", "time_limit": "5"}


@pytest.fixture(scope="module")
def settings(casebook: Casebook) -> Settings:
    chosen = checked_settings(OPTIONS)
    entries = tuple(entry for file in load_files(REPOSITORY, casebook).values() for entry in file.entries)
    known = replace(
        chosen.known,
        entries=entries,
        lists=(FailureList("a-fails.txt", {"x": (Verdict.FAIL, Verdict.CRASH)}),),
        skips=(Expressions("a-skips.txt", (r"b\[.*",)),),
    )
    return replace(chosen, known=known)


def plan_of(settings: Settings, reports: Path = Path("reports")) -> Plan:
    attempts = Attempts(2, {"x": frozenset({1})})
    proven, asked = (("x", 0.5),), {"x": ("x[y:z]",)}
    return Plan((settings,), ("row",), {"a": ("a[b:c]",)}, None, attempts, proven, reports, "token", Shard(1, 2), asked)


def test_a_worker_gets_the_plan_that_was_made(settings):
    plan = plan_of(settings)
    assert plan_from_bytes(plan_to_bytes(plan)) == plan


def test_a_plan_may_be_for_a_validator(settings):
    plan = plan_of(replace(settings, spec=ValidatorSpec.SPIRV_VAL, tier=Tier.NIGHTLY))
    assert plan_from_bytes(plan_to_bytes(plan)) == plan


def test_a_report_directory_of_any_bytes_reaches_the_workers(settings):
    plan = plan_of(settings, Path("/reports \udcff"))
    assert plan_from_bytes(plan_to_bytes(plan)).reports == plan.reports


@pytest.mark.parametrize("data", [b"", b"\x80\x05a pickle"], ids=["empty", "pickle"])
def test_what_is_no_plan_is_not_taken_for_one(data):
    with pytest.raises(NotAMessage):
        plan_from_bytes(data)


def test_what_is_no_data_is_not_sent(settings):
    description = replace(settings.description, extra={"object": object()})
    assert isinstance(description, DeviceDescription)
    with pytest.raises(Unsendable):
        plan_to_bytes(plan_of(replace(settings, description=description)))
