"""The static families: what their data promise, and the detection of wrong validators."""

from __future__ import annotations

import pytest

from cts.kinds.static import module_text, what_is_wrong
from cts.validators.validator import Answer
from generators.casebook import Case, CaseKind, TestKind, Tier, build_module, expand
from generators.families.static_rules import Parameters
from generators.module_check import ModuleCheck
from generators.mutations.rules import ELEMENTS, element_group
from generators.parameters.declaration import NotAValue, declarations
from generators.property_rows import parse_row
from generators.spirv.disassemble import disassemble
from tests.suite import casebook

SPECIFICATIONS = ("SPV_KHR_cooperative_matrix", "SPV_NV_cooperative_matrix2", "SPV_NV_tensor_addressing", "SPV_NV_cooperative_vector")
RULE = {"requirement": "KHR-A-01", "says": "row", "broken": {"body": ["OpNop"]}}


FAMILIES = [family.name for family in casebook() if family.kind is CaseKind.STATIC]


@pytest.fixture(scope="module", params=FAMILIES)
def checks(request) -> dict[Case, ModuleCheck]:
    """Return the modules of a family's nightly tier."""
    return {case: build_module(case) for case in expand(casebook().family(request.param), Tier.NIGHTLY)}


@pytest.fixture
def smoke(checks) -> list[ModuleCheck]:
    """Return the modules of the family's smoke tier."""
    return [checks[case] for case in expand(next(iter(checks)).definition, Tier.SMOKE)]


@pytest.mark.parametrize("name", FAMILIES)
def test_a_case_covers_the_requirement_of_its_rule_and_no_other(name):
    family = casebook().family(name)
    assert all(case.requirements == (case.parameters.rule.requirement,) for case in expand(family, "smoke"))
    assert all(rule.rule and not rule.message.matches("") for rule in family.parameters[0].values.values())


def test_each_rule_has_both_forms_in_the_smoke_tier_and_they_differ(checks):
    family = next(iter(checks)).definition
    smoke = {case.labels for case in expand(family, Tier.SMOKE)}
    for rule in family.parameters[0].labels:
        assert {form for label, form, _ in smoke if label == rule} == {"legal", "broken"}
    modules = {case.labels: check for case, check in checks.items()}
    for (rule, form, types), check in modules.items():
        assert check.accepted == (form == "legal")
        other = modules.get((rule, "legal" if form == "broken" else "broken", types))
        assert other is None or other.module != check.module


def test_each_module_of_the_smoke_tier_has_a_text(smoke):
    """The other modules of a rule have only other types."""
    for check in smoke:
        assert disassemble(check.module) if check.accepted else module_text(check.module)


@pytest.mark.parametrize("specification", SPECIFICATIONS)
def test_every_static_requirement_is_covered_or_listed_as_missing(specification):
    static = {
        id_ for id_, entry in casebook().requirements.items() if entry.specification == specification and TestKind.STATIC in entry.kinds
    }
    covered = {cover.id for name in FAMILIES for cover in casebook().family(name).covers}
    missing = {id_ for id_ in static - covered if not any(id_ in text for name in FAMILIES for text in casebook().family(name).todo)}
    assert not missing


def test_a_validator_that_says_yes_or_no_to_everything_is_found_out(smoke):
    assert all(bool(what_is_wrong(check, Answer(True))) != check.accepted for check in smoke)
    assert all(what_is_wrong(check, Answer(False, "error: this is not valid")) for check in smoke)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"sais": "x"}, "unknown key 'sais'"),
        ({"legal": {"body": ["OpNop"]}}, "are the same"),
        ({"says": "row.*"}, "not a regular expression"),
        ({"says": ["row", ""]}, "empty piece"),
        ({"elements": ["f16"]}, "Invalid enum value 'f16'"),
        ({"broken": {"insert": []}}, "unknown key 'insert'; expected some of declare, body, replace, functions"),
    ],
)
def test_a_rule_that_cannot_be_read_says_why(change, why):
    rule = declarations(Parameters)["rule"]
    with pytest.raises(NotAValue, match=why):
        rule.value(RULE | change, "some")
    with pytest.raises(NotAValue, match="missing required field `says`"):
        rule.value({key: value for key, value in RULE.items() if key != "says"}, "some")


def test_rows_are_grouped_by_what_their_elements_are():
    rows = ("16x16x16.f16.f16.f32.f32", "16x16x16.bf16.bf16.f32.f32", "16x8x32.s8.s8.s32.s32", "8x8x8.u8.u8.u32.u32")
    assert tuple(element_group(parse_row(row).a) for row in rows) == ELEMENTS
