"""How vector instructions read their operands, apply modifiers, and write their results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cts.devices.executed.arrays import Array
from cts.devices.executed.encoding.decoder import DPP16, Instruction
from cts.devices.executed.errors import NotModelled
from cts.devices.executed.instructions.dpp import Around, moved
from cts.devices.executed.instructions.meaning import Step
from cts.devices.executed.operands import FIRST_VECTOR, KINDS, LITERAL, Kind, Read, Write, vector, with_signs, write_mask, write_vector
from cts.devices.executed.wave import EXEC, VCC, Wave

_OUTPUT_FACTORS = (1.0, 2.0, 4.0, 0.5)
_SHORT = ("VOP1", "VOP2", "VOPC")


@dataclass(frozen=True)
class Vector:
    """A vector instruction that computes each lane from the same lane of its operands.

    Attributes:
        signature: ``RESULTS <- OPERANDS``, kinds as in operands.py. The result ``exec`` is a mask that is written to EXEC; the result
            ``s32`` is a number for a scalar register. The operand ``literal:KIND`` is the literal; ``dst:KIND`` is the old value of the
            destination. A mask is in VCC where the format has no field for it.
        function: takes an array for each operand and returns the result, or a tuple of results.
        modal: whether the function takes the wave first.
    """

    signature: str
    function: Callable[..., Any]
    modal: bool = False

    def __call__(self, instruction: Instruction) -> Step:
        compute, write, around = self.parts(instruction)
        if around is None:
            return lambda wave: write(wave, compute(wave))

        def step(wave: Wave) -> None:
            result, active, full = compute(wave), wave.active, wave.full
            wave.active, wave.full = around(wave), False
            write(wave, result)
            wave.active, wave.full = active, full

        return step

    def parts(self, instruction: Instruction) -> tuple[Read, Write, Around | None]:
        """Return a function that computes the result, one that writes it, and one for the lanes that DPP lets it write."""
        results, _, operands = self.signature.partition(" <- ")
        reads, around = _reads(instruction, operands.split())
        compute = computing(self.function, reads, self.modal)
        kinds = results.split()
        compute = _modified(compute, instruction, kinds[0], self.function, reads, self.modal)
        writes = [_write(instruction, kind, place) for place, kind in enumerate(kinds)]
        return compute, writes[0] if len(writes) == 1 else _each(writes), around


def computing(function: Callable[..., Any], reads: Sequence[Read], modal: bool) -> Read:
    """Return a function that computes a result from operands; one that is modal takes the wave first."""
    if modal:
        return lambda wave: function(wave, *(read(wave) for read in reads))
    if len(reads) == 1:
        (only,) = reads
        return lambda wave: function(only(wave))
    if len(reads) == 2:
        first, second = reads
        return lambda wave: function(first(wave), second(wave))
    return lambda wave: function(*(read(wave) for read in reads))


def _each(writes: Sequence[Write]) -> Write:
    def write(wave: Wave, values: Any) -> None:
        for one, value in zip(writes, values, strict=True):
            one(wave, value)

    return write


def _reads(instruction: Instruction, operands: Sequence[str]) -> tuple[list[Read], Around | None]:
    """Return a function for each operand, and DPP's effect on the lanes to write."""
    long = instruction.format == "VOP3"
    names = ["src0", "src1", "src2"] if long else ["src0", "vsrc1"]
    found: list[Read] = []
    around = None
    place = 0
    for operand in operands:
        where, _, name = operand.rpartition(":")
        kind = KINDS[name]
        if where == "dst":
            code, high = half_of(instruction, instruction["vdst"] + FIRST_VECTOR, kind)
            found.append(vector(code, kind, None, high))
        elif where == "literal":
            found.append(vector(LITERAL, kind, instruction.literal))
        elif place == len(names) or (not long and kind.bits == 1):
            found.append(vector(VCC, kind))
        else:
            code = instruction[names[place]] + (FIRST_VECTOR if names[place] == "vsrc1" else 0)
            read, lanes = _source(instruction, code, kind, place)
            around, place = lanes or around, place + 1
            found.append(read)
    return found, around


