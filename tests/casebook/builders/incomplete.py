"""A builder that declares its parameters but builds nothing from them."""

from __future__ import annotations

from dataclasses import dataclass

PREDICATES: dict[str, object] = {}


@dataclass(frozen=True)
class Parameters: ...
