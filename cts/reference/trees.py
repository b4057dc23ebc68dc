"""Trees: the values of variables and aggregates in every scope instance, even if only some instances have written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cts.reference.components import component_bits
from cts.reference.values import MatrixValue, join, select
from generators.types import ComponentType


@dataclass(frozen=True)
class Partial:
    """A matrix or scalar that only some scope instances have.

    Attributes:
        value: the values of only these instances, in their order.
        defined: a mask of the instances, bool, (instances,); some, but not all.
    """

    value: MatrixValue | np.ndarray
    defined: np.ndarray


Tree = MatrixValue | np.ndarray | Partial | tuple["Tree | None", ...]
"""A value in every scope instance: a matrix or cooperative vector, a scalar (uint64, (instances,)), or the parts of an array or struct,
None where undefined. In a variable a cooperative vector whose components are written one by one is a tuple of scalars."""


def is_defined(tree: Tree | None) -> bool:
    """Whether every part has been written in every instance."""
    if isinstance(tree, tuple):
        return all(map(is_defined, tree))
    return tree is not None and not isinstance(tree, Partial)


def selected(tree: Tree | None, positions: np.ndarray) -> Tree | None:
    """Return the tree in some of the instances, with ascending ``positions``."""
    if isinstance(tree, tuple):
        return tuple(selected(part, positions) for part in tree)
    if isinstance(tree, Partial):
        defined = tree.defined[positions]
        places = (np.cumsum(tree.defined) - 1)[positions[defined]]
        return _where(_leaf(tree.value, places), defined)
    return None if tree is None else _leaf(tree, positions)


def taken(tree: Tree | None, positions: np.ndarray) -> Tree | None:
    """Return the tree with a lane for each of ``positions``, in any order and possibly repeated; a part that only some instances have is
    None."""
    if isinstance(tree, tuple):
        return tuple(taken(part, positions) for part in tree)
    return None if tree is None or isinstance(tree, Partial) else _leaf(tree, positions)


def replaced(old: Tree | None, positions: np.ndarray, new: Tree | None, count: int) -> Tree | None:
    """Return the tree ``old`` of ``count`` instances with ``new`` at ``positions``; ``new`` has only these instances."""
    if len(positions) == count:
        return new
    if isinstance(old, tuple) or isinstance(new, tuple):
        length = max(len(tree) for tree in (old, new) if isinstance(tree, tuple))
        pairs = zip(_parts(old, length), _parts(new, length), strict=True)
        return tuple(replaced(before, positions, after, count) for before, after in pairs)
    others = np.ones(count, bool)
    others[positions] = False
    rest = np.flatnonzero(others)
    pieces: list[tuple[np.ndarray, MatrixValue | np.ndarray]] = []
    for where, tree in ((positions, new), (rest, selected(old, rest))):
        if isinstance(tree, Partial):
            pieces.append((where[tree.defined], tree.value))
        elif tree is not None and len(where):
            assert not isinstance(tree, tuple)
            pieces.append((where, tree))
    if not pieces:
        return None
    defined = np.zeros(count, bool)
    for where, _ in pieces:
        defined[where] = True
    return _where(_joined(pieces), defined)


def _leaf(value: MatrixValue | np.ndarray, positions: np.ndarray) -> MatrixValue | np.ndarray:
    return select(value, positions) if isinstance(value, MatrixValue) else value[positions]


def _where(value: MatrixValue | np.ndarray, defined: np.ndarray) -> MatrixValue | np.ndarray | Partial | None:
    if defined.all():
        return value
    return Partial(value, defined) if defined.any() else None


def _parts(tree: Tree | None, length: int) -> tuple[Tree | None, ...]:
    """Return the parts of an array or struct that may not have been written at all, or the components of a cooperative vector."""
    if isinstance(tree, tuple):
        return tree
    return (None,) * length if tree is None else tuple(component(tree, i) for i in range(length))


def component(vector: Tree, index: int) -> Tree:
    """Return component ``index`` of a cooperative vector.

    Raises:
        GeneratorError: the specification allows several values of it.
    """
    if isinstance(vector, Partial):
        assert isinstance(vector.value, MatrixValue)
        return Partial(component_bits(vector.value, index), vector.defined)
    assert isinstance(vector, MatrixValue), "the path leads into a vector"
    return component_bits(vector, index)


def _single(scalar: np.ndarray, type_: ComponentType) -> MatrixValue:
    """Return a scalar in the form of scalars with a range of permitted values."""
    return MatrixValue(type_, scalar.astype(type_.bits_dtype)[:, None, None])


def _joined(pieces: Sequence[tuple[np.ndarray, MatrixValue | np.ndarray]]) -> MatrixValue | np.ndarray:
    matrices = [(where, value) for where, value in pieces if isinstance(value, MatrixValue)]
    if matrices:
        component = matrices[0][1].component
        return join([(where, value if isinstance(value, MatrixValue) else _single(value, component)) for where, value in pieces])
    order = np.argsort(np.concatenate([where for where, _ in pieces]))
    return np.concatenate([value for _, value in pieces if isinstance(value, np.ndarray)])[order]
