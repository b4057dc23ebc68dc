"""Rules of tensor layouts, views, loads and stores: breaking one stops the kernel, and the message names the rule."""

from __future__ import annotations

import numpy as np
import pytest

from generators.spirv.enumerants import Op
from generators.spirv.enumerants import TensorClampMode as Mode
from tests.embedded.assembly import shader, words
from tests.embedded.conftest import run
from tests.embedded.tensors import flat, layout, load_module, store_module, types, view

SHAPE = (4, 4)
NUMBERS = words(*range(100, 164))
WHOLE = ["dimension 8 8"]
HALF = 0x80000000

LOADS: dict[str, tuple[str, Mode, list[str]]] = {
    "below, Undefined": ("CM2-CL-01", Mode.Undefined, ["dimension 8 8", "slice -1 4 0 4"]),
    "above, Undefined": ("CM2-CL-01", Mode.Undefined, ["dimension 8 8", "slice 0 4 5 4"]),
    "no dimensions": ("F-TA-12", Mode.Constant, []),
    "span 0": ("F-TA-12", Mode.Constant, ["dimension 8 8", "slice 0 4 0 0"]),
    "dimension 0, to the edge": ("F-TA-12", Mode.ClampToEdge, ["dimension 0 8", "slice 0 4 0 4"]),
    "dimension 0, repeated": ("F-TA-12", Mode.Repeat, ["dimension 8 0", "slice 0 4 0 4"]),
    "block size 0": ("F-TA-12", Mode.Constant, ["dimension 8 8", "block 1 0"]),
    "block size 0 before dimensions": ("F-TA-12", Mode.Constant, ["block 1 0", "dimension 8 8"]),
    "mirrored 1": ("F-TA-2", Mode.RepeatMirrored, ["dimension 8 1", "slice 0 4 0 4"]),
    "small stride": ("TA-STR-02", Mode.Undefined, ["dimension 8 8", "stride 7 1"]),
    "small stride of blocks": ("TA-STR-02", Mode.Undefined, ["block 1 3", "dimension 8 8", "stride 5 2"]),
    "offsets beyond 32 bits": ("F-TA-6", Mode.Constant, ["dimension 8 8", "slice 2147483647 4 0 4", "slice 1 4 0 4"]),
    "offsets below 32 bits": ("F-TA-6", Mode.Constant, ["dimension 8 8", "slice -2147483648 4 0 4", "slice -1 4 0 4"]),
    "coordinate beyond 32 bits": ("F-TA-6", Mode.Constant, ["dimension 8 8", "slice 2147483645 4 0 4"]),
    "dimension beyond 32 signed bits": ("F-TA-6", Mode.Constant, [f"dimension {HALF} 1", "slice 0 4 0 4"]),
    "endless dimension, repeated": ("F-TA-6", Mode.Repeat, ["dimension 4294967295 8", "slice 0 4 0 4"]),
    "mirrored period beyond 32 signed bits": ("F-TA-6", Mode.RepeatMirrored, ["dimension 1073741826 1", "slice -1 16 0 1"]),
    "default stride beyond 32 bits": ("F-TA-7", Mode.Constant, ["dimension 8 65536 65536"]),
    "index beyond 2^32": ("F-TA-7", Mode.Undefined, ["dimension 8 8", f"stride {HALF} 1", "slice 0 4 0 4"]),
    "bytes beyond the buffer": ("F-CM2-9", Mode.Undefined, ["dimension 8 8", "stride 536870912 1", "slice 0 4 0 4"]),
    "beyond the buffer": ("F-CM2-9", Mode.Undefined, ["dimension 8 9", "slice 4 4 4 4"]),
}


@pytest.mark.parametrize("what", LOADS)
def test_a_load_stops(forbidden, what) -> None:
    rule, mode, lines = LOADS[what]
    dim = len(lines[-1].split()) - 1 if lines else 2
    dim = dim // 2 if lines and lines[-1].startswith("slice") else dim
    said = str(forbidden(load_module(SHAPE, mode, dim, lines), NUMBERS))
    assert said.endswith(f"[{rule}]"), said


