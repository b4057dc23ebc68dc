"""Failures that no known mistake explains are explained by single edits of instructions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from cts.defects.defect import Defect
from cts.defects.evaluation import evaluate_defect, traced
from cts.defects.single_edits.of_program import single_edits
from cts.defects.single_edits.places import Place
from cts.diagnosis.diagnose import Search
from cts.diagnosis.limit import Limit, SearchEnded
from cts.diagnosis.ran import Ran
from cts.diagnosis.reach import Reach
from cts.diagnosis.shown import outcome_of, prepared
from cts.diagnosis.whole_case import explained
from cts.reference.evaluate import evaluate
from cts.verdict.compare import wrong_elements
from cts.verdict.effort import Budget, Effort
from cts.verdict.failure import Fit, Match
from cts.verdict.poison import initial_contents
from generators.casebook import build, find_case
from generators.errors import GeneratorError, Rule
from generators.program.builder import ProgramBuilder
from generators.program.composites import CompositeConstruct
from generators.program.control_flow import Carried
from generators.program.load_store import MatrixLoad
from generators.program.memory import Pointee, Role
from generators.program.operation import Operation
from generators.program.program import Program, Subcase
from generators.program.tensor import LayoutSet
from generators.program.values import Value
from generators.routines.workgroup import copy
from generators.types import COMPONENT_TYPES, Layout, Scope, StorageClass
from tests.reference.programs import BUFFER, as_bytes, matrix_type
from tests.suite import casebook

U32 = COMPONENT_TYPES["u32"]
SIZE = 8
ELEMENTS = SIZE * SIZE
LITERAL = ProgramBuilder(Scope.SUBGROUP).literal

ENDS: tuple[tuple[str, Role], ...] = (("source", "input"), ("target", "output"))
AT_0 = {"first_0": 0}

Change = Callable[[Operation], Operation]


def copies(count: int) -> Program:
    """Return a program that copies ``count`` matrices, each with a first element of its own; there is room beside each."""
    builder = ProgramBuilder(Scope.SUBGROUP)
    source, target = (builder.array(name, Pointee(U32), 4 * count * ELEMENTS, BUFFER, role=role) for name, role in ENDS)
    for number in range(count):
        first = builder.operand(f"first_{number}", U32, "push_constant")
        matrix = builder.load(f"m{number}", matrix_type(U32, SIZE, SIZE), source, first, builder.literal(SIZE), Layout.ROW_MAJOR)
        builder.store(matrix, target, builder.literal(4 * number * ELEMENTS), builder.literal(SIZE), Layout.ROW_MAJOR)
    return builder.build()


def ran(program: Program, operands: Mapping[str, int], broken: Change = lambda operation: operation) -> Ran:
    """Return what a device makes of a subcase with these operands, if it performs other operations."""
    generator = np.random.default_rng(5)
    data = {one.name: as_bytes(generator.integers(0, 1 << 32, one.bytes // 4, np.uint32)) for one in program.arrays if one.role == "input"}
    subcase = Subcase("only", data, operands)
    expected = evaluate(program, subcase)
    before = initial_contents(program, subcase, expected)
    wrong = replace(program, operations=tuple(map(broken, program.operations)))
    return Ran(program, subcase, expected, before, outcome_of(program, evaluate(wrong, subcase), before))


def moved(distance: int, *numbers: int) -> Change:
    """Return a change of the loads of some matrices, whose first element is ``distance`` further than it should be."""

    def change(operation: Operation) -> Operation:
        if not isinstance(operation, MatrixLoad) or operation.result.name not in {f"m{number}" for number in numbers}:
            return operation
        return replace(operation, first=LITERAL(4 * int(operation.first.name.removeprefix("first_")) * ELEMENTS + distance))

    return change


def edits(found: Sequence[Match]) -> list[str]:
    return [match.id for match in found if match.id.startswith("single_edit.")]


def test_an_operand_that_is_one_too_large_is_told() -> None:
    (match,) = Search(ran(copies(1), AT_0, moved(1, 0))).run()
    assert match.id == "single_edit.operand_one_more"
    assert "first plus 1" in match.sentence


def test_the_same_mistake_in_all_instructions_of_a_kind_is_told_once() -> None:
    (match,) = Search(ran(copies(2), {"first_0": 0, "first_1": 4 * ELEMENTS}, moved(1, 0, 1))).run()
    assert match.id == "single_edit.operand_one_more"
    assert match.sentence.startswith("every MatrixLoad")


@pytest.mark.parametrize(("wrong", "fit"), [(1, Fit.FEW), (2, Fit.FEW), (3, Fit.ALL)])
def test_an_edit_that_explains_one_or_two_elements_may_fit_by_chance(wrong: int, fit: Fit) -> None:
    right = ran(copies(1), AT_0)
    edit = next(one for one in single_edits(right.program) if one.text == "every MatrixLoad takes first plus 1")
    # All elements are equal, except the last ones.
    data = np.full(4 * ELEMENTS, 7, np.uint32)
    data[ELEMENTS - wrong + 1 : ELEMENTS + 1] += np.arange(1, wrong + 1, dtype=np.uint32)
    subcase = replace(right.subcase, inputs={"source": as_bytes(data)})
    expected = evaluate(right.program, subcase)
    before = initial_contents(right.program, subcase, expected)
    outcome = outcome_of(right.program, evaluate_defect(right.program, subcase, edit.substitutes), before)
    found = Search(Ran(right.program, subcase, expected, before, outcome)).run()
    assert {match.fit for match in found} == {fit}
    assert all(match.equal for match in found) == (fit is Fit.FEW or len(found) > 1)


def test_a_mistake_in_all_stores_is_told_although_each_of_them_makes_few_elements_wrong() -> None:
    program = copies(6)
    right = ran(program, {f"first_{number}": 4 * number * ELEMENTS for number in range(6)})
    edit = next(one for one in single_edits(program) if one.text == "every MatrixStore takes zero as matrix")
    wrong = evaluate_defect(program, right.subcase, edit.substitutes)
    told = Search(replace(right, outcome=outcome_of(program, wrong, right.before))).run()
    assert (edit.id, edit.where) in [(match.id, match.where) for match in told]


def test_a_mistake_that_no_single_edit_makes_is_not_explained_by_one() -> None:
    assert Search(ran(copies(1), AT_0, moved(5, 0))).run() == ()


def test_a_defect_that_breaks_a_subcase_that_has_passed_is_not_told() -> None:
    program = copies(1)
    wrong = ran(program, AT_0, moved(1, 0))
    assert edits(Search(wrong).run())
    assert Search(wrong, [ran(program, {"first_0": 8})]).run() == ()


def test_a_defect_that_does_not_explain_another_failing_subcase_is_not_told() -> None:
    program = copies(1)
    assert Search(ran(program, AT_0, moved(1, 0)), [ran(program, {"first_0": 8}, moved(5, 0))]).run() == ()


def test_a_load_from_another_array_is_told() -> None:
    program = looped()
    other = replace(program.array("source"), name="other")
    program = replace(program, arrays=(*program.arrays, other))
    told = Search(ran(program, {"trips": 1}, lambda one: replace(one, array=other) if isinstance(one, MatrixLoad) else one)).run()
    assert [match.sentence for match in told] == ["every MatrixLoad has array other"]


def looped(is_empty: bool = False) -> Program:
    """Return a program that adds a matrix to itself in each round of a loop, or takes it unchanged from round to round."""
    builder = ProgramBuilder(Scope.SUBGROUP)
    source, target = (builder.array(name, Pointee(U32), ELEMENTS, BUFFER, role=role) for name, role in ENDS)
    matrix = builder.load("m", matrix_type(U32, SIZE, SIZE), source, builder.literal(0), builder.literal(SIZE), Layout.ROW_MAJOR)
    current = Value("sum", matrix.type)
    carried: list[Carried] = []
    with builder.loop(Value("round", U32), builder.operand("trips", U32, "push_constant"), carried):
        carried.append(Carried(matrix, current, matrix if is_empty else builder.elementwise("more", "add", current, matrix)))
    builder.store(current, target, builder.literal(0), builder.literal(SIZE), Layout.ROW_MAJOR)
    return builder.build()


@pytest.mark.parametrize("rounds", [1, -1])
def test_a_loop_that_runs_once_more_or_less_is_told(rounds: int) -> None:
    program = looped()
    right, wrong = (ran(program, {"trips": trips}) for trips in (2, 2 + rounds))
    told = Search(replace(right, outcome=wrong.outcome)).run()
    assert any(match.id.startswith(("loop.", "single_edit.once")) for match in told)


@pytest.mark.parametrize("is_empty", [False, True])
def test_no_edit_of_a_loop_takes_many_more_steps_than_the_right_program(is_empty: bool) -> None:
    """A loop that runs ``trips`` - 1 times for ``trips`` = 0 would run 2^32 - 1 times."""
    of_loop = ran(looped(is_empty), {"trips": 0})
    ended = 0
    for edit in single_edits(of_loop.program):
        try:
            evaluate_defect(of_loop.program, of_loop.subcase, edit.substitutes, before_step=Limit().of_evaluation(100))
        except GeneratorError as error:
            ended += error.rule == Rule.ENDLESS_LOOP
        except (LookupError, ValueError):
            continue
    assert ended


def test_the_steps_of_a_program_are_its_operations_and_the_rounds_of_its_loops() -> None:
    assert [ran(looped(), {"trips": trips}).trace.steps for trips in (0, 3)] == [3, 9]


def test_a_search_ends_at_its_limit_and_says_so() -> None:
    wrong = ran(copies(1), AT_0, moved(5, 0))
    with pytest.raises(SearchEnded):
        Limit(-1).check()
    (matches,) = explained([wrong], [0], 3, "family", Effort(budget=Budget(seconds_of_failure=-1)))
    assert [match.id for match in matches] == [""]


class EndsOnceFound(Limit):
    """A limit that a search reaches as soon as it has found a defect."""

    def __init__(self, found: list[tuple[Defect, Fit, int]]) -> None:
        super().__init__()
        self.found = found

    def check(self, share: float = 1) -> None:
        if self.found:
            self.reached = True
            raise SearchEnded


def test_the_only_defect_that_a_search_finds_before_it_ends_is_not_told_as_the_only_one_that_fits() -> None:
    found: list[tuple[Defect, Fit, int]] = []
    (match,) = Search(ran(copies(1), AT_0, moved(1, 0)), limit=EndsOnceFound(found), found=found).run()
    assert match.fit is Fit.ENDED
    assert match.equal


def test_what_no_edit_explains_is_described() -> None:
    (matches,) = explained([ran(copies(1), AT_0, moved(5, 0))], [0], 3, "family", Effort())
    assert matches[-1].id == ""


def test_what_explained_a_failure_is_tried_first_for_the_next_one_of_the_family() -> None:
    effort = Effort()
    wrong = ran(copies(1), AT_0, moved(1, 0))
    first = explained([wrong], [0], 3, "family", effort)
    assert effort.budget.explained["family"]["single_edit.operand_one_more"] == 1
    search = Search(wrong, earlier=effort.budget.explained["family"])
    assert search.run() == first[0]
    assert len(search.tried) < len(list(single_edits(wrong.program)))


@pytest.mark.parametrize("count", [1, 2])
def test_every_edit_of_a_program_can_be_tried(count: int) -> None:
    program = copies(count)
    subcase = ran(program, {f"first_{number}": 0 for number in range(count)}).subcase
    changed = 0
    for edit in single_edits(program):
        try:
            evaluate_defect(program, subcase, edit.substitutes)
            changed += 1
        except (GeneratorError, ValueError):
            continue
    assert changed > 10


def test_a_value_that_is_undefined_has_no_bits_in_the_trace() -> None:
    case = find_case(casebook(), "vector_composites[component:f16/form:undefined]")
    program, subcase, *_ = next(prepared(case, build(case).program))
    assert "undefined" not in traced(program, subcase).values


def filled_by_a_loop() -> Program:
    """Return a program that stores a matrix from workgroup memory, into which a loop over the elements has copied it."""
    builder = ProgramBuilder(Scope.SUBGROUP)
    source, target = (builder.array(name, Pointee(U32), ELEMENTS, BUFFER, role=role) for name, role in ENDS)
    shared = builder.array("shared", Pointee(U32), ELEMENTS, StorageClass.WORKGROUP, role="scratch")
    copy(builder, shared, source)
    builder.barrier()
    matrix = builder.load("m", matrix_type(U32, SIZE, SIZE), shared, builder.literal(0), builder.literal(SIZE), Layout.ROW_MAJOR)
    builder.store(matrix, target, builder.literal(0), builder.literal(SIZE), Layout.ROW_MAJOR)
    return builder.build()


def test_a_mistake_inside_a_loop_that_copies_is_told() -> None:
    program = filled_by_a_loop()
    right = ran(program, {})
    edit = next(one for one in single_edits(program) if one.text == "every ArrayLoad takes zero as index")
    wrong = evaluate_defect(program, right.subcase, edit.substitutes)
    told = Search(replace(right, outcome=outcome_of(program, wrong, right.before))).run()
    assert (edit.id, edit.where) in [(match.id, match.where) for match in told]


def test_an_access_takes_the_operand_or_the_pointer_of_an_earlier_one() -> None:
    texts = [edit.text for edit in single_edits(copies(2))]
    assert "every MatrixLoad takes first_0, an earlier value, as first" in texts
    assert "every MatrixLoad takes the pointer of the MatrixLoad that gives m0, an earlier value, as pointer" in texts


def test_wrong_elements_depend_on_few_operands_of_a_wide_operation() -> None:
    case = find_case(casebook(), "bitcast_arrays[from:u32/to:f32/bytes:256]")
    program, subcase, expected, before, _ = next(prepared(case, build(case).program))
    edit = next(one for one in single_edits(program) if "CompositeConstruct exchanges parts[0] and parts[3]" in one.text)
    outputs = {**before, **outcome_of(program, evaluate_defect(program, subcase, edit.substitutes), before).outputs}
    wrong = [wrong_elements(placed, before, outputs) for placed in expected.placed]
    reach = Reach(expected, wrong, lambda steps: evaluate_defect(program, subcase, steps))
    (construct,) = edit.substitutes
    assert isinstance(construct, CompositeConstruct)
    places = [Place(("parts", number), part) for number, part in enumerate(construct.parts)]
    assert [place.path for place in reach.chosen(construct, places)] == [("parts", 0), ("parts", 3)]


def test_constant_operands_of_a_wide_operation_may_all_be_wrong() -> None:
    case = find_case(casebook(), "tensor_layout[component:u8/use:a/access:store/rank:4/strides:doubled]")
    program, subcase, expected, before, _ = next(prepared(case, build(case).program))
    (cut,) = (one for one in program.operations if isinstance(one, LayoutSet) and one.setting == "slice")
    places = [Place(("operands", number), operand) for number, operand in enumerate(cut.operands)]
    wrong = [wrong_elements(placed, before, before) for placed in expected.placed]
    reach = Reach(expected, wrong, lambda steps: evaluate_defect(program, subcase, steps))
    assert reach.chosen(cut, places) == places
