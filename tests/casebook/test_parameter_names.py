"""Parameters named by a keyword of Python, which cannot name a field of a dataclass."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from generators.casebook.conditions import applying, observing
from generators.parameters.declaration import declarations, make_parameters, parameter


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """Parameters; one of them is called ``from`` in the YAML."""

    from_: str = parameter("where it begins", default="here", applies=lambda parameters: parameters.moves)
    trailing_: int = parameter("an underscore that no word of Python needs", default=1)
    moves: bool = parameter("whether there is a beginning")


def test_the_parameter_has_the_word_for_its_name():
    assert list(declarations(Parameters)) == ["from", "trailing_", "moves"]
    assert declarations(Parameters)["from"].attribute == "from_"


def test_an_object_is_made_from_values_by_parameter():
    made = make_parameters(Parameters, {"from": "there", "trailing_": 2, "moves": True})
    assert made == Parameters(from_="there", trailing_=2, moves=True)


@pytest.mark.parametrize(
    ("begin", "moves", "allowed"), [("here", True, True), ("there", True, True), ("here", False, True), ("there", False, False)]
)
def test_conditions_read_it_by_its_field(begin, moves, allowed):
    (constraint,) = applying(declarations(Parameters))
    assert constraint.predicate is not None
    _, predicate = constraint.predicate
    assert predicate(observing(Parameters)({"from": begin, "moves": moves})) is allowed


def test_what_is_unknown_stops_a_condition():
    (constraint,) = applying(declarations(Parameters))
    assert constraint.predicate is not None
    with pytest.raises(KeyError):
        constraint.predicate[1](observing(Parameters)({"from": "there"}))