VIEWS: dict[str, tuple[str, bool, str, list[str]]] = {
    "clip rows wrap": ("F-TA-8", False, "0 1", ["clip 1 4294967295 0 4"]),
    "clip columns wrap": ("F-TA-8", False, "0 1", ["clip 0 4 2 4294967294"]),
    "own dimensions, none": ("F-TA-12", True, "0 1", []),
    "own dimension 0": ("F-TA-12", True, "0 1", ["dimension 4 0"]),
    "of other rank": ("F-TA-10", False, "0 1 2", []),
    "of lower rank": ("F-TA-10", False, "0", []),
    "index beyond 2^31": ("F-TA-7", True, "0 1", ["dimension 4 4", f"stride {HALF} 1"]),
    "default stride beyond 32 bits": ("F-TA-7", True, "0 1 2", ["dimension 1 65536 65536"]),
}


@pytest.mark.parametrize("what", VIEWS)
def test_a_load_through_a_view_stops(forbidden, what) -> None:
    rule, own, permutation, lines = VIEWS[what]
    said = str(forbidden(load_module(SHAPE, Mode.Undefined, 2, WHOLE, permutation=permutation, own=own, view_lines=lines), NUMBERS))
    assert said.endswith(f"[{rule}]"), said


def test_a_span_whose_strides_as_a_view_are_beyond_32_bits(forbidden) -> None:
    lines = ["dimension 8 1 1", "slice 0 1 0 65536 0 65536"]
    assert forbidden(load_module((1, 4), Mode.Repeat, 3, lines, permutation="0 1 2"), NUMBERS).rule == "F-TA-7"


STORES: dict[str, tuple[str, Mode, list[str]]] = {
    "blocks": ("CM2-ST-03", Mode.Constant, ["block 1 2", "dimension 4 8", "slice 0 4 0 4"]),
    "out of bounds, Undefined": ("CM2-CL-01", Mode.Undefined, ["dimension 4 8", "slice 1 4 0 4"]),
    "two elements at one place": ("F-TA-11", Mode.Undefined, ["dimension 4 8", "slice 0 2 0 4"]),
    "innermost stride 0": ("F-TA-11", Mode.Undefined, ["dimension 4 4", "stride 4 0"]),
    "beyond the buffer": ("F-CM2-9", Mode.Undefined, ["dimension 5 5", "slice 1 4 1 4"]),
}


@pytest.mark.parametrize("what", STORES)
def test_a_store_stops(forbidden, what) -> None:
    rule, mode, lines = STORES[what]
    assert forbidden(store_module(SHAPE, mode, 2, lines), NUMBERS).rule == rule


def test_the_pointer_of_a_load_or_store_is_a_multiple_of_16_bytes(forbidden) -> None:
    assert forbidden(load_module(SHAPE, Mode.Undefined, 2, ["dimension 4 4"], at="2"), NUMBERS).rule == "CM2-LT-06"
    assert forbidden(store_module(SHAPE, Mode.Undefined, 2, ["dimension 4 4"], at="2"), NUMBERS, 128).rule == "CM2-LT-06"


def test_operands_are_uniform_within_the_scope(forbidden, result) -> None:
    for lines, view_lines in (
        (["dimension 8 8", "slice %lane 4 0 4"], []),
        (["dimension %lane 8"], []),
        (["value %lane", *WHOLE], []),
        (WHOLE, ["clip 0 4 0 %lane"]),
        (["dimension 8 8", "slice %subgroup 4 0 4"], []),
    ):
        scope = 2 if any("%subgroup" in line for line in lines) else 3
        module = load_module(SHAPE, Mode.Repeat, 2, lines, permutation="0 1", view_lines=view_lines, scope=scope)
        assert forbidden(module, NUMBERS, 128, subgroups=2).rule == "CM2-LT-05"
    by_subgroup = load_module(SHAPE, Mode.Undefined, 2, ["dimension 8 8", "slice %subgroup 4 0 4"])
    rows = [[100 + 8 * r + c for c in range(4)] for r in range(5)]
    assert result(by_subgroup, NUMBERS, 128, subgroups=2).reshape(2, 4, 4).tolist() == [rows[:4], rows[1:]]


