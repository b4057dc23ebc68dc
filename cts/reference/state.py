"""The state of a program during evaluation, in all scope instances at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from cts.reference.memory import Memory, buffer, workgroup_memory
from cts.reference.trees import Tree, replaced, selected
from cts.reference.values import MatrixValue, select
from generators.errors import GeneratorError, Rule
from generators.program.memory import Array
from generators.program.operation import Operation
from generators.program.program import Program, Subcase
from generators.program.reading import Reading
from generators.program.values import Operand, ScalarValue
from generators.types import Scope, StorageClass


@dataclass
class Activation:
    """One run of a function, or of the program itself.

    Attributes:
        parameters: by name of a parameter that is a pointer, the name of the caller's variable that it points to.
        own: names of the function's variables, which end with it.
        gone: indices of the scope instances that have returned.
        returned: the returned values, each with the indices of its instances; empty for void.
        continued: indices of the scope instances, also in ``gone``, that wait for the next iteration of the innermost loop; None outside
            loops.
    """

    parameters: Mapping[str, str] = field(default_factory=dict)
    own: frozenset[str] = frozenset()
    gone: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    returned: list[tuple[np.ndarray, Tree]] = field(default_factory=list)
    continued: np.ndarray | None = None


evaluates: Reading[State] = Reading("cts.reference")
"""The functions that perform an operation as the specification states."""


@dataclass
class State:
    """The values of a program's names.

    Attributes:
        program, subcase: the program and its data.
        perform: performs one operation, as the specification states or in another reading of the program.
        instances: indices of the executing scope instances, ascending, int64; every value has one entry for each.
        activation: the function that is running.
        outside: the state that this one is a part of, None for the program's own.
        memories: by array name. ``matrices``, ``scalars``: by value name; scalars are uint64 of shape (instances,), negative numbers in
            two's complement of the scalar's own width. A scalar with a range of permitted values is a matrix of one element
            (cts.reference.scalar_ranges).
        owners: if each lane of the state is a call for a single element, the scope instances to which the calls belong; ``instances`` then
            numbers the lanes. Otherwise None.
        invocations: values that single invocations have computed so far, one lane for each.
        blocks: memories by the name of a pointer to a block, whose byte offset is among the scalars.
        dropped: the ``activation.gone`` and the ``instances`` that ``drop_returned`` saw last; None before the first.
        pointed: the arrays that pointers lead into, each with its index. A pointer is an aggregate: that index, and the element's.
        variables, aggregates: by name, as in cts.reference.trees; None if nothing has been written.
    """

    program: Program
    subcase: Subcase
    perform: Perform
    instances: np.ndarray
    activation: Activation = field(default_factory=Activation)
    outside: State | None = None
    memories: dict[str, Memory] = field(default_factory=dict)
    matrices: dict[str, MatrixValue] = field(default_factory=dict)
    scalars: dict[str, np.ndarray] = field(default_factory=dict)
    variables: dict[str, Tree | None] = field(default_factory=dict)
    aggregates: dict[str, Any] = field(default_factory=dict)
    owners: np.ndarray | None = None
    invocations: State | None = None
    blocks: dict[str, Memory] = field(default_factory=dict)
    dropped: tuple[np.ndarray, np.ndarray] | None = None
    pointed: dict[Array, int] = field(default_factory=dict)

    is_permitted_known: ClassVar[bool] = True
    """Whether values have what is permitted besides the expected values."""

    @property
    def scope_instances(self) -> np.ndarray:
        """Indices of the scope instances that execute, or to which the lanes belong."""
        return self.instances if self.owners is None else self.owners

    def part(self, positions: np.ndarray) -> State:
        """Return the state of some of the executing instances, with ascending ``positions``. They share memory with the others, and their
        writes to variables are visible outside, but they compute their own values."""
        everyone = len(positions) == len(self.instances)
        matrices = self.matrices if everyone else {name: select(value, positions) for name, value in self.matrices.items()}
        scalars = self.scalars if everyone else {name: value[positions] for name, value in self.scalars.items()}
        part = self._same()
        part.instances = self.instances[positions]
        part.outside = self
        part.matrices, part.scalars = dict(matrices), dict(scalars)
        part.variables = dict(self.variables) if everyone else {name: selected(tree, positions) for name, tree in self.variables.items()}
        part.aggregates = dict(self.aggregates) if everyone else {name: selected(tree, positions) for name, tree in self.aggregates.items()}
        part.owners = None if self.owners is None else self.owners[positions]
        part.invocations = self.invocations if everyone else self._invocations_of(positions)
        return part

    def _same(self) -> State:
        """Return a state with the same fields; the constructor takes several times as long."""
        same = object.__new__(type(self))
        vars(same).update(vars(self))
        return same

    def _invocations_of(self, positions: np.ndarray) -> State | None:
        """Return the values that the invocations of some instances have computed."""
        before = self.invocations
        if before is None:
            return None
        assert before.owners is not None, "invocations have scope instances"
        return before.part(np.flatnonzero(np.isin(before.owners, self.instances[positions])))

    def run(self, operations: Sequence[Operation]) -> None:
        """Perform operations in order, until no instance is left."""
        for operation in operations:
            if not len(self.instances):
                return
            self.perform(self, operation)
            if len(self.activation.gone):
                self.drop_returned()

    def begin_round(self) -> None:
        """Begin a round of a loop; an observer may count them."""

    def undefined(self, rule: str, message: str) -> None:
        """Refuse a result that the specification leaves undefined.

        Raises:
            GeneratorError: always.
        """
        raise GeneratorError(rule, message)

    def apart(
        self,
        lanes: np.ndarray,
        owners: np.ndarray | None,
        scalars: Mapping[str, np.ndarray] = MappingProxyType({}),
        aggregates: Mapping[str, Any] = MappingProxyType({}),
    ) -> State:
        """Return a state of lanes for a function or for code of single invocations: with the same memory, but its own values.

        Args:
            lanes: their indices, ascending, int64.
            owners: indices of the scope instances to which they belong; None if the lanes do not depend on them.
            scalars, aggregates: values that the lanes have.
        """
        apart = self._same()
        apart.instances, apart.owners = lanes, owners
        apart.activation, apart.outside, apart.invocations = Activation(), None, None
        apart.matrices, apart.scalars = {}, dict(scalars)
        apart.variables, apart.aggregates, apart.blocks = {}, dict(aggregates), {}
        return apart

    def narrow(self, positions: np.ndarray) -> None:
        """Continue with only some of the executing instances."""
        remaining = self.part(positions)
        self.instances, self.matrices, self.scalars = remaining.instances, remaining.matrices, remaining.scalars
        self.variables, self.aggregates, self.owners = remaining.variables, remaining.aggregates, remaining.owners

    def drop_returned(self) -> None:
        """Continue without the instances that have returned from the function."""
        gone = self.activation.gone
        if not len(gone) or (self.dropped is not None and self.dropped[0] is gone and self.dropped[1] is self.instances):
            return
        stay = ~np.isin(self.instances, gone)
        if not stay.all():
            self.narrow(np.flatnonzero(stay))
        self.dropped = gone, self.instances

    def positions(self, instances: np.ndarray) -> np.ndarray:
        """Return the positions of ``instances``, all of which execute here, among the executing instances."""
        return np.searchsorted(self.instances, instances)

    def set_variable(self, name: str, tree: Tree | None) -> None:
        """Write a variable, here and in all states that contain this one."""
        self.variables[name] = tree
        if self.outside is None:
            return
        if self.outside.activation is not self.activation:
            if name in self.activation.own:
                return
            name = self.activation.parameters.get(name, name)
        positions = self.outside.positions(self.instances)
        before = self.outside.variables.get(name)
        self.outside.set_variable(name, replaced(before, positions, tree, len(self.outside.instances)))

    def scalar(self, value: ScalarValue) -> np.ndarray:
        """Return the value in every executing scope instance, uint64, (instances,).

        Raises:
            GeneratorError: the specification leaves a range of values.
        """
        if isinstance(value, Operand):
            count = len(self.instances)
            return (_few if count <= _FEW else _alike)(self.operand(value), count)
        if value.name in self.matrices:
            raise GeneratorError(Rule.VALUE_RANGE, f"{value.name} has a range of values, but one value is needed; use exact data")
        return self.scalars[value.name]

    def has_range(self, value: ScalarValue) -> bool:
        """Return whether the scalar has a range of permitted values; it is then among the matrices."""
        return not isinstance(value, Operand) and value.name in self.matrices

    def operand(self, operand: Operand) -> int:
        """Return the value of an operand as a non-negative number: in two's complement of its width. The pitch of opaque matrices is the
        size of their elements.

        Raises:
            GeneratorError: the subcase does not supply it.
        """
        value = operand.value if operand.source in ("literal", "specialization") else self.subcase.operands.get(operand.name)
        if value is None:
            value = next((a.opaque.bytes for a in self.program.arrays if a.opaque is not None and a.opaque.pitch == operand), None)
        if value is None:
            raise GeneratorError(Rule.DATA_MISSING, f"subcase {self.subcase.name} gives no value for operand {operand.name}")
        return value % (1 << operand.type.bits)

    def copy_offsets(self, memory: Memory) -> np.ndarray:
        """Return the offset of the copy of workgroup memory that each scope instance sees, int64, (instances, 1, 1)."""
        return self.copies(memory)[:, None, None]

    def copies(self, memory: Memory) -> np.ndarray:
        """Return the same offsets as ``copy_offsets``, (instances,)."""
        instances = self.scope_instances
        workgroup = instances // self.program.subgroups if self.program.scope is Scope.SUBGROUP else instances
        return np.asarray(workgroup * memory.array.bytes)


def _alike(number: int, count: int) -> np.ndarray:
    """Return ``count`` equal numbers, uint64; read-only."""
    found = np.full(count, number, np.uint64)
    found.setflags(write=False)
    return found


_FEW = 1024
"""The number of instances up to which the values of operands are kept."""

_few = lru_cache(maxsize=256)(_alike)


Perform = Callable[[State, Operation], None]
"""A function that performs one operation in a state."""


def check_aliases(program: Program) -> None:
    """Refuse aliases that are not inside the array whose bytes they share.

    Raises:
        GeneratorError: there is one.
    """
    for array in program.used_arrays:
        owner = array.owner
        if array.start < 0 or array.start + array.bytes > owner.bytes or owner.alias_of is not None:
            raise GeneratorError(Rule.ALIAS, f"array {array.name} has bytes that {owner.name} does not have; make the owner the larger one")
        if array is not owner and owner not in program.arrays:
            raise GeneratorError(Rule.UNDECLARED, f"array {owner.name}: list it in Program.arrays")


def initial_state(program: Program, subcase: Subcase, perform: Perform) -> State:
    """Return the state before the first operation."""
    memories = {
        array.name: workgroup_memory(array, program.workgroup_count)
        if array.storage is StorageClass.WORKGROUP
        else buffer(array, subcase.inputs.get(array.name))
        for array in program.arrays
    }
    check_aliases(program)
    instances = np.arange(program.instances, dtype=np.int64)
    return State(program, subcase, perform, instances, memories=memories)
