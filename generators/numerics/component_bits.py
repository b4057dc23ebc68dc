"""Numbers of families as the bits of a component type."""

from __future__ import annotations

import numpy as np

from generators.types import ComponentType


def bits_of(component: ComponentType, number: float) -> int:
    """The bits of a number that the type has; of an integer modulo its width."""
    if component.is_float:
        return int(np.array(number).astype(component.dtype).view(component.bits_dtype))
    return int(number) % (1 << component.bits)
