"""Find out whether the cases of the smoke tier notice a device's mistakes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from cts.embedded.device import EmbeddedDevice
from cts.embedded.faults import Faults
from cts.embedded.profile import load_profile
from cts.kinds.kernel import Arrangement, arrange, compile_module
from cts.verdict.compare import is_permitted
from generators.casebook import Case, build, expand, find_case
from generators.dispatch import kernel
from generators.kernel import Kernel
from generators.program.program import Program
from tests.broken_devices.doubles import Broken
from tests.suite import casebook


@cache
def smoke_cases(family: str) -> list[Case]:
    """Return the cases of a family in the smoke tier."""
    return expand(casebook().family(family), "smoke")


@cache
def prepared(case_id: str) -> tuple[Kernel, Program, Arrangement]:
    """Return the kernel of a case, its program, and its inputs and expected outputs."""
    case = find_case(casebook(), case_id)
    built = build(case)
    program = built.program
    return kernel(program, compile_module(program, "spirv")), program, arrange(built)


def fails(case_id: str, device: EmbeddedDevice | Broken) -> bool:
    """Return whether the device supports the case and fails it."""
    built, program, plan = prepared(case_id)
    if device.missing(built):
        return False
    # A wrong device fails most cases in their first dispatch.
    for expected, before, dispatch in zip(plan.expected, plan.before, plan.dispatches, strict=True):
        (outcome,) = device.run(built, [dispatch])
        if outcome.stray or not is_permitted(program, expected, before, {**before, **outcome.outputs}):
            return True
    return False


def _has(named: Mapping[str, str], labels: Mapping[str, str | tuple[str, ...]]) -> bool:
    return all(named.get(name) in ((label,) if isinstance(label, str) else label) for name, label in labels.items())


def wrong(profile: str, faults: Faults) -> EmbeddedDevice:
    """Return a device with faults that is not strict, given the name of its profile."""
    return EmbeddedDevice(load_profile(profile), strict=False, faults=faults)


def noticed(family: str, device: EmbeddedDevice, /, **labels: str | tuple[str, ...]) -> bool:
    """Return whether a smoke case of the family fails on the device.

    Args:
        family: name of the family.
        device: runs the cases.
        labels: name of a parameter -> the label that the cases must have, or several alternatives.
    """
    cases = [case.id for case in smoke_cases(family) if _has(case.named, labels)]
    assert cases, f"no smoke case of {family} has {labels}"
    return any(fails(case_id, device) for case_id in cases)
