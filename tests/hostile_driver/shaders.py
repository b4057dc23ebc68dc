"""What the layer needs to know about the suite: the shader of each case, the binding of its output, and a message to forge."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from cts.checkout import find_root
from cts.devices.messages import ANSWER, frame
from cts.kinds.kernel import compile_module
from generators.casebook import CaseKind, build, find_case, load_casebook
from generators.dispatch import kernel
from tests.hostile_driver.scenario import FOLDER, Scenario, case_ids


@dataclass(frozen=True)
class Shader:
    """A case's module and interface.

    Attributes:
        crc: CRC-32 of the module's code.
        output: binding of the first buffer that it writes.
        input: binding of the first buffer that it only reads, None if there is none.
    """

    crc: int
    output: int
    input: int | None


@cache
def shaders() -> Mapping[str, Shader]:
    """Return family -> the shader of its case, if it has one."""
    casebook = load_casebook(find_root(FOLDER))
    found = {}
    for family, id_ in case_ids().items():
        case = find_case(casebook, id_)
        if case.definition.kind is not CaseKind.KERNEL:
            continue
        program = build(case).program
        built = kernel(program, compile_module(program, "spirv"))
        written = {slot.binding for slot in built.buffers if slot.written and slot.binding is not None}
        read = {slot.binding for slot in built.buffers if not slot.written and slot.binding is not None}
        found[family] = Shader(zlib.crc32(built.spirv), min(written), min(read, default=None))
    return found


def _forged_answer() -> bytes:
    """Return an answer to the first request to run a kernel, in the form in which the process that holds the device sends it."""
    return frame(2, (ANSWER, ([], {}, {})))


_BYTES = {
    "garbage": lambda: random.Random(1).randbytes(1500),
    "zeros": lambda: bytes(1500),
    "ones": lambda: b"\xff" * 1500,
    "huge_length": lambda: struct.pack("<Q", 1 << 62),
    "some_length": lambda: struct.pack("<Q", 1 << 20) + b"\x80\x05",
    "forged_answer": _forged_answer,
    "text": lambda: b"driver: ready\n" * 20,
}
"""Bytes that a driver may write to a descriptor that is not its own."""


def filled(scenario: Scenario) -> list[str]:
    """Return the scenario's faults, as layer.c reads them.

    ``{output}`` and ``{input}`` are replaced by bindings of the case's buffers, the names of ``_BYTES`` by bytes in hexadecimal.
    """
    words = {name: make().hex() for name, make in _BYTES.items()}
    armed = ""
    if scenario.of in shaders():
        shader = shaders()[scenario.of]
        words |= {"output": str(shader.output), "input": str(shader.input)}
        armed = f" shader={shader.crc:08x}"
    return [fault.format(**words) + armed for fault in scenario.faults]
