"""The expressions of ``-k``, in pytest's documented grammar: words, joined by ``and``, ``or``, ``not`` and parentheses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cts.engine.case_words import has_default, has_word
from generators.errors import CtsError

if TYPE_CHECKING:
    from cts.engine.selection import Selection
    from generators.casebook import Case, Family

_TOKEN = re.compile(r"[ \t]*(?P<token>[()]|(?:\w|[:+\-.\[\]\\/])+)")
_OPERATORS = ("and", "or", "not", "(", ")")

COMMAND = "cts"
"""The name above all files of ``pytest cts``."""

Found = Callable[[str], bool]
"""Tells whether a word is found."""


class ExpressionError(CtsError):
    """An expression is malformed; the message says where."""


@dataclass(frozen=True)
class KeywordExpression:
    """An expression of ``-k``.

    Attributes:
        text: as it was given, without space around it.
        words: its words, in order.
        holds: tells whether it is true of something in which certain words are found.
    """

    text: str
    words: tuple[str, ...]
    holds: Callable[[Found], bool]

    def selects(self, case: Case) -> bool:
        """Tell whether ``pytest cts`` with this expression selects a case: pytest finds words in its id and in the names above it."""
        id_ = case.id
        above = (COMMAND, case.definition.path.name)
        return self.holds(lambda word: has_word(case, word, id_) or any(word.lower() in name for name in above))

    def selects_id(self, id_: str) -> bool:
        """Tell whether the id of a case, which may be unknown to this version of the suite, has the words."""
        return self.holds(lambda word: word.lower() in id_.lower())


def is_certain(text: str) -> bool:
    """Tell whether ``pytest cts -k`` selects the same cases whatever is installed where: the expression is correct, and no word of it is a
    part of the name above all files, which pytest leaves out if it is the first."""
    try:
        return not any(word.lower() in COMMAND for word in parse_expression(text).words)
    except ExpressionError:
        return False


def parse_expression(text: str) -> KeywordExpression:
    """Return the expression in ``text``. An empty one is true of everything.

    Raises:
        ExpressionError: it is malformed.
    """
    if not text.strip():
        return KeywordExpression("", (), lambda _: True)
    return _Parser(text.strip()).whole()


class _Parser:
    """Reads an expression from left to right, one method for each rule of the grammar."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [*_tokens(text), (len(text), "")]
        self._words: list[str] = []

    def whole(self) -> KeywordExpression:
        holds = self._alternatives()
        if self._tokens[0][1]:
            raise self._expected("'and', 'or' or the end")
        return KeywordExpression(self._text, tuple(self._words), holds)

    def _alternatives(self) -> Callable[[Found], bool]:
        parts = [self._conjunction()]
        while self._takes("or"):
            parts.append(self._conjunction())
        return lambda found: any(part(found) for part in parts)

    def _conjunction(self) -> Callable[[Found], bool]:
        parts = [self._negation()]
        while self._takes("and"):
            parts.append(self._negation())
        return lambda found: all(part(found) for part in parts)

    def _negation(self) -> Callable[[Found], bool]:
        if self._takes("not"):
            negated = self._negation()
            return lambda found: not negated(found)
        if self._takes("("):
            inside = self._alternatives()
            if not self._takes(")"):
                raise self._expected("')'")
            return inside
        word = self._tokens[0][1]
        if not word or word in _OPERATORS:
            raise self._expected("a word, 'not' or '('")
        self._tokens.pop(0)
        self._words.append(word)
        return lambda found: found(word)

    def _takes(self, token: str) -> bool:
        if self._tokens[0][1] != token:
            return False
        self._tokens.pop(0)
        return True

    def _expected(self, what: str) -> ExpressionError:
        place, token = self._tokens[0]
        return ExpressionError(f"-k '{self._text}': expected {what} at column {place + 1}, found {repr(token) if token else 'the end'}")


def _tokens(text: str) -> list[tuple[int, str]]:
    """Return the tokens of an expression with their columns, from 0."""
    found: list[tuple[int, str]] = []
    place, end = 0, len(text.rstrip())
    while place < end:
        match = _TOKEN.match(text, place)
        if match is None:
            column = place + len(text[place:]) - len(text[place:].lstrip())
            raise ExpressionError(f"-k '{text}': unexpected {text[column]!r} at column {column + 1}")
        found.append((match.start("token"), match["token"]))
        place = match.end()
    return found


def named(selection: Selection, family: Family, words: str, above: Sequence[str]) -> Iterator[Case]:
    """Yield the cases of a family that ``-k`` may select: pytest applies it only after every case has an item, which takes seconds.

    Args:
        words: the expression of ``-k``. If it is wrong, all cases are yielded, and pytest complains.
        above: the names of what contains the cases.
    """
    try:
        expression = parse_expression(words)
    except ExpressionError:
        expression = parse_expression("")
    outer = [name.lower() for name in above]

    def finds(case: Case | None, id_: str) -> Callable[[str], bool]:
        return lambda word: any(word.lower() in name for name in (id_.lower(), *outer)) or (case is not None and has_default(case, word))

    # A word with a colon may name a default, which the id leaves out.
    by_id = None if any(":" in word for word in expression.words) else lambda id_: expression.holds(finds(None, id_))
    yield from (case for case in selection.cases(family, by_id) if expression.holds(finds(case, case.id)))
