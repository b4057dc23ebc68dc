"""The commands that run one case again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from cts.journal.run_record import RunRecord
from cts.minimise.ending import BAD
from cts.verdict.verdict import CaseResult, Verdict
from reports.assessment import is_of_a_validator

_MINIMISED = BAD | {Verdict.KNOWN_FAIL}


def commands(result: CaseResult, metas: Sequence[RunRecord], family_files: Mapping[str, Path]) -> dict[str, str]:
    """Map each purpose to a command line. Commands that judge are left out if the family's file is not available."""
    options = _options(result, metas)
    lines = {}
    if result.family in family_files:
        lines["Judge it again"] = shlex.join(["cts", "run", result.id, *options])
        if result.verdict in _MINIMISED:
            lines["Find out whose fault it is, with evidence"] = shlex.join(["cts", "blame", result.id, *options])
            purpose = "Find the smallest case that fails in the same way, and which parameters matter"
            lines[purpose] = shlex.join(["cts", "minimise", result.id, *options, "--out", "DIR"])
    alone = "Write a folder that reproduces it without the suite"
    purpose = alone if is_of_a_validator(result) else f"{alone} (repro.c) and bisects a driver (bisect.sh), with the device's results"
    lines[purpose] = shlex.join(["cts", "repro", result.id, "DIR", *options])
    if first := next((one.mismatch for one in result.failures if one.mismatch.elements), None):
        element = first.elements[0]
        where = [
            "--element",
            f"{element.row},{element.column}",
            "--subcase",
            result.failures[0].subcase,
            "--instance",
            str(element.instance),
        ]
        purpose = "Follow a wrong element back to the bytes that it was made from"
        lines[purpose] = shlex.join(["cts", "show", result.id, *where, "--array", first.array, *options[:2]])
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
