"""Modules that are changed anywhere run, or are refused in words: ``main`` raises nothing."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from cts.cli import main
from cts.exit_codes import BAD_INPUT, FAILED, INVALID_MODULE, PASSED
from tests.embedded.mutation import mutant

MODULES = sorted(Path(__file__).parent.glob("*/*.spv"))
OF_EACH = 2


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.stem)
def test_a_mutated_module_ends_with_an_exit_code(module: Path, tmp_path, capsys) -> None:
    spirv = [path.read_bytes() for path in MODULES]
    for number in range(OF_EACH):
        changed = tmp_path / f"{number}.spv"
        changed.write_bytes(mutant(random.Random(f"{module.stem} {number}"), spirv, MODULES.index(module)))
        assert main(["run-module", str(changed), str(module.with_suffix(".yaml")), "--steps", "20000"]) in (
            PASSED,
            FAILED,
            BAD_INPUT,
            INVALID_MODULE,
        )
        said = capsys.readouterr()
        assert said.out or said.err