def _source(instruction: Instruction, code: int, kind: Kind, place: int) -> tuple[Read, Around | None]:
    word = instruction.dpp if place == 0 else None
    register = code if word is None else FIRST_VECTOR + (word & 0xFF)
    register, high = half_of(instruction, register, kind, place)
    read = vector(register, kind, instruction.literal, high)
    around = None
    if word is not None:
        read, around = moved(read, code, word)
    absolute, negated = _signs(instruction, place)
    return with_signs(read, kind, absolute, negated), around


def _signs(instruction: Instruction, place: int) -> tuple[bool, bool]:
    """Return whether an operand is made absolute, and negated."""
    if instruction.format == "VOP3":
        # With a mask as second result, its register is where the bits of absolute values are.
        absolute = 0 if instruction.mnemonic.startswith(_WITH_MASK) else instruction["abs"]
        return bool(absolute >> place & 1), bool(instruction["neg"] >> place & 1)
    if instruction.dpp is not None and instruction["src0"] == DPP16:
        signs = instruction.dpp >> 20 + 2 * place
        return bool(signs & 2), bool(signs & 1)
    return False, False


_WITH_MASK = ("v_add_co_", "v_sub_co_", "v_subrev_co_", "v_div_scale_", "v_mad_u64_", "v_mad_i64_", "v_mad_co_")


_RESULT = 3
"""The place of the result among the operands whose half VOP3 selects."""


def half_of(instruction: Instruction, code: int, kind: Kind, place: int = _RESULT) -> tuple[int, bool]:
    """Return the register of an operand, and whether it is in its upper half. In short formats, the register's number says it."""
    # Where a result is a mask, its register is where the selections of halves are.
    if kind.bits == 16 and instruction.format == "VOP3":
        return code, bool(instruction["op_sel"] >> place & 1)
    if kind.bits == 16 and code >= FIRST_VECTOR:
        return code & ~0x80, bool(code & 0x80)
    return code, False


def _write(instruction: Instruction, name: str, place: int) -> Write:
    if name == "exec":
        return write_mask(EXEC)
    if name == "mask":
        if instruction.format != "VOP3":
            return write_mask(VCC)
        return write_mask(instruction["sdst"] if place else instruction["vdst"])
    kind = KINDS[name]
    code, high = half_of(instruction, instruction["vdst"] + FIRST_VECTOR, kind)
    return write_vector(code - FIRST_VECTOR, kind, high)


def _modified(
    compute: Read, instruction: Instruction, result: str, function: Callable[..., Any], reads: Sequence[Read], modal: bool
) -> Read:
    """Return the computation with the modifiers of its result: a factor, and clamping."""
    if instruction.format != "VOP3":
        return compute
    if instruction["omod"]:
        compute = _scaled(compute, _OUTPUT_FACTORS[instruction["omod"]])
    if not instruction["clamp"] or result in ("mask", "exec"):
        return compute
    kind = KINDS[result]
    if kind.is_float:
        return lambda wave: _between_0_and_1(compute(wave))
    if modal or kind.bits == 64 or kind.name[0] == "b":
        raise NotModelled(instruction.mnemonic, "with clamp")
    return saturated(function, reads, kind)


def saturated(function: Callable[..., Any], reads: Sequence[Read], kind: Kind) -> Read:
    """Return a function that computes integers, the nearest one of the kind if it has none that is equal."""
    limits = np.iinfo(kind.dtype)
    return lambda wave: np.clip(function(*(read(wave).astype(np.int64) for read in reads)), limits.min, limits.max).astype(kind.dtype)


def _scaled(compute: Read, factor: float) -> Read:
    return lambda wave: (value := compute(wave)) * value.dtype.type(factor)


def _between_0_and_1(value: Array) -> Array:
    one, zero = value.dtype.type(1), value.dtype.type(0)
    return np.where(value > one, one, np.where(value > zero, value, zero))


@dataclass(frozen=True)
class Pair:
    """Both halves of a VOPD: they read before either writes."""

    first: Vector
    second: Vector

    def __call__(self, instruction: Instruction) -> Step:
        """Return a function that executes both; see Meaning."""
        x, y = instruction.halves
        (read_x, write_x, _), (read_y, write_y, _) = self.first.parts(x), self.second.parts(y)

        def step(wave: Wave) -> None:
            value_x, value_y = read_x(wave), read_y(wave)
            # A value may be a view of a register that the other half writes.
            value_y = value_y.copy()
            write_x(wave, value_x)
            write_y(wave, value_y)

        return step
