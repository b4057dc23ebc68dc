"""Arrays and structs as values: OpCompositeConstruct, OpCompositeExtract, OpCompositeInsert, OpCopyObject, and OpCopyMemory between
variables (KHR-TYPE-06)."""

from __future__ import annotations

from dataclasses import dataclass

from generators.program.operation import InvocationOperation, Operation
from generators.program.values import Aggregate, AnyValue, CooperativeVector, Operand
from generators.program.variables import Path, Variable


@dataclass(frozen=True)
class CompositeConstruct(InvocationOperation):
    """``result`` has ``parts``, one for each element, member or component."""

    result: Aggregate | CooperativeVector
    parts: tuple[AnyValue | Operand, ...]


@dataclass(frozen=True)
class CompositeExtract(InvocationOperation):
    """``result`` is the part of ``composite``, an aggregate, a matrix or a cooperative vector, that ``path`` leads to; ``path`` has at
    least one step. A part of a matrix is a component of the invocation."""

    result: AnyValue
    composite: AnyValue
    path: tuple[int, ...]


@dataclass(frozen=True)
class CompositeInsert(InvocationOperation):
    """``result`` is ``composite`` with ``part`` at the place that ``path`` leads to."""

    result: AnyValue
    part: AnyValue | Operand
    composite: AnyValue
    path: tuple[int, ...]


@dataclass(frozen=True)
class CopyObject(InvocationOperation):
    """``result`` is ``value``, of the same type."""

    result: AnyValue
    value: AnyValue


@dataclass(frozen=True)
class CopyMemory(Operation):
    """Copies the part of ``source`` that ``source_path`` leads to, to the part of ``target`` that ``target_path`` leads to, which has the
    same type."""

    target: Variable
    target_path: Path
    source: Variable
    source_path: Path