def test_the_pointer_is_uniform_within_the_scope(forbidden) -> None:
    assert forbidden(load_module(SHAPE, Mode.Undefined, 2, ["dimension 4 4"], at="%lane"), NUMBERS).rule == "CM2-LT-05"


FLAT_VIEW = "%flat_view = OpTypeTensorViewNV %u32_1 %false %u32_0\n%nothing = OpUndef %matrix\n"


def rows_of_flat(first: int, count: int) -> str:
    """Make %w, a view of some rows of %flat1."""
    clip = f"%u32_{first} %u32_{count} %u32_0 %u32_4"
    return f"%w0 = OpCreateTensorViewNV %flat_view\n%w = OpTensorViewSetClipNV %flat_view %w0 {clip}\n"


def in_branch(condition: str) -> bytes:
    """Build a module that, where a condition holds, loads row 0 of a tile over an undefined matrix and stores it. The tile begins in the
    subgroup's row."""
    body = flat(SHAPE) + layout(["dimension 8 8", "slice %subgroup 4 0 4"]) + view(["clip 0 1 0 4"]) + rows_of_flat(0, 1)
    body += f"""
%from = OpAccessChain %ptr_in %input %s32_0 %u32_0
%to = OpAccessChain %ptr_out %output %s32_0 %u32_0
{condition}
OpSelectionMerge %merge None
OpBranchConditional %is %yes %merge
%yes = OpLabel
%m = OpCooperativeMatrixLoadTensorNV %matrix %from %nothing %t2 None TensorView %v1
OpCooperativeMatrixStoreTensorNV %to %m %flat1 None TensorView %w
OpBranch %merge
%merge = OpLabel
"""
    return shader(body, types(SHAPE, 2, Mode.Undefined, "0 1") + FLAT_VIEW)


def test_a_load_that_one_subgroup_of_two_executes(result, forbidden) -> None:
    one_subgroup = in_branch("%is = OpIEqual %bool %subgroup %u32_1")
    assert result(one_subgroup, NUMBERS, subgroups=2).tolist() == [108, 109, 110, 111] + [0] * 12
    assert forbidden(in_branch("%is = OpULessThan %bool %lane %u32_2"), NUMBERS).rule == "KHR-UNI-01"


def test_a_matrix_of_the_workgroup_is_loaded_once_for_all(result) -> None:
    module = load_module((4, 8), Mode.Undefined, 2, ["dimension 8 8", "slice 1 4 0 8"], scope=2)
    assert result(module, NUMBERS, 128, subgroups=4).tolist() == list(range(108, 140))


def test_a_clip_region_that_needs_an_undefined_object(forbidden, result) -> None:
    def module(clip: str) -> bytes:
        body = flat(SHAPE) + layout(WHOLE) + view([clip])
        body += """
%from = OpAccessChain %ptr_in %input %s32_0 %u32_0
%m = OpCooperativeMatrixLoadTensorNV %matrix %from %nothing %t1 None TensorView %v1
%to = OpAccessChain %ptr_out %output %s32_0 %u32_0
OpCooperativeMatrixStoreTensorNV %to %m %flat1 None TensorView %w
"""
        return shader(rows_of_flat(1, 2) + body, types(SHAPE, 2, Mode.Undefined, "0 1") + FLAT_VIEW)

    # The store takes rows 1 and 2 only.
    assert result(module("clip 1 2 0 4"), NUMBERS).tolist()[:8] == list(range(100, 108))
    assert "undefined" in str(forbidden(module("clip 1 2 0 3"), NUMBERS))


