"""Cooperative vectors in the reference model: values worked out here, which the embedded device must also give, and refused programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cts.reference.evaluate import evaluate
from cts.reference.values import MatrixValue
from cts.reference.vector_functions import function_of
from cts.verdict.expected import Interval, OneOf
from generators.errors import Rule
from generators.layouts.vector_arrays import VectorArray
from generators.program.builder import U32
from generators.program.construction import CooperativeVectorConstant
from generators.program.control_flow import Carried, Condition, Exit, Merged
from generators.program.conversion import Conversion
from generators.program.cooperative_vector_matmul import BiasInMemory, MatrixInMemory
from generators.program.float_controls import FloatControl, FloatMode, modes_of
from generators.program.functions import Function
from generators.program.memory import Pointee
from generators.program.program import Subcase
from generators.program.values import ArrayType, CooperativeVectorType, Operand, Value
from generators.types import COMPONENT_TYPES, INTERPRETATIONS, MatrixOperands, StorageClass, VectorMatrixLayout
from tests.agreement import agreed
from tests.broken_rules import breaks
from tests.reference.programs import as_bytes
from tests.reference.vector_programs import BUFFER, Lanes

TYPES, READ = COMPONENT_TYPES, INTERPRETATIONS
F16, F32, S8, S32 = (TYPES[name] for name in ("f16", "f32", "s8", "s32"))
ROW, COLUMN = VectorMatrixLayout.ROW_MAJOR, VectorMatrixLayout.COLUMN_MAJOR
INFERENCING, TRAINING = VectorMatrixLayout.INFERENCING_OPTIMAL, VectorMatrixLayout.TRAINING_OPTIMAL


def gives(lanes: Lanes, rows: list[list[Any]]) -> None:
    """Check that the reference model and the embedded device have ``rows`` in ``d_out``, one for each invocation."""
    assert lanes.rows() == rows
    agreed(*lanes.case())


def refused(lanes: Lanes, rule: str) -> None:
    with breaks(rule):
        lanes.expected()


# Memory


def test_offsets_count_bytes_whatever_the_pointee_is() -> None:
    lanes = Lanes(2)
    type_ = CooperativeVectorType(F16, 3)
    data = np.arange(40, dtype=np.float16)
    with lanes.inside():
        array = lanes.builder.array("source", Pointee(TYPES["u32"], 4), 5, BUFFER, "input", array_stride=32)
        lanes.inputs["source"] = as_bytes(data)
        at = lanes.builder.offset("at", lanes.builder.literal(16), lanes.me, 32)
        lanes.stored(lanes.vectors.load("x", type_, array, at))
    # Byte 16 is number 8, byte 48 number 24.
    gives(lanes, [[8, 9, 10], [24, 25, 26]])


def test_a_store_writes_its_components_and_no_more() -> None:
    lanes = Lanes(2)
    with lanes.inside():
        lanes.stored(lanes.loaded("x", "f16", [[1, 2, 3], [4, 5, 6]]))
    placed = lanes.placed()
    place = VectorArray(CooperativeVectorType(F16, 3), 2)
    assert placed.offsets[:, 0].tolist() == [[16, 18, 20], [16 + place.pitch, 18 + place.pitch, 20 + place.pitch]]
    assert placed.expectation.authority.requirement == "CV-ST-01"


@pytest.mark.parametrize(("offset", "rule"), [(8, Rule.MISALIGNED), (0xFFFFFFF0, Rule.OUT_OF_BOUNDS), (64, Rule.OUT_OF_BOUNDS)])
def test_a_load_from_elsewhere_is_refused(offset: int, rule: str) -> None:
    lanes = Lanes(1)
    with lanes.inside():
        array = lanes.array("source", F16, np.zeros(64, np.uint8))
        lanes.stored(lanes.vectors.load("x", CooperativeVectorType(F16, 3), array, lanes.builder.literal(offset)))
    refused(lanes, rule)


def test_a_negative_offset_is_refused() -> None:
    lanes = Lanes(1)
    with lanes.inside():
        array = lanes.array("source", F16, np.zeros(64, np.uint8))
        lanes.stored(lanes.vectors.load("x", CooperativeVectorType(F16, 3), array, lanes.builder.literal(-16, S32)))
    refused(lanes, Rule.NEGATIVE_OFFSET)


def test_stores_of_two_invocations_do_not_overlap() -> None:
    lanes = Lanes(2)
    with lanes.inside():
        x = lanes.loaded("x", "f16", [[1], [2]])
        lanes.vectors.store(x, lanes.builder.array("d_out", Pointee(F16), 8, BUFFER, "output"), lanes.builder.literal(0))
    refused(lanes, "F-KHR-1")


def test_some_invocations_store_and_each_element_says_whose_it_is() -> None:
    lanes = Lanes(4)
    builder = lanes.builder
    with lanes.inside():
        x = lanes.loaded("x", "s32", [[1, 2], [3, 4], [5, 6], [7, 8]])
        with builder.arm() as then:
            lanes.stored(x)
        builder.branch(Condition(builder.arithmetic("odd", "and", lanes.me, builder.literal(1)), "equal", builder.literal(1)), then)
    placed = lanes.placed()
    assert placed.expected.bits.tolist() == [[[3, 4, 7, 8]]]
    assert placed.cells is not None
    assert placed.cells.tolist() == [[1, 0, 0], [1, 0, 1], [3, 0, 0], [3, 0, 1]]
    agreed(*lanes.case())


def test_workgroup_memory_is_each_workgroups_own() -> None:
    lanes = Lanes(4, workgroups=2)
    builder, vectors = lanes.builder, lanes.vectors
    type_ = CooperativeVectorType(F32, 3)
    shared = builder.array("shared", Pointee(F32), 8, StorageClass.WORKGROUP, "scratch")
    with lanes.inside():
        x = lanes.loaded("x", "f32", [[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]])
        own = builder.arithmetic("own", "modulo", lanes.me, builder.literal(2))
        vectors.store(x, shared, builder.arithmetic("own_at", "multiply", own, builder.literal(16)))
    builder.barrier()
    with builder.per_invocation(Value("again", U32), lanes.size):
        other = builder.arithmetic("other", "xor", own, builder.literal(1))
        y = vectors.load("y", type_, shared, builder.arithmetic("other_at", "multiply", other, builder.literal(16)))
        lanes.stored(y)
    gives(lanes, [[4, 5, 6], [1, 2, 3], [10, 11, 12], [7, 8, 9]])


# Components and variables


def test_components_at_indices_of_each_invocation() -> None:
    lanes = Lanes(3)
    vectors = lanes.vectors
    with lanes.inside():
        x = lanes.loaded("x", "s32", [[1, 2, 3], [4, 5, 6], [7, 8, 9]])
        index = lanes.scalar("index", [2, 0, 1])
        y = vectors.insert("y", x, vectors.extract("taken", x, index), lanes.scalar("to", [0, 2, 1]))
        lanes.stored(vectors.insert("z", y, vectors.extract("first", x, 0), 1))
    # The extracted components are 3, 4, 8; component 1 becomes component 0 of the original: 1, 4, 7.
    gives(lanes, [[3, 1, 3], [4, 4, 4], [7, 7, 9]])


@pytest.mark.parametrize("insert", [False, True])
def test_an_index_beyond_the_vector_is_refused(insert: bool) -> None:
    lanes = Lanes(2)
    with lanes.inside():
        x = lanes.loaded("x", "s32", [[1, 2], [3, 4]])
        index = lanes.scalar("index", [0, 2])
        if insert:
            x = lanes.vectors.insert("y", x, lanes.builder.literal(1, S32), index)
        else:
            x = lanes.vectors.splat("y", x.type, lanes.vectors.extract("taken", x, index))
        lanes.stored(x)
    refused(lanes, Rule.INDEX)


def test_variables_hold_components_that_are_written_one_by_one() -> None:
    lanes = Lanes(2)
    builder = lanes.builder
    type_ = CooperativeVectorType(S32, 2)
    variable = builder.variable("variable", ArrayType(type_, 2))
    with lanes.inside():
        x = lanes.loaded("x", "s32", [[1, 2], [3, 4]])
        index = lanes.scalar("index", [1, 0])
        builder.set(variable, (0,), x)
        for place, source in ((0, 1), (1, 0)):
            builder.set(variable, (1, place), lanes.vectors.extract(f"c{place}", x, source))
        builder.set(variable, (index, index), builder.literal(9, S32))
        both = builder.get("both", variable)
        lanes.stored(builder.get("first", variable, 0), "first_out")  # type: ignore[arg-type]
        lanes.stored(builder.get("second", variable, 1), "second_out")  # type: ignore[arg-type]
        assert both.type == variable.type
    first, second = lanes.expected().placed
    # Invocation 0 changes component 1 of the second, invocation 1 component 0 of the first.
    assert first.expected.bits[:, 0].tolist() == [[1, 2], [9, 4]]
    assert second.expected.bits[:, 0].tolist() == [[2, 9], [4, 3]]
    agreed(*lanes.case())


def test_a_variable_keeps_what_each_invocation_wrote_to_it() -> None:
    lanes = Lanes(2)
    builder = lanes.builder
    type_ = CooperativeVectorType(S32, 1)
    start = CooperativeVectorConstant(Value("start", type_), (builder.literal(5, S32),))
    variable = builder.variable("variable", type_, initializer=start)
    with lanes.inside():
        x = lanes.loaded("x", "s32", [[1], [2]])
        builder.set(variable, (), lanes.vectors.arithmetic("sum", "add", x, builder.get("old", variable)))  # type: ignore[arg-type]
    with builder.per_invocation(Value("again", U32), 2):
        lanes.stored(builder.get("new", variable))  # type: ignore[arg-type]
    assert lanes.rows() == [[6], [7]]


def test_a_variable_that_an_invocation_has_not_written_is_refused() -> None:
    lanes = Lanes(2)
    builder = lanes.builder
    variable = builder.variable("variable", CooperativeVectorType(S32, 2))
    with lanes.inside():
        builder.set(variable, (lanes.me,), builder.literal(1, S32))
        lanes.stored(builder.get("x", variable))  # type: ignore[arg-type]
    refused(lanes, Rule.UNINITIALIZED)


def test_values_that_are_made() -> None:
    lanes = Lanes(2)
    builder, vectors = lanes.builder, lanes.vectors
    type_ = CooperativeVectorType(S32, 2)
    with lanes.inside():
        made = [
            vectors.splat("s", type_, builder.literal(3, S32)),
            vectors.constant("c", type_, (builder.literal(10, S32), builder.literal(20, S32))),
            vectors.constant("r", type_, (builder.literal(100, S32),), replicated=True),
            vectors.null("n", type_),
            vectors.construct("p", type_, (builder.literal(1000, S32), builder.literal(2000, S32))),
        ]
        total = made[0]
        for number, one in enumerate(made[1:]):
            total = vectors.arithmetic(f"t{number}", "add", total, one)
        lanes.stored(total)
    gives(lanes, [[1113, 2123], [1113, 2123]])


def test_a_vector_is_defined_when_all_of_its_components_are() -> None:
    lanes = Lanes(2)
    vectors, type_ = lanes.vectors, CooperativeVectorType(S32, 3)
    with lanes.inside():
        x = lanes.loaded("x", "s32", [[1, 2, 3], [4, 5, 6]])
        made = vectors.undefined("nothing", type_, "module")
        for i in range(3):
            made = vectors.insert(f"with_{i}", made, vectors.extract(f"part_{i}", x, 2 - i), i)
        lanes.stored(made)
    gives(lanes, [[3, 2, 1], [6, 5, 4]])
    lanes = Lanes(1)
    with lanes.inside():
        nothing = lanes.vectors.undefined("nothing", type_, "function")
        some = lanes.vectors.insert("some", nothing, lanes.builder.literal(7, S32), 1)
        lanes.stored(lanes.vectors.splat("y", type_, lanes.vectors.extract("taken", some, 1), replicated=True))
    gives(lanes, [[7, 7, 7]])
    with lanes.inside():
        lanes.vectors.extract("other", some, 0)
    refused(lanes, "QC-CX-03")


def test_an_invocation_selects_one_of_two_vectors() -> None:
    lanes = Lanes(3)
    with lanes.inside():
        x = lanes.loaded("x", "s32", [[1, 2], [3, 4], [5, 6]])
        y = lanes.loaded("y", "s32", [[10, 20], [30, 40], [50, 60]])
        chosen = lanes.vectors.select("chosen", Condition(lanes.me, "equal", lanes.builder.literal(1)), x, y)
        lanes.stored(lanes.vectors.copy("copied", chosen))
    gives(lanes, [[10, 20], [3, 4], [50, 60]])


def test_an_undefined_vector_is_handed_on_and_never_looked_at() -> None:
    lanes = Lanes(2)
    builder = lanes.builder
    type_ = CooperativeVectorType(S32, 1)
    with lanes.inside():
        x = lanes.loaded("x", "s32", [[4], [5]])
        nothing = lanes.vectors.undefined("nothing", type_, "function")
        with builder.arm() as then:
            doubled = lanes.vectors.arithmetic("doubled", "add", x, x)
        merged = Value("merged", type_)
        builder.branch(Condition(lanes.me, "equal", builder.literal(1)), then, (), (Merged(merged, (doubled, x)),))
        lanes.stored(merged)
    gives(lanes, [[4], [10]])
    lanes = Lanes(1)
    with lanes.inside():
        nothing = lanes.vectors.undefined("nothing", type_, "module")
        lanes.stored(nothing)
    refused(lanes, "KHR-COMP-04")


# Control flow and functions


def test_loops_and_branches_of_each_invocation() -> None:
    lanes = Lanes(4)
    builder, vectors = lanes.builder, lanes.vectors
    with lanes.inside():
        x = lanes.loaded("x", "f32", [[1, -2], [3, 4], [5, 6], [7, 8]])
        current, following = Value("current", x.type), Value("following", x.type)
        with builder.loop(Value("i", U32), lanes.me, [Carried(x, current, following)]):
            vectors.arithmetic("following", "add", current, x)
        lanes.stored(current)
    gives(lanes, [[1, -2], [6, 8], [15, 18], [28, 32]])


def test_functions_take_and_return_vectors() -> None:
    lanes = Lanes(2)
    type_ = CooperativeVectorType(S32, 2)
    p, r = Value("p", type_), Value("r", type_)
    with lanes.builder.arm() as body:
        lanes.vectors.arithmetic("r", "multiply", p, p)
    function = Function("square", (p,), tuple(body), r)
    with lanes.inside():
        x = lanes.loaded("x", "s32", [[2, 3], [-4, 5]])
        lanes.stored(lanes.builder.call("y", function, (x,)))  # type: ignore[arg-type]
    gives(lanes, [[4, 9], [16, 25]])


# Elements


def test_arithmetic_and_bits_of_integers() -> None:
    lanes = Lanes(1)
    vectors = lanes.vectors
    with lanes.inside():
        x = lanes.loaded("x", "s32", [[-7, 7, -128]])
        y = lanes.loaded("y", "s32", [[2, 3, 31]])
        operators = ("and", "or", "xor", "shift_left", "shift_right_logical", "shift_right_arithmetic")
        made = {op: vectors.bits(op, op, x, y) for op in operators}  # type: ignore[arg-type]
        made |= {"divide": vectors.arithmetic("divide", "signed_divide", x, y), "negate": vectors.negate("negate", x)}
        made["not"] = vectors.invert("not", x)
        for name, one in made.items():
            lanes.stored(one, f"{name}_out")
    found = {placed.array: placed.expected.bits.view(np.int32)[0, 0].tolist() for placed in lanes.expected().placed}
    # -7 is 0xfffffff9, -128 is 0xffffff80.
    assert found == {
        "and_out": [0, 3, 0],
        "or_out": [-5, 7, -97],
        "xor_out": [-5, 4, -97],
        "shift_left_out": [-28, 56, 0],
        "shift_right_logical_out": [0x3FFFFFFE, 0, 1],
        "shift_right_arithmetic_out": [-2, 0, -1],
        "divide_out": [-3, 2, -4],
        "negate_out": [7, -7, 128],
        "not_out": [6, -8, 127],
    }
    agreed(*lanes.case())


def test_a_shift_by_the_width_is_refused() -> None:
    lanes = Lanes(1)
    with lanes.inside():
        x = lanes.loaded("x", "s32", [[1, 1]])
        lanes.stored(lanes.vectors.bits("y", "shift_left", x, lanes.loaded("by", "s32", [[31, 32]])))
    refused(lanes, Rule.SHIFT)


def test_arithmetic_of_floats_rounds_in_either_direction() -> None:
    lanes = Lanes(1)
    with lanes.inside():
        x = lanes.loaded("x", "f16", [[2048, 3]])
        y = lanes.loaded("y", "f16", [[1, 4]])
        lanes.stored(lanes.vectors.arithmetic("z", "add", x, y))
    placed = lanes.placed()
    assert isinstance(placed.permitted, OneOf)
    # 2049 is between 2048, 0x6800, and 2050, 0x6801; 7 is 0x4700.
    assert [sorted({int(bits[0, 0, i]) for bits in placed.permitted.choices}) for i in range(2)] == [[0x6800, 0x6801], [0x4700]]
    assert placed.expectation.authority.requirement == "CV-ARI-01"
    agreed(*lanes.case())


def test_a_vector_times_a_scalar_of_each_invocation() -> None:
    lanes = Lanes(2)
    with lanes.inside():
        x = lanes.loaded("x", "f32", [[1, 2], [3, 5]])
        factor = lanes.vectors.extract("factor", x, 1)
        lanes.stored(lanes.vectors.times_scalar("y", x, factor))
    gives(lanes, [[2, 4], [15, 25]])


def test_conversions_and_bits_of_floats() -> None:
    lanes = Lanes(1)
    vectors = lanes.vectors
    with lanes.inside():
        x = lanes.loaded("x", "f32", [[1.75, -2.5, 100]])
        lanes.stored(vectors.convert("whole", x, S8), "whole_out")
        lanes.stored(vectors.convert("bits", x, TYPES["u32"], Conversion.BITCAST), "bits_out")
        lanes.stored(vectors.convert("half", x, F16), "half_out")
    found = [placed.expected.bits[0, 0].tolist() for placed in lanes.expected().placed]
    assert found == [[1, 0xFE, 100], [0x3FE00000, 0xC0200000, 0x42C80000], [0x3F00, 0xC100, 0x5640]]
    agreed(*lanes.case())


def test_the_sign_of_a_computed_zero_is_not_looked_at() -> None:
    lanes = Lanes(1)
    with lanes.inside():
        x = lanes.loaded("x", "f32", [[1.0]])
        zero = lanes.vectors.arithmetic("zero", "subtract", x, x)
        lanes.stored(lanes.vectors.convert("bits", zero, TYPES["u32"], Conversion.BITCAST))
    refused(lanes, Rule.SIGNED_ZERO)
    lanes = Lanes(1)
    with lanes.inside():
        x = lanes.loaded("x", "f32", [[1.0]])
        lanes.stored(lanes.vectors.arithmetic("zero", "subtract", x, x))
    contains = lanes.placed().permitted.contains
    assert contains(np.array([[[0x80000000]]], np.uint32)).all()
    assert contains(np.array([[[0]]], np.uint32)).all()


def test_functions_are_asked_with_their_bounds() -> None:
    lanes = Lanes(1)
    with lanes.inside():
        x = lanes.loaded("x", "f32", [[0.5, 1.0, 3.0, -2.0]])
        lanes.stored(lanes.vectors.function("y", "Exp", x))
    placed = lanes.placed()
    assert isinstance(placed.permitted, Interval)
    assert placed.expectation.authority.requirement == "CV-ARI-04"
    # exp(3) = 20.0855: 3 + 2 * 3 ULP of 2^-19 on each side.
    assert placed.permitted.high[0, 0, 2] - placed.permitted.low[0, 0, 2] == pytest.approx(2 * 9 * 2.0**-19, rel=1e-6)
    agreed(*lanes.case())


def test_denormals_may_be_taken_for_zero_by_minimum_and_maximum() -> None:
    lanes = Lanes(1)
    with lanes.inside():
        x = lanes.loaded("x", "f16", [["0x0001", "0x3c00"]])
        lanes.stored(lanes.vectors.function("y", "FMax", x, lanes.loaded("z", "f16", [["0x8001", "0x0001"]])))
    permitted = lanes.placed().permitted
    for bits, inside in ((0x0001, True), (0x0000, True), (0x8001, False), (0x0002, False)):
        assert permitted.contains(np.array([[[bits, 0x3C00]]], np.uint16)).all() == inside
    agreed(*lanes.case())


# Matrix-vector multiplies


def test_each_invocation_has_a_matrix_and_a_bias_of_its_own() -> None:
    lanes = Lanes(3)
    builder = lanes.builder
    with lanes.inside():
        x = lanes.loaded("x", "s8", [[1, 2], [3, 4], [5, 6]])
        index = lanes.scalar("index", [2, 0, 1])
        array = lanes.opaque("matrix_in", S8, [[[1, 0]], [[0, 1]], [[1, 1]]], INFERENCING)
        biases = np.array([10, 0, 0, 0, 20, 0, 0, 0, 30, 0, 0, 0], np.int32)
        bias = BiasInMemory(
            lanes.array("bias_in", S32, as_bytes(biases)), builder.arithmetic("b_at", "multiply", index, builder.literal(16)), READ["s32"]
        )
        matrix = MatrixInMemory(array, lanes.vectors.matrix_offset("m_at", array, index), READ["s8"], INFERENCING, builder.literal(0))
        lanes.stored(lanes.vectors.matmul("y", S32, x, READ["s8"], matrix, bias, 1, 2))
    # 1 + 2 + 30; 3 + 10; 6 + 20.
    gives(lanes, [[33], [13], [26]])


def product(
    matrix: Callable[[Lanes], MatrixInMemory], operands: Any = "types", component: str = "f16", result: str = "f16", rows: int = 1
) -> Lanes:
    lanes = Lanes(1)
    with lanes.inside():
        x = lanes.loaded("x", component, [[1, 2]])
        lanes.stored(lanes.vectors.matmul("y", TYPES[result], x, READ[component], matrix(lanes), None, rows, 2, operands))
    return lanes


def in_rows(lanes: Lanes, **changes: Any) -> MatrixInMemory:
    given = {
        "offset": 64,
        "stride": 16,
        "layout": ROW,
        "interpretation": "f16",
        "transpose": False,
        "role": "input",
        "bytes": 128,
        **changes,
    }
    read = READ[given["interpretation"]]
    array = lanes.array("matrix_in", read.component, np.zeros(given["bytes"], np.uint8), given["role"])
    literal = lanes.builder.literal
    stride = None if given["stride"] is None else literal(given["stride"])
    return MatrixInMemory(array, literal(given["offset"]), read, given["layout"], stride, given["transpose"])


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"offset": 32}, Rule.MISALIGNED),
        ({"stride": 8}, Rule.STRIDE_ALIGNMENT),
        ({"stride": None}, "F-CV-1"),
        ({"transpose": True}, "CV-MM-21"),
        ({"interpretation": "e4m3"}, "VUID-RuntimeSpirv-OpCooperativeVectorMatrixMulNV-10090"),
        ({"layout": INFERENCING}, Rule.OPAQUE),
        ({"role": "inout"}, "CV-MM-26"),
        ({"bytes": 66}, Rule.OUT_OF_BOUNDS),
        ({"interpretation": "s8packed"}, "CV-MM-24"),
    ],
)
def test_a_matrix_that_is_not_valid_is_refused(changes: dict[str, Any], rule: str) -> None:
    refused(product(lambda lanes: in_rows(lanes, **changes)), rule)


def test_a_multiply_that_is_not_valid_is_refused() -> None:
    refused(product(in_rows, MatrixOperands.A_SIGNED), "F-CV-4")
    refused(product(in_rows, result="s8"), "CV-MM-03")
    refused(product(lambda lanes: in_rows(lanes, interpretation="s8")), Rule.INTERPRETATIONS)
    refused(product(lambda lanes: MatrixInMemory(lanes.opaque("m", F16, [[[1], [2]]], INFERENCING), lanes.builder.literal(0), READ["f16"],
                                                 INFERENCING, None)), Rule.OPAQUE_MATRIX)  # fmt: skip


def test_layers_of_a_network() -> None:
    lanes = Lanes(2)
    builder, vectors = lanes.builder, lanes.vectors
    with lanes.inside():
        x = lanes.loaded("x", "f16", [[1, 2], [3, -1]])
        array = lanes.opaque("m", F16, [[[1, -2], [2, 1]], [[3, 1], [-1, 2]]], INFERENCING)
        for layer in range(2):
            at = vectors.matrix_offset(f"at{layer}", array, builder.literal(layer))
            matrix = MatrixInMemory(array, at, READ["f16"], INFERENCING, None)
            x = vectors.matmul(f"y{layer}", F16, x, READ["f16"], matrix, None, 2, 2)
            x = vectors.function(f"relu{layer}", "FMax", x, vectors.null(f"zero{layer}", x.type))
        lanes.stored(x)
    # Layer 0: (1 - 4, 2 + 2) = (-3, 4) -> (0, 4), and (3 + 2, 6 - 1) = (5, 5). Layer 1: (4, 8), and (20, 5).
    gives(lanes, [[4, 8], [20, 5]])


# Training


def test_all_invocations_of_all_workgroups_accumulate() -> None:
    lanes = Lanes(6, workgroups=2)
    builder, vectors = lanes.builder, lanes.vectors
    with lanes.inside():
        x = lanes.loaded("x", "f16", [[n, n + 1] for n in range(6)])
        array = lanes.opaque("sums", F32, [[[0, 0], [0, 0]], [[1, 1], [1, 1]]], TRAINING, "inout")
        matrix = builder.arithmetic("parity", "and", lanes.me, builder.literal(1))
        vectors.outer_product(array, vectors.matrix_offset("at", array, matrix), x, x, TRAINING, READ["f32"], None)
        bias = lanes.array("bias", F16, np.zeros(48, np.uint8), "inout")
        with builder.arm() as then:
            vectors.reduce_sum(bias, builder.literal(16), x)
        builder.branch(Condition(lanes.me, "less", builder.literal(3)), then)
    weights, sums = lanes.expected().placed
    # Even ones are (0,1), (2,3), (4,5): 0+4+16, 0+6+20, 1+9+25. Odd ones (1,2), (3,4), (5,6): 1+9+25, 2+12+30, 4+16+36, and 1 from before.
    assert weights.expected.bits.view(np.float32).tolist() == [[[20, 26], [26, 35]], [[36, 45], [45, 57]]]
    # The first three: 0+1+2, 1+2+3.
    assert sums.expected.bits.view(np.float16).tolist() == [[[3, 6]]]
    assert sums.offsets.tolist() == [[[16, 18]]]
    agreed(*lanes.case())


def test_sums_that_overlap_in_part_are_sums_of_all() -> None:
    lanes = Lanes(2)
    builder, vectors = lanes.builder, lanes.vectors
    with lanes.inside():
        x = lanes.loaded("x", "f32", [[1, 2, 3, 4, 5], [10, 20, 30, 40, 50]])
        sums = lanes.array("sums", F32, np.zeros(64, np.uint8), "inout")
        vectors.reduce_sum(sums, builder.arithmetic("at", "multiply", lanes.me, builder.literal(16)), x)
        vectors.reduce_sum(sums, builder.literal(32), lanes.loaded("y", "f32", [[100], [200]]))
    placed = lanes.placed()
    assert placed.offsets.ravel().tolist() == list(range(0, 36, 4))
    assert placed.expected.bits.view(np.float32).ravel().tolist() == [1, 2, 3, 4, 15, 20, 30, 40, 350]
    agreed(*lanes.case())


def test_the_terms_of_all_accumulations_count() -> None:
    """1024 + 1024 - 1024 - 1024 + 1 is 1, but not every order of the additions gives it in f16: 2048 + 1 rounds."""
    lanes = Lanes(1)
    with lanes.inside():
        sums = lanes.array("sums", F16, np.zeros(16, np.uint8), "inout")
        for number, value in enumerate((1024, 1024, -1024, -1024, 1)):
            lanes.vectors.reduce_sum(sums, lanes.builder.literal(0), lanes.loaded(f"x{number}", "f16", [[value]]))
    refused(lanes, "F-CV-9")


@pytest.mark.parametrize(
    ("layout", "interpretation", "role", "rule"),
    [
        (INFERENCING, "f16", "inout", "CV-OPA-07"),
        (TRAINING, "s8", "inout", Rule.COMPONENT_TYPE),
        (TRAINING, "f16", "input", Rule.ROLE),
    ],
)
def test_an_outer_product_that_is_not_valid_is_refused(layout: VectorMatrixLayout, interpretation: str, role: str, rule: str) -> None:
    lanes = Lanes(1)
    read = READ[interpretation]
    with lanes.inside():
        x = lanes.loaded("x", "f16", [[1]])
        array = lanes.opaque("sums", read.component, [[[0]]], layout, role)
        lanes.vectors.outer_product(array, lanes.builder.literal(0), x, x, layout, read, None)
    refused(lanes, rule)


def test_a_pitch_has_the_size_of_the_elements() -> None:
    lanes = Lanes(1)
    with lanes.inside():
        x = lanes.loaded("x", "f16", [[1]])
        array = lanes.opaque("sums", F16, [[[0]], [[0]], [[0]]], TRAINING, "inout")
        at = lanes.vectors.matrix_offset("at", array, lanes.builder.literal(2))
        lanes.vectors.outer_product(array, at, x, x, TRAINING, READ["f16"], None)
    program, subcase = lanes.case()
    (placed,) = evaluate(program, Subcase("one", subcase.inputs)).placed
    assert placed.offsets.tolist() == [[[4]]]
    agreed(program, subcase)


def test_arms_of_invocations_that_give_ranges_and_choices() -> None:
    """Some invocations compute an exponential, and the others take the loaded value. Then all compute a sum that rounds, or one that does
    not."""
    lanes = Lanes(4)
    builder, vectors = lanes.builder, lanes.vectors
    with lanes.inside():
        x = lanes.loaded("x", "f16", [[0], [1], [0], [2048]])
        odd = Condition(builder.arithmetic("odd", "and", lanes.me, builder.literal(1)), "equal", builder.literal(1))
        with builder.arm() as then:
            one = vectors.splat("one", x.type, builder.literal(0x3C00, F16))
            total = vectors.arithmetic("total", "add", x, one)
        with builder.arm() as otherwise:
            power = vectors.function("power", "Exp", x)
        powers, totals = Value("powers", x.type), Value("totals", x.type)
        builder.branch(odd, then, otherwise, (Merged(powers, (x, power)), Merged(totals, (total, x))))
        lanes.stored(powers, "powers_out")
        lanes.stored(totals, "totals_out")
    found, sums = lanes.expected().placed
    assert isinstance(found.permitted, Interval)
    # exp(0) is within one ULP, 2^-11; the loaded value is unchanged.
    np.testing.assert_allclose(found.permitted.low.ravel(), [1 - 2.0**-11, 1, 1 - 2.0**-11, 2048], rtol=1e-12)
    assert isinstance(sums.permitted, OneOf)
    assert [sorted({int(bits[i, 0, 0]) for bits in sums.permitted.choices}) for i in range(4)] == [[0], [0x4000], [0], [0x6800, 0x6801]]
    agreed(*lanes.case())


def returning() -> Lanes:
    lanes = Lanes(4)
    builder = lanes.builder
    with lanes.inside():
        x = lanes.loaded("x", "s32", [[1], [2], [3], [4]])
        builder.add(Exit("return", Condition(builder.arithmetic("odd", "and", lanes.me, builder.literal(1)), "equal", builder.literal(1))))
        lanes.stored(lanes.vectors.arithmetic("y", "add", x, x))
    return lanes


def test_invocations_return_before_the_others() -> None:
    lanes = returning()
    placed = lanes.placed()
    assert placed.expected.bits.ravel().tolist() == [2, 6]
    assert placed.cells is not None
    assert placed.cells.tolist() == [[0, 0, 0], [2, 0, 0]]
    agreed(*lanes.case())


def test_code_after_some_invocations_have_returned_is_refused() -> None:
    lanes = returning()
    with lanes.builder.per_invocation(Value("again", U32), 4):
        pass
    refused(lanes, Rule.AFTER_RETURN)


def test_everything_constant_may_be_specialized() -> None:
    """Interpretations, layout, M, K and the transposition come from the case, not from the defaults of the module."""
    lanes = Lanes(1)
    builder, vectors = lanes.builder, lanes.vectors

    def constant(name: str, value: int, default: int) -> Operand:
        return builder.operand(name, U32, "specialization", value, default)

    with lanes.inside():
        rows, columns = constant("rows", 2, 4), constant("columns", 3, 4)
        x = lanes.loaded("x", "f16", [[1, 10, 100]])
        array = lanes.opaque("m", F16, [[[1, 4], [2, 5], [3, 6]]], INFERENCING)
        f16, layout = constant("f16", 0, 1), constant("layout", int(INFERENCING), int(TRAINING))
        matrix = MatrixInMemory(array, builder.literal(0), f16, layout, builder.literal(16), constant("transpose", 1, 0))
        held = lanes.array("bias", F16, as_bytes(np.array([1, 2], np.float16)))
        bias = BiasInMemory(held, builder.literal(0), constant("bias_type", 0, 1))
        lanes.stored(vectors.matmul("y", F16, x, constant("as", 0, 1), matrix, bias, rows, columns))
    # The rows of the transpose are 1 2 3 and 4 5 6: 321 + 1, 654 + 2.
    assert lanes.rows() == [[322, 656]]


@pytest.mark.parametrize(
    ("mode", "allowed"),
    [(None, {0x0001, 0x0000}), (FloatMode.DENORM_PRESERVE, {0x0001}), (FloatMode.DENORM_FLUSH_TO_ZERO, {0x0000})],
)
def test_minimum_and_maximum_under_modes_of_denormals(mode: FloatMode | None, allowed: set[int]) -> None:
    modes = modes_of([] if mode is None else [FloatControl(mode, 16)], F16)
    arguments = [MatrixValue(F16, np.array([[[bits]]], np.uint16)) for bits in (0x0001, 0x8002)]
    found = function_of("FMax", arguments, modes)
    assert {int(bits[0, 0, 0]) for bits in found.every_bits} == allowed


def test_functions_with_bounds_are_refused_under_modes() -> None:
    modes = modes_of([FloatControl(FloatMode.ROUNDING_MODE_RTE, 16)], F16)
    with breaks(Rule.UNKNOWN_BOUND):
        function_of("Exp", [MatrixValue(F16, np.array([[[0x3C00]]], np.uint16))], modes)


@pytest.mark.parametrize(
    ("function", "component", "argument", "rule"),
    [
        ("Exp", "f16", 12.0, Rule.OVERFLOW),
        ("Log", "f32", -1.0, Rule.FUNCTION_DOMAIN),
        ("Log", "f32", "0x00000001", Rule.FUNCTION_DOMAIN),
        ("Tanh", "f16", 11.0, Rule.DIVISOR_RANGE),
        ("Atan", "f16", "0x7c00", Rule.NOT_FINITE),
    ],
)
def test_a_function_with_an_unpromised_result_is_refused(function: str, component: str, argument: Any, rule: str) -> None:
    lanes = Lanes(1)
    with lanes.inside():
        x = lanes.loaded("x", component, [[argument]])
        lanes.stored(lanes.vectors.function("y", function, x))  # type: ignore[arg-type]
    refused(lanes, rule)
