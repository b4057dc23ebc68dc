"""Results of operations by their operands: many evaluations of one subcase perform each operation only once for the same operands."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cts.reference.state import Perform, State
from cts.reference.values import CERTAIN, MatrixValue
from generators.program import array_conversion as of_arrays
from generators.program import arrays, conversion, elementwise
from generators.program.callbacks import PerElement, Reduce
from generators.program.composites import CompositeConstruct, CompositeExtract, CompositeInsert, CopyObject
from generators.program.control_flow import Branch, Loop, Select, Switch
from generators.program.cooperative_vector_matmul import CooperativeVectorMatMul
from generators.program.cooperative_vectors import CooperativeVectorExtract, CooperativeVectorInsert, CooperativeVectorLoad
from generators.program.functions import Function
from generators.program.load_store import MatrixLoad
from generators.program.memory import Array
from generators.program.muladd import MatrixMulAdd
from generators.program.operation import Operation, Part
from generators.program.pointers import BlockLoad
from generators.program.scalars import Extended, ScalarArithmetic, ScalarConvert
from generators.program.tensor import LayoutSet, ViewSet
from generators.program.tensor_access import TensorLoad
from generators.program.values import Value
from generators.program.walking import names_read, regions, results

_PLAIN = (
    arrays.ArrayLoad,
    conversion.MatrixConvert,
    conversion.Transpose,
    conversion.TransposedConvert,
    conversion.UseConvert,
    elementwise.CooperativeVectorArithmetic,
    elementwise.CooperativeVectorBits,
    elementwise.CooperativeVectorConvert,
    elementwise.CooperativeVectorFunction,
    elementwise.CooperativeVectorNegate,
    elementwise.CooperativeVectorNot,
    elementwise.CooperativeVectorTimesScalar,
    elementwise.MatrixArithmetic,
    elementwise.MatrixNegate,
    elementwise.MatrixTimesScalar,
    of_arrays.BitCastArray,
    of_arrays.ExtractSubArray,
    CompositeConstruct,
    CompositeExtract,
    CompositeInsert,
    CooperativeVectorExtract,
    CooperativeVectorInsert,
    CooperativeVectorLoad,
    CooperativeVectorMatMul,
    CopyObject,
    Extended,
    LayoutSet,
    MatrixLoad,
    MatrixMulAdd,
    PerElement,
    Reduce,
    ScalarArithmetic,
    ScalarConvert,
    Select,
    TensorLoad,
    ViewSet,
)
"""Operations that give values which follow from their operands, from the memory of their arrays, and from nothing else."""

_AROUND = (Branch, Loop, Switch)
"""Operations that do the same if all operations inside them do."""

_ONLY_INSIDE = (BlockLoad,)
"""Operations that read only the array of the instruction that calls their function."""

_MOST = 1000
"""The most results of one operation that are kept."""

_MOST_BYTES = 1 << 18
"""The size of an array that may be a part of a key; loads from larger ones that can change are not kept."""


Result = tuple[str, str, Any]
"""A field of a state, a name in it, and the value of the name."""


@dataclass
class _Plan:
    """What the results of an operation follow from, and those that are known.

    Attributes:
        operation: the operation.
        names: of the values that it reads.
        arrays: the arrays that it reads.
        made: names of its results.
        inside: the operations that it performs, with itself.
        known: results by what they follow from.
        kept: matrices whose identities are parts of keys.
    """

    operation: Operation
    names: tuple[str, ...] = ()
    arrays: tuple[Array, ...] = ()
    made: tuple[str, ...] = ()
    inside: frozenset[Operation] = frozenset()
    known: dict[tuple[object, ...], list[Result]] = field(default_factory=dict)
    kept: list[MatrixValue] = field(default_factory=list)

    def keep(self, key: tuple[object, ...], state: State) -> None:
        """Keep the results that a state has after the operation."""
        kinds: tuple[tuple[str, dict[str, Any]], ...] = (
            ("matrices", state.matrices),
            ("scalars", state.scalars),
            ("aggregates", state.aggregates),
        )
        self.known[key] = [(kind, name, values[name]) for name in self.made for kind, values in kinds if name in values]
        self.kept.extend(state.matrices[name] for name in self.names if name in state.matrices)


class _Unknown(Exception):
    """The results follow from more than the operands."""


@dataclass
class Remembered:
    """The results of operations in one subcase; see ``performing``."""

    _plans: dict[int, _Plan] = field(default_factory=dict)

    def performing(self, performed: Perform, wrong: Collection[Operation], beyond: int | None) -> Perform:
        """Return a function that performs operations by ``performed``, but takes known results.

        Args:
            performed: performs an operation.
            wrong: the operations that another step replaces.
            beyond: the value of each byte beyond an array; None if there is none.
        """
        kinds = {type(operation) for operation in wrong}

        def performing(state: State, operation: Operation) -> None:
            plan = self._plans.get(id(operation))
            if plan is None:
                plan = self._plans[id(operation)] = _plan(operation)
            # Most operations are of other classes, and cost no hash.
            is_wrong = not plan.inside.isdisjoint(wrong) if len(plan.inside) > 1 else type(operation) in kinds and operation in wrong
            # Another function would perform what is inside: a step that replaces a loop may replace steps in it, too.
            is_other = len(plan.inside) > 1 and (state.variables or state.perform is not performing)
            if is_wrong or is_other or not plan.made:
                performed(state, operation)
                return
            try:
                key = _key(state, plan, beyond)
            except _Unknown:
                performed(state, operation)
                return
            known = plan.known.get(key)
            if known is None:
                performed(state, operation)
                if len(plan.known) < _MOST:
                    plan.keep(key, state)
                return
            for kind, name, value in known:
                getattr(state, kind)[name] = value

        return performing


def follows(operation: Operation) -> bool:
    """Tell whether all that an operation does is to give values that follow from its operands and from the memory of its arrays."""
    return isinstance(operation, _PLAIN) and bool(_plan(operation).made)


def _plan(operation: Operation) -> _Plan:
    """Return what the results of an operation follow from; without results if that is not known."""
    inside = list(performed_by(operation))
    if isinstance(operation, (*_PLAIN, *_AROUND)) and all(isinstance(one, (*_PLAIN, *_AROUND, *_ONLY_INSIDE)) for one in inside):
        read = {array for one in inside for array in arrays_of(one)}
        names = sorted(set().union(*(names_read(one) for one in inside)))
        return _Plan(operation, tuple(names), tuple(read), tuple(one.name for one in results(operation)), frozenset(inside))
    return _Plan(operation)


def performed_by(operation: Operation) -> Iterator[Operation]:
    """Yield an operation and all operations inside it and in functions that it calls."""
    yield operation
    functions = [one for one in vars(operation).values() if isinstance(one, Function)]
    for region in (*regions(operation), *(one.body for one in functions)):
        for one in region:
            yield from performed_by(one)


def arrays_of(part: Part) -> Iterator[Array]:
    """Yield the arrays that an operation accesses, but not the operations inside it."""
    for one in vars(part).values():
        for each in one if isinstance(one, tuple) else (one,):
            if isinstance(each, Array):
                yield each
            elif isinstance(each, Part) and not isinstance(each, Operation | Value):
                yield from arrays_of(each)


def _key(state: State, plan: _Plan, beyond: int | None) -> tuple[object, ...]:
    """Return everything that the results follow from.

    Raises:
        _Unknown: it is too large.
    """
    matrices, scalars, aggregates = state.matrices, state.scalars, state.aggregates
    key: list[object] = [beyond, state.instances.tobytes(), None if state.owners is None else state.owners.tobytes()]
    if state.program.passes is not None:
        key.append(state.subcase.operands.get(state.program.passes.operand.name))
    for name in plan.names:
        if name in scalars:
            key.append(scalars[name].tobytes())
        if name in matrices:
            key.append(_matrix(matrices[name]))
        if name in aggregates:
            key.append(_tree(aggregates[name]))
    for array in plan.arrays:
        memory = state.memories[array.owner.name]
        if memory.status is not None:
            if len(memory.contents) > _MOST_BYTES:
                raise _Unknown
            key += (memory.contents.tobytes(), memory.status.tobytes())
    return tuple(key)


def _matrix(value: MatrixValue) -> object:
    if value.known is CERTAIN and value.history is None and not value.origins and value.permitted is None:
        return value.component, value.bits.shape, value.bits.tobytes(), value.computed, value.authority, value.nan_kept
    return id(value)


def _tree(tree: object) -> object:
    if isinstance(tree, np.ndarray):
        return tree.tobytes()
    if isinstance(tree, tuple):
        return tuple(map(_tree, tree))
    if isinstance(tree, MatrixValue):
        return _matrix(tree)
    if tree is None:
        return None
    raise _Unknown
