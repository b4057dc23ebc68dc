"""Which registers an instruction reads and writes, and its text: for the way back from a wrong element, never for executing it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from cts.devices.executed.arrays import Array
from cts.devices.executed.encoding.decoder import Instruction
from cts.devices.executed.instructions.matrices import SIZE, MultiplyAccumulate
from cts.devices.executed.instructions.table import load_meanings
from cts.devices.executed.instructions.transfers import shape_of
from cts.devices.executed.operands import FIRST_VECTOR, KINDS, LITERAL, SCC, constant
from cts.devices.executed.wave import EXEC, M0, NULL, TTMP, VCC, Wave

_NAMES = {VCC: "vcc_lo", VCC + 1: "vcc_hi", NULL: "null", M0: "m0", EXEC: "exec_lo", EXEC + 1: "exec_hi", SCC: "scc"}
_TYPE = re.compile(r"(?<=_)(?:[bfiu]|bf)(?:16|32|64)(?=_|$)")
_FLOATS = {240: "0.5", 241: "-0.5", 242: "1.0", 243: "-1.0", 244: "2.0", 245: "-2.0", 246: "4.0", 247: "-4.0", 248: "1/(2*pi)"}


@dataclass(frozen=True)
class Operand:
    """An operand: ``count`` registers from the one with a code, or a constant.

    Attributes:
        type: as in mnemonics.
        half: which half of a register, None for all of it.
        text: as in assembly.
    """

    code: int
    count: int = 1
    type: str = "b32"
    half: int | None = None
    text: str = ""

    @property
    def is_register(self) -> bool:
        """Whether it is a register that keeps a value."""
        return self.code >= FIRST_VECTOR or (self.code <= EXEC + 1 and self.code != NULL) or self.code == SCC

    def read(self, wave: Wave) -> Array | list[int]:
        """Return the words in its registers: of each lane, or the only ones."""
        if self.code >= FIRST_VECTOR:
            first = self.code - FIRST_VECTOR
            words: Array = wave.u32[first : first + self.count].copy()
            return words
        return [wave.scc] if self.code == SCC else wave.scalars[self.code : self.code + self.count]


@dataclass(frozen=True)
class Use:
    """What an instruction writes and reads.

    Attributes:
        memory: whether it loads, so its operands are an address.
    """

    writes: tuple[Operand, ...]
    reads: tuple[Operand, ...]
    memory: bool = False
    text: str = ""


def use_of(instruction: Instruction, lanes: int, generation: str) -> Use:
    """Return what one instruction of a wave reads and writes; neither half of a VOPD, which have their own."""
    fields, mnemonic = instruction.fields, instruction.mnemonic
    types = _TYPE.findall(mnemonic) or ["b32"]
    segment = mnemonic.partition("_")[0]
    if segment in ("buffer", "global", "ds"):
        writes, reads = _of_memory(instruction, lanes)
    elif instruction.format == "SMEM":
        writes = (register(fields["sdata"], shape_of(mnemonic).count),)
        reads = (register(2 * fields["sbase"], 4 if "buffer" in mnemonic else 2), register(fields["soffset"]))
    elif segment == "s":
        writes = (register(fields["sdst"], _words(types[0]), types[0]),) if "sdst" in fields else ()
        sources = [fields[name] for name in ("ssrc0", "ssrc1") if name in fields]
        reads = tuple(_source(code, types[-1], instruction) for code in sources)
        meaning: Any = load_meanings(generation).get(mnemonic)
        results, _, operands = getattr(meaning, "signature", "").partition(" <- ")
        writes += (register(SCC),) * (bool(getattr(meaning, "scc", "")) or results == "scc" or mnemonic.startswith("s_cmp"))
        reads += (register(SCC),) * ("scc:u32" in operands.split())
    else:
        writes, reads = _of_lanes(instruction, types, lanes, generation)
    named = writes if "_swap_" in mnemonic and segment == "v" else (*writes, *reads)
    text = f"{mnemonic} {', '.join(one.text for one in named if one.code != SCC)}".strip()
    if offset := fields.get("offset", fields.get("offset0", 0)):
        text += f" offset:{offset}"
    if "simm16" in fields:
        text += f" {fields['simm16']:#x}"
    return Use(writes, reads, instruction.format == "SMEM" or "load" in mnemonic or "bpermute" in mnemonic or "atomic" in mnemonic, text)


def _words(type_: str) -> int:
    return 2 if type_.endswith("64") else 1


def register(code: int, count: int = 1, type_: str = "b32", half: int | None = None) -> Operand:
    """Return the operand of some registers, the first by its code; vector registers follow after FIRST_VECTOR."""
    if code in _NAMES:
        return Operand(code, count, type_, half, _NAMES[code].removesuffix("_lo" if count == 2 else " "))
    letter, number = ("v", code - FIRST_VECTOR) if code >= FIRST_VECTOR else ("ttmp", code - TTMP) if code >= TTMP else ("s", code)
    text = f"{letter}{number}" if count == 1 else f"{letter}[{number}:{number + count - 1}]"
    return Operand(code, count, type_, half, text)


def _half_named(operand: Operand) -> Operand:
    return operand if operand.half is None else replace(operand, text=f"{operand.text}.{'h' if operand.half else 'l'}")


def _source(code: int, type_: str, instruction: Instruction, count: int = 0, half: int | None = None) -> Operand:
    number = constant(code, KINDS["i32"], instruction.literal)
    if number is not None:
        shown = _FLOATS.get(code) or (f"{number:#x}" if code == LITERAL else str(number - (number >> 31 << 32)))
        return Operand(code, 0, type_, None, shown)
    return register(code, count or _words(type_), type_, half)


def _of_memory(instruction: Instruction, lanes: int) -> tuple[tuple[Operand, ...], tuple[Operand, ...]]:
    fields, mnemonic = instruction.fields, instruction.mnemonic
    shape = shape_of(mnemonic)
    stored = next(FIRST_VECTOR + fields[name] for name in ("vdata", "data", "data0") if name in fields)
    loaded = FIRST_VECTOR + fields.get("vdst", stored - FIRST_VECTOR)
    count = shape.count * (2 if "2addr" in mnemonic else 1)
    if "load_tr" in mnemonic:
        count = count * 32 // lanes
    wide = fields.get("saddr", NULL) == NULL and "saddr" in fields
    address = [register(FIRST_VECTOR + fields.get("vaddr", fields.get("addr", 0)), 2 if wide else 1)]
    if "rsrc" in fields:
        # RDNA3 counts descriptors in units of four registers.
        resource = fields["rsrc"] * (1 if "th" in fields else 4)
        address = [*address * bool(fields["offen"]), register(resource, 4), _source(fields["soffset"], "u32", instruction)]
    elif not wide and "saddr" in fields:
        address.append(register(fields["saddr"], 2))
    half = int(shape.half) if shape.half is not None else 0 if shape.size < 4 and "store" in mnemonic else None
    if "2addr" in mnemonic and "store" in mnemonic:
        return (), (*(register(FIRST_VECTOR + fields[name], shape.count) for name in ("data0", "data1")), *address)
    if "store" in mnemonic and "storexchg" not in mnemonic:
        return (), (register(stored, count, half=half), *address)
    if "atomic" in mnemonic or "load" not in mnemonic:
        return (register(loaded, shape.count),), (register(stored, shape.count), *address)
    return (register(loaded, count, half=half),), tuple(address)


def _of_lanes(instruction: Instruction, types: list[str], lanes: int, generation: str) -> tuple[tuple[Operand, ...], tuple[Operand, ...]]:
    fields, mnemonic = instruction.fields, instruction.mnemonic
    meaning: Any = load_meanings(generation).get(mnemonic)
    long = instruction.format == "VOP3"
    codes = [fields[name] + FIRST_VECTOR * (name == "vsrc1") for name in ("src0", "vsrc1", "src1", "src2") if name in fields]
    if isinstance(meaning, MultiplyAccumulate):
        factors = SIZE if meaning.repeated else SIZE * SIZE // lanes
        narrow = meaning.result not in ("f32", "i32") and not meaning.repeated
        sums = SIZE * SIZE // lanes // (2 if narrow else 1)
        counts = [factors * (1 if kind in ("iu8", "fp8", "bf8") else 2) // 4 for kind in (meaning.a, meaning.b)] + [sums]
        kinds = (meaning.a, meaning.b, meaning.result)
        found = [_source(code, kind, instruction, count) for code, kind, count in zip(codes, kinds, counts, strict=True)]
        # RDNA3 has one 16-bit element in each register of a result, in one half.
        half = fields["op_sel"] >> 2 & 1 if meaning.repeated and meaning.result not in ("f32", "i32") else None
        return (register(FIRST_VECTOR + fields["vdst"], sums, meaning.result, half),), tuple(found)
    signature = getattr(meaning, "signature", "")
    swaps = mnemonic.startswith("v_swap")
    results, _, operands = signature.partition(" <- ")
    reads: list[Operand] = []
    for place, name in enumerate(operands.split() if signature else [types[-1]] * len(codes)):
        where, _, kind = name.rpartition(":")
        words = lanes // 32 if kind == "mask" else _words(kind)
        if where == "literal":
            reads.append(_source(LITERAL, kind, instruction))
        elif where == "dst":
            reads.append(register(FIRST_VECTOR + fields["vdst"], words, kind))
        elif not codes or (kind == "mask" and not long):
            reads.append(register(VCC, words))
        else:
            code, half = codes.pop(0), None
            if kind.endswith("16") and code >= FIRST_VECTOR and (signature or swaps):
                half = fields["op_sel"] >> place & 1 if long else code >> 7 & 1
                code = code if long else code & ~0x80
            if place == 0 and instruction.dpp is not None:
                code = FIRST_VECTOR + (instruction.dpp & 0xFF)
            reads.append(_half_named(_source(code, kind, instruction, words if kind == "mask" else 0, half)))
    writes: list[Operand] = []
    for place, kind in enumerate(results.split() if signature else [types[0]]):
        if kind in ("mask", "exec"):
            code = EXEC if kind == "exec" else VCC if not long else fields["sdst"] if place else fields["vdst"]
            writes.append(register(code, lanes // 32))
        elif kind == "s32" or mnemonic.startswith("v_read"):
            writes.append(register(fields["vdst"]))
        else:
            code, half = FIRST_VECTOR + fields["vdst"], None
            if kind.endswith("16") and (signature or swaps):
                half = fields["op_sel"] >> 3 & 1 if long else code >> 7 & 1
                code = code if long else code & ~0x80
            elif "_mixlo_" in mnemonic or "_mixhi_" in mnemonic:
                half = int("_mixhi_" in mnemonic)
            writes.append(_half_named(register(code, _words(kind), kind, half)))
    if swaps:
        writes, reads = [*writes, *reads], [*reads, *writes]
    return tuple(writes), tuple(reads)
