"""Links to public documents."""

from __future__ import annotations

import re

import pytest

from reports.documents import extension, linked, place
from tests.suite import casebook

KHR = "https://github.khronos.org/SPIRV-Registry/extensions/KHR/SPV_KHR_cooperative_matrix.html"
VULKAN = "https://registry.khronos.org/vulkan/specs/latest/html/vkspec.html"


@pytest.mark.parametrize(
    ("specification", "where", "address"),
    [
        (
            "SPV_KHR_cooperative_matrix",
            "3.42.13 Arithmetic Instructions, OpCooperativeMatrixMulAddKHR",
            f"{KHR}#OpCooperativeMatrixMulAddKHR",
        ),
        ("SPV_KHR_cooperative_matrix", "Dependencies", f"{KHR}#_dependencies"),
        ("SPV_KHR_untyped_pointers", "SPV_KHR_cooperative_matrix, OpCooperativeMatrixLoadKHR, Stride", f"{KHR}#OpCooperativeMatrixLoadKHR"),
        ("SPV_KHR_variable_pointers", "OpPtrAccessChain", "https://registry.khronos.org/SPIR-V/specs/unified1/SPIRV.html#OpPtrAccessChain"),
        (
            "SPV_KHR_cooperative_matrix",
            "VUID-RuntimeSpirv-OpTypeCooperativeMatrixKHR-10770",
            f"{VULKAN}#VUID-RuntimeSpirv-OpTypeCooperativeMatrixKHR-10770",
        ),
        ("Vulkan", "vkCmdDispatch; Vulkan, Compute Shaders", f"{VULKAN}#vkCmdDispatch"),
        ("SPV_KHR_cooperative_matrix", "Vulkan, Correctly Rounded", f"{VULKAN}#spirvenv-correctly-rounded"),
        ("another book", "page 7", ""),
    ],
)
def test_a_place_has_an_address_with_an_anchor(specification, where, address):
    assert place(specification, where) == address


def test_every_requirement_has_an_address():
    requirements = casebook().requirements.values()
    assert [one.id for one in requirements if not place(one.specification, one.place).startswith("https://")] == []
    assert sum("#" in place(one.specification, one.place) for one in requirements) > 0.8 * len(requirements)


def test_names_in_a_text_become_links_and_the_rest_is_escaped():
    text = linked("a < b: VUID-StandaloneSpirv-None-10685, needs VK_KHR_cooperative_matrix, VK_ERROR_UNKNOWN.")
    assert text.startswith("a &lt; b: <a ")
    assert re.findall(r'href="([^"]+)"', text) == [f"{VULKAN}#VUID-StandaloneSpirv-None-10685", extension("VK_KHR_cooperative_matrix")]
    assert re.sub(r"<[^>]*>", "", text) == "a &lt; b: VUID-StandaloneSpirv-None-10685, needs VK_KHR_cooperative_matrix, VK_ERROR_UNKNOWN."