def test_an_undefined_layout_is_not_used(forbidden) -> None:
    body = "%t = OpUndef %layout\n%u = OpTensorLayoutSetClampValueNV %layout %t %u32_1\n"
    assert "an undefined tensor layout or view is used" in str(forbidden(shader(body, types(SHAPE, 2, Mode.Undefined))))


def test_a_clamp_value_for_components_of_64_bits(forbidden) -> None:
    lines = ["dimension 2", "slice 0 4", "value 5"]
    assert forbidden(load_module((1, 4), Mode.Constant, 1, lines, component="u64"), NUMBERS).rule == "F-TA-16"


def shared(body: str) -> str:
    """Put ``body`` after code that fills %shared with 64 u32, each its own index."""
    fill = """
%sixteen = OpIMul %u32 %lane %u32_16
"""
    for i in range(16):
        fill += f"%at{i} = OpIAdd %u32 %sixteen %u32_{i}\n%p{i} = OpAccessChain %ptr_shared %shared %at{i}\n"
        fill += f"OpStore %p{i} %at{i} NonPrivatePointer\n"
    return fill + body


BARRIER = "OpControlBarrier %u32_2 %u32_2 %u32_24840\n"
TILE = flat(SHAPE) + layout(["dimension 8 8", "slice 4 4 2 4"])
READ = (
    "%ps = OpAccessChain %ptr_shared %shared %u32_0\n%m = OpCooperativeMatrixLoadTensorNV %matrix %ps %seven %t2 NonPrivatePointer None\n"
)
WRITE = "%to = OpAccessChain %ptr_out %output %s32_0 %u32_0\nOpCooperativeMatrixStoreTensorNV %to %m %flat1 None None\n"


def test_workgroup_memory_after_a_barrier(result, forbidden) -> None:
    declared = types(SHAPE, 2, Mode.Undefined)
    got = result(shader(TILE + shared(BARRIER + READ + WRITE), declared))
    assert got.reshape(4, 4).tolist() == [[8 * r + c for c in range(2, 6)] for r in range(4, 8)]
    assert forbidden(shader(TILE + shared(READ + WRITE), declared)).rule == "KHR-MEM-01"
    assert forbidden(shader(TILE + READ + WRITE, declared)).rule == "SPIR-V 3.3.8 OpVariable"
    beyond = flat(SHAPE) + layout(["dimension 9 8", "slice 5 4 0 4"])
    assert forbidden(shader(beyond + shared(BARRIER + READ + WRITE), declared)).rule == "F-CM2-9"


def test_two_stores_of_one_place_by_two_subgroups_race(forbidden, result) -> None:
    assert forbidden(store_module(SHAPE, Mode.Undefined, 2, ["dimension 4 4"]), NUMBERS, subgroups=2).rule == "KHR-MEM-01"
    apart = store_module((1, 4), Mode.Constant, 2, ["dimension 2 4", "slice %subgroup 1 0 4"])
    assert result(apart, NUMBERS, 32, subgroups=2).tolist() == [100, 101, 102, 103] * 2


def test_a_read_and_a_store_of_one_buffer_race_without_a_barrier(forbidden) -> None:
    body = TILE + "%at = OpAccessChain %ptr_out %output %s32_0 %u32_0\n"
    body += "%m = OpCooperativeMatrixLoadTensorNV %matrix %at %seven %flat1 None None\n"
    body += "OpCooperativeMatrixStoreTensorNV %at %m %flat1 None None\n"
    assert forbidden(shader(body, types(SHAPE, 2, Mode.Undefined))).rule == "KHR-MEM-01"


