"""Specialization constants: the suite must notice a device that ignores them, and pipelines must share their module."""

from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest

from cts.kinds.kernel import arrange, compile_module
from cts.reference.evaluate import evaluate
from cts.verdict.compare import compare
from generators.casebook import build, expand
from generators.errors import GeneratorError, Rule
from generators.kernel import Outcome
from generators.program.values import MatrixType, Operand, Selected, extent
from generators.types import COMPONENT_TYPES, Scope, Use
from tests.broken_rules import breaks
from tests.families.evidence import judged
from tests.suite import casebook

FAMILIES = ("specialization", "specialization_length", "specialization_muladd")
U32 = COMPONENT_TYPES["u32"]


def left_at_default(program, name):
    """Return the program of a device that leaves one constant at its default, both in types and in operands."""

    def of(value):
        if isinstance(value, Operand) and value.name == name:
            return replace(value, value=value.default)
        if isinstance(value, tuple):
            return tuple(of(one) for one in value)
        if not is_dataclass(value) or isinstance(value, type):
            return value
        if type(value).__module__.startswith("generators.program"):
            return replace(value, **{field.name: of(getattr(value, field.name)) for field in fields(value)})
        return value

    return of(program)


def shows(program, subcase, broken):
    """Return whether the outputs of ``broken`` are rejected."""
    _, _, expected, before, _ = judged(program, subcase)
    try:
        other = evaluate(broken, subcase)
    except (GeneratorError, ValueError):
        return True
    outputs = {name: data.copy() for name, data in before.items()}
    for placed in other.placed:
        bits = np.ascontiguousarray(placed.expected.bits)
        size = placed.expected.component.bytes
        outputs[placed.array][placed.offsets[..., None] + np.arange(size)] = bits.view(np.uint8).reshape(*bits.shape, size)
    written = {array.name: outputs[array.name] for array in program.arrays if array.role == "output"}
    return bool(compare(program, expected, before, Outcome(written)))


@pytest.mark.parametrize("kind", ["rows", "columns", "load_layout", "store_layout", "load_stride", "store_stride"])
def test_a_constant_left_at_its_default_shows(kind):
    seen = 0
    for case in expand(casebook().family("specialization"), "smoke")[::4]:
        built = build(case)
        program = built.program
        operand = next((o for o in program.operands if o.name == kind), None)
        if operand is None or operand.default == operand.value or program.others or case.parameters.twin != "none":
            continue
        plan = arrange(built)
        assert any(shows(program, subcase, left_at_default(program, kind)) for subcase in plan.subcases), case.id
        seen += 1
    assert seen


@pytest.mark.parametrize("family", FAMILIES)
def test_pipelines_of_a_case_share_their_module_and_differ(family):
    cases = [case for case in expand(casebook().family(family), "smoke") if "+" in case.id]
    assert cases
    for case in cases:
        program = build(case).program
        assert compile_module(program, "spirv")
        assert len({one.label for one in program.all}) == len(program.all) > 1, case.id
        assert len({(one.operands, one.subgroups) for one in program.all}) > 1, case.id


def test_programs_of_different_modules_are_refused():
    first, second = (build(case).program for case in expand(casebook().family("specialization"), "smoke")[:60:50])
    with breaks(Rule.MODULES_DIFFER):
        compile_module(replace(first, others=(replace(second, label="second"),)), "spirv")


def test_every_pipeline_has_the_subcases_of_the_case():
    case = next(case for case in expand(casebook().family("specialization"), "smoke") if case.parameters.subgroups.words == ("1", "4", "2"))
    built = build(case)
    program = built.program
    plan = arrange(built)
    assert len(plan.subcases) == len(case.subcases) * len(program.all)
    assert len({subcase.name for subcase in plan.subcases}) == len(plan.subcases)
    assert [len(plan.dispatches_of(one)) for one in program.all] == [len(case.subcases)] * len(program.all)


def test_a_selected_extent_follows_its_flag():
    flag = Operand("flag", U32, "specialization", 1, 1, 0)
    assert extent(Selected(flag, 37, 1)) == 37
    assert extent(Selected(replace(flag, value=0), 37, 1)) == 1


def test_a_matrix_type_tells_the_values_of_its_constants():
    def constant(name, value):
        return Operand(name, U32, "specialization", value, 1, 0)

    type_ = MatrixType(COMPONENT_TYPES["f16"], constant("s", 3), constant("r", 16), 8, constant("u", 1))
    assert (type_.scope_value, type_.shape, type_.use_value) == (Scope.SUBGROUP, (16, 8), Use.B)
