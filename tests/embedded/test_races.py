"""Accesses that no barrier orders, and accesses that a barrier orders."""

from __future__ import annotations

import pytest

from tests.embedded.assembly import shader, store, words

WORKGROUP_BARRIER = "OpControlBarrier %u32_2 %u32_2 %u32_{semantics}"
ACQUIRE_RELEASE, UNIFORM, WORKGROUP, AVAILABLE, VISIBLE = 0x8, 0x40, 0x100, 0x2000, 0x4000
EVERYTHING = ACQUIRE_RELEASE | UNIFORM | WORKGROUP | AVAILABLE | VISIBLE


def barrier(semantics: int = EVERYTHING, scope: str = "%u32_2") -> str:
    return f"OpControlBarrier {scope} {scope} %u32_{semantics}\n"


def hand_over(
    between: str, store_operands: str = "NonPrivatePointer", load_operands: str = "NonPrivatePointer", distance: int = 1
) -> bytes:
    """Build a module in which each invocation writes an element of workgroup memory and reads that of another invocation."""
    return shader(
        f"""
%own = OpAccessChain %ptr_shared %shared %lane
OpStore %own %lane {store_operands}
{between}
%other_index = OpBitwiseXor %u32 %lane %u32_{distance}
%other = OpAccessChain %ptr_shared %shared %other_index
%value = OpLoad %u32 %other {load_operands}
{store("%value")}
"""
    )


def test_a_barrier_orders_what_was_written_before_what_is_read_after(result) -> None:
    assert result(hand_over(barrier()), output=16).tolist() == [1, 0, 3, 2]


@pytest.mark.parametrize(
    ("between", "why"),
    [
        ("", "no barrier"),
        (barrier(0), "semantics that order nothing"),
        (barrier(EVERYTHING & ~WORKGROUP), "another kind of memory"),
        (barrier(EVERYTHING & ~AVAILABLE), "not made available"),
        (barrier(EVERYTHING & ~VISIBLE), "not made visible"),
        (f"OpMemoryBarrier %u32_2 %u32_{EVERYTHING}\n", "a fence without a control barrier"),
    ],
)
def test_a_hand_over_without_enough_ordering_is_a_race(forbidden, between, why) -> None:
    message = str(forbidden(hand_over(between)))
    assert "KHR-MEM-01" in message, why
    assert "OpLoad" in message
    assert "'shared'" in message


def test_private_accesses_are_not_ordered_by_a_barrier(forbidden) -> None:
    assert forbidden(hand_over(barrier(), store_operands="")).rule == "KHR-MEM-01"
    assert forbidden(hand_over(barrier(), load_operands="")).rule == "KHR-MEM-01"


def test_pointers_made_available_and_visible_need_no_such_barrier(result) -> None:
    module = hand_over(
        barrier(ACQUIRE_RELEASE | WORKGROUP),
        "MakePointerAvailable|NonPrivatePointer %u32_2",
        "MakePointerVisible|NonPrivatePointer %u32_2",
    )
    assert result(module, output=16).tolist() == [1, 0, 3, 2]


def test_availability_at_subgroup_scope_reaches_the_subgroup_only(result, forbidden) -> None:
    operands = "MakePointerAvailable|NonPrivatePointer %u32_3", "MakePointerVisible|NonPrivatePointer %u32_2"
    order = barrier(ACQUIRE_RELEASE | WORKGROUP)
    assert result(hand_over(order, *operands, distance=1), output=32, subgroups=2).tolist() == [1, 0, 3, 2, 5, 4, 7, 6]
    assert forbidden(hand_over(order, *operands, distance=4), output=32, subgroups=2).rule == "KHR-MEM-01"


def test_a_subgroup_barrier_orders_a_subgroup_only(result, forbidden) -> None:
    inside = hand_over(barrier(scope="%u32_3"), distance=1)
    assert result(inside, output=32, subgroups=2).tolist() == [1, 0, 3, 2, 5, 4, 7, 6]
    assert forbidden(hand_over(barrier(scope="%u32_3"), distance=4), output=32, subgroups=2).rule == "KHR-MEM-01"


