"""Cooperative vectors on the embedded device: values worked out here, and invalid programs that it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest

from cts.embedded.device import EmbeddedDevice
from cts.embedded.instructions.vectors.cooperative_vector_matmul import converted_input
from cts.embedded.memory.matrix_layouts import MatrixLayouts, seed_of
from cts.embedded.profile import load_profile
from cts.embedded.types.spirv_types import number
from cts.embedded.undefined.recovery import UNDEFINED_RULE
from generators.dispatch import dispatch, kernel
from generators.kernel import OpaqueSlot
from generators.layouts.vector_arrays import VectorArray
from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Carried, Condition, Exit, Merged
from generators.program.conversion import Conversion
from generators.program.cooperative_vector_matmul import BiasInMemory, MatrixInMemory
from generators.program.functions import Function
from generators.program.memory import Array, Pointee
from generators.program.program import Program, Subcase
from generators.program.shape import WorkgroupShape
from generators.program.values import CooperativeVectorType, Value
from generators.program.vector_builder import VectorBuilder
from generators.spirv.assemble import assemble
from generators.spirv.disassemble import disassemble
from generators.spirv.emit import emit
from generators.types import COMPONENT_TYPES, INTERPRETATIONS, Scope, StorageClass, VectorMatrixLayout
from tests.undefined import undefined

INVOCATIONS = 5
"""Invocations of a workgroup; they do not fill a subgroup."""

WORKGROUPS = 2
LANES = INVOCATIONS * WORKGROUPS
STORAGE = StorageClass.STORAGE_BUFFER
ROW, COLUMN = VectorMatrixLayout.ROW_MAJOR, VectorMatrixLayout.COLUMN_MAJOR
INFERENCING, TRAINING = VectorMatrixLayout.INFERENCING_OPTIMAL, VectorMatrixLayout.TRAINING_OPTIMAL
F16, F32, S8, S32 = (COMPONENT_TYPES[name] for name in ("f16", "f32", "s8", "s32"))


class Shader:
    """A program whose invocations each load a vector ``x`` from ``source`` and may store one to ``target``."""

    def __init__(self, component: str = "f16", length: int = 3, result: str | None = None, results: int | None = None) -> None:
        self.builder = ProgramBuilder(Scope.WORKGROUP, workgroups=WORKGROUPS, shape=WorkgroupShape(invocations=INVOCATIONS))
        self.vectors = VectorBuilder(self.builder)
        self.type = CooperativeVectorType(COMPONENT_TYPES[component], length)
        self.of_result = CooperativeVectorType(COMPONENT_TYPES[result or component], length if results is None else results)
        self.sources, self.targets = VectorArray(self.type, LANES), VectorArray(self.of_result, LANES)
        self.source = self.sources.declare(self.builder, "source", "input")
        self.target = self.targets.declare(self.builder, "target", "output")
        self.me = Value("me", U32)

    def inside(self):  # type: ignore[no-untyped-def]
        return self.builder.per_invocation(self.me, INVOCATIONS)

    def load(self):  # type: ignore[no-untyped-def]
        return self.vectors.load("x", self.type, self.source, self.sources.offset(self.builder, "from", self.me))

    def store(self, vector) -> None:  # type: ignore[no-untyped-def]
        self.vectors.store(vector, self.target, self.targets.offset(self.builder, "to", self.me))

    def run(self, x: np.ndarray, profile: str = "universal", **others: np.ndarray) -> np.ndarray:
        outputs = ran(self.builder.build(), {"source": self.sources.pack(x), **others}, profile)
        target = outputs["target"]
        assert (np.delete(target, self.written()) == 0xA5).all(), "bytes between the vectors are untouched"
        return self.targets.unpack(target).view(self.of_result.component.dtype)

    def written(self) -> np.ndarray:
        first = self.targets.first + np.arange(LANES)[:, None] * self.targets.pitch
        return (first + np.arange(self.of_result.bytes)).ravel()


def ran(program: Program, inputs: Mapping[str, np.ndarray], profile: str = "universal") -> dict[str, np.ndarray]:
    """Run a program; outputs begin as 0xA5."""
    contents = {a.name: inputs[a.name] if a.name in inputs else np.full(a.bytes, 0xA5, np.uint8) for a in program.arrays}
    device = EmbeddedDevice(load_profile(profile))
    made = kernel(program, emit(program))
    assert device.missing(made) is None
    (outcome,) = device.run(made, [dispatch(program, Subcase("one", {}), contents)])
    assert outcome.stray == ()
    return outcome.outputs


def raw(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).view(np.uint8).reshape(-1)


X = np.arange(LANES * 3).reshape(LANES, 3).astype(np.float16)


def test_each_invocation_loads_and_stores_its_own_vector() -> None:
    shader = Shader()
    with shader.inside():
        shader.store(shader.load())
    np.testing.assert_array_equal(shader.run(X), X)


def test_components_at_indices_of_each_invocation() -> None:
    shader = Shader()
    builder, vectors = shader.builder, shader.vectors
    with shader.inside():
        x = shader.load()
        index = builder.arithmetic("index", "modulo", shader.me, builder.literal(3))
        y = vectors.insert("y", x, vectors.extract("first", x, 0), index)
        variable = builder.variable("variable", shader.type)
        builder.set(variable, (), y)
        old = builder.get_scalar("old", variable, index)
        builder.set(variable, (index,), builder.arithmetic("sum", "add", old, vectors.extract("last", x, 2)))
        shader.store(builder.get("z", variable))  # type: ignore[arg-type]
    wanted = X.copy()
    wanted[np.arange(LANES), np.arange(LANES) % 3] = X[:, 0] + X[:, 2]
    np.testing.assert_array_equal(shader.run(X), wanted)


def test_divergent_branches_and_loops_carry_vectors() -> None:
    shader = Shader()
    builder, vectors = shader.builder, shader.vectors
    with shader.inside():
        x = shader.load()
        with builder.arm() as then:
            other = vectors.negate("other", x)
        merged = Value("merged", shader.type)
        condition = Condition(builder.arithmetic("odd", "and", shader.me, builder.literal(1)), "equal", builder.literal(1))
        builder.branch(condition, then, (), (Merged(merged, (other, x)),))
        current = Value("current", shader.type)
        following = Value("following", shader.type)
        with builder.loop(Value("i", U32), shader.me, [Carried(merged, current, following)]):
            builder.add(Exit("break", Condition(Value("i", U32), "equal", builder.literal(4))))
            vectors.arithmetic("following", "add", current, x)
        shader.store(current)
    lane = np.arange(LANES)[:, None]
    wanted = np.where(lane % 2, -X, X) + np.minimum(lane, 4) * X
    np.testing.assert_array_equal(shader.run(X), wanted.astype(np.float16))


def test_functions_take_and_return_vectors() -> None:
    shader = Shader()
    builder, vectors = shader.builder, shader.vectors
    parameter, doubled = Value("parameter", shader.type), Value("doubled", shader.type)
    with builder.arm() as body:
        vectors.arithmetic("doubled", "add", parameter, parameter)
    with shader.inside():
        shader.store(builder.call("y", Function("double_it", (parameter,), tuple(body), doubled), [shader.load()]))  # type: ignore[arg-type]
    np.testing.assert_array_equal(shader.run(X), 2 * X)


@pytest.mark.parametrize("storage", ["function", "private"])
def test_variables_begin_with_a_null_vector(storage: Literal["function", "private"]) -> None:
    shader = Shader()
    builder = shader.builder
    with shader.inside():
        held = builder.variable("held", shader.type, storage, "null")
        with builder.arm() as then:
            builder.set(held, (), shader.load())
        odd = builder.arithmetic("odd", "and", shader.me, builder.literal(1))
        builder.branch(Condition(odd, "equal", builder.literal(1)), then)
        shader.store(builder.get("after", held))  # type: ignore[arg-type]
    np.testing.assert_array_equal(shader.run(X), np.where(np.arange(LANES)[:, None] % 2, X, 0))


def test_integers() -> None:
    shader = Shader("s32", 3)
    vectors = shader.vectors
    x = np.arange(-15, 15, dtype=np.int32).reshape(LANES, 3)
    with shader.inside():
        loaded = shader.load()
        narrow = vectors.convert("narrow", loaded, S8)
        wide = vectors.convert("wide", narrow, S32)
        low = vectors.constant("low", shader.type, tuple(shader.builder.literal(value, S32) for value in (-3, -2, -1)))
        high = vectors.splat("high", shader.type, shader.builder.literal(5, S32), replicated=True)
        clamped = vectors.function("clamped", "SClamp", wide, low, high)
        shifted = vectors.bits("shifted", "shift_left", clamped, vectors.splat("two", shader.type, shader.builder.literal(2, S32)))
        shader.store(vectors.bits("mixed", "xor", vectors.invert("inverted", shifted), vectors.negate("negative", loaded)))
    np.testing.assert_array_equal(shader.run(x), ~(np.clip(x, [-3, -2, -1], 5) << 2) ^ -x)


def test_bits_of_floats() -> None:
    shader = Shader("f32", 2, "u32")
    x = np.linspace(-3, 3, LANES * 2, dtype=np.float32).reshape(LANES, 2)
    with shader.inside():
        shader.store(shader.vectors.convert("bits", shader.load(), U32, Conversion.BITCAST))
    np.testing.assert_array_equal(shader.run(x), x.view(np.uint32))


def placed(matrix: np.ndarray, stride: int, column_major: bool = False, first: int = 64) -> np.ndarray:
    """Return bytes that hold a matrix at byte ``first``, its rows (columns) ``stride`` bytes apart."""
    lines = matrix.T if column_major else matrix
    contents = np.full(first + len(lines) * stride, 0x3C, np.uint8)
    for i, line in enumerate(lines):
        data = raw(line)
        contents[first + i * stride : first + i * stride + data.size] = data
    return contents


@pytest.mark.parametrize(
    ("layout", "transpose"),
    [(ROW, False), (COLUMN, False), (INFERENCING, False), (INFERENCING, True), (TRAINING, False), (TRAINING, True)],
)
def test_floats_are_multiplied_and_a_bias_is_added(layout: VectorMatrixLayout, transpose: bool) -> None:
    m, k = 3, 11
    matrix = (np.arange(m * k).reshape(m, k) % 7 - 3).astype(np.float16)
    bias = np.array([5, -6, 7], np.float16)
    shader = Shader("f16", k, results=m)
    builder, vectors = shader.builder, shader.vectors
    stored = matrix.T if transpose else matrix
    if layout.is_optimal:
        weights = vectors.opaque("weights", F16, *stored.shape, layout)
        contents, offset = raw(stored), 0
    else:
        contents, offset = placed(matrix, 48 if layout is ROW else 16, layout is COLUMN), 64
        weights = builder.array("weights", Pointee(U32), contents.size // 4, STORAGE, "input")
    biases = builder.array("biases", Pointee(COMPONENT_TYPES["u16"]), 11, STORAGE, "input")
    stride = builder.literal(48 if layout is ROW else 16)
    f16 = INTERPRETATIONS["f16"]
    with shader.inside():
        shader.store(
            vectors.matmul(
                "y",
                F16,
                shader.load(),
                f16,
                MatrixInMemory(weights, builder.literal(offset), f16, layout, stride, transpose),
                BiasInMemory(biases, builder.literal(16), f16),
                m,
                k,
            )
        )
    x = (np.arange(LANES * k).reshape(LANES, k) % 5 - 2).astype(np.float16)
    found = shader.run(x, weights=contents, biases=raw(np.concatenate([np.full(8, 99, np.float16), bias])))
    np.testing.assert_array_equal(found, x @ matrix.T + bias)


@pytest.mark.parametrize("profile", ["universal", "nvidia-h200"])
def test_each_invocation_chooses_its_matrix(profile: str) -> None:
    m, k, count = 9, 40, 3
    matrices = np.random.default_rng(1).integers(-128, 128, (count, m, k)).astype(np.int8)
    shader = Shader("f32", k, "s32", m)
    builder, vectors = shader.builder, shader.vectors
    weights = vectors.opaque("weights", S8, m, k, INFERENCING, count)
    s8 = INTERPRETATIONS["s8"]
    with shader.inside():
        which = builder.arithmetic("which", "modulo", shader.me, builder.literal(count))
        place = MatrixInMemory(weights, vectors.matrix_offset("offset", weights, which), s8, INFERENCING, builder.literal(7))
        shader.store(vectors.matmul("y", S32, shader.load(), s8, place, None, m, k))
    x = np.linspace(-200, 200, LANES * k, dtype=np.float32).reshape(LANES, k)
    x[:, :4] = [0.5, 1.5, -2.5, 127.5]
    converted = np.clip(np.rint(x), -128, 127).astype(np.int64)
    wanted = np.einsum("lmk,lk->lm", matrices[np.arange(LANES) % count].astype(np.int64), converted)
    builder_program = shader.builder.build()
    assert [operand.name for operand in builder_program.operands] == ["weights_pitch"]
    np.testing.assert_array_equal(shader.run(x, profile, weights=raw(matrices)), wanted)


def test_a_packed_input() -> None:
    m, k = 2, 6
    matrix = (np.arange(m * k).reshape(m, k) * 11 - 50).astype(np.int8)
    shader = Shader("u32", 2, "s32", m)
    weights = shader.builder.array("weights", Pointee(S8), 96, STORAGE, "input")
    s8 = INTERPRETATIONS["s8"]
    with shader.inside():
        place = MatrixInMemory(weights, shader.builder.literal(64), s8, ROW, shader.builder.literal(16))
        shader.store(shader.vectors.matmul("y", S32, shader.load(), INTERPRETATIONS["s8packed"], place, None, m, k))
    x = np.random.default_rng(2).integers(-128, 128, (LANES, 8)).astype(np.int8)
    wanted = x[:, :k].astype(np.int32) @ matrix.astype(np.int32).T
    np.testing.assert_array_equal(shader.run(x.view(np.uint32), weights=placed(matrix, 16)), wanted)


@pytest.mark.parametrize("name", ["f16", "f32"])
def test_accumulation_of_all_invocations(name: str) -> None:
    component = COMPONENT_TYPES[name]
    shader = Shader("f16", 4)
    builder, vectors = shader.builder, shader.vectors
    weights = vectors.opaque("weights", component, 4, 3, TRAINING, role="inout")
    sums = builder.array("sums", Pointee(F16), 16, STORAGE, "inout")
    with shader.inside():
        a = shader.load()
        b = vectors.construct("b", CooperativeVectorType(F16, 3), tuple(vectors.extract(f"b{i}", a, i) for i in (3, 1, 2)))
        vectors.outer_product(weights, builder.literal(0), a, b, TRAINING, INTERPRETATIONS[name])
        vectors.reduce_sum(sums, builder.literal(16), a)
        shader.store(a)
    x = (np.arange(LANES * 4).reshape(LANES, 4) % 5 - 2).astype(np.float16)
    before = np.arange(12).reshape(4, 3).astype(component.dtype)
    inputs = {"source": shader.sources.pack(x), "weights": raw(before), "sums": raw(np.ones(16, np.float16))}
    outputs = ran(builder.build(), inputs)
    wanted = before + np.einsum("lm,ln->mn", x.astype(np.float64), x[:, [3, 1, 2]].astype(np.float64))
    np.testing.assert_array_equal(outputs["weights"].view(component.dtype).reshape(4, 3), wanted)
    np.testing.assert_array_equal(outputs["sums"].view(np.float16), [*[1] * 8, *(1 + x.sum(axis=0)), *[1] * 4])


@pytest.mark.parametrize("layout", [INFERENCING, TRAINING])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 40), (17, 5), (64, 64)])
@pytest.mark.parametrize("name", ["s8", "f16", "f32"])
def test_an_optimal_layout_holds_each_element_once(layout: VectorMatrixLayout, rows: int, columns: int, name: str) -> None:
    component = COMPONENT_TYPES[name]
    layouts = MatrixLayouts(seed_of("a profile"))
    offsets = layouts.offsets(layout, rows, columns, component.bytes)
    assert len(np.unique(offsets)) == rows * columns
    assert (offsets % component.bytes == 0).all()
    size = layouts.size(layout, rows, columns, component.bytes)
    assert offsets.max() + component.bytes <= size
    assert size % 64 == 0
    slot = OpaqueSlot(component, rows, columns, layout, 2)
    elements = np.random.default_rng(3).integers(0, 256, 2 * rows * columns * component.bytes).astype(np.uint8)
    np.testing.assert_array_equal(layouts.taken_out(slot, layouts.put_in(slot, elements)), elements)


def test_optimal_layouts_differ() -> None:
    of = [
        MatrixLayouts(seed_of(profile)).offsets(layout, 32, 64, 2) for profile in ("one", "another") for layout in (INFERENCING, TRAINING)
    ]
    row_major = np.arange(32 * 64).reshape(32, 64) * 2
    for i, one in enumerate(of):
        assert (one != row_major).mean() > 0.9
        assert all((one != other).any() for other in of[:i])


def refused(shader: Shader, rule: str, **inputs: np.ndarray) -> None:
    with undefined(rule):
        shader.run(X[:, : shader.type.count], **inputs)


def test_a_misaligned_vector_is_refused() -> None:
    shader = Shader()
    with shader.inside():
        shader.store(shader.vectors.load("y", shader.type, shader.source, shader.builder.literal(8)))
    refused(shader, "VUID-RuntimeSpirv-OpCooperativeVectorLoadNV-10099")


def test_a_vector_beyond_its_buffer_is_refused() -> None:
    shader = Shader()
    with shader.inside():
        shader.store(shader.vectors.load("y", shader.type, shader.source, shader.builder.literal(shader.sources.bytes)))
    refused(shader, "KHR-MEM-02")


def test_stores_of_two_invocations_to_one_place_are_refused() -> None:
    shader = Shader()
    with shader.inside():
        shader.vectors.store(shader.load(), shader.target, shader.builder.literal(16))
    refused(shader, "KHR-MEM-01")


def _identity(shader: Shader, weights: Array, **changes: object) -> None:
    f16 = INTERPRETATIONS["f16"]
    literal = shader.builder.literal
    place = replace(MatrixInMemory(weights, literal(0), f16, ROW, literal(16)), **changes)  # type: ignore[arg-type]
    shader.store(shader.vectors.matmul("y", F16, shader.load(), f16, place, None, 3, 3))


@pytest.mark.parametrize(
    ("offset", "stride", "rule"),
    [
        (16, 16, "VUID-RuntimeSpirv-OpCooperativeVectorMatrixMulNV-10097"),
        (0, 8, "VUID-RuntimeSpirv-OpCooperativeVectorMatrixMulNV-10096"),
        (128, 16, "KHR-MEM-02"),
    ],
)
def test_a_matrix_at_a_wrong_place_is_refused(offset: int, stride: int, rule: str) -> None:
    shader = Shader()
    weights = shader.builder.array("weights", Pointee(F16), 64, STORAGE, "input")
    with shader.inside():
        _identity(shader, weights, offset=shader.builder.literal(offset), stride=shader.builder.literal(stride))
    refused(shader, rule, weights=np.zeros(128, np.uint8))


@pytest.mark.parametrize(
    ("rows", "columns", "layout", "name"), [(4, 3, INFERENCING, "f16"), (3, 3, TRAINING, "f16"), (3, 3, INFERENCING, "s8")]
)
def test_a_matrix_of_another_conversion_is_refused(rows: int, columns: int, layout: VectorMatrixLayout, name: str) -> None:
    shader = Shader()
    weights = shader.vectors.opaque("weights", COMPONENT_TYPES[name], rows, columns, layout)
    with shader.inside():
        _identity(shader, weights, layout=INFERENCING)
    refused(shader, "CV-MM-19", weights=np.zeros(weights.bytes, np.uint8))


def test_an_optimal_layout_that_nothing_converted_to_is_refused() -> None:
    shader = Shader()
    weights = shader.builder.array("weights", Pointee(F16), 256, STORAGE, "input")
    with shader.inside():
        _identity(shader, weights, layout=INFERENCING)
    refused(shader, "CV-MM-19", weights=np.zeros(512, np.uint8))


@pytest.mark.parametrize("first", ["store", "multiply"])
def test_a_matrix_that_the_shader_changes_is_refused(first: str) -> None:
    shader = Shader()
    builder = shader.builder
    weights = builder.array("weights", Pointee(F16), 64, STORAGE, "inout")
    with shader.inside():
        with builder.arm() as write:
            builder.write(weights, builder.literal(8), builder.literal(0, F16))
        only_first = Condition(shader.me, "equal", builder.literal(0))
        if first == "store":
            builder.branch(only_first, write)
        with builder.arm() as multiply:
            _identity(shader, weights)
        builder.branch(only_first, multiply)
        if first == "multiply":
            builder.branch(only_first, write)
    refused(shader, "CV-MM-26", weights=np.zeros(128, np.uint8))


def test_an_undefined_vector_may_not_be_stored() -> None:
    shader = Shader()
    with shader.inside():
        shader.store(shader.vectors.undefined("y", shader.type, "function"))
    refused(shader, UNDEFINED_RULE)


def edited(shader: Shader, edits: Mapping[str, str]) -> None:
    """Run a module with edited assembly: the value of each key replaces the line that begins with the key."""
    program = shader.builder.build()
    text = [line.strip() for line in disassemble(emit(program)).splitlines() if not line.startswith(";")]
    for begins, instead in edits.items():
        (at,) = [i for i, line in enumerate(text) if line.startswith(begins)]
        text[at] = instead
    contents = {array.name: np.zeros(array.bytes, np.uint8) for array in program.arrays}
    made = kernel(program, assemble("\n".join(text)))
    EmbeddedDevice(load_profile("universal")).run(made, [dispatch(program, Subcase("one", {}), contents)])


def _sum() -> Shader:
    shader = Shader("f16", 4)
    with shader.inside():
        x = shader.load()
        shader.store(shader.vectors.arithmetic("y", "add", x, x))
    return shader


VECTOR = "%cooperative_vector_f16_4"
MODEL = "OpMemoryModel Logical Vulkan"
IMPORT = {MODEL: f'%set = OpExtInstImport "GLSL.std.450"\n{MODEL}'}


@pytest.mark.parametrize("code", [f"OpExtInst {VECTOR} %set Tanh %x", f"OpFMul {VECTOR} %x %x", f"OpCopyObject {VECTOR} %x"])
def test_instructions_that_the_document_lists(code: str) -> None:
    edited(_sum(), {"%y = OpFAdd": f"%y = {code}", **IMPORT})


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        (f"%y = OpVectorShuffle {VECTOR} %x %x 0 1 2 3", "CV-COMP-03"),
        (f"%y = OpFRem {VECTOR} %x %x", "CV-ARI-05"),
        (f"%y = OpFMod {VECTOR} %x %x", "CV-ARI-05"),
        (f"%d = OpDot %half %x %x\n%y = OpCompositeConstruct {VECTOR} %d %d %d %d", "CV-ARI-05"),
        (f"%y = OpExtInst {VECTOR} %set Sin %x", "CV-ARI-05"),
        (f"%y = OpExtInst {VECTOR} %set FAbs %x", "CV-ARI-05"),
    ],
)
def test_instructions_that_the_document_does_not_list_are_refused(code: str, rule: str) -> None:
    with undefined(rule):
        edited(_sum(), {"%y = OpFAdd": code, **IMPORT})


def _two_lengths() -> Shader:
    shader = Shader("s32", 4)
    vectors = shader.vectors
    with shader.inside():
        x = shader.load()
        vectors.negate("other", vectors.splat("whole", CooperativeVectorType(S32, 3), shader.builder.literal(1, S32)))
        vectors.negate("negative", vectors.splat("float", CooperativeVectorType(F32, 3), shader.builder.literal(0, F32)))
        shader.store(vectors.arithmetic("y", "add", x, x))
    return shader


@pytest.mark.parametrize(
    ("begins", "code", "rule"),
    [
        ("%y = OpIAdd", "%y = OpIAdd %cooperative_vector_s32_4 %x %other", "CV-ARI-02"),
        ("%negative = OpFNegate", "%negative = OpConvertSToF %cooperative_vector_f32_3 %x", "CV-CVT-01"),
    ],
)
def test_vectors_of_other_lengths_are_refused(begins: str, code: str, rule: str) -> None:
    with undefined(rule):
        edited(_two_lengths(), {begins: code})


@pytest.mark.parametrize(
    ("place", "operand", "rule"),
    [
        (5, "%uint_77", "CV-MM-24"),
        (8, "%uint_77", "CV-MM-24"),
        (9, "%uint_2", "CV-MM-04"),
        (10, "%uint_2", "CV-MM-06"),
        (11, "%uint_9", "CV-MM-24"),
    ],
)
def test_wrong_operands_of_a_multiply_are_refused(place: int, operand: str, rule: str) -> None:
    shader = Shader()
    weights = shader.builder.array("weights", Pointee(F16), 64, STORAGE, "input")
    with shader.inside():
        for value in (2, 9, 77):
            shader.builder.arithmetic(f"unused_{value}", "add", shader.me, shader.builder.literal(value))
        _identity(shader, weights)
    (found,) = [line.strip() for line in disassemble(emit(shader.builder.build())).splitlines() if "MatrixMulNV" in line]
    words = found.split()
    words[place] = operand
    with undefined(rule):
        edited(shader, {found: " ".join(words)})


def test_a_transposed_matrix_in_row_major_layout_is_refused() -> None:
    shader = Shader()
    weights = shader.builder.array("weights", Pointee(F16), 64, STORAGE, "input")
    with shader.inside():
        _identity(shader, weights)
    with undefined("CV-MM-21"):
        edited(shader, {"%false = OpConstantFalse": "%false = OpConstantTrue %bool"})


def test_a_vector_in_workgroup_storage_is_refused() -> None:
    shader = _sum()
    pointer = f"%pointer = OpTypePointer Workgroup {VECTOR}\n%shared_vector = OpVariable %pointer Workgroup"
    (declared,) = [line.strip() for line in disassemble(emit(shader.builder.build())).splitlines() if f"{VECTOR} =" in line]
    with undefined("CV-TYPE-05"):
        edited(shader, {f"{VECTOR} =": f"{declared}\n{pointer}"})


@pytest.mark.parametrize(
    ("op", "mask", "rule"),
    [
        ("%x = OpCooperativeVectorLoadNV", "MakePointerAvailable", "CV-LD-06"),
        ("OpCooperativeVectorStoreNV", "MakePointerVisible", "CV-ST-02"),
    ],
)
def test_memory_operands_of_the_other_direction_are_refused(op: str, mask: str, rule: str) -> None:
    shader = _sum()
    (found,) = [line.strip() for line in disassemble(emit(shader.builder.build())).splitlines() if line.strip().startswith(op)]
    with undefined(rule):
        edited(shader, {found: f"{found} {mask}|NonPrivatePointer %uint_5"})


@pytest.mark.parametrize(("target", "beyond"), [("f16", np.inf), ("e5m2", np.inf), ("e4m3", np.nan)])
def test_an_integer_beyond_its_float_interpretation_rounds_as_in_ieee_754(target, beyond):
    rows = np.array([[70000, -70000, 65519, 256]], np.int32).view(np.uint32)
    found = converted_input(rows, number("s32"), True, INTERPRETATIONS[target], 4).astype(np.float64)
    np.testing.assert_array_equal(found[0, [0, 1, 3]], [beyond, -beyond, 256])
    assert target != "f16" or found[0, 2] == 65504
