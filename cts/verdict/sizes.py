"""Bounds for the numbers of results: a journal may come from someone else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta

MOST_SECONDS = 1e9
"""Thirty years."""

MOST_COUNT = 1 << 53
"""Every program that reads JSON can represent it."""

MOST_SIDE = 1 << 16
"""The most rows or columns of a failing matrix."""

MOST_ELEMENTS = 1 << 24
"""The most elements of a failing matrix."""

Seconds = Annotated[float, Meta(ge=0.0, le=MOST_SECONDS, extra={"unit": "s"})]
Count = Annotated[int, Meta(ge=0, le=MOST_COUNT)]
Ordinal = Annotated[int, Meta(ge=1, le=MOST_COUNT)]
Bits = Annotated[int, Meta(ge=0)]
"""The largest bits of an element. They may be more than MOST_COUNT, because JSON has them as text."""
Side = Annotated[int, Meta(ge=1, le=MOST_SIDE)]
Statistic = bool | int | float
Statistics = Mapping[str, Mapping[str, Statistic]]
"""What a driver tells of compiled code: executable -> statistic -> value. All names are the driver's."""
