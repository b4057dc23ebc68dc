"""twins.yaml names parameters and labels of the casebook, and each entry makes twins."""

from __future__ import annotations

import pytest

from cts.twins.declared import FRONT_END, Declaration, Likeness, load, read, twins_of
from generators.casebook import find_case
from generators.casebook.cases import expand
from generators.casebook.tiers import Tier
from generators.errors import CasebookError
from tests.suite import casebook


@pytest.mark.parametrize("family", load().families)
def test_each_declared_parameter_makes_twins_in_the_nightly_tier(family: str):
    found = {twin.differs_in for case in expand(casebook().family(family), Tier.NIGHTLY) for twin in twins_of(case, "spirv", load())}

    assert found == set(load().families[family])


@pytest.mark.parametrize("family", load().families)
def test_each_declared_label_exists(family: str):
    known = {parameter.name: set(parameter.labels) for parameter in casebook().family(family).parameters}

    assert all(set(alike.labels) <= known[name] for name, alike in load().families[family].items())


def test_a_twin_has_the_base_and_is_otherwise_the_same_case():
    case = find_case(casebook(), "aggregates[row:16x16x16.f16.f16.f32.f32/storage:private/write:operand/source:buffer]")

    assert {(twin.differs_in, twin.case.id, twin.in_flow) for twin in twins_of(case, "spirv", load())} == {
        ("storage", "aggregates[row:16x16x16.f16.f16.f32.f32/write:operand/source:buffer]", True),
        ("source", "aggregates[row:16x16x16.f16.f16.f32.f32/storage:private/write:operand/source:literal]", False),
    }


def test_a_base_has_no_twin():
    case = find_case(casebook(), "control_flow_variables[row:8x8x8.f16.f16.f32.f32/form:swap]")

    assert twins_of(case, "spirv", load()) == []


def test_the_other_front_end_makes_a_twin_of_the_same_case():
    case = find_case(casebook(), "control_flow_variables[row:8x8x8.f16.f16.f32.f32/form:swap]")

    assert [(twin.differs_in, twin.case, twin.front_end) for twin in twins_of(case, "glsl", load())] == [(FRONT_END, case, "spirv")]


def test_a_twin_that_the_constraints_forbid_does_not_exist():
    declared = Declaration(("spirv", "glsl"), {"aggregates": {"move": Likeness(("rotate", "load_store"), in_flow=True)}})
    case = find_case(casebook(), "aggregates[row:8x8x8.f16.f16.f32.f32/holder:struct/move:load_store]")

    assert twins_of(case, "spirv", declared) == []


def test_a_base_alone_is_refused(tmp_path):
    path = tmp_path / "twins.yaml"
    path.write_text("front_ends: [spirv, glsl]\nfamilies:\n  aggregates:\n    flow: {storage: [function]}\n")

    with pytest.raises(CasebookError, match="storage"):
        read(path)
