"""Reads the listings of RADV, AMD's driver of Mesa."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from cts.twins.machine_code import Line

_LABEL = re.compile(r"(BB\d+):")
_REPEATED = re.compile(r"\s*\(then repeated (\d+) times\)")
_INSTRUCTION = re.compile(r"\s+([a-z]\w*)\s*([^;]*)")
_WIDTH = re.compile(r"load_(?:tr_)?(?:d16_)?(?:hi_)?[bui](\d+)")
_SCALAR_WIDTH = re.compile(r"load_[bui](\d+)")
_REGISTERS = re.compile(r"v(?:\[(\d+):(\d+)\]|\d+(?:\.[lh])?),")

_MULTIPLY_ADD = re.compile(r"v_s?wmmac?_")
_LOADS_NOTHING = re.compile(r"v_|ds_|scratch_|(?:buffer|global|flat)_(?:store|inv|wb|gl\d_inv)|exp|s_")
_JUMPS_ANYWHERE = re.compile(r"s_(?:setpc|swappc|call|rfe|cbranch_[a-z]+_fork|cbranch_join|subvector)")


def read(text: str, subgroup_size: int) -> Iterator[Line]:
    """Yield the lines of a listing for subgroups of ``subgroup_size`` invocations."""
    last = Line()
    found = False
    for written in text.splitlines():
        if repeated := _REPEATED.match(written):
            for _ in range(int(repeated[1])):
                yield replace(last, label="")
        elif label := _LABEL.match(written):
            found = True
            yield Line(label[1])
        elif found and (instruction := _INSTRUCTION.match(written)):
            last = _read(instruction[1], instruction[2], subgroup_size)
            yield last
        elif found and written.strip():
            yield Line(unknown=written.strip())
    if not found:
        yield Line(unknown="a listing without blocks")


def _read(name: str, operands: str, lanes: int) -> Line:
    if name.startswith(("s_branch", "s_cbranch")) and not _JUMPS_ANYWHERE.match(name):
        target = re.fullmatch(r"BB\d+", operands.strip())
        return Line(jumps=(target[0],)) if target else Line(unknown=f"{name} {operands.strip()}")
    if name.startswith(("s_load", "s_buffer_load")):
        width = _SCALAR_WIDTH.search(name)
        return Line(uniform_bytes=int(width[1]) // 8) if width else Line(unknown=name)
    if name.startswith(("buffer_load", "global_load", "flat_load")):
        width, registers = _WIDTH.search(name), _REGISTERS.match(operands)
        if width is None or registers is None or "lds" in name + operands or "tfe" in operands:
            return Line(unknown=name)
        # A load that transposes gets fewer bits into each lane of a larger subgroup than its name says.
        count = int(registers[2]) - int(registers[1]) + 1 if registers[1] else 1
        return Line(lane_bytes=min(int(width[1]) // 8, 4 * count) * lanes)
    if "atomic" in name:
        return Line(unknown=name)
    if _MULTIPLY_ADD.match(name):
        return Line(multiply_adds=1)
    return Line() if _LOADS_NOTHING.match(name) and not _JUMPS_ANYWHERE.match(name) else Line(unknown=name)
