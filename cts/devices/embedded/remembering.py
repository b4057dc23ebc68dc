"""Results that are kept for the next time, as long as they are small."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

LARGEST = 1 << 12
"""Elements of a matrix up to which what is computed of it is kept: arrays of larger ones would add up to gigabytes."""

_P = ParamSpec("_P")
_R = TypeVar("_R")


def remember_small(maxsize: int, elements: Callable[..., int]) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Remember the last ``maxsize`` results of a function.

    Args:
        maxsize: how many.
        elements: from the arguments, of how many elements they are; with more than LARGEST a result is computed each time.
    """

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        kept: Callable[..., _R] = lru_cache(maxsize=maxsize)(function)

        @wraps(function)
        def remembered(*arguments: _P.args, **named: _P.kwargs) -> _R:
            return kept(*arguments, **named) if elements(*arguments, **named) <= LARGEST else function(*arguments, **named)

        return remembered

    return decorate
