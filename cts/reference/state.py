"""What a program has computed so far, in all scope instances at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cts.reference.memory import Memory, buffer, workgroup_memory
from cts.reference.values import MatrixValue
from generators.errors import GeneratorError
from generators.program.program import Operation, Program, Subcase
from generators.program.values import Operand, ScalarValue
from generators.types import Scope, StorageClass


@dataclass
class State:
    """The values of a program's names.

    Attributes:
        program, subcase: what is evaluated.
        substitutes: steps that take the place of the specification's for some operations: the defects of cts.diagnose.
        beyond: the byte that loads beyond an array give, which only defects make; None where they are an error.
        memories: by array name. ``matrices``, ``scalars``: by value name; scalars are uint64 of shape (instances,), negative
            numbers in two's complement of the scalar's own width.
        variables, aggregates: trees of cts.reference.variables, by name.
    """

    program: Program
    subcase: Subcase
    substitutes: Mapping[Operation, Step]
    run: Callable[[State, Sequence[Operation]], None]
    beyond: int | None = None
    memories: dict[str, Memory] = field(default_factory=dict)
    matrices: dict[str, MatrixValue] = field(default_factory=dict)
    scalars: dict[str, np.ndarray] = field(default_factory=dict)
    variables: dict[str, Any] = field(default_factory=dict)
    aggregates: dict[str, Any] = field(default_factory=dict)

    def scalar(self, value: ScalarValue) -> np.ndarray:
        """The value in every scope instance, uint64, (instances,)."""
        if isinstance(value, Operand):
            return np.full(self.program.instances, self.operand(value), np.uint64)
        return self.scalars[value.name]

    def operand(self, operand: Operand) -> int:
        """The value of an operand, not negative: in two's complement of its width.

        Raises:
            GeneratorError: the subcase does not give it.
        """
        value = operand.value if operand.source in ("literal", "specialization") else self.subcase.operands.get(operand.name)
        if value is None:
            raise GeneratorError(f"subcase {self.subcase.name} gives no value for operand {operand.name}")
        return value % (1 << operand.component.bits)

    def copy_offsets(self, memory: Memory) -> np.ndarray:
        """Where the copy of workgroup memory begins that each scope instance sees, int64, (instances, 1, 1)."""
        instance = np.arange(self.program.instances, dtype=np.int64)
        workgroup = instance // self.program.subgroups if self.program.scope is Scope.SUBGROUP else instance
        return np.asarray((workgroup * memory.array.bytes)[:, None, None])


Step = Callable[[State, Operation], None]
"""One operation's effect on the state."""


def initial_state(
    program: Program,
    subcase: Subcase,
    substitutes: Mapping[Operation, Step],
    run: Callable[[State, Sequence[Operation]], None],
    beyond: int | None,
) -> State:
    """The state before the first operation."""
    memories = {
        array.name: workgroup_memory(array, program.workgroup_count)
        if array.storage is StorageClass.WORKGROUP
        else buffer(array, subcase.inputs.get(array.name))
        for array in program.arrays
    }
    return State(program, subcase, substitutes, run, beyond, memories)
