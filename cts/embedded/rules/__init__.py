"""The types that an instruction's operands and result must have, by opcode.

``Translation.prepare`` checks them before it calls the instruction's handler, which relies on them. The handlers themselves check the rules
of the extensions for cooperative matrices and tensors.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cts.embedded.module.translation import Check, Rule
from cts.embedded.rules import arithmetic, composites, constants, control_flow, cooperative_vectors, invocations, memory
from generators.spirv.enumerants import Op

RULES: Mapping[Op, Rule] = MappingProxyType(
    {op: rule for group in (arithmetic, composites, constants, control_flow, invocations, memory) for op, rule in group.RULES.items()}
)
"""Opcode -> rule, of all groups. Instructions without an entry are checked only by their handlers."""

CHECKS: tuple[Check, ...] = (
    arithmetic.check_transposing,
    arithmetic.check_small_floats,
    cooperative_vectors.check_vectors,
    memory.check_passed_on,
)
"""Checks that apply to every instruction."""
