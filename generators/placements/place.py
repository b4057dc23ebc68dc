"""Give the subcases of a program placements that its own addresses do not have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from generators.placements.moved_arrays import MOST_ALIGNMENT, Access, Moved, accesses_by_array, far, granule, widened
from generators.program.interface import interface
from generators.program.load_store import MatrixLoad, MatrixStore
from generators.program.memory import Array
from generators.program.operation import Operation
from generators.program.program import Program, Subcase
from generators.program.scalars import ScalarArithmetic, ScalarOperator
from generators.program.tensor_access import TensorLoad, TensorStore
from generators.program.values import Operand, ScalarValue, Value, literal
from generators.program.walking import changed, flattened
from generators.types import COMPONENT_TYPES

_U32 = COMPONENT_TYPES["u32"]
_PUSH_CONSTANT_BYTES = 128
"""The push constants that every device has."""


@dataclass(frozen=True)
class Placed:
    """A program, and the same program with some arrays whose matrices are placed elsewhere.

    Attributes:
        before: the program as its family built it.
        moved: the arrays that change, by name.
    """

    before: Program
    moved: Mapping[str, Moved]

    @cached_property
    def program(self) -> Program:
        """The program after."""
        return _rewritten(self.before, self.moved) if self.moved else self.before

    def subcase(self, before: Subcase, number: int, rng: np.random.Generator) -> Subcase:
        """Return the ``number``-th subcase of the program after from that of the program before: far first, then near, and so on."""
        leads = {name: moved.lead * (1 - number % 2) for name, moved in self.moved.items()}
        inputs = {
            name: self.moved[name].contents(data, leads[name], rng) if name in self.moved else data for name, data in before.inputs.items()
        }
        operands = {_operand(name): lead for name, lead in leads.items() if self.moved[name].lead}
        return replace(before, inputs=inputs, operands={**before.operands, **operands})


def place(program: Program, choice: int, unplaced: int, most_bytes: int) -> Placed:
    """Choose placements of a program: a far one for one of the arrays that it reads and one of those that it writes; a wide one for one of
    these four at most, since an array with a wide stride is large.

    Args:
        program: the program that a family built.
        choice: any number, which distributes the placements among cases.
        unplaced: one choice in so many leaves the program as it is.
        most_bytes: maximum size of an array with a wide stride.
    """
    if program.others or program.further or program.wide_indexing or choice % unplaced == 0:
        return Placed(program, {})
    found = accesses_by_array(program)
    sums = {one.result.name: one for one in flattened(program.operations) if isinstance(one, ScalarArithmetic)}
    free = (_PUSH_CONSTANT_BYTES - interface(program).push_constant_bytes) // _U32.bytes
    units = {array: granule(array, each) for array, each in found.items()}
    moved: dict[str, Moved] = {}
    turn, candidates = choice // unplaced, list[Array]()
    for roles in (("input", "inout"), ("output",)):
        arrays = [array for array in found if array.role in roles]
        start = choice % max(1, len(arrays))
        # Few accesses may have addresses that are not multiples of 16 bytes, so these come first.
        ordered = sorted((*arrays[start:], *arrays[:start]), key=lambda array: units[array] * array.pointee.bytes >= MOST_ALIGNMENT)
        # The role changes from turn to turn, and the array of a role from each second turn to the next.
        both = ordered[:2] if turn // 2 % 2 else ordered[1::-1]
        candidates = [*both, *candidates] if turn % 2 else [*candidates, *both]
        if ordered and free > 0:
            moved[ordered[0].name] = Moved(ordered[0], lead=far(ordered[0], units[ordered[0]]))
            free -= 1
    for array in candidates:
        wide = widened(array, found[array], units[array], sums, most_bytes)
        if wide is not None:
            moved[array.name] = replace(wide, lead=moved.get(array.name, wide).lead)
            break
    return Placed(program, moved)


def _operand(name: str) -> str:
    return f"{name}_lead"


def _rewritten(program: Program, moved: Mapping[str, Moved]) -> Program:
    """Return the program with the arrays and their accesses moved."""
    after = {name: one.after for name, one in moved.items()}
    leads = {name: Operand(_operand(name), _U32, "push_constant") for name, one in moved.items() if one.lead}
    sums = {one.result.name: one for one in flattened(program.operations) if isinstance(one, ScalarArithmetic)}
    numbers = dict.fromkeys(moved, 0)

    def change(operation: Operation) -> Sequence[Operation]:
        if not isinstance(operation, MatrixLoad | MatrixStore | TensorLoad | TensorStore) or operation.array.name not in moved:
            return (operation,)
        name = operation.array.name
        numbers[name] += 1
        steps = _Steps(moved[name], f"{name}_placed{numbers[name]}", sums)
        return _moved(operation, steps, after[name], leads.get(name))

    return replace(
        program,
        arrays=tuple(after.get(array.name, array) for array in program.arrays),
        operands=(*program.operands, *leads.values()),
        operations=changed(program.operations, change),
    )


class _Steps:
    """Computes the index of a moved element; collects the operations."""

    def __init__(self, moved: Moved, name: str, sums: Mapping[str, ScalarArithmetic]) -> None:
        self.moved, self.name, self.sums = moved, name, sums
        self.operations: list[Operation] = []

    def combine(self, operator: ScalarOperator, left: ScalarValue, right: ScalarValue) -> ScalarValue:
        """Add an operation, unless it adds the literal 0."""
        for one, other in ((left, right), (right, left)):
            if operator == "add" and isinstance(one, Operand) and one.source == "literal" and one.value == 0:
                return other
        result = Value(f"{self.name}_{len(self.operations)}", _U32)
        self.operations.append(ScalarArithmetic(result, operator, left, right))
        return result

    def widened(self, first: ScalarValue) -> ScalarValue:
        """Return the index of an element after lines have moved."""
        moved = self.moved
        if moved.stride == moved.wide:
            return first
        if isinstance(first, Operand):
            assert first.value is not None, "the index is a literal"
            return literal(_U32, moved.at(first.value))
        step = self.sums[first.name]
        if step.operator == "add":
            return self.combine("add", self.widened(step.left), self.widened(step.right))
        factor, other = (
            (step.left, step.right) if isinstance(step.left, Operand) and step.left.source == "literal" else (step.right, step.left)
        )
        assert isinstance(factor, Operand), "the product has a literal factor"
        assert factor.value is not None, "the product has a literal factor"
        return self.combine("multiply", other, literal(_U32, moved.at(factor.value)))


def _moved(operation: Access, steps: _Steps, array: Array, lead: Operand | None) -> tuple[Operation, ...]:
    first = steps.widened(operation.first)
    if lead is not None:
        first = steps.combine("add", first, lead)
    if isinstance(operation, MatrixLoad | MatrixStore) and steps.moved.wide != steps.moved.stride:
        return (*steps.operations, replace(operation, array=array, first=first, stride=literal(operation.stride.type, steps.moved.wide)))
    return (*steps.operations, replace(operation, array=array, first=first))
