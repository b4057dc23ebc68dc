"""Components of cooperative vectors in memory, one by one."""

from __future__ import annotations

from dataclasses import dataclass

from generators.program.memory import Array
from generators.program.stated import Effect
from generators.program.values import CooperativeVector, ScalarValue


@dataclass(frozen=True)
class VectorComponentsStored(Effect):
    """Each component of ``vector`` is an element of ``array``, whose pointee is the component type: component i is element
    ``first`` + i (u32)."""

    vector: CooperativeVector
    array: Array
    first: ScalarValue
