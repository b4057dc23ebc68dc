"""Results that overwrite the registers of an operand that is used again: C of a multiply-add, which then holds the partial sum of several
fragments of K, and Object of a tensor load."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cts.defects.defect import Defect, each_and_all, every, named, named_result
from cts.defects.edits import part
from cts.defects.evaluation import Substitute
from cts.defects.known import defects_of
from cts.reference.muladd import muladd, multiply_add
from cts.reference.state import State
from cts.reference.tensor_access import tensor_load
from cts.reference.values import MatrixValue, join, select
from generators.errors import GeneratorError, Rule
from generators.program.muladd import MatrixMulAdd
from generators.program.program import Program
from generators.program.tensor_access import TensorLoad
from generators.program.walking import flattened, names_read

_FRAGMENTS = (8, 16, 32)
"""How many columns of A hardware, or a driver's lowering, multiplies at once."""


def _overwriting(fragment: int) -> Substitute:
    def step(state: State, operation: MatrixMulAdd) -> None:
        a, b, c = (state.matrices[matrix.name] for matrix in (operation.a, operation.b, operation.c))
        # The last fragment goes from C to the result, so C keeps the sum of those before it.
        count = a.bits.shape[2] - fragment
        if count <= 0:
            raise GeneratorError(Rule.DEFECT_INAPPLICABLE, "one fragment leaves no partial sum")
        muladd(state, operation)
        first, second = part(2, slice(count))(a), part(1, slice(count))(b)
        _overwrite(state, operation.c.name, multiply_add(first, second, c, operation.c.type.component, operation.operands))

    return step


def _overwrite(state: State, name: str, value: MatrixValue) -> None:
    """Overwrite a matrix here and in all states that contain this one: registers outlast the iteration or the branch that writes to
    them."""
    state.matrices[name] = value
    outside = state.outside
    if outside is not None and outside.activation is state.activation and name in outside.matrices:
        here = outside.positions(state.instances)
        others = np.setdiff1d(np.arange(len(outside.instances)), here)
        kept = [(others, select(outside.matrices[name], others))] if len(others) else []
        _overwrite(outside, name, join([(here, value), *kept]))


def _into_object(state: State, operation: TensorLoad) -> None:
    tensor_load(state, operation)
    _overwrite(state, operation.before.name, state.matrices[operation.result.name])


def _objects(program: Program) -> Iterator[Defect]:
    """Yield the defect of tensor loads whose Object another instruction reads."""
    operations = list(flattened(program.operations, effects=True))
    read = {name for operation in operations if not isinstance(operation, TensorLoad) for name in names_read(operation, inside=False)}
    loads = [load for load in every(program.operations, TensorLoad) if load.before.name in read]
    yield from each_and_all(loads, "tensor_access.object_overwritten", "matrix", _into_object, named_result)


@defects_of("multiply_add", MatrixMulAdd, TensorLoad)
def overwritten_defects(program: Program) -> Iterator[Defect]:
    """Yield defects of each multiply-add of ``program``, and of all of them: its C is overwritten. Yield the same for Objects of tensor
    loads.
    """
    yield from _objects(program)
    known = [(operation, operation.a.type.columns) for operation in every(program.operations, MatrixMulAdd)]
    for fragment in _FRAGMENTS:
        long = [operation for operation, columns in known if isinstance(columns, int) and columns > fragment]
        yield from each_and_all(
            long,
            "multiply_add.c_overwritten",
            "operand_c",
            _overwriting(fragment),
            lambda one: named(one.c),
            lambda one: {"result": one.result.name},
            fragment=fragment,
        )
