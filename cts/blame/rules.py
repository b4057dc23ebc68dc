"""The rules that turn evidence into a conclusion: whose fault a failure is, in one sentence, and how sure that is.

The first rule that applies decides. A rule that blames the driver gives its full confidence only if no doubt applies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from cts.blame.evidence import FAILS, FINISHES, OPTIMISATIONS, Facts, Found, Step, Worded
from cts.verdict.codes import Code, Reason, is_within
from cts.verdict.verdict import Verdict


class Party(Worded):
    """Who may be at fault."""

    DRIVER = "driver", "driver"
    COMPILER = "compiler", "driver's compiler"
    SUITE = "suite", "suite"
    FRONT_END = "front_end", "glslang"
    NOBODY = "nobody", "nobody"
    UNKNOWN = "unknown", "unknown"


class Confidence(StrEnum):
    """How sure a conclusion is, the least sure first."""

    POSSIBLE = "possible"
    LIKELY = "likely"
    CERTAIN = "certain"

    def lowered(self, levels: int) -> Confidence:
        """Return the confidence that is so many levels lower, or the lowest."""
        order = list(Confidence)
        return order[max(0, order.index(self) - levels)]


When = Callable[[Facts], bool]


@dataclass(frozen=True)
class Rule:
    """A rule.

    Attributes:
        id: its name for programs.
        confidence: how sure it is, without doubts.
        when: whether it applies.
        sentence: the conclusion for people, with the names that ``conclude`` fills in. ``{told}`` has the details of the step ``tells``.
        tells: see ``sentence``.
        doubted: whether doubts lower its confidence.
    """

    id: str
    party: Party
    confidence: Confidence
    when: When
    sentence: str
    tells: Step = Step.FIRST
    doubted: bool = False


@dataclass(frozen=True)
class Doubt:
    """A reason to be less sure that the driver is at fault.

    Attributes:
        levels: by how many levels it lowers the confidence.
    """

    id: str
    levels: int
    when: When
    sentence: str


@dataclass(frozen=True)
class Conclusion:
    """The conclusion from the evidence.

    Attributes:
        rule: the id of the rule.
        doubts: the id of each doubt that lowered the confidence, with its sentence.
    """

    rule: str
    party: Party
    confidence: Confidence
    sentence: str
    doubts: tuple[Reason, ...] = ()


def _values_differ(facts: Facts, *embedded: Found) -> bool:
    """Tell whether values are wrong on the driver, and the embedded device ended in one of these ways."""
    return facts.has_wrong_values and facts.of(Step.EMBEDDED) in embedded


def _is_rejected(facts: Facts) -> bool:
    return Found.REJECTED in (facts.of(Step.SPIRV_VAL), facts.of(Step.EMBEDDED))


def _passing_forms(facts: Facts) -> list[Step]:
    """Return the steps in which the driver passes with the same program in another module."""
    return [step for step in (Step.OTHER_FRONT_END, *OPTIMISATIONS) if facts.of(step) is Found.PASSES]


def _independent(facts: Facts) -> bool:
    """Tell whether a driver that shares no code with this one fails in the same way. A crash is a defect of each that has it."""
    alike = (one for one in facts.devices(Found.SAME) if one.origin != facts.origin)
    return (facts.has_wrong_values or is_within(facts.code, Code.FAIL_CALL)) and any(alike)


_BREAKS = (Code.CRASH, Code.DEVICE_LOST, Code.TIMEOUT, Code.FAIL_CALL)
"""Failures that no expected value decides."""


def _is_drivers(facts: Facts) -> bool:
    return facts.of(Step.EMBEDDED) in FINISHES or any(is_within(facts.code, one) for one in _BREAKS)


def _has_witness(facts: Facts) -> bool:
    """Tell whether something outside of this suite shows that the driver is wrong. A known defect is none: if the suite misreads the text,
    a driver that reads it rightly also looks like a defect."""
    return bool(any(facts.devices(Found.PASSES)) or _passing_forms(facts))


_CERTAIN, _LIKELY, _POSSIBLE = Confidence.CERTAIN, Confidence.LIKELY, Confidence.POSSIBLE

RULES: tuple[Rule, ...] = (
    Rule(
        "passes",
        Party.UNKNOWN,
        _POSSIBLE,
        lambda facts: set(facts.runs) <= {Found.PASSES},
        "The case passes in each of two fresh processes. If it failed in a run, it fails rarely, or only after other cases "
        "('cts run --repeat' counts the failures).",
    ),
    Rule(
        "permitted",
        Party.NOBODY,
        _CERTAIN,
        lambda facts: facts.verdict is Verdict.QUALITY_WARNING,
        "The specification permits what the driver does, or may permit it; only a position of this suite expects otherwise.",
    ),
    Rule(
        "front_end_rejects",
        Party.SUITE,
        _POSSIBLE,
        lambda facts: facts.of(Step.COMPILE) is Found.REJECTED,
        "glslang rejects the suite's GLSL, so no driver gets a module: the GLSL is wrong, or glslang lacks something ({told}).",
        Step.COMPILE,
    ),
    Rule(
        "front_end_breaks",
        Party.FRONT_END,
        _LIKELY,
        lambda facts: facts.of(Step.COMPILE) is Found.DIFFERS,
        "glslang does not finish, so no driver gets a module: glslang is wrong, whatever the GLSL is ({told}).",
        Step.COMPILE,
    ),
    Rule(
        "undefined_module",
        Party.SUITE,
        _LIKELY,
        lambda facts: facts.of(Step.EMBEDDED) is Found.UNDEFINED and facts.of(Step.EMBEDDED_OTHER_FRONT_END) in FINISHES,
        "Only the module of the front end {front_end} has undefined behaviour, and not the one of {other}: the suite emits {front_end} "
        "wrongly{or_glslang} ({told}).",
        Step.EMBEDDED,
    ),
    Rule(
        "undefined_case",
        Party.SUITE,
        _CERTAIN,
        lambda facts: facts.of(Step.EMBEDDED) is Found.UNDEFINED,
        "The case has undefined behaviour, so a driver may do anything: the suite is wrong ({told}).",
        Step.EMBEDDED,
    ),
    Rule(
        "front_end_invalid",
        Party.FRONT_END,
        _LIKELY,
        lambda facts: _is_rejected(facts) and facts.front_end == "glsl",
        "glslang accepts the GLSL, but makes a module that is not valid ({told}).",
        Step.SPIRV_VAL,
    ),
    Rule(
        "invalid_module",
        Party.SUITE,
        _LIKELY,
        _is_rejected,
        "The suite assembles a module that is not valid, so a driver may do anything ({told}).",
        Step.SPIRV_VAL,
    ),
    Rule(
        "invalid_use",
        Party.SUITE,
        _LIKELY,
        lambda facts: facts.of(Step.VALIDATION) is Found.REJECTED,
        "The validation layer objects to what the suite does with Vulkan ({told}).",
        Step.VALIDATION,
    ),
    Rule(
        "suite_error",
        Party.SUITE,
        _CERTAIN,
        lambda facts: facts.verdict is Verdict.ERROR,
        "The suite itself failed, so nothing is known about the driver ({told}).",
    ),
    Rule(
        "wrong_emitter",
        Party.SUITE,
        _LIKELY,
        lambda facts: _values_differ(facts, *FAILS) and facts.of(Step.EMBEDDED_OTHER_FRONT_END) is Found.PASSES,
        "The embedded device also gives wrong results for the module of the front end {front_end}, but right ones for the module of "
        "{other}: the suite emits {front_end} wrongly{or_glslang}.",
    ),
    Rule(
        "wrong_reference",
        Party.SUITE,
        _CERTAIN,
        lambda facts: _values_differ(facts, Found.SAME),
        "The driver and the embedded device give the same bits, but the reference model does not permit them: the suite's expectation is "
        "wrong, or the module is not the program that it describes.",
    ),
    Rule(
        "readings_differ",
        Party.SUITE,
        _CERTAIN,
        lambda facts: _values_differ(facts, *FAILS),
        "The embedded device and the reference model, the suite's two readings of the case, disagree: one of them is wrong, whatever the "
        "driver does.",
    ),
    Rule(
        "device_state",
        Party.UNKNOWN,
        _POSSIBLE,
        lambda facts: facts.of(Step.CONTROL) in FAILS,
        "A shader without cooperative types also fails, so the failure tells nothing about cooperative types: the device may need a reset, "
        "or the driver fails in general.",
    ),
    Rule(
        "flaky",
        Party.UNKNOWN,
        _POSSIBLE,
        lambda facts: sum(one is Found.PASSES for one in facts.runs) > 1,
        "The case failed once and passed in two other fresh processes: the device was in another state, or the driver or the case has a "
        "race ('cts run --repeat' counts the failures).",
    ),
    Rule(
        "out_of_memory",
        Party.NOBODY,
        _LIKELY,
        lambda facts: facts.verdict is Verdict.RESOURCE_ERROR,
        "The device is out of memory, which no rule forbids.",
    ),
    Rule(
        "independent_drivers",
        Party.UNKNOWN,
        _POSSIBLE,
        _independent,
        "Drivers that share no code fail in the same way, so the text may permit what they do: read the requirement again.",
    ),
    Rule(
        "slow_compiler",
        Party.COMPILER,
        _CERTAIN,
        lambda facts: is_within(facts.code, Code.TIMEOUT) and facts.in_pipeline,
        "The driver's compiler does not finish within the limit; no rule bounds this time.",
        doubted=True,
    ),
    Rule(
        "form_of_module",
        Party.COMPILER,
        _CERTAIN,
        lambda facts: _is_drivers(facts) and bool(_passing_forms(facts)),
        "{valid}, and the driver passes with other modules of the same program ({forms}): its compiler handles this form wrongly.",
        doubted=True,
    ),
    Rule(
        "compiler_breaks",
        Party.COMPILER,
        _CERTAIN,
        lambda facts: _is_drivers(facts) and facts.in_pipeline,
        "{valid}, but the driver does not make its pipeline: the driver's compiler is wrong.",
        doubted=True,
    ),
    Rule(
        "driver_breaks",
        Party.DRIVER,
        _CERTAIN,
        lambda facts: _is_drivers(facts) and not facts.has_wrong_values,
        "{valid}, but the driver does not run it to its end: the driver is wrong.",
        doubted=True,
    ),
    Rule(
        "wrong_values",
        Party.DRIVER,
        _CERTAIN,
        _is_drivers,
        "{valid}, and the suite's two readings of the case agree, but the driver gives other values: the driver is wrong.",
        doubted=True,
    ),
    Rule(
        "no_second_reading",
        Party.UNKNOWN,
        _POSSIBLE,
        lambda _: True,
        "Only one reading of the rule judges this case, so nothing here tells who is wrong: read the requirement.",
    ),
)
"""The rules, in order. The last one always applies."""

DOUBTS: tuple[Doubt, ...] = (
    Doubt("no_second_reading", 2, lambda facts: facts.of(Step.EMBEDDED) not in FINISHES, "the embedded device did not run the module"),
    Doubt(
        "no_validator",
        1,
        lambda facts: not facts.has_wrong_values and facts.of(Step.SPIRV_VAL) is Found.NOT_RUN,
        "no validator judged the module",
    ),
    Doubt(
        "no_witness",
        1,
        lambda facts: (facts.has_wrong_values or is_within(facts.code, Code.FAIL_CALL)) and not _has_witness(facts),
        "no other driver and no other module of the program gives the expected results",
    ),
    Doubt("policy", 1, lambda facts: facts.has_wrong_values and facts.policy, "the bound of these values is a policy of the suite"),
    Doubt("position", 1, lambda facts: bool(facts.position), "a position of the suite chooses this reading of the text"),
    Doubt(
        "rounding",
        1,
        lambda facts: bool(facts.relations & {"outcome.rounded_otherwise", "outcome.relative_error"}),
        "the results differ only in their rounding, which the specification seldom fixes",
    ),
    Doubt("model", 1, lambda facts: facts.modelled, "a model of the chip, a part of this suite, ran the compiled code"),
    Doubt("unsteady", 1, lambda facts: set(facts.runs) != {Found.SAME}, "the runs in fresh processes differ"),
    Doubt("time_limit", 2, lambda facts: is_within(facts.code, Code.TIMEOUT), "a slower machine or a shorter limit gives a timeout too"),
)
"""The reasons to be less sure that the driver is at fault."""

FORMS = {Step.OTHER_FRONT_END: "front end {other}", **{step: f"spirv-opt {option}" for step, option in OPTIMISATIONS.items()}}


def conclude(facts: Facts) -> Conclusion:
    """Return the conclusion of the first rule that applies."""
    rule = next(rule for rule in RULES if rule.when(facts))
    doubts = [doubt for doubt in DOUBTS if rule.doubted and doubt.when(facts)]
    confidence = rule.confidence.lowered(sum(doubt.levels for doubt in doubts))
    or_glslang = ", or glslang translates it wrongly" if facts.front_end == "glsl" else ""
    names = {"front_end": facts.front_end, "other": facts.other, "or_glslang": or_glslang}
    clean = facts.of(Step.EMBEDDED) in FINISHES
    valid = "The embedded device finds no undefined behaviour" if clean else "Nothing here shows a mistake of the suite"
    if facts.of(Step.SPIRV_VAL) is Found.PASSES:
        valid += ", spirv-val accepts the module"
    forms = ", ".join(FORMS[step].format(**names) for step in _passing_forms(facts))
    sentence = rule.sentence.format(**names, forms=forms, valid=valid, told=facts.told(rule.tells))
    return Conclusion(rule.id, rule.party, confidence, sentence, tuple(Reason(doubt.id, doubt.sentence) for doubt in doubts))
