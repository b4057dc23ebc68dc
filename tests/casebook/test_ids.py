"""Ids name the parameters in which a case differs from its family's defaults."""

from __future__ import annotations

import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import pytest

from generators.casebook.ids import named_labels, parse_labels
from generators.casebook.parameters import Parameter
from generators.errors import CasebookError
from generators.parameters.declaration import declarations, parameter


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """One parameter without a default, and two that have one."""

    component: Literal["f16", "s8"] = parameter("a type")
    form: Literal["straight", "loop"] = parameter("control flow", default="straight")
    trips: int = parameter("of the loop", default=3)


LABELS = {"component": ("f16", "s8"), "form": ("loop", "straight"), "trips": ("0", "3")}
PARAMETERS = [Parameter(name, MappingProxyType(dict.fromkeys(labels)), declarations(Parameters)[name]) for name, labels in LABELS.items()]


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        (("f16", "straight", "3"), "component:f16"),
        (("s8", "loop", "3"), "component:s8/form:loop"),
        (("f16", "straight", "0"), "component:f16/trips:0"),
        (("s8", "loop", "0"), "component:s8/form:loop/trips:0"),
    ],
)
def test_a_parameter_at_its_default_is_left_out_wherever_its_label_is(labels: tuple[str, ...], text: str) -> None:
    assert named_labels(PARAMETERS, labels) == text
    assert parse_labels(PARAMETERS, text) == labels


@pytest.mark.parametrize("text", ["component:s8/trips:0", "trips:0/component:s8", "form:straight/trips:0/component:s8"])
def test_the_order_is_free_and_defaults_may_be_stated(text: str) -> None:
    assert parse_labels(PARAMETERS, text) == ("s8", "straight", "0")


def test_where_every_parameter_has_a_default_nothing_is_named() -> None:
    assert named_labels(PARAMETERS[1:], ("straight", "3")) == ""
    assert parse_labels(PARAMETERS[1:], "") == ("straight", "3")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "parameter 'component' is missing and has no default"),
        ("form:loop", "parameter 'component' is missing and has no default"),
        ("component:f32", "parameter 'component' has no label 'f32'; expected one of f16, s8"),
        ("component:f16/component:s8", "parameter 'component' is given twice"),
        ("component:f16/shape:8x8", "there is no parameter 'shape'; expected one of component, form, trips"),
        ("component:f16/", "expected name:label, found ''"),
        ("f16", "expected name:label, found 'f16'"),
    ],
)
def test_text_that_names_no_case_is_explained(text: str, message: str) -> None:
    with pytest.raises(CasebookError, match=re.escape(message)):
        parse_labels(PARAMETERS, text)
