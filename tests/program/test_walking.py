"""The values that operations read, and changes to the operations inside them."""

from __future__ import annotations

from dataclasses import replace

from cts.defects.elementwise import elementwise_defects
from generators.program.builder import U32, ProgramBuilder
from generators.program.callbacks import PerElement
from generators.program.control_flow import Arm, Branch, Carried, Condition, Loop
from generators.program.elementwise import MatrixArithmetic
from generators.program.functions import Call, Function
from generators.program.memory import Pointee
from generators.program.values import MatrixType, Value
from generators.program.walking import changed, flattened, names_read, regions, results, with_operands
from generators.routines.workgroup import last_workgroup
from generators.types import COMPONENT_TYPES, Layout, Scope, StorageClass, Use

S32 = COMPONENT_TYPES["s32"]
TYPE = MatrixType(S32, Scope.SUBGROUP, 8, 8, Use.ACCUMULATOR)


def program_with_a_loop():
    """Build the difference of two matrices; a loop adds the first one repeatedly."""
    builder = ProgramBuilder(Scope.SUBGROUP)
    source = builder.array("source", Pointee(S32), 128, StorageClass.STORAGE_BUFFER, "input")
    target = builder.array("target", Pointee(S32), 64, StorageClass.STORAGE_BUFFER, "output")
    stride = builder.literal(8)
    left, right = (builder.load(name, TYPE, source, builder.literal(64 * i), stride, Layout.ROW_MAJOR) for i, name in enumerate("ab"))
    difference = builder.elementwise("difference", "subtract", left, right)
    current = Value("current", TYPE)
    carried: list[Carried] = []
    with builder.loop(Value("i", U32), builder.literal(3), carried):
        carried.append(Carried(difference, current, builder.elementwise("more", "add", current, left)))
    builder.store(current, target, builder.literal(0), stride, Layout.ROW_MAJOR)
    return builder.build()


def test_an_operand_that_a_loop_uses_again_may_be_overwritten() -> None:
    found = [defect for defect in elementwise_defects(program_with_a_loop()) if defect.id == "elementwise.left_overwritten"]
    assert [[operation.result.name for operation in defect.substitutes] for defect in found][:1] == [["difference"]]


def test_a_loop_reads_what_its_body_and_its_trip_count_read() -> None:
    (loop,) = [one for one in program_with_a_loop().operations if isinstance(one, Loop)]
    assert names_read(loop) >= {"difference", "more", "current", "a", "literal_u32_3"}
    assert names_read(loop, inside=False) == {"difference", "more", "literal_u32_0", "literal_u32_1", "literal_u32_3"}


def test_a_change_reaches_operations_in_bodies() -> None:
    def added(operation):
        return (operation, operation) if isinstance(operation, MatrixArithmetic) else (operation,)

    before = program_with_a_loop().operations
    count = [sum(isinstance(one, MatrixArithmetic) for one in flattened(operations)) for operations in (before, changed(before, added))]
    assert count == [2, 4]


def test_a_condition_is_read() -> None:
    builder = ProgramBuilder(Scope.SUBGROUP)
    one = builder.instance_index()
    with builder.arm() as then:
        builder.arithmetic("sum", "add", one, builder.literal(1))
    builder.branch(Condition(one, "less", builder.literal(7)), then)
    assert names_read(builder.build().operations[-1], inside=False) == {"instance", "literal_u32_7"}


def test_a_change_reaches_code_and_what_its_effect_runs() -> None:
    def exchanged(operation):
        return (replace(operation, operator="subtract") if isinstance(operation, MatrixArithmetic) else operation,)

    builder = ProgramBuilder(Scope.SUBGROUP, workgroups=2)
    counter = builder.array("counter", Pointee(U32), 1, StorageClass.STORAGE_BUFFER, "inout")
    with last_workgroup(builder, counter):
        one = builder.splat("one", TYPE, builder.literal(1, S32))
        builder.elementwise("two", "add", one, one)
    operations = changed(builder.build().operations, exchanged)
    for effects in (False, True):
        found = [one.operator for one in flattened(operations, effects) if isinstance(one, MatrixArithmetic)]
        assert found == ["subtract"]


def test_a_loop_computes_its_index_and_what_it_carries() -> None:
    (loop,) = [one for one in program_with_a_loop().operations if isinstance(one, Loop)]
    assert [value.name for value in results(loop)] == ["i", "current"]


def test_the_arms_of_a_switch_are_its_regions() -> None:
    builder = ProgramBuilder(Scope.SUBGROUP)
    bodies = []
    for number in range(3):
        with builder.arm() as body:
            builder.arithmetic(f"sum_{number}", "add", builder.literal(number), builder.literal(1))
        bodies.append(tuple(body))
    builder.switch(builder.literal(1), [Arm((number,), bodies[number]) for number in range(2)], bodies[2])
    assert regions(builder.build().operations[-1]) == tuple(bodies)


def test_a_called_function_is_a_region_and_a_function_for_elements_is_none() -> None:
    builder = ProgramBuilder(Scope.SUBGROUP)
    with builder.arm() as body:
        more = builder.arithmetic("more", "add", Value("x", S32), builder.literal(1, S32))
    function = Function("increment", (Value("x", S32),), tuple(body), more)
    call = Call(Value("called", S32), function, (builder.literal(1, S32),))
    matrix = Value("matrix", TYPE)
    assert regions(call) == (tuple(body),)
    assert regions(PerElement(matrix, matrix, function)) == ()


def test_operands_change_in_conditions_and_not_inside() -> None:
    builder = ProgramBuilder(Scope.SUBGROUP)
    with builder.arm() as then:
        builder.arithmetic("sum", "add", builder.literal(7), builder.literal(1))
    branch = Branch(Condition(builder.instance_index(), "less", builder.literal(7)), tuple(then), ())
    other = with_operands(branch, lambda operand: builder.literal(9) if operand.value == 7 else operand)
    assert (other.condition.right.value, other.then) == (9, branch.then)
