"""Pointers as values: the array and the element to which each scope instance points; and loads from blocks of packed data."""

from __future__ import annotations

import numpy as np

from cts.reference.control_flow import holds
from cts.reference.load_store import Place, load_from, store_to
from cts.reference.state import State, evaluates
from cts.reference.trees import Tree
from cts.reference.values import join
from cts.reference.variables import define
from generators.errors import GeneratorError, Rule
from generators.program import pointers as language
from generators.program.load_store import MatrixLoad, MatrixStore, layout_value
from generators.program.memory import Array
from generators.program.values import Pointer, PointerType, literal
from generators.types import COMPONENT_TYPES

_ZERO = literal(COMPONENT_TYPES["u32"], 0)
"""A placeholder operand: this module supplies the places itself."""


@evaluates(language.ElementPointer)
def element_pointer(state: State, operation: language.ElementPointer) -> None:
    """Point to the element (SPIR-V, OpAccessChain).

    Raises:
        GeneratorError: there is no such descriptor.
    """
    index = state.scalar(operation.index)
    count = len(operation.arrays)
    which = np.zeros(len(index), np.uint64) if operation.which is None else state.scalar(operation.which)
    if (which >= count).any():
        raise GeneratorError(
            "VK-DES-01", f"{operation.result.name}: descriptor {int(which.max())} of {count}; give a smaller index (VK-DES-01)"
        )
    if operation.which is not None and not operation.non_uniform and len(np.unique(which)) > 1:
        raise GeneratorError(
            "VK-DES-02",
            f"{operation.result.name}: the index of the descriptor differs between invocations; declare that it may (VK-DES-02)",
        )
    point(state, operation.result, operation.arrays, which, index)


def point(state: State, result: Pointer, arrays: tuple[Array, ...], which: np.ndarray, index: np.ndarray) -> None:
    """Make ``result`` point to the element ``index`` of ``arrays[which]``, both uint64 of shape (instances,)."""
    known = state.pointed
    numbers = np.array([known.setdefault(array, len(known)) for array in arrays], np.uint64)
    state.aggregates[result.name] = (numbers[which.astype(np.int64)], index)


def parts_of(state: State, pointer: Pointer) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the arrays that a pointer leads into, and of the elements: uint64, (instances,)."""
    which, index = state.aggregates[pointer.name]
    return which, index


@evaluates(language.PointerSelect)
def pointer_select(state: State, operation: language.PointerSelect) -> None:
    """Choose by the condition (SPIR-V, OpSelect)."""
    chosen = holds(state, operation.condition)
    then, otherwise = parts_of(state, operation.then), parts_of(state, operation.otherwise)
    parts: Tree = tuple(np.where(chosen, one, other) for one, other in zip(then, otherwise, strict=True))
    define(state, operation.result.name, parts)


@evaluates(language.PointerMoved)
def pointer_moved(state: State, operation: language.PointerMoved) -> None:
    """Advance by elements (SPIR-V, OpPtrAccessChain)."""
    which, index = parts_of(state, operation.pointer)
    distance = state.scalar(operation.elements)
    define(state, operation.result.name, (which, index + distance))


@evaluates(language.PointerLoad)
def pointer_load(state: State, operation: language.PointerLoad) -> None:
    """Load from the array that each scope instance points into."""
    load_at(state, operation, places(state, operation))


@evaluates(language.PointerStore)
def pointer_store(state: State, operation: language.PointerStore) -> None:
    """Store to the array that each scope instance points into.

    Raises:
        GeneratorError: the stride is 0 (KHR-STORE-02).
    """
    if not state.scalar(operation.stride).all():
        raise GeneratorError(
            "KHR-STORE-02", f"the store of {operation.matrix.name} has stride 0; a store needs a stride above 0 (KHR-STORE-02)"
        )
    store_at(state, operation, places(state, operation))


Parts = list[tuple[np.ndarray, Place]]
"""Positions of executing scope instances, each with the place of their matrices in one array."""


def places(state: State, operation: language.PointerLoad | language.PointerStore) -> Parts:
    """Return the places of the matrices. Each array has the pointer's pointee and unit of strides."""
    which, index = parts_of(state, operation.pointer)
    stride = state.scalar(operation.stride)
    arrays = list(state.pointed)
    found: Parts = []
    for number in np.unique(which):
        positions = np.flatnonzero(which == number)
        array = _seen_through(arrays[int(number)], operation.pointer.type)
        at = Place(array, index[positions].tolist(), stride[positions].tolist(), layout_value(operation.layout))
        found.append((positions, at))
    return found


