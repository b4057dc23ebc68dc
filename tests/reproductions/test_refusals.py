"""The C program of a reproduction warns if a device refuses a module that the text may forbid, and only then."""

from __future__ import annotations

from pathlib import Path

import pytest

from cts.kinds.kernel_reproduction import write_reproduction
from generators.casebook import find_case
from tests.hostile_driver.building import LAYER, build, obstacle
from tests.lavapipe import needs
from tests.reproductions.lavapipe import compiled_and_run
from tests.suite import casebook

pytestmark = needs(obstacle())

DISPUTED = "elementwise[component:s32/operation:times_scalar]"
PLAIN = "elementwise[component:s32/operation:multiply]"


@pytest.fixture(scope="module")
def layer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("layer")
    build(folder)
    return folder


@pytest.mark.parametrize(
    ("id_", "fault", "verdict", "code"),
    [
        (DISPUTED, "", "pass", 0),
        (DISPUTED, "call=vkCreateShaderModule do=result:VK_ERROR_UNKNOWN", "quality_warning", 0),
        (DISPUTED, "call=vkCreateComputePipelines do=result:VK_ERROR_UNKNOWN", "quality_warning", 0),
        (DISPUTED, "call=vkCreateComputePipelines do=result:VK_INCOMPLETE", "fail.call.pipeline", 1),
        (DISPUTED, "call=vkCreateComputePipelines do=result:VK_ERROR_OUT_OF_HOST_MEMORY", "resource_error.pipeline", 2),
        (DISPUTED, "call=vkQueueSubmit do=result:VK_ERROR_UNKNOWN", "fail.call.dispatch", 1),
        (PLAIN, "call=vkCreateComputePipelines do=result:VK_ERROR_UNKNOWN", "fail.call.pipeline", 1),
    ],
)
def test_only_a_refusal_of_a_disputed_module_is_a_warning(id_, fault, verdict, code, layer, tmp_path, monkeypatch):
    write_reproduction(find_case(casebook(), id_), tmp_path, "spirv")
    hostile = {"VK_INSTANCE_LAYERS": LAYER, "VK_ADD_LAYER_PATH": str(layer), "HOSTILE": fault, "HOSTILE_STATE": str(tmp_path)}
    for name, value in hostile.items():
        monkeypatch.setenv(name, value)
    ended = compiled_and_run(tmp_path)
    assert (ended.verdict, ended.code) == (verdict, code), ended.output
