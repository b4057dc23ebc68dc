"""Draws tensor addressings from a seed. The specification defines each of them, and they avoid the points where its readings differ (facts
F-TA-*)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from generators.fuzz.tensor_addressing import CAPACITY, Addressing, Groups, Step, View, ViewStep
from generators.program.tensor import LayoutSetting, ViewSetting
from generators.program.values import Source
from generators.types import COMPONENT_TYPES, ClampMode, StorageClass, Use

DRAWS_PER_FORM = 40
"""Number of draws that differ only in run-time numbers and so share a module."""

_WHOLE = 0xFFFFFFFF
_ROOM = CAPACITY - 64
"""Maximum number of elements that a tensor spans, so it may begin somewhat after the start of the array."""

_MOST_PUSHED = 30
"""Number of push-constant operands that fit in 128 bytes beside an address."""

_MATRICES: Sequence[tuple[str, int, int, Use]] = (
    ("f16", 16, 16, Use.ACCUMULATOR),
    ("f32", 16, 16, Use.ACCUMULATOR),
    ("f16", 16, 8, Use.ACCUMULATOR),
    ("f16", 16, 16, Use.A),
    ("f16", 16, 8, Use.B),
    ("bf16", 16, 16, Use.B),
    ("u8", 16, 32, Use.A),
    ("s8", 32, 8, Use.B),
    ("s32", 16, 16, Use.ACCUMULATOR),
    ("u32", 16, 8, Use.ACCUMULATOR),
    ("f16", 8, 8, Use.A),
    ("f32", 8, 8, Use.ACCUMULATOR),
    ("u8", 8, 8, Use.B),
)

Rng = np.random.Generator


def draw(seed: int, index: int) -> Addressing:
    """Return draw number ``index`` of ``seed``, which is always the same."""
    place, number = divmod(index, DRAWS_PER_FORM)
    form = _form(np.random.default_rng([seed, place]))
    return _numbers(np.random.default_rng([seed, place, number]), form)


def draw_groups(seed: int, index: int) -> Addressing:
    """Return draw number ``index`` of ``seed`` among the loads with a vector decode function, which is always the same."""
    place, number = divmod(index, DRAWS_PER_FORM)
    rng = np.random.default_rng([seed, place, 0, 1])
    form = _form(rng)
    while form.access != "load" or not COMPONENT_TYPES[form.component].has_arithmetic:
        form = _form(rng)
    steps = [step for step in form.steps if step[0] != "block_size"]
    # The block size comes before all dimensions or after them: strides count blocks or elements (F-TA-14).
    steps.insert(0 if _chance(rng, 0.7) else _last_dimension(replace(form, steps=tuple(steps))) + 1, ("block_size", (0,) * form.rank))
    groups = Groups(int(rng.choice([2, 4, 8])), _chance(rng, 0.5))
    return _numbers(np.random.default_rng([seed, place, number, 2]), replace(form, steps=tuple(steps), groups=groups))


def _chance(rng: Rng, probability: float) -> bool:
    return bool(rng.random() < probability)


def _between(rng: Rng, low: int, high: int) -> int:
    """Draw a number from ``low`` to ``high``, both included."""
    return int(rng.integers(low, high + 1))


def _form(rng: Rng) -> Addressing:
    """Draw the inputs of a module, with all numbers zero."""
    component, rows, columns, use = _MATRICES[_between(rng, 0, len(_MATRICES) - 1)]
    load, rank = _chance(rng, 0.7), _between(rng, 1, 5)
    mode = list(ClampMode)[_between(rng, 0, len(ClampMode) - 1)]
    settings: list[LayoutSetting] = []
    if _chance(rng, 0.15):
        settings += ["dimension", "slice"]
    if load and _chance(rng, 0.25):
        settings.append("block_size")
    settings.append("dimension")
    if load and "block_size" not in settings and _chance(rng, 0.1):
        settings.append("block_size")
    if _chance(rng, 0.4):
        settings.append("stride")
    settings += ["slice"] * int(rng.choice([0, 1, 1, 1, 2, 3]))
    if load and _chance(rng, 0.8 if mode is ClampMode.CONSTANT else 0.1):
        settings.insert(_between(rng, 0, len(settings)), "clamp_value")
    counts = {"slice": 2 * rank, "clamp_value": 1}
    steps = tuple((setting, (0,) * counts.get(setting, rank)) for setting in settings)
    view = _view_form(rng, rank) if _chance(rng, 0.6) else None
    operands = sum(len(values) for _, values in steps) + (0 if view is None else sum(len(values) for _, values in view.steps)) + 1
    source: Source = "push_constant" if operands <= _MOST_PUSHED and _chance(rng, 0.5) else "buffer"
    storage = StorageClass.PHYSICAL_STORAGE_BUFFER if _chance(rng, 0.2) else StorageClass.STORAGE_BUFFER
    return Addressing(component, rows, columns, use, "load" if load else "store", rank, mode, steps, view, 0, source, storage)


def _view_form(rng: Rng, rank: int) -> View:
    kind = rng.random()
    own = kind < 0.5
    # Without its own dimensions, a view has the layout's (F-TA-10).
    count = _between(rng, 1, 5) if own else rank
    settings: list[ViewSetting] = []
    if own:
        settings.append("dimension")
        if _chance(rng, 0.5):
            settings.append("stride")
    elif kind > 0.8:
        # They are set but have no effect (CM2-VW-05).
        settings += ["dimension", "stride"]
    if _chance(rng, 0.5):
        settings.insert(_between(rng, 0, len(settings)), "clip")
    steps: tuple[ViewStep, ...] = tuple((setting, (0,) * (4 if setting == "clip" else count)) for setting in settings)
    return View(tuple(int(n) for n in rng.permutation(count)), own, steps)


def _numbers(rng: Rng, form: Addressing) -> Addressing:
    """Draw the run-time numbers."""
    view, needed = form.view, form.rows * form.columns
    if view is not None:
        view, needed = _view_numbers(rng, view, form, needed)
    spans = _spans(rng, form, needed)
    sizes, offsets = _sizes(rng, form, spans)
    blocks = _blocks(rng, form)
    steps = _steps(rng, form, sizes, offsets, spans, blocks)
    if steps is None:
        # The smallest tensor that contains the slice always fits.
        sizes, offsets = spans, (0,) * form.rank
        steps = _steps(rng, form, sizes, offsets, spans, blocks, tight=True)
    assert steps is not None, f"a slice of {spans} does not fit in {CAPACITY} elements"
    return replace(form, steps=steps, view=view, first=_between(rng, 0, 3))


def _split(rng: Rng, total: int, count: int) -> list[int]:
    """Return ``count`` factors of ``total``, which is a power of two."""
    factors = [1] * count
    for _ in range(total.bit_length() - 1):
        factors[_between(rng, 0, count - 1)] *= 2
    return factors


def _view_numbers(rng: Rng, view: View, form: Addressing, elements: int) -> tuple[View, int]:
    """Draw the view, and the number of elements that a slice needs so the elements of a store do not overlap."""
    count = len(view.permutation)
    sizes: list[int] = []
    needed = elements
    if not view.has_dimensions and any(setting == "dimension" for setting, _ in view.steps):
        sizes = [_between(rng, 1, 9) for _ in range(count)]
    if view.has_dimensions:
        sizes = _split(rng, elements, count)
        if _chance(rng, 0.4):
            sizes[_between(rng, 0, count - 1)] += 1
        if form.access == "load" and _chance(rng, 0.4):
            sizes = [_between(rng, 1, 7) for _ in range(count)]
        needed = elements if form.access == "load" else max(elements, math.prod(sizes))
    steps: list[ViewStep] = []
    for setting, _ in view.steps:
        match setting:
            case "dimension":
                steps.append((setting, tuple(sizes)))
            case "stride":
                steps.append((setting, _view_strides(rng, sizes, form.access == "store")))
            case "clip":
                steps.append((setting, (*_window(rng, form.rows), *_window(rng, form.columns))))
    return replace(view, steps=tuple(steps)), needed


def _view_strides(rng: Rng, sizes: Sequence[int], store: bool) -> tuple[int, ...]:
    """Draw strides: any for a load; for a store, the strides of adjacent elements in some order of the dimensions."""
    if not store and _chance(rng, 0.6):
        return tuple(_between(rng, 0, 40) for _ in sizes)
    strides, stride = [0] * len(sizes), 1
    for dimension in rng.permutation(len(sizes)).tolist():
        strides[dimension] = stride
        stride *= sizes[dimension]
    return tuple(strides)


def _window(rng: Rng, extent: int) -> tuple[int, int]:
    """Draw offset and span of a clip window; its end is a 32-bit number (F-TA-8)."""
    kind = _between(rng, 0, 5)
    if kind == 0:
        return 0, _WHOLE
    offset = _between(rng, 0, extent - 1) if kind < 5 else _between(rng, extent, extent + 3)
    return offset, _between(rng, 1, extent - min(offset, extent - 1) + (3 if kind > 2 else 0)) if kind != 1 else extent


def _spans(rng: Rng, form: Addressing, needed: int) -> tuple[int, ...]:
    power = 1 << (needed - 1).bit_length()
    spans = _split(rng, power, form.rank)
    if form.access == "load" and _chance(rng, 0.4):
        spans = [_between(rng, 1, max(2, 2 * span)) for span in spans]
        while math.prod(spans) > _ROOM:
            widest = spans.index(max(spans))
            spans[widest] //= 2
    elif _chance(rng, 0.4):
        spans[_between(rng, 0, form.rank - 1)] += 1
    return tuple(spans)


def _sizes(rng: Rng, form: Addressing, spans: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Draw the dimensions of the tensor and offsets of the slice."""
    if all(setting != "slice" for setting, _ in form.steps[_last_dimension(form) :]):
        return spans, (0,) * form.rank
    sizes, offsets = [], []
    far = _chance(rng, 0.05)
    for span in spans:
        if form.mode is ClampMode.UNDEFINED or _chance(rng, 0.4):
            offset = _between(rng, 0, 2)
            sizes.append(max(2, offset + span + _between(rng, 0, 2)))
        else:
            # A single element, for which mirroring divides by zero (F-TA-2), occurs only in other modes.
            size = _between(rng, 2 if form.mode is ClampMode.REPEAT_MIRRORED else 1, span + 3)
            sizes.append(size)
            reach = 1_000_003 if far else size + span
            offset = _between(rng, -reach, reach)
        offsets.append(offset)
    return tuple(sizes), tuple(offsets)


