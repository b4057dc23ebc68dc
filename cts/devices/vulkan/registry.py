"""Writes ``supplement.json``, the parts that the ``vulkan`` package lacks, from Khronos' registry ``vk.xml``:

    python -m cts.devices.vulkan.registry [vk.xml]

The default file is the one in the package ``vulkan-object``. Runs need neither: they read ``supplement.json``, and the types of its
declarations from ``supplement_types.py``. Otherwise each process that opens a device would parse the declarations, which takes 50 ms.
"""

from __future__ import annotations

import importlib.util
import io
import json
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from generators.errors import CtsError

FILE = Path(__file__).with_name("supplement.json")
TYPES = Path(__file__).with_name("supplement_types.py")

STRUCTURES = (
    "VkPhysicalDeviceCooperativeMatrix2FeaturesNV",
    "VkCooperativeMatrixFlexibleDimensionsPropertiesNV",
    "VkPhysicalDeviceCooperativeMatrix2PropertiesNV",
    "VkPhysicalDeviceCooperativeVectorFeaturesNV",
    "VkPhysicalDeviceCooperativeVectorPropertiesNV",
    "VkCooperativeVectorPropertiesNV",
    "VkConvertCooperativeVectorMatrixInfoNV",
    "VkPhysicalDeviceCooperativeMatrixDecodeVectorFeaturesNV",
    "VkPhysicalDeviceCooperativeMatrixConversionFeaturesQCOM",
    "VkPhysicalDeviceCooperativeMatrixMaintenance1FeaturesEXT",
    "VkPhysicalDeviceCooperativeMatrixInfo2EXT",
    "VkPhysicalDeviceShaderBfloat16FeaturesKHR",
    "VkPhysicalDeviceShaderFloat8FeaturesEXT",
    "VkPhysicalDeviceShaderReplicatedCompositesFeaturesEXT",
    "VkPhysicalDeviceShaderLongVectorFeaturesEXT",
    "VkPhysicalDeviceShader64BitIndexingFeaturesEXT",
    "VkPhysicalDeviceShaderUntypedPointersFeaturesKHR",
    "VkPhysicalDeviceShaderFloatControls2FeaturesKHR",
    "VkPhysicalDeviceShaderAtomicFloat16VectorFeaturesNV",
)
"""Structures that are newer than the package or missing from it. To extend it, add a name here and run this module."""

COMMANDS: Mapping[str, str] = {
    "ConvertMatrix": "vkConvertCooperativeVectorMatrixNV",
    "RecordConversions": "vkCmdConvertCooperativeVectorMatrixNV",
    "QueryRows": "vkGetPhysicalDeviceCooperativeVectorPropertiesNV",
    "QueryRowsOf": "vkGetPhysicalDeviceCooperativeMatrixProperties2EXT",
}
"""Type of a function pointer -> a command of that type. An array of structures is ``void*``, because commands with different structures
share a type."""

CONSTANTS = (
    "VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT",
    "VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT",
    "VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT",
    "VK_PIPELINE_BIND_POINT_RAY_TRACING_KHR",
    "VK_PIPELINE_STAGE_2_CONVERT_COOPERATIVE_VECTOR_MATRIX_BIT_NV",
    "VK_COMPONENT_TYPE_SINT8_PACKED_NV",
    "VK_COMPONENT_TYPE_UINT8_PACKED_NV",
)
"""Constants that the package lacks, or whose value in it is None or wrong."""

_BASE = {"int32_t", "int64_t", "size_t", "uint32_t", "uint64_t", "void"}
_FIRST_OF_EXTENSIONS = 1_000_000_000
_OF_EACH_EXTENSION = 1_000


class RegistryError(CtsError):
    """The registry lacks something; the message names it."""


class NotInRegistry(RegistryError):
    """The registry has no type, command or value with the requested name."""


class NotTranslated(RegistryError):
    """The registry has something in a form that this module cannot translate."""


