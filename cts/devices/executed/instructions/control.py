"""Instructions that end a block of straight code (branches, calls, barriers, the end), and those that change the wave's own state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from cts.devices.executed.encoding.decoder import Instruction
from cts.devices.executed.errors import NotModelled
from cts.devices.executed.instructions.meaning import Meaning, Step
from cts.devices.executed.operands import scalar, write_scalar
from cts.devices.executed.wave import VCC, Counter, Wave


class Signal(Enum):
    """What the wave tells its workgroup at the end of a block."""

    END = "end"
    BARRIER = "barrier"


Ending = Callable[[Wave], Signal | None]
"""Sets the address of the next instruction."""


@dataclass(frozen=True)
class Branch:
    """A branch to an address relative to the next instruction, in words."""

    condition: Callable[[Wave], bool]

    def ending(self, instruction: Instruction, following: int) -> Ending:
        """Return the function for a branch whose next instruction in memory is at ``following``."""
        offset = (instruction["simm16"] ^ 0x8000) - 0x8000
        target, condition = following + 4 * offset, self.condition

        def end(wave: Wave) -> None:
            wave.pc = target if condition(wave) else following

        return end


@dataclass(frozen=True)
class Call:
    """An instruction that writes the address of the next one, jumps to an address, or both."""

    writes: bool
    jumps: bool

    def ending(self, instruction: Instruction, following: int) -> Ending:
        target = scalar(instruction["ssrc0"], 64) if self.jumps else lambda _: following
        write = write_scalar(instruction["sdst"], 64)

        def end(wave: Wave) -> None:
            to = target(wave)
            if self.writes:
                write(wave, following)
            wave.pc = to

        return end


@dataclass(frozen=True)
class Stop:
    """An instruction at which the wave ends or waits for others."""

    signal: Signal

    def ending(self, _: Instruction, following: int) -> Ending:

        def end(wave: Wave) -> Signal:
            wave.pc = following
            return self.signal

        return end


def _vcc(wave: Wave) -> int:
    return wave.pair(VCC) if wave.lanes == 64 else wave.scalars[VCC]


ENDINGS: Mapping[str, Branch | Call | Stop] = MappingProxyType(
    {
        "s_branch": Branch(lambda _: True),
        "s_cbranch_scc0": Branch(lambda wave: not wave.scc),
        "s_cbranch_scc1": Branch(lambda wave: bool(wave.scc)),
        "s_cbranch_vccz": Branch(lambda wave: not _vcc(wave)),
        "s_cbranch_vccnz": Branch(lambda wave: bool(_vcc(wave))),
        "s_cbranch_execz": Branch(lambda wave: not wave.exec),
        "s_cbranch_execnz": Branch(lambda wave: bool(wave.exec)),
        "s_getpc_b64": Call(writes=True, jumps=False),
        "s_setpc_b64": Call(writes=False, jumps=True),
        "s_swappc_b64": Call(writes=True, jumps=True),
        "s_endpgm": Stop(Signal.END),
        "s_barrier": Stop(Signal.BARRIER),
        "s_barrier_wait": Stop(Signal.BARRIER),
    }
)

IGNORED = frozenset(
    (
        *(f"s_{name}" for name in ("nop", "clause", "delay_alu", "setprio", "sleep", "set_inst_prefetch_distance")),
        *(f"s_{name}" for name in ("icache_inv", "dcache_inv", "gl1_inv", "barrier_signal", "waitcnt_depctr")),
        *("s_wait_alu", "s_wait_samplecnt", "s_wait_expcnt", "v_nop", "v_pipeflush"),
        *("buffer_gl0_inv", "buffer_gl1_inv", "global_inv", "global_wb", "global_wbinv"),
    )
)
"""Instructions without an effect here: results of arithmetic are there at once, and caches are coherent."""

_FLOAT_MODE = 1
"""The hardware register MODE."""

_DEALLOCATE = 3
"""The message that the wave needs its vector registers no more."""


@dataclass(frozen=True)
class SetMode:
    """An instruction that writes bits of FLOAT_MODE: s_round_mode and s_denorm_mode."""

    lowest: int

    def prepare(self, instruction: Instruction) -> Step:
        value = (instruction["simm16"] & 15) << self.lowest

        def step(wave: Wave) -> None:
            wave.mode = wave.mode & ~(15 << self.lowest) | value

        return step


@dataclass(frozen=True)
class HardwareRegister:
    """An instruction that reads or writes a part of a hardware register; only MODE is there."""

    writes: bool

    def prepare(self, instruction: Instruction) -> Step:
        which = instruction["simm16"]
        register, offset, width = which & 63, which >> 6 & 31, (which >> 11) + 1
        if register != _FLOAT_MODE:
            raise NotModelled(f"hardware register {register}", f"({instruction.mnemonic})")
        mask = (1 << width) - 1 << offset
        if not self.writes:
            write = write_scalar(instruction["sdst"], 32)
            return lambda wave: write(wave, (wave.mode & mask) >> offset)
        literal = instruction.literal
        read = scalar(instruction["sdst"], 32) if literal is None else lambda _: literal

        def step(wave: Wave) -> None:
            wave.mode = wave.mode & ~mask | read(wave) << offset & mask

        return step


@dataclass(frozen=True)
class Wait:
    """An instruction that waits for accesses to memory.

    Attributes:
        counters: counter -> the lowest of the six bits that say how many accesses may be left.
    """

    counters: Mapping[Counter, int]

    def prepare(self, instruction: Instruction) -> Step:
        left = [(counter, instruction["simm16"] >> lowest & 63) for counter, lowest in self.counters.items()]

        def step(wave: Wave) -> None:
            for counter, number in left:
                wave.wait(counter, number)

        return step


@dataclass(frozen=True)
class WaitIdle:
    """An instruction that waits for all accesses to memory."""

    def prepare(self, _: Instruction) -> Step:
        return Wave.wait_for_all


@dataclass(frozen=True)
class Message:
    """s_sendmsg, for the one message that changes nothing."""

    def prepare(self, instruction: Instruction) -> Step:
        """Return a function that does nothing.

        Raises:
            NotModelled: it is another message.
        """
        if instruction["simm16"] != _DEALLOCATE:
            raise NotModelled("s_sendmsg", f"with message {instruction['simm16']}")
        return lambda _: None


STATE: Mapping[str, Meaning] = MappingProxyType(
    {
        "s_wait_loadcnt": Wait({Counter.LOAD: 0}),
        "s_wait_storecnt": Wait({Counter.STORE: 0}),
        "s_wait_dscnt": Wait({Counter.SHARE: 0}),
        "s_wait_kmcnt": Wait({Counter.SCALAR: 0}),
        "s_wait_loadcnt_dscnt": Wait({Counter.LOAD: 8, Counter.SHARE: 0}),
        "s_wait_storecnt_dscnt": Wait({Counter.STORE: 8, Counter.SHARE: 0}),
        "s_waitcnt": Wait({Counter.LOAD: 10, Counter.SHARE: 4}),
        "s_waitcnt_vscnt": Wait({Counter.STORE: 0}),
        "s_wait_idle": WaitIdle(),
        "s_round_mode": SetMode(0),
        "s_denorm_mode": SetMode(4),
        "s_getreg_b32": HardwareRegister(writes=False),
        "s_setreg_b32": HardwareRegister(writes=True),
        "s_setreg_imm32_b32": HardwareRegister(writes=True),
        "s_sendmsg": Message(),
    }
)
