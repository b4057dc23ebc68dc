"""The embedded device judges the modules of static rules as a validator does."""

from __future__ import annotations

import pytest

from cts.devices.device import UndefinedBehaviour
from cts.embedded.device import EmbeddedDevice
from cts.embedded.diagnostics import NotValidSpirv
from cts.embedded.profile import load_profile
from generators.casebook import Case, build_module, expand
from generators.kernel import BufferSlot, Kernel
from tests.suite import casebook

ENCODINGS = ("bfloats", "e4m3", "e5m2")


def cases(family: str, form: str) -> list[Case]:
    every = expand(casebook().family(family), "smoke")
    return [case for case in every if case.named["form"] == form]


def prepare(case: Case) -> None:
    """Make the pipeline of a case's module."""
    slots = tuple(BufferSlot(name, 1 << 16, True, binding) for binding, name in enumerate("abcd"))
    EmbeddedDevice(load_profile("universal")).run(Kernel(build_module(case).module, slots, required_subgroup_size=32), [])


@pytest.mark.parametrize("case", cases("static_maintenance1", "legal"), ids=lambda case: case.id)
def test_a_legal_module_is_accepted(case: Case) -> None:
    prepare(case)


@pytest.mark.parametrize("case", cases("static_maintenance1", "broken"), ids=lambda case: case.id)
def test_a_broken_module_is_refused(case: Case) -> None:
    with pytest.raises((UndefinedBehaviour, NotValidSpirv)):
        prepare(case)


@pytest.mark.parametrize(
    "case",
    [case for case in cases("static_qcom", "broken") if any(name in case.named["rule"] for name in ENCODINGS)],
    ids=lambda case: case.id,
)
def test_other_encodings_than_ieee_754_are_refused(case: Case) -> None:
    with pytest.raises(UndefinedBehaviour) as refused:
        prepare(case)
    # One check of the device is for both rules on the elements of a cast.
    rule = "QC-BC-01" if case.requirements == ("QC-BC-04",) else case.requirements[0]
    assert refused.value.rule == rule
