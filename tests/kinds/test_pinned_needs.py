"""The needs of cases are read from golden/needs, so a case that cannot run is not built."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from cts.kinds import kernel as kernel_cases
from cts.kinds.kernel_digests import digests, needs
from cts.kinds.kind import Stopwatch
from cts.kinds.pinned_needs import is_pinned, key_of, lines_of, pinned_needs, read_needs_file
from cts.verdict.effort import Effort
from cts.verdict.verdict import Verdict
from generators.casebook import find_case
from tests.suite import casebook

ONE = "muladd[row:16x16x16.f16.f16.f16.f16/data:exact]"
OTHER = "load_store[component:f32]"


def found(id_: str):
    return needs(find_case(casebook(), id_))


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "needs.tsv"
    cases = {"k1": found(ONE), "k2": found(OTHER), "k3": found(ONE)}
    lines = lines_of(cases.items())
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    read = read_needs_file(path)
    assert {key: read.of(key) for key in cases} == cases
    assert read.of("k4") is None
    # Equal parts are stored once.
    assert len(lines) == len(lines_of([("k1", found(ONE)), ("k2", found(OTHER))])) + 1


def test_a_family_without_a_file_has_no_needs(tmp_path):
    assert read_needs_file(tmp_path / "none.tsv").of("k") is None


def test_a_key_changes_with_the_id_and_with_each_digest():
    assert len({key_of("a", ("1", "2")), key_of("b", ("1", "2")), key_of("a", ("1", "3")), key_of("a", ("12",))}) == 4


@pytest.mark.parametrize("id_", [ONE, OTHER])
def test_pinned_needs_are_those_of_the_case(id_):
    assert pinned_needs(find_case(casebook(), id_)) == found(id_)


@pytest.fixture
def no_rows() -> EmbeddedDevice:
    return EmbeddedDevice(replace(load_profile("universal"), rows=()))


def test_a_case_that_the_device_cannot_run_is_not_built(no_rows, monkeypatch):
    def refused(_):
        raise AssertionError("built")

    monkeypatch.setattr(kernel_cases, "build", refused)
    judged = kernel_cases.judge(find_case(casebook(), ONE), no_rows, "spirv", Stopwatch(), Effort())
    assert (judged.verdict, judged.code) == (Verdict.NOT_SUPPORTED, "missing.row.type")


def test_verdict_code_and_words_are_those_of_the_module(no_rows, monkeypatch):
    case = find_case(casebook(), ONE)
    pinned = kernel_cases.judge(case, no_rows, "spirv", Stopwatch(), Effort())
    monkeypatch.setattr(kernel_cases, "pinned_needs", lambda _: None)
    assert kernel_cases.judge(case, no_rows, "spirv", Stopwatch(), Effort()) == pinned


def test_a_case_is_pinned_with_the_digest_of_its_module():
    case = find_case(casebook(), ONE)
    assert is_pinned(case, digests(case)[0])
    assert not is_pinned(case, digests(case)[1])


def test_needs_that_were_pinned_with_other_fields_are_not_found(tmp_path):
    path = tmp_path / "needs.tsv"
    head, *rest = lines_of([("k", found(ONE))])
    path.write_text("\n".join([head.replace("(", "(0"), *rest]), encoding="utf-8")
    assert read_needs_file(path).of("k") is None


@pytest.mark.parametrize(("foretold", "is_same", "reads"), [(True, True, 0), (True, False, 1), (False, True, 1)])
def test_a_module_is_read_for_its_needs_unless_the_run_has_asked_for_them(foretold, is_same, reads, monkeypatch):
    device, asked = EmbeddedDevice(load_profile("universal")), []
    monkeypatch.setattr(device, "missing", asked.append)
    if not is_same:
        monkeypatch.setattr(kernel_cases, "is_pinned", lambda _case, _module: False)
    judged = kernel_cases.judge(find_case(casebook(), ONE), device, "spirv", Stopwatch(), Effort(foretold=foretold))
    assert judged.verdict is Verdict.PASS
    assert len(asked) == reads


def test_needs_that_the_run_has_asked_for_are_not_asked_for_again(monkeypatch):
    def refused(*_):
        raise AssertionError("asked")

    monkeypatch.setattr(kernel_cases, "missing_for", refused)
    device = EmbeddedDevice(load_profile("universal"))
    assert kernel_cases.judge(find_case(casebook(), ONE), device, "spirv", Stopwatch(), Effort(foretold=True)).verdict is Verdict.PASS
