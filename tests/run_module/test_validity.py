"""An invalid module is called invalid before any device sees it."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from cts.cli import main
from cts.embedded.profile import load_profile
from cts.exit_codes import INVALID_MODULE
from cts.run_module.validity import find_invalid, target_for

SHADERS = Path(__file__).parent / "shaders"
UNIVERSAL = load_profile("universal").description
SAYS = r"error: line 7: [VUID-StandaloneSpirv-Flat-04744] no Flat\n  %1 = OpVariable"


PROGRAM = f"""#!/bin/sh
[ "$1" = --version ] && {{ echo "SPIRV-Tools v2026.4"; exit; }}
echo "$@" >"${{0%/*}}/arguments"
printf '{SAYS}'
exit 1
"""


@pytest.fixture
def imitated(tmp_path, monkeypatch) -> Path:
    """Put a spirv-val on PATH that keeps its arguments, and rejects everything."""
    program = tmp_path / "spirv-val"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    return tmp_path


def test_an_invalid_module_has_a_rule_and_an_exit_code_of_its_own(imitated, capsys) -> None:
    arguments = ["run-module", str(SHADERS / "flow.spv"), str(SHADERS / "flow.yaml"), "--json"]
    assert main(arguments) == INVALID_MODULE
    found = json.loads(capsys.readouterr().out)
    assert found["invalid_module"]["rule"] == "VUID-StandaloneSpirv-Flat-04744"
    assert found["runs"] == []
    assert main([*arguments, "--no-spirv-val"]) == 0


def test_a_broken_header_is_an_invalid_module(tmp_path, capsys) -> None:
    path = tmp_path / "broken.spv"
    path.write_bytes((SHADERS / "flow.spv").read_bytes()[:102])
    assert main(["run-module", str(path), str(SHADERS / "flow.yaml")]) == INVALID_MODULE


def test_optional_layouts_are_those_of_the_device(imitated) -> None:
    find_invalid(b"", UNIVERSAL)
    assert "--scalar-block-layout" in (imitated / "arguments").read_text()
    find_invalid(b"", replace(UNIVERSAL, features={}, api_version="1.2.198"))
    assert (imitated / "arguments").read_text().split() == ["--target-env", "vulkan1.2", "-"]


def test_without_spirv_val_no_module_is_invalid(monkeypatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert find_invalid(b"", UNIVERSAL) is None


@pytest.mark.parametrize(
    ("version", "vulkan", "target"),
    [
        (0x10600, "1.4.312", "vulkan1.4"),
        (0x10300, "1.4.0", "vulkan1.4"),
        (0x10600, "1.3.290", "vulkan1.3"),
        (0x10400, "1.1.0", "vulkan1.1spv1.4"),
        (0x10300, "1.1.0", "vulkan1.1"),
        (0x10600, "1.9.0", "vulkan1.4"),
    ],
)
def test_the_environment_is_the_devices(version, vulkan, target) -> None:
    assert target_for(struct.pack("<2I", 0x07230203, version), vulkan) == target