class Registry:
    """The types, commands and values in a ``vk.xml``.

    Args:
        root: root element of the document.
    """

    def __init__(self, root: ET.Element) -> None:
        self._types: dict[str, ET.Element] = {}
        for element in root.iterfind("types/type"):
            if _is_vulkan(element):
                self._types.setdefault(element.get("name") or element.findtext("name") or "", element)
        commands = (element for element in root.iterfind("commands/command") if _is_vulkan(element))
        self._commands = {name: element for element in commands if (name := element.get("name") or element.findtext("proto/name"))}
        self._values: dict[str, tuple[ET.Element, int]] = {}
        for block in (*root.iterfind("enums"), *root.iterfind("feature"), *root.iterfind("extensions/extension")):
            for element in block.iter("enum"):
                if _is_vulkan(element) and {"value", "bitpos", "offset", "alias"} & set(element.keys()):
                    number = element.get("extnumber") or block.get("number") or "0"
                    self._values.setdefault(element.get("name", ""), (element, int(number) if number.isdigit() else 0))

    @property
    def version(self) -> str:
        """The version of the headers that it generates, for example ``"1.4.304"``."""
        complete = "".join(self._type("VK_HEADER_VERSION_COMPLETE").itertext())
        numbers = re.findall(r"\d+", complete.partition("(")[2])
        last = re.findall(r"\d+", "".join(self._type("VK_HEADER_VERSION").itertext()))
        return ".".join([*numbers[-2:], last[-1]])

    def value(self, name: str) -> int:
        """Return a constant's value.

        Raises:
            NotInRegistry: no constant has the name.
        """
        if name not in self._values:
            raise NotInRegistry(f"the registry has no value {name}")
        element, extension = self._values[name]
        if alias := element.get("alias"):
            return self.value(alias)
        if (given := element.get("value")) is not None:
            return int(given, 0)
        if (bit := element.get("bitpos")) is not None:
            return 1 << int(bit)
        number = _FIRST_OF_EXTENSIONS + (extension - 1) * _OF_EACH_EXTENSION + int(element.get("offset", "0"))
        return -number if element.get("dir") == "-" else number

    def results(self, command: str) -> tuple[str, ...]:
        """Return the names of the results that a command may return; none if it returns no VkResult.

        Raises:
            NotInRegistry: no command has the name.
        """
        element = self._command(command)
        listed = (element.get(name, "").split(",") for name in ("successcodes", "errorcodes"))
        return tuple(name for names in listed for name in names if name)

    def structure(self, name: str) -> tuple[list[str], int | None]:
        """Return the C declarations of a structure or union, after the declarations of its contents, and its VkStructureType, if any."""
        element = self._type(name)
        while alias := element.get("alias"):
            element = self._type(alias)
        before: list[str] = []
        members: list[str] = []
        type_: int | None = None
        for member in element.iterfind("member"):
            if not _is_vulkan(member):
                continue
            if member.findtext("name") == "sType":
                type_ = self.value(member.get("values", ""))
            inner = member.findtext("type") or ""
            if self._category(inner) in ("struct", "union"):
                before += self.structure(inner)[0]
            members.append(f"    {self._declared(member)};")
        return [*before, f"typedef {element.get('category')} {{", *members, f"}} {name};"], type_

    def pointer(self, type_: str, command: str) -> str:
        """Return the C declaration of the function pointer type ``type_`` for a command."""
        element = self._command(command)
        prototype = element.find("proto")
        assert prototype is not None
        parameters = [
            self._declared(parameter, opaque="const" not in (parameter.text or ""))
            for parameter in element.iterfind("param")
            if _is_vulkan(parameter)
        ]
        return f"typedef {self._plain(prototype.findtext('type') or '')} (*{type_})({', '.join(parameters)});"

    def _command(self, name: str) -> ET.Element:
        if name not in self._commands:
            raise NotInRegistry(f"the registry has no command {name}")
        element = self._commands[name]
        return self._command(alias) if (alias := element.get("alias")) else element

    def _type(self, name: str) -> ET.Element:
        if name not in self._types:
            raise NotInRegistry(f"the registry has no type {name}")
        return self._types[name]

    def _category(self, name: str) -> str:
        return "" if name in _BASE else self._type(name).get("category", "")

    def _plain(self, name: str) -> str:
        """Return an equivalent type that cffi knows. Structures keep their names, because they are declared."""
        if name in _BASE:
            return name
        category = self._category(name)
        if category == "enum":
            return "int32_t"
        if category == "handle":
            return "void*"
        if category in ("bitmask", "basetype"):
            return self._plain(self._type(name).findtext("type") or "")
        if category in ("struct", "union"):
            return name
        raise NotTranslated(f"{name} is of the category '{category}', which this module does not translate")

    def _declared(self, element: ET.Element, opaque: bool = False) -> str:
        """Return the C declaration of a member or parameter. With ``opaque``, a pointer to a structure becomes ``void*``."""
        inner = element.find("type")
        assert inner is not None
        plain = "void" if opaque and self._category(inner.text or "") == "struct" else self._plain(inner.text or "")
        pointers = (inner.tail or "").strip()
        after = (element[-1].tail or "").strip() if element[-1].tag == "name" else ""
        if after:
            raise NotTranslated(f"{element.findtext('name')} is an array or a bit field, which this module does not translate")
        return f"{element.text or ''}{plain}{pointers} {element.findtext('name')}"


