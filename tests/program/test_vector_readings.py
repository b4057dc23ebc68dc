"""Cooperative vectors: the reference model allows what the embedded device computes, for every operation, type and row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

from cts.devices.device import VectorRow
from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from cts.reference.evaluate import evaluate
from cts.verdict.compare import compare
from cts.verdict.poison import initial_contents
from generators.dispatch import dispatch, kernel
from generators.inputs.patterns import random_bits, tame_bits
from generators.layouts.vector_arrays import VectorArray
from generators.program.builder import U32, ProgramBuilder
from generators.program.conversion import Conversion, conversions
from generators.program.cooperative_vector_matmul import BiasInMemory, MatrixInMemory
from generators.program.elementwise import ARGUMENTS, BitOperator, Operator, VectorFunction, takes
from generators.program.memory import Pointee
from generators.program.program import Program, Subcase
from generators.program.shape import WorkgroupShape
from generators.program.values import CooperativeVector, CooperativeVectorType, Value
from generators.program.vector_builder import VectorBuilder
from generators.spirv.emit import emit
from generators.types import COMPONENT_TYPES, INTERPRETATIONS, ComponentType, Scope, StorageClass, VectorMatrixLayout

INVOCATIONS, LENGTH, OPERANDS = 7, 5, 3
COMPONENTS = [COMPONENT_TYPES[name] for name in ("f16", "f32", "s8", "u8", "s32", "u32")]
NAMES = [component.name for component in COMPONENTS]
DEVICE = EmbeddedDevice(load_profile("universal"))
ROWS = DEVICE.description.vector_rows

Code = Callable[[VectorBuilder, Sequence[CooperativeVector]], CooperativeVector]


def agrees(program: Program, inputs: Mapping[str, np.ndarray]) -> bool:
    """Return whether the reference model allows the device's results."""
    subcase = Subcase("one", {name: np.ascontiguousarray(data).view(np.uint8).reshape(-1) for name, data in inputs.items()})
    expected = evaluate(program, subcase)
    before = initial_contents(program, subcase, expected)
    made = kernel(program, emit(program))
    assert DEVICE.missing(made) is None
    (outcome,) = DEVICE.run(made, [dispatch(program, subcase, before)])
    return compare(program, expected, before, outcome) == ()


def builder_of() -> tuple[ProgramBuilder, VectorBuilder]:
    builder = ProgramBuilder(Scope.WORKGROUP, shape=WorkgroupShape(invocations=INVOCATIONS))
    return builder, VectorBuilder(builder)


def computed(component: ComponentType, result: ComponentType, code: Code, bits: np.ndarray) -> bool:
    """Return whether the readings of ``code`` agree; it makes a vector of three components.

    Args:
        component, result: component types of the operands and the result.
        code: what each invocation does.
        bits: bits of the operands, with the shape (invocations, operands, components).
    """
    builder, vectors = builder_of()
    sources = VectorArray(CooperativeVectorType(component, LENGTH), INVOCATIONS * OPERANDS)
    targets = VectorArray(CooperativeVectorType(result, LENGTH), INVOCATIONS)
    source, target = sources.declare(builder, "source", "input"), targets.declare(builder, "target", "output")
    me = Value("me", U32)
    with builder.per_invocation(me, INVOCATIONS):
        first = builder.arithmetic("first", "multiply", me, builder.literal(OPERANDS))
        slots = [builder.arithmetic(f"slot_{i}", "add", first, builder.literal(i)) for i in range(OPERANDS)]
        given = [vectors.load(f"x{i}", sources.type, source, sources.offset(builder, f"from_{i}", slot)) for i, slot in enumerate(slots)]
        vectors.store(code(vectors, given), target, targets.offset(builder, "to", me))
    return agrees(builder.build(), {"source": sources.pack(bits.reshape(-1, LENGTH))})


def tame(component: ComponentType, seed: int = 1) -> np.ndarray:
    shape = INVOCATIONS, OPERANDS, LENGTH
    return tame_bits(component, INVOCATIONS * OPERANDS * LENGTH, np.random.default_rng(seed)).reshape(shape)


def any_bits(component: ComponentType, seed: int = 2) -> np.ndarray:
    shape = INVOCATIONS, OPERANDS, LENGTH
    return random_bits(component, INVOCATIONS * OPERANDS * LENGTH, np.random.default_rng(seed)).reshape(shape)


def as_numbers(bits: np.ndarray, component: ComponentType, signed: bool) -> np.ndarray:
    return bits.view(component.dtype) if component.is_float else bits.view(f"i{component.bytes}") if signed else bits


