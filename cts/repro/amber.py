"""Writes a kernel case as an AmberScript, if Amber can express it.

Amber binds whole buffers, and compares each byte with one value. It does not know subgroup sizes, so the constants of the module are
written into the module, with the local size for subgroups of 32.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from cts.devices.capabilities import SPIRV_EXTENSIONS
from cts.devices.module_reading import read_needs
from cts.repro.c_program import Run
from generators.errors import Lack, NotExpressible
from generators.kernel import BufferSlot, Kernel
from generators.spirv.enumerants import Decoration, Op
from generators.spirv.reader import read_instructions

SCRIPT = "repro.amber"
SUBGROUP_SIZE = 32

_A_LINE = 32
_DECIMAL = tuple(map(str, range(256)))


def amber_script(id_: str, runs: Sequence[Run], expected: Sequence[Iterable[str]]) -> str:
    """Return the script.

    Args:
        id_: the id of the case.
        runs: its runs, in order.
        expected: for each run, the lines of ``element_sets``.

    Raises:
        NotExpressible: Amber cannot express the case.
    """
    _refuse(runs)
    lines = ["#!amber", f"# {id_}", f"# Constants are in the modules, for subgroups of {SUBGROUP_SIZE}.", ""]
    first = runs[0].kernel
    needs = read_needs(first.spirv, first.entry_point)
    lines += [f"DEVICE_EXTENSION {SPIRV_EXTENSIONS[name]}" for name in needs.extensions if name in SPIRV_EXTENSIONS]
    shaders: dict[bytes, str] = {}
    for number, (run, elements) in enumerate(zip(runs, expected, strict=True)):
        module = specialized(run.kernel)
        if module not in shaders:
            shaders[module] = f"kernel{len(shaders)}"
            lines += ["", f"SHADER compute {shaders[module]} SPIRV-HEX", *_hexadecimal(module), "END"]
        lines += ["", f"# {run.folder}", *_run(number, run, shaders[module])]
        for line in elements:
            lines.append(_expectation(number, line))
    return "\n".join(lines) + "\n"


def _refuse(runs: Sequence[Run]) -> None:
    first = runs[0].kernel
    if first.draw is not None:
        raise NotExpressible(Lack.PROGRAM_DRAW, "it draws without attachments")
    if first.shader_object is not None or first.pipeline_cache or first.robust:
        raise NotExpressible(Lack.PROGRAM_PIPELINE, "it has a shader object, a pipeline cache or robust access")
    if first.passes is not None or first.preceding is not None:
        raise NotExpressible(Lack.PROGRAM_PIPELINE, "it has several dispatches, or several pipelines, in one submission")
    for slot in first.buffers:
        if slot.binding is None or slot.element:
            raise NotExpressible(Lack.PROGRAM_BUFFERS, "it has buffers that are reached by address, or arrays of descriptors")
        if slot.opaque is not None or slot.windows is not None:
            raise NotExpressible(Lack.PROGRAM_MATRICES, "it has matrices in a layout that the device chooses, or buffers of gigabytes")


def specialized(kernel: Kernel) -> bytes:
    """Return the module of a kernel with the values of its specialization constants as their defaults."""
    values = {constant.constant_id: constant.value for constant in kernel.specialization}
    if kernel.local_size_constant_id is not None:
        values[kernel.local_size_constant_id] = kernel.local_size_x(kernel.required_subgroup_size or SUBGROUP_SIZE)
    ids: dict[int, int] = {}
    words = np.frombuffer(kernel.spirv, "<u4").copy()
    for op, operands, position in read_instructions(kernel.spirv):
        if op is Op.Decorate and operands[1] == Decoration.SpecId:
            ids[operands[0]] = operands[2]
        elif op is Op.SpecConstant and ids.get(operands[1]) in values:
            value = values[ids[operands[1]]]
            for place in range(len(operands) - 2):
                words[position + 3 + place] = value >> 32 * place & 0xFFFFFFFF
        elif op in (Op.SpecConstantTrue, Op.SpecConstantFalse) and ids.get(operands[1]) in values:
            raise NotExpressible(Lack.PROGRAM_CONSTANTS, "it has a boolean specialization constant")
    return words.tobytes()


def _hexadecimal(module: bytes) -> Iterator[str]:
    words = [f"0x{word:08x}" for word in np.frombuffer(module, "<u4").tolist()]
    for at in range(0, len(words), 8):
        yield " ".join(words[at : at + 8])


def _data(name: str, contents: bytes) -> Iterator[str]:
    yield f"BUFFER {name} DATA_TYPE uint8 DATA"
    for at in range(0, len(contents), _A_LINE):
        yield " ".join([_DECIMAL[byte] for byte in contents[at : at + _A_LINE]])
    yield "END"


def _run(number: int, run: Run, shader: str) -> Iterator[str]:
    """Yield a dispatch with its own buffers and pipeline."""
    slots: tuple[BufferSlot, ...] = run.kernel.buffers
    for slot, contents in zip(slots, run.dispatch.contents, strict=True):
        yield from _data(f"{slot.name}{number}", contents.tobytes())
    if run.dispatch.push_constants:
        yield from _data(f"pushed{number}", run.dispatch.push_constants)
    yield f"PIPELINE compute pipeline{number}"
    yield f"  ATTACH {shader} ENTRY_POINT {run.kernel.entry_point}"
    for slot in slots:
        yield f"  BIND BUFFER {slot.name}{number} AS storage DESCRIPTOR_SET {slot.descriptor_set} BINDING {slot.binding}"
    if run.dispatch.push_constants:
        yield f"  BIND BUFFER pushed{number} AS push_constant"
    yield "END"
    yield f"RUN pipeline{number} {' '.join(map(str, run.dispatch.workgroups))}"


def _expectation(number: int, line: str) -> str:
    array, at, _, _, _, _, *sets = line.partition(";")[0].split()
    if len(sets) != 1 or not set(sets[0]) <= set("0123456789abcdef"):
        raise NotExpressible(Lack.PROGRAM_VALUES, "an element may have several values")
    values = bytes.fromhex(sets[0])[::-1]
    return f"EXPECT {array}{number} IDX {at} EQ {' '.join(map(str, values))}"
