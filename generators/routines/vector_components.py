"""Cooperative vectors that are loaded from and stored to single elements in memory: OpLoad, OpCompositeConstruct, OpCompositeExtract and
OpStore, all of which preserve bits."""

from __future__ import annotations

from generators.program.builder import ProgramBuilder
from generators.program.cooperative_vectors import VectorComponentsStored
from generators.program.memory import Array
from generators.program.values import CooperativeVector, CooperativeVectorType, ScalarValue, extent
from generators.program.vector_builder import VectorBuilder


def load_components(
    builder: ProgramBuilder, name: str, type_: CooperativeVectorType, array: Array, first: ScalarValue
) -> CooperativeVector:
    """Construct a vector from the elements of ``array``, starting at index ``first`` (u32)."""
    parts = tuple(
        builder.read_scalar(f"{name}_{i}", array, builder.arithmetic(f"{name}_at_{i}", "add", first, builder.literal(i)))
        for i in range(extent(type_.length))
    )
    return VectorBuilder(builder).construct(name, type_, parts)


def store_components(builder: ProgramBuilder, vector: CooperativeVector, array: Array, first: ScalarValue) -> None:
    """Store each component, as VectorComponentsStored describes."""
    vectors = VectorBuilder(builder)
    with builder.stated(VectorComponentsStored(vector, array, first)):
        for i in range(extent(vector.type.length)):
            part = vectors.extract(builder.fresh("part"), vector, i)
            builder.write(array, builder.arithmetic(builder.fresh("place"), "add", first, builder.literal(i)), part)
