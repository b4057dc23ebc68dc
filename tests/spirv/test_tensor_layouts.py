"""The instructions of layouts and tensor accesses, read back from the emitted words."""

from __future__ import annotations

import re

import pytest

from generators.layouts.tensor_writer import TensorWriter
from generators.program.builder import U32, ProgramBuilder
from generators.program.load_store import MemoryOperand
from generators.program.memory import Pointee
from generators.program.tensor_access import TensorLoad, TensorStore
from generators.program.values import MatrixType, Source, TensorLayoutType, TensorViewType, Value
from generators.spirv.disassemble import disassemble
from generators.spirv.emit import emit
from generators.spirv.enumerants import Capability, Op
from generators.spirv.reader import read_instructions
from generators.types import COMPONENT_TYPES, ClampMode, MemoryAccess, Scope, StorageClass, Use

F16 = COMPONENT_TYPES["f16"]
TYPE = MatrixType(F16, Scope.SUBGROUP, 16, 16, Use.ACCUMULATOR)


def module(
    source: Source = "literal",
    storage: StorageClass = StorageClass.STORAGE_BUFFER,
    memory: MemoryOperand | None = None,
    view: bool = False,
    specialized: bool = False,
) -> bytes:
    """Build a load and a store of one tensor, with every setting of a layout."""
    builder = ProgramBuilder(Scope.SUBGROUP)
    writer = TensorWriter(builder, source)
    array = builder.array("tensor", Pointee(F16), 1024, storage, "inout")
    rank = builder.operand("rank", U32, "specialization", 2, 2) if specialized else 2
    mode = builder.operand("mode", U32, "specialization", int(ClampMode.REPEAT), 0) if specialized else ClampMode.REPEAT
    layout = writer.layout(
        "layout",
        TensorLayoutType(rank, mode),
        ("block_size", (1, 1)),
        ("dimension", (20, 24)),
        ("stride", (30, 1)),
        ("slice", (-3, 16, 5, 17)),
        ("clamp_value", (7,)),
    )
    seen = writer.view("view", TensorViewType((1, 0)), ("clip", (0, 9, 1, 8))) if view else None
    matrix = Value("matrix", TYPE)
    first = builder.literal(8)
    builder.add(TensorLoad(matrix, array, first, builder.splat("before", TYPE, builder.literal(0, F16)), layout, seen, memory))
    builder.add(TensorStore(matrix, array, first, layout, seen))
    return emit(builder.build())


def lines(words: bytes, pattern: str) -> list[str]:
    """Return the instructions that the pattern matches."""
    return [line.strip() for line in disassemble(words).splitlines() if re.search(pattern, line)]


def test_operands_are_in_the_order_of_the_specification() -> None:
    text = "\n".join(lines(module(), "TensorLayout"))
    assert re.search(r"%layout_1 = OpTensorLayoutSetDimensionNV %\d+ %layout_0 %uint_20 %uint_24", text)
    assert re.search(r"%layout_3 = OpTensorLayoutSliceNV %\d+ %layout_2 %int_n3 %uint_16 %int_5 %uint_17", text)
    assert re.search(r"%layout_4 = OpTensorLayoutSetClampValueNV %\d+ %layout_3 %uint_7", text)


def test_all_layouts_of_one_type_share_it() -> None:
    assert sum(i.op is Op.TypeTensorLayoutNV for i in read_instructions(module())) == 1


def test_offsets_are_signed_and_everything_else_is_as_the_writer_says() -> None:
    text = "\n".join(lines(module(source="specialization"), "OpSpecConstant"))
    assert re.search(r"%layout_3_slice_0 = OpSpecConstant %int ", text)
    assert re.search(r"%layout_3_slice_1 = OpSpecConstant %uint ", text)


def test_dim_and_clamp_mode_may_be_specialization_constants() -> None:
    (type_,) = lines(module(specialized=True), "OpTypeTensorLayoutNV")
    assert type_.endswith("%rank %mode")


def test_an_access_has_both_masks_and_the_view_after_the_second() -> None:
    assert lines(module(), "StoreTensor")[0].endswith("%matrix %layout_4 None None")
    assert lines(module(view=True), "StoreTensor")[0].endswith("%matrix %layout_4 None TensorView %view_0")
    assert re.search(r"%before %layout_4 None TensorView %view_0$", lines(module(view=True), "LoadTensor")[0])


def test_memory_operands_come_between_layout_and_addressing() -> None:
    memory = MemoryOperand(MemoryAccess.VOLATILE | MemoryAccess.ALIGNED, 16)
    assert lines(module(memory=memory), "LoadTensor")[0].endswith("%layout_4 Volatile|Aligned 16 None")


def test_physical_addresses_are_aligned_to_16_bytes() -> None:
    for line in lines(module(storage=StorageClass.PHYSICAL_STORAGE_BUFFER), "LoadTensor|StoreTensor"):
        assert line.endswith("Aligned 16 None")


@pytest.mark.parametrize("view", [False, True])
def test_the_capabilities_are_only_those_of_tensor_addressing(view: bool) -> None:
    asked = {Capability(i.operands[0]) for i in read_instructions(module(view=view)) if i.op is Op.Capability}
    assert {Capability.TensorAddressingNV, Capability.CooperativeMatrixTensorAddressingNV} <= asked
    assert Capability.CooperativeMatrixBlockLoadsNV not in asked
