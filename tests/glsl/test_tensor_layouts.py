"""Tensor layouts, views and accesses as a programmer writes them."""

import pytest

from generators.errors import NotExpressible
from generators.glsl.emit import emit
from generators.layouts.tensor_writer import TensorWriter
from generators.program.builder import U32, ProgramBuilder
from generators.program.load_store import MemoryOperand
from generators.program.memory import Pointee
from generators.program.tensor_access import TensorLoad, TensorStore
from generators.program.values import MatrixType, TensorLayoutType, TensorViewType, Value
from generators.types import COMPONENT_TYPES, ClampMode, MemoryAccess, Scope, StorageClass, Use

F16 = COMPONENT_TYPES["f16"]
TYPE = MatrixType(F16, Scope.SUBGROUP, 16, 16, Use.ACCUMULATOR)


def text(rank=2, mode=ClampMode.CONSTANT, memory=None, array_stride=None, first=8):
    builder = ProgramBuilder(Scope.SUBGROUP)
    writer = TensorWriter(builder, "literal")
    source = builder.array("source", Pointee(F16), 1024, StorageClass.STORAGE_BUFFER, "input", array_stride)
    target = builder.array("target", Pointee(F16), 1024, StorageClass.STORAGE_BUFFER, "output")
    type_ = TensorLayoutType(rank(builder) if callable(rank) else rank, mode)
    layout = writer.layout("layout", type_, ("dimension", (20, 24)), ("slice", (-3, 16, 5, 17)), ("clamp_value", (7,)))
    view = writer.view("view", TensorViewType((1, 0)), ("clip", (0, 9, 1, 8)))
    matrix = Value("matrix", TYPE)
    before = builder.splat("before", TYPE, builder.literal(0, F16))
    builder.add(TensorLoad(matrix, source, builder.literal(first), before, layout, view, memory))
    builder.add(TensorStore(matrix, target, builder.literal(8), layout))
    return emit(builder.build())


def test_a_layout_is_made_and_set_step_by_step():
    spelled = "tensorLayoutNV<2, gl_CooperativeMatrixClampModeConstantNV>"
    got = text()
    assert f"{spelled} layout_new = createTensorLayoutNV(2, gl_CooperativeMatrixClampModeConstantNV);" in got
    assert f"{spelled} layout_0 = setTensorLayoutDimensionNV(layout_new, 20u, 24u);" in got
    assert f"{spelled} layout_1 = sliceTensorLayoutNV(layout_0, -3, 16u, 5, 17u);" in got
    assert f"{spelled} layout_2 = setTensorLayoutClampValueNV(layout_1, 7u);" in got


def test_a_load_begins_with_what_the_matrix_keeps():
    got = text()
    assert "matrix = before;" in got
    assert "coopMatLoadTensorNV(matrix, source, 8u, layout_2, view_0);" in got
    assert "coopMatStoreTensorNV(matrix, target, 8u, layout_2);" in got


def test_the_number_of_dimensions_may_be_a_specialization_constant():
    assert "tensorLayoutNV<rank, " in text(rank=lambda builder: builder.operand("rank", U32, "specialization", 2, 2))


def test_memory_operands_become_qualifiers():
    assert "nonprivate float16_t source[];" in text(memory=MemoryOperand(MemoryAccess.NON_PRIVATE_POINTER))


@pytest.mark.parametrize(
    "what", [{"array_stride": 48, "first": 0}, {"memory": MemoryOperand(MemoryAccess.VOLATILE)}], ids=["array_stride", "volatile"]
)
def test_accesses_that_glsl_cannot_express(what):
    with pytest.raises(NotExpressible):
        text(**what)
