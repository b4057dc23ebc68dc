"""The rules: which conclusion follows from which evidence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cts.blame.evidence import Evidence, Facts, Found, Step
from cts.blame.rules import DOUBTS, RULES, Confidence, Party, conclude
from cts.verdict.verdict import Verdict

PASSES, SAME, DIFFERS, NOT_RUN = Found.PASSES, Found.SAME, Found.DIFFERS, Found.NOT_RUN
CLEAN = {Step.EMBEDDED: PASSES, Step.SPIRV_VAL: PASSES, Step.CONTROL: PASSES}
CERTAIN, LIKELY, POSSIBLE = Confidence.CERTAIN, Confidence.LIKELY, Confidence.POSSIBLE
DRIVER, COMPILER, SUITE, NOBODY, UNKNOWN = Party.DRIVER, Party.COMPILER, Party.SUITE, Party.NOBODY, Party.UNKNOWN


def facts(
    code="fail.value",
    steps=(),
    verdict=Verdict.FAIL,
    runs=(SAME, SAME),
    others=(),
    front_end="spirv",
    policy=False,
    position="",
    relations=(),
    modelled=False,
):
    """Return facts. ``steps`` maps steps to what they found; ``others`` are origins of other devices and how they ended."""
    found = [Evidence(step, one) for step, one in zip((Step.FIRST, Step.SECOND, Step.THIRD), runs, strict=False)]
    found += [Evidence(step, one) for step, one in dict(steps).items()]
    found += [Evidence(Step.OTHER_DEVICES, one, device=origin, origin=origin) for origin, one in others]
    return Facts(verdict, code, front_end, "Mesa", tuple(found), policy, position, frozenset(relations), modelled)


RULE_TABLE = [
    ("passes", UNKNOWN, POSSIBLE, facts("", verdict=Verdict.PASS, runs=(PASSES, PASSES))),
    ("permitted", NOBODY, CERTAIN, facts("quality_warning.F-1", CLEAN, Verdict.QUALITY_WARNING)),
    ("front_end_rejects", SUITE, POSSIBLE, facts("error.generator", {Step.COMPILE: Found.REJECTED}, Verdict.ERROR)),
    ("front_end_breaks", Party.FRONT_END, LIKELY, facts("error.generator", {Step.COMPILE: DIFFERS}, Verdict.ERROR)),
    ("undefined_case", SUITE, CERTAIN, facts("crash.dispatch", {Step.EMBEDDED: Found.UNDEFINED}, Verdict.CRASH)),
    (
        "undefined_case",
        SUITE,
        CERTAIN,
        facts(steps={Step.EMBEDDED: Found.UNDEFINED, Step.EMBEDDED_OTHER_FRONT_END: Found.UNDEFINED}),
    ),
    ("undefined_module", SUITE, LIKELY, facts(steps={Step.EMBEDDED: Found.UNDEFINED, Step.EMBEDDED_OTHER_FRONT_END: PASSES})),
    ("invalid_module", SUITE, LIKELY, facts(steps={**CLEAN, Step.SPIRV_VAL: Found.REJECTED})),
    ("front_end_invalid", Party.FRONT_END, LIKELY, facts(steps={**CLEAN, Step.SPIRV_VAL: Found.REJECTED}, front_end="glsl")),
    ("invalid_use", SUITE, LIKELY, facts(steps={**CLEAN, Step.VALIDATION: Found.REJECTED})),
    ("suite_error", SUITE, CERTAIN, facts("error.reference", CLEAN, Verdict.ERROR)),
    ("wrong_emitter", SUITE, LIKELY, facts(steps={**CLEAN, Step.EMBEDDED: SAME, Step.EMBEDDED_OTHER_FRONT_END: PASSES})),
    ("wrong_reference", SUITE, CERTAIN, facts(steps={**CLEAN, Step.EMBEDDED: SAME, Step.EMBEDDED_OTHER_FRONT_END: SAME})),
    ("wrong_reference", SUITE, CERTAIN, facts(steps={**CLEAN, Step.EMBEDDED: SAME})),
    ("readings_differ", SUITE, CERTAIN, facts(steps={**CLEAN, Step.EMBEDDED: DIFFERS})),
    ("device_state", UNKNOWN, POSSIBLE, facts("timeout.dispatch", {**CLEAN, Step.CONTROL: DIFFERS}, Verdict.TIMEOUT)),
    ("flaky", UNKNOWN, POSSIBLE, facts(steps=CLEAN, runs=(SAME, PASSES, PASSES))),
    ("out_of_memory", NOBODY, LIKELY, facts("resource_error.dispatch", CLEAN, Verdict.RESOURCE_ERROR)),
    ("independent_drivers", UNKNOWN, POSSIBLE, facts(steps=CLEAN, others=[("NVIDIA", SAME)])),
    ("slow_compiler", COMPILER, POSSIBLE, facts("timeout.pipeline", CLEAN, Verdict.TIMEOUT)),
    ("form_of_module", COMPILER, CERTAIN, facts(steps={**CLEAN, Step.OPTIMISED: PASSES})),
    ("form_of_module", COMPILER, CERTAIN, facts("crash.dispatch", {**CLEAN, Step.OTHER_FRONT_END: PASSES}, Verdict.CRASH)),
    ("compiler_breaks", COMPILER, CERTAIN, facts("crash.pipeline", CLEAN, Verdict.CRASH)),
    ("compiler_breaks", COMPILER, LIKELY, facts("fail.call.pipeline", CLEAN)),
    ("driver_breaks", DRIVER, CERTAIN, facts("crash.dispatch", CLEAN, Verdict.CRASH)),
    ("driver_breaks", DRIVER, CERTAIN, facts("device_lost.dispatch", {**CLEAN, Step.EMBEDDED: DIFFERS}, Verdict.DEVICE_LOST)),
    ("wrong_values", DRIVER, LIKELY, facts(steps=CLEAN)),
    ("wrong_values", DRIVER, LIKELY, facts(steps={**CLEAN, Step.EXPLANATION: SAME})),
    ("wrong_values", DRIVER, CERTAIN, facts(steps=CLEAN, others=[("NVIDIA", PASSES)])),
    ("wrong_values", DRIVER, LIKELY, facts(steps=CLEAN, others=[("Mesa", SAME)])),
    ("no_second_reading", UNKNOWN, POSSIBLE, facts("fail.accepted")),
    ("no_second_reading", UNKNOWN, POSSIBLE, facts()),
]


@pytest.mark.parametrize(("rule", "party", "confidence", "known"), RULE_TABLE, ids=lambda value: value if isinstance(value, str) else "")
def test_the_conclusion_follows_from_the_evidence(rule, party, confidence, known):
    concluded = conclude(known)
    assert (concluded.rule, concluded.party, concluded.confidence) == (rule, party, confidence)


def test_each_rule_has_evidence_from_which_it_follows():
    assert {rule for rule, *_ in RULE_TABLE} == {rule.id for rule in RULES}


WITNESSED = {"steps": CLEAN, "others": [("NVIDIA", PASSES)]}
DOUBT_TABLE = {
    "no_second_reading": facts("crash.dispatch", {Step.SPIRV_VAL: PASSES}, Verdict.CRASH),
    "no_validator": facts("crash.dispatch", {Step.EMBEDDED: PASSES}, Verdict.CRASH),
    "no_witness": facts(steps=CLEAN),
    "policy": facts(**WITNESSED, policy=True),
    "position": facts(**WITNESSED, position="F-1"),
    "rounding": facts(**WITNESSED, relations=["outcome.rounded_otherwise"]),
    "model": facts(**WITNESSED, modelled=True),
    "unsteady": facts(**WITNESSED, runs=(SAME, DIFFERS)),
    "time_limit": facts("timeout.dispatch", CLEAN, Verdict.TIMEOUT),
}


@pytest.mark.parametrize("id_", [doubt.id for doubt in DOUBTS])
def test_a_doubt_lowers_the_confidence(id_):
    concluded = conclude(DOUBT_TABLE[id_])
    assert [doubt.code for doubt in concluded.doubts] == [id_]
    levels = next(doubt.levels for doubt in DOUBTS if doubt.id == id_)
    assert concluded.confidence is (LIKELY if levels == 1 else POSSIBLE)


def test_a_crash_is_the_drivers_fault_on_every_driver_that_crashes():
    alike = facts("crash.dispatch", CLEAN, Verdict.CRASH, others=[("NVIDIA", SAME)])
    assert conclude(alike).party is DRIVER


@pytest.mark.parametrize("rule", ["wrong_emitter", "undefined_module"])
def test_a_wrong_module_from_glsl_may_also_be_glslangs_mistake(rule):
    known = next(known for id_, *_, known in RULE_TABLE if id_ == rule)
    assert "glslang" not in conclude(known).sentence
    assert "glslang" in conclude(replace(known, front_end="glsl")).sentence


def test_braces_in_what_a_tool_says_are_shown():
    said = Evidence(Step.EMBEDDED, Found.UNDEFINED, "index {7} of {n}")
    known = facts()
    assert "index {7} of {n}" in conclude(Facts(known.verdict, known.code, "spirv", "Mesa", (*known.evidence, said))).sentence
