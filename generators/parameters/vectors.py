"""Parameters that families of cooperative vectors share: invocations, lengths, and where vectors and matrices are in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from generators.parameters.declaration import parameter
from generators.program.builder import U32, ProgramBuilder
from generators.program.shape import WorkgroupShape
from generators.program.values import Extent
from generators.types import COMPONENT_TYPES, ComponentType, Scope, VectorMatrixLayout

COMPONENTS: Mapping[str, ComponentType] = MappingProxyType(
    {name: COMPONENT_TYPES[name] for name in ("f16", "f32", "s8", "u8", "s32", "u32")}
)
"""Types whose vectors are computed with, component by component."""

MATRIX_LAYOUTS: Mapping[str, VectorMatrixLayout] = MappingProxyType(
    {
        "row": VectorMatrixLayout.ROW_MAJOR,
        "column": VectorMatrixLayout.COLUMN_MAJOR,
        "inferencing": VectorMatrixLayout.INFERENCING_OPTIMAL,
        "training": VectorMatrixLayout.TRAINING_OPTIMAL,
    }
)
FIRST_VECTORS: Mapping[str, int] = MappingProxyType({"zero": 0, "minimal": 16, "odd": 48, "far": 65552})
"""Bytes before the first vector of an array."""

INVOCATIONS = ("invocations", "workgroups")
"""The parameters of ``Invocations``."""


@dataclass(frozen=True, kw_only=True)
class Invocations:
    """The parameters of a case whose invocations have vectors or arrays of their own."""

    invocations: int = parameter("invocations of a workgroup", default=32)
    workgroups: int = parameter("workgroups", default=1)

    @property
    def lanes(self) -> int:
        """Invocations of the dispatch."""
        return self.invocations * self.workgroups

    @property
    def is_partial(self) -> bool:
        """Whether a subgroup has fewer invocations than its size, which is a power of two and more than one."""
        return self.invocations in (1, 7, 33)

    def builder(self) -> ProgramBuilder:
        """Begin the program of the case."""
        return ProgramBuilder(Scope.WORKGROUP, workgroups=self.workgroups, shape=WorkgroupShape(invocations=self.invocations))


LENGTH = ("length", "length_from")
"""The parameters that ``Vectors`` adds."""


@dataclass(frozen=True, kw_only=True)
class Vectors(Invocations):
    """The parameters of a case about vectors of one length."""

    length: int = parameter("components of a vector", default=8)
    length_from: Literal["literal", "specialization"] = parameter("where the length of the type comes from", default="literal")

    def extent(self, builder: ProgramBuilder) -> Extent:
        """Return the length of vectors in the program, with another default if it is a specialization constant."""
        if self.length_from == "literal":
            return self.length
        return builder.operand("length", U32, "specialization", self.length, self.length + 3)