def test_a_barrier_whose_memory_scope_is_the_invocation_orders_nothing(forbidden) -> None:
    assert forbidden(hand_over(f"OpControlBarrier %u32_2 %u32_4 %u32_{EVERYTHING}\n")).rule == "KHR-MEM-01"


def test_a_fence_before_a_barrier_adds_its_semantics(result) -> None:
    fence = f"OpMemoryBarrier %u32_2 %u32_{EVERYTHING}\nOpControlBarrier %u32_2 %u32_2 %u32_{ACQUIRE_RELEASE | UNIFORM}"
    assert result(hand_over(fence), output=16).tolist() == [1, 0, 3, 2]


def fence(semantics: int = EVERYTHING, scope: int = 2) -> str:
    return f"OpMemoryBarrier %u32_{scope} %u32_{semantics}\n"


def test_memory_barriers_that_follow_each_other(result) -> None:
    both = fence(EVERYTHING & ~UNIFORM) + fence(EVERYTHING & ~WORKGROUP)
    assert result(hand_over(both + barrier(0) + both), output=16).tolist() == [1, 0, 3, 2]


@pytest.mark.parametrize("scope", [2, 5])
def test_memory_barriers_on_both_sides_of_a_control_barrier(result, scope) -> None:
    assert result(hand_over(fence(scope=scope) + barrier(0) + fence(scope=scope)), output=16).tolist() == [1, 0, 3, 2]


def test_memory_barriers_of_the_subgroup(result, forbidden) -> None:
    inside = fence(scope=3) + barrier(0, "%u32_3") + fence(scope=3)
    assert result(hand_over(inside, distance=1), output=32, subgroups=2).tolist() == [1, 0, 3, 2, 5, 4, 7, 6]
    assert forbidden(hand_over(inside, distance=4), output=32, subgroups=2).rule == "KHR-MEM-01"
    assert forbidden(hand_over(fence(scope=3) + barrier(0) + fence(), distance=4), output=32, subgroups=2).rule == "KHR-MEM-01"


@pytest.mark.parametrize(
    ("between", "why"),
    [
        (fence() + barrier(0), "nothing acquires"),
        (barrier(0) + fence(), "nothing releases"),
        (fence(EVERYTHING & ~AVAILABLE) + barrier(0) + fence(), "not made available"),
        (fence() + barrier(0) + fence(EVERYTHING & ~VISIBLE), "not made visible"),
        (fence() + barrier(0) + fence(EVERYTHING & ~WORKGROUP), "another kind of memory is acquired"),
        (fence(EVERYTHING & ~WORKGROUP) + barrier(0) + fence(), "another kind of memory is released"),
    ],
)
def test_memory_barriers_that_are_not_enough(forbidden, between, why) -> None:
    assert forbidden(hand_over(between)).rule == "KHR-MEM-01", why


def test_writes_after_a_memory_barrier_are_not_released(forbidden) -> None:
    late = "%late = OpAccessChain %ptr_shared %shared %lane\nOpStore %late %u32_5 NonPrivatePointer\n"
    assert forbidden(hand_over(fence() + late + barrier(0) + fence())).rule == "KHR-MEM-01"


def test_two_invocations_store_to_one_byte(forbidden) -> None:
    assert forbidden(shader(store("%lane", "%u32_0"))).rule == "KHR-MEM-01"
    half = "%half = OpShiftRightLogical %u32 %lane %u32_1\n"
    assert forbidden(shader(half + store("%lane", "%half"))).rule == "KHR-MEM-01"


def test_two_stores_one_after_the_other_by_different_invocations(forbidden) -> None:
    other = "%mirror = OpISub %u32 %u32_3 %lane\n"
    assert forbidden(shader(store("%lane") + "\n" + other + store("%lane", "%mirror", "again"))).rule == "KHR-MEM-01"


def test_an_invocation_may_overwrite_what_it_wrote(result) -> None:
    assert result(shader(store("%lane") + "\n" + store("%u32_5", name="again")), output=16).tolist() == [5] * 4


def test_a_store_to_what_another_invocation_reads(forbidden) -> None:
    body = f"""
%mirror = OpISub %u32 %u32_3 %lane
%from = OpAccessChain %ptr_out %output %s32_0 %mirror
%old = OpLoad %u32 %from NonPrivatePointer
{store("%old")}
"""
    assert forbidden(shader(body)).rule == "KHR-MEM-01"


