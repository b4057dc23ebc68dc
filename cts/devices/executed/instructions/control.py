"""Instructions that end a block of straight code (branches, calls, barriers, the end), and those that change the wave's own state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    ACCESS = "before an access to memory"


Ending = Callable[[Wave], Signal | None]
"""Sets the address of the next instruction."""

Ends = Callable[[Instruction, int], Ending]
"""Takes an instruction that ends a block, and the address of the one after it in memory."""


def _branch(condition: Callable[[Wave], bool]) -> Ends:
    """Return a branch to an address relative to the next instruction, in words."""

    def ends(instruction: Instruction, following: int) -> Ending:
        target = following + 4 * ((instruction["simm16"] ^ 0x8000) - 0x8000)

        def end(wave: Wave) -> None:
            wave.pc = target if condition(wave) else following

        return end

    return ends


def _call(writes: bool, jumps: bool) -> Ends:
    """Return an instruction that writes the address of the next one, jumps to an address, or both."""

    def ends(instruction: Instruction, following: int) -> Ending:
        target = scalar(instruction["ssrc0"], 64) if jumps else lambda _: following
        write = write_scalar(instruction["sdst"], 64)

        def end(wave: Wave) -> None:
            to = target(wave)
            if writes:
                write(wave, following)
            wave.pc = to

        return end

    return ends


def _stop(signal: Signal, *does: Callable[[Wave], None]) -> Ends:
    """Return an instruction at which the wave ends or waits for others, after it has done something."""

    def ends(_: Instruction, following: int) -> Ending:
        def end(wave: Wave) -> Signal:
            wave.pc = following
            for do in does:
                do(wave)
            return signal

        return end

    return ends


def _vcc(wave: Wave) -> int:
    return wave.pair(VCC) if wave.lanes == 64 else wave.scalars[VCC]


ENDINGS: Mapping[str, Ends] = MappingProxyType(
    {
        "s_branch": _branch(lambda _: True),
        "s_cbranch_scc0": _branch(lambda wave: not wave.scc),
        "s_cbranch_scc1": _branch(lambda wave: bool(wave.scc)),
        "s_cbranch_vccz": _branch(lambda wave: not _vcc(wave)),
        "s_cbranch_vccnz": _branch(lambda wave: bool(_vcc(wave))),
        "s_cbranch_execz": _branch(lambda wave: not wave.exec),
        "s_cbranch_execnz": _branch(lambda wave: bool(wave.exec)),
        "s_getpc_b64": _call(writes=True, jumps=False),
        "s_setpc_b64": _call(writes=False, jumps=True),
        "s_swappc_b64": _call(writes=True, jumps=True),
        "s_endpgm": _stop(Signal.END, lambda wave: wave.group.end()),
        "s_barrier": _stop(Signal.BARRIER, Wave.signal, Wave.hold),
        "s_barrier_wait": _stop(Signal.BARRIER, Wave.hold),
    }
)

_OF_TIME = "s_nop s_clause s_delay_alu s_setprio s_sleep s_set_inst_prefetch_distance s_waitcnt_depctr s_wait_alu v_nop v_pipeflush"
_OF_OTHERS = "s_icache_inv s_dcache_inv s_gl1_inv buffer_gl1_inv global_wb s_wait_samplecnt s_wait_expcnt"
IGNORED = frozenset(f"{_OF_TIME} {_OF_OTHERS}".split())
"""Instructions without an effect here: results of arithmetic are there at once, and only the caches of compute units are not coherent."""

_WORKGROUP_BARRIER = 193
"""The operand -1."""

_FLOAT_MODE = 1
"""The hardware register MODE."""

_DEALLOCATE = 3
"""The message that the wave needs its vector registers no more."""


def _set_mode(lowest: int) -> Meaning:
    """Return an instruction that writes bits of FLOAT_MODE: s_round_mode or s_denorm_mode."""

    def prepare(instruction: Instruction) -> Step:
        value = (instruction["simm16"] & 15) << lowest

        def step(wave: Wave) -> None:
            wave.mode = wave.mode & ~(15 << lowest) | value

        return step

    return prepare


def _mode_register(instruction: Instruction) -> int:
    """Return the mask of the part of MODE that an instruction accesses, the only hardware register that is there.

    Raises:
        NotModelled: it is another register.
    """
    which = instruction["simm16"]
    if which & 63 != _FLOAT_MODE:
        raise NotModelled(f"hardware register {which & 63}", f"({instruction.mnemonic})")
    return (2 << (which >> 11)) - 1 << (which >> 6 & 31)


def _get_register(instruction: Instruction) -> Step:
    mask, write = _mode_register(instruction), write_scalar(instruction["sdst"], 32)
    return lambda wave: write(wave, (wave.mode & mask) // (mask & -mask))


def _set_register(instruction: Instruction) -> Step:
    mask, literal = _mode_register(instruction), instruction.literal
    read = scalar(instruction["sdst"], 32) if literal is None else lambda _: literal

    def step(wave: Wave) -> None:
        wave.mode = wave.mode & ~mask | read(wave) * (mask & -mask) & mask

    return step


def _signal_barrier(instruction: Instruction) -> Step:
    if instruction["ssrc0"] != _WORKGROUP_BARRIER:
        raise NotModelled("s_barrier_signal", f"of barrier {instruction['ssrc0']}")
    return Wave.signal


def _invalidate(instruction: Instruction) -> Step:
    """Prepare an invalidation of the cache of the wave's compute unit. With the scope of one compute unit it does nothing."""
    beyond = instruction.fields.get("scope", 1)
    return lambda wave: wave.cache.invalidate() if beyond else None


def _wait(counters: Mapping[Counter, int]) -> Meaning:
    """Return an instruction that waits for accesses to memory.

    Args:
        counters: counter -> the lowest of the six bits that say how many accesses may be left.
    """

    def prepare(instruction: Instruction) -> Step:
        left = [(counter, instruction["simm16"] >> lowest & 63) for counter, lowest in counters.items()]

        def step(wave: Wave) -> None:
            for counter, number in left:
                wave.wait(counter, number)

        return step

    return prepare


def _message(instruction: Instruction) -> Step:
    """Prepare s_sendmsg, for the one message that changes nothing."""
    if instruction["simm16"] != _DEALLOCATE:
        raise NotModelled("s_sendmsg", f"with message {instruction['simm16']}")
    return lambda _: None


STATE: Mapping[str, Meaning] = MappingProxyType(
    {
        "s_wait_loadcnt": _wait({Counter.LOAD: 0}),
        "s_wait_storecnt": _wait({Counter.STORE: 0}),
        "s_wait_dscnt": _wait({Counter.SHARE: 0}),
        "s_wait_kmcnt": _wait({Counter.SCALAR: 0}),
        "s_wait_loadcnt_dscnt": _wait({Counter.LOAD: 8, Counter.SHARE: 0}),
        "s_wait_storecnt_dscnt": _wait({Counter.STORE: 8, Counter.SHARE: 0}),
        "s_waitcnt": _wait({Counter.LOAD: 10, Counter.SHARE: 4}),
        "s_waitcnt_vscnt": _wait({Counter.STORE: 0}),
        "s_wait_idle": lambda _: Wave.wait_for_all,
        "s_barrier_signal": _signal_barrier,
        **dict.fromkeys(("buffer_gl0_inv", "global_inv", "global_wbinv"), _invalidate),
        "s_round_mode": _set_mode(0),
        "s_denorm_mode": _set_mode(4),
        "s_getreg_b32": _get_register,
        "s_setreg_b32": _set_register,
        "s_setreg_imm32_b32": _set_register,
        "s_sendmsg": _message,
    }
)
