"""Labels come from the type of a parameter; the YAML lists the values that a family takes only if they are fewer,
in another order, or of an open type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from generators.casebook import Family
from generators.casebook.parameters import read_parameters
from generators.document import Element, read_document
from generators.parameters.declaration import declarations, declarations_in_ids, parameter
from tests.suite import casebook, plain

FAMILIES = [pytest.param(family, id=family.name) for family in casebook()]


@dataclass(frozen=True, kw_only=True)
class Placed:
    """Parameters that several families share."""

    place: Literal["front", "back"] = parameter("where it is", default="back")
    near: bool = parameter("whether it is near", default=False)


@dataclass(frozen=True, kw_only=True)
class Parameters(Placed):
    """Parameters of a family."""

    size: int = parameter("how large it is", default=1, then=("place",))
    colour: int = parameter("its colour", labels={"red": 1, "green": 2, "blue": 3}, default="green")
    name: Literal["a", "b"] = parameter("what it is called")


def read(tmp_path: Path, text: str) -> Mapping[str, Mapping[str, object]]:
    path = tmp_path / "parameters.yaml"
    path.write_text(f"family: x\nparameters: {text}")
    top: Element = read_document(path)
    parameters = read_parameters(top.entries()["parameters"], declarations_in_ids(Parameters), top)
    return {one.name: dict(one.values) for one in parameters}


def test_a_parameter_that_is_left_out_has_all_values_of_its_type_its_default_first(tmp_path: Path) -> None:
    assert read(tmp_path, "{size: [1, 2]}") == {
        "near": {"false": False, "true": True},
        "size": {"1": 1, "2": 2},
        "place": {"back": "back", "front": "front"},
        "colour": {"green": 2, "red": 1, "blue": 3},
        "name": {"a": "a", "b": "b"},
    }


def test_the_yaml_restricts_and_orders(tmp_path: Path) -> None:
    found = read(tmp_path, "{size: [1, 2], colour: [blue, green]}")
    assert list(found["colour"]) == ["blue", "green"]


def test_a_parameter_that_keeps_its_default_follows_the_others(tmp_path: Path) -> None:
    found = read(tmp_path, "{colour: default, size: default}")
    assert found["size"] == {"1": 1}
    assert found["colour"] == {"green": 2}
    assert list(found) == ["near", "place", "name", "colour", "size"]


def test_inherited_parameters_come_first_unless_another_one_names_them() -> None:
    assert list(declarations(Parameters)) == ["place", "near", "size", "colour", "name"]
    assert list(declarations_in_ids(Parameters)) == ["near", "size", "place", "colour", "name"]


@pytest.mark.parametrize("family", FAMILIES)
def test_no_list_repeats_what_the_type_says(family: Family) -> None:
    document = plain(family.path)
    listed = {name for key in ("parameters", "subcases") for name, values in document.get(key, {}).items() if isinstance(values, list)}
    for one in (*family.parameters, *family.subcase_parameters):
        if one.name in listed and one.declaration.values is not None:
            assert one.labels != tuple(one.declaration.values), f"{family.path} repeats the values of {one.name}: leave it out"