def test_reads_by_many_count_although_the_writer_is_one_of_them(forbidden) -> None:
    body = f"""
%from = OpAccessChain %ptr_out %output %s32_0 %u32_0
%old = OpLoad %u32 %from NonPrivatePointer
%first = OpIEqual %bool %lane %u32_0
OpSelectionMerge %merge None
OpBranchConditional %first %write %merge
%write = OpLabel
{store("%u32_1")}
OpBranch %merge
%merge = OpLabel
"""
    assert forbidden(shader(body)).rule == "KHR-MEM-01"


def test_reads_before_a_barrier_do_not_count_after_it(result) -> None:
    body = f"""
%from = OpAccessChain %ptr_out %output %s32_0 %u32_0
%old = OpLoad %u32 %from NonPrivatePointer
{barrier()}
%again = OpLoad %u32 %from NonPrivatePointer
{barrier()}
%place = OpAccessChain %ptr_out %output %s32_0 %lane
OpStore %place %u32_4 NonPrivatePointer
"""
    assert result(shader(body), output=16).tolist() == [4] * 4


def test_workgroups_are_never_ordered(forbidden) -> None:
    assert forbidden(shader(store("%lane")), workgroups=2).rule == "KHR-MEM-01"


def test_workgroups_that_write_apart(result) -> None:
    body = "%first = OpIMul %u32 %workgroup_x %u32_4\n%at = OpIAdd %u32 %first %lane\n" + store("%at", "%at")
    assert result(shader(body), output=32, workgroups=2).tolist() == list(range(8))


def last_workgroup(
    order: int = ACQUIRE_RELEASE | UNIFORM,
    scope: int = 5,
    store_operands: str = "MakePointerAvailable|NonPrivatePointer %u32_5",
    load_operands: str = "MakePointerVisible|NonPrivatePointer %u32_5",
    before: str | None = None,
    after: str | None = None,
) -> bytes:
    """Build a module in which two workgroups write four elements each, element 8 counts them, and the second one adds 100 to the elements
    of the first."""
    return shader(
        f"""
%first = OpIMul %u32 %workgroup_x %u32_4
%at = OpIAdd %u32 %first %lane
%own = OpAccessChain %ptr_out %output %s32_0 %at
OpStore %own %at {store_operands}
{barrier() if before is None else before}
%leader = OpIEqual %bool %lane %u32_0
OpSelectionMerge %counted None
OpBranchConditional %leader %count %counted
%count = OpLabel
%counter = OpAccessChain %ptr_out %output %s32_0 %u32_8
%old = OpAtomicIAdd %u32 %counter %u32_{scope} %u32_{order} %u32_1
%told = OpAccessChain %ptr_shared %shared %u32_0
OpStore %told %old NonPrivatePointer
OpBranch %counted
%counted = OpLabel
{barrier() if after is None else after}
%tell = OpAccessChain %ptr_shared %shared %u32_0
%arrival = OpLoad %u32 %tell NonPrivatePointer
%is_last = OpIEqual %bool %arrival %u32_1
OpSelectionMerge %merge None
OpBranchConditional %is_last %go %merge
%go = OpLabel
%from = OpAccessChain %ptr_out %output %s32_0 %lane
%value = OpLoad %u32 %from {load_operands}
%more = OpIAdd %u32 %value %u32_100
%place = OpIAdd %u32 %lane %u32_9
%to = OpAccessChain %ptr_out %output %s32_0 %place
OpStore %to %more NonPrivatePointer
OpBranch %merge
%merge = OpLabel
"""
    )