ARRAY = """
%sixteen_of_them = OpTypeArray %u32 %u32_16
%two_arrays = OpTypeStruct %sixteen_of_them %sixteen_of_them
%ptr_two_arrays = OpTypePointer StorageBuffer %two_arrays
%pair = OpVariable %ptr_two_arrays StorageBuffer
"""
DECORATED = """
OpDecorate %sixteen_of_them ArrayStride 4
OpDecorate %two_arrays Block
OpMemberDecorate %two_arrays 0 Offset 0
OpMemberDecorate %two_arrays 1 Offset 64
OpDecorate %pair Binding 0
OpDecorate %pair DescriptorSet 0
"""


def test_an_access_stays_in_the_array_that_the_pointer_points_into(forbidden, result) -> None:
    def module(member: str, index: str, lines: list[str]) -> bytes:
        body = flat((1, 4)) + layout(lines)
        body += f"%from = OpAccessChain %ptr_out %pair {member} {index}\n"
        body += "%m = OpCooperativeMatrixLoadTensorNV %matrix %from %seven %t2 None None\n" + WRITE
        text = types((1, 4), 1, Mode.Undefined) + ARRAY
        return shader(body, text, DECORATED)

    two_arrays = NUMBERS[:128]
    assert result(module("%s32_0", "%u32_8", ["dimension 8", "slice 4 4"]), two_arrays).tolist()[:4] == [112, 113, 114, 115]
    assert result(module("%s32_1", "%u32_8", ["dimension 8", "slice 4 4"]), two_arrays).tolist()[:4] == [128, 129, 130, 131]
    assert forbidden(module("%s32_0", "%u32_8", ["dimension 9", "slice 5 4"]), two_arrays).rule == "F-CM2-9"
    assert forbidden(module("%s32_0", "%workgroup_x", ["dimension 99", "slice 13 4"]), two_arrays).rule == "F-CM2-9"


def changed(module_text: str, before: str, after: str) -> bytes:
    assert before in module_text
    pointer = "%ptr_in_array = OpTypePointer StorageBuffer %in_array\n"
    return shader(module_text.replace(before, after), pointer + types(SHAPE, 2, Mode.Undefined, "0 1"))


LOAD_TEXT = (
    flat(SHAPE)
    + layout(WHOLE)
    + view([])
    + """
%from = OpAccessChain %ptr_in %input %s32_0 %u32_0
%m = OpCooperativeMatrixLoadTensorNV %matrix %from %seven %t1 None TensorView %v0
%to = OpAccessChain %ptr_out %output %s32_0 %u32_0
OpCooperativeMatrixStoreTensorNV %to %m %flat1 None None
"""
)
STATIC = [
    ("CM2-LT-02", "%seven %t1", "%seven %v0"),
    ("CM2-LT-02", "TensorView %v0", "TensorView %t1"),
    ("CM2-LT-01", "%from %seven %t1", "%from %u32_1 %t1"),
    ("CM2-MEM-01", "%t1 None TensorView", "%t1 NonPrivatePointer|MakePointerAvailable %u32_2 TensorView"),
    ("CM2-MEM-02", "%flat1 None None", "%flat1 NonPrivatePointer|MakePointerVisible %u32_2 None"),
    ("CM2-ST-02", "%flat1 None None", "%flat1 None DecodeFunc %main"),
    ("CM2-LT-04", "%from = OpAccessChain %ptr_in %input %s32_0 %u32_0", "%from = OpAccessChain %ptr_in_array %input %s32_0"),
    ("TA-DIM-04", "%t0 %u32_8 %u32_8", "%t0 %u32_8"),
    ("TA-DIM-04", "%t0 %u32_8 %u32_8", "%lane %u32_8 %u32_8"),
    ("TA-DIM-04", "%t0 %u32_8 %u32_8", "%t0 %u32_8 %u16_8"),
    ("TA-CRE-02", "%v0 = OpCreateTensorViewNV %view", "%v0 = OpCreateTensorViewNV %layout"),
    ("TA-CRE-02", "%t0 = OpCreateTensorLayoutNV %layout", "%t0 = OpCreateTensorLayoutNV %view"),
    ("SPIR-V 3.20 NonWritable", "%to = OpAccessChain %ptr_out %output", "%to = OpAccessChain %ptr_in %input"),
    ("TA-OPQ-01", "%m = ", "%e = OpCompositeExtract %u32 %t1 0\n%m = "),
    ("TA-OPQ-01", "%m = ", "%e = OpSelect %layout %true %t1 %t0\n%m = "),
]


