"""All instructions that the interpreter has."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cts.embedded import (
    array_conversions,
    atomics,
    composites,
    control_flow,
    conversions,
    cooperative_vector_matmul,
    cooperative_vector_training,
    cooperative_vectors,
    dot_products,
    glsl_std_450,
    images,
    linear_algebra,
    load_store,
    microscaling,
    muladd,
    nv_matrices,
    per_element,
    pointer_comparisons,
    reduction,
    scalars,
    subgroup_arithmetic,
    subgroups,
    tensor_access,
    tensor_state,
    use_conversions,
    variables,
    wide_integers,
    workgroup,
)
from cts.embedded.faults import Faults, NoSuchFault
from cts.embedded.translation import Handler
from generators.spirv.enumerants import Op

HANDLERS: Mapping[Op, Handler] = MappingProxyType(
    {
        op: handler
        for group in (
            array_conversions,
            atomics,
            composites,
            control_flow,
            conversions,
            cooperative_vector_matmul,
            cooperative_vector_training,
            cooperative_vectors,
            glsl_std_450,
            images,
            dot_products,
            linear_algebra,
            load_store,
            microscaling,
            muladd,
            nv_matrices,
            per_element,
            pointer_comparisons,
            reduction,
            scalars,
            subgroup_arithmetic,
            subgroups,
            tensor_access,
            tensor_state,
            use_conversions,
            variables,
            wide_integers,
            workgroup,
        )
        for op, handler in group.HANDLERS.items()
    }
)
"""Opcode -> handler, of all groups. Add a new group of instructions here."""


def handlers_with(faults: Faults) -> Mapping[Op, Handler]:
    """Return the handlers of a device with ``faults``, by opcode.

    Raises:
        NoSuchFault: a fault is for an instruction that the interpreter lacks.
    """
    if not faults.instructions:
        return HANDLERS
    for op in faults.instructions:
        if op not in HANDLERS:
            raise NoSuchFault(f"no fault can be given to Op{op.name}, which the interpreter does not have")
    return MappingProxyType({**HANDLERS, **{op: fault(HANDLERS[op]) for op, fault in faults.instructions.items()}})
