"""The text of cooperative vectors, the programs that GLSL cannot express, and the modules that glslang makes."""

from __future__ import annotations

import pytest

from generators.errors import NotExpressible
from generators.glsl.compile import compile_glsl, find_glslang
from generators.glsl.emit import emit
from generators.layouts.vector_arrays import VectorArray
from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Condition
from generators.program.conversion import Conversion
from generators.program.cooperative_vector_matmul import BiasInMemory, MatrixInMemory
from generators.program.memory import Pointee
from generators.program.program import Program
from generators.program.shape import WorkgroupShape
from generators.program.values import CooperativeVectorType, Value
from generators.program.vector_builder import VectorBuilder
from generators.spirv.disassemble import disassemble
from generators.types import COMPONENT_TYPES, INTERPRETATIONS, MatrixOperands, Scope, StorageClass, VectorMatrixLayout

F16, F32, S32 = (COMPONENT_TYPES[name] for name in ("f16", "f32", "s32"))
STORAGE = StorageClass.STORAGE_BUFFER
E4M3 = INTERPRETATIONS["e4m3"]


def program(change: str = "") -> Program:
    """Return a program with every kind of instruction; ``change`` makes one of them inexpressible in GLSL."""
    builder = ProgramBuilder(Scope.WORKGROUP, shape=WorkgroupShape(invocations=5))
    vectors = VectorBuilder(builder)
    slots = VectorArray(CooperativeVectorType(F16, 6), 5)
    source, target = slots.declare(builder, "source", "input"), slots.declare(builder, "target", "output")
    weights = vectors.opaque("weights", COMPONENT_TYPES["e4m3"], 6, 6, VectorMatrixLayout.INFERENCING_OPTIMAL)
    bias = builder.array("bias", Pointee(F16), 8, STORAGE, "input")
    pointee = Pointee(F16, 2 if change == "pairs" else 1)
    gradient = vectors.opaque("gradient", F16, 6, 6, VectorMatrixLayout.TRAINING_OPTIMAL, role="inout", pointee=pointee)
    zero, me = builder.literal(0), Value("me", U32)
    stride = None if change == "stride" else zero
    with builder.per_invocation(me, 5):
        at = slots.offset(builder, "at", me)
        x = vectors.load("x", slots.type, source, at)
        matrix = MatrixInMemory(weights, zero, E4M3, VectorMatrixLayout.INFERENCING_OPTIMAL, stride)
        flags = MatrixOperands.B_SIGNED if change == "flags" else "types"
        y = vectors.matmul("y", F16, x, E4M3, matrix, BiasInMemory(bias, zero, INTERPRETATIONS["f16"]), 6, 6, flags)  # type: ignore[arg-type]
        y = vectors.function("low", "NMin" if change == "function" else "FMin", y, x)
        y = vectors.arithmetic("sum", "add", y, vectors.splat("one", slots.type, builder.literal(0x3C00, F16), change != "splat"))
        y = vectors.select("chosen", Condition(me, "equal", zero), y, x)
        if change == "bitcast":
            vectors.convert("bits", y, COMPONENT_TYPES["u16"], Conversion.BITCAST)
        if change == "division":
            whole = vectors.convert("whole", y, S32)
            vectors.arithmetic("quotient", "unsigned_divide", whole, whole)
        vectors.outer_product(gradient, zero, x, y, VectorMatrixLayout.TRAINING_OPTIMAL, INTERPRETATIONS["f16"], zero)
        vectors.store(y, target, at)
    return builder.build()


def test_the_text() -> None:
    lines = [line.strip() for line in emit(program()).splitlines()]
    assert "#extension GL_NV_cooperative_vector : require" in lines
    assert "coopVecLoadNV(x, source, at);" in lines
    assert "coopvecNV<float16_t, 6> one = coopvecNV<float16_t, 6>(1.0hf);" in lines
    assert (
        "coopVecMatMulAddNV(y, x, gl_ComponentTypeFloatE4M3NV, weights, 0u, gl_ComponentTypeFloatE4M3NV, bias, 0u, "
        "gl_ComponentTypeFloat16NV, 6u, 6u, gl_CooperativeVectorMatrixLayoutInferencingOptimalNV, false, 0u);"
    ) in lines
    assert (
        "coopVecOuterProductAccumulateNV(x, chosen, gradient, 0u, 0u, gl_CooperativeVectorMatrixLayoutTrainingOptimalNV, "
        "gl_ComponentTypeFloat16NV);"
    ) in lines
    assert "coopvecNV<float16_t, 6> chosen = me == 0u ? sum : x;" in lines
    assert "coopVecStoreNV(chosen, target, at);" in lines


@pytest.mark.parametrize("change", ["stride", "flags", "function", "splat", "bitcast", "division", "pairs"])
def test_programs_that_glsl_cannot_express(change: str) -> None:
    with pytest.raises(NotExpressible):
        emit(program(change))


@pytest.mark.skipif(find_glslang() is None, reason="glslang is not installed")
def test_glslang_makes_the_same_instructions() -> None:
    made = disassemble(compile_glsl(emit(program())))
    for op in ("LoadNV", "MatrixMulAddNV", "OuterProductAccumulateNV", "StoreNV"):
        assert made.count(f"OpCooperativeVector{op}") == 1
    assert "CooperativeVectorTrainingNV" in made
