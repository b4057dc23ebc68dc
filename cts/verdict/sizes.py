"""Numbers that results hold, with their bounds: journals are also read that others wrote."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

MOST_SECONDS = 1e9
"""Thirty years."""

MOST_COUNT = 1 << 53
"""Any program that reads JSON can hold it."""

MOST_SIDE = 1 << 16
"""Rows or columns of a failing matrix."""

MOST_ELEMENTS = 1 << 24
"""Elements of a failing matrix."""

Seconds = Annotated[float, Meta(ge=0.0, le=MOST_SECONDS)]
Count = Annotated[int, Meta(ge=0, le=MOST_COUNT)]
Ordinal = Annotated[int, Meta(ge=1, le=MOST_COUNT)]
Bits = Annotated[int, Meta(ge=0)]
"""The bits of an element, which may be more than MOST_COUNT: JSON has them as text."""
Side = Annotated[int, Meta(ge=1, le=MOST_SIDE)]
