"""Static cases: the verdicts on a validator's answers, in each command of the suite."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import pytest

from cts import judges as choosing
from cts.devices.device import DeviceCrash
from cts.devices.holder import DeviceHolder
from cts.devices.isolation import IsolatedDevice
from cts.devices.spec import DeviceSpec
from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from cts.engine.plan import OptionError, checked_settings
from cts.engine.runner import judge
from cts.judges import choose, open_judge
from cts.kinds.table import KINDS, unjudged
from cts.validators.spirv_val import SpirvVal, ValidatorMissing
from cts.verdict.codes import Reason
from cts.verdict.verdict import CaseResult, Verdict
from generators.casebook import Case, CaseKind, expand, load_family
from generators.message_pattern import message_pattern
from generators.module_check import ModuleCheck
from generators.parameters.declaration import parameter
from tests.suite import casebook, pin

CHECKOUT = Path(__file__).parents[2]

FAMILY = """\
family: toy_static
specification: SPV_KHR_cooperative_matrix
builder: toy_static
covers: [KHR-EXT-01]
plan: what a validator says
parameters:
  module: [valid, invalid]
products:
  - {name: all, why: each, parameters: {module: all}, smoke: 1, nightly: 1}
"""


@dataclass(frozen=True, kw_only=True)
class Parameters:
    module: Literal["valid", "invalid"] = parameter("what the module is")


def module(parameters: Parameters) -> ModuleCheck:
    says = None if parameters.module == "valid" else message_pattern("Must be … numer")
    return ModuleCheck(parameters.module.encode(), "components are numbers", says)


@pytest.fixture
def cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Case]:
    """Return the cases by label. They are in a separate casebook that uses the suite's requirements."""
    builder = ModuleType("generators.families.khr_cooperative_matrix.toy_static")
    vars(builder).update(PREDICATES={}, Parameters=Parameters, module=module, __spec__=pytest.__spec__)
    monkeypatch.setitem(sys.modules, builder.__name__, builder)
    folder = tmp_path / "cases" / "khr_cooperative_matrix"
    folder.mkdir(parents=True)
    (tmp_path / "cases" / "requirements").symlink_to(CHECKOUT / "cases" / "requirements")
    (folder / "toy_static.yaml").write_text(FAMILY)
    return {"-".join(case.labels): case for case in expand(pin(load_family(folder / "toy_static.yaml")), "nightly")}


