"""The data of the elementwise family must give a different result under each known defect of arithmetic."""

import pytest

from cts.defects.constants import constant_defects
from cts.defects.elementwise import elementwise_defects
from cts.defects.evaluation import evaluate_defect
from cts.diagnosis.shown import outcome_of
from cts.reference.evaluate import evaluate
from cts.verdict.compare import compare, compare_quality
from cts.verdict.poison import initial_contents
from generators.casebook import expand
from generators.types import Scope, Use
from tests.families.evidence import parts, seen, unseen
from tests.suite import casebook

CASE = "elementwise[component:{}/shape:{}/operation:{}/form:{}/source:{}/decoration:{}]"

FLOATS = ("f16", "f32", "f64")
INTEGERS = ("s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64")


def case(component, operation, form="plain", shape="8x8", source="literal", decoration="none"):
    return CASE.format(component, shape, operation, form, source, decoration)


def cases():
    for component in (*FLOATS, *INTEGERS):
        divisions = (
            ("divide",) if component in FLOATS else ("signed_divide",) if component[0] == "s" else ("signed_divide", "unsigned_divide")
        )
        for operation in ("add", "subtract", "multiply", *divisions, "negate", "times_scalar"):
            yield case(component, operation, "kept")
    yield from (case(component, "contraction", "kept", decoration="no_contraction") for component in FLOATS)


@pytest.mark.parametrize("case_id", list(cases()), ids=lambda text: text.replace("[", "(").replace("]", ")"))
def test_the_data_show_every_known_defect(case_id):
    found = seen(case_id, defects=elementwise_defects)
    assert found
    assert not unseen(one for one in found if not _has_the_precision_of_f32(case_id, one.defect))


def _has_the_precision_of_f32(case_id, defect):
    """Return whether a defect leaves f64 at least single precision, which is permitted (F-KHR-13)."""
    narrowed = defect.id in ("elementwise.float_narrowed", "elementwise.scalar_narrowed") and defect.parameters["type"] == "f32"
    return "component:f64" in case_id and (narrowed or defect.id == "elementwise.fused")


@pytest.mark.parametrize(
    ("operation", "id_"), [("multiply", "float_narrowed"), ("times_scalar", "scalar_narrowed"), ("contraction", "fused")]
)
def test_the_precision_of_f32_is_a_quality_warning_of_f64(operation, id_):
    case_id = case("f64", operation, decoration="no_contraction" if operation == "contraction" else "none")
    program, subcases = parts(case_id)
    found = [defect for defect in elementwise_defects(program) if defect.id == f"elementwise.{id_}"]
    found = [defect for defect in found if _has_the_precision_of_f32(case_id, defect)]
    assert found
    for defect in found:
        assert any(_is_told_apart(program, subcase, defect) for subcase in subcases), defect.text


def _is_told_apart(program, subcase, defect):
    expected = evaluate(program, subcase)
    before = initial_contents(program, subcase, expected)
    outcome = outcome_of(program, evaluate_defect(program, subcase, defect.substitutes), before)
    return not compare(program, expected, before, outcome) and bool(compare_quality(expected, before, outcome))


@pytest.mark.parametrize("component", [*FLOATS, *INTEGERS])
def test_a_chain_shows_each_operation_left_out(component):
    ids = ("elementwise.unchanged", "elementwise.other_operator", "elementwise.rounded_down")
    found = seen(case(component, "chain", source="push_constant", shape="16x16"), *ids, defects=elementwise_defects)
    assert len(found) >= 5
    assert not unseen(found)


@pytest.mark.parametrize("component", [*FLOATS, *INTEGERS])
@pytest.mark.parametrize("operation", ["times_scalar", "chain"])
def test_a_scalar_left_at_its_default_shows(component, operation):
    found = seen(case(component, operation, source="specialization"), defects=constant_defects)
    assert [one.is_visible for one in found] == [True]


def test_the_smoke_tier_has_each_operation_in_types_and_shapes_of_current_devices():
    """lavapipe: 8x8 of f16 and 8-bit integers, accumulators of f32 and 32-bit integers; NVIDIA: the same types in 16x16 and others."""
    cases = [case.parameters for case in expand(casebook().family("elementwise"), "smoke")]
    found = {(parameters.operation, parameters.shape == (8, 8)) for parameters in cases if _is_real(parameters)}
    operations = {
        "add",
        "subtract",
        "multiply",
        "divide",
        "signed_divide",
        "unsigned_divide",
        "negate",
        "times_scalar",
        "chain",
        "contraction",
    }
    assert {operation for operation, small in found if small} == operations
    assert {operation for operation, small in found if not small} == operations


def _is_real(parameters):
    name, shape = parameters.component.name, parameters.shape
    if parameters.scope is not Scope.SUBGROUP:
        return False
    if parameters.use is Use.ACCUMULATOR:
        return name in ("f16", "f32", "s32", "u32") and shape in ((8, 8), (16, 16), (16, 8))
    if name == "f16":
        return shape in ((8, 8), (16, 16), (16, 8)) or (parameters.use is Use.B and shape == (8, 16))
    return name in ("s8", "u8") and shape in (((8, 8), (16, 32)) if parameters.use is Use.A else ((8, 8), (32, 16), (32, 8)))
