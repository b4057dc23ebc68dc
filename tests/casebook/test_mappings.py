"""YAML mappings that become dataclasses: an unknown key is an error at every level."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

from generators.parameters.mappings import convert


@dataclass(frozen=True)
class Inner:
    """A mapping inside another."""

    size: int = 1


@dataclass(frozen=True)
class Outer:
    """A mapping with each kind of member that may hold mappings."""

    one: Inner | None = None
    many: tuple[Inner, ...] = ()
    pair: tuple[str, Inner] = ("", Inner())
    named: Mapping[str, Inner] = field(default_factory=dict)


def test_members_are_decoded():
    data = {"one": {"size": 2}, "many": [{"size": 3}, {}], "pair": ["x", {"size": 4}], "named": {"a": {"size": 5}}}
    assert convert(data, Outer) == Outer(Inner(2), (Inner(3), Inner(1)), ("x", Inner(4)), {"a": Inner(5)})
    assert convert({"one": None}, Outer) == Outer()


@pytest.mark.parametrize(
    "data",
    [
        {"sise": 2},
        {"one": {"sise": 2}},
        {"many": [{}, {"sise": 2}]},
        {"pair": ["x", {"sise": 2}]},
        {"named": {"a": {"sise": 2}}},
    ],
)
def test_a_key_without_a_field_is_named(data: dict[str, Any]):
    with pytest.raises(msgspec.ValidationError, match="unknown key 'sise'; expected some of "):
        convert(data, Outer)


def test_values_of_another_type_are_refused_by_msgspec():
    with pytest.raises(msgspec.ValidationError, match="Expected `int`"):
        convert({"one": {"size": "2"}}, Outer)
