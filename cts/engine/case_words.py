"""Matches words of ``-k`` with cases."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from generators.casebook import Case, Family, Parameter


def has_word(case: Case, word: str, id_: str) -> bool:
    """Tell whether ``-k WORD`` selects a case; letter case does not matter.

    Args:
        case: the case.
        word: part of the id; or, with a colon, part of ``name:label`` of a parameter that the id leaves out because it has its default.
        id_: the case's id.
    """
    return word.lower() in id_.lower() or has_default(case, word)


def has_default(case: Case, word: str) -> bool:
    """Tell whether a word with a colon is part of ``name:label`` of a parameter that applies to the case and has its default."""
    return any(
        case.labels[place] == parameter.default
        and (parameter.declaration.applies is None or parameter.declaration.applies(case.parameters))
        for place, parameter in _defaults(case.definition, word)
    )


@cache
def _defaults(family: Family, word: str) -> tuple[tuple[int, Parameter], ...]:
    """Return the parameters whose default ``word`` names, with their places among the labels of a case."""
    if ":" not in word:
        return ()
    lowered = word.lower()
    return tuple(
        (place, parameter)
        for place, parameter in enumerate(family.parameters)
        if parameter.default is not None and lowered in f"{parameter.name}:{parameter.default}".lower()
    )
