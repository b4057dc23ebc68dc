"""Built-ins that describe an invocation's subgroup."""

from __future__ import annotations

from generators.program.builder import U32, ProgramBuilder
from generators.program.composites import CompositeConstruct
from generators.program.memory import Array
from generators.program.scalars import BuiltInName
from generators.program.subgroup_operations import SubgroupsStored
from generators.program.values import Value, VectorType

_KNOWN: tuple[BuiltInName, ...] = ("subgroup_size", "subgroups", "subgroup", "subgroup_invocation")


def store_subgroups(builder: ProgramBuilder, target: Array, subgroup_size: int) -> None:
    """Store every invocation's subgroup built-ins to its own element, as SubgroupsStored describes."""
    with builder.stated(SubgroupsStored(target, subgroup_size)):
        known = [builder.built_in(builder.fresh(f"known_{which}"), which) for which in _KNOWN]
        _, count, subgroup, lane = known
        before = builder.arithmetic(builder.fresh("known_before"), "multiply", builder.workgroup_index(builder.fresh("known_of")), count)
        instance = builder.arithmetic(builder.fresh("known_instance"), "add", before, subgroup)
        vector = builder.result_of(CompositeConstruct(Value(builder.fresh("known"), VectorType(U32, len(known))), tuple(known)))
        first = builder.arithmetic(builder.fresh("known_first"), "multiply", instance, builder.literal(subgroup_size))
        builder.write(target, builder.arithmetic(builder.fresh("known_place"), "add", first, lane), vector)
