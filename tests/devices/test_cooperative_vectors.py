"""The needs of modules with cooperative vectors, and the rows of their property query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from cts.devices.device import DeviceDescription, VectorRow
from cts.devices.property_commands import INCOMPLETE, SUCCESS, PropertyCall
from cts.devices.requirements import missing
from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from generators.dispatch import kernel
from generators.kernel import Kernel
from generators.layouts.vector_arrays import VectorArray
from generators.program.builder import U32, ProgramBuilder
from generators.program.cooperative_vector_matmul import BiasInMemory, MatrixInMemory
from generators.program.memory import Pointee
from generators.program.shape import WorkgroupShape
from generators.program.values import CooperativeVectorType, Extent, Value
from generators.program.vector_builder import VectorBuilder
from generators.spirv.emit import emit
from generators.types import COMPONENT_TYPES, INTERPRETATIONS, Scope, StorageClass, VectorMatrixLayout

ROW = VectorRow("f32", "s8", "s8", "s32", "s32", transpose=False)
LAYOUT = VectorMatrixLayout.INFERENCING_OPTIMAL
COMMAND = "vkGetPhysicalDeviceCooperativeVectorPropertiesNV"


def multiply(
    types: str = "f32 s8 s8 s32 s32", transpose: bool = False, biased: bool = True, specialized: bool = False, length: int = 8
) -> Kernel:
    """Return a kernel that multiplies; ``types`` are in the order of a row."""
    input_, as_, of_matrix, of_bias, result = types.split()
    builder = ProgramBuilder(Scope.WORKGROUP, shape=WorkgroupShape(invocations=4))
    vectors = VectorBuilder(builder)
    count: Extent = builder.operand("count", U32, "specialization", length, 1) if specialized else length
    slots = VectorArray(CooperativeVectorType(COMPONENT_TYPES[input_], count), 4)
    source = slots.declare(builder, "source", "input")
    interpretation = INTERPRETATIONS[of_matrix]
    weights = vectors.opaque("weights", interpretation.component, length, length, LAYOUT)
    bias = builder.array("bias", Pointee(COMPONENT_TYPES[of_bias]), length, StorageClass.STORAGE_BUFFER, "input")
    me = Value("me", U32)
    with builder.per_invocation(me, 4):
        x = vectors.load("x", slots.type, source, slots.offset(builder, "at", me))
        place = MatrixInMemory(weights, builder.literal(0), interpretation, LAYOUT, builder.literal(0), transpose)
        added = BiasInMemory(bias, builder.literal(0), INTERPRETATIONS[of_bias]) if biased else None
        vectors.matmul("y", COMPONENT_TYPES[result], x, INTERPRETATIONS[as_], place, added, count, count)
    program = builder.build()
    return kernel(program, emit(program))


def training(name: str, outer: bool) -> Kernel:
    """Return a kernel that accumulates floats of the given type."""
    component, f16 = COMPONENT_TYPES[name], COMPONENT_TYPES["f16"]
    builder = ProgramBuilder(Scope.WORKGROUP, shape=WorkgroupShape(invocations=4))
    vectors = VectorBuilder(builder)
    with_outer = vectors.opaque("matrix", component, 4, 4, VectorMatrixLayout.TRAINING_OPTIMAL, role="inout")
    with builder.per_invocation(Value("me", U32), 4):
        x = vectors.splat("x", CooperativeVectorType(f16 if outer else component, 4), builder.literal(0, f16 if outer else component))
        if outer:
            vectors.outer_product(with_outer, builder.literal(0), x, x, VectorMatrixLayout.TRAINING_OPTIMAL, INTERPRETATIONS[name])
        else:
            vectors.reduce_sum(with_outer, builder.literal(0), x)
    program = builder.build()
    return kernel(program, emit(program))


@pytest.fixture
def vectors(describe: Callable[..., DeviceDescription]) -> Callable[..., DeviceDescription]:
    def make(*rows: VectorRow, features: str = "", **limits: int) -> DeviceDescription:
        wanted = {"cooperativeVectorSupportedStages": 0x20, "maxCooperativeVectorComponents": 128} | limits
        return describe(features=f"cooperativeVector cooperativeVectorTraining {features}", vector_rows=rows, limits=wanted)

    return make


def code(made: Kernel, description: DeviceDescription) -> str:
    lack = missing(made, description)
    return "" if lack is None else lack.code


def test_a_multiply_that_matches_a_row_lacks_nothing(vectors):
    assert code(multiply(), vectors(ROW)) == ""
    assert code(multiply(specialized=True), vectors(ROW)) == ""


@pytest.mark.parametrize("part", ["input", "input_interpretation", "matrix_interpretation", "bias_interpretation", "result"])
def test_every_type_of_a_row_counts(part, vectors):
    other = {"input": "f16", "result": "u32"}.get(part, "u8")
    reported = VectorRow("f32", "f32", "s8", "s8", "s32", transpose=True)
    assert code(multiply(), vectors(replace(ROW, **{part: other}), reported)) == "missing.row.vector_multiply"


def test_a_multiply_without_bias_matches_any_bias(vectors):
    assert code(multiply(biased=False), vectors(replace(ROW, bias_interpretation="f16"))) == ""


def test_transposition_needs_a_row_that_has_it(vectors):
    assert code(multiply(transpose=True), vectors(ROW)) == "missing.row.vector_multiply"
    assert code(multiply(transpose=True), vectors(ROW, replace(ROW, transpose=True))) == ""


def test_one_row_must_match(vectors):
    rows = replace(ROW, input="f16"), replace(ROW, result="u32")
    assert code(multiply(), vectors(*rows)) == "missing.row.vector_multiply"


def test_a_packed_input_has_a_row_of_its_own(vectors):
    made = multiply("u32 s8packed s8 s32 s32")
    assert code(made, vectors(VectorRow("u32", "s8", "s8", "s32", "s32", transpose=False))) == "missing.row.vector_multiply"
    assert code(made, vectors(VectorRow("u32", "s8packed", "s8", "s32", "s32", transpose=False))) == ""


def test_a_component_type_that_no_row_has(vectors):
    assert code(training("f32", outer=False), vectors(VectorRow("f16", "f16", "f16", "f16", "f16", transpose=False))) == (
        "missing.row.vector_type"
    )


def test_limits(vectors):
    assert code(multiply(length=32), vectors(ROW, maxCooperativeVectorComponents=31)) == "missing.limit.maxCooperativeVectorComponents"
    stages = "cooperativeVectorSupportedStages"
    assert code(multiply(), vectors(ROW, **{stages: 0x10})) == f"missing.property.{stages}"


@pytest.mark.parametrize("name", ["f16", "f32"])
@pytest.mark.parametrize("outer", [True, False])
def test_accumulation_needs_its_property(name, outer, vectors):
    needed = f"cooperativeVectorTrainingFloat{name[1:]}Accumulation"
    row = VectorRow("f16", "f16", "f16", "f32", "f32", transpose=False)
    made = training(name, outer)
    assert code(made, vectors(row)) == f"missing.property.{needed}"
    assert code(made, vectors(row, features=needed)) == ""


@pytest.mark.parametrize("feature", ["cooperativeVector", "cooperativeVectorTraining"])
def test_features(feature, describe):
    description = describe(features="cooperativeVector cooperativeVectorTraining", without=feature)
    assert code(training("f16", outer=True), description) == f"missing.feature.{feature}"


def test_the_embedded_device_lists_its_rows():
    device = EmbeddedDevice(load_profile("nvidia-h200"))
    rows = device.description.vector_rows
    assert len(rows) == 16
    assert rows[0] == VectorRow("f16", "f16", "f16", "f16", "f16", transpose=True)
    assert device.ask(PropertyCall(COMMAND, None)).count == 16
    answer = device.ask(PropertyCall(COMMAND, 4, 6))
    assert (answer.result, answer.count) == (INCOMPLETE, 4)
    structures = answer.structures(COMMAND)
    packed = (INTERPRETATIONS["s8packed"].vk, INTERPRETATIONS["u8packed"].vk)
    listed = device.ask(PropertyCall(COMMAND, 16, 16)).structures(COMMAND)["inputInterpretation"].tolist()
    assert sum(value in packed for value in listed) == 4
    assert structures["inputType"][0] == structures["resultType"][0] == 0
    assert structures["transpose"].tolist()[:4] == [1, 0, 0, 0]
    assert device.ask(PropertyCall(COMMAND, 16, 16)).result == SUCCESS


def test_the_universal_profile_has_the_required_combinations():
    required = [
        *("f16.f16.f16.f16.f16", "u32.s8packed.s8.s32.s32", "s8.s8.s8.s32.s32"),
        *("f32.s8.s8.s32.s32", "f16.e4m3.e4m3.f16.f16", "f16.e5m2.e5m2.f16.f16"),
    ]
    for profile in ("universal", "nvidia-h200"):
        assert {".".join(row.types) for row in load_profile(profile).vector_rows} >= set(required)


def test_a_local_size_that_no_subgroup_decides_needs_no_subgroup_size(vectors):
    varying = vectors(ROW, minSubgroupSize=8, maxSubgroupSize=32, requiredSubgroupSizeStages=0)
    assert code(multiply(), varying) == ""
    assert code(replace(multiply(), invocations=None), varying) == "missing.property.requiredSubgroupSizeStages"
