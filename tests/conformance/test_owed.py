"""What a device owes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cts.cli import main
from cts.conformance.owed import check_must_pass, must_pass_file, owed_of, read_must_pass, why_not_owed, write_must_pass
from cts.devices.device import MatrixRow
from cts.devices.identity import NotADescription, description_of, record_of
from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from cts.kinds.kernel_digests import only_positions
from cts.verdict.expected import Exact, Expected, Placed, one_set
from cts.verdict.outputs import is_determined, outputs_digest
from generators.casebook import expand, find_case
from generators.errors import CasebookError
from generators.types import COMPONENT_TYPES
from tests.conformance.conftest import write_suite
from tests.suite import REPOSITORY, casebook


@pytest.mark.parametrize(
    ("id_", "why"),
    [
        ("muladd[row:16x16x16.f16.f16.f16.f16/data:exact]", ()),
        ("muladd[row:16x16x16.f16.f16.f16.f16/data:envelope/layouts:rccr/padding:padded]", ("policy",)),
        ("property_queries[rule:count]", ()),
    ],
)
def test_a_case_that_only_a_position_decides_is_not_owed(id_: str, why: tuple[str, ...]) -> None:
    assert only_positions(find_case(casebook(), id_)) == why


def test_a_module_that_the_text_may_forbid_is_not_owed() -> None:
    disputed = next(case for case in expand(casebook().family("elementwise"), "nightly") if case.disputed)
    assert only_positions(disputed) == disputed.disputed
    assert why_not_owed(disputed) == ",".join(disputed.disputed)


def test_a_case_on_a_row_that_only_a_device_has_is_owed_unless_positions_decide_it() -> None:
    cases = expand(casebook().family("muladd"), "nightly", ["24x16x16.f16.f16.f32.f32"])
    own = [case for case in cases if "24x16x16" in case.id]
    assert {"data:envelope" in case.id for case in own} == {True, False}
    assert all(why_not_owed(case) == ("policy" if "data:envelope" in case.id else "") for case in own)


def test_the_must_pass_list_of_this_version_is_of_the_pinned_cases() -> None:
    check_must_pass(casebook())


def test_a_must_pass_list_of_other_cases_is_refused(tmp_path: Path) -> None:
    book = write_suite(tmp_path / "suite")
    path = must_pass_file(tmp_path / "suite")
    pinned = read_must_pass(path)
    write_must_pass(path, [(name, replace(owed, digest="0badf00d00")) for name, owed in pinned.items()])
    with pytest.raises(CasebookError):
        check_must_pass(book)


def test_no_device_owes_what_validators_judge() -> None:
    assert not any(name.startswith("static_") for name in read_must_pass(must_pass_file(REPOSITORY)))


def test_a_list_is_read_as_it_was_written(tmp_path: Path) -> None:
    family = casebook().family("muladd")
    owed = owed_of(family, {"a": ("1", "2", "3"), "b": ("4", "5", "6")}, {"b": ("policy",), "a": ()})
    assert (owed.count, owed.left_out) == (1, {"b": "policy"})
    assert owed != owed_of(family, {"a": ("1", "2", "0"), "b": ("4", "5", "6")}, {"b": ("policy",)})
    write_must_pass(tmp_path / "list.txt", [("muladd", owed)])
    assert read_must_pass(tmp_path / "list.txt") == {"muladd": owed}
    (tmp_path / "list.txt").write_text("one word\n", encoding="utf-8")
    with pytest.raises(CasebookError):
        read_must_pass(tmp_path / "list.txt")


def test_must_pass_counts_by_specification_and_lists_ids(folder: Path, monkeypatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(folder)
    assert main(["must-pass", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["Vulkan"] == {"owed": 1, "supported": 1}
    assert main(["must-pass", "--ids", "--device", "embedded:nvidia-h200"]) == 0
    ids = capsys.readouterr().out.split()
    assert "property_queries[rule:all]" in ids
    assert not any("envelope" in id_ or "e4m3" in id_ or "static" in id_ for id_ in ids)


@pytest.mark.parametrize("profile", ["universal", "nvidia-h200", "maintenance1"])
def test_a_description_is_read_from_its_record(profile: str) -> None:
    description = EmbeddedDevice(load_profile(profile)).description
    unknown = MatrixRow(16, 8, 8, "component type 77", "f16", "f32", "f32", True, 3, True, 128, 32)
    description = replace(description, rows=(*description.rows, unknown))
    record = json.loads(json.dumps(record_of(description), default=str))
    assert description_of(record) == description
    with pytest.raises(NotADescription):
        description_of(record | {"subgroup_size": 16})


def of(bits: list[int], either_zero: bool = False) -> Expected:
    f16 = COMPONENT_TYPES["f16"]
    allowed = Exact(f16, np.array(bits, np.uint16).reshape(1, 1, -1), either_zero)
    offsets = 4 * np.arange(len(bits), dtype=np.int64).reshape(1, 1, -1)
    return Expected((Placed("out", offsets, one_set(allowed), "value"),))


def test_a_digest_is_of_the_elements_and_not_of_the_bytes_between_them() -> None:
    memory = np.arange(16, dtype=np.uint8)
    between, inside = memory.copy(), memory.copy()
    between[2], inside[4] = 99, 99
    digest = outputs_digest(of([1, 2]), {"out": memory})
    assert len(digest) == 8
    assert outputs_digest(of([1, 2]), {"out": between}) == digest
    assert outputs_digest(of([1, 2]), {"out": inside}) != digest


def test_a_digest_follows_from_a_case_if_its_outputs_have_one_value() -> None:
    nan = 0x7E00
    assert is_determined(of([1, 2]))
    assert not is_determined(of([1, nan]))
    assert is_determined(of([0, 1]))
    assert not is_determined(of([0, 1], either_zero=True))
    assert is_determined(of([2, 1], either_zero=True))