def test_an_atomic_orders_what_earlier_workgroups_wrote(result) -> None:
    assert result(last_workgroup(), output=52, workgroups=2).tolist() == [*range(8), 2, 100, 101, 102, 103]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"order": UNIFORM}, "a relaxed atomic"),
        ({"order": ACQUIRE_RELEASE | WORKGROUP}, "another kind of memory"),
        ({"scope": 2}, "an atomic of the workgroup's scope"),
        ({"store_operands": "MakePointerAvailable|NonPrivatePointer %u32_2"}, "made available to the workgroup only"),
        ({"load_operands": "NonPrivatePointer"}, "not made visible"),
        ({"before": ""}, "no barrier before the atomic"),
        ({"after": barrier(ACQUIRE_RELEASE | WORKGROUP | AVAILABLE | VISIBLE)}, "a barrier after it that does not cover buffers"),
    ],
)
def test_an_atomic_that_does_not_order_workgroups(forbidden, changes, why) -> None:
    assert forbidden(last_workgroup(**changes), output=52, workgroups=2).rule == "KHR-MEM-01", why


CHAINED = ACQUIRE_RELEASE | UNIFORM | AVAILABLE | VISIBLE
PLAIN = {"store_operands": "NonPrivatePointer", "load_operands": "NonPrivatePointer"}


def test_an_atomic_makes_available_and_visible_what_barriers_do_in_the_workgroup(result) -> None:
    assert result(last_workgroup(CHAINED, **PLAIN), output=52, workgroups=2).tolist() == [*range(8), 2, 100, 101, 102, 103]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"order": CHAINED & ~AVAILABLE}, "the atomic makes nothing available"),
        ({"order": CHAINED & ~VISIBLE}, "the atomic makes nothing visible"),
        ({"before": barrier(EVERYTHING & ~AVAILABLE)}, "the barrier before it makes nothing available"),
        ({"after": barrier(EVERYTHING & ~VISIBLE)}, "the barrier after it makes nothing visible"),
    ],
)
def test_a_chain_with_a_link_missing_is_a_race(forbidden, changes, why) -> None:
    assert forbidden(last_workgroup(**{"order": CHAINED, **PLAIN, **changes}), output=52, workgroups=2).rule == "KHR-MEM-01", why


def one_invocation(order: int = CHAINED, later: str = "", reader: int = 0) -> bytes:
    """Build a module for two workgroups. The first invocation of the first workgroup writes element 0. The first invocation of each
    workgroup counts in element 8. In the second workgroup, invocation ``reader`` reads element 0. ``later`` follows the first
    workgroup's atomic."""
    return shader(
        f"""
%own = OpAccessChain %ptr_out %output %s32_0 %u32_0
%counter = OpAccessChain %ptr_out %output %s32_0 %u32_8
%leader = OpIEqual %bool %lane %u32_0
%begins = OpIEqual %bool %workgroup_x %u32_0
%writes = OpLogicalAnd %bool %leader %begins
OpSelectionMerge %written None
OpBranchConditional %writes %write %written
%write = OpLabel
OpStore %own %u32_7 NonPrivatePointer
%released = OpAtomicIAdd %u32 %counter %u32_5 %u32_{order} %u32_1
{later}
OpBranch %written
%written = OpLabel
%ends = OpIEqual %bool %workgroup_x %u32_1
%asks = OpLogicalAnd %bool %leader %ends
OpSelectionMerge %asked None
OpBranchConditional %asks %ask %asked
%ask = OpLabel
%acquired = OpAtomicIAdd %u32 %counter %u32_5 %u32_{order} %u32_1
OpBranch %asked
%asked = OpLabel
%chosen = OpIEqual %bool %lane %u32_{reader}
%reads = OpLogicalAnd %bool %chosen %ends
OpSelectionMerge %merge None
OpBranchConditional %reads %read %merge
%read = OpLabel
%value = OpLoad %u32 %own NonPrivatePointer
%to = OpAccessChain %ptr_out %output %s32_0 %u32_4
OpStore %to %value NonPrivatePointer
OpBranch %merge
%merge = OpLabel
"""
    )


def test_an_invocation_that_releases_needs_no_barrier_for_its_own_accesses(result, forbidden) -> None:
    assert result(one_invocation(), output=36, workgroups=2).tolist() == [7, 0, 0, 0, 7, 0, 0, 0, 2]
    assert forbidden(one_invocation(reader=1), output=36, workgroups=2).rule == "KHR-MEM-01"
    assert forbidden(one_invocation(ACQUIRE_RELEASE | UNIFORM), output=36, workgroups=2).rule == "KHR-MEM-01"


