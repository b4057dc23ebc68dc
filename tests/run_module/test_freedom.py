"""Jobs whose results depend on a free choice of a device, and their twins that do not: ``cts run-module --freedom``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cts.cli import main
from tests.embedded.assembly import shader, store

SQUARE = "%square = OpTypeCooperativeMatrixKHR %u32 %u32_3 %u32_4 %u32_4 %u32_2\n"
LOADED = "%from = OpAccessChain %ptr_in %input %s32_0 %u32_0\n%m = OpCooperativeMatrixLoadKHR %square %from %u32_0 %u32_4\n"
ADDED = "%sum_place = OpAccessChain %ptr_out %output %s32_0 %u32_0\n" + "".join(
    f"%x{i} = OpCompositeExtract %u32 %m {i}\n%old{i} = OpAtomicIAdd %u32 %sum_place %u32_1 %u32_0 %x{i}\n" for i in range(4)
)
EXCHANGED = (
    "%shared_place = OpAccessChain %ptr_out %output %s32_0 %u32_0\n%mine = OpIAdd %u32 %workgroup_x %u32_1\n"
    "%old = OpAtomic{} %u32 %shared_place %u32_1 %u32_0 %mine\n"
)
COUNTED = "%counter = OpAccessChain %ptr_out %output %s32_0 %u32_8\n%number = OpAtomicIAdd %u32 %counter %u32_1 %u32_0 %u32_1\n"
SIGN = (
    "%product = OpFMul %f32 %f32_1.00000012 %f32_1.00000012\n%sum = OpFAdd %f32 %product %f32_-1.00000024\n"
    "%above = OpFOrdGreaterThan %bool %sum %f32_0\n%chosen = OpSelect %u32 %above %u32_1 %u32_2\n"
)
PASSED = (
    "%next = OpIAdd %u32 %lane %u32_1\n%around = OpBitwiseAnd %u32 %next %u32_3\n%mine = OpIAdd %u32 %lane %u32_8\n"
    "%theirs = OpIAdd %u32 %around %u32_8\n%my_place = OpAccessChain %ptr_out %output %s32_0 %mine\n"
    "%their_place = OpAccessChain %ptr_out %output %s32_0 %theirs\nOpAtomicStore %my_place %u32_1 %u32_0 %next\n{}\n"
    "%got = OpAtomicLoad %u32 %their_place %u32_1 %u32_0\n"
)
BARRIER = "OpControlBarrier %u32_2 %u32_2 %u32_24648"
MULTIPLIED = """
%a_type = OpTypeCooperativeMatrixKHR %f32 %u32_3 %u32_4 %u32_4 %u32_0
%b_type = OpTypeCooperativeMatrixKHR %f32 %u32_3 %u32_4 %u32_4 %u32_1
%c_type = OpTypeCooperativeMatrixKHR %f32 %u32_3 %u32_4 %u32_4 %u32_2
%ones = OpConstantComposite %b_type %f32_1
%zeros = OpConstantNull %c_type
"""
PRODUCT = (
    "%from = OpAccessChain %ptr_in %input %s32_0 %u32_0\n%m = OpCooperativeMatrixLoadKHR %a_type %from %u32_0 %u32_4\n"
    "%d = OpCooperativeMatrixMulAddKHR %c_type %m %ones %zeros\n%to = OpAccessChain %ptr_out %output %s32_0 %u32_0\n"
    "OpCooperativeMatrixStoreKHR %to %d %u32_0 %u32_4\n"
)

DEPENDENT: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "the element of an invocation": (
        "which invocation holds which element of a matrix",
        {"body": LOADED + "%x = OpCompositeExtract %u32 %m 0\n" + store("%x"), "declarations": SQUARE},
        {"body": LOADED + ADDED, "declarations": SQUARE},
    ),
    "the last workgroup": (
        "the order of workgroups",
        {"body": EXCHANGED.format("Exchange")},
        {"body": EXCHANGED.format("UMax")},
    ),
    "numbers from a counter": (
        "the order of subgroups and invocations",
        {"body": COUNTED + store("%number")},
        {"body": COUNTED + store("%u32_7", "%number")},
    ),
    "the sign of a rounded sum": (
        "the order and the roundings of multiply-adds",
        {"body": SIGN + store("%chosen")},
        {"body": SIGN + store("%chosen"), "decorations": "OpDecorate %sum NoContraction"},
    ),
    "a sum that cancels": (
        "the order and the roundings of multiply-adds",
        {"body": PRODUCT, "declarations": MULTIPLIED, "buffer_type": "f32", "data": [1e8, 1, -1e8, 1]},
        {"body": PRODUCT, "declarations": MULTIPLIED, "buffer_type": "f32", "data": [1e3, 1, -1e3, 1]},
    ),
    "what another invocation has stored": (
        "when a write becomes visible",
        {"body": PASSED.format("") + store("%got")},
        {"body": PASSED.format(BARRIER) + store("%got")},
    ),
}


def found(
    folder: Path, capsys, body: str, data: list[float] | None = None, buffer_type: str = "u32", **options: Any
) -> list[dict[str, Any]]:
    """Return the dependences of a module."""
    module, job = folder / "module.spv", folder / "job.yaml"
    module.write_bytes(shader(body, buffer_type=buffer_type, **options))
    given = (data or [*range(4)]) * 4
    buffers = f"i: {{binding: 0, type: {buffer_type}, data: {given}}}, o: {{binding: 1, type: {buffer_type}, bytes: 64}}"
    workgroups = 2 if "%workgroup_x" in body else 1
    job.write_text(f"subgroup_size: 4\nworkgroups: [{workgroups}, 1, 1]\nbuffers: {{{buffers}}}\n")
    code = main(["run-module", str(module), str(job), "--freedom", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["observations"] == []
    assert code == int(bool(told["dependences"]))
    return list(told["dependences"])


@pytest.mark.parametrize("what", DEPENDENT)
def test_a_dependence_on_a_free_choice_is_reported_with_the_instruction_where_the_runs_part(what, tmp_path, capsys) -> None:
    freedom, dependent, _ = DEPENDENT[what]
    (one,) = found(tmp_path, capsys, **dependent)
    assert one["on"] == freedom
    assert one["differences"][0]["buffer"] == "o"
    assert one["parting"]["usual"] != one["parting"]["other"]
    assert " = Op" in one["parting"]["instruction"]


@pytest.mark.parametrize("what", DEPENDENT)
def test_a_module_that_depends_on_no_free_choice_is_not_blamed(what, tmp_path, capsys) -> None:
    assert found(tmp_path, capsys, **DEPENDENT[what][2]) == []


def test_a_dependence_is_told_in_words(tmp_path, capsys) -> None:
    (one,) = found(tmp_path, capsys, **DEPENDENT["numbers from a counter"][1])
    assert one["parting"]["instruction"].split(" = ")[1].startswith("OpAtomicIAdd")
    assert (one["parting"]["invocation"], one["parting"]["usual"], one["parting"]["other"]) == (0, "0", "3")
    main(["run-module", str(tmp_path / "module.spv"), str(tmp_path / "job.yaml"), "--freedom"])
    assert "depends on the order of subgroups and invocations" in capsys.readouterr().out


def test_a_sum_that_ends_at_the_last_workgroup_to_arrive_depends_on_their_order(capsys) -> None:
    path = Path(__file__).parent / "shaders/last_workgroup_vulkan_model"
    assert main(["run-module", f"{path}.spv", f"{path}.yaml", "--freedom", "--json"]) == 1
    (one,) = json.loads(capsys.readouterr().out)["dependences"]
    assert (one["on"], one["parting"]["source"]["line"]) == ("the order of workgroups", 13)


NEIGHBOURS = (
    "%mine = OpAccessChain %ptr_shared %shared %lane\nOpStore %mine %lane NonPrivatePointer\n"
    "OpControlBarrier {0} {0} %u32_24840\n"
    "%first = OpBitwiseAnd %u32 %lane %u32_32\n%next = OpIAdd %u32 %lane %u32_1\n%inside = OpBitwiseAnd %u32 %next %u32_31\n"
    "%other = OpBitwiseOr %u32 %first %inside\n%theirs = OpAccessChain %ptr_shared %shared %other\n"
    "%x = OpLoad %u32 %theirs NonPrivatePointer\n"
)


@pytest.mark.parametrize(("scope", "size", "races"), [("%u32_3", "", True), ("%u32_2", "", False), ("%u32_3", "subgroup_size: 32", False)])
def test_a_job_without_a_subgroup_size_is_tried_at_each(scope, size, races, tmp_path, capsys) -> None:
    module, job = tmp_path / "module.spv", tmp_path / "job.yaml"
    module.write_bytes(shader(NEIGHBOURS.format(scope) + store("%x"), capabilities=("GroupNonUniform",)))
    job.write_text(f"{size}\nspecialization: {{0: 64}}\nbuffers: {{i: {{binding: 0, bytes: 16}}, o: {{binding: 1, bytes: 256}}}}\n")
    assert main(["run-module", str(module), str(job), "--json"]) == int(races)
    observations = json.loads(capsys.readouterr().out)["observations"]
    assert [one["rule"] for one in observations] == ["KHR-MEM-01"] * races
    assert all("subgroups of" in one["text"] for one in observations)
