"""The AmberScript of a folder: its shape, its constants, and the reason if there is none."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from cts.kinds.kernel_reproduction import write_reproduction
from generators.casebook import find_case
from generators.spirv.enumerants import Op
from generators.spirv.reader import read_instructions
from tests.suite import casebook

EXACT = "reduce[component:u32/shape:16x16/mode:row/function:add]"


def folder_of(id_: str, folder: Path) -> Path:
    write_reproduction(find_case(casebook(), id_), folder, "spirv")
    return folder


def test_it_has_the_parts_of_the_language_in_their_order(tmp_path):
    lines = (folder_of(EXACT, tmp_path) / "repro.amber").read_text().splitlines()
    assert lines[0] == "#!amber"
    words = [line.split()[0] for line in lines if re.match(r"[A-Z_]+ ", line)]
    assert words.index("DEVICE_EXTENSION") < words.index("SHADER") < words.index("BUFFER") < words.index("PIPELINE") < words.index("RUN")
    assert words[-1] == "EXPECT"
    assert lines.count("END") == sum(word in ("SHADER", "BUFFER", "PIPELINE") for word in words)


def test_buffers_that_are_bound_and_expected_are_declared(tmp_path):
    text = (folder_of(EXACT, tmp_path) / "repro.amber").read_text()
    declared = set(re.findall(r"^BUFFER (\w+) DATA_TYPE uint8 DATA$", text, re.MULTILINE))
    bound = set(re.findall(r"^  BIND BUFFER (\w+) AS (?:storage DESCRIPTOR_SET 0 BINDING \d+|push_constant)$", text, re.MULTILINE))
    assert bound == declared
    expected = re.findall(r"^EXPECT (\w+) IDX (\d+) EQ((?: \d+)+)$", text, re.MULTILINE)
    assert {name for name, _, _ in expected} < declared
    assert {len(values.split()) for _, _, values in expected} == {4}
    assert len(expected) == sum(line.startswith("EXPECT") for line in text.splitlines())


def test_elements_and_data_are_those_of_the_folder(tmp_path):
    text = (folder_of(EXACT, tmp_path) / "repro.amber").read_text()
    name, at, values = re.findall(r"^EXPECT (\w+)0 IDX (\d+) EQ((?: \d+)+)$", text, re.MULTILINE)[-1]
    whole = np.fromfile(next(tmp_path.glob(f"0-*/expected/{name}.bin")), np.uint8)
    assert whole[int(at) : int(at) + 4].tolist() == [int(value) for value in values.split()]
    data = text.partition(f"BUFFER {name}0 DATA_TYPE uint8 DATA\n")[2].partition("\nEND")[0]
    before = np.fromfile(next(tmp_path.glob(f"0-*/before/{name}.bin")), np.uint8)
    assert [int(byte) for byte in data.split()] == before.tolist()


def test_constants_are_in_the_module(tmp_path):
    text = (folder_of(EXACT, tmp_path) / "repro.amber").read_text()
    words = re.findall(r"0x[0-9a-f]{8}", text.partition("SPIRV-HEX\n")[2].partition("\nEND")[0])
    module = np.array([int(word, 16) for word in words], "<u4").tobytes()
    assert len(module) == (tmp_path / "module.spv").stat().st_size
    assert 32 in [instruction.operands[2] for instruction in read_instructions(module) if instruction.op is Op.SpecConstant]


@pytest.mark.parametrize(
    ("id_", "why"),
    [
        ("conversion[from:f32/to:f16/shape:8x8/layouts:cr/storage:physical_storage_buffer]", "reached by address"),
        ("robustness[component:f16/use:a/shape:8x8/access:load/cut:first]", "robust access"),
        ("muladd[row:8x8x16.f16.f16.f32.f32/data:envelope]", "several values"),
    ],
)
def test_a_folder_without_a_script_says_why(id_, why, tmp_path):
    folder_of(id_, tmp_path)
    assert not (tmp_path / "repro.amber").exists()
    told = (tmp_path / "README.md").read_text().partition("Amber cannot express the case: ")[2]
    assert why in told.partition("\n")[0]