def test_writes_after_an_invocations_release_are_not_released(forbidden) -> None:
    assert forbidden(one_invocation(later="OpStore %own %u32_8 NonPrivatePointer"), output=36, workgroups=2).rule == "KHR-MEM-01"


def test_a_relaxed_store_ends_what_was_released(forbidden) -> None:
    later = "OpAtomicStore %counter %u32_5 %u32_0 %u32_1"
    assert forbidden(one_invocation(later=later), output=36, workgroups=2).rule == "KHR-MEM-01"


def test_atomics_race_with_plain_accesses_only(forbidden, result) -> None:
    atomic = "%place = OpAccessChain %ptr_out %output %s32_0 %u32_0\n%old = OpAtomicIAdd %u32 %place %u32_1 %u32_0 %u32_1\n"
    again = "%older = OpAtomicIAdd %u32 %place %u32_1 %u32_0 %u32_1\n"
    assert result(shader(atomic + again), output=16)[0] == 8
    assert forbidden(shader(atomic + "%plain = OpLoad %u32 %place")).rule == "KHR-MEM-01"


def test_a_barrier_that_not_all_reach(forbidden) -> None:
    body = f"""
%low = OpULessThan %bool %lane %u32_2
OpSelectionMerge %merge None
OpBranchConditional %low %wait %merge
%wait = OpLabel
{barrier()}
OpBranch %merge
%merge = OpLabel
"""
    assert forbidden(shader(body)).rule == "SPIR-V 3.42.20 OpControlBarrier"


def test_a_subgroup_barrier_that_one_whole_subgroup_reaches(result) -> None:
    body = f"""
%first = OpIEqual %bool %subgroup %u32_0
OpSelectionMerge %merge None
OpBranchConditional %first %wait %merge
%wait = OpLabel
{barrier(scope="%u32_3")}
OpBranch %merge
%merge = OpLabel
{store("%lane")}
"""
    assert result(shader(body), output=32, subgroups=2).tolist() == list(range(8))


def exchange_in(barriers: tuple[str, str]) -> bytes:
    """Build a module in which each invocation stores to shared memory, the first subgroup in one arm of a branch and the second one in the
    other, each arm with a barrier or none; then each reads, still in its arm, what its neighbour stored."""

    def arm(name: str, between: str) -> str:
        return f"""
%{name} = OpLabel
%own_{name} = OpAccessChain %ptr_shared %shared %lane
OpStore %own_{name} %lane NonPrivatePointer
{between}
%index_{name} = OpBitwiseXor %u32 %lane %u32_1
%other_{name} = OpAccessChain %ptr_shared %shared %index_{name}
%value_{name} = OpLoad %u32 %other_{name} NonPrivatePointer
OpBranch %merge
"""

    return shader(
        f"""
%low = OpULessThan %bool %lane %u32_4
OpSelectionMerge %merge None
OpBranchConditional %low %first %second
{arm("first", barriers[0])}
{arm("second", barriers[1])}
%merge = OpLabel
%value = OpPhi %u32 %value_first %first %value_second %second
{store("%value")}
"""
    )


def test_a_subgroup_barrier_orders_the_subgroups_that_execute_it(result, forbidden) -> None:
    own = barrier(scope="%u32_3")
    assert result(exchange_in((own, own)), output=32, subgroups=2).tolist() == [1, 0, 3, 2, 5, 4, 7, 6]
    assert forbidden(exchange_in((own, "")), subgroups=2).rule == "KHR-MEM-01"
    assert forbidden(exchange_in(("", own)), subgroups=2).rule == "KHR-MEM-01"


def test_a_subgroup_barrier_of_one_subgroup_does_not_order_what_the_others_did_before(result, forbidden) -> None:
    """The second subgroup stores and reads without its own barrier; the first subgroup's barrier is executed in between."""
    body = f"""
%low = OpULessThan %bool %lane %u32_4
%own = OpAccessChain %ptr_shared %shared %lane
OpStore %own %lane NonPrivatePointer
OpSelectionMerge %merge None
OpBranchConditional %low %some %merge
%some = OpLabel
{barrier(scope="%u32_3")}
OpBranch %merge
%merge = OpLabel
%index = OpBitwiseXor %u32 %lane %u32_1
%other = OpAccessChain %ptr_shared %shared %index
%value = OpLoad %u32 %other NonPrivatePointer
{store("%value")}
"""
    assert result(shader(body), output=16, subgroups=1).tolist() == [1, 0, 3, 2]
    assert forbidden(shader(body), subgroups=2).rule == "KHR-MEM-01"


