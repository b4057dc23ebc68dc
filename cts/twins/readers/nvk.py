"""Reads the listings of NVK, the open driver of NVIDIA's chips in Mesa: NAK's intermediate code after the last pass."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cts.twins.machine_code import Line

_BLOCK = re.compile(r"block(?:\.\w+)? \d+ (L\d+) \[")
_INSTRUCTION = re.compile(r"\s*(?:@!?u?p\w+ +)?(?:[^=]*? = )?(?:@!?u?p\w+ +)?([a-z]\w*(?:\.+\w+)*)(?: |$)(.*)")
_WIDTH = re.compile(r"\.[bus](\d+)$")
_LABELS = re.compile(r"\bL\d+\b")

_MULTIPLY_ADD = re.compile(r"[a-z]*mma\b")
_UNKNOWN = re.compile(r"(?:atom|red|su(?:ld|atom)|tex|tl|tx|tmml|ald|ipa|call|brx|jmp|ret|lds?\b.*generic|ld\.generic|ldg?sts)")


def read(text: str, subgroup_size: int) -> Iterator[Line]:
    """Yield the lines of a listing for subgroups of ``subgroup_size`` invocations."""
    found = False
    for written in text.splitlines():
        code = written.partition("//")[0].rstrip()
        if block := _BLOCK.match(code):
            found = True
            yield Line(block[1])
        elif found and code and not code.startswith("}"):
            instruction = _INSTRUCTION.fullmatch(code)
            yield _read(instruction[1], instruction[2], subgroup_size) if instruction else Line(unknown=code.strip())
    if not found:
        yield Line(unknown="a listing without blocks")


def _read(name: str, operands: str, lanes: int) -> Line:
    if _UNKNOWN.match(name):
        return Line(unknown=name)
    if name.startswith("ld.global"):
        width = _WIDTH.search(name)
        return Line(lane_bytes=int(width[1]) // 8 * lanes) if width else Line(unknown=name)
    if name.startswith("ld.") and not name.startswith(("ld.shared", "ld.local")):
        return Line(unknown=name)
    if name.startswith(("bra", "bssy")):
        labels = tuple(_LABELS.findall(operands))
        return Line(jumps=labels) if labels else Line(unknown=f"{name} {operands.strip()}")
    return Line(multiply_adds=1 if _MULTIPLY_ADD.match(name) else 0)
