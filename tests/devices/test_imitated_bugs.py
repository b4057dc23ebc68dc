"""Imitated bugs change modules, leave them readable, and are counted by what the suite says."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from cts.kinds.kernel import compile_module
from cts.validators.validator import Answer
from cts.verdict.verdict import Verdict
from generators.casebook import build, find_case
from generators.spirv.disassemble import disassemble
from generators.spirv.enumerants import Op
from generators.spirv.reader import read_header, read_instructions
from tests.devices.imitated_bugs.__main__ import Row, Trial, spread, summary
from tests.devices.imitated_bugs.bugs import all_bugs
from tests.devices.imitated_bugs.module import Bug, Module
from tests.suite import casebook

BUGS = {bug.name: bug for bug in all_bugs()}

CASES = """
kernel_attention[row:8x8x8.f16.f16.f32.f32/access:plain/mask:causal/spread:own/rescale:arithmetic/sum:ones/to_a:memory]
elements[row:16x16x32.u8.u8.u32.u32/member:b/holder:dynamic/leading:2/leading_form:composite/operand:specialization]
functions[row:8x8x8.s8.s8.s32.s32/form:memory/layouts:crcr]
elementwise[component:s8/use:a/shape:8x8/operation:chain]
elementwise[component:f16/operation:chain/decoration:no_contraction]
bitcast_arrays[from:f16/to:u32/control:switch]
construction[origin:specialization/holder:private_array/component:s8/use:b/shape:8x8/value:low/form:twice]
construction[origin:constant/component:u32/subgroups:2/form:exchanged]
load_store[component:f16/memory:all]
float_controls[component:f64/operation:convert/to:f32/rounding:rtz/denormals:flush]
memory[component:f16/use:acc/form:reload/storage:storage_buffer/handover:fences]
subgroup_operations[row:8x8x8.f16.f16.f16.f16/subgroup_size:8/subgroups:1/operation:inclusive_add/number:f32/purpose:stride/among:halves]
kernel_dequantised[row:16x16x32.s8.s8.s32.s32/format:whole/strides:default]
aggregates[row:8x8x8.u8.u8.u32.u32/member:b/holder:struct/count:2/storage:private/other_storage:private/source:buffer/move:insert]
every_row[row:16x16x16.u8.u8.s32.s32.sat/data:saturate/layouts:rccr/padding:padded]
descriptor_arrays[component:f16/index:buffer]
"""
"""Cases that together have all that bugs change."""


@pytest.fixture(scope="module")
def rewritten() -> dict[str, tuple[bytes, bytes]]:
    """Return a module for each bug that changes one, before and after."""
    found: dict[str, tuple[bytes, bytes]] = {}
    for id_ in CASES.split():
        module = compile_module(build(find_case(casebook(), id_)).program, "spirv")
        read = Module(module)
        for name, bug in BUGS.items():
            if (after := read.with_bug(bug)) != module:
                found.setdefault(name, (module, after))
    return found


def test_each_bug_changes_a_module(rewritten):
    assert set(BUGS) == set(rewritten)


@pytest.mark.parametrize("name", BUGS)
def test_a_changed_module_can_be_read(rewritten, name):
    before, after = rewritten[name]
    assert disassemble(after) != disassemble(before)
    results = [one.operands[1] for one in read_instructions(after) if one.op in (Op.Constant, Op.CopyObject, Op.IAdd, Op.AccessChain)]
    assert len(results) == len(set(results))
    assert all(result < read_header(after).bound for result in results)


def test_without_such_instructions_the_module_is_the_same(rewritten):
    before, _ = rewritten["load.stride_plus_one"]
    absent = Bug("nothing", frozenset({Op.Kill}), lambda _, of: None)
    assert Module(before).with_bug(absent) is before


def test_bugs_of_one_module_do_not_add_up(rewritten):
    before, after = rewritten["load.stride_plus_one"]
    read = Module(before)
    read.with_bug(BUGS["load.offset_plus_one"])
    assert read.with_bug(BUGS["load.stride_plus_one"]) == after


def test_cases_of_all_families_come_before_a_second_case_of_one():
    cases = [SimpleNamespace(family=family, id=number) for number, family in enumerate("aabac")]
    assert [case.id for case in spread(cases)] == [0, 2, 4, 1, 3]


class Judged(Trial):
    """A trial with given verdicts."""

    def __init__(self, accepted: bool, *verdicts: Verdict) -> None:
        super().__init__(None, SimpleNamespace(validate=lambda module: Answer(accepted)))
        self.verdicts = list(verdicts)

    def verdict(self, case, modules):
        return self.verdicts.pop(0) if modules else Verdict.PASS


def row(trial: Trial, count: int = 1) -> Row:
    case = SimpleNamespace(family="muladd", id="muladd[a]")
    others = [SimpleNamespace(family="muladd", id=f"muladd[{letter}]") for letter in "bc"]
    return trial.row(Bug("a.bug", frozenset(), None), dict.fromkeys(map(Hashed, (case, *others)), (b"", b"x")), count, 3)


class Hashed(SimpleNamespace):
    """A case."""

    def __init__(self, case: SimpleNamespace) -> None:
        super().__init__(**vars(case))

    def __hash__(self) -> int:
        return hash(self.id)


def test_a_module_that_is_refused_does_not_run():
    refused = row(Judged(False))
    assert (refused.outcome, refused.invalid, refused.run) == ("does not apply", 3, 0)


def test_cases_run_until_one_notices_the_bug():
    noticed = row(Judged(True, Verdict.PASS, Verdict.CRASH))
    assert (noticed.outcome, noticed.run, noticed.survived, noticed.crash) == ("noticed", 2, 1, 1)


def test_warnings_and_errors_are_not_failures():
    told = row(Judged(True, Verdict.PASS, Verdict.QUALITY_WARNING, Verdict.PASS))
    assert (told.outcome, told.run, told.warning) == ("warning", 3, 1)
    assert row(Judged(True, *[Verdict.ERROR] * 3)).outcome == "error"
    assert summary("device", [told]).startswith("device: 0 of 1 bugs noticed; 1 warning")
