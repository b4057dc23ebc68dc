"""Operands that get their values when a program runs."""

from __future__ import annotations

from collections.abc import Mapping

from generators.program.program import Program
from generators.program.values import Operand


def from_host(program: Program) -> list[Operand]:
    """Return the operands whose values each subcase supplies."""
    return [operand for operand in program.operands if operand.source in ("push_constant", "buffer")]


def usual_operands(program: Program) -> dict[str, int]:
    """Return the values of operands in a subcase that gives no others, by name."""
    return {operand.name: operand.usual for operand in from_host(program) if operand.usual is not None}


def run_time_operands(program: Program, values: Mapping[str, int]) -> dict[str, int]:
    """Return the ``values`` that a subcase supplies: for the operands that are neither literals nor specialization constants."""
    return {operand.name: values[operand.name] for operand in from_host(program) if operand.name in values}
