"""Orders in which a reduction adds pairs of sums: a few with names, or any tree, as a text in postfix notation, such as ``0 1 + 2 +``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from generators.errors import CtsError

NAMED = ("sequential", "reversed", "pairwise", "halves")
"""One term after the other; from the last one on; neighbours, then neighbouring sums; places half of them apart, then a quarter, …"""


class NotAnOrder(CtsError):
    """A text is no order of sums."""


@cache
def postfix(order: str, k: int) -> tuple[str, ...]:
    """Return the steps by which an order adds ``k`` terms: a place, or a plus for the last two that were not added yet.

    Raises:
        NotAnOrder: it adds no ``k`` terms, or not each once.
    """
    if order in ("sequential", "reversed"):
        places = range(k) if order == "sequential" else range(k - 1, -1, -1)
        return tuple(step for number, place in enumerate(places) for step in ([str(place), "+"] if number else [str(place)]))
    if order in NAMED:
        parts = [str(place) for place in range(k)]
        while len(parts) > 1:
            half = len(parts) // 2
            pairs = zip(parts[:half], parts[half:], strict=False) if order == "halves" else zip(parts[::2], parts[1::2], strict=False)
            parts = [f"{one} {other} +" for one, other in pairs] + parts[2 * half :]
        return tuple(parts[0].split())
    steps, sums = tuple(order.split()), 0
    for step in steps:
        sums += 1 if step.isdigit() else -1
        if sums < 1:
            break
    if sums != 1 or {*steps} - {"+"} != {str(place) for place in range(k)} or len(steps) != 2 * k - 1:
        raise NotAnOrder(f"no order of {k} terms: {order[:80]}")
    return steps


def canonical(steps: Sequence[str]) -> str:
    """Return the text of an order that is equal for all orders with the same sums: of two terms, the one with the first place is first."""
    stack: list[tuple[int, str]] = []
    for step in steps:
        if step == "+":
            one, other = sorted((stack.pop(), stack.pop()))
            stack.append((one[0], f"{one[1]} {other[1]} +"))
        else:
            stack.append((int(step), step))
    return stack[0][1]


def from_masks(sizes: Mapping[tuple[int, int], int], places: Sequence[int]) -> str | None:
    """Return the order, by how many terms the first sum with both of two places has (FPRev); None if no order has such sums."""
    first, *others = places
    if not others:
        return str(first)
    inside = [first, *(place for place in others if sizes.get((first, place), 0) < len(places))]
    outside = [place for place in others if place not in inside]
    if not outside:
        return None
    one, other = from_masks(sizes, inside), from_masks(sizes, outside)
    return None if one is None or other is None else f"{one} {other} +"