def _seen_through(array: Array, type_: PointerType) -> Array:
    """Return the array as a pointer sees it. The pointee of a typed pointer is the array's (SPIR-V, OpAccessChain).

    Raises:
        GeneratorError: it is not.
    """
    if language.pointee(type_) != array.pointee or type_.untyped is not array.is_untyped:
        raise GeneratorError(
            Rule.ALIAS, f"a pointer to {language.pointee(type_)} leads into {array.name}; give the array an alias of that pointee"
        )
    return array


def load_at(state: State, operation: language.PointerLoad, parts: Parts) -> None:
    """Load from places of any arrays."""
    pieces = []
    for positions, at in parts:
        part = state.part(positions)
        access = MatrixLoad(operation.result, at.array, _ZERO, _ZERO, operation.layout, operation.memory)
        load_from(part, access, at)
        pieces.append((positions, part.matrices[operation.result.name]))
    state.matrices[operation.result.name] = join(pieces)


def store_at(state: State, operation: language.PointerStore, parts: Parts) -> None:
    """Store to places of any arrays."""
    for positions, at in parts:
        part = state.part(positions)
        store_to(part, MatrixStore(operation.matrix, at.array, _ZERO, _ZERO, operation.layout, operation.memory), at)


@evaluates(language.BlockLoad)
def block_load(state: State, operation: language.BlockLoad) -> None:
    """Load the member of the block that each pointer points to.

    Raises:
        GeneratorError: the index is beyond the member.
    """
    pointer, member = operation.pointer, operation.pointer.type.members[operation.member]
    offsets = state.scalars[pointer.name].astype(np.int64) + member.offset
    if operation.index is not None:
        index = state.scalar(operation.index)
        if (index >= (member.length or 1)).any():
            raise GeneratorError(
                Rule.OUT_OF_BOUNDS,
                f"{operation.result.name} is loaded from beyond the end of member {operation.member} of {pointer.type.name}",
            )
        offsets = offsets + index.astype(np.int64) * member.component.bytes
    state.scalars[operation.result.name] = state.blocks[pointer.name].load(offsets, member.component).astype(np.uint64)


@evaluates(language.BlockAddress)
def block_address(state: State, operation: language.BlockAddress) -> None:
    """Point to a block of an array.

    Raises:
        GeneratorError: it is not aligned, or partly outside the array.
    """
    block, offsets, name = operation.result.type, state.scalar(operation.offset), operation.result.name
    if (offsets % np.uint64(block.alignment)).any():
        raise GeneratorError(Rule.MISALIGNED, f"{name} points to a {block.name} that is not aligned to {block.alignment} bytes; move it")
    if (offsets + np.uint64(block.bytes) > operation.array.bytes).any():
        raise GeneratorError(Rule.OUT_OF_BOUNDS, f"{name} points to a {block.name} beyond {operation.array.name}; make it longer")
    state.blocks[name] = state.memories[operation.array.name]
    state.scalars[name] = offsets


@evaluates(language.BlockCast)
def block_cast(state: State, operation: language.BlockCast) -> None:
    """Point to the same address.

    Raises:
        GeneratorError: the address need not have the alignment of the other block.
    """
    source, target = operation.pointer.type, operation.result.type
    if source.alignment % target.alignment:
        raise GeneratorError(
            Rule.ALIGNMENT_TYPE, f"{operation.result.name} has another alignment than {operation.pointer.name}: cast to a weaker one"
        )
    state.blocks[operation.result.name] = state.blocks[operation.pointer.name]
    state.scalars[operation.result.name] = state.scalars[operation.pointer.name]
