"""The commands that run one case again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from cts.journal.run_record import RunRecord
from cts.minimise.ending import BAD
from cts.verdict.verdict import CaseResult, Verdict
from generators.casebook import Casebook, CaseKind
from reports.assessment import is_of_a_validator

_MINIMISED = BAD | {Verdict.KNOWN_FAIL}


def commands(
    result: CaseResult, metas: Sequence[RunRecord], family_files: Mapping[str, Path], casebook: Casebook | None = None
) -> dict[str, str]:
    """Map each purpose to a command line. Commands that judge are left out if the family's file is not available, and the one that follows
    an element if the casebook does not have the family, or the case runs no shader."""
    options = _options(result, metas)
    lines = {}
    if result.family in family_files:
        lines["Judge it again"] = shlex.join(["cts", "run", result.id, *options])
        if result.verdict in _MINIMISED:
            lines["Find out whose fault it is, with evidence"] = shlex.join(["cts", "blame", result.id, *options])
            purpose = "Find the smallest case that fails in the same way, and which parameters matter"
            lines[purpose] = shlex.join(["cts", "minimise", result.id, *options, "--out", "DIR"])
    # An exception of the suite would also end the commands that build the case.
    if result.verdict is Verdict.ERROR:
        return lines
    alone = "Write a folder that reproduces it without the suite"
    purpose = alone if is_of_a_validator(result) else f"{alone} (repro.c) and bisects a driver (bisect.sh), with the device's results"
    lines[purpose] = shlex.join(["cts", "repro", result.id, "DIR", *options])
    first = next((one for one in result.failures if one.mismatch.elements), None)
    family = casebook.families.get(result.family) if casebook is not None else None
    if first is not None and family is not None and family.kind is CaseKind.KERNEL:
        element = first.mismatch.elements[0]
        where = f"{element.row},{element.column}", "--subcase", first.subcase, "--instance", str(element.instance)
        purpose = "Follow a wrong element back to the bytes that it was made from"
        lines[purpose] = shlex.join(["cts", "show", result.id, "--element", *where, "--array", first.mismatch.array, *options])
    lines["See all parameters, and the shader"] = shlex.join(["cts", "show", result.id, "--glsl", "--spirv"])
    return lines


def _options(result: CaseResult, metas: Sequence[RunRecord]) -> list[str]:
    options = []
    for meta in metas:
        device = meta.get("device")
        if device is not None and device.get("name") == result.device:
            options = ["--device", str(meta.get("selector") or device.get("uuid") or result.device)]
    if result.front_end not in ("", "spirv"):
        options += ["--front-end", result.front_end]
    return options
