"""Small modules like those of applications: what is right is not blamed, and gives the values of numpy; what is wrong is named."""

from __future__ import annotations

import json
import shutil

import pytest

from cts.cli import main
from cts.exit_codes import FAILED, INVALID_MODULE, PASSED
from tests.lavapipe import driver_obstacle, manifest, needs
from tests.run_module.small_modules import INVALID, SmallModule, small_modules

MODULES = small_modules()
ON_LAVAPIPE = [one for one in MODULES if one.name.startswith(("small_product", "sum_of"))]
by_name = pytest.mark.parametrize("module", MODULES, ids=lambda one: one.name)


def test_there_are_sixty_and_a_quarter_of_them_is_wrong() -> None:
    assert len({one.name for one in MODULES}) >= 60
    assert 4 * sum(bool(one.finds) for one in MODULES) >= len(MODULES)


@by_name
def test_a_module_is_judged_right(module: SmallModule, tmp_path, capsys) -> None:
    spirv, job = module.write(tmp_path)
    code = main(["run-module", str(spirv), str(job), "--json"])
    found = json.loads(capsys.readouterr().out)
    if INVALID in module.finds:
        assert code == INVALID_MODULE
        assert found["invalid_module"]["text"]
        return
    assert code == (FAILED if module.finds else PASSED), found
    rules = {one["rule"] for one in found["observations"]}
    assert rules & set(module.finds) if module.finds else not rules


@needs(driver_obstacle())
@pytest.mark.parametrize("module", ON_LAVAPIPE, ids=lambda one: one.name)
def test_a_driver_computes_the_same(module: SmallModule, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("VK_DRIVER_FILES", str(manifest()))
    spirv, job = module.write(tmp_path)
    assert main(["run-module", str(spirv), str(job), "--device", "llvmpipe", "--against", "embedded"]) == PASSED, capsys.readouterr().out


@pytest.mark.skipif(shutil.which("glslang") is None, reason="glslang-tools compiles the sources")
@by_name
def test_the_stored_module_is_the_compiled_source(module: SmallModule) -> None:
    assert module.spirv() == module.compiled()
