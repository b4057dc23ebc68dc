"""The seam for faults: what a fault gets, and that the seam has no effect on a device without faults."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cts.embedded.device import EmbeddedDevice
from cts.embedded.faults import NO_FAULTS, Faults, NoSuchFault, operations
from cts.embedded.instructions.invocations.built_ins import built_in, check_built_in
from cts.embedded.instructions.registry import handlers, handlers_with
from cts.embedded.profile import load_profile
from generators.spirv.enumerants import Op

CONTRIBUTING = Path(__file__).parents[2] / "CONTRIBUTING.md"


def test_without_faults_a_device_has_its_own_functions():
    assert handlers_with(NO_FAULTS) is handlers()
    assert NO_FAULTS.performing(built_in) is built_in


def test_a_fault_gets_what_is_right_and_takes_its_place():
    faults = Faults({Op.IAdd: lambda right: ("instead of", right)}, {built_in: lambda right: ("instead of", right)})
    assert handlers_with(faults) == {**handlers(), Op.IAdd: ("instead of", handlers()[Op.IAdd])}
    assert faults.performing(built_in) == ("instead of", built_in)


def test_a_function_that_no_fault_may_replace_is_refused():
    with pytest.raises(NoSuchFault):
        Faults(operations={check_built_in: lambda right: right})


def test_an_instruction_that_the_interpreter_lacks_is_refused():
    with pytest.raises(NoSuchFault):
        EmbeddedDevice(load_profile("universal"), faults=Faults({Op.TraceRayKHR: lambda right: right}))


def test_every_operation_is_documented():
    handlers()
    section = CONTRIBUTING.read_text().partition("## A device that is wrong on purpose")[2].partition("\n## ")[0]
    assert sorted(re.findall(r"^\| `(\w+\.\w+)` ", section, re.M)) == list(operations())
