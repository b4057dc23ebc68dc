"""The types that an instruction's operands and result must have, by opcode.

``Translation.prepare`` asks once, before the instruction's handler, which relies on it. The rules that the extensions have for
cooperative matrices and tensors are with their handlers, which name them.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cts.devices.embedded.translation import Check, Rule
from cts.devices.embedded.type_rules import arithmetic, composites, control_flow, cooperative_vectors, invocations, memory
from generators.spirv.enumerants import Op

RULES: Mapping[Op, Rule] = MappingProxyType(
    {op: rule for group in (arithmetic, composites, control_flow, invocations, memory) for op, rule in group.RULES.items()}
)
"""By opcode, the rules of all groups. Instructions without an entry are checked by their handlers alone."""

CHECKS: tuple[Check, ...] = (cooperative_vectors.check_vectors, memory.check_passed_on)
"""Checks of every instruction."""
