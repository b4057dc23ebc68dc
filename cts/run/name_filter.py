"""Applies ``-k`` before a case becomes an item: pytest itself applies it only after every case of the tier has an item."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cts.run.case_words import has_default
from generators.casebook import Case

Kept = Callable[[Case | None, str], frozenset[str] | None]
"""Takes a case and its id. Returns None if ``-k`` does not select the case, else the words that name one of its defaults.

Ids leave defaults out, and pytest applies ``-k`` again, so an item needs these words as extra keywords.
"""


Wanted = Callable[[str], bool]
"""Takes an id, and tells whether ``-k`` may select its case."""


def wanted_by_name(file: pytest.File, kept: Kept) -> Wanted | None:
    """Return a function that decides from the id alone whether ``-k`` may select a case of ``file``.

    Return None without ``-k``, and if the id is not enough: a word with a colon may name a default, which the id leaves out.
    """
    words = file.config.option.keyword.strip()
    if not words or ":" in words:
        return None
    # A word without a colon does not depend on the case.
    return lambda id_: kept(None, id_) is not None


def kept_by_name(file: pytest.File) -> Kept:
    """Return a function that decides whether ``-k`` may select a case of ``file``.

    The expression and its parser are pytest's. Neither is public: if a version of pytest has another parser, or cannot read the
    expression, every case is kept, and pytest selects or complains later.
    """
    words = file.config.option.keyword.strip()
    if not words:
        return _keep
    try:
        from _pytest.mark import KeywordMatcher
        from _pytest.mark.expression import Expression

        expression = Expression.compile(words)
        # from_item takes names from the node and its parents, so any kind of node will do.
        above = KeywordMatcher.from_item(file)  # type: ignore[arg-type]
    except Exception:
        return _keep
    known: dict[str, bool] = {}

    def kept(case: Case | None, id_: str) -> frozenset[str] | None:
        lowered, named = id_.lower(), set()

        def has(word: str, /, **_: object) -> bool:
            found = known.get(word)
            if found is None:
                found = known[word] = above(word)
            if found or word.lower() in lowered:
                return True
            if case is not None and has_default(case, word):
                named.add(word)
                return True
            return False

        return frozenset(named) if expression.evaluate(has) else None

    return kept


def _keep(_: Case | None, __: str) -> frozenset[str]:
    return frozenset()
