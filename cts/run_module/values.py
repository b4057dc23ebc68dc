"""The numbers of a job: lists of them, rules that make them, and files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np

from generators.bounded_files import Unreadable, read_bytes
from generators.errors import CtsError
from generators.types import SCALAR_TYPES, ComponentType

MOST_BYTES = 1 << 30
"""The most bytes of a buffer, a matrix or a file of a job, and of all values of its module on the embedded device."""

Count = Annotated[int, msgspec.Meta(ge=0)]
Positive = Annotated[int, msgspec.Meta(ge=1)]
Figure = int | float


class JobError(CtsError):
    """A job cannot be read, or does not fit its module; the message says what to change."""


class Values(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Numbers that a rule makes: exactly one of ``fill``, ``range`` (start and step), ``random`` (a seed) and ``file``."""

    count: Count | None = None
    fill: Figure | None = None
    range: tuple[Figure, Figure] | None = None
    random: int | None = None
    low: Figure = -1
    high: Figure = 1
    file: str | None = None


Given = list[Figure] | Values


class Tolerance(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """How far a number may be from the expected one: ``absolute`` plus ``relative`` times the expected one's magnitude."""

    absolute: float = 0.0
    relative: float = 0.0


def component_named(name: str, where: str) -> ComponentType:
    """Return the component type with a name.

    Raises:
        JobError: there is none; the message begins with ``where``.
    """
    if name not in SCALAR_TYPES:
        raise JobError(f"{where}: no type '{name}'; one of {', '.join(SCALAR_TYPES)}")
    return SCALAR_TYPES[name]


def array_of(values: list[Figure], component: ComponentType, where: str) -> np.ndarray:
    """Return a list of numbers as an array; integers wrap.

    Raises:
        JobError: they are not numbers of that type.
    """
    try:
        if component.is_float:
            return np.array(values, np.float64).astype(component.dtype)
        return np.array([int(value) % (1 << component.bits) for value in values], component.bits_dtype)
    except (ValueError, OverflowError, TypeError) as error:
        raise JobError(f"{where}: not numbers of {component}: {error}") from error


def numbers_of(given: Given, component: ComponentType, size: int | None, folder: Path, where: str) -> np.ndarray:
    """Return numbers from a list or a rule; if the rule has no count, ``size`` bytes of them.

    Raises:
        JobError: the rule is incomplete or too large, or its file cannot be read.
    """
    if isinstance(given, list):
        return array_of(given, component, where)
    rules = [name for name in ("fill", "range", "random", "file") if getattr(given, name) is not None]
    if len(rules) != 1:
        raise JobError(f"{where}: needs exactly one of fill, range, random and file, not {' and '.join(rules) or 'none'}")
    if given.file is not None:
        return _from_file(folder / given.file, component, where)
    count = given.count if given.count is not None else None if size is None else size // component.bytes
    if count is None:
        raise JobError(f"{where}: needs a count, or bytes of the buffer")
    if count * component.bytes > MOST_BYTES:
        raise JobError(f"{where}: {count * component.bytes:,} bytes; at most {MOST_BYTES:,}")
    if given.fill is not None:
        return np.broadcast_to(array_of([given.fill], component, where), count)
    if given.range is not None:
        start, step = given.range
        return array_of([start + step * i for i in range(count)], component, where)
    generator = np.random.default_rng(given.random)
    if component.is_float:
        return generator.uniform(given.low, given.high, count).astype(component.dtype)
    found = generator.integers(int(given.low), int(given.high), count, endpoint=True)
    return found.astype(np.int64).view(np.uint64).astype(component.bits_dtype)


def _from_file(path: Path, component: ComponentType, where: str) -> np.ndarray:
    try:
        raw = read_bytes(path, MOST_BYTES)
    except Unreadable as error:
        raise JobError(f"{where}: {path}: {error}") from error
    if len(raw) % component.bytes:
        raise JobError(f"{where}: {path} has {len(raw)} bytes, not a multiple of the {component.bytes} of {component}")
    return np.frombuffer(raw, component.dtype if component.is_float else component.bits_dtype)
