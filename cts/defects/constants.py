"""Defects of operands: a specialization constant left at its default."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

from cts.defects.defect import Defect, every
from cts.defects.glossary import ParameterValue
from cts.reference.evaluate import STEPS
from cts.reference.state import State
from generators.program.construction import MatrixConstant, MatrixSplat
from generators.program.control_flow import Loop
from generators.program.elementwise import MatrixTimesScalar
from generators.program.load_store import MatrixLoad, MatrixStore
from generators.program.operation import Operation
from generators.program.program import Program
from generators.program.scalars import ScalarArithmetic
from generators.program.values import Operand

_Using = MatrixLoad | MatrixStore | MatrixSplat | MatrixConstant | ScalarArithmetic | Loop | MatrixTimesScalar


def _uses(operation: _Using, operand: Operand) -> list[str]:
    return [field.name for field in fields(operation) if getattr(operation, field.name) == operand]


def constant_defects(program: Program) -> Iterator[Defect]:
    """For every specialization constant that an operation takes: it has its default."""
    listed = program.operations
    operations: list[_Using] = [
        *every(listed, MatrixLoad),
        *every(listed, MatrixStore),
        *every(listed, MatrixSplat),
        *every(listed, MatrixConstant),
        *every(listed, ScalarArithmetic),
        *every(listed, Loop),
        *every(listed, MatrixTimesScalar),
    ]
    for operand in program.operands:
        if operand.source != "specialization" or operand.default in (None, operand.value):
            continue
        default = replace(operand, value=operand.default)
        users: dict[Operation, dict[str, Any]] = {
            operation: dict.fromkeys(uses, default) for operation in operations if (uses := _uses(operation, operand))
        }

        def step(state: State, operation: Operation, users: dict[Operation, dict[str, Any]] = users) -> None:
            STEPS[type(operation)](state, replace(operation, **users[operation]))

        if users:
            parameters: dict[str, ParameterValue] = {"name": operand.name, "default": operand.default}
            yield Defect("specialization.default_kept", dict.fromkeys(users, step), parameters)
