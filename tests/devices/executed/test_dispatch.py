"""Command buffers and dispatches: packets, registers, the state in which waves begin, control flow and barriers."""

from __future__ import annotations

import numpy as np
import pytest

from cts.devices.executed.errors import NotModelled
from cts.devices.executed.gpu import Gpu
from cts.devices.executed.memory import Memory

CODE, OUT, COMMANDS = 0x800000100000, 0x800000200000, 0x800000300000
SIZE = 0x10000

END = 0xBFB00000
"""s_endpgm."""


class Machine:
    """A GPU with a buffer each for code, results and commands."""

    def __init__(self, chip: str = "gfx1201") -> None:
        self.memory = Memory()
        self.code, self.out, self.commands = (np.zeros(SIZE // 4, np.uint32) for _ in range(3))
        for address, data in ((CODE, self.code), (OUT, self.out), (COMMANDS, self.commands)):
            self.memory.map(address, SIZE, data.ctypes.data)
        self.gpu = Gpu(self.memory, chip)

    def submit(self, *words: int) -> None:
        """Execute a command buffer."""
        self.commands[: len(words)] = words
        self.gpu.execute([(COMMANDS, 4 * len(words))])

    def dispatch(
        self,
        code: list[int],
        groups=(1, 1, 1),
        size=(32, 1, 1),
        wave32: bool = True,
        user_data=(OUT & 0xFFFFFFFF, OUT >> 32),
        more: int = 0,
        wgp: int = 1,
    ) -> list[int]:
        """Run a shader, and return the words of the buffer for results."""
        self.code[: len(code)] = code
        second = len(user_data) << 1 | more
        self.submit(
            *packet(0x76, 0x207, *size),
            *packet(0x76, 0x20C, CODE >> 8 & 0xFFFFFFFF, CODE >> 40),
            *packet(0xBA, 0x212, 0xF0 << 12 | wgp << 29, 0x213, second),
            *packet(0x76, 0x240, *user_data),
            *packet(0x15, *groups, 0x2045 | (1 << 15 if wave32 else 0)),
        )
        return self.out.tolist()


def packet(opcode: int, *body: int) -> tuple[int, ...]:
    return 3 << 30 | len(body) - 1 << 16 | opcode << 8, *body


def store(register: int, vaddr: int) -> list[int]:
    """Return global_store_b32 of a vector register at s[0:1] plus an offset in another one."""
    return [0xEE068000, register << 23, vaddr]


def mov(register: int, source: int) -> int:
    """Return v_mov_b32 of an operand."""
    return 0x7E000200 | register << 17 | source


def shifted(register: int, source: int) -> int:
    """Return v_lshlrev_b32 of a vector register by 2."""
    return 0x30000082 | register << 17 | source << 9


def test_the_first_vector_register_has_the_place_in_the_workgroup():
    # v1 = lane number from mbcnt; stores v0 there.
    code = [0xD71F0001, 0x000100C1, shifted(2, 1), *store(0, 2), END]
    assert Machine().dispatch(code, size=(4, 4, 2))[:32] == [x | y << 10 | z << 20 for z in range(2) for y in range(4) for x in range(4)]


def test_a_workgroup_that_ends_within_a_wave_has_fewer_lanes():
    code = [mov(1, 129), 0xD71F0002, 0x000100C1, shifted(2, 2), *store(1, 2), END]
    assert Machine().dispatch(code, size=(5, 1, 1))[:7] == [1, 1, 1, 1, 1, 0, 0]


def test_rdna4_has_the_workgroup_and_the_wave_in_trap_registers():
    # s_lshl_b32 s2, ttmp9, 4; v1 = s2; v2 = ttmp7.
    code = [0x84028475, mov(1, 2), mov(2, 115), *store(2, 1), END]
    words = Machine().dispatch(code, groups=(3, 1, 1))
    assert words[:12] == [0] * 12
    words = Machine().dispatch(code, groups=(2, 3, 2))
    assert words[0] == 2 | 1 << 16


def test_rdna3_has_the_workgroup_after_the_user_data():
    # s_lshl_b32 s5, s2, 2; v1 = s5; v2 = s3; then the same store in RDNA3's encoding.
    code = [0x84058202, mov(1, 5), mov(2, 3), 0xDC6A0000, 0x00000201, END]
    words = Machine("navi31").dispatch(code, groups=(3, 2, 1), more=1 << 7 | 1 << 8)
    assert words[:4] == [1, 1, 1, 0]


def test_the_register_after_the_workgroup_has_the_number_of_waves_and_the_wave():
    # v2 = s2, which has both in RDNA3 without workgroup numbers.
    code = [0xD71F0001, 0x000100C1, shifted(1, 0), mov(2, 2), 0xDC6A0000, 0x00000201, END]
    words = Machine("navi31").dispatch(code, size=(96, 1, 1), more=1 << 10)
    assert [words[32 * wave] for wave in range(3)] == [3 | wave << 6 | wave << 20 for wave in range(3)]


WAIT_STORES, WAIT_LOADS, SIGNAL, BARRIER = 0xBFC10000, 0xBFC00000, 0xBE804EC1, 0xBF94FFFF


@pytest.mark.parametrize("left_out", [None, WAIT_STORES, BARRIER, WAIT_LOADS])
def test_waves_see_what_others_stored_if_they_wait_for_it_and_for_each_other(left_out):
    # Each wave stores 7 at its own place, and copies the place of the other wave to 0x1000 bytes after it.
    own = [shifted(1, 0), mov(2, 135), *store(2, 1)]
    other = [0x3A0202FF, 0x80, 0xEE050000, 3 | 2 << 18, 1, WAIT_LOADS, 0x4A0202FF, 0x1000, *store(3, 1), END]
    taken = (left_out, SIGNAL) if left_out == BARRIER else (left_out,)
    code = [word for word in (*own, WAIT_STORES, SIGNAL, BARRIER, *other) if word not in taken]
    copied = Machine().dispatch(code, size=(64, 1, 1))[0x400:0x440]
    assert (copied == [7] * 64) == (left_out is None)
    # On one compute unit, accesses are in order.
    copied = Machine().dispatch(code, size=(64, 1, 1), wgp=0)[0x400:0x440]
    assert (copied == [7] * 64) == (left_out in (None, WAIT_STORES))


def test_a_branch_counts_words_from_the_next_instruction():
    # s2 counts to 3: s_mov, s_add, s_cmp_lt, s_cbranch_scc1 back over both.
    code = [0xBE820080, 0x80028102, 0xBF0A8302, 0xBFA2FFFD, mov(1, 2), mov(2, 128), *store(1, 2), END]
    assert Machine().dispatch(code)[0] == 3


def test_a_call_returns_behind_itself():
    # s_getpc_b64 s[4:5]; 32 bytes after the next instruction is the function; s_swappc_b64 s[6:7], s[4:5]; it sets v1 and returns.
    function = [mov(1, 137), 0xBE804806]
    code = [0xBE844780, 0x8004FF04, 4 * 8, mov(2, 128), 0xBE864904, *store(1, 2), END, *function]
    assert Machine().dispatch(code)[0] == 9


def test_a_packet_writes_memory():
    machine = Machine()
    machine.submit(*packet(0x37, 5 << 8, OUT & 0xFFFFFFFF, OUT >> 32, 1, 2))
    assert machine.out[:3].tolist() == [1, 2, 0]


def test_a_packet_copies_and_fills_memory():
    machine = Machine()
    machine.out[:2] = [5, 6]
    low, high = OUT & 0xFFFFFFFF, OUT >> 32
    machine.submit(*packet(0x50, 0, low, high, low + 16, high, 8), *packet(0x50, 2 << 29, 9, 0, low + 32, high, 4))
    assert machine.out[4:9].tolist() == [5, 6, 0, 0, 9]


def test_an_indirect_buffer_is_executed_in_its_place():
    machine = Machine()
    inner = packet(0x37, 5 << 8, OUT & 0xFFFFFFFF, OUT >> 32, 3)
    machine.code[: len(inner)] = inner
    machine.submit(*packet(0x3F, CODE & 0xFFFFFFFF, CODE >> 32, len(inner)))
    assert machine.out[0] == 3


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (packet(0x2F, 1), "packet 0x2f"),
        (packet(0x76, 0x218, 1), "compute register 0x218"),
        ((0x40000000,), "packet of type 1"),
        (packet(0x15, 1, 1, 1, 0x2041), "DISPATCH_DIRECT"),
        (packet(0x37, 1 << 8, 0, 0, 0), "WRITE_DATA"),
    ],
)
def test_what_is_not_modelled_is_an_error_that_names_it(words, named):
    with pytest.raises(NotModelled) as raised:
        Machine().submit(*words)
    assert raised.value.part == named


@pytest.mark.parametrize(
    ("code", "named"),
    [
        ([0x7E000200 | 0x7F << 9, END], "opcode 0x7f of VOP1"),
        ([0xBFB60001, END], "s_sendmsg"),
        ([0xB8800002, END], "hardware register 2"),
    ],
)
def test_an_instruction_that_is_not_modelled_is_an_error_that_names_it(code, named):
    with pytest.raises(NotModelled) as raised:
        Machine().dispatch(code)
    assert raised.value.part == named


def test_a_shader_with_scratch_memory_is_an_error():
    with pytest.raises(NotModelled) as raised:
        Machine().dispatch([END], more=1)
    assert raised.value.part == "scratch memory"
