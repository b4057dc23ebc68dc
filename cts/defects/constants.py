"""Defects of operands: a specialization constant left at its default."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, get_args

from cts.defects.defect import Defect, every, in_all
from cts.defects.known import defects_of
from cts.reference.evaluate import perform
from cts.reference.state import State
from generators.program.construction import MatrixConstant, MatrixSplat
from generators.program.control_flow import Loop
from generators.program.cooperative_vector_matmul import CooperativeVectorMatMul
from generators.program.cooperative_vectors import CooperativeVectorLoad
from generators.program.elementwise import MatrixTimesScalar
from generators.program.load_store import MatrixLoad, MatrixStore
from generators.program.muladd import MatrixMulAdd
from generators.program.operation import Operation
from generators.program.program import Program
from generators.program.scalars import ScalarArithmetic
from generators.program.tensor_access import TensorLoad, TensorStore
from generators.program.values import CooperativeVectorType, Extent, MatrixType, Operand, Selected, TensorLayoutType, TensorViewType

_Sized = CooperativeVectorType | TensorLayoutType | TensorViewType
_Using = MatrixLoad | MatrixStore | MatrixSplat | MatrixConstant | ScalarArithmetic | Loop | MatrixTimesScalar


def _uses(operation: _Using, operand: Operand) -> list[str]:
    return [field.name for field in fields(operation) if getattr(operation, field.name) == operand]


@defects_of("specialization", _Using, MatrixMulAdd, CooperativeVectorLoad, CooperativeVectorMatMul, TensorLoad, TensorStore)
def constant_defects(program: Program) -> Iterator[Defect]:
    """Yield a defect for every specialization constant that an operation takes: the constant keeps its default."""
    operations: list[_Using] = every(program.operations, *get_args(_Using))
    for operand in program.operands:
        if operand.source != "specialization" or operand.default in (None, operand.value):
            continue
        default = replace(operand, value=operand.default)
        users: dict[Operation, dict[str, Any]] = {
            operation: dict.fromkeys(uses, default) for operation in operations if (uses := _uses(operation, operand))
        }

        def step(state: State, operation: Operation, users: dict[Operation, dict[str, Any]] = users) -> None:
            perform(state, replace(operation, **users[operation]))

        yield from in_all("specialization.default_kept", users, step, name=operand.name, default=operand.default)
        yield from _dimension_defects(program, operand, default)


def _dimension_defects(program: Program, operand: Operand, default: Operand) -> Iterator[Defect]:
    """Yield the defect that the sizes of types are the default of a specialization constant."""
    known: dict[int, tuple[object, object]] = {}
    changed = {one: other for one in program.operations if (other := _respecialized(one, operand, default, known)) is not one}
    shapes = any(value.shape != _respecialized(value, operand, default, known).shape for value in _matrix_types(program))
    if not shapes and not any(isinstance(old, _Sized) and new is not old for old, new in known.values()):
        return

    def step(state: State, operation: Operation) -> None:
        perform(state, changed[operation])

    yield from in_all("specialization.dimension_default_kept", changed, step, name=operand.name, default=operand.default)


def _matrix_types(program: Program) -> list[MatrixType]:
    """Return the types of the matrices that are loaded, stored or multiplied."""
    loads, stores = every(program.operations, MatrixLoad), every(program.operations, MatrixStore)
    products = every(program.operations, MatrixMulAdd)
    return [*(one.result.type for one in loads), *(one.matrix.type for one in stores), *(one.result.type for one in products)]


def _side(side: Extent, operand: Operand, default: Operand) -> Extent:
    if isinstance(side, Selected):
        return replace(side, flag=default) if side.flag == operand else side
    return default if side == operand else side


Part = TypeVar("Part")


def _respecialized(part: Part, operand: Operand, default: Operand, known: dict[int, tuple[object, object]]) -> Part:
    """Return an operation, or a part of one, with the default in place of the operand in every type; without such a type, itself.

    Args:
        known: parts done before and their results, by the ``id`` of the part.
    """
    if not isinstance(part, tuple) and not is_dataclass(part):
        return part
    if id(part) in known:
        # A part keeps its type, which the type of ``known`` cannot say.
        return known[id(part)][1]  # type: ignore[return-value]
    result: object = part
    if isinstance(part, MatrixType):
        rows, columns = (_side(side, operand, default) for side in (part.rows, part.columns))
        if (rows, columns) != (part.rows, part.columns):
            result = replace(part, rows=rows, columns=columns)
    elif isinstance(part, _Sized):
        given = [field.name for field in fields(part) if getattr(part, field.name) == operand]
        result = replace(part, **dict.fromkeys(given, default)) if given else part  # type: ignore[arg-type]
    elif isinstance(part, tuple):
        items = tuple(_respecialized(one, operand, default, known) for one in part)
        result = items if any(new is not old for new, old in zip(items, part, strict=True)) else part
    elif is_dataclass(part) and not isinstance(part, type):
        old = {field.name: getattr(part, field.name) for field in fields(part) if field.init}
        new = {name: _respecialized(value, operand, default, known) for name, value in old.items()}
        if any(new[name] is not old[name] for name in old):
            result = replace(part, **new)
    known[id(part)] = part, result
    return result  # type: ignore[return-value]