def test_without_the_vulkan_memory_model_nothing_is_private(result) -> None:
    body = f"""
%own = OpAccessChain %ptr_shared %shared %lane
OpStore %own %lane
{barrier(ACQUIRE_RELEASE | WORKGROUP)}
%other_index = OpBitwiseXor %u32 %lane %u32_1
%other = OpAccessChain %ptr_shared %shared %other_index
%value = OpLoad %u32 %other
{store("%value")}
"""
    assert result(shader(body, memory_model="Logical GLSL450"), output=16).tolist() == [1, 0, 3, 2]


MATRIX = """
%m4 = OpTypeCooperativeMatrixKHR %u32 %u32_3 %u32_4 %u32_4 %u32_2
"""


def tile(name: str, at: str, kind: str = "load") -> str:
    place = f"%{name}_place = OpAccessChain %ptr_out %output %s32_0 {at}\n"
    if kind == "load":
        return place + f"%{name} = OpCooperativeMatrixLoadKHR %m4 %{name}_place %u32_0 %u32_4 NonPrivatePointer\n"
    return place + f"OpCooperativeMatrixStoreKHR %{name}_place %value %u32_0 %u32_4 NonPrivatePointer\n"


GIVEN = "%given_place = OpAccessChain %ptr_in %input %s32_0 %u32_0\n%value = OpCooperativeMatrixLoadKHR %m4 %given_place %u32_0 %u32_4\n"


def matrix_shader(body: str) -> bytes:
    return shader(GIVEN + body, MATRIX)


INPUT = words(*range(16))


def test_a_matrix_read_after_it_was_written_by_the_same_subgroup_needs_a_barrier(forbidden, result) -> None:
    again = tile("a", "%u32_0", "store")
    assert forbidden(matrix_shader(again + tile("b", "%u32_0")), INPUT).rule == "KHR-MEM-01"
    assert forbidden(matrix_shader(again + tile("b", "%u32_0", "store")), INPUT).rule == "KHR-MEM-01"
    got = result(matrix_shader(again + barrier(scope="%u32_3") + tile("b", "%u32_0")), INPUT)
    assert got.tolist() == list(range(16))


def test_two_subgroups_store_one_tile(forbidden) -> None:
    assert forbidden(matrix_shader(tile("a", "%u32_0", "store")), INPUT, subgroups=2).rule == "KHR-MEM-01"


def test_two_subgroups_store_tiles_that_overlap_by_a_row(forbidden, result) -> None:
    shifted = "%at = OpIMul %u32 %subgroup %u32_{}\n" + tile("a", "%at", "store")
    assert forbidden(matrix_shader(shifted.format(12)), INPUT, output=128, subgroups=2).rule == "KHR-MEM-01"
    assert result(matrix_shader(shifted.format(16)), INPUT, output=128, subgroups=2).tolist() == list(range(16)) * 2


def test_a_plain_access_next_to_a_matrix_access_in_one_subgroup(forbidden, result) -> None:
    plain = "%place = OpAccessChain %ptr_out %output %s32_0 %lane\nOpStore %place %u32_7 NonPrivatePointer\n"
    assert "OpCooperativeMatrixLoadKHR" in str(forbidden(matrix_shader(plain + tile("a", "%u32_0")), INPUT))
    assert "OpStore" in str(forbidden(matrix_shader(tile("a", "%u32_0", "store") + plain), INPUT))
    assert forbidden(matrix_shader(tile("a", "%u32_0") + plain), INPUT).rule == "KHR-MEM-01"
    assert result(matrix_shader(tile("a", "%u32_0", "store") + barrier() + plain), INPUT)[:5].tolist() == [7, 7, 7, 7, 4]


def test_matrix_loads_of_one_place_do_not_race(result) -> None:
    result(matrix_shader(tile("a", "%u32_0") + tile("b", "%u32_0")), INPUT, subgroups=2)