@pytest.mark.parametrize("component", COMPONENTS, ids=NAMES)
@pytest.mark.parametrize("function", list(ARGUMENTS))
def test_functions(function: VectorFunction, component: ComponentType) -> None:
    if not takes(function, component):
        return
    bits = tame(component)
    if function == "Log":
        bits = bits & component.bits_dtype.type((1 << component.bits - 1) - 1)
    if "Clamp" in function:
        numbers = as_numbers(bits, component, function[0] == "S").copy()
        numbers[:, 1:] = np.sort(numbers[:, 1:], axis=1)
        bits = numbers.view(component.bits_dtype)
    assert computed(component, component, lambda v, x: v.function("y", function, *x[: ARGUMENTS[function]]), bits)


@pytest.mark.parametrize("component", COMPONENTS, ids=NAMES)
def test_arithmetic(component: ComponentType) -> None:
    division: tuple[Operator, ...] = ("divide",) if component.is_float else ("signed_divide", "unsigned_divide")
    operators: tuple[Operator, ...] = ("add", "subtract", "multiply", *division[: 1 if component.is_signed else 2])
    for operator in operators:
        bits = tame(component)
        if operator in division:
            bits[:, 1] |= component.bits_dtype.type(1)
        assert computed(component, component, lambda v, x, by=operator: v.arithmetic("y", by, x[0], x[1]), bits), operator
    assert computed(component, component, lambda v, x: v.negate("y", x[0]), tame(component))
    if component.is_float:
        assert computed(component, component, lambda v, x: v.times_scalar("y", x[0], v.extract("c", x[1], 3)), tame(component))


@pytest.mark.parametrize("component", [c for c in COMPONENTS if not c.is_float], ids=[c.name for c in COMPONENTS if not c.is_float])
def test_bits(component: ComponentType) -> None:
    logic: tuple[BitOperator, ...] = ("and", "or", "xor")
    shifts: tuple[BitOperator, ...] = ("shift_left", "shift_right_logical", "shift_right_arithmetic")
    assert computed(component, component, lambda v, x: v.invert("y", x[0]), any_bits(component))
    for operator in logic + shifts:
        bits = any_bits(component)
        if operator in shifts:
            bits[:, 1] %= component.bits_dtype.type(component.bits)
        assert computed(component, component, lambda v, x, by=operator: v.bits("y", by, x[0], x[1]), bits), operator


@pytest.mark.parametrize("source", COMPONENTS, ids=NAMES)
@pytest.mark.parametrize("target", COMPONENTS, ids=NAMES)
def test_conversions(source: ComponentType, target: ComponentType) -> None:
    ways = list(conversions(source, target))
    if source is not target and source.bits == target.bits:
        ways.append(Conversion.BITCAST)
    for way in ways:
        bits = tame(source)
        if way in (Conversion.F_TO_S, Conversion.F_TO_U):
            numbers = np.random.default_rng(3).integers(0, 200, bits.shape) / 2
            bits = numbers.astype(source.dtype).view(source.bits_dtype)
        elif target.is_float and not source.is_float and source.bits == 32:
            bits = np.random.default_rng(4).integers(0, 60000, bits.shape).astype(source.bits_dtype)
        assert computed(source, target, lambda v, x, by=way: v.convert("y", x[0], target, by), bits), way


def whole(component: ComponentType, shape: tuple[int, ...], rng: np.random.Generator, most: int = 4) -> np.ndarray:
    """Draw small integers, as numbers of the type."""
    least = 0 if not component.is_float and not component.is_signed else -most
    return rng.integers(least, most, shape).astype(np.float64).astype(component.dtype)


