"""Addresses equal the addresses of a loop over single elements."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cts.reference.addressing import element_offsets
from generators.errors import Rule
from generators.program.memory import Array, Inner, Pointee
from generators.program.values import BlockMember, BlockType
from generators.types import COMPONENT_TYPES, ComponentType, Layout, StorageClass
from tests.broken_rules import breaks


def slow(pitch: int, component: ComponentType, shape: tuple[int, int], first: int, stride: int, layout: Layout) -> list[list[int]]:
    rows = []
    for row in range(shape[0]):
        line = []
        for column in range(shape[1]):
            if layout is Layout.ROW_MAJOR:
                line.append((first + row * stride) * pitch + column * component.bytes)
            else:
                line.append((first + column * stride) * pitch + row * component.bytes)
        rows.append(line)
    return rows


@given(
    st.sampled_from(list(COMPONENT_TYPES.values())),
    st.sampled_from(list(COMPONENT_TYPES.values())),
    st.sampled_from([1, 2, 4]),
    st.tuples(st.integers(1, 5), st.integers(1, 5)),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=3),
    st.sampled_from(Layout),
)
def test_offsets_count_the_pointee(
    component: ComponentType,
    declared: ComponentType,
    lanes: int,
    shape: tuple[int, int],
    places: list[tuple[int, int]],
    layout: Layout,
) -> None:
    array = Array("m", Pointee(declared, lanes), 10_000, StorageClass.STORAGE_BUFFER, "input", array_stride=64)
    got = element_offsets(array, component, shape, [first for first, _ in places], [stride for _, stride in places], layout)
    assert got.tolist() == [slow(array.pointee.bytes, component, shape, first, stride, layout) for first, stride in places]


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 3), st.integers(0, 6), st.sampled_from(Layout))
def test_an_array_that_ends_in_the_last_element_is_long_enough_and_a_shorter_one_is_not(
    rows: int, columns: int, first: int, stride: int, layout: Layout
) -> None:
    component = COMPONENT_TYPES["u16"]
    needed = max(max(line) for line in slow(2, component, (rows, columns), first, stride, layout)) // 2 + 1

    def offsets(length: int) -> None:
        array = Array("m", Pointee(component), length, StorageClass.STORAGE_BUFFER, "input")
        element_offsets(array, component, (rows, columns), [first], [stride], layout)

    offsets(needed)
    with breaks(Rule.OUT_OF_BOUNDS):
        offsets(needed - 1)


def test_a_stride_of_64_bits_does_not_wrap_into_the_array() -> None:
    array = Array("m", Pointee(COMPONENT_TYPES["u32"]), 64, StorageClass.STORAGE_BUFFER, "input")
    with breaks(Rule.OUT_OF_BOUNDS):
        element_offsets(array, COMPONENT_TYPES["u32"], (2, 2), [0], [1 << 62], Layout.ROW_MAJOR)


def test_the_stride_of_a_single_row_does_not_matter() -> None:
    array = Array("m", Pointee(COMPONENT_TYPES["u32"]), 4, StorageClass.STORAGE_BUFFER, "input")
    offsets = element_offsets(array, COMPONENT_TYPES["u32"], (1, 4), [0], [(1 << 64) - 1], Layout.ROW_MAJOR)
    assert offsets.tolist() == [[[0, 4, 8, 12]]]


def test_a_pointer_to_a_struct_is_refused() -> None:
    block = BlockType("Pair", (BlockMember(COMPONENT_TYPES["u32"], 0, 4),), 4)
    array = Array("pairs", Pointee(COMPONENT_TYPES["u32"], 1, block), 64, StorageClass.STORAGE_BUFFER, "input")
    with breaks("KHR-PTR-02"):
        element_offsets(array, COMPONENT_TYPES["u32"], (4, 4), [0], [4], Layout.ROW_MAJOR)


@pytest.mark.parametrize(
    ("inner", "first", "inside"),
    [
        (Inner(16), 16, True),
        (Inner(16), 17, False),
        (Inner(16, 4), 24, True),
        (Inner(16, 4), 25, False),
        # Begins among the elements of the struct's other member.
        (Inner(16, 4), 22, False),
    ],
)
def test_a_matrix_is_inside_of_one_inner_array(inner: Inner, first: int, inside: bool) -> None:
    u32 = COMPONENT_TYPES["u32"]
    array = Array("nested", Pointee(u32), 60, StorageClass.STORAGE_BUFFER, "input", inner=inner)
    if inside:
        found = element_offsets(array, u32, (4, 4), [first], [4], Layout.ROW_MAJOR)
        assert found.ravel().tolist() == [4 * (first + i) for i in range(16)]
    else:
        with breaks(Rule.INNER_ARRAY):
            element_offsets(array, u32, (4, 4), [first], [4], Layout.ROW_MAJOR)
