"""Decode functions of tensor loads: their arguments, the elements for which they are called, and the rules that they break."""

from __future__ import annotations

import numpy as np
import pytest

from cts.embedded.faults import Faults
from cts.embedded.instructions.tensors.decode import chosen_groups
from cts.embedded.machine.elements import MAPPINGS
from generators.spirv.enumerants import TensorClampMode as Mode
from tests.embedded.assembly import shader, words
from tests.embedded.tensors import flat, layout, operand, types, view

CAPABILITIES = ("CooperativeMatrixTensorAddressingNV", "CooperativeMatrixBlockLoadsNV", "PhysicalStorageBufferAddresses")
SHAPE = (4, 8)
ROWS, COLUMNS = np.indices(SHAPE)
BLOCKS = words(*(100 * block + word for block in range(16) for word in range(4)))
"""Word k of block i is 100 i + k."""

BLOCK = """
%quad = OpTypeArray %u32 %u32_4
%block = OpTypeStruct %quad
%ptr_block = OpTypePointer PhysicalStorageBuffer %block
%ptr_word = OpTypePointer PhysicalStorageBuffer %u32
%coords = OpTypeArray %u32 %u32_2
%decode_type = OpTypeFunction %u32 %ptr_block %coords %coords
"""
DECORATIONS = "OpDecorate %quad ArrayStride 4\nOpMemberDecorate %block 0 Offset 0\nOpDecorate %block Block"
PARAMETERS = """
%decode = OpFunction %u32 None %decode_type
%b = OpFunctionParameter %ptr_block
%at_block = OpFunctionParameter %coords
%within = OpFunctionParameter %coords
%decode_entry = OpLabel
"""
READ = """
%c1 = OpCompositeExtract %u32 %within 1
%word_at = OpAccessChain %ptr_word %b %s32_0 %c1
%word = OpLoad %u32 %word_at Aligned 4
"""
ENCODE = """
%b0 = OpCompositeExtract %u32 %at_block 0
%b1 = OpCompositeExtract %u32 %at_block 1
%c0 = OpCompositeExtract %u32 %within 0
%m0 = OpIMul %u32 %b0 %u32_10000
%m1 = OpIMul %u32 %b1 %u32_100000
%m2 = OpIMul %u32 %c0 %u32_1000000
%s0 = OpIAdd %u32 %word %m0
%s1 = OpIAdd %u32 %s0 %m1
%s2 = OpIAdd %u32 %s1 %m2
OpReturnValue %s2
"""
WHOLE = PARAMETERS + READ + ENCODE + "OpFunctionEnd"
LINES = ["block 1 4", "dimension 4 8"]


def module(
    lines: list[str] = LINES,
    mode: Mode = Mode.Undefined,
    functions: str = WHOLE,
    declarations: str = BLOCK,
    at: str = "0",
    permutation: str = "",
    view_lines: tuple[str, ...] = (),
    capabilities: tuple[str, ...] = CAPABILITIES,
    scope: int = 3,
    pointer: str = "%from = OpAccessChain %ptr_in %input %s32_0 {}",
    before: str = "",
    vector: str = "",
) -> bytes:
    """Build a module that loads a matrix through ``functions`` and stores it in row-major order, subgroup i after subgroup i - 1."""
    flags = ["TensorView"] * bool(permutation) + ["DecodeFunc"] + ["DecodeVectorFunc"] * bool(vector)
    extras = [f"%v{len(view_lines)}"] * bool(permutation) + ["%decode", *vector.split()]
    addressing = f"{'|'.join(flags)} {' '.join(extras)}"
    body = flat(SHAPE) + layout(lines) + (view(view_lines) if permutation else "") + before
    body += pointer.format(operand(at))
    body += f"""
%m = OpCooperativeMatrixLoadTensorNV %matrix %from %seven %t{len(lines)} None {addressing}
%first = OpIMul %u32 {"%subgroup" if scope == 3 else "%u32_0"} %u32_32
%to = OpAccessChain %ptr_out %output %s32_0 %first
OpCooperativeMatrixStoreTensorNV %to %m %flat1 None None
"""
    declared = types(SHAPE, 2, mode, permutation, scope=scope) + declarations
    decorations = DECORATIONS + (WIDE_DECORATIONS if vector else "")
    return shader(body, declared, decorations, functions, "PhysicalStorageBuffer64 Vulkan", capabilities=capabilities)


