"""Asks ``-k`` before an item is made of a case: pytest itself asks only when there is an item for every case of the tier."""

from __future__ import annotations

from collections.abc import Callable

import pytest


def kept_by_name(file: pytest.File) -> Callable[[str], bool]:
    """Return whether ``-k`` may select an item of that name in ``file``.

    The expression is pytest's, and so is what reads it. Neither is public: where a version of pytest has something else there, or cannot
    read the expression, every name is kept, and pytest selects or complains later.
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

    def kept(name: str) -> bool:
        lowered = name.lower()

        def has(word: str, /, **_: object) -> bool:
            found = known.get(word)
            if found is None:
                found = known[word] = above(word)
            return found or word.lower() in lowered

        return expression.evaluate(has)

    return kept


def _keep(_: str) -> bool:
    return True