def inputs_of(row: VectorRow, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw input vectors: any bits if packed, otherwise numbers that saturate or are halfway between two integers."""
    component, as_ = COMPONENT_TYPES[row.input], INTERPRETATIONS[row.input_interpretation]
    if as_.packed:
        return rng.integers(0, 256, (INVOCATIONS, 4 * count)).astype(np.uint8).view(np.uint32)
    if as_.component.is_float:
        return whole(component, (INVOCATIONS, count), rng)
    if component.is_float:
        return (rng.integers(-600, 600, (INVOCATIONS, count)) / 2).astype(component.dtype)
    return rng.integers(-128, 300, (INVOCATIONS, count)).astype(component.dtype)


@pytest.mark.parametrize("layout", list(VectorMatrixLayout))
@pytest.mark.parametrize("row", ROWS, ids=[".".join(row.types) for row in ROWS])
def test_multiplies(row: VectorRow, layout: VectorMatrixLayout) -> None:
    stored = INTERPRETATIONS[row.matrix_interpretation]
    if stored.name in ("e4m3", "e5m2") and not layout.is_optimal:
        return
    rng = np.random.default_rng(5)
    for transpose in (False, True) if row.transpose and layout.is_optimal else (False,):
        for m, k in ((1, 1), (3, 17), (33, 8)):
            assert _multiplied(row, layout, transpose, m, k, rng), (transpose, m, k)


def _multiplied(row: VectorRow, layout: VectorMatrixLayout, transpose: bool, m: int, k: int, rng: np.random.Generator) -> bool:
    builder, vectors = builder_of()
    stored, of_bias = INTERPRETATIONS[row.matrix_interpretation], INTERPRETATIONS[row.bias_interpretation]
    as_, result = INTERPRETATIONS[row.input_interpretation], COMPONENT_TYPES[row.result]
    components = -(-k // 4) if as_.packed else k
    sources = VectorArray(CooperativeVectorType(COMPONENT_TYPES[row.input], components), INVOCATIONS)
    targets = VectorArray(CooperativeVectorType(result, m), INVOCATIONS)
    source, target = sources.declare(builder, "source", "input"), targets.declare(builder, "target", "output")
    matrix = whole(stored.component, (2, *((k, m) if transpose else (m, k))), rng)
    stride = 0
    if layout.is_optimal:
        contents = matrix.view(np.uint8).reshape(-1)
        weights = vectors.opaque("weights", stored.component, *matrix.shape[1:], layout, 2)
    else:
        lines = np.ascontiguousarray(matrix[0] if layout is VectorMatrixLayout.ROW_MAJOR else matrix[0].T).view(np.uint8)
        stride = -(-lines.shape[1] // 16) * 16 + 16
        padded = np.full((lines.shape[0], stride), 0x33, np.uint8)
        padded[:, : lines.shape[1]] = lines
        contents = np.concatenate([np.full(64, 7, np.uint8), padded.reshape(-1)])
        weights = builder.array("weights", Pointee(COMPONENT_TYPES["u8"]), contents.size, StorageClass.STORAGE_BUFFER, "input")
    bias = np.concatenate([np.full(16, 0x44, np.uint8), whole(of_bias.component, (m,), rng, 9).view(np.uint8)])
    biases = builder.array("bias", Pointee(COMPONENT_TYPES["u8"]), bias.size, StorageClass.STORAGE_BUFFER, "input")
    me = Value("me", U32)
    with builder.per_invocation(me, INVOCATIONS):
        x = vectors.load("x", sources.type, source, sources.offset(builder, "from", me))
        odd = builder.arithmetic("odd", "and", me, builder.literal(1))
        offset = vectors.matrix_offset("offset", weights, odd) if layout.is_optimal else builder.literal(64)
        place = MatrixInMemory(weights, offset, stored, layout, builder.literal(stride), transpose)
        plain = vectors.matmul("plain", result, x, as_, place, None, m, k)
        added = vectors.matmul("added", result, x, as_, place, BiasInMemory(biases, builder.literal(16), of_bias), m, k)
        target_vector = vectors.arithmetic("y", "subtract", added, plain) if not result.is_float else added
        vectors.store(target_vector, target, targets.offset(builder, "to", me))
    return agrees(builder.build(), {"source": sources.pack(inputs_of(row, components, rng)), "weights": contents, "bias": bias})


@pytest.mark.parametrize("name", ["f16", "f32"])
def test_accumulation(name: str) -> None:
    component, f16 = COMPONENT_TYPES[name], COMPONENT_TYPES["f16"]
    builder, vectors = builder_of()
    rng = np.random.default_rng(6)
    sources = VectorArray(CooperativeVectorType(f16, LENGTH), INVOCATIONS)
    source = sources.declare(builder, "source", "input")
    matrix = vectors.opaque("matrix", component, LENGTH, LENGTH, VectorMatrixLayout.TRAINING_OPTIMAL, 2, role="inout")
    sums = builder.array("sums", Pointee(component), 16, StorageClass.STORAGE_BUFFER, "inout")
    me = Value("me", U32)
    with builder.per_invocation(me, INVOCATIONS):
        x = vectors.load("x", sources.type, source, sources.offset(builder, "from", me))
        odd = builder.arithmetic("odd", "and", me, builder.literal(1))
        offset = vectors.matrix_offset("offset", matrix, odd)
        vectors.outer_product(matrix, offset, x, vectors.negate("minus", x), VectorMatrixLayout.TRAINING_OPTIMAL, INTERPRETATIONS[name])
        vectors.reduce_sum(sums, builder.literal(16), x if component is f16 else vectors.convert("wide", x, component))
    inputs = {
        "source": sources.pack(whole(f16, (INVOCATIONS, LENGTH), rng)),
        "matrix": whole(component, (2, LENGTH, LENGTH), rng),
        "sums": whole(component, (16,), rng),
    }
    assert agrees(builder.build(), inputs)
