"""Failures that no known mistake explains are explained by single edits of instructions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from cts.diagnosis.diagnose import diagnose
from cts.diagnosis.shown import Prepared, outcome_of
from cts.reference.evaluate import evaluate
from cts.verdict.failure import Match
from cts.verdict.poison import initial_contents
from generators.program.builder import ProgramBuilder
from generators.program.load_store import MatrixLoad
from generators.program.memory import Pointee
from generators.program.operation import Operation
from generators.program.program import Program, Subcase
from generators.types import COMPONENT_TYPES, Layout, Scope
from tests.reference.programs import BUFFER, as_bytes, matrix_type

U32 = COMPONENT_TYPES["u32"]
SIZE = 8
ELEMENTS = SIZE * SIZE


def copies(count: int) -> Program:
    """Return a program that copies ``count`` matrices, each with a first element and a stride of its own; there is room beside each."""
    builder = ProgramBuilder(Scope.SUBGROUP)
    source, target = (builder.array(name, Pointee(U32), 4 * count * ELEMENTS, BUFFER, role) for name, role in ENDS)
    for number in range(count):
        first = builder.operand(f"first_{number}", U32, "push_constant")
        matrix = builder.load(f"m{number}", matrix_type(U32, SIZE, SIZE), source, first, builder.literal(SIZE), Layout.ROW_MAJOR)
        builder.store(matrix, target, builder.literal(4 * number * ELEMENTS), builder.literal(SIZE), Layout.ROW_MAJOR)
    return builder.build()


ENDS = (("source", "input"), ("target", "output"))


def at(program: Program, *first: int) -> Prepared:
    """Return a subcase with these first elements, prepared."""
    words = np.random.default_rng(5).integers(0, 1 << 32, program.array("source").bytes // 4, np.uint32)
    operands = {f"first_{number}": value for number, value in enumerate(first)}
    subcase = Subcase("only", {"source": as_bytes(words)}, operands)
    expected = evaluate(program, subcase)
    return program, subcase, expected, initial_contents(program, subcase, expected)


def found(right: Prepared, broken: Callable[[Operation], Operation], passed: Sequence[Prepared] = ()) -> list[Match]:
    """Return how the results of a device are explained that performs other operations."""
    program, subcase, expected, before = right
    wrong = replace(program, operations=tuple(map(broken, program.operations)))
    outcome = outcome_of(program, evaluate(wrong, subcase), before)
    return list(diagnose(program, subcase, expected, before, outcome, passed=passed))


def moved(distance: int, *numbers: int) -> Callable[[Operation], Operation]:
    """Return a change of the loads of some matrices, whose first element is ``distance`` further than it should be."""

    def change(operation: Operation) -> Operation:
        if not isinstance(operation, MatrixLoad) or operation.result.name not in {f"m{number}" for number in numbers}:
            return operation
        return replace(operation, first=ProgramBuilder(Scope.SUBGROUP).literal(4 * int(operation.first.name[-1]) * ELEMENTS + distance))

    return change


def test_an_operand_that_is_one_too_large_is_told():
    (match,) = found(at(copies(1), 0), moved(1, 0))
    assert match.id == "single_edit.operand_one_more"
    assert "first plus 1" in match.sentence


def test_the_same_mistake_in_all_operations_of_a_class_is_told_once():
    (match,) = found(at(copies(2), 0, 4 * ELEMENTS), moved(16, 0, 1))
    assert match.id == "single_edit.operand_sixteen_more"
    assert match.sentence.startswith("every MatrixLoad")


def test_a_mistake_that_no_single_edit_makes_is_not_explained_by_one():
    told = found(at(copies(1), 0), moved(5, 0))
    assert not [match for match in told if match.id.startswith("single_edit.")]


def test_an_edit_that_changes_a_subcase_that_has_passed_is_not_told():
    program = copies(1)
    told = found(at(program, 0), moved(1, 0), passed=[at(program, 8)])
    assert not [match for match in told if match.id.startswith("single_edit.")]
