"""Simpler neighbours of an addressing: fewer parts first, then fewer dimensions, then smaller numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from generators.fuzz.tensor_addressing import Addressing, Step, View, ViewStep
from generators.types import ClampMode, StorageClass, Use

_COUNTS = ("dimension", "block_size")
"""Settings whose numbers are never 0 (F-TA-12)."""


def simpler(addressing: Addressing) -> Iterator[Addressing]:
    """Yield candidates, the simplest first. The reference model decides whether a candidate is defined at all."""
    yield from _without_parts(addressing)
    for dimension in range(addressing.rank):
        if addressing.rank > 1:
            yield _without_dimension(addressing, dimension)
    for dimension in range(1, addressing.rank):
        yield _merged(addressing, dimension)
    yield from _plainer(addressing)
    yield from _smaller(addressing)


def size(addressing: Addressing) -> tuple[int, int, int, int]:
    """Return the measure that shrinking reduces: parts, operands, features that are not plain, and the sum of the numbers."""
    view = addressing.view
    steps = [*addressing.steps, *(() if view is None else view.steps)]
    parts = (addressing.groups is not None) + len(steps) + (0 if view is None else 1 + view.has_dimensions + len(view.permutation))
    numbers = [number for _, values in steps for number in values]
    plain = sum(
        (
            addressing.mode is not ClampMode.UNDEFINED,
            addressing.storage is not StorageClass.STORAGE_BUFFER,
            addressing.source != "push_constant",
            view is not None and view.permutation != tuple(range(len(view.permutation))),
            addressing.component != "f16",
            addressing.use is not Use.ACCUMULATOR,
        )
    )
    # A garbage clamp value counts no more than a small one with as many operands, and neither does a sign.
    return parts, len(numbers), plain, sum(2 * abs(number) + (number < 0) for number in (*numbers, addressing.first))


def _without_parts(addressing: Addressing) -> Iterator[Addressing]:
    view = addressing.view
    if addressing.groups is not None:
        yield replace(addressing, groups=None)
    if view is not None:
        yield replace(addressing, view=None)
        for place in range(len(view.steps)):
            yield replace(addressing, view=replace(view, steps=view.steps[:place] + view.steps[place + 1 :]))
        if view.has_dimensions:
            clips = tuple(step for step in view.steps if step[0] == "clip")
            yield replace(addressing, view=replace(view, has_dimensions=False, steps=clips))
    for place in range(len(addressing.steps)):
        yield replace(addressing, steps=addressing.steps[:place] + addressing.steps[place + 1 :])


def _without_dimension(addressing: Addressing, dimension: int) -> Addressing:
    def kept(step: Step) -> Step:
        setting, values = step
        match setting:
            case "clamp_value":
                return step
            case "slice":
                return setting, values[: 2 * dimension] + values[2 * dimension + 2 :]
            case _:
                return setting, values[:dimension] + values[dimension + 1 :]

    view = addressing.view
    if view is not None and dimension < len(view.permutation):
        view = _view_without(view, dimension) if len(view.permutation) > 1 else view
    return replace(addressing, rank=addressing.rank - 1, steps=tuple(map(kept, addressing.steps)), view=view)


def _merged(addressing: Addressing, dimension: int) -> Addressing:
    """Merge ``dimension`` and the dimension before it into one with the elements of both."""

    def joined(step: Step) -> Step:
        setting, values = step
        match setting:
            case "clamp_value":
                return step
            case "slice":
                at = 2 * dimension - 2
                return setting, (*values[:at], values[at + 2], values[at + 1] * values[at + 3], *values[at + 4 :])
            case _:
                return setting, _joined(setting, values, dimension)

    view = addressing.view
    if view is not None and not view.has_dimensions:
        view = _view_without(view, dimension)
    return replace(addressing, rank=addressing.rank - 1, steps=tuple(map(joined, addressing.steps)), view=view)


def _joined(setting: str, values: tuple[int, ...], dimension: int) -> tuple[int, ...]:
    outer, inner = values[dimension - 1 : dimension + 1]
    return (*values[: dimension - 1], inner if setting == "stride" else outer * inner, *values[dimension + 1 :])


def _view_merged(view: View, dimension: int) -> View:
    def joined(step: ViewStep) -> ViewStep:
        setting, values = step
        return step if setting == "clip" else (setting, _joined(setting, values, dimension))

    return replace(_view_without(view, dimension), steps=tuple(map(joined, view.steps)))


def _view_without(view: View, dimension: int) -> View:
    permutation = tuple(n - (n > dimension) for n in view.permutation if n != dimension)

    def kept(step: ViewStep) -> ViewStep:
        setting, values = step
        return step if setting == "clip" else (setting, values[:dimension] + values[dimension + 1 :])

    return View(permutation, view.has_dimensions, tuple(map(kept, view.steps)))


def _plainer(addressing: Addressing) -> Iterator[Addressing]:
    if addressing.view is not None:
        yield replace(addressing, view=replace(addressing.view, permutation=tuple(range(len(addressing.view.permutation)))))
        if len(addressing.view.permutation) > 1 and addressing.view.has_dimensions:
            for dimension in range(len(addressing.view.permutation)):
                yield replace(addressing, view=_view_without(addressing.view, dimension))
            for dimension in range(1, len(addressing.view.permutation)):
                yield replace(addressing, view=_view_merged(addressing.view, dimension))
    yield replace(addressing, mode=ClampMode.UNDEFINED)
    yield replace(addressing, storage=StorageClass.STORAGE_BUFFER)
    yield replace(addressing, component="f16", rows=16, columns=16, use=Use.ACCUMULATOR)
    if sum(len(values) for _, values in addressing.steps) < 24:
        yield replace(addressing, source="push_constant")


def _smaller(addressing: Addressing) -> Iterator[Addressing]:
    if addressing.first:
        yield replace(addressing, first=0)
    for place, (setting, values) in enumerate(addressing.steps):
        for position, number in enumerate(values):
            for other in _less(number, 1 if setting in _COUNTS else 0):
                step = setting, (*values[:position], other, *values[position + 1 :])
                yield replace(addressing, steps=(*addressing.steps[:place], step, *addressing.steps[place + 1 :]))
    view = addressing.view
    if view is None:
        return
    for place, (view_setting, values) in enumerate(view.steps):
        for position, number in enumerate(values):
            for other in _less(number, 1 if view_setting in _COUNTS else 0):
                view_step = view_setting, (*values[:position], other, *values[position + 1 :])
                yield replace(addressing, view=replace(view, steps=(*view.steps[:place], view_step, *view.steps[place + 1 :])))


def _less(number: int, least: int) -> Iterator[int]:
    """Yield numbers nearer to 0, but not nearer than ``least``: 0, 1, half the number, and the number less one; or the positive number
    instead of a negative one."""
    sign = -1 if number < 0 else 1
    amount = abs(number)
    seen = {amount}
    for other in (0, 1, amount // 2, amount - 1):
        if least <= other < amount and other not in seen:
            seen.add(other)
            yield sign * other
    if number < 0:
        yield amount
