"""Variables of Function and Private storage: trees of values, with None for parts that have not been written (KHR-TYPE-05, KHR-TYPE-06,
CV-COMP-01)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from cts.reference.components import assembled, extracted, inserted
from cts.reference.construction import constant_value, null_value
from cts.reference.state import State, evaluates
from cts.reference.trees import Partial, Tree, component, is_defined, replaced, selected
from cts.reference.values import MatrixValue, UndefinedMatrix
from generators.errors import GeneratorError, Rule
from generators.program.construction import CooperativeVectorConstant, MatrixConstant
from generators.program.values import (
    AnyValue,
    ArrayType,
    CooperativeVectorType,
    MatrixType,
    Operand,
    Scalar,
    StructType,
    ValueType,
    VectorType,
    is_cooperative_vector,
    is_matrix,
    is_scalar,
)
from generators.program.variables import Initializer, Variable, VariableLoad, VariableStore, length, part_type

Index = np.ndarray
"""One step of a path: int64, (instances,)."""


def value_of(state: State, value: AnyValue | Operand) -> Tree:
    """Return the value of a name."""
    if is_matrix(value) or (is_scalar(value) and state.has_range(value)):
        return state.matrices[value.name]
    # A cooperative vector is an aggregate until all of its components are defined.
    if is_cooperative_vector(value) and value.name in state.matrices:
        return state.matrices[value.name]
    return state.scalar(value) if is_scalar(value) else state.aggregates[value.name]


def define(state: State, name: str, tree: Tree) -> None:
    """Define a name. Every scope instance must have a value: only variables may be partly undefined."""
    assert not isinstance(tree, Partial)
    if isinstance(tree, MatrixValue):
        state.matrices[name] = tree
    elif isinstance(tree, tuple):
        state.aggregates[name] = tree
    else:
        assert not isinstance(tree, Partial), "a loaded value is defined in every instance"
        state.scalars[name] = tree


def merge(state: State, name: str, parts: Iterable[tuple[np.ndarray, Tree]]) -> None:
    """Define a name from the values of parts of the instances, each with the positions of its instances; together they are all
    instances."""
    merged: Tree | None = None
    for positions, tree in parts:
        merged = replaced(merged, positions, tree, len(state.instances))
    assert merged is not None, "some instance executes"
    define(state, name, merged)


def indices(state: State, type_: ValueType, path: Sequence[int | Operand | Scalar]) -> list[Index]:
    """Return the path with numbers for its indices.

    Raises:
        GeneratorError: an index is beyond the array, or the path leads into a matrix.
    """
    found = []
    for place, index in enumerate(path):
        container = part_type(type_, path[:place])
        if isinstance(container, MatrixType):
            raise GeneratorError(
                "F-KHR-4", "it is unspecified which element a component of an invocation is (F-KHR-4); state the effect of the code"
            )
        assert isinstance(container, ArrayType | StructType | VectorType | CooperativeVectorType)
        count = length(container)
        at = np.full(len(state.instances), index) if isinstance(index, int) else state.scalar(index)
        if at.max() >= count:
            raise GeneratorError(Rule.INDEX, f"index {int(at.max())} of {count} parts; give a smaller index")
        found.append(at.astype(np.int64))
    return found


def part(tree: Tree | None, path: Sequence[Index]) -> Tree | None:
    """Return the part that ``path`` leads to; None if it is undefined."""
    if not path or tree is None:
        return tree
    at, rest = path[0], path[1:]
    if isinstance(tree, MatrixValue):
        return extracted(tree, at)
    if isinstance(tree, Partial):
        assert isinstance(tree.value, MatrixValue)
        return Partial(extracted(tree.value, at[tree.defined]), tree.defined)
    assert isinstance(tree, tuple)
    taken = [int(i) for i in np.unique(at)]
    result = part(tree[taken[0]], rest)
    for i in taken[1:]:
        positions = np.flatnonzero(at == i)
        result = replaced(result, positions, selected(part(tree[i], rest), positions), len(at))
    return result


def changed(type_: ValueType, tree: Tree | None, path: Sequence[Index], new: Tree) -> Tree:
    """Return the tree with ``new`` at the place that ``path`` leads to."""
    if not path:
        return new
    assert isinstance(type_, ArrayType | StructType | VectorType | CooperativeVectorType)
    at, rest = path[0], path[1:]
    if isinstance(tree, UndefinedMatrix):
        tree = None
    if isinstance(tree, MatrixValue):
        assert isinstance(new, np.ndarray)
        return inserted(tree, at, new)
    parts: list[Tree | None] = list(tree) if isinstance(tree, tuple) else [None] * length(type_)
    if isinstance(tree, Partial):
        parts = [component(tree, i) for i in range(length(type_))]
    for i in (int(i) for i in np.unique(at)):
        positions = np.flatnonzero(at == i)
        following = changed(part_type(type_, (i,)), parts[i], rest, new)
        parts[i] = replaced(parts[i], positions, selected(following, positions), len(at))
    return tuple(parts)


def whole(type_: ValueType, tree: Tree | None) -> Tree | None:
    """Return the tree with each cooperative vector that was written component by component replaced by one value; all components are
    defined."""
    if isinstance(type_, CooperativeVectorType) and isinstance(tree, tuple):
        return assembled(type_.component, [one for one in tree if isinstance(one, np.ndarray)])
    if isinstance(type_, ArrayType | StructType) and isinstance(tree, tuple):
        return tuple(whole(part_type(type_, (i,)), one) for i, one in enumerate(tree))
    return tree


def initialize(state: State, variables: Sequence[Variable]) -> None:
    """Set every variable to its initializer (OpVariable: the initial value of its contents)."""
    for variable in variables:
        if variable.initializer is not None:
            state.set_variable(variable.name, _initial(state, variable.type, variable.initializer))


def _initial(state: State, type_: ValueType, initializer: Initializer) -> Tree:
    if isinstance(initializer, MatrixConstant | CooperativeVectorConstant):
        return constant_value(state, initializer)
    if isinstance(initializer, Operand):
        return state.scalar(initializer)
    if isinstance(type_, MatrixType | CooperativeVectorType):
        return null_value(state, type_)
    if isinstance(type_, ArrayType | StructType | VectorType):
        parts = initializer if isinstance(initializer, tuple) else (initializer,) * length(type_)
        return tuple(_initial(state, part_type(type_, (i,)), part) for i, part in enumerate(parts))
    return np.zeros(len(state.instances), np.uint64)


@evaluates(VariableLoad)
def variable_load(state: State, operation: VariableLoad) -> None:
    """Raise GeneratorError if the part, or a part of it, has not been written."""
    variable = operation.variable
    found = part(state.variables.get(variable.name), indices(state, variable.type, operation.path))
    if found is None or not is_defined(found):
        raise GeneratorError(
            Rule.UNINITIALIZED, f"variable {variable.name} is loaded before it is written; first store to every part that is loaded"
        )
    loaded = whole(operation.result.type, found)
    assert loaded is not None, "a defined part has a value"
    define(state, operation.result.name, loaded)


@evaluates(VariableStore)
def variable_store(state: State, operation: VariableStore) -> None:
    """Change the part, and nothing else of the variable."""
    variable = operation.variable
    path = indices(state, variable.type, operation.path)
    state.set_variable(variable.name, changed(variable.type, state.variables.get(variable.name), path, value_of(state, operation.value)))