@pytest.fixture
def validator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that puts on PATH a spirv-val with a fixed answer for every module."""

    def install(code: int, message: str = "") -> DeviceHolder:
        script = tmp_path / "bin" / "spirv-val"
        script.parent.mkdir(exist_ok=True)
        script.write_text(
            f"#!/bin/sh\n[ $1 = --version ] && echo 'SPIRV-Tools v2031.2 unknown hash' && exit\necho '{message}' >&2\n{_leave(code)}\n"
        )
        script.chmod(0o755)
        monkeypatch.setenv("PATH", str(script.parent), prepend=":")
        return DeviceHolder(SpirvVal)

    return install


def _leave(code: int) -> str:
    return f"exit {code}" if code >= 0 else f"kill {code} $$"


def verdict(case: Case, holder: DeviceHolder) -> CaseResult:
    return judge(case, holder, "spirv", "smoke")


def test_a_valid_module_must_be_accepted(cases, validator):
    assert verdict(cases["valid"], validator(0)).verdict is Verdict.PASS
    result = verdict(cases["valid"], validator(1, "error: line 3: Expected another type"))
    assert (result.verdict, result.code) == (Verdict.FAIL, "fail.rejected")
    assert "error: line 3: Expected another type" in result.reason
    assert "rule: components are numbers" in result.message


def test_an_invalid_module_must_be_rejected_for_the_rule_it_breaks(cases, validator):
    assert verdict(cases["invalid"], validator(1, "error: components must be numerical")).verdict is Verdict.PASS
    accepted = verdict(cases["invalid"], validator(0))
    assert (accepted.verdict, accepted.code) == (Verdict.FAIL, "fail.accepted")
    assert accepted.message.count("an invalid module is accepted") == 1
    elsewhere = verdict(cases["invalid"], validator(1, "error: no such id"))
    assert elsewhere.verdict is Verdict.FAIL
    assert elsewhere.code == "fail.message"
    assert "'Must be … numer'" in elsewhere.reason
    assert elsewhere.reason.endswith(": error: no such id")


def test_a_validator_that_dies_is_a_crash_and_no_rejection(cases, validator):
    result = verdict(cases["invalid"], validator(-11))
    assert result.verdict is Verdict.CRASH
    assert "signal 11" in result.reason
    with pytest.raises(DeviceCrash):
        SpirvVal().validate(b"")


def test_a_device_that_cannot_judge_a_kind_says_which_one_does(cases, validator):
    embedded = DeviceHolder(lambda: EmbeddedDevice(load_profile("universal")))
    result = verdict(cases["valid"], embedded)
    assert (result.verdict, result.code) == (Verdict.NOT_SUPPORTED, "missing.judge.static")
    assert result.reason == "static rules are judged by --device spirv-val"
    kernel = expand(casebook().family("load_store"), "smoke")[0]
    result = verdict(kernel, validator(0))
    assert (result.verdict, result.code) == (Verdict.NOT_SUPPORTED, "missing.judge.kernel")
    assert result.reason == "spirv-val runs no shaders"
    missing = unjudged(CaseKind.QUERY, SpirvVal())
    assert missing == Reason("missing.judge.query", "spirv-val has no property commands")


def test_every_kind_has_its_functions_and_a_device(validator):
    validator(0)
    embedded = EmbeddedDevice(load_profile("universal"))
    isolated = IsolatedDevice(DeviceSpec("embedded", "universal"), 60.0, embedded.description)
    assert set(KINDS) == set(CaseKind)
    for device in (embedded, isolated):
        assert [kind for kind in CaseKind if not unjudged(kind, device)] == [CaseKind.KERNEL, CaseKind.QUERY, CaseKind.CONVERSION]
    assert [kind for kind in CaseKind if not unjudged(kind, SpirvVal())] == [CaseKind.STATIC]


def test_the_device_says_its_version_and_what_to_install(validator, monkeypatch, tmp_path):
    validator(0)
    choice = choose("spirv-val")
    assert (choice.description.name, choice.description.driver, choice.spec.selector) == ("spirv-val", "SPIRV-Tools 2031.2", "spirv-val")
    assert open_judge(choice.spec).description == choice.description
    assert choosing.list_others()[-1].name == "spirv-val"
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ValidatorMissing):
        choose("spirv-val")
    assert all(description.name != "spirv-val" for description in choosing.list_others())


def test_isolation_and_validation_are_refused(validator):
    validator(0)
    none = dict.fromkeys(("tier", "front_end", "validation", "embedded_mapping", "step_timeout", "isolation"))
    assert not checked_settings(none | {"device": "spirv-val"}).isolated
    for option in ({"isolation": "on"}, {"validation": True}):
        with pytest.raises(OptionError):
            checked_settings(none | {"device": "spirv-val"} | option)


def test_digests_change_with_the_module_and_with_what_it_must_be(cases):
    digests = {labels: KINDS[CaseKind.STATIC].digests(case) for labels, case in cases.items()}
    assert len(set(digests.values())) == len(cases)
    assert digests["valid"][0] != digests["invalid"][0]
    assert {columns[1] for columns in digests.values()} == {"-"}


@pytest.mark.parametrize(
    ("version", "message", "knows"),
    [
        ("2026.4", "error: line 9: Expected Result Type to be a cooperative matrix", True),
        ("2026.4", "error: line 2: Invalid capability operand: 6022", False),
        ("2027.1", "error: line 40: Invalid opcode: 4457", False),
        ("2025.1", "error: line 9: Expected Result Type to be a cooperative matrix", False),
    ],
)
def test_a_rejection_for_a_lack_of_knowledge_is_told_from_one_for_a_rule(tmp_path, monkeypatch, version, message, knows):
    tool = tmp_path / "spirv-val"
    tool.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && echo "SPIRV-Tools v{version}" && exit 0\ncat >/dev/null\necho "{message}" >&2\nexit 1\n'
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    answer = SpirvVal().validate(b"")
    assert (answer.accepted, answer.knows) == (False, knows)
