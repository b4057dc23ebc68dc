"""Two listings of intermediate code write the same if the same operations compute what they write."""

from __future__ import annotations

from cts.twins.data_flow import read, same_writes
from tests.twins.listing import listing

STRAIGHT = """
impl main {
    con block b0:       // preds:
    con 32     %0 = load_const (0x00000004 = 4)
    div 32x4   %1 = @load_ssbo (%0 (0x4), %0 (0x4)) (access=none, base=0, align_mul=4)
    div 32     %2 = iadd %1.x, %1.y
                    @store_ssbo (%2, %0 (0x4), %0 (0x4)) (wrmask=x, access=none)
}
"""

RENAMED_AND_MOVED = """
impl main {
    con block b0:       // preds:
    con 32     %7 = load_const (0x00000004 = 4)
    div 32x4   %9 = @load_ssbo (%7 (0x4), %7 (0x4)) (access=readonly, base=0, align_mul=16)
    div 32     %3 = mov %9.y
    div 32x2   %4 = vec2 %9.x, %3
    div 32     %5 = iadd %4.x, %4.y
                    @store_ssbo (%5, %7 (0x4), %7 (0x4)) (wrmask=x, access=none)
}
"""

CARRIED = """
impl main {
    con block b0:       // preds:
    con 32     %0 = load_const (0x00000000)
    con 32     %1 = load_const (0x00000001)
    div 32     %2 = @load_ssbo (%0, %0) (base=0)
    div 32     %3 = @load_ssbo (%0, %1) (base=0)
    con loop {
        con block b1:       // preds: b0 b1
        div 32     %4 = phi b0: %2, b1: NEXT_X
        div 32     %5 = phi b0: %3, b1: NEXT_Y
    }
    con block b2:       // preds: b1
                    @store_ssbo (%4, %0, %0) (wrmask=x)
                    @store_ssbo (%5, %0, %1) (wrmask=x)
}
"""


def _carried(x: str, y: str) -> str:
    return CARRIED.replace("NEXT_X", x).replace("NEXT_Y", y)


def test_names_order_and_moves_do_not_matter():
    assert same_writes(read(STRAIGHT), read(RENAMED_AND_MOVED))


def test_another_component_matters():
    assert not same_writes(read(STRAIGHT), read(STRAIGHT.replace("%1.x, %1.y", "%1.x, %1.z")))


def test_another_constant_matters():
    assert not same_writes(read(STRAIGHT), read(STRAIGHT.replace("0x00000004", "0x00000008")))


def test_a_lost_write_matters():
    lines = STRAIGHT.splitlines()
    assert not same_writes(read(STRAIGHT), read("\n".join(line for line in lines if "store" not in line)))


def test_values_that_a_loop_exchanges_differ_from_values_that_it_keeps():
    exchanged, kept = _carried("%5", "%4"), _carried("%4", "%5")

    assert same_writes(read(exchanged), read(exchanged))
    assert not same_writes(read(exchanged), read(kept))


def test_the_order_of_phis_does_not_matter():
    lines = _carried("%5", "%4").splitlines()
    first = next(place for place, line in enumerate(lines) if "%4 = phi" in line)
    lines[first], lines[first + 1] = lines[first + 1], lines[first]

    assert same_writes(read("\n".join(lines)), read(_carried("%5", "%4")))


def test_the_wrong_accumulator_of_a_loop_is_found():
    private, function = read(listing("nir_swap_private")), read(listing("nir_swap_function"))

    assert not same_writes(private, function)
    assert same_writes(private, private)
    assert same_writes(function, function)