@pytest.mark.parametrize(("rule", "before", "after"), STATIC)
def test_a_module_that_is_not_valid_stops(forbidden, rule, before, after) -> None:
    assert forbidden(changed(LOAD_TEXT, before, after), NUMBERS).rule == rule


def shortened(module: bytes, op: Op, count: int) -> bytes:
    """Return a module without the last ``count`` words of its instructions ``op``."""
    given = np.frombuffer(module, np.uint32).tolist()
    kept, at = given[:5], 5
    while at < len(given):
        length = given[at] >> 16
        drop = count if given[at] & 0xFFFF == op else 0
        kept += [given[at] - (drop << 16), *given[at + 1 : at + length - drop]]
        at += length
    return words(*kept).tobytes()


@pytest.mark.parametrize("op", [Op.CooperativeMatrixLoadTensorNV, Op.CooperativeMatrixStoreTensorNV])
def test_both_masks_are_there(forbidden, op) -> None:
    module = load_module(SHAPE, Mode.Undefined, 2, WHOLE)
    for count in 1, 2:
        assert f"Op{op.name} lacks operands" in str(forbidden(shortened(module, op, count), NUMBERS))


TYPES = [
    ("TA-TL-01", "%x = OpTypeTensorLayoutNV %u32_0 %u32_0"),
    ("TA-TL-01", "%x = OpTypeTensorLayoutNV %u32_6 %u32_0"),
    ("TA-TL-01", "%x = OpTypeTensorLayoutNV %u16_2 %u32_0"),
    ("TA-TL-02", "%x = OpTypeTensorLayoutNV %u32_2 %u32_5"),
    ("TA-TL-02", "%x = OpTypeTensorLayoutNV %u32_2 %f32_1"),
    ("TA-TV-01", "%x = OpTypeTensorViewNV %u32_6 %true %u32_0"),
    ("TA-TV-02", "%x = OpTypeTensorViewNV %u32_1 %u32_1 %u32_0"),
    ("TA-TV-03", "%x = OpTypeTensorViewNV %u32_2 %true %u32_0"),
    ("TA-TV-03", "%x = OpTypeTensorViewNV %u32_2 %true %u32_0 %u32_0"),
    ("TA-TV-03", "%x = OpTypeTensorViewNV %u32_2 %true %u32_1 %u32_2"),
    ("TA-OPQ-01", "%x = OpTypeTensorLayoutNV %u32_2 %u32_0\n%px = OpTypePointer Workgroup %x\n%vx = OpVariable %px Workgroup"),
]


@pytest.mark.parametrize(("rule", "declaration"), TYPES)
def test_a_type_that_is_not_valid_stops(forbidden, rule, declaration) -> None:
    assert forbidden(shader("", declaration)).rule == rule


def test_a_device_that_is_not_strict_goes_on() -> None:
    for mode, lines in ((Mode.Undefined, []), (Mode.Repeat, ["dimension 8 0", "slice 0 4 0 4"]), (Mode.Undefined, ["dimension 9 9"])):
        got = run(load_module(SHAPE, mode, 2, lines), NUMBERS, strict=False).outputs["output"]
        assert got.size == 64
    outcome = run(store_module(SHAPE, Mode.Undefined, 2, ["dimension 5 5", "slice 1 4 1 4"]), NUMBERS, strict=False)
    assert outcome.stray
    assert np.any(outcome.outputs["output"])