def _last_dimension(form: Addressing) -> int:
    """Return the place of the last SetDimension, which resets offsets, spans and strides."""
    return max(place for place, (setting, _) in enumerate(form.steps) if setting == "dimension")


def _blocks(rng: Rng, form: Addressing) -> tuple[int, ...]:
    if all(setting != "block_size" for setting, _ in form.steps):
        return (1,) * form.rank
    if form.groups is not None:
        return (*(_between(rng, 1, 3) for _ in range(form.rank - 1)), form.groups.lanes * _between(rng, 1, 2))
    return tuple(_between(rng, 1, 4) for _ in range(form.rank))


def _steps(
    rng: Rng,
    form: Addressing,
    sizes: tuple[int, ...],
    offsets: tuple[int, ...],
    spans: tuple[int, ...],
    blocks: tuple[int, ...],
    tight: bool = False,
) -> tuple[Step, ...] | None:
    """Return the settings with their numbers; None if the tensor is too large."""
    last = _last_dimension(form)
    slices = sum(setting == "slice" for setting, _ in form.steps[last:])
    parts = _parts(rng, offsets, slices)
    block, strides = (1,) * form.rank, (0,) * form.rank
    steps: list[Step] = []
    for place, (setting, none) in enumerate(form.steps):
        match setting:
            case "dimension":
                values = sizes if place == last else _small(rng, form.rank, 9)
                strides = _strides(values, block)
            case "block_size":
                values = block = blocks
            case "stride":
                gaps = (0,) * form.rank if tight else tuple(_between(rng, 0, 3) for _ in sizes)
                values = strides = _strides(sizes, block, 1 if tight else _between(rng, 1, 3), gaps)
            case "clamp_value":
                values = (_between(rng, 0, _WHOLE),)
            case "slice" if place < last:
                values = _small(rng, len(none), 5)
            case "slice":
                slices -= 1
                # All except the last have spans that the next one replaces.
                final = spans if not slices else _small(rng, form.rank, 9)
                values = tuple(n for pair in zip(parts[slices], final, strict=True) for n in pair)
        steps.append((setting, values))
    footprint = 1 + sum((-(-size // b) - 1) * stride for size, b, stride in zip(sizes, block, strides, strict=True))
    return tuple(steps) if footprint <= _ROOM else None


def _small(rng: Rng, count: int, most: int) -> tuple[int, ...]:
    return tuple(_between(rng, 1, most) for _ in range(count))


def _parts(rng: Rng, offsets: tuple[int, ...], count: int) -> list[tuple[int, ...]]:
    """Return ``count`` tuples that add up to ``offsets``."""
    parts: list[tuple[int, ...]] = []
    left = offsets
    for _ in range(max(0, count - 1)):
        part = tuple(_between(rng, -4, 4) for _ in offsets)
        parts.append(part)
        left = tuple(a - b for a, b in zip(left, part, strict=True))
    return [*parts, left]


def _strides(sizes: Sequence[int], blocks: Sequence[int], innermost: int = 1, gaps: Sequence[int] | None = None) -> tuple[int, ...]:
    """Draw strides in blocks: the minimum of TA-STR-02, plus ``gaps``."""
    strides = [innermost] * len(sizes)
    for dimension in range(len(sizes) - 2, -1, -1):
        inner = dimension + 1
        strides[dimension] = strides[inner] * -(-sizes[inner] // blocks[inner]) + (0 if gaps is None else gaps[dimension])
    return tuple(strides)
