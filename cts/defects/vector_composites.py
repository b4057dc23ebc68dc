"""Defects of cooperative vectors as composites: another component, constituent or invocation's value, and missing copies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from cts.defects.control_flow import bent_arms
from cts.defects.defect import Defect, every, in_all
from cts.defects.edits import Edit, bent, bits, exchanged, instead, of_first, then, with_matrix, with_scalar
from cts.defects.evaluation import Substitute
from cts.defects.known import defects_of
from cts.reference.composites import copy_memory
from cts.reference.control_flow import repeat, trip_counts
from cts.reference.evaluate import perform
from cts.reference.state import State
from cts.reference.trees import taken
from cts.reference.values import MatrixValue
from cts.reference.variables import define, variable_store
from generators.program.composites import CompositeConstruct, CompositeExtract, CompositeInsert, CopyMemory
from generators.program.construction import CooperativeVectorConstant, CooperativeVectorNull, CooperativeVectorSplat
from generators.program.control_flow import Branch, Loop, PerInvocation, Select, Switch
from generators.program.cooperative_vectors import CooperativeVectorExtract, CooperativeVectorInsert
from generators.program.operation import Operation
from generators.program.program import Program
from generators.program.values import ArrayType, CooperativeVectorType, Operand, ScalarValue, StructType, ValueType, is_cooperative_vector
from generators.program.variables import Path, VariableLoad, VariableStore, leaves, length, part_type

Access = VariableLoad | VariableStore
Indexed = CompositeExtract | CompositeInsert | CooperativeVectorExtract | CooperativeVectorInsert | Access
"""An operation that extracts or replaces a component."""

_REGISTER = 4
"""Components that a register may hold."""

_REGISTER_BYTES = 16
"""Bytes that a device keeps if it treats the vector as a vector of four components."""


@defects_of(
    "vector_composite",
    Indexed | CooperativeVectorConstant | CooperativeVectorNull | CooperativeVectorSplat,
    CompositeConstruct,
    CopyMemory,
    Select,
    PerInvocation,
)
def vector_composite_defects(program: Program) -> Iterator[Defect]:
    """Yield the defects of cooperative vectors as composites in ``program``, each in all instructions that can have it."""
    found = every(program.operations, Operation)
    yield from _components(found)
    yield from _composites(found)
    yield from _made(found)
    yield from _chosen(program)
    yield from _variables(found)


def _all(id_: str, operations: Sequence[Operation], step: Substitute, **kinds: str) -> Iterator[Defect]:
    return in_all(f"vector_composite.{id_}", operations, step, **kinds)


# Components


def _container(operation: Indexed) -> ValueType:
    """Return the type of the composite from which the operation takes a part, or in which it replaces one."""
    if isinstance(operation, VariableLoad | VariableStore):
        return operation.variable.type
    return operation.vector.type if isinstance(operation, CooperativeVectorExtract | CooperativeVectorInsert) else operation.composite.type


def _path(operation: Indexed) -> Path:
    return (operation.index,) if isinstance(operation, CooperativeVectorExtract | CooperativeVectorInsert) else operation.path


def _vector(operation: Indexed) -> CooperativeVectorType | None:
    """Return the type of the vector whose component the operation accesses; None if it accesses another part."""
    path = _path(operation)
    type_ = part_type(_container(operation), path[:-1]) if path else None
    return type_ if isinstance(type_, CooperativeVectorType) else None


def _at(bend: Callable[[np.ndarray, CooperativeVectorType], np.ndarray]) -> Substitute:
    """Build a step that accesses another component than the index names."""

    def step(state: State, operation: Indexed) -> None:
        type_ = _vector(operation)
        assert type_ is not None, "a component is indexed"
        index = _path(operation)[-1]

        def changed(indices: np.ndarray) -> np.ndarray:
            return bend(indices, type_)

        if isinstance(index, int):
            other: int | ScalarValue = int(changed(np.array([index], np.uint64))[0])
        else:
            other = bent(state, index, changed)
        if isinstance(operation, CooperativeVectorExtract | CooperativeVectorInsert):
            assert not isinstance(other, int), "the index is a value"
            perform(state, replace(operation, index=other))
        else:
            perform(state, replace(operation, path=(*operation.path[:-1], other)))  # type: ignore[arg-type]

    return step


def _neighbour(index: np.ndarray, type_: CooperativeVectorType) -> np.ndarray:
    return (index + np.uint64(1)) % np.uint64(type_.count)


def _in_bytes(index: np.ndarray, type_: CooperativeVectorType) -> np.ndarray:
    return index // np.uint64(type_.component.bytes)


def _in_register(index: np.ndarray, _: CooperativeVectorType) -> np.ndarray:
    return index % np.uint64(_REGISTER)


def _first(index: np.ndarray, _: CooperativeVectorType) -> np.ndarray:
    return of_first(index)


def _components(found: Sequence[Operation]) -> Iterator[Defect]:
    """Yield defects of components that an instruction extracts or replaces, directly or through a pointer."""
    taking = (CompositeExtract, CooperativeVectorExtract, VariableLoad)
    replacing = (CompositeInsert, CooperativeVectorInsert, VariableStore)
    for kinds, access in ((taking, "taken"), (replacing, "replaced")):
        several = [(one, type_) for one in found if isinstance(one, kinds) and (type_ := _vector(one)) is not None and type_.count > 1]
        for pointer, through in ((False, "an instruction"), (True, "a pointer")):
            those = [(one, type_) for one, type_ in several if isinstance(one, VariableLoad | VariableStore) is pointer]
            constant = [one for one, _ in those if isinstance(_path(one)[-1], int)]
            dynamic = [(one, type_) for one, type_ in those if one not in constant]
            own = [one for one, _ in dynamic if pointer and not isinstance(_path(one)[-1], Operand)]
            wide = [one for one, type_ in dynamic if type_.component.bytes > 1]
            long = [one for one, type_ in dynamic if type_.count > _REGISTER]
            yield from _all("neighbour", constant, _at(_neighbour), access=access, index="constant", through=through)
            yield from _all("neighbour", [one for one, _ in dynamic], _at(_neighbour), access=access, index="run-time", through=through)
            yield from _all("index_in_bytes", wide, _at(_in_bytes), access=access, through=through)
            yield from _all("index_in_register", long, _at(_in_register), access=access, through=through)
            yield from _all("index_of_first_invocation", own, _at(_first), access=access)


# Composites


def _original_changed(state: State, operation: CompositeInsert | CooperativeVectorInsert) -> None:
    perform(state, operation)
    changed = operation.composite if isinstance(operation, CompositeInsert) else operation.vector
    result = operation.result
    define(state, changed.name, state.matrices[result.name] if result.name in state.matrices else state.aggregates[result.name])


def _holds_vector(type_: ValueType) -> bool:
    return any(isinstance(leaf, CooperativeVectorType) for _, leaf in leaves(type_))


def _composites(found: Sequence[Operation]) -> Iterator[Defect]:
    inserts = [
        one
        for one in found
        if isinstance(one, CooperativeVectorInsert) or (isinstance(one, CompositeInsert) and _holds_vector(one.composite.type))
    ]
    made = [one for one in found if isinstance(one, CompositeConstruct) and _holds_vector(one.result.type) and _alike(one.result.type)]
    turned = instead(lambda operation: replace(operation, parts=operation.parts[::-1]))
    groups: tuple[tuple[str, Sequence[CompositeConstruct | CompositeInsert | CooperativeVectorInsert], Substitute], ...] = (
        ("original_changed", inserts, _original_changed),
        ("constituents_reversed", made, turned),
    )
    for id_, operations, step in groups:
        yield from _all(id_, [one for one in operations if is_cooperative_vector(one.result)], step, of="vector")
        yield from _all(id_, [one for one in operations if not is_cooperative_vector(one.result)], step, of="aggregate")


def _alike(type_: ValueType) -> bool:
    """Tell whether a type has several constituents, all of one type."""
    if not isinstance(type_, ArrayType | StructType | CooperativeVectorType) or length(type_) < 2:
        return False
    return len({part_type(type_, (i,)) for i in range(length(type_))}) == 1


# Vectors that are made


def _kept(count: int) -> Edit:
    """Return a function that zeroes all components after the first ``count``."""
    return bits(lambda components: np.where(np.arange(components.shape[2]) < count, components, components.dtype.type(0)))


def _made(found: Sequence[Operation]) -> Iterator[Defect]:
    splats = [one for one in found if isinstance(one, CooperativeVectorSplat)]
    constants = [one for one in found if isinstance(one, CooperativeVectorConstant) and one.replicated]
    for made, way in (
        ([one for one in splats if not one.replicated], "constituents"),
        ([one for one in splats if one.replicated], "replication"),
        (constants, "a replicated constant"),
    ):
        yield from _all("first_component_only", [one for one in made if one.result.type.count > 1], then(_kept(1)), by=way)
    own = [one for one in splats if not isinstance(one.value, Operand)]
    yield from _all("splat_of_first_invocation", own, with_scalar("value", of_first))
    yield from _all("null_not_zero", [one for one in found if isinstance(one, CooperativeVectorNull)], then(bits(np.ones_like)))


# Values that are chosen


def _rounds_of_longest(state: State, operation: Loop) -> None:
    trips = trip_counts(state, operation)
    most = int(trips.max(initial=0))
    repeat(state, operation, range(most), np.full_like(trips, most))


def _chosen(program: Program) -> Iterator[Defect]:
    regions = every(program.operations, PerInvocation)
    found = [one for region in regions for one in every(region.body, Operation)]
    if not any(is_cooperative_vector(getattr(one, "result", None)) for one in found):
        return
    selects = [one for one in found if isinstance(one, Select) and is_cooperative_vector(one.result)]
    yield from _all("other_selected", selects, exchanged("then", "otherwise"))
    own = [one for one in selects if not isinstance(one.condition.left, Operand)]
    yield from _all("selected_by_first_invocation", own, with_scalar("condition.left", of_first))
    for kind, selection in ((Branch, "branch"), (Switch, "switch")):
        merging = [one for one in found if isinstance(one, kind)]
        yield from _all("arm_of_first_invocation", merging, bent_arms(lambda arms, _: of_first(arms)), selection=selection)
    loops = [one for one in found if isinstance(one, Loop) and not isinstance(one.limit, Operand)]
    yield from _all("rounds_of_longest", loops, _rounds_of_longest)


# Variables


def _shared(state: State, operation: VariableStore) -> None:
    """Store the last invocation's value into the variable of every invocation."""
    variable_store(state, operation)
    name, inner, last = operation.variable.name, state, len(state.instances) - 1
    tree = state.variables.get(name)
    while True:
        inner.variables[name] = taken(tree, np.full(len(inner.instances), last))
        outside = inner.outside
        if outside is None:
            return
        if outside.activation is not inner.activation:
            if name in inner.activation.own:
                return
            name = inner.activation.parameters.get(name, name)
        inner = outside


