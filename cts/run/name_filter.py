"""Asks ``-k`` before an item is made of a case: pytest itself asks only when there is an item for every case of the tier."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cts.run.case_words import has_default
from generators.casebook import Case

Kept = Callable[[Case, str], frozenset[str] | None]
"""From a case and its id: None if ``-k`` does not select it, else the words that name a default of it, which its id leaves out. An item
needs them as extra keywords, because pytest asks again."""


def kept_by_name(file: pytest.File) -> Kept:
    """Return what decides whether ``-k`` may select a case of ``file``.

    The expression is pytest's, and so is what reads it. Neither is public: where a version of pytest has something else there, or cannot
    read the expression, every case is kept, and pytest selects or complains later.
    """
    words = file.config.option.keyword.strip()
    if not words:
        return _keep
    try:
        from _pytest.mark import KeywordMatcher
        from _pytest.mark.expression import Expression

        expression = Expression.compile(words)
        # It gets names from the node and its parents, whatever kind of node that is.
        above = KeywordMatcher.from_item(file)  # type: ignore[arg-type]
    except Exception:
        return _keep
    known: dict[str, bool] = {}

    def kept(case: Case, id_: str) -> frozenset[str] | None:
        lowered, named = id_.lower(), set()

        def has(word: str, /, **_: object) -> bool:
            found = known.get(word)
            if found is None:
                found = known[word] = above(word)
            if found or word.lower() in lowered:
                return True
            if has_default(case, word):
                named.add(word)
                return True
            return False

        return frozenset(named) if expression.evaluate(has) else None

    return kept


def _keep(_: Case, __: str) -> frozenset[str]:
    return frozenset()
