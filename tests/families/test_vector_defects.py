"""Defects of cooperative vectors: small programs in which each defect can occur, and data that show it."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from cts.defects.defect import Defect
from cts.defects.evaluation import evaluate_defect
from cts.defects.glossary import EVERY, glossary
from cts.defects.known import known_defects
from cts.diagnosis.diagnose import diagnose
from cts.diagnosis.shown import BEYOND, outcome_of
from cts.diagnosis.shown import changes as is_changed
from cts.reference.evaluate import evaluate
from cts.verdict.poison import initial_contents
from generators.errors import GeneratorError
from generators.program.control_flow import Condition
from generators.program.cooperative_vector_matmul import BiasInMemory, MatrixInMemory
from generators.program.memory import Pointee
from generators.program.program import Program, Subcase
from generators.program.values import CooperativeVectorType
from generators.types import COMPONENT_TYPES, INTERPRETATIONS, VectorMatrixLayout
from tests.agreement import agreed
from tests.families.evidence import judged
from tests.reference.programs import as_bits, as_bytes
from tests.reference.vector_programs import BUFFER, Lanes

TYPES, READ = COMPONENT_TYPES, INTERPRETATIONS
ROW, COLUMN = VectorMatrixLayout.ROW_MAJOR, VectorMatrixLayout.COLUMN_MAJOR
INFERENCING, TRAINING = VectorMatrixLayout.INFERENCING_OPTIMAL, VectorMatrixLayout.TRAINING_OPTIMAL

AREAS = ("cooperative_vector.", "vector_elementwise.", "vector_multiply.", "vector_training.")
BY_FAMILIES = {
    "cooperative_vector.array_stride_as_element",
    "vector_multiply.padding_read",
    "vector_training.last_workgroup_only",
    "vector_training.neighbour_changed",
    "vector_training.offset_of_first_invocation",
}
"""Defects that need an ArrayStride, NaN between rows, several workgroups, sums of an odd number of f16, or a target for each invocation."""

SUBJECT = {id_ for id_ in glossary().entries if id_.startswith(AREAS)} - BY_FAMILIES
"""The defects that the programs of this file show. Families show these as well, and the defects of composites."""


def memory() -> Lanes:
    """Load and store in arrays of u32 that are longer than necessary, and access components at an index of each invocation."""
    lanes = Lanes(3)
    builder, vectors = lanes.builder, lanes.vectors
    type_ = CooperativeVectorType(TYPES["f16"], 3)
    with lanes.inside():
        source = lanes.array("source", TYPES["u32"], as_bytes(np.arange(1, 257).astype(np.float16)))
        target = builder.array("target", Pointee(TYPES["u32"]), 128, BUFFER, "output")
        at = builder.arithmetic("at", "multiply", builder.arithmetic("slot", "add", lanes.me, builder.literal(1)), builder.literal(16))
        x = vectors.load("x", type_, source, at)
        index = lanes.scalar("index", [1, 2, 0])
        taken = vectors.extract("taken", x, index)
        lanes.stored(vectors.insert("y", vectors.splat("s", type_, taken), vectors.extract("first", x, 0), index))
        vectors.store(x, target, at)
    return lanes


def integers() -> Lanes:
    lanes = Lanes(2)
    vectors = lanes.vectors
    with lanes.inside():
        x = lanes.loaded("x", "s32", [[-7, 100, 5], [-1000, 12, 3]])
        y = lanes.loaded("y", "s32", [[2, 3, -9], [7, 1, 30]])
        by = lanes.loaded("by", "s32", [[1, 2, 3], [4, 5, 6]])
        for operator in ("add", "subtract", "multiply", "signed_divide"):
            lanes.stored(vectors.arithmetic(operator, operator, x, y), f"{operator}_out")  # type: ignore[arg-type]
        for operator in ("and", "or", "xor"):
            lanes.stored(vectors.bits(f"bit_{operator}", operator, x, y), f"bit_{operator}_out")  # type: ignore[arg-type]
        for operator in ("shift_left", "shift_right_logical", "shift_right_arithmetic"):
            lanes.stored(vectors.bits(operator, operator, x, by), f"{operator}_out")  # type: ignore[arg-type]
        for function in ("UMin", "SMin", "UMax", "SMax"):
            lanes.stored(vectors.function(function, function, x, y), f"{function}_out")  # type: ignore[arg-type]
        low, high = (vectors.splat(f"limit{n}", x.type, lanes.builder.literal(n, TYPES["s32"])) for n in (3, 50))
        for function in ("SClamp", "UClamp"):
            lanes.stored(vectors.function(function, function, x, low, high), f"{function}_out")  # type: ignore[arg-type]
        lanes.stored(vectors.negate("negated", x), "negated_out")
        lanes.stored(vectors.invert("inverted", x), "inverted_out")
        small = lanes.loaded("small", "s8", [[-1, 2], [3, -128]])
        unsigned = lanes.loaded("unsigned", "u8", [[255, 2], [3, 128]])
        lanes.stored(vectors.convert("wide", small, TYPES["s32"]), "wide_out")
        lanes.stored(vectors.convert("wide_unsigned", unsigned, TYPES["u32"]), "wide_unsigned_out")
        lanes.stored(vectors.convert("real", small, TYPES["f32"]), "real_out")
        lanes.stored(vectors.convert("cast", small, TYPES["u8"]), "cast_out")
    return lanes


def floats() -> Lanes:
    lanes = Lanes(2)
    vectors = lanes.vectors
    with lanes.inside():
        x = lanes.loaded("x", "f32", [[-7, 100, 5], [-10, 12, 0.25]])
        y = lanes.loaded("y", "f32", [[2, 4, -9], [8, 1, 32]])
        for operator in ("add", "subtract", "multiply", "divide"):
            lanes.stored(vectors.arithmetic(operator, operator, x, y), f"{operator}_out")  # type: ignore[arg-type]
        for function in ("FMin", "FMax", "NMin", "NMax", "Step"):
            lanes.stored(vectors.function(function, function, x, y), f"{function}_out")  # type: ignore[arg-type]
        low, high = (vectors.splat(f"limit{n}", x.type, lanes.builder.literal(n, TYPES["f32"])) for n in (0x3F800000, 0x41200000))
        lanes.stored(vectors.function("clamped", "FClamp", x, low, high), "clamped_out")
        lanes.stored(vectors.function("fused", "Fma", x, y, low), "fused_out")
        lanes.stored(vectors.function("power", "Exp", high), "power_out")
        lanes.stored(vectors.negate("negated", x), "negated_out")
        lanes.stored(vectors.times_scalar("scaled", y, vectors.extract("factor", x, 1)), "scaled_out")
    return lanes


def multiply(
    types: tuple[str, str, str, str, str],
    rows: list[list[Any]],
    layout: VectorMatrixLayout,
    matrix: Any,
    bias: Any,
    columns: int | None = None,
    transpose: bool = False,
) -> Lanes:
    """Multiply in each invocation: its input is a row of ``rows``, its matrix is one of ``matrix`` (count, M, K), and its bias is one of
    ``bias`` (count, M). The neighbours of all of these in memory are other numbers."""
    lanes = Lanes(len(rows))
    builder, vectors, literal = lanes.builder, lanes.vectors, lanes.builder.literal
    given, component = READ[types[2]], READ[types[2]].component
    bits = as_bits(matrix, component)
    count, m, k = bits.shape
    with lanes.inside():
        x = lanes.loaded("x", types[0], rows)
        which = builder.arithmetic("which", "modulo", builder.arithmetic("other", "add", lanes.me, literal(1)), literal(count))
        if layout.is_optimal:
            stored = bits.transpose(0, 2, 1) if transpose else bits
            array = lanes.opaque("matrix_in", component, stored.view(component.dtype), layout)
            lanes.inputs["matrix_in"] = as_bytes(stored)
            at = vectors.matrix_offset("matrix_at", array, which)
            place = MatrixInMemory(array, at, given, layout, literal(0), transpose)
        else:
            pitch, stride = 256, 32
            data = np.random.default_rng(3).integers(1, 60, 64 * 64).astype(np.uint8)
            for number, one in enumerate(bits):
                for at_line, line in enumerate(one if layout is ROW else np.ascontiguousarray(one.T)):
                    start = 64 + number * pitch + at_line * stride
                    data[start : start + line.nbytes] = as_bytes(line)
            array = lanes.array("matrix_in", TYPES["u32"] if component.bits < 32 else component, data)
            place = MatrixInMemory(array, builder.offset("matrix_at", literal(64), which, pitch), given, layout, literal(stride))
        added, type_ = None, READ[types[3]]
        if bias is not None:
            contents = np.random.default_rng(4).integers(1, 60, 16 * 64).astype(np.uint8)
            for number, one in enumerate(as_bits(bias, type_.component)):
                contents[16 + 32 * number : 16 + 32 * number + one.nbytes] = as_bytes(one)
            held = lanes.array("bias_in", type_.component, contents)
            added = BiasInMemory(held, builder.offset("bias_at", literal(16), which, 32), type_)
        lanes.stored(vectors.matmul("y", TYPES[types[4]], x, READ[types[1]], place, added, m, k if columns is None else columns))
    return lanes


BYTES = [[[1, 2, -3, 4, 5], [-6, 7, 8, -9, 10]], [[11, -12, 13, 14, 15], [16, 17, -18, 19, 20]]]
BIASES = [[100000, -70000], [2147483647, -2147483648]]


def rounded() -> Lanes:
    return multiply(("f32", "s8", "s8", "s32", "s32"), [[0.5, 1.5, -2.5, 200, -0.75], [2.25, -300, 127.5, -1.5, 3.5]], ROW, BYTES, BIASES)


def saturated() -> Lanes:
    return multiply(("s32", "s8", "s8", "s32", "s32"), [[1, 300, -5, -200, 7], [-9, 2, 1000, 4, -3]], COLUMN, BYTES, BIASES)


def packed() -> Lanes:
    rows = [[0x7F80FF01, 0x01020305], [0x10FE0304, 0x090807F6]]
    return multiply(("u32", "s8packed", "s8", "s32", "s32"), rows, ROW, BYTES, BIASES)


def transposed() -> Lanes:
    matrices = [[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [1, 3, 5]]]
    return multiply(("f16", "f16", "f16", "f32", "f32"), [[1, 2, 3], [4, 1, 0]], INFERENCING, matrices, [[0.5, 1], [2, 3]], transpose=True)


def straight() -> Lanes:
    matrices = [[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [1, 3, 5]]]
    return multiply(("f16", "f16", "f16", "f32", "f32"), [[1, 2, 3], [4, 1, 0]], TRAINING, matrices, [[0.5, 1], [2, 3]])


def eights() -> Lanes:
    matrices = [[[1, 1.125, -3.5], [2, 5, 0.75]], [[1.25, 8, 9], [1, 3, 13]]]
    return multiply(("f16", "e4m3", "e4m3", "f16", "f16"), [[1, 2, 3], [4.5, 1.125, 0]], INFERENCING, matrices, [[0.5, 1], [2, 3]])


def training() -> Lanes:
    lanes = Lanes(4)
    builder, vectors = lanes.builder, lanes.vectors
    with lanes.inside():
        a = lanes.loaded("a", "f16", [[1, 2], [3, 4], [5, 6], [7, 8]])
        b = lanes.loaded("b", "f16", [[1, 16, 32], [2, 0, -1], [4, 1, 8], [1, 1, 2]])
        for name, type_ in (("weights", "f32"), ("halves", "f16")):
            first = [[[1, 2, 3], [4, 5, 6]], [[4097, 1, 1], [1, 1, 1]]] if type_ == "f32" else [[[1, 2, 3], [4, 5, 6]]] * 2
            array = lanes.opaque(name, TYPES[type_], first, TRAINING, "inout")
            at = vectors.matrix_offset(f"{name}_at", array, builder.literal(1))
            vectors.outer_product(array, at, a, b, TRAINING, READ[type_])
        sums = lanes.array("sums", TYPES["f32"], as_bytes(np.arange(4096, 4128).astype(np.float32)), "inout")
        wide = lanes.loaded("wide", "f32", [[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]])
        with builder.arm() as then:
            vectors.reduce_sum(sums, builder.literal(16), wide)
        builder.branch(Condition(lanes.me, "less", builder.literal(3)), then)
    return lanes


PROGRAMS = {one.__name__: one for one in (memory, integers, floats, rounded, saturated, packed, transposed, straight, eights, training)}


@cache
def case(name: str) -> tuple[Program, Subcase]:
    return PROGRAMS[name]().case()


@cache
def defects(name: str) -> list[Defect]:
    return [defect for defect in known_defects(case(name)[0]) if defect.id in SUBJECT]


def changes(name: str, defect: Defect) -> bool:
    """Return whether a device with the defect has results that are not permitted; undecidable results do not count."""
    try:
        return is_changed(defect, judged(*case(name)))
    except (GeneratorError, LookupError, ValueError):
        return False


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_programs_run(name: str) -> None:
    agreed(*case(name))


def test_every_defect_can_occur_in_a_program() -> None:
    found = {defect.id: defect for name in PROGRAMS for defect in defects(name)}
    assert set(found) == SUBJECT
    for defect in found.values():
        assert defect.text
        assert "{" not in defect.text
        assert set(glossary().entries[defect.id].kinds) <= defect.parameters.keys()


def test_every_kind_of_defect_is_shown_by_a_program() -> None:
    kinds: dict[str, bool] = {}
    for name in PROGRAMS:
        for defect in defects(name):
            if EVERY not in defect.parameters.values():
                kinds[defect.kind] = kinds.get(defect.kind, False) or changes(name, defect)
    assert not [kind for kind, shown in kinds.items() if not shown]


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_other_defect_of_the_programs_can_be_told(name: str) -> None:
    program, subcase = case(name)
    for defect in known_defects(program):
        if defect.id not in SUBJECT:
            try:
                with np.errstate(all="ignore"):
                    evaluate_defect(program, subcase, defect.substitutes, beyond=BEYOND)
            except (GeneratorError, LookupError, ValueError):
                continue


@pytest.mark.parametrize(
    ("name", "id_"),
    [
        ("rounded", "vector_multiply.bias_dropped"),
        ("packed", "vector_multiply.packed_high_bits_first"),
        ("training", "vector_training.first_invocation_only"),
        ("memory", "cooperative_vector.index_of_first_invocation"),
    ],
)
def test_the_diagnosis_names_a_defect(name: str, id_: str) -> None:
    program, subcase = case(name)
    expected = evaluate(program, subcase)
    before = initial_contents(program, subcase, expected)
    defect = next(one for one in known_defects(program) if one.id == id_)
    outcome = outcome_of(program, evaluate_defect(program, subcase, defect.substitutes), before)
    assert id_ in {match.id for match in diagnose(program, subcase, expected, before, outcome)}
