"""The language of programs, tested by small programs: the reference model and the embedded device agree with numbers worked out here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from cts.reference.evaluate import evaluate
from generators.errors import Rule
from generators.glsl.emit import emit as print_glsl
from generators.layouts.tensor_writer import TensorWriter, slice_step
from generators.program.arrays import ArrayLoad, ArrayStore, AtomicAdd
from generators.program.builder import U32, ProgramBuilder
from generators.program.composites import CompositeConstruct, CompositeExtract, CompositeInsert
from generators.program.control_flow import Carried, Condition, Merged, Select, Stated
from generators.program.domains import Domain, check_domains
from generators.program.elements import ComponentsUpdated, ElementFunction, MatrixLength
from generators.program.functions import Function
from generators.program.memory import Array, Pointee
from generators.program.pointers import BlockLoad
from generators.program.program import Program, Subcase
from generators.program.scalars import BuiltInName, ScalarArithmetic
from generators.program.shape import WorkgroupShape
from generators.program.tensor_access import TensorLoad
from generators.program.values import (
    ArrayType,
    BlockMember,
    BlockType,
    MatrixType,
    Scalar,
    ScalarValue,
    TensorLayoutType,
    Value,
    VectorType,
    literal,
)
from generators.program.walking import flattened
from generators.program.workgroup import Copied
from generators.routines.elements import update_components
from generators.routines.workgroup import copy
from generators.types import Layout, Scope, StorageClass, Use
from tests.agreement import agreed, inputs_of
from tests.broken_rules import breaks

SIZE = 8
"""Invocations of a subgroup."""


def ran(program: Program, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the embedded device's output ``target`` as u32; check that the reference model allows it, and that GLSL can be printed."""
    print_glsl(program)
    return agreed(program, inputs_of(inputs))["target"].view(np.uint32)


def builder_of_invocations(subgroups: int = 1) -> ProgramBuilder:
    return ProgramBuilder(Scope.SUBGROUP, subgroups, shape=WorkgroupShape(subgroup_size=SIZE))


def u32s(builder: ProgramBuilder, name: str, count: int, role: str) -> Array:
    return builder.array(name, Pointee(U32), count, StorageClass.STORAGE_BUFFER, role)  # type: ignore[arg-type]


class Writer:
    """Adds scalar operations, and names their results."""

    def __init__(self, builder: ProgramBuilder) -> None:
        self.builder = builder
        self.count = 0

    def new(self) -> Scalar:
        self.count += 1
        return Value(f"value_{self.count}", U32)

    def compute(self, left: ScalarValue, operator: str, right: ScalarValue | int) -> Scalar:
        result = self.new()
        other = self.builder.literal(right) if isinstance(right, int) else right
        self.builder.add(ScalarArithmetic(result, operator, left, other))  # type: ignore[arg-type]
        return result

    def load(self, array: Array, index: ScalarValue) -> Scalar:
        result = self.new()
        self.builder.add(ArrayLoad(result, array, index))
        return result


def test_invocations_loop_and_branch_each_for_itself() -> None:
    """The values of a cooperative vector, and the control flow around it, differ between invocations."""
    builder = builder_of_invocations(subgroups=2)
    write = Writer(builder)
    source, target = u32s(builder, "source", 2 * SIZE, "input"), u32s(builder, "target", 2 * SIZE, "output")
    index = Value("invocation", U32)
    with builder.per_invocation(index, SIZE):
        trips = write.compute(index, "modulo", 5)
        carried = [Carried(builder.literal(1), Value("sum", U32), Value("next_sum", U32))]
        step = Value("step", U32)
        with builder.loop(step, trips, carried):
            element = write.load(source, write.compute(index, "xor", step))
            builder.add(ScalarArithmetic(Value("next_sum", U32), "add", carried[0].current, element))
        odd = Condition(write.compute(index, "and", 1), "equal", builder.literal(1))
        with builder.arm() as then:
            doubled = write.compute(carried[0].current, "multiply", 2)
        merged = Value("merged", U32)
        builder.branch(odd, then, [], [Merged(merged, (doubled, carried[0].current))])
        builder.add(ArrayStore(target, index, merged))
    given = np.arange(2 * SIZE, dtype=np.uint32) ** 2 + 3
    sums = [1 + sum(int(given[i ^ step]) for step in range(i % 5)) for i in range(2 * SIZE)]
    assert ran(builder.build(), {"source": given}).tolist() == [value * 2 if i % 2 else value for i, value in enumerate(sums)]


