"""All instructions that the interpreter has."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cts.devices.embedded import (
    atomics,
    composites,
    control_flow,
    conversions,
    glsl_std_450,
    load_store,
    muladd,
    per_element,
    reduction,
    scalars,
    subgroups,
    tensor_access,
    tensor_state,
    use_conversions,
    variables,
    wide_integers,
    workgroup,
)
from cts.devices.embedded.translation import Handler
from generators.spirv.enumerants import Op

HANDLERS: Mapping[Op, Handler] = MappingProxyType(
    {
        op: handler
        for group in (
            atomics,
            composites,
            control_flow,
            conversions,
            glsl_std_450,
            load_store,
            muladd,
            per_element,
            reduction,
            scalars,
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
"""By opcode, the handlers of all groups. A new group of instructions joins here."""
