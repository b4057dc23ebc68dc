"""The expressions of ``-k``: ``cts list`` selects what ``pytest cts`` selects."""

from __future__ import annotations

import os

import pytest

from cts.cli import main
from cts.engine.keyword_expression import ExpressionError, parse_expression
from cts.exit_codes import NOTHING_TESTED
from tests.plugin.processes import run

from .conftest import REPOSITORY


@pytest.mark.parametrize(
    ("text", "found", "holds"),
    [
        ("", "", True),
        (" ", "", True),
        ("a", "a", True),
        ("a", "b", False),
        ("not a", "", True),
        ("not not a", "a", True),
        ("a and b", "a", False),
        ("a or b", "b", True),
        ("a or b and c", "a", True),
        ("(a or b) and c", "a", False),
        ("not a or b", "ab", True),
        ("not (a or b)", "b", False),
        ("a and not b", "a", True),
    ],
)
def test_operators_bind_as_in_python(text, found, holds):
    assert parse_expression(text).holds(lambda word: word in found) is holds


def test_a_word_may_have_the_signs_of_ids():
    words = ("muladd[row:16x16x16.f16.f16.f32.f32]", "cases/x.yaml", "a+b", "c\\d", "e-f")
    assert parse_expression(" and ".join(words)).words == words


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("a b", "column 3, found 'b'"),
        ("a and", "column 6, found the end"),
        ("or a", "column 1, found 'or'"),
        ("(a", "')' at column 3, found the end"),
        ("a)", "column 2, found ')'"),
        ("a =b", "unexpected '=' at column 3"),
        ("not", "column 4, found the end"),
    ],
)
def test_an_error_says_where(text, where):
    with pytest.raises(ExpressionError) as raised:
        parse_expression(text)
    assert where in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        "(tensor_clamp.yaml and rank:1 or maintenance1_queries) and not (component:f16 or CTS.yaml)",
        "cts and muladd[row:8x8x8.f16 and trips:3 and not form:single",
        "nothing_has_this",
    ],
)
def test_a_list_has_the_cases_that_pytest_selects(text, capsys):
    code = main(["--root", str(REPOSITORY), "list", "-k", text])
    listed = capsys.readouterr().out.splitlines()
    assert code == (0 if listed else NOTHING_TESTED)
    arguments = ["cts", "--collect-only", "-q", "-k", text, "--device", "embedded", "-p", "no:cacheprovider"]
    done = run(arguments, REPOSITORY, os.environ)
    assert done.returncode == code
    assert listed == [line.partition("::")[2] for line in done.stdout.splitlines() if "::" in line]
