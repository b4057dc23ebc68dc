"""The data of reductions and of operations on elements must give a different result under each of their known defects."""

import pytest

from cts.defects.callbacks import callback_defects
from generators.casebook import expand
from generators.types import ReduceMode, Scope
from tests.families.evidence import seen, unseen
from tests.suite import casebook

OTHER_SIGN = "per_element.compared_by_other_sign"
REDUCE = "reduce[component:{}/shape:{}/mode:{}/to:{}/function:{}/form:{}/nesting:{}/scope:{}/subgroups:{}]"
ELEMENTS = "per_element[component:{}/use:{}/shape:{}/function:{}/order:{}/form:{}/integers:{}/scope:{}/subgroups:{}]"


def reduction(component, mode, function, shape="16x16", to="same", form="single", nesting=0, scope="subgroup", subgroups=1):
    return REDUCE.format(component, shape, mode, to, function, form, nesting, scope, subgroups)


def elements(
    function, component="f16", use="acc", shape="16x16", order=0, form="single", integers="unsigned", scope="subgroup", subgroups=1
):
    return ELEMENTS.format(component, use, shape, function, order, form, integers, scope, subgroups)


LINES = [
    reduction(component, mode, function)
    for mode in ("row", "column")
    for component, functions in {
        "f16": ("add", "minimum", "magnitude"),
        "f32": ("add", "maximum", "multiply"),
        "s32": ("minimum", "maximum", "and", "circle"),
        "u32": ("add", "maximum", "minimum", "xor", "or", "multiply"),
    }.items()
    for function in functions
]
OTHERS = [
    reduction("f32", "both", "add"),
    reduction("u32", "both", "xor", "16x32", "turned"),
    reduction("s32", "2x2", "add", "16x32", "half"),
    reduction("f16", "2x2", "maximum", "16x16", "half"),
    reduction("u32", "row", "add", form="chained"),
    reduction("f32", "column", "add", form="shared"),
    reduction("s32", "row", "add", form="product"),
    reduction("f32", "row", "add", form="loop"),
    reduction("u32", "row", "circle", form="branch", subgroups=2),
    reduction("f32", "row", "maximum", form="shifted"),
    reduction("f32", "row", "add", "8x8", nesting=2),
    reduction("bf16", "row", "add"),
    reduction("e4m3", "column", "minimum"),
    reduction("s8", "row", "add"),
    reduction("f16", "row", "add", "64x32", "half", scope="workgroup", subgroups=4),
]


@pytest.mark.parametrize("case_id", LINES + OTHERS, ids=lambda text: text.replace("[", "(").replace("]", ")"))
def test_reductions_show_every_known_defect(case_id):
    found = seen(case_id, defects=callback_defects)
    assert len(found) >= 4
    assert not unseen(found)


ELEMENT_CASES = [
    *(elements(f, component) for f in ("place", "mask", "clamp", "bias", "table", "scale", "outside") for component in ("f16", "u32")),
    *(elements("mask", "s32", shape="32x16", integers=integers) for integers in ("unsigned", "signed", "row_signed", "column_signed")),
    *(elements("clamp", component) for component in ("s8", "u8", "s32", "bf16", "e5m2")),
    *(elements("scalars", "f32", order=order) for order in range(4)),
    *(elements("vector", component, order=order) for component in ("f16", "e4m3") for order in range(3)),
    *(elements("struct", "s32", order=order) for order in range(4)),
    *(elements("matrices", "f32", order=order) for order in range(3)),
    *(elements("mixed", "f16", order=order) for order in range(4)),
    *(elements("bundled", "u32", order=order) for order in range(5)),
    *(elements(function, "s8", use, "16x32") for function in ("place", "mixed") for use in ("a",)),
    *(elements(function, "f16", "b", "16x8") for function in ("place", "mixed", "table")),
    *(elements("mixed", "f32", form=form, order=1) for form in ("twice", "chained", "itself")),
    elements("place", "f32", form="loop"),
    elements("position", "u32", shape="32x16"),
    elements("unused", "f16"),
    elements("bias", "f32", shape="32x16", form="branch", subgroups=2),
    elements("table", "s32", shape="64x64", scope="workgroup", subgroups=8),
]


@pytest.mark.parametrize("case_id", ELEMENT_CASES, ids=lambda text: text.replace("[", "(").replace("]", ")"))
def test_functions_of_elements_show_every_known_defect(case_id):
    # Some forms compare a row with a column in their own function. The sign does not matter there.
    found = [
        one
        for one in seen(case_id, defects=callback_defects)
        if not (one.defect.id == OTHER_SIGN and one.defect.parameters.get("function") in ("apply_above", "apply_below"))
    ]
    assert len(found) >= 2
    assert not unseen(found)


@pytest.mark.parametrize("component", ["f32", "u32", "f16"])
def test_functions_that_others_call_show_exchanged_arguments(component):
    found = [one for one in seen(elements("nested", component), defects=callback_defects) if one.defect.id != OTHER_SIGN]
    assert "per_element.arguments_exchanged" in {one.defect.id for one in found}
    assert not unseen(found)


@pytest.mark.parametrize("family", ["reduce", "per_element"])
def test_the_smoke_tier_has_matrices_of_each_scope_in_types_of_current_devices(family):
    parameters = [case.parameters for case in expand(casebook().family(family), "smoke")]
    for scope in Scope:
        found = {each.component.name for each in parameters if each.scope is scope}
        assert found >= {"f16", "f32", "s32", "u32"}


@pytest.mark.parametrize("mode", ReduceMode)
def test_the_smoke_tier_reduces_by_each_function_in_each_mode(mode):
    parameters = [case.parameters for case in expand(casebook().family("reduce"), "smoke")]
    functions = {each.function for each in parameters if each.mode is mode}
    assert functions >= {"add", "minimum", "maximum", "multiply", "xor", "circle"}
