"""plain_shaders: shaders without cooperative types, in each stage in which other cases use these types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from generators.parameters.declaration import parameter
from generators.program.builder import U32, ProgramBuilder
from generators.program.memory import Pointee
from generators.program.program import Built, Program, Subcase
from generators.program.shape import WorkgroupShape
from generators.program.values import Value
from generators.stages import Stage
from generators.types import Scope, StorageClass

_ADDED = 0x9E3779B9
"""The number that each invocation adds: no result equals the source, zero, or another invocation's number."""


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of a case."""

    stage: Stage = parameter("the stage that runs the shader")
    invocations: int = parameter("invocations of one workgroup, or of one draw", default="64")


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    run: int = parameter("number of the draw of the data")


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {"draws": lambda parameters: parameters.stage in ("fragment", "vertex")}


def build(parameters: Parameters) -> Built:
    """Build a case: each invocation reads its own number, adds a constant, and stores the sum."""
    lanes = parameters.invocations
    builder = ProgramBuilder(Scope.WORKGROUP, shape=WorkgroupShape(invocations=lanes, stage=parameters.stage))
    source = builder.array("source", Pointee(U32), lanes, StorageClass.STORAGE_BUFFER, "input")
    target = builder.array("target", Pointee(U32), lanes, StorageClass.STORAGE_BUFFER, "output")
    me = Value("me", U32)
    with builder.per_invocation(me, lanes):
        number = builder.read_scalar("number", source, me)
        builder.write(target, me, builder.arithmetic("sum", "add", number, builder.literal(_ADDED)))

    def draw(name: str, _: SubcaseParameters, __: Program, rng: np.random.Generator) -> Subcase:
        return Subcase(name, {"source": rng.integers(1 << 32, size=lanes, dtype=np.uint32).view(np.uint8)})

    return Built(builder.build(), draw)
