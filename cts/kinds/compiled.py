"""Judges the code of kernel cases on a device that only compiles: is a needed load missing, and does the code less than that of a twin?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cts.devices.device import Device, DeviceFailure, TellsOfCode
from cts.front_ends import FrontEnd
from cts.kinds.kind import Judgement, Stopwatch, one_line
from cts.twins.comparison import does_less, missing_load
from cts.twins.declared import FRONT_END, Twin, load, twins_of
from cts.twins.machine_code import Code
from cts.twins.readers import read
from cts.verdict.codes import Code as VerdictCode
from cts.verdict.verdict import Verdict
from generators.casebook import BuiltCase, build
from generators.errors import NotExpressible
from generators.kernel import Kernel

COMPILED = Judgement(Verdict.COMPILED, message="every pipeline was made; nothing ran")

Kernels = Callable[[BuiltCase, FrontEnd], list[Kernel]]
"""Makes the kernel of each program of a case by a front end. Raises NotExpressible if the front end cannot."""


def judge_code(
    built: BuiltCase, made: Sequence[Kernel], front_end: FrontEnd, device: Device, kernels: Kernels, watch: Stopwatch
) -> Judgement:
    """Return the judgement of a case whose pipelines the driver makes.

    Args:
        built: the case.
        made: its kernels, by ``front_end``.
        device: tells of the code of kernels; otherwise the judgement says nothing of it.
        kernels: makes the kernels of a twin.
    """
    with watch.step("device"):
        own = _codes(device, made)
    if not any(own):
        return COMPILED
    with watch.step("expect"):
        missing = [missing_load(built, program, code) for program, code in zip(built.program.all, own, strict=True) if code is not None]
    lines = [str(one) for one in missing if one is not None]
    proved = bool(lines)
    less: list[str] = []
    for twin in twins_of(built.case, front_end, load()):
        with watch.step("device"):
            base = _codes_of_twin(device, twin, kernels)
        found = [line for code, other in zip(own, base, strict=False) if code and other for line in does_less(code, other)]
        if found:
            less.append(twin.differs_in)
            lines += [f"the code does less than that of its twin {_named(twin)}:", *(f"  {line}" for line in found)]
    if proved:
        return Judgement(Verdict.FAIL, VerdictCode.FAIL_MISSING_LOAD.of(), one_line(lines[0]), "\n".join(lines))
    if less:
        lines.append("This proves no mistake. Nothing ran.")
        return Judgement(Verdict.COMPILED, VerdictCode.COMPILED_LESS.of(less[0]), one_line(lines[0]), "\n".join(lines))
    return COMPILED


def _named(twin: Twin) -> str:
    return f"of the front end {twin.front_end}" if twin.differs_in == FRONT_END else twin.case.id


def _codes(device: Device, kernels: Sequence[Kernel]) -> list[Code | None]:
    """Return what the listing of each kernel says; None for a kernel without a listing that a reader knows."""
    if not isinstance(device, TellsOfCode):
        return [None] * len(kernels)
    size = device.description.subgroup_size
    return [read(device.listings(one), one.required_subgroup_size or size) for one in kernels]


def _codes_of_twin(device: Device, twin: Twin, kernels: Kernels) -> list[Code | None]:
    """Return what the listings of a twin's kernels say; nothing if the twin cannot be compiled, which is judged where it is a case."""
    try:
        made = kernels(build(twin.case), twin.front_end)
        if any(device.missing(one) for one in made):
            return []
        return _codes(device, made)
    except (NotExpressible, DeviceFailure):
        return []
