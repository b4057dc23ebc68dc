"""Judges the code of kernel cases on a device that only compiles: is a needed load missing, and does the code less than that of a twin?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cts.devices.device import Device, DeviceFailure, TellsOfCode
from cts.front_ends import FrontEnd
from cts.kinds.kind import Stopwatch, one_line
from cts.twins.comparison import differences, has_known_loads, missing_load
from cts.twins.declared import FRONT_END, Twin, load, twins_of
from cts.twins.readers import Listing, read
from cts.verdict.codes import Code
from cts.verdict.verdict import Judgement, Verdict
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
    twins, programs = twins_of(built.case, front_end, load()), built.program.all
    if not twins and not any(map(has_known_loads, programs)):
        return COMPILED
    with watch.step("device"):
        own = _listings(device, made)
    with watch.step("expect"):
        proofs = [missing_load(built, program, one.code) for program, one in zip(programs, own, strict=True) if one is not None]
    proved = [str(one) for one in proofs if one is not None]
    found: dict[str, list[str]] = {}
    for twin in twins:
        with watch.step("device"):
            base = _listings_of_twin(device, twin, kernels)
        with watch.step("compare"):
            pairs = [(one, other) for one, other in zip(own, base, strict=False) if one and other]
            lines = [line for one, other in pairs for line in differences(one, other, twin.in_flow)]
        if lines:
            found[twin.differs_in] = [f"compared with the code of its twin, {_named(twin)}:", *(f"  {line}" for line in lines)]
    compared = [line for lines in found.values() for line in lines]
    if proved:
        return Judgement(Verdict.FAIL, Code.FAIL_MISSING_LOAD.of(), one_line(proved[0]), "\n".join([*proved, *compared]))
    if found:
        code = Code.COMPILED_OTHERWISE.of(next(iter(found)))
        return Judgement(Verdict.COMPILED, code, compared[1].strip(), "\n".join([*compared, "This proves no mistake. Nothing ran."]))
    return COMPILED


def _named(twin: Twin) -> str:
    return f"of the front end {twin.front_end}" if twin.differs_in == FRONT_END else twin.case.id


def _listings(device: Device, kernels: Sequence[Kernel]) -> list[Listing | None]:
    """Return the listing of each kernel; None for a kernel without one that a reader knows."""
    if not isinstance(device, TellsOfCode):
        return [None] * len(kernels)
    size = device.description.subgroup_size
    return [read(device.listings(one), one.required_subgroup_size or size) for one in kernels]


def _listings_of_twin(device: Device, twin: Twin, kernels: Kernels) -> list[Listing | None]:
    """Return the listings of a twin's kernels; none if the twin cannot be compiled, which is judged where it is a case."""
    try:
        made = kernels(build(twin.case), twin.front_end)
        if any(device.missing(one) for one in made):
            return []
        return _listings(device, made)
    except (NotExpressible, DeviceFailure):
        return []
