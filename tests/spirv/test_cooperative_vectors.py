"""Instructions of cooperative vectors: their words, their capabilities, and refused programs."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from generators.errors import Rule
from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Condition
from generators.program.conversion import Conversion
from generators.program.cooperative_vector_matmul import BiasInMemory, MatrixInMemory
from generators.program.memory import Array, Pointee
from generators.program.shape import WorkgroupShape
from generators.program.values import CooperativeVector, CooperativeVectorType, Value
from generators.program.vector_builder import VectorBuilder
from generators.spirv.disassemble import disassemble
from generators.spirv.emit import emit
from generators.types import COMPONENT_TYPES, INTERPRETATIONS, MatrixOperands, Scope, StorageClass, VectorMatrixLayout
from tests.broken_rules import breaks

F16, F32, S32, S8 = (COMPONENT_TYPES[name] for name in ("f16", "f32", "s32", "s8"))
ROW, OPTIMAL, TRAINING = VectorMatrixLayout.ROW_MAJOR, VectorMatrixLayout.INFERENCING_OPTIMAL, VectorMatrixLayout.TRAINING_OPTIMAL
STORAGE = StorageClass.STORAGE_BUFFER


class Bench:
    """A program of one region, with an array ``memory`` and a vector ``x`` loaded from it."""

    def __init__(self, component: str = "f16", length: int = 4, storage: StorageClass = STORAGE) -> None:
        self.builder = ProgramBuilder(Scope.WORKGROUP, shape=WorkgroupShape(invocations=3))
        self.vectors = VectorBuilder(self.builder)
        self.type = CooperativeVectorType(COMPONENT_TYPES[component], length)
        self.memory: Array = self.builder.array("memory", Pointee(U32), 64, storage, "inout")

    def text(self, code: Callable[[Bench, CooperativeVector], object]) -> str:
        """Return the assembly of a program that loads ``x`` and does ``code``."""
        with self.builder.per_invocation(Value("me", U32), 3):
            x = self.vectors.load("x", self.type, self.memory, self.builder.literal(16))
            code(self, x)
        return disassemble(emit(self.builder.build()))

    def matrix(self, layout: VectorMatrixLayout = ROW, stride: int | None = 16, **changes: object) -> MatrixInMemory:
        literal = self.builder.literal
        name = "f16" if self.type.component.is_float else "s8"
        step = None if stride is None else literal(stride)
        return MatrixInMemory(self.memory, literal(64), INTERPRETATIONS[name], layout, step, **changes)  # type: ignore[arg-type]


def line(text: str, op: str) -> str:
    (found,) = [line.strip() for line in text.splitlines() if re.search(rf"\b{op}\b", line)]
    return found


def test_the_type_and_its_capability() -> None:
    text = Bench().text(lambda bench, x: None)
    assert "OpCapability CooperativeVectorNV" in text
    assert "CooperativeVectorTrainingNV" not in text
    assert 'OpExtension "SPV_NV_cooperative_vector"' in text
    assert line(text, "OpTypeVectorIdEXT") == "%cooperative_vector_f16_4 = OpTypeVectorIdEXT %half %uint_4"


@pytest.mark.parametrize("storage", list(StorageClass))
def test_loads_and_stores(storage: StorageClass) -> None:
    text = Bench(storage=storage).text(lambda bench, x: bench.vectors.store(x, bench.memory, bench.builder.literal(32)))
    load, store = line(text, "OpCooperativeVectorLoadNV"), line(text, "OpCooperativeVectorStoreNV")
    assert "%uint_16" in load
    assert store.split()[2:4] == ["%uint_32", "%x"]
    physical, shared = storage is StorageClass.PHYSICAL_STORAGE_BUFFER, storage is StorageClass.WORKGROUP
    for access in (load, store):
        assert ("Aligned 16" in access) is physical
        assert ("NonPrivatePointer" in access) is shared


def test_a_multiply_has_its_operands_in_order() -> None:
    text = Bench().text(lambda bench, x: bench.vectors.matmul("y", F32, x, INTERPRETATIONS["f16"], bench.matrix(), None, 3, 4))
    words = line(text, "OpCooperativeVectorMatrixMulNV").split()
    assert words[:4] == ["%y", "=", "OpCooperativeVectorMatrixMulNV", "%cooperative_vector_f32_3"]
    assert words[4] == "%x"
    assert words[5] == "%uint_0"
    assert words[7:] == ["%uint_64", "%uint_0", "%uint_3", "%uint_4", "%uint_0", "%false", "%uint_16"]


def test_a_bias_is_between_matrix_and_sizes() -> None:
    def code(bench: Bench, x: CooperativeVector) -> None:
        bias = BiasInMemory(bench.memory, bench.builder.literal(48), INTERPRETATIONS["s32"])
        bench.vectors.matmul("y", S32, x, INTERPRETATIONS["s8"], bench.matrix(OPTIMAL, transpose=True), bias, 3, 4)

    words = line(Bench("s8").text(code), "OpCooperativeVectorMatrixMulAddNV").split()
    assert words[5] == "%uint_3"
    assert words[10:12] == ["%uint_48", "%uint_5"]
    assert words[12:16] == ["%uint_3", "%uint_4", "%uint_2", "%true"]
    assert words[17] == "MatrixBSignedComponentsKHR|MatrixResultSignedComponentsKHR"


def test_specialization_constants_are_constant_operands() -> None:
    def code(bench: Bench, x: CooperativeVector) -> None:
        make = bench.builder.operand
        layout = make("layout", U32, "specialization", int(OPTIMAL), 0)
        as_ = make("as", U32, "specialization", 0, 1)
        rows = make("rows", U32, "specialization", 3, 2)
        flag = make("flag", U32, "specialization", 1, 0)
        place = MatrixInMemory(bench.memory, bench.builder.literal(64), as_, layout, bench.builder.literal(0), flag)
        bench.vectors.matmul("y", F16, x, as_, place, None, rows, 4)

    text = Bench().text(code)
    words = line(text, "OpCooperativeVectorMatrixMulNV").split()
    assert words[5] == words[8] == "%as"
    assert words[9] == "%rows"
    assert words[11] == "%layout"
    assert "OpTypeVectorIdEXT %half %rows" in text
    assert "OpSpecConstantOp %bool INotEqual %flag %uint_0" in text


def test_training_has_a_capability() -> None:
    def code(bench: Bench, x: CooperativeVector) -> None:
        bench.vectors.outer_product(bench.memory, bench.builder.literal(64), x, x, TRAINING, INTERPRETATIONS["f32"])
        bench.vectors.reduce_sum(bench.memory, bench.builder.literal(16), x)

    text = Bench().text(code)
    assert "OpCapability CooperativeVectorTrainingNV" in text
    assert line(text, "OpCooperativeVectorOuterProductAccumulateNV").split()[2:] == ["%uint_64", "%x", "%x", "%uint_3", "%uint_1"]
    assert line(text, "OpCooperativeVectorReduceSumAccumulateNV").split()[2:] == ["%uint_16", "%x"]


def test_extended_instructions_are_imported_once() -> None:
    def code(bench: Bench, x: CooperativeVector) -> None:
        bench.vectors.function("y", "Fma", bench.vectors.function("t", "Tanh", x), x, x)

    text = Bench().text(code)
    assert text.count("OpExtInstImport") == 1
    assert re.search(r"%y = OpExtInst %cooperative_vector_f16_4 %\S+ Fma %t %x %x", text)


def test_a_splat_has_a_constituent_for_each_component() -> None:
    def code(bench: Bench, x: CooperativeVector) -> None:
        bench.vectors.splat("y", bench.type, bench.vectors.extract("c", x, 2))
        bench.vectors.splat("z", bench.type, bench.builder.literal(0, F16), replicated=True)

    text = Bench().text(code)
    assert "OpCompositeConstruct %cooperative_vector_f16_4 %c %c %c %c" in text
    assert "OpCapability ReplicatedCompositesEXT" in text
    assert "%z = OpCompositeConstructReplicateEXT" in text


def test_a_selection_takes_whole_vectors() -> None:
    def code(bench: Bench, x: CooperativeVector) -> None:
        y = bench.vectors.select("y", Condition(Value("me", U32), "equal", bench.builder.literal(1)), x, x)
        bench.vectors.copy("z", y)

    text = Bench().text(code)
    assert re.search(r"%y = OpSelect %cooperative_vector_f16_4 %\S+ %x %x", text)
    assert "%z = OpCopyObject %cooperative_vector_f16_4 %y" in text


Code = Callable[[Bench, CooperativeVector], object]

REFUSED: dict[str, tuple[str, Code]] = {
    "CV-MM-31": ("f16", lambda b, x: b.vectors.matmul("y", F16, x, INTERPRETATIONS["f16"], b.matrix(stride=None), None, 3, 4)),
    "CV-MM-21": ("f16", lambda b, x: b.vectors.matmul("y", F16, x, INTERPRETATIONS["f16"], b.matrix(transpose=True), None, 3, 4)),
    "CV-MM-03": ("s8", lambda b, x: b.vectors.matmul("y", S8, x, INTERPRETATIONS["s8"], b.matrix(), None, 3, 4)),
    "CV-OPA-02": (
        "f16",
        lambda b, x: b.vectors.outer_product(
            b.memory, b.builder.literal(0), x, b.vectors.convert("w", x, F32), TRAINING, INTERPRETATIONS["f16"]
        ),
    ),
    "CV-ARI-03": ("s32", lambda b, x: b.vectors.times_scalar("y", x, b.builder.literal(2, S32))),
    "CV-ARI-04": ("f16", lambda b, x: b.vectors.function("y", "UMin", x, x)),
    "CV-BIT-01": ("f16", lambda b, x: b.vectors.invert("y", x)),
    Rule.NO_CONVERSION: ("f16", lambda b, x: b.vectors.convert("y", x, U32, Conversion.BITCAST)),
    "CV-LD-05": ("f16", lambda b, x: b.vectors.store(x, b.memory, b.builder.literal(0, COMPONENT_TYPES["u64"]))),
    "CV-COMP-04": ("f16", lambda b, x: b.vectors.splat("y", _specialized(b), b.builder.literal(0, F16))),
    Rule.OPERAND_COUNT: ("f16", lambda b, x: b.vectors.constant("y", b.type, (b.builder.literal(0, F16),))),
    Rule.MASK_WITHOUT_STRIDE: (
        "f16",
        lambda b, x: b.vectors.matmul("y", F16, x, INTERPRETATIONS["f16"], b.matrix(OPTIMAL, None), None, 3, 4, MatrixOperands.NONE),
    ),
}


def _specialized(bench: Bench) -> CooperativeVectorType:
    return CooperativeVectorType(F16, bench.builder.operand("length", U32, "specialization", 4, 5))


@pytest.mark.parametrize("rule", list(REFUSED))
def test_programs_without_a_valid_module_are_refused(rule: str) -> None:
    component, code = REFUSED[rule]
    with breaks(rule):
        Bench(component).text(code)
