"""What the report of a run tells: the causes, the places, and what was checked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from cts.cli import main
from cts.embedded.observations import Observation, Severity, SourceLine, by_cause
from generators.spirv.assemble import assemble
from tests.embedded.assembly import shader, store
from tests.run_module.test_planted import observed

WRONG = Path(__file__).parent / "wrong"


def run(name: str, capsys: pytest.CaptureFixture[str], job: Path | None = None) -> tuple[int, dict[str, Any]]:
    code = main(["run-module", str(WRONG / f"{name}.spv"), str(job or WRONG / f"{name}.yaml"), "--json"])
    return code, json.loads(capsys.readouterr().out)


def changed(tmp_path: Path, name: str, **changes: object) -> Path:
    path = tmp_path / "job.yaml"
    path.write_text(yaml.safe_dump(yaml.safe_load((WRONG / f"{name}.yaml").read_text()) | changes))
    return path


def test_one_cause_is_one_entry_wherever_its_value_is_used(capsys) -> None:
    _, found = run("one_cause", capsys)
    assert len(found["observations"]) == 8
    assert {one["cause"] for one in found["observations"]} == {0}
    main(["run-module", str(WRONG / "one_cause.spv"), str(WRONG / "one_cause.yaml")])
    out = capsys.readouterr().out
    assert out.count(str(Severity.UNDEFINED)) == 1
    assert "8 times" in out


def test_a_source_line_is_one_cause_and_different_rules_are_not() -> None:
    line = SourceLine("a.comp", 3)
    same = [Observation(Severity.UNDEFINED, "R", f"index {i}", i, source=line) for i in (8, 9)]
    other = Observation(Severity.UNDEFINED, "Q", "index 8", 8, source=line)
    elsewhere = Observation(Severity.UNDEFINED, "R", "index 8", 20)
    assert by_cause([same[0], other, same[1], elsewhere]) == (tuple(same), (other,), (elsewhere,))


def test_the_origin_of_a_value_is_found_through_calls_parameters_and_variables(capsys) -> None:
    _, found = run("one_cause", capsys)
    assert all("one_cause.comp:15" in one["text"] and "'kept'" in one["text"] for one in found["observations"])


def test_a_race_tells_who_and_which_byte() -> None:
    body = "%a = OpAccessChain %ptr_shared %shared %lane\nOpStore %a %lane NonPrivatePointer\n"
    body += "%m = OpISub %u32 %u32_3 %lane\n%b = OpAccessChain %ptr_shared %shared %m\n%x = OpLoad %u32 %b NonPrivatePointer\n"
    (race,) = observed({"body": body + store("%x")}, "")
    assert (race.rule, race.invocation, race.cause) == ("KHR-MEM-01", 0, "shared")
    assert "byte 12 " in race.text
    assert "invocation 3" in race.text


def test_an_access_out_of_bounds_tells_its_own_bytes() -> None:
    (one,) = observed({"body": store("%lane"), "output": 12}, "")
    assert "bytes 12 to 15 " in one.text
    assert one.invocation == 3


def test_a_broken_promise_of_alignment_tells_the_address() -> None:
    body = "%p = OpAccessChain %ptr_out %output %s32_0 %lane\nOpStore %p %lane Aligned 8"
    (one,) = observed({"body": body}, "")
    assert (one.rule, one.invocation) == ("SPIR-V 3.26 Aligned", 1)
    address = next(word for word in one.text.replace(",", "").split() if word.startswith("0x"))
    assert int(address, 16) % 8 == 4


def test_what_is_about_the_whole_module_is_located_in_no_instruction(tmp_path, capsys) -> None:
    module, job = tmp_path / "large.spv", tmp_path / "job.yaml"
    module.write_bytes(shader(""))
    job.write_text("specialization: {0: 5000}\nbuffers: {input: {binding: 0, bytes: 4}, output: {binding: 1, bytes: 4}}")
    assert main(["run-module", str(module), str(job), "--json"]) == 1
    (one,) = json.loads(capsys.readouterr().out)["observations"]
    assert (one["rule"], one["index"], one["instruction"]) == ("VUID-RuntimeSpirv-x-06432", -1, "")


def test_elements_are_called_correct_only_if_some_were_checked(capsys) -> None:
    assert run("expert_tail", capsys)[1]["runs"][0]["checked"] == 5
    assert run("one_cause", capsys)[1]["runs"][0]["checked"] == 0


def test_a_module_of_another_stage_is_refused_by_that_name(tmp_path, capsys) -> None:
    text = """
OpCapability Tessellation
OpMemoryModel Logical GLSL450
OpEntryPoint TessellationControl %main "shade"
%void = OpTypeVoid
%function = OpTypeFunction %void
%main = OpFunction %void None %function
%label = OpLabel
OpReturn
OpFunctionEnd
"""
    module = tmp_path / "shade.spv"
    module.write_bytes(assemble(text))
    assert main(["run-module", str(module), "--template"]) == 2
    told = capsys.readouterr().err
    assert "'shade' (TessellationControl)" in told


def test_the_worked_example_is_what_the_command_prints(capsys) -> None:
    main(["run-module", str(WRONG / "mean.spv"), str(WRONG / "mean.yaml")])
    printed = capsys.readouterr().out.splitlines()
    page = (Path(__file__).parents[2] / "docs/run_module.md").read_text().splitlines()
    assert [line for line in printed if f"   {line}" not in page] == []


def test_rows_of_a_tile_that_an_expert_does_not_have_matter_unless_its_rows_fill_the_tile(tmp_path, capsys) -> None:
    code, found = run("expert_tail", capsys)
    assert (code, found["runs"][0]["differences"]) == (1, [])
    assert {one["rule"] for one in found["observations"]} == {"SPIR-V 3.3.1 OpUndef"}
    full = changed(
        tmp_path,
        "expert_tail",
        push_constants=[{"data": [8, 1]}],
        buffers={
            "ids": {"binding": 0, "data": {"fill": 1, "count": 8}},
            "b": {"binding": 1, "type": "f32", "data": {"fill": 1, "count": 8}},
            "d": {"binding": 2, "type": "f32", "bytes": 32, "expected": {"fill": 2, "count": 8}},
        },
    )
    assert run("expert_tail", capsys, full) == (0, found | {"observations": [], "runs": [found["runs"][0] | {"checked": 8}]})


def test_blocks_beyond_the_last_row_matter_unless_buffers_are_robust(tmp_path, capsys) -> None:
    code, found = run("block_tail", capsys)
    assert (code, found["runs"][0]["differences"]) == (1, [])
    assert {(one["rule"], one["invocation"]) for one in found["observations"]} == {("KHR-MEM-02", 5)}
    code, found = run("block_tail", capsys, changed(tmp_path, "block_tail", robust=True))
    assert (code, {one["severity"] for one in found["observations"]}) == (0, {"robustness"})


def test_all_accesses_that_a_buffer_is_too_small_for_are_one_cause() -> None:
    lines = (f"%i{k} = OpIAdd %u32 %lane %u32_{k}\n" + store("%lane", f"%i{k}", name=f"p{k}") for k in (12, 16, 20))
    found = observed({"body": "\n".join(lines), "output": 32}, "")
    assert [len(group) for group in by_cause(found)] == [3]
    assert len({one.text for one in found}) > 1