def _is_vulkan(element: ET.Element) -> bool:
    """Return whether an element belongs to Vulkan; the registry has other APIs too."""
    return "vulkan" in element.get("api", "vulkan").split(",")


def supplement_of(registry: Registry) -> dict[str, Any]:
    """Return the contents of ``supplement.json``."""
    lines: list[str] = []
    types: dict[str, int] = {}
    for name in STRUCTURES:
        declared, type_ = registry.structure(name)
        lines += declared
        if type_ is not None:
            types[name] = type_
    lines += [registry.pointer(type_, command) for type_, command in COMMANDS.items()]
    constants = {name: registry.value(name) for name in CONSTANTS}
    return {"registry": registry.version, "structure_types": types, "constants": constants, "declarations": lines}


def text_of(root: ET.Element) -> str:
    """Return the text of ``supplement.json`` for a registry."""
    return json.dumps(supplement_of(Registry(root)), indent=1) + "\n"


def types_of(declarations: str) -> str:
    """Return the Python module that has the types of C declarations."""
    import cffi
    from cffi.recompiler import make_py_source

    ffi, written = cffi.FFI(), io.StringIO()
    ffi.cdef(declarations)
    make_py_source(ffi, TYPES.stem, written)
    code = written.getvalue().partition("\n")[2]
    return f'"""The types of supplement.json, as cffi wrote them for cts.devices.vulkan.registry."""\n# fmt: off\n# ruff: noqa\n\n{code}'


def packaged() -> Path:
    """Return the path of the registry in the package ``vulkan-object``.

    Raises:
        RegistryError: the package is not installed.
    """
    spec = importlib.util.find_spec("vulkan_object")
    if spec is None or spec.origin is None:
        raise RegistryError("no registry: name a vk.xml, or install a package that has one: pip install vulkan-object")
    return Path(spec.origin).with_name("vk.xml")


def main(arguments: list[str]) -> int:
    """Write both files; return the exit code."""
    try:
        path = Path(arguments[0]) if arguments else packaged()
        FILE.write_text(text := text_of(ET.parse(path).getroot()), encoding="utf-8")
        TYPES.write_text(types_of("\n".join(json.loads(text)["declarations"])), encoding="utf-8")
    except (CtsError, OSError, ET.ParseError) as error:
        print(f"{Path(__file__).stem}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
