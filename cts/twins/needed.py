"""Counts the bytes of input on which the results of a program depend.

The count is a proof, so it covers only programs that move matrices: each byte of a result is then a copy of one byte of the input, and
which one does not depend on the input. A byte of input that is copied to a result can change alone, and so changes the result alone.
Code that does not load that byte gives the same result for both values, and one of the two is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from cts.reference.evaluate import evaluate
from cts.verdict.expected import Exact
from generators.errors import GeneratorError
from generators.program.composites import CompositeConstruct, CompositeExtract, CompositeInsert, CopyMemory, CopyObject
from generators.program.control_flow import Branch, Exit, Loop, Switch
from generators.program.load_store import MatrixLoad, MatrixStore
from generators.program.operation import Operation
from generators.program.program import Program, Subcase
from generators.program.scalars import BuiltInScalar, InstanceIndex, ScalarArithmetic
from generators.program.variables import VariableLoad, VariableStore, leads_to_component
from generators.program.walking import flattened
from generators.types import StorageClass

_MOVES = (
    MatrixLoad,
    MatrixStore,
    VariableLoad,
    VariableStore,
    CompositeConstruct,
    CompositeExtract,
    CompositeInsert,
    CopyObject,
    CopyMemory,
    Loop,
    Branch,
    Switch,
    Exit,
    ScalarArithmetic,
    InstanceIndex,
    BuiltInScalar,
)
"""Operations that copy matrices without a change, or compute scalars that do not depend on memory."""

_BUFFERS = frozenset({StorageClass.STORAGE_BUFFER, StorageClass.PHYSICAL_STORAGE_BUFFER})


def input_bytes(program: Program) -> int:
    """Return the size in bytes of all input arrays: the results cannot depend on more."""
    return sum(array.bytes for array in program.arrays if array.role == "input")


def only_moves(program: Program) -> bool:
    """Tell whether a program does nothing else than copy matrices from input arrays to output arrays."""
    if not all(array.role in ("input", "output") and array.storage in _BUFFERS for array in program.arrays):
        return False
    if any(array.opaque or array.windows for array in program.arrays) or any(variable.initializer for variable in program.variables):
        return False
    # A load beyond an array gives zeros, which are no copies.
    return not program.robust and all(
        isinstance(operation, _MOVES) and not _touches_component(operation) for operation in flattened(program.operations)
    )


def needed_bytes(program: Program, subcase: Subcase, more_than: int = -1) -> int | None:
    """Return the number of bytes of input on which the results of a dispatch depend; None if nothing is proved about the dispatch.

    Args:
        program: a program that only moves matrices.
        subcase: the data of the dispatch.
        more_than: the number matters only if it is larger than this. Otherwise the answer may be None, which is found sooner.
    """
    try:
        return _count(program, subcase, more_than)
    except GeneratorError:
        return None


def _touches_component(operation: Operation) -> bool:
    """Return whether an operation reads or writes a single component of a matrix, which would be a scalar that depends on memory."""
    match operation:
        case VariableLoad(variable=variable, path=path) | VariableStore(variable=variable, path=path):
            return leads_to_component(variable.type, path)
        case CompositeExtract(composite=composite, path=path) | CompositeInsert(composite=composite, path=path):
            return leads_to_component(composite.type, path)
        case CopyMemory():
            return leads_to_component(operation.source.type, operation.source_path)
        case _:
            return False


def _count(program: Program, subcase: Subcase, more_than: int) -> int | None:
    """Find the source of each byte of the results: evaluate the program with inputs whose bytes are the digits of their own numbers."""
    sizes = {array.name: array.bytes for array in program.arrays if array.role == "input"}
    numbers = np.arange(sum(sizes.values()), dtype=np.int64)
    digits = max(1, (len(numbers).bit_length() + 7) // 8)
    sources: np.ndarray | None = None
    for digit in range(digits):
        copied = _results(program, subcase, sizes, (numbers >> 8 * digit & 0xFF).astype(np.uint8))
        # Each byte of the results is a copy of one byte.
        if copied is None or copied.size <= more_than:
            return None
        placed = copied.astype(np.int64) << 8 * digit
        if sources is not None and sources.shape != placed.shape:
            return None
        sources = placed if sources is None else sources | placed
    given = np.concatenate([subcase.inputs[name] for name in sizes]) if sizes else np.zeros(0, np.uint8)
    left = _results(program, subcase, sizes, given)
    # The operations say that results are copies; data that differ in every byte confirm it.
    if sources is None or left is None or left.shape != sources.shape or sources.max(initial=-1) >= len(numbers):
        return None
    return len(np.unique(sources)) if np.array_equal(left, given[sources]) else None


def _results(program: Program, subcase: Subcase, sizes: Mapping[str, int], contents: np.ndarray) -> np.ndarray | None:
    """Return the bytes of the results, in the order of the stores; None if one of them may have several values.

    Args:
        program, subcase: the program and its operands.
        sizes: the sizes of the input arrays in bytes.
        contents: their contents, one after another.
    """
    ends = np.cumsum(list(sizes.values()))
    inputs = dict(zip(sizes, np.split(contents, ends[:-1]), strict=True)) if sizes else {}
    placed = evaluate(program, replace(subcase, inputs=inputs)).placed
    found: list[np.ndarray] = []
    for one in placed:
        if not isinstance(one.permitted, Exact) or one.expectation.may_be_dropped is not None:
            return None
        found.append(np.ascontiguousarray(one.permitted.bits).reshape(-1).view(np.uint8))
    return np.concatenate(found) if found else None
