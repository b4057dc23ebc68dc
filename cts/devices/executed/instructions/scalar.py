"""Scalar instructions: they compute one value for the whole wave."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from cts.devices.executed.encoding.decoder import Instruction
from cts.devices.executed.instructions.floats import COMPARISONS, FLOATS
from cts.devices.executed.instructions.meaning import Step
from cts.devices.executed.instructions.vector import computing
from cts.devices.executed.operands import KINDS, LITERAL, SCC, scalar, write_scalar
from cts.devices.executed.wave import EXEC, Wave

_SOURCES = ("ssrc0", "ssrc1")
_FIXED = MappingProxyType({"literal": LITERAL, "simm": LITERAL, "exec": EXEC, "scc": SCC})
"""Operands that are no register in a field."""

_M32 = (1 << 32) - 1


@dataclass(frozen=True)
class Scalar:
    """A scalar instruction on numbers.

    Attributes:
        signature: ``RESULT <- OPERANDS``, kinds as in operands.py; ``scc`` as a result is the condition code alone, ``scc:u32`` its old
            value; ``dst:KIND`` is the old value of the destination, ``simm:KIND`` the instruction's own 16 bits, with their sign.
        function: takes numbers, returns a number whose lowest bits are the result; a pair, if ``scc`` is ``returned``.
        scc: how SCC is set: empty for not at all, ``nonzero`` for whether the result is not 0, ``returned``; ``exec`` if the function
            returns the result and a new EXEC, and SCC says whether that is not 0.
        modal: whether the function takes the wave first.
    """

    signature: str
    function: Callable[..., Any]
    scc: str = ""
    modal: bool = False

    def __call__(self, instruction: Instruction) -> Step:
        result, _, operands = self.signature.partition(" <- ")
        reads, sources = [], iter(_SOURCES)
        for operand in operands.split():
            where, _, name = operand.rpartition(":")
            kind, literal = KINDS[name], instruction.literal
            if where == "simm":
                literal = (instruction["simm16"] ^ 0x8000) - 0x8000 if kind.name[0] == "i" else instruction["simm16"]
            code = _FIXED.get(where) or instruction["sdst" if where == "dst" else next(sources)]
            reads.append(scalar(code, kind.bits, literal, kind.name[0] == "i"))
        value_of, scc = computing(self.function, reads, self.modal), self.scc
        if result == "scc":

            def compare(wave: Wave) -> None:
                wave.scc = int(value_of(wave))

            return compare
        bits = KINDS[result].bits
        write, mask = write_scalar(instruction["sdst"], max(bits, 32)), (1 << bits) - 1
        write_exec = write_scalar(EXEC, bits)

        def compute(wave: Wave) -> None:
            value = value_of(wave)
            if scc == "returned":
                value, condition = value
                wave.scc = int(condition)
            elif scc == "exec":
                value, active = value
                write_exec(wave, active & mask)
                wave.scc = int(active & mask != 0)
            elif scc:
                wave.scc = int(value & mask != 0)
            write(wave, value & mask)

        return compute


def of_vector(mnemonic: str) -> Scalar:
    """Return a scalar instruction with the arithmetic of a vector instruction on floats."""
    of = {**FLOATS, **COMPARISONS}[f"v{mnemonic[1:]}"]
    result, _, operands = of.signature.partition(" <- ")
    kinds = [KINDS[operand.rpartition(":")[2]] for operand in operands.split()]

    def function(wave: Wave, *numbers: int) -> int:
        arrays = [np.array([number], f"<u{kind.bits // 8}").view(kind.dtype) for number, kind in zip(numbers, kinds, strict=True)]
        value = of.function(wave, *arrays) if of.modal else of.function(*arrays)
        return int(value.view(f"u{value.itemsize}")[0])

    unsigned = re.sub(r"\b[fi](?=\d)", "b", of.signature)
    return Scalar("scc" + unsigned.removeprefix("mask") if result == "mask" else unsigned, function, modal=True)


def _sum(a: int, b: int, carry: int = 0) -> tuple[int, bool]:
    return a + b + carry, a + b + carry > _M32


def _difference(a: int, b: int, borrow: int = 0) -> tuple[int, bool]:
    return a - b - borrow, a < b + borrow


def _signed_sum(a: int, b: int) -> tuple[int, bool]:
    return a + b, not -(1 << 31) <= a + b < 1 << 31


def _extracted(value: int, field: int, bits: int, signed: bool) -> int:
    offset, width = field & bits - 1, field >> 16 & 0x7F
    found = value >> offset & (1 << width) - 1
    return found - (1 << width) if signed and width and found >> width - 1 & 1 else found


def _twice_each_bit(a: int) -> int:
    return int("".join(bit * 2 for bit in f"{a:032b}"), 2)


def _on_exec(bits: int, function: Callable[..., tuple[int, int]]) -> Scalar:
    """Return an instruction that takes a source and EXEC, and returns its result and a new EXEC."""
    return Scalar(f"b{bits} <- b{bits} exec:b{bits}", function, "exec")


_LOGIC: Mapping[str, Callable[[int, int], int]] = {
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "nand": lambda a, b: ~(a & b),
    "nor": lambda a, b: ~(a | b),
    "xnor": lambda a, b: ~(a ^ b),
    "and_not1": lambda a, b: a & ~b,
    "or_not1": lambda a, b: a | ~b,
}
_FOR_EXEC: Mapping[str, Callable[[int, int], int]] = {**_LOGIC, "and_not0": lambda a, b: ~a & b, "or_not0": lambda a, b: ~a | b}
_AND_NOT = ("and_not0", "and_not1")
_COMPARE = {"eq": operator.eq, "lg": operator.ne, "gt": operator.gt, "ge": operator.ge, "lt": operator.lt, "le": operator.le}


SCALARS: Mapping[str, Scalar] = MappingProxyType(
    {
        **{f"s_{name}_b{n}": Scalar(f"b{n} <- b{n} b{n}", f, "nonzero") for name, f in _LOGIC.items() for n in (32, 64)},
        **{f"s_{name}_saveexec_b{n}": _on_exec(n, lambda a, old, f=f: (old, f(a, old))) for name, f in _FOR_EXEC.items() for n in (32, 64)},
        **{f"s_{name}_wrexec_b{n}": _on_exec(n, lambda a, old, f=_FOR_EXEC[name]: (f(a, old),) * 2) for name in _AND_NOT for n in (32, 64)},
        **{f"s_cmp_{name}_{kind}": Scalar(f"scc <- {kind} {kind}", f) for name, f in _COMPARE.items() for kind in ("i32", "u32")},
        **{f"s_cmp_{name}_u64": Scalar("scc <- u64 u64", _COMPARE[name]) for name in ("eq", "lg")},
        **{f"s_cmpk_{name}_{kind}": Scalar(f"scc <- dst:{kind} simm:{kind}", f) for name, f in _COMPARE.items() for kind in ("i32", "u32")},
        **dict.fromkeys(("s_add_u32", "s_add_co_u32"), Scalar("u32 <- u32 u32", _sum, "returned")),
        **dict.fromkeys(("s_sub_u32", "s_sub_co_u32"), Scalar("u32 <- u32 u32", _difference, "returned")),
        **dict.fromkeys(("s_add_i32", "s_add_co_i32"), Scalar("i32 <- i32 i32", _signed_sum, "returned")),
        **dict.fromkeys(("s_sub_i32", "s_sub_co_i32"), Scalar("i32 <- i32 i32", lambda a, b: _signed_sum(a, -b), "returned")),
        **dict.fromkeys(("s_addc_u32", "s_add_co_ci_u32"), Scalar("u32 <- u32 u32 scc:u32", _sum, "returned")),
        **dict.fromkeys(("s_subb_u32", "s_sub_co_ci_u32"), Scalar("u32 <- u32 u32 scc:u32", _difference, "returned")),
        **dict.fromkeys(("s_addk_i32", "s_addk_co_i32"), Scalar("i32 <- dst:i32 simm:i32", _signed_sum, "returned")),
        "s_mulk_i32": Scalar("i32 <- dst:i32 simm:i32", operator.mul),
        "s_movk_i32": Scalar("i32 <- simm:i32", lambda a: a),
        "s_cmovk_i32": Scalar("i32 <- simm:i32 dst:i32 scc:u32", lambda a, old, scc: a if scc else old),
        "s_add_nc_u64": Scalar("u64 <- u64 u64", operator.add),
        "s_sub_nc_u64": Scalar("u64 <- u64 u64", operator.sub),
        "s_mul_u64": Scalar("u64 <- u64 u64", operator.mul),
        "s_mul_i32": Scalar("i32 <- i32 i32", operator.mul),
        "s_mul_hi_u32": Scalar("u32 <- u32 u32", lambda a, b: a * b >> 32),
        "s_mul_hi_i32": Scalar("i32 <- i32 i32", lambda a, b: a * b >> 32),
        "s_absdiff_i32": Scalar("i32 <- i32 i32", lambda a, b: abs(a - b), "nonzero"),
        "s_abs_i32": Scalar("i32 <- i32", abs, "nonzero"),
        **{f"s_lshl{n}_add_u32": Scalar("u32 <- u32 u32", lambda a, b, n=n: _sum(a << n, b), "returned") for n in range(1, 5)},
        **{f"s_lshl_b{n}": Scalar(f"b{n} <- b{n} b32", lambda a, b, n=n: a << (b & n - 1), "nonzero") for n in (32, 64)},
        **{f"s_lshr_b{n}": Scalar(f"b{n} <- b{n} b32", lambda a, b, n=n: a >> (b & n - 1), "nonzero") for n in (32, 64)},
        **{f"s_ashr_i{n}": Scalar(f"i{n} <- i{n} b32", lambda a, b, n=n: a >> (b & n - 1), "nonzero") for n in (32, 64)},
        **{f"s_bfe_u{n}": Scalar(f"u{n} <- u{n} b32", lambda a, b, n=n: _extracted(a, b, n, False), "nonzero") for n in (32, 64)},
        **{f"s_bfe_i{n}": Scalar(f"i{n} <- u{n} b32", lambda a, b, n=n: _extracted(a, b, n, True), "nonzero") for n in (32, 64)},
        **{f"s_bfm_b{n}": Scalar(f"b{n} <- b32 b32", lambda a, b, n=n: ((1 << (a & n - 1)) - 1) << (b & n - 1)) for n in (32, 64)},
        **{f"s_mov_b{n}": Scalar(f"b{n} <- b{n}", lambda a: a) for n in (32, 64)},
        **{f"s_cmov_b{n}": Scalar(f"b{n} <- b{n} dst:b{n} scc:u32", lambda a, old, scc: a if scc else old) for n in (32, 64)},
        **{f"s_cselect_b{n}": Scalar(f"b{n} <- b{n} b{n} scc:u32", lambda a, b, scc: a if scc else b) for n in (32, 64)},
        **{f"s_not_b{n}": Scalar(f"b{n} <- b{n}", operator.invert, "nonzero") for n in (32, 64)},
        **{f"s_brev_b{n}": Scalar(f"b{n} <- b{n}", lambda a, n=n: int(f"{a:0{n}b}"[::-1], 2)) for n in (32, 64)},
        **{f"s_ctz_i32_b{n}": Scalar(f"i32 <- b{n}", lambda a: (a & -a).bit_length() - 1) for n in (32, 64)},
        **{f"s_clz_i32_u{n}": Scalar(f"i32 <- u{n}", lambda a, n=n: n - a.bit_length() if a else -1) for n in (32, 64)},
        **{f"s_bcnt0_i32_b{n}": Scalar(f"i32 <- b{n}", lambda a, n=n: n - a.bit_count(), "nonzero") for n in (32, 64)},
        **{f"s_bcnt1_i32_b{n}": Scalar(f"i32 <- b{n}", int.bit_count, "nonzero") for n in (32, 64)},
        **{f"s_bitset0_b{n}": Scalar(f"b{n} <- b32 dst:b{n}", lambda a, old, n=n: old & ~(1 << (a & n - 1))) for n in (32, 64)},
        **{f"s_bitset1_b{n}": Scalar(f"b{n} <- b32 dst:b{n}", lambda a, old, n=n: old | 1 << (a & n - 1)) for n in (32, 64)},
        **{f"s_bitcmp0_b{n}": Scalar(f"scc <- b{n} b32", lambda a, b, n=n: not a >> (b & n - 1) & 1) for n in (32, 64)},
        **{f"s_bitcmp1_b{n}": Scalar(f"scc <- b{n} b32", lambda a, b, n=n: a >> (b & n - 1) & 1) for n in (32, 64)},
        "s_bitreplicate_b64_b32": Scalar("b64 <- b32", _twice_each_bit),
        **{f"s_min_{kind}": Scalar(f"{kind} <- {kind} {kind}", lambda a, b: (min(a, b), a < b), "returned") for kind in ("i32", "u32")},
        **{f"s_max_{kind}": Scalar(f"{kind} <- {kind} {kind}", lambda a, b: (max(a, b), a > b), "returned") for kind in ("i32", "u32")},
        "s_sext_i32_i8": Scalar("i32 <- b32", lambda a: (a & 0xFF ^ 0x80) - 0x80),
        "s_sext_i32_i16": Scalar("i32 <- b32", lambda a: (a & 0xFFFF ^ 0x8000) - 0x8000),
        "s_pack_ll_b32_b16": Scalar("b32 <- b32 b32", lambda a, b: a & 0xFFFF | b << 16),
        "s_pack_lh_b32_b16": Scalar("b32 <- b32 b32", lambda a, b: a & 0xFFFF | b & 0xFFFF0000),
        "s_pack_hh_b32_b16": Scalar("b32 <- b32 b32", lambda a, b: a >> 16 | b & 0xFFFF0000),
        "s_pack_hl_b32_b16": Scalar("b32 <- b32 b32", lambda a, b: a >> 16 | b << 16),
    }
)
