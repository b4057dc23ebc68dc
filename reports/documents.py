"""Addresses of the public documents that requirements, rules and messages name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from markupsafe import Markup

from generators.spirv.grammar import GRAMMAR

VULKAN = "https://registry.khronos.org/vulkan/specs/latest/html/vkspec.html"
VULKAN_EXTENSION = "https://registry.khronos.org/vulkan/specs/latest/man/html/{}.html"
SPIRV = "https://registry.khronos.org/SPIR-V/specs/unified1/SPIRV.html"
SPIRV_EXTENSION = "https://github.khronos.org/SPIRV-Registry/extensions/{}/{}.html"
GLSL_EXTENSION = "https://github.com/KhronosGroup/GLSL/blob/main/extensions/{}/{}.txt"

_NO_ANCHORS = "SPV_QCOM_cooperative_matrix_conversion"
"""The one document whose instructions have no anchors."""

_MODIFICATIONS = "_modifications_to_the_spir_v_specification_version_1_6"

_SECTIONS: Mapping[str, str] = MappingProxyType(
    {
        "Extension Name": "_extension_name",
        "Dependencies": "_dependencies",
        "Overview": "_overview",
        "Issue": "_issues",
        "2.16.1 Universal Validation Rules": "_modify_section_2_16_1_universal_validation_rules",
        "2.16.2 Validation Rules for Shader Capabilities": "_modify_section_2_16_2_validation_rules_for_shader_capabilities",
    }
)
"""Anchors of sections of the extensions of SPIR-V."""

_WITH_RULES = frozenset({"SPV_KHR_cooperative_matrix", "SPV_NV_cooperative_matrix2", "SPV_NV_cooperative_vector"})
"""The documents that have a heading for each section with validation rules."""

_VULKAN_SECTIONS: Mapping[str, str] = MappingProxyType(
    {
        "Precision and Operation of SPIR-V Instructions": "spirvenv-precision-operation",
        "Precision of Individual Operations": "spirvenv-op-prec",
        "Correctly Rounded": "spirvenv-correctly-rounded",
        "64-Bit Indexing": "spirvenv-64bindexing",
        "Required Limits": "limits-required",
    }
)

_VUID = r"VUID-\w+(?:-\w+)+"
_NAME = re.compile(rf"\b(?:{_VUID}|(?:SPV|VK|GLSL|GL)_[A-Z]+_[a-z0-9]\w+)")
_INSTRUCTION = re.compile(r"\bOp[A-Z]\w+")
_CALL = re.compile(r"\b[vV]k[A-Z]\w+")


def extension(name: str) -> str:
    """Return the address of an extension's document, for example of ``SPV_KHR_cooperative_matrix``; empty if it is no extension."""
    kind, vendor = [*name.split("_"), "", ""][:2]
    match kind:
        case "SPV":
            return SPIRV_EXTENSION.format(vendor, name)
        case "VK":
            return VULKAN_EXTENSION.format(name)
        case "GL" | "GLSL":
            return GLSL_EXTENSION.format(vendor.lower(), f"GLSL_{name.partition('_')[2]}")
    return ""


def place(specification: str, where: str) -> str:
    """Return the address of a place in a specification, with the best anchor that is known; empty if the specification is not known.

    Args:
        specification: the specification, as files of requirements name it: an extension, or ``Vulkan``.
        where: the place, for example ``3.42.13 Arithmetic Instructions, OpCooperativeMatrixMulAddKHR``.
    """
    if vuid := re.search(_VUID, where):
        return f"{VULKAN}#{vuid.group()}"
    if specification.startswith("GL"):
        return extension(specification)
    if specification == "Vulkan" or where.startswith("Vulkan,"):
        anchor = next((anchor for title, anchor in _VULKAN_SECTIONS.items() if title in where), "")
        call = _CALL.search(where)
        anchor = call.group() if call else anchor
        return f"{VULKAN}#{anchor}" if anchor else VULKAN
    named = re.search(r"\bSPV_\w+", where)
    document = named.group() if named else specification
    if instruction := _INSTRUCTION.search(where):
        return _instruction(instruction.group(), document)
    if not extension(document):
        return ""
    anchor = next((anchor for title, anchor in _SECTIONS.items() if where.startswith(title)), _MODIFICATIONS)
    if anchor.startswith("_modify") and document not in _WITH_RULES:
        anchor = _MODIFICATIONS
    return f"{extension(document)}#{anchor}"


def _instruction(name: str, document: str) -> str:
    """Return the address of an instruction: in the document, in that of its extension, or in SPIR-V itself."""
    opcode = GRAMMAR.opcodes.get(name.removeprefix("Op"))
    known = None if opcode is None else GRAMMAR.instructions[opcode]
    if not extension(document) or (known is not None and known.version):
        return f"{SPIRV}#{name}"
    homes = known.extensions if known is not None else ()
    home = document if document in homes or not homes else homes[0]
    return extension(home) + (f"#{_MODIFICATIONS}" if home == _NO_ANCHORS else f"#{name}")


def linked(text: str) -> Markup:
    """Return text whose VUIDs and extensions are links."""
    return Markup(_NAME.sub(_link, str(Markup.escape(text))))


def _link(found: re.Match[str]) -> str:
    name = found.group()
    address = f"{VULKAN}#{name}" if name.startswith("VUID") else extension(name)
    return f'<a class="outside" href="{address}">{name}</a>'
