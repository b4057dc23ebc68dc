"""The whole way, where RADV and its null kernel driver are installed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from cts.devices.compile_only.missing import NotInstalled
from cts.devices.executed.environment import executing
from cts.devices.executed.gpu import GENERATIONS
from cts.journal.journal import read, read_meta
from tests.suite import REPOSITORY


@pytest.mark.parametrize("chip", GENERATIONS)
def test_a_chip_passes_plain_shaders_and_a_multiplication(chip):
    try:
        executing(chip)
    except NotInstalled as missing:
        pytest.skip(f"this machine lacks what the test needs: {missing}")
    chosen = "plain_shaders or (muladd and f16.f16.f32.f32 and form:loop and not flexible)"
    command = [sys.executable, "-m", "pytest", "cts", "--device", f"executed:{chip}", "-k", chosen, "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=REPOSITORY, env=os.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout


def test_a_page_shows_the_fused_instruction_that_no_contraction_forbids(tmp_path):
    try:
        executing("gfx1201")
    except NotInstalled as missing:
        pytest.skip(f"this machine lacks what the test needs: {missing}")
    case = "elementwise[component:f16/use:b/operation:contraction/decoration:no_contraction]"
    command = [
        sys.executable,
        "-m",
        "cts",
        "run",
        case,
        "--device",
        "executed:gfx1201",
        "--no-known-failures",
        "--report-dir",
        str(tmp_path),
    ]
    done = subprocess.run(command, cwd=REPOSITORY, env=os.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout
    (result,) = read(tmp_path / "results.jsonl")
    machine = result.failures[0].machine
    assert machine is not None
    names = [line.code.split()[0] for line in machine.lines]
    assert names == ["buffer_store_b16", "v_pk_fma_f16", *["global_load_tr_b128"] * 3]
    fused, element = machine.lines[1], result.failures[0].mismatch.elements[0]
    assert fused.result.split()[2].endswith(f"{element.got_bits:04x}")
    assert "executed by this suite" in read_meta(tmp_path)["modelled"]