def _element_of_first(state: State, operation: Access) -> None:
    """Index arrays by the first invocation's indices."""
    type_ = operation.variable.type

    def changed(depth: int, index: int | ScalarValue) -> int | ScalarValue:
        into_array = isinstance(part_type(type_, operation.path[:depth]), ArrayType)
        return bent(state, index, of_first) if into_array and not isinstance(index, int) else index

    path = tuple(changed(depth, index) for depth, index in enumerate(operation.path))
    perform(state, replace(operation, path=path))


def _other_member(operation: Access) -> Path | None:
    """Return the path to another member of the same type; None if the path leads through no such struct."""
    type_ = operation.variable.type
    for depth, index in enumerate(operation.path):
        container = part_type(type_, operation.path[:depth])
        if isinstance(container, StructType) and isinstance(index, int):
            others = [i for i, member in enumerate(container.members) if member == container.members[index] and i != index]
            if others:
                return (*operation.path[:depth], others[0], *operation.path[depth + 1 :])
    return None


def _register_kept(whole: MatrixValue) -> MatrixValue:
    """Return the first 16 bytes of a vector, and zeros after them."""
    return _kept(_REGISTER_BYTES // whole.component.bytes)(whole)


def _still_copied(copies: Sequence[CopyMemory]) -> Substitute:
    def step(state: State, operation: VariableStore) -> None:
        variable_store(state, operation)
        for one in copies:
            if one.source == operation.variable and one.target.name in state.variables:
                copy_memory(state, one)

    return step


def _variables(found: Sequence[Operation]) -> Iterator[Defect]:
    loads = [one for one in found if isinstance(one, VariableLoad) and _holds_vector(one.variable.type)]
    stores = [one for one in found if isinstance(one, VariableStore) and _holds_vector(one.variable.type)]
    for storage in ("function", "private"):
        yield from _all("variable_shared", [one for one in stores if one.variable.storage == storage], _shared, storage=storage)
    accesses: Mapping[str, Sequence[Access]] = {"loaded from": loads, "stored to": stores}
    for access, those in accesses.items():
        own = [one for one in those if _element_of_other(one)]
        yield from _all("element_of_first_invocation", own, _element_of_first, access=access)
        members = [one for one in those if _other_member(one) is not None]
        yield from _all("other_member", members, instead(lambda one: replace(one, path=_other_member(one))), access=access)
    whole = [one for one in stores if is_cooperative_vector(one.value) and one.value.type.bytes > _REGISTER_BYTES]
    yield from _all("sixteen_bytes_kept", whole, with_matrix("value", _register_kept))
    copies = [one for one in found if isinstance(one, CopyMemory) and _holds_vector(one.source.type)]
    changed = [one for one in stores if any(copy.source == one.variable for copy in copies)]
    yield from _all("memory_not_copied", changed, _still_copied(copies))


def _element_of_other(operation: Access) -> bool:
    """Tell whether the index into an array may differ between invocations."""
    type_ = operation.variable.type
    return any(
        not isinstance(index, int | Operand) and isinstance(part_type(type_, operation.path[:depth]), ArrayType)
        for depth, index in enumerate(operation.path)
    )