def encoded(row: np.ndarray, column: np.ndarray, pitch: int = 2, base: int = 0) -> np.ndarray:
    """Return the result of ENCODE for the element at (row, column) of a tensor with blocks of 1 x 4 and ``pitch`` blocks in a row."""
    block = row * pitch + column // 4 + base
    return 100 * block + column % 4 + 10000 * row + 100000 * (column // 4)


@pytest.mark.parametrize("mapping", MAPPINGS)
def test_the_function_gets_its_block_and_the_place_in_it(result, mapping) -> None:
    assert result(module(), BLOCKS, 128, mapping=mapping).reshape(SHAPE).tolist() == encoded(ROWS, COLUMNS).tolist()


def test_blocks_of_several_rows_count_in_both_dimensions(result) -> None:
    lines = ["block 2 4", "dimension 4 8"]
    got = result(module(lines), BLOCKS, 128).reshape(SHAPE)
    block = ROWS // 2 * 2 + COLUMNS // 4
    want = 100 * block + COLUMNS % 4 + 10000 * (ROWS // 2) + 100000 * (COLUMNS // 4) + 1000000 * (ROWS % 2)
    assert got.tolist() == want.tolist()


def test_the_pointer_counts_blocks_from_where_it_points(result) -> None:
    # Pitch 3: a tensor of 9 columns has 2 1/4 blocks in a row, rounded up. The pointer points two blocks further.
    lines = ["block 1 4", "dimension 4 9", "slice 0 4 0 8"]
    assert result(module(lines, at="8"), BLOCKS, 128).reshape(SHAPE).tolist() == encoded(ROWS, COLUMNS, 3, 2).tolist()


def test_the_clamp_value_takes_the_place_of_a_call(result) -> None:
    lines = [*LINES, "slice -1 4 2 8", "value 77"]
    got = result(module(lines, Mode.Constant), BLOCKS, 128).reshape(SHAPE)
    inside = (ROWS >= 1) & (COLUMNS < 6)
    assert got.tolist() == np.where(inside, encoded(ROWS - 1, COLUMNS + 2), 77).tolist()


def test_a_repeated_coordinate_is_what_the_function_gets(result) -> None:
    got = result(module([*LINES, "slice -1 4 3 8"], Mode.Repeat), BLOCKS, 128).reshape(SHAPE)
    assert got.tolist() == encoded((ROWS - 1) % 4, (COLUMNS + 3) % 8).tolist()


def test_elements_that_the_view_clips_keep_the_value_of_the_object(result) -> None:
    built = module(permutation="0 1", view_lines=("clip 1 2 2 4",))
    got = result(built, BLOCKS, 128).reshape(SHAPE)
    inside = (ROWS >= 1) & (ROWS < 3) & (COLUMNS >= 2) & (COLUMNS < 6)
    index = (ROWS - 1) * 4 + COLUMNS - 2
    assert got.tolist() == np.where(inside, encoded(index // 8 % 4, index % 8), 7).tolist()


def test_a_function_that_leaves_the_pointer_alone_reads_nothing(result) -> None:
    functions = PARAMETERS + "%word = OpCompositeExtract %u32 %within 1\n" + ENCODE + "OpFunctionEnd"
    got = result(module(functions=functions), words(0, 0, 0, 0), 128).reshape(SHAPE)
    assert got.tolist() == (COLUMNS % 4 + 10000 * ROWS + 100000 * (COLUMNS // 4)).tolist()


def test_each_subgroup_loads_from_its_own_place(result) -> None:
    pointer = "%eight = OpIMul %u32 %subgroup %u32_8\n%from = OpAccessChain %ptr_in %input %s32_0 %eight"
    got = result(module(pointer=pointer), BLOCKS, 256, subgroups=2).reshape(2, *SHAPE)
    assert got.tolist() == [encoded(ROWS, COLUMNS).tolist(), encoded(ROWS, COLUMNS, base=2).tolist()]


def test_a_matrix_of_the_workgroup_is_decoded_once(result) -> None:
    got = result(module(scope=2), BLOCKS, 128, subgroups=2).reshape(SHAPE)
    assert got.tolist() == encoded(ROWS, COLUMNS).tolist()


def swapped(text: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


RETURN = "OpReturnValue %s2"
RULES = {
    "out of bounds": ({"at": "36"}, "KHR-MEM-02"),
    "a pointer that is not aligned": ({"at": "1"}, "CM2-LT-06"),
    "no function": ({"functions": "%decode = OpConstant %u32 1"}, "CM2-DEC-01"),
    "another return type": (
        {
            "declarations": swapped(BLOCK, ("OpTypeFunction %u32", "OpTypeFunction %s32")),
            "functions": swapped(WHOLE, ("OpFunction %u32", "OpFunction %s32"), (RETURN, "OpReturnValue %s32_0")),
        },
        "CM2-DEC-01",
    ),
    "a pointer to another storage": (
        {
            "declarations": swapped(BLOCK, ("%ptr_block %coords", "%ptr_in %coords")),
            "functions": swapped(WHOLE, (READ, ""), ("%ptr_block", "%ptr_in"), ("%word", "%b0")),
        },
        "CM2-DEC-02",
    ),
    "arrays of another length": ({"declarations": swapped(BLOCK, ("%u32 %u32_2", "%u32 %u32_3"))}, "CM2-DEC-03"),
    "arrays of 16 bits": (
        {"declarations": swapped(BLOCK, ("%u32 %u32_2", "%u16 %u32_2")), "functions": PARAMETERS + "OpReturnValue %u32_1\nOpFunctionEnd"},
        "CM2-DEC-03",
    ),
    "a structure that ends in a gap": (
        {"declarations": swapped(BLOCK, ("OpTypeStruct %quad", "OpTypeStruct %quad %u8"))},
        "F-CM2-6",
    ),
    "a runtime array": ({"declarations": swapped(BLOCK, ("OpTypeArray %u32 %u32_4", "OpTypeRuntimeArray %u32"))}, "F-CM2-6"),
    "a store": (
        {"functions": swapped(WHOLE, (RETURN, "%p = OpAccessChain %ptr_out %output %s32_0 %u32_0\nOpStore %p %s2\n" + RETURN))},
        "F-CM2-10",
    ),
    "a barrier": ({"functions": swapped(WHOLE, (RETURN, "OpControlBarrier %u32_2 %u32_2 %u32_264\n" + RETURN))}, "CM2-TGL-02"),
    "an undefined result": ({"functions": swapped(WHOLE, (RETURN, "%u = OpUndef %u32\nOpReturnValue %u"))}, "SPIR-V 3.3.1 OpUndef"),
}


@pytest.mark.parametrize("what", RULES)
def test_a_rule_of_decode_functions_stops(forbidden, what) -> None:
    options, rule = RULES[what]
    assert forbidden(module(**options), BLOCKS, 128).rule == rule


def test_workgroup_memory_cannot_be_decoded(forbidden) -> None:
    pointer = "%from = OpAccessChain %ptr_shared %shared %u32_0\n"
    assert forbidden(module(pointer=pointer), BLOCKS, 128).rule == "CM2-DEC-07"


VECTOR = """
%ptr_pair = OpTypePointer PhysicalStorageBuffer %u32x2
%pairs = OpTypeArray %u32x2 %u32_2
%wide_block = OpTypeStruct %pairs
%ptr_wide = OpTypePointer PhysicalStorageBuffer %wide_block
%vector_type = OpTypeFunction %u32x2 %ptr_wide %coords %coords
"""
WIDE_DECORATIONS = "\nOpDecorate %pairs ArrayStride 8\nOpMemberDecorate %wide_block 0 Offset 0\nOpDecorate %wide_block Block"
# (word at the place, word after it) + 5000000 + 10000 * place in the block
DECODE_PAIR = """
%decode_pair = OpFunction %u32x2 None %vector_type
%v_b = OpFunctionParameter %ptr_wide
%v_at_block = OpFunctionParameter %coords
%v_in_block = OpFunctionParameter %coords
%v_entry = OpLabel
%v_c1 = OpCompositeExtract %u32 %v_in_block 1
%v_half = OpShiftRightLogical %u32 %v_c1 %u32_1
%v_at = OpAccessChain %ptr_pair %v_b %s32_0 %v_half
%v_pair = OpLoad %u32x2 %v_at Aligned 8
%v_scaled = OpIMul %u32 %v_c1 %u32_10000
%v_marked = OpIAdd %u32 %v_scaled %u32_5000000
%v_both = OpCompositeConstruct %u32x2 %v_marked %v_marked
%v_sum = OpIAdd %u32x2 %v_pair %v_both
OpReturnValue %v_sum
OpFunctionEnd
"""
PLAIN = PARAMETERS + READ + "OpReturnValue %word\nOpFunctionEnd"
VECTOR_CAPABILITIES = (*CAPABILITIES[:1], "CooperativeMatrixDecodeVectorNV", CAPABILITIES[2])


WHEREVER_POSSIBLE = Faults(operations={chosen_groups: lambda _: lambda seed, site, instance, count: np.ones(count, bool)})
"""A device that uses the vector function for every group where this is permitted."""


def vector_module(lines: list[str] = LINES, scalar: str = PLAIN, pair: str = DECODE_PAIR, declared: str = VECTOR, **options) -> bytes:
    given = {"capabilities": VECTOR_CAPABILITIES, "vector": "%decode_pair", **options}
    return module(lines, functions=scalar + pair, declarations="%u32x2 = OpTypeVector %u32 2\n" + BLOCK + declared, **given)


def pairs(row: np.ndarray, column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the results of PLAIN and DECODE_PAIR for an element."""
    word = 100 * (row * 2 + column // 4) + column % 4
    return word, word + 5000000 + 10000 * (column % 4 & ~1)


def test_a_component_goes_to_each_element_of_a_group(result) -> None:
    got = result(vector_module(), BLOCKS, 128, faults=WHEREVER_POSSIBLE).reshape(SHAPE)
    assert got.tolist() == pairs(ROWS, COLUMNS)[1].tolist()


def test_a_seed_chooses_one_function_or_both(result) -> None:
    scalar, vector = pairs(ROWS, COLUMNS)
    shares = []
    for seed in range(20):
        got = result(vector_module(), BLOCKS, 128, choices=seed).reshape(SHAPE)
        by_vector = got == vector
        assert (by_vector | (got == scalar)).all()
        assert (by_vector[:, ::2] == by_vector[:, 1::2]).all(), "a group is decoded by one function"
        shares.append(by_vector.mean())
    assert 0 in shares
    assert 1 in shares
    assert len(set(shares)) > 3


def test_the_elements_of_a_group_that_the_matrix_has_in_part_are_decoded_one_by_one(result) -> None:
    lines = ["block 1 4", "dimension 4 16", "slice 0 4 3 8"]
    got = result(vector_module(lines), BLOCKS, 128, faults=WHEREVER_POSSIBLE).reshape(SHAPE)
    column = COLUMNS + 3
    word = 100 * (ROWS * 4 + column // 4) + column % 4
    alone = (COLUMNS == 0) | (COLUMNS == 7)
    assert got.tolist() == np.where(alone, word, word + 5000000 + 10000 * (column % 4 & ~1)).tolist()


def test_groups_run_along_the_tensor_whatever_the_view(result) -> None:
    lines = ["block 1 4", "dimension 8 4"]
    got = result(vector_module(lines, permutation="1 0", view_lines=()), BLOCKS, 128, faults=WHEREVER_POSSIBLE).reshape(SHAPE)
    # Element i of the matrix is (i % 8, i // 8) of the tensor of 8 x 4; each row of the tensor is a block.
    word = 100 * COLUMNS + ROWS
    assert got.tolist() == (word + 5000000 + 10000 * (ROWS & ~1)).tolist()


VECTOR_RULES = {
    "a block that is not a multiple": ({"lines": ["block 1 3", "dimension 4 9"]}, "DV-SEM-07"),
    "a scalar": ({"vector": "%decode"}, "DV-FN-01"),
    "a vector of another type": (
        {
            "declared": swapped(VECTOR, ("OpTypeFunction %u32x2", "OpTypeFunction %s32x2")).replace(
                "%ptr_pair", "%s32x2 = OpTypeVector %s32 2\n%ptr_pair", 1
            ),
            "pair": swapped(
                DECODE_PAIR,
                ("OpFunction %u32x2", "OpFunction %s32x2"),
                ("OpReturnValue %v_sum", "%v_u = OpUndef %s32x2\nOpReturnValue %v_u"),
            ),
        },
        "DV-FN-01",
    ),
    "three components": (
        {
            "declared": swapped(VECTOR, ("OpTypeFunction %u32x2", "OpTypeFunction %u32x3")),
            "pair": swapped(
                DECODE_PAIR,
                ("OpFunction %u32x2", "OpFunction %u32x3"),
                ("OpReturnValue %v_sum", "%v_u = OpUndef %u32x3\nOpReturnValue %v_u"),
            ),
        },
        "DV-FN-02",
    ),
    "arrays of another length": (
        {
            "declared": swapped(
                VECTOR, ("%vector_type = ", "%threes = OpTypeArray %u32 %u32_3\n%vector_type = "), ("%coords %coords", "%coords %threes")
            ),
            "pair": swapped(DECODE_PAIR, ("%v_in_block = OpFunctionParameter %coords", "%v_in_block = OpFunctionParameter %threes")),
        },
        "DV-FN-03",
    ),
    "a barrier": (
        {"pair": swapped(DECODE_PAIR, ("OpReturnValue", "OpControlBarrier %u32_2 %u32_2 %u32_264\nOpReturnValue"))},
        "CM2-TGL-02",
    ),
    "an undefined component": (
        {
            "pair": swapped(
                DECODE_PAIR,
                ("%v_sum = OpIAdd %u32x2 %v_pair %v_both", "%v_u = OpUndef %u32\n%v_sum = OpCompositeInsert %u32x2 %v_u %v_pair 1"),
            )
        },
        "SPIR-V 3.3.1 OpUndef",
    ),
}


@pytest.mark.parametrize("what", VECTOR_RULES)
def test_a_rule_of_vector_decode_functions_stops(forbidden, what) -> None:
    options, rule = VECTOR_RULES[what]
    assert forbidden(vector_module(**options), BLOCKS, 128, faults=WHEREVER_POSSIBLE).rule == rule


def test_a_vector_decode_function_alone_stops(forbidden) -> None:
    body = flat(SHAPE) + layout(LINES) + "%from = OpAccessChain %ptr_in %input %s32_0 %u32_0\n"
    body += "%m = OpCooperativeMatrixLoadTensorNV %matrix %from %seven %t2 None DecodeVectorFunc %decode_pair\n"
    declared = types(SHAPE, 2, Mode.Undefined) + "%u32x2 = OpTypeVector %u32 2\n" + BLOCK + VECTOR
    built = shader(body, declared, DECORATIONS, DECODE_PAIR, "PhysicalStorageBuffer64 Vulkan", capabilities=VECTOR_CAPABILITIES)
    assert forbidden(built, BLOCKS, 128).rule == "DV-OP-02"
