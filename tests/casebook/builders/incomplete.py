"""A builder that declares its parameters and makes nothing of them."""

from __future__ import annotations

from dataclasses import dataclass

PREDICATES: dict[str, object] = {}


@dataclass(frozen=True)
class Parameters: ...
