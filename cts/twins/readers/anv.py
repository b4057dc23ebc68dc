"""Reads the listings of ANV, Intel's driver of Mesa, for chips whose loads go through the load/store cache (from Xe-HPG)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cts.twins.machine_code import Line

_LABEL = re.compile(r"(L\d+):")
_INSTRUCTION = re.compile(r"(?:\([^)]*\)\s*)?\s*([a-z]\w*(?:\.[\w]+)*)\s*\((\d+)(?:\|M\d+)?\s*\)(.*)")
_BARE = re.compile(r"(?:\([^)]*\)\s*)?\s*(nop|illegal|sync\.\w+)\b")
_LOAD = re.compile(r"load\.ugml?\.d(\d+)(?:u32)?(?:x(\d+))?(t)?(?:\.|$)")
_LOADS_NOTHING = re.compile(r"(?:store|fence|lsc_fence)\b|(?:store|fence)[._]")
_LABELS = re.compile(r"\bL\d+\b")

_OTHER_UNITS = ("gtwy", "slm", "urb")
_JUMPS_ANYWHERE = ("call", "ret", "jmpi", "brd", "brc")


def read(text: str, subgroup_size: int) -> Iterator[Line]:
    """Yield the lines of a listing; each instruction says for how many lanes it is."""
    del subgroup_size
    found = False
    for written in text.splitlines():
        code, _, comment = written.partition("//")
        if label := _LABEL.match(code):
            yield Line(label[1])
        elif instruction := _INSTRUCTION.match(code.strip()):
            found = True
            yield _read(instruction[1], int(instruction[2]), instruction[3], comment.partition(";")[2].strip())
        elif code.strip() and not _BARE.match(code.strip()):
            yield Line(unknown=code.strip())
    if not found:
        yield Line(unknown="a listing without instructions")


def _read(name: str, lanes: int, operands: str, message: str) -> Line:
    operation, _, unit = name.partition(".")
    if operation.startswith("send"):
        if load := _LOAD.match(message):
            count = int(load[1]) // 8 * int(load[2] or 1)
            # A transposed load reads consecutive bytes from one address.
            return Line(uniform_bytes=count) if load[3] else Line(lane_bytes=count * lanes)
        return Line() if unit in _OTHER_UNITS or _LOADS_NOTHING.match(message) else Line(unknown=f"{name} {message}")
    if operation in _JUMPS_ANYWHERE:
        return Line(unknown=name)
    return Line(jumps=tuple(_LABELS.findall(operands)), multiply_adds=1 if operation in {"dpas", "dpasw"} else 0)
