"""Matrix loads whose argument is an element of an array or a member of a struct: coopMatLoad(matrices[i], ...)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from generators.program.functions import Call
from generators.program.load_store import MatrixLoad
from generators.program.operation import Operation
from generators.program.program import Program
from generators.program.variables import VariableStore
from generators.program.walking import flattened, names_read, regions


def parts_loaded_into(program: Program) -> Mapping[str, VariableStore]:
    """Return the stores to parts of variables that the preceding load can do itself, by name of the loaded matrix, which nothing else
    reads."""
    found = dict(_pairs(program.operations))
    if not found:
        return found
    reads = Counter[str]()
    for operation in flattened(program.operations):
        reads.update(names_read(operation, inside=False))
        if isinstance(operation, Call) and operation.function.returned is not None:
            reads[operation.function.returned.name] += 1
    return {name: store for name, store in found.items() if reads[name] == 1}


def _pairs(operations: Sequence[Operation]) -> Iterator[tuple[str, VariableStore]]:
    """Yield each load that is followed directly by a store of its matrix to a part of a variable, including loads in bodies and called
    functions."""
    for load, store in pairwise(operations):
        if isinstance(load, MatrixLoad) and isinstance(store, VariableStore) and store.path and store.value == load.result:
            yield load.result.name, store
    for operation in operations:
        for body in regions(operation):
            yield from _pairs(body)
