"""Tests compare the ids of errors, and no code depends on the wording of a message."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from generators.errors import Lack, Rule
from tests.suite import casebook

REPOSITORY = Path(__file__).parents[1]
VUID = re.compile(r"VUID-\w+-\w+-(\w+|parameter)")


def calls(text: str, *folders: str) -> Iterator[tuple[str, ast.Call]]:
    """Yield every call, with its place, in the Python files of folders that contain a text."""
    for folder in folders:
        for path in sorted((REPOSITORY / folder).rglob("*.py")):
            source = path.read_text(encoding="utf-8")
            for node in ast.walk(ast.parse(source)) if text in source else ():
                if isinstance(node, ast.Call):
                    yield f"{path.relative_to(REPOSITORY)}:{node.lineno}", node


def name_of(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""


PARSE_ERRORS = frozenset(
    {
        "CaseListError",
        "CasebookError",
        "CostsError",
        "JournalError",
        "ListError",
        "NotAMessage",
        "NotAValue",
        "NotAssembly",
        "NotSpirv",
        "OptionError",
        "ProfileError",
        "ValidationError",
        "WrongField",
    }
)
"""Errors about input: a document, a line, an argument, a message or a module. Tests may compare their texts, since these say where the
input is wrong, and how."""


def test_only_texts_of_parse_errors_are_compared() -> None:
    others = [
        f"{place}: {ast.unparse(call.args[0])}"
        for place, call in calls("match=", "tests")
        if name_of(call.func) == "raises"
        and any(keyword.arg == "match" for keyword in call.keywords)
        and not (call.args and name_of(call.args[0]) in PARSE_ERRORS)
    ]
    assert others == [], "compare the class of the error and its id: tests/broken_rules.py, tests/lacks.py, tests/undefined.py"


def rule_texts(argument: ast.expr) -> Iterator[str]:
    """Yield the ids that an expression for a rule contains."""
    match argument:
        case ast.Constant(value=str(text)):
            yield text
        case ast.IfExp():
            yield from rule_texts(argument.body)
            yield from rule_texts(argument.orelse)


@pytest.fixture(scope="module")
def raised() -> list[tuple[str, ast.Call]]:
    return [
        (place, call) for place, call in calls("GeneratorError(", "cts", "generators", "reports") if name_of(call.func) == "GeneratorError"
    ]


def test_every_rule_that_is_named_exists(raised: list[tuple[str, ast.Call]]) -> None:
    known = {*casebook().requirements, *casebook().positions}
    named = [(place, text) for place, call in raised for text in rule_texts(call.args[0])]
    assert [(place, text) for place, text in named if text not in known and not VUID.fullmatch(text)] == []


def test_every_member_is_used() -> None:
    sources = "".join(path.read_text(encoding="utf-8") for folder in ("cts", "generators") for path in (REPOSITORY / folder).rglob("*.py"))
    assert [str(rule) for rule in Rule if f"Rule.{rule.name}" not in sources] == []
    assert [str(lack) for lack in Lack if f"Lack.{lack.name}" not in sources] == []
