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

_MOST = 20_000
"""How many results are kept."""

_MOST_BYTES = 1 << 14
"""The size of an array that may be a part of a key; loads from larger ones that can change are not kept."""


@dataclass(frozen=True)
class _Plan:
    """What the results of an operation follow from.

    Attributes:
        names: of the values that it reads.
        arrays: the arrays that it reads.
        made: names of its results.
        inside: the operations that it performs, with itself.
    """

    names: tuple[str, ...]
    arrays: tuple[Array, ...]
    made: tuple[str, ...]
    inside: frozenset[Operation]


class _Unknown(Exception):
    """The results follow from more than the operands."""


@dataclass
class Remembered:
    """The results of operations in one subcase; see ``performing``."""

    _plans: dict[Operation, _Plan | None] = field(default_factory=dict)
    _known: dict[tuple[object, ...], list[tuple[str, str, Any]]] = field(default_factory=dict)
    _kept: list[object] = field(default_factory=list)

    def performing(self, performed: Perform, wrong: Collection[Operation], beyond: int | None) -> Perform:
        """Return a function that performs operations by ``performed``, but takes known results.

        Args:
            performed: performs an operation.
            wrong: the operations that another step replaces.
            beyond: the value of each byte beyond an array; None if there is none.
        """

        def performing(state: State, operation: Operation) -> None:
            plan = self._plan(operation)
            if plan is None or state.variables or not plan.inside.isdisjoint(wrong):
                performed(state, operation)
                return
            try:
                key = (operation, beyond, *_read(state, plan))
            except _Unknown:
                performed(state, operation)
                return
            known = self._known.get(key)
            if known is None:
                performed(state, operation)
                self._keep(key, state, plan)
                return
            for kind, name, value in known:
                getattr(state, kind)[name] = value

        return performing

    def _plan(self, operation: Operation) -> _Plan | None:
        if operation not in self._plans:
            self._plans[operation] = _plan(operation)
        return self._plans[operation]

    def _keep(self, key: tuple[object, ...], state: State, plan: _Plan) -> None:
        if len(self._known) >= _MOST:
            return
        kinds: tuple[tuple[str, dict[str, Any]], ...] = (
            ("matrices", state.matrices),
            ("scalars", state.scalars),
            ("aggregates", state.aggregates),
        )
        self._known[key] = [(kind, name, values[name]) for name in plan.made for kind, values in kinds if name in values]
        # The keys have the identities of matrices, so these must stay.
        self._kept.extend(state.matrices[name] for name in plan.names if name in state.matrices)


def _plan(operation: Operation) -> _Plan | None:
    """Return what the results of an operation follow from; None if that is not known."""
    inside = list(_performed(operation))
    if isinstance(operation, (*_PLAIN, *_AROUND)) and all(isinstance(one, (*_PLAIN, *_AROUND, *_ONLY_INSIDE)) for one in inside):
        made = tuple(one.name for one in results(operation))
        read = {array for one in inside for array in _arrays(one)}
        names = sorted(set().union(*(names_read(one) for one in inside)))
        return _Plan(tuple(names), tuple(read), made, frozenset(inside)) if made else None
    return None


def _performed(operation: Operation) -> Iterator[Operation]:
    yield operation
    functions = [one for one in vars(operation).values() if isinstance(one, Function)]
    for region in (*regions(operation), *(one.body for one in functions)):
        for one in region:
            yield from _performed(one)


def _arrays(part: Part) -> Iterator[Array]:
    for one in vars(part).values():
        for each in one if isinstance(one, tuple) else (one,):
            if isinstance(each, Array):
                yield each
            elif isinstance(each, Part) and not isinstance(each, Operation | Value):
                yield from _arrays(each)


def _read(state: State, plan: _Plan) -> Iterator[object]:
    """Yield a part of the key for everything that the results follow from."""
    yield state.instances.tobytes()
    yield state.owners.tobytes() if state.owners is not None else None
    for name in plan.names:
        matrix = state.matrices.get(name)
        if matrix is not None:
            yield _matrix(matrix)
        if name in state.scalars:
            yield state.scalars[name].tobytes()
        if name in state.aggregates:
            yield _tree(state.aggregates[name])
    for array in plan.arrays:
        memory = state.memories[array.owner.name]
        if memory.status is not None:
            if len(memory.contents) > _MOST_BYTES:
                raise _Unknown
            yield memory.contents.tobytes()
            yield memory.status.tobytes()


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
