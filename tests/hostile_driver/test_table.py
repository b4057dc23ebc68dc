"""The table of scenarios is sound: what it names exists, and no two scenarios of a run hit the same case."""

from __future__ import annotations

from collections import Counter

from cts.devices.device import Step
from cts.verdict.verdict import Verdict
from generators.casebook import find_case
from tests.hostile_driver.scenario import UNJUDGED, case_ids, read_table
from tests.hostile_driver.shaders import filled, shaders
from tests.suite import casebook

TABLE = read_table()
SCENARIOS = [scenario for run in TABLE for scenario in run.scenarios]
ENOUGH = 80
"""The least number of scenarios."""


def test_there_are_enough_scenarios() -> None:
    assert len(SCENARIOS) >= ENOUGH


def test_names_are_unique() -> None:
    names = Counter(scenario.name for scenario in SCENARIOS)
    assert [name for name, count in names.items() if count > 1] == []


def test_a_run_hits_each_case_at_most_once() -> None:
    for run in TABLE:
        hit = [scenario.of for scenario in run.scenarios if scenario.of is not None]
        assert len(hit) == len(set(hit)), run.name
        assert set(hit) <= case_ids(run.cases).keys(), run.name


def test_a_scenario_of_a_case_says_what_must_come_of_it() -> None:
    for scenario in SCENARIOS:
        assert bool(scenario.verdict) == (scenario.of is not None), scenario.name
        assert {*scenario.verdict, *scenario.tries} <= {*Verdict, UNJUDGED}, scenario.name
        assert scenario.step is None or scenario.step in set(Step), scenario.name


def test_faults_have_every_name_filled_in() -> None:
    for fault in (fault for scenario in SCENARIOS for fault in filled(scenario)):
        assert "call=" in fault
        assert "do=" in fault
        assert not {"{", "}", ";"} & set(fault)
        assert "None" not in fault


def test_every_case_with_a_shader_has_one_of_its_own() -> None:
    found = [shader.crc for shader in shaders().values()]
    assert len(found) == len(set(found)) == len(case_ids()) - 1


def test_every_case_is_named_as_the_suite_names_it() -> None:
    for id_ in case_ids().values():
        assert find_case(casebook(), id_).id == id_
