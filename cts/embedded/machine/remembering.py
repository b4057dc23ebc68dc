"""Keeps small results of functions for the next call."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

LARGEST = 1 << 12
"""The largest number of elements of a matrix whose results are kept. Results for larger matrices would add up to gigabytes."""

_P = ParamSpec("_P")
_R = TypeVar("_R")


def remember_small(maxsize: int, elements: Callable[..., int]) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Remember the last ``maxsize`` results of a function.

    Args:
        maxsize: number of results.
        elements: returns the number of elements from the arguments. Above LARGEST, each call computes the result.
    """

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        kept: Callable[..., _R] = lru_cache(maxsize=maxsize)(function)

        @wraps(function)
        def remembered(*arguments: _P.args, **named: _P.kwargs) -> _R:
            return kept(*arguments, **named) if elements(*arguments, **named) <= LARGEST else function(*arguments, **named)

        return remembered

    return decorate
