"""The module of a program, read back from the emitted words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.errors import Rule
from generators.program.builder import ProgramBuilder
from generators.program.load_store import guaranteed_alignment
from generators.program.memory import Array, Pointee
from generators.program.program import Program
from generators.program.values import MatrixType
from generators.spirv.disassemble import disassemble
from generators.spirv.emit import emit
from generators.spirv.enumerants import Capability, Op
from generators.spirv.reader import Instruction, read_header, read_instructions, read_string
from generators.types import COMPONENT_TYPES, Layout, MatrixOperands, MemoryAccess, Scope, StorageClass, Use
from tests.broken_rules import breaks

Build = Callable[..., Program]

BASE = {Capability.Shader, Capability.VulkanMemoryModel, Capability.CooperativeMatrixKHR}

SECTIONS = (
    {Op.Capability},
    {Op.Extension},
    {Op.MemoryModel},
    {Op.EntryPoint},
    {Op.ExecutionModeId},
    {Op.Name, Op.MemberName},
    {Op.Decorate, Op.MemberDecorate},
)


def _find(module: bytes, op: Op) -> list[Instruction]:
    return [instruction for instruction in read_instructions(module) if instruction.op is op]


def _capabilities(module: bytes) -> set[Capability]:
    return {Capability(instruction.operands[0]) for instruction in _find(module, Op.Capability)}


def _lines(module: bytes, pattern: str) -> list[str]:
    """Return the instructions, without their indentation, that ``pattern`` matches."""
    return [line.strip() for line in disassemble(module).splitlines() if re.search(pattern, line)]


def _blocks(module: bytes) -> dict[int, list[Instruction]]:
    blocks: dict[int, list[Instruction]] = {}
    current: list[Instruction] = []
    for instruction in read_instructions(module):
        if instruction.op is Op.Label:
            current = blocks[instruction.operands[0]] = []
        current.append(instruction)
    return blocks


def _successors(block: Iterable[Instruction]) -> set[int]:
    last = list(block)[-1]
    if last.op is Op.Branch:
        return {last.operands[0]}
    return set(last.operands[1:3]) if last.op is Op.BranchConditional else set()


def test_sections_follow_the_logical_layout(muladd: Build) -> None:
    module = emit(muladd())
    ranks = [
        next((i for i, ops in enumerate(SECTIONS) if instruction.op in ops), len(SECTIONS)) for instruction in read_instructions(module)
    ]
    assert all(before <= after for before, after in pairwise(ranks))


def test_every_id_is_defined_once_and_below_the_bound(muladd: Build) -> None:
    text = disassemble(emit(muladd(trip_source="buffer", extents="specialization")))
    defined = Counter(re.findall(r"(%\w+) = ", text))
    assert set(defined.values()) == {1}
    assert set(re.findall(r"%\w+", text)) == set(defined)


def test_the_bound_is_one_more_than_the_last_id(muladd: Build) -> None:
    module = emit(muladd())
    results = sum(" = " in line for line in disassemble(module).splitlines())
    assert read_header(module).bound == results + 1
    assert read_header(module).version == (1, 6)


def test_equal_types_and_constants_are_declared_once(muladd: Build) -> None:
    module = emit(muladd(c="f16"))
    shared = (Op.TypeInt, Op.TypeFloat, Op.TypeVector, Op.TypePointer, Op.TypeCooperativeMatrixKHR, Op.Constant)
    skip = {Op.Constant: 1}
    declarations = Counter(
        (i.op, i.operands[:1] + i.operands[2:] if i.op in skip else i.operands[1:]) for i in read_instructions(module) if i.op in shared
    )
    assert max(declarations.values()) == 1


@pytest.mark.parametrize(
    ("component", "needed"),
    [
        ("f32", set()),
        ("s32", set()),
        ("u32", set()),
        ("f64", {Capability.Float64}),
        ("u64", {Capability.Int64}),
        ("s64", {Capability.Int64}),
        ("f16", {Capability.Float16, Capability.StorageBuffer16BitAccess}),
        ("bf16", {Capability.BFloat16TypeKHR, Capability.BFloat16CooperativeMatrixKHR, Capability.StorageBuffer16BitAccess}),
        ("s16", {Capability.Int16, Capability.StorageBuffer16BitAccess}),
        ("u16", {Capability.Int16, Capability.StorageBuffer16BitAccess}),
        ("s8", {Capability.Int8, Capability.StorageBuffer8BitAccess}),
        ("u8", {Capability.Int8, Capability.StorageBuffer8BitAccess}),
        ("e4m3", {Capability.Float8EXT, Capability.Float8CooperativeMatrixEXT, Capability.StorageBuffer8BitAccess}),
        ("e5m2", {Capability.Float8EXT, Capability.Float8CooperativeMatrixEXT, Capability.StorageBuffer8BitAccess}),
    ],
)
def test_a_component_type_declares_the_capabilities_that_it_needs_and_no_other(
    component: str, needed: set[Capability], load_store: Build
) -> None:
    assert _capabilities(emit(load_store(component=component))) == BASE | needed


def test_a_narrow_component_under_a_wide_pointee_needs_no_storage_capability(load_store: Build) -> None:
    module = emit(load_store(component="s8", pointee=Pointee(COMPONENT_TYPES["u32"], 4)))
    assert _capabilities(module) == BASE | {Capability.Int8}


def test_physical_storage_buffers_change_the_addressing_model(load_store: Build) -> None:
    module = emit(load_store(component="f32", storage=StorageClass.PHYSICAL_STORAGE_BUFFER))
    assert _capabilities(module) == BASE | {Capability.PhysicalStorageBufferAddresses}
    assert _lines(module, "OpMemoryModel") == ["OpMemoryModel PhysicalStorageBuffer64 Vulkan"]
    assert _lines(emit(load_store()), "OpMemoryModel") == ["OpMemoryModel Logical Vulkan"]


def test_a_64_bit_stride_declares_its_width(load_store: Build) -> None:
    module = emit(load_store(component="f32", integer="s64", source="push_constant"))
    assert _capabilities(module) == BASE | {Capability.Int64}


def test_numbering_subgroups_declares_group_non_uniform_and_numbering_workgroups_does_not(muladd: Build) -> None:
    assert Capability.GroupNonUniform in _capabilities(emit(muladd()))
    assert Capability.GroupNonUniform not in _capabilities(emit(muladd(scope=Scope.WORKGROUP)))


@pytest.mark.parametrize(
    ("component", "extensions"),
    [
        ("f32", ["SPV_KHR_cooperative_matrix"]),
        ("bf16", ["SPV_KHR_bfloat16", "SPV_KHR_cooperative_matrix"]),
        ("e4m3", ["SPV_EXT_float8", "SPV_KHR_cooperative_matrix"]),
    ],
)
def test_extensions_follow_from_the_capabilities(component: str, extensions: list[str], load_store: Build) -> None:
    module = emit(load_store(component=component))
    assert [read_string(instruction.operands)[0] for instruction in _find(module, Op.Extension)] == extensions


def test_the_entry_point_lists_every_global_variable(muladd: Build) -> None:
    module = emit(muladd(trip_source="buffer"))
    (entry,) = _find(module, Op.EntryPoint)
    name, words = read_string(entry.operands[2:])
    assert name == "main"
    assert set(entry.operands[2 + words :]) == {instruction.operands[1] for instruction in _find(module, Op.Variable)}


def test_the_local_size_is_a_specialization_constant(load_store: Build) -> None:
    module = emit(load_store())
    assert _lines(module, r"LocalSizeId|SpecId|%local_size =") == [
        "OpExecutionModeId %main LocalSizeId %local_size %uint_1 %uint_1",
        "OpDecorate %local_size SpecId 0",
        "%local_size = OpSpecConstant %uint 32",
    ]


def test_a_specialization_constant_has_the_default_and_not_the_value(load_store: Build) -> None:
    module = emit(load_store(source="specialization"))
    assert _lines(module, r"%stride (=|SpecId)") == ["OpDecorate %stride SpecId 1", "%stride = OpSpecConstant %uint 32"]


def test_push_constants_hold_addresses_and_then_operands(load_store: Build) -> None:
    module = emit(load_store(storage=StorageClass.PHYSICAL_STORAGE_BUFFER, source="push_constant", integer="u64"))
    assert _lines(module, r"Decorate %PushConstants") == ["OpDecorate %PushConstants Block"] + [
        f"OpMemberDecorate %PushConstants {member} Offset {8 * member}" for member in range(4)
    ]


def test_the_operand_buffer_comes_after_the_arrays_and_is_only_read(load_store: Build) -> None:
    module = emit(load_store(source="buffer"))
    assert "OpDecorate %operands Binding 2" in _lines(module, "Binding")
    assert "OpMemberDecorate %Operands 1 NonWritable" in _lines(module, "NonWritable")


def test_inputs_are_not_writable_and_outputs_are(load_store: Build) -> None:
    assert _lines(emit(load_store()), "NonWritable") == ["OpMemberDecorate %given_block 0 NonWritable"]


def test_a_literal_and_an_operand_extent_make_different_types(muladd: Build) -> None:
    literal = _lines(emit(muladd(extents="literal")), r"OpTypeCooperativeMatrixKHR")
    operand = _lines(emit(muladd(extents="specialization")), r"OpTypeCooperativeMatrixKHR")
    assert literal[0] == "%matrix_f16_16x8_A = OpTypeCooperativeMatrixKHR %half %uint_3 %uint_16 %uint_8 %uint_0"
    assert operand[0] == "%matrix_f16_mxk_A = OpTypeCooperativeMatrixKHR %half %uint_3 %m %k %uint_0"


def test_c_and_result_may_differ(muladd: Build) -> None:
    (line,) = _lines(emit(muladd(c="f16", result="f32")), "OpCooperativeMatrixMulAddKHR")
    assert line == "%accumulator = OpCooperativeMatrixMulAddKHR %matrix_f32_16x32_ACCUMULATOR %matrix_a %matrix_b %matrix_c"


@pytest.mark.parametrize(
    ("operands", "text"),
    [
        (None, ""),
        (MatrixOperands.NONE, " NoneKHR"),
        (MatrixOperands.A_SIGNED, " MatrixASignedComponentsKHR"),
        (MatrixOperands.B_SIGNED | MatrixOperands.SATURATING_ACCUMULATION, " MatrixBSignedComponentsKHR|SaturatingAccumulationKHR"),
    ],
)
def test_matrix_operands_are_omitted_or_written_as_asked(operands: MatrixOperands | None, text: str, muladd: Build) -> None:
    (line,) = _lines(emit(muladd(operands=operands)), "OpCooperativeMatrixMulAddKHR")
    assert line.split("%accumulator")[1] == text


def test_a_loop_is_structured_and_its_phis_name_its_predecessors(muladd: Build) -> None:
    blocks = _blocks(emit(muladd()))
    (header,) = (label for label, block in blocks.items() if any(i.op is Op.LoopMerge for i in block))
    predecessors = {label for label, block in blocks.items() if header in _successors(block)}
    phis = [i for i in blocks[header] if i.op is Op.Phi]
    assert len(phis) == 2
    assert all({phi.operands[3], phi.operands[5]} == predecessors for phi in phis)
    merge, proceed = next(i.operands[:2] for i in blocks[header] if i.op is Op.LoopMerge)
    assert merge in _successors(blocks[header])
    assert proceed in predecessors


def test_a_loop_hands_on_the_next_value_and_leaves_the_current_one(muladd: Build) -> None:
    module = emit(muladd())
    assert _lines(module, r"%accumulator = OpPhi")[0].endswith("%matrix_c %entry %following %step_continue")
    assert re.search(r"Store\w+ %\w+ %accumulator ", _lines(module, "OpCooperativeMatrixStoreKHR")[0])


def _masks(module: bytes) -> list[str]:
    """Return the operands that follow the stride in loads and stores."""
    return [line.split("%stride", 1)[1].strip() for line in _lines(module, "OpCooperativeMatrix(Load|Store)KHR .*%stride")]


def test_without_memory_operands_there_is_no_mask(load_store: Build) -> None:
    assert _masks(emit(load_store(source="push_constant"))) == ["", ""]


def test_the_mask_none_is_written(load_store: Build) -> None:
    assert _masks(emit(load_store(source="push_constant", mask=MemoryAccess.NONE))) == ["None", "None"]


def test_operands_of_a_mask_follow_in_the_order_of_its_bits(load_store: Build) -> None:
    module = emit(load_store(source="push_constant", mask=MemoryAccess(0x3F), alignment=8, scope=Scope.WORKGROUP))
    common = "Volatile|Aligned|Nontemporal|"
    assert _masks(module) == [
        f"{common}MakePointerVisible|NonPrivatePointer 8 %uint_2",
        f"{common}MakePointerAvailable|NonPrivatePointer 8 %uint_2",
    ]


def test_visibility_makes_an_access_non_private(load_store: Build) -> None:
    module = emit(load_store(source="push_constant", mask=MemoryAccess.MAKE_POINTER_AVAILABLE | MemoryAccess.MAKE_POINTER_VISIBLE))
    assert _masks(module) == ["MakePointerVisible|NonPrivatePointer %uint_3", "MakePointerAvailable|NonPrivatePointer %uint_3"]


def test_physical_accesses_are_aligned(load_store: Build) -> None:
    physical = StorageClass.PHYSICAL_STORAGE_BUFFER
    assert _masks(emit(load_store(source="push_constant", storage=physical))) == ["Aligned 16", "Aligned 16"]
    module = emit(load_store(source="push_constant", storage=physical, mask=MemoryAccess.VOLATILE | MemoryAccess.ALIGNED, alignment=4))
    assert _masks(module) == ["Volatile|Aligned 4", "Volatile|Aligned 4"]


def test_accesses_through_a_barrier_are_not_private(load_store: Build) -> None:
    module = emit(load_store(source="push_constant", storage=StorageClass.WORKGROUP))
    assert _masks(module) == ["NonPrivatePointer", "NonPrivatePointer"]
    scratch = {line.split()[0] for line in _lines(module, r"OpAccessChain %\w+ %scratch ")}
    copies = [line for line in _lines(module, r"OpStore |OpLoad %half ") if scratch & set(line.split())]
    assert len(copies) == 2
    assert all(line.endswith("NonPrivatePointer") for line in copies)


def test_a_barrier_makes_available_and_visible(load_store: Build) -> None:
    module = emit(load_store(storage=StorageClass.WORKGROUP))
    acquire_release, uniform, workgroup, available, visible = 0x8, 0x40, 0x100, 0x2000, 0x4000
    semantics = acquire_release | uniform | workgroup | available | visible
    assert _lines(module, "OpControlBarrier") == [f"OpControlBarrier %uint_2 %uint_2 %uint_{semantics}"] * 2


def test_a_copy_steps_by_the_local_size(load_store: Build) -> None:
    module = emit(load_store(storage=StorageClass.WORKGROUP))
    assert "%scratch_element_step = OpCopyObject %uint %local_size" in _lines(module, "OpCopyObject")
    assert "%scratch_element_next = OpIAdd %uint %scratch_element %scratch_element_step" in _lines(module, "OpIAdd")


def test_an_array_stride_decorates_the_array_and_the_pointer(load_store: Build) -> None:
    module = emit(load_store(array_stride=64))
    strides = [line.split()[1] for line in _lines(module, "ArrayStride 64")]
    declared = [_lines(module, rf"{id_} = ")[0].split()[2] for id_ in strides]
    assert sorted(declared) == ["OpTypePointer", "OpTypeRuntimeArray"]
    assert all(f" {strides[declared.index('OpTypePointer')]} " in line for line in _lines(module, "OpAccessChain"))


@pytest.mark.parametrize("source", ["literal", "push_constant"])
def test_a_stride_of_the_pointer_decorates_only_the_pointer(load_store: Build, source: str) -> None:
    module = emit(load_store(pointer_stride=64, source=source))
    strides = [line.split()[1] for line in _lines(module, "ArrayStride 64")]
    assert [_lines(module, rf"{id_} = ")[0].split()[2] for id_ in strides] == ["OpTypePointer"]
    assert all(f" {strides[0]} " in line for line in _lines(module, "OpAccessChain") if "given" in line or "taken" in line)


def test_an_array_stride_with_a_first_element_is_refused(load_store: Build) -> None:
    with breaks(Rule.POINTER_STRIDE):
        emit(load_store(array_stride=64, source="push_constant"))


def test_an_array_stride_in_workgroup_memory_is_refused() -> None:
    builder = ProgramBuilder(Scope.SUBGROUP)
    builder.array("scratch", Pointee(COMPONENT_TYPES["f32"]), 16, StorageClass.WORKGROUP, "scratch", 16)
    with breaks(Rule.EXPLICIT_LAYOUT):
        emit(builder.build())


def test_an_operand_that_the_program_does_not_list_is_refused() -> None:
    builder, stranger = ProgramBuilder(Scope.SUBGROUP), ProgramBuilder(Scope.SUBGROUP)
    type_ = MatrixType(COMPONENT_TYPES["f32"], Scope.SUBGROUP, 8, 8, Use.A)
    matrix = builder.splat("matrix", type_, builder.literal(0, type_.component))
    array = builder.array("d", Pointee(type_.component), 64, StorageClass.STORAGE_BUFFER, "output")
    stride = stranger.operand("stride", COMPONENT_TYPES["u32"], "push_constant")
    builder.store(matrix, array, builder.literal(0), stride, Layout.ROW_MAJOR)
    with breaks(Rule.UNDECLARED):
        emit(builder.build())


@given(
    rows=st.integers(1, 256),
    columns=st.integers(1, 256),
    component=st.sampled_from(list(COMPONENT_TYPES.values())),
    pointee=st.sampled_from(list(COMPONENT_TYPES.values())),
    layout=st.sampled_from(list(Layout)),
)
def test_the_guaranteed_alignment_is_a_power_of_two_that_every_valid_access_has(
    rows: int, columns: int, component: object, pointee: object, layout: Layout
) -> None:
    type_ = MatrixType(component, Scope.SUBGROUP, rows, columns, Use.A)  # type: ignore[arg-type]
    array = Array("x", Pointee(pointee), 1, StorageClass.PHYSICAL_STORAGE_BUFFER, "input")  # type: ignore[arg-type]
    alignment = guaranteed_alignment(type_, layout, array)
    line = (columns if layout is Layout.ROW_MAJOR else rows) * type_.component.bytes
    element = array.pointee.component.bytes
    assert alignment & (alignment - 1) == 0
    assert alignment % element == 0
    # Any address that the rule permits, a multiple of the element and of min(16, line), has this alignment.
    assert all(address % alignment == 0 for address in range(0, 16 * line * element, element) if address % min(16, line) == 0)