def test_invocation_i_supplies_row_i() -> None:
    """OpCompositeConstructCoopMatQCOM: the array of each invocation is the row with the invocation's index."""
    builder = builder_of_invocations()
    write = Writer(builder)
    source, target = u32s(builder, "source", SIZE * 4, "input"), u32s(builder, "target", SIZE * 4, "output")
    index, row = Value("invocation", U32), Value("row", ArrayType(U32, 4))
    with builder.per_invocation(index, SIZE):
        first = write.compute(index, "multiply", 4)
        builder.add(CompositeConstruct(row, tuple(write.load(source, write.compute(first, "add", column)) for column in range(4))))
    later = Value("invocation_later", U32)
    with builder.per_invocation(later, SIZE):
        for column in range(4):
            part = Value(f"part_{column}", U32)
            builder.add(CompositeExtract(part, row, (column,)))
            builder.add(ArrayStore(target, write.compute(later, "add", column * SIZE), part))
    given = np.arange(SIZE * 4, dtype=np.uint32).reshape(SIZE, 4) * 7 + 1
    assert ran(builder.build(), {"source": given}).tolist() == given.T.reshape(-1).tolist()


def test_a_decode_function_branches_loops_and_reads_a_table() -> None:
    """The block's low bits choose the number of table entries to add; an odd block doubles the sum."""
    builder = ProgramBuilder(Scope.SUBGROUP)
    write = Writer(builder)
    source, table = u32s(builder, "source", 16, "input"), u32s(builder, "table", 4, "input")
    target = u32s(builder, "target", 32, "output")
    block = Value("block", BlockType("Word", (BlockMember(U32, 0),), 4))
    coordinates, within = Value("coordinates", ArrayType(U32, 2)), Value("within", ArrayType(U32, 2))
    word, place, decoded = Value("word", U32), Value("place", U32), Value("decoded", U32)
    with builder.arm() as body:
        builder.add(BlockLoad(word, block, 0))
        builder.add(CompositeExtract(place, within, (1,)))
        carried = [Carried(place, Value("total", U32), Value("next_total", U32))]
        step = Value("entry", U32)
        with builder.loop(step, write.compute(word, "and", 3), carried):
            builder.add(ScalarArithmetic(Value("next_total", U32), "add", carried[0].current, write.load(table, step)))
        with builder.arm() as then:
            doubled = write.compute(carried[0].current, "multiply", 2)
        odd = Condition(write.compute(word, "and", 1), "equal", builder.literal(1))
        builder.branch(odd, then, [], [Merged(decoded, (doubled, carried[0].current))])
    decode = Function("decode", (block, coordinates, within), tuple(body), decoded)
    type_ = MatrixType(U32, Scope.SUBGROUP, 4, 8, Use.ACCUMULATOR)
    before = builder.splat("before", type_, builder.literal(9))
    layout = TensorWriter(builder, "literal").layout(
        "layout", TensorLayoutType(2), ("block_size", (1, 2)), ("dimension", (4, 8)), slice_step((0, 0), (4, 8))
    )
    matrix = Value("matrix", type_)
    builder.add(TensorLoad(matrix, source, builder.literal(0), before, layout, decode=decode))
    builder.store(matrix, target, builder.literal(0), builder.literal(8), Layout.ROW_MAJOR)
    words, entries = np.arange(16, dtype=np.uint32) * 5 + 2, np.array([100, 20, 3, 50], np.uint32)

    def value(row: int, column: int) -> int:
        word = int(words[row * 4 + column // 2])
        total = column % 2 + int(entries[: word & 3].sum())
        return total * 2 if word & 1 else total

    expected = [value(row, column) for row in range(4) for column in range(8)]
    assert ran(builder.build(), {"source": words, "table": entries}).tolist() == expected


def test_domains_follow_operands_regions_and_conditions() -> None:
    builder = builder_of_invocations()
    write = Writer(builder)
    target = u32s(builder, "target", SIZE, "output")
    uniform = builder.instance_index()
    index = Value("invocation", U32)
    with builder.per_invocation(index, SIZE):
        same = write.compute(uniform, "add", 1)
        own = write.compute(same, "multiply", index)
        builder.add(ArrayStore(target, index, own))
    domains = check_domains(builder.build())
    assert [domains[value.name] for value in (uniform, same, own)] == [Domain.SUBGROUP, Domain.SUBGROUP, Domain.INVOCATION]


def test_an_index_is_uniform_although_the_value_stored_there_is_not() -> None:
    builder = builder_of_invocations()
    target = u32s(builder, "target", 256, "inout")
    place = builder.arithmetic("place", "add", builder.literal(1), builder.literal(7))
    index = Value("invocation", U32)
    with builder.per_invocation(index, SIZE):
        builder.add(ArrayStore(target, place, index))
    builder.load("matrix", MatrixType(U32, Scope.SUBGROUP, 8, 8, Use.ACCUMULATOR), target, place, builder.literal(8), Layout.ROW_MAJOR)
    assert check_domains(builder.build())["place"] is Domain.DISPATCH


@pytest.mark.parametrize("where", ["operand", "branch"])
def test_a_matrix_operation_takes_nothing_that_differs_among_invocations(where: str) -> None:
    builder = builder_of_invocations()
    write = Writer(builder)
    source = u32s(builder, "source", 256, "input")
    type_ = MatrixType(U32, Scope.SUBGROUP, 8, 8, Use.ACCUMULATOR)
    index = Value("invocation", U32)
    with builder.per_invocation(index, SIZE):
        own = write.compute(index, "multiply", 8)
    zero = builder.literal(0)
    if where == "operand":
        builder.load("matrix", type_, source, own, builder.literal(8), Layout.ROW_MAJOR)
    else:
        with builder.arm() as then:
            builder.load("matrix", type_, source, zero, builder.literal(8), Layout.ROW_MAJOR)
        builder.branch(Condition(own, "equal", zero), then)
    with breaks("KHR-UNI-01"):
        builder.build()


def test_values_that_a_loop_carries_from_an_invocation_also_differ() -> None:
    builder = builder_of_invocations()
    index, chosen = Value("invocation", U32), Value("chosen", U32)
    carried = [Carried(builder.literal(0), Value("current", U32), chosen)]
    with builder.per_invocation(index, SIZE), builder.loop(Value("i", U32), builder.literal(3), carried):
        builder.add(Select(chosen, Condition(index, "less", builder.literal(3)), carried[0].current, builder.literal(1)))
    assert check_domains(builder.build())["current"] is Domain.INVOCATION


def test_a_loop_has_a_start_and_a_step_of_each_invocation() -> None:
    """Each invocation adds its loop indices: they start at its number, step by 1 to 3, and stay below 17."""
    builder = builder_of_invocations()
    write = Writer(builder)
    target = u32s(builder, "target", SIZE, "output")
    index = Value("invocation", U32)
    with builder.per_invocation(index, SIZE):
        step = write.compute(write.compute(index, "modulo", 3), "add", 1)
        carried = [Carried(builder.literal(0), Value("sum", U32), Value("next_sum", U32))]
        i = Value("i", U32)
        with builder.loop(i, builder.literal(17), carried, start=index, step=step):
            builder.add(ScalarArithmetic(Value("next_sum", U32), "add", Value("sum", U32), i))
        builder.write(target, index, Value("sum", U32))
    assert ran(builder.build(), {}).tolist() == [sum(range(i, 17, i % 3 + 1)) for i in range(SIZE)]


def test_a_loop_that_starts_at_its_limit_does_not_run() -> None:
    builder = builder_of_invocations()
    target = u32s(builder, "target", SIZE, "output")
    index = Value("invocation", U32)
    with builder.per_invocation(index, SIZE):
        carried = [Carried(builder.literal(7), Value("found", U32), Value("next_found", U32))]
        with builder.loop(Value("i", U32), builder.literal(4), carried, start=index, step=builder.literal(4)):
            builder.add(ScalarArithmetic(Value("next_found", U32), "add", index, builder.literal(100)))
        builder.write(target, index, Value("found", U32))
    assert ran(builder.build(), {}).tolist() == [100 + i if i < 4 else 7 for i in range(SIZE)]


def test_a_loop_that_does_not_step_has_no_end() -> None:
    builder = builder_of_invocations()
    with builder.loop(Value("i", U32), builder.literal(4), [], step=builder.literal(0)):
        builder.arithmetic("found", "add", builder.literal(1), builder.literal(1))
    with breaks(Rule.ENDLESS_LOOP):
        evaluate(builder.build(), Subcase("one", {}))


SUBGROUP_BUILT_INS: tuple[BuiltInName, ...] = (
    "workgroup",
    "workgroup_y",
    "workgroup_z",
    "workgroups_x",
    "workgroups_y",
    "workgroup_invocations",
    "subgroup",
    "subgroups",
    "subgroup_size",
    "subgroup_invocation",
)


def test_built_ins_are_scalars_of_each_invocation() -> None:
    counts, subgroups = (2, 3, 2), 2
    builder = ProgramBuilder(Scope.SUBGROUP, subgroups, counts, WorkgroupShape(subgroup_size=SIZE))
    lanes, found = 12 * subgroups * SIZE, len(SUBGROUP_BUILT_INS)
    target = u32s(builder, "target", lanes * found, "output")
    write, index = Writer(builder), Value("invocation", U32)
    with builder.per_invocation(index, SIZE):
        first = write.compute(index, "multiply", found)
        for i, which in enumerate(SUBGROUP_BUILT_INS):
            builder.write(target, write.compute(first, "add", i), builder.built_in(which, which))
    expected = [
        [x, y, z, 2, 3, subgroups * SIZE, subgroup, subgroups, SIZE, lane]
        for z in range(2)
        for y in range(3)
        for x in range(2)
        for subgroup in range(subgroups)
        for lane in range(SIZE)
    ]
    assert ran(builder.build(), {}).reshape(lanes, found).tolist() == expected


def test_the_number_of_an_invocation_in_its_workgroup_is_known_at_workgroup_scope() -> None:
    builder = ProgramBuilder(Scope.WORKGROUP, 2, 3, WorkgroupShape(subgroup_size=SIZE))
    target = u32s(builder, "target", 6 * SIZE, "output")
    index = Value("invocation", U32)
    with builder.per_invocation(index, 2 * SIZE):
        builder.write(target, index, builder.built_in("own", "local_invocation"))
    assert ran(builder.build(), {}).tolist() == [*range(2 * SIZE)] * 3


def test_which_invocations_a_subgroup_has_is_open() -> None:
    builder = builder_of_invocations(subgroups=2)
    target = u32s(builder, "target", 2 * SIZE, "output")
    index = Value("invocation", U32)
    with builder.per_invocation(index, SIZE):
        builder.write(target, index, builder.built_in("own", "local_invocation"))
    with breaks(Rule.BUILT_IN):
        evaluate(builder.build(), Subcase("one", {}))


def test_the_number_of_the_workgroup_counts_x_first() -> None:
    builder = ProgramBuilder(Scope.SUBGROUP, workgroups=(2, 3, 2), shape=WorkgroupShape(subgroup_size=SIZE))
    target = u32s(builder, "target", 12, "output")
    place, index = builder.workgroup_index("place"), Value("invocation", U32)
    with builder.per_invocation(index, SIZE):
        with builder.arm() as first:
            builder.write(target, place, place)
        builder.branch(Condition(builder.built_in("lane", "subgroup_invocation"), "equal", builder.literal(0)), first)
    assert ran(builder.build(), {}).tolist() == [*range(12)]


def test_elements_of_arrays_may_be_vectors() -> None:
    """Each invocation moves a vector, and stores its second component separately."""
    builder = builder_of_invocations()
    pointee = Pointee(U32, 4)
    source = builder.array("source", pointee, SIZE, StorageClass.STORAGE_BUFFER, "input")
    target = builder.array("target", pointee, SIZE, StorageClass.STORAGE_BUFFER, "output")
    seconds = u32s(builder, "seconds", SIZE, "output")
    write, index, second = Writer(builder), Value("invocation", U32), Value("second", U32)
    with builder.per_invocation(index, SIZE):
        vector = builder.read("vector", source, write.compute(index, "xor", 1))
        builder.add(CompositeExtract(second, vector, (1,)))
        builder.write(seconds, index, second)
        builder.write(target, index, vector)
    given = np.arange(4 * SIZE, dtype=np.uint32).reshape(SIZE, 4) * 3 + 2
    assert ran(builder.build(), {"source": given}).reshape(SIZE, 4).tolist() == given[np.arange(SIZE) ^ 1].tolist()


def test_an_atomic_gives_what_was_there_before() -> None:
    builder = builder_of_invocations()
    counter = u32s(builder, "counter", 3, "inout")
    target = u32s(builder, "target", 2, "output")
    index = Value("invocation", U32)
    with builder.per_invocation(index, SIZE):
        with builder.arm() as one:
            for i, addend in enumerate((5, 9)):
                before = Value(f"before_{i}", U32)
                builder.add(AtomicAdd(before, counter, builder.literal(1), builder.literal(addend)))
                builder.write(target, builder.literal(i), before)
        builder.branch(Condition(index, "equal", builder.literal(3)), one)
    assert ran(builder.build(), {"counter": np.array([10, 20, 30], np.uint32)}).tolist() == [20, 25]


def test_several_atomics_at_once_have_no_known_order() -> None:
    builder = builder_of_invocations()
    counter = u32s(builder, "counter", 1, "inout")
    with builder.per_invocation(Value("invocation", U32), SIZE):
        builder.add(AtomicAdd(Value("before", U32), counter, builder.literal(0), builder.literal(1)))
    with breaks(Rule.RACE):
        evaluate(builder.build(), Subcase("one", {"counter": np.zeros(4, np.uint8)}))


def _copied(stated_backwards: bool, copied_backwards: bool) -> np.ndarray:
    """Return the result of a copy whose stated effect and code may differ."""
    builder = ProgramBuilder(Scope.SUBGROUP)
    source, target = u32s(builder, "source", 20, "input"), u32s(builder, "target", 20, "output")
    copy(builder, target, source, copied_backwards)
    program = builder.build()
    (operation,) = program.operations
    assert isinstance(operation, Stated)
    wrong = replace(operation, effect=Copied(target, source, stated_backwards))
    return ran(replace(program, operations=(wrong,)), {"source": np.arange(20, dtype=np.uint32)})


@pytest.mark.parametrize("backwards", [False, True])
def test_code_has_the_effect_that_is_stated(backwards: bool) -> None:
    assert _copied(backwards, backwards).tolist() == [*range(20)][:: -1 if backwards else 1]


@pytest.mark.parametrize("backwards", [False, True])
def test_code_that_does_not_have_the_stated_effect_is_seen(backwards: bool) -> None:
    with pytest.raises(AssertionError):
        _copied(backwards, not backwards)


def test_code_is_walked_as_it_is_and_by_its_effect() -> None:
    builder = ProgramBuilder(Scope.SUBGROUP)
    copy(builder, u32s(builder, "target", 20, "output"), u32s(builder, "source", 20, "input"))
    operations = builder.build().operations
    assert [type(one).__name__ for one in flattened(operations, effects=True)] == ["Stated", "Copied"]
    assert [type(one).__name__ for one in flattened(operations)][-3:] == ["Loop", "ArrayLoad", "ArrayStore"]


def test_names_that_are_given_out_are_never_the_same() -> None:
    builder = ProgramBuilder(Scope.SUBGROUP)
    assert [builder.fresh("a"), builder.fresh("b"), builder.fresh("a")] == ["a", "b", "a_2"]


SQUARE = MatrixType(U32, Scope.SUBGROUP, SIZE, SIZE, Use.ACCUMULATOR)


def components(stated: ElementFunction, code: ElementFunction) -> np.ndarray:
    """Return the components, which count up from 0, after ``code`` updates them; ``stated`` is its stated effect."""
    builder = ProgramBuilder(Scope.SUBGROUP)
    source, target = u32s(builder, "source", SIZE * SIZE, "input"), u32s(builder, "target", SIZE * SIZE, "output")
    zero, stride = builder.literal(0), builder.literal(SIZE)
    held = builder.variable("held", SQUARE)
    builder.set(held, (), builder.load("matrix", SQUARE, source, zero, stride, Layout.ROW_MAJOR))
    update_components(builder, ComponentsUpdated(held, (), held, (), code, leading=2))
    builder.store(builder.get_matrix("result", held), target, zero, stride, Layout.ROW_MAJOR)
    program = builder.build()
    effect = ComponentsUpdated(held, (), held, (), stated, leading=2)
    operations = tuple(replace(one, effect=effect) if isinstance(one, Stated) else one for one in program.operations)
    return ran(replace(program, operations=operations), {"source": np.arange(SIZE * SIZE, dtype=np.uint32)})


def test_components_of_all_invocations_are_the_matrix() -> None:
    function = ElementFunction(literal(U32, 3), literal(U32, 7))
    assert components(function, function).tolist() == [3 * i + 7 for i in range(SIZE * SIZE)]


def test_components_that_are_not_what_is_stated_are_seen() -> None:
    with pytest.raises(AssertionError):
        components(ElementFunction(literal(U32, 3), literal(U32, 7)), ElementFunction(literal(U32, 3)))


@pytest.mark.parametrize("form", ["length", "load", "store", "extract", "insert"])
def test_which_components_an_invocation_has_is_open(form: str) -> None:
    builder = ProgramBuilder(Scope.SUBGROUP)
    held = builder.variable("held", SQUARE)
    matrix = builder.splat("matrix", SQUARE, builder.literal(1))
    builder.set(held, (), matrix)
    match form:
        case "length":
            builder.add(MatrixLength(Value("count", U32), SQUARE))
        case "load":
            builder.get("component", held, 0)
        case "store":
            builder.set(held, (0,), builder.literal(2))
        case "extract":
            builder.add(CompositeExtract(Value("component", U32), matrix, (0,)))
        case _:
            builder.add(CompositeInsert(Value("changed", SQUARE), builder.literal(2), matrix, (0,)))
    with breaks("F-KHR-4"):
        evaluate(builder.build(), Subcase("one", {}))


def _diverging(insert: bool) -> ProgramBuilder:
    """Set a component in every other invocation, through a pointer or in a whole matrix."""
    builder = builder_of_invocations()
    held = builder.variable("held", SQUARE)
    matrix = builder.splat("matrix", SQUARE, builder.literal(1))
    builder.set(held, (), matrix)
    odd = builder.arithmetic("odd", "and", builder.built_in("lane", "subgroup_invocation"), builder.literal(1))
    with builder.arm() as then:
        if insert:
            builder.add(CompositeInsert(Value("changed", SQUARE), builder.literal(2), matrix, (0,)))
        else:
            builder.set(held, (0,), builder.literal(2))
    builder.branch(Condition(odd, "equal", builder.literal(1)), then)
    return builder


def test_invocations_may_diverge_where_they_set_components_by_pointers() -> None:
    assert check_domains(_diverging(insert=False).build())["odd"] is Domain.INVOCATION
    with breaks("KHR-UNI-01"):
        _diverging(insert=True).build()


@pytest.mark.parametrize("type_", [VectorType(U32, 2), ArrayType(U32, 2)], ids=["vector", "array"])
def test_a_function_returns_an_aggregate(type_: VectorType | ArrayType) -> None:
    """Some invocations get a pair from an early return, the others from the end."""
    builder = builder_of_invocations()
    write, target = Writer(builder), u32s(builder, "target", 2 * SIZE, "output")
    number, early, late = Value("number", U32), Value("early", type_), Value("late", type_)
    with builder.arm() as body:
        with builder.arm() as small:
            builder.add(CompositeConstruct(early, (number, builder.literal(50))))
        builder.exit("return", Condition(number, "less", builder.literal(3)), small, early)
        builder.add(CompositeConstruct(late, (write.compute(number, "multiply", 10), number)))
    function, index = Function("pair", (number,), tuple(body), late), Value("invocation", U32)
    with builder.per_invocation(index, SIZE):
        found = builder.call("found", function, [index])
        assert found is not None
        for i in range(2):
            part = Value(f"found_{i}", U32)
            builder.add(CompositeExtract(part, found, (i,)))
            builder.write(target, write.compute(write.compute(index, "multiply", 2), "add", i), part)
    assert ran(builder.build(), {}).reshape(SIZE, 2).tolist() == [[i, 50] if i < 3 else [10 * i, i] for i in range(SIZE)]
