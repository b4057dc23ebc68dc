"""The declarations for cffi that are generated from Khronos' registry."""

from __future__ import annotations

import importlib.util
import xml.etree.ElementTree as ET

import pytest

from cts.devices.vulkan.registry import (
    FILE,
    STRUCTURES,
    TYPES,
    NotInRegistry,
    NotTranslated,
    Registry,
    packaged,
    supplement_of,
    text_of,
    types_of,
)
from cts.devices.vulkan.supplement import DECLARATIONS, STRUCTURE_TYPES, supplement

SMALL = """
<registry>
 <types>
  <type category="basetype">typedef <type>uint32_t</type> <name>VkBool32</name>;</type>
  <type category="basetype">typedef <type>uint64_t</type> <name>VkFlags64</name>;</type>
  <type category="bitmask">typedef <type>VkFlags64</type> <name>VkWideFlags</name>;</type>
  <type category="enum" name="VkStructureType"/>
  <type category="handle"><type>VK_DEFINE_HANDLE</type>(<name>VkDevice</name>)</type>
  <type category="include" name="void"/>
  <type category="union" name="VkPlace"><member><type>uint64_t</type> <name>there</name></member>
   <member>const <type>void</type>* <name>here</name></member></type>
  <type category="struct" name="VkThing"><member values="VK_STRUCTURE_TYPE_THING"><type>VkStructureType</type> <name>sType</name></member>
   <member><type>void</type>* <name>pNext</name></member>
   <member api="vulkansc"><type>uint32_t</type> <name>other</name></member>
   <member><type>VkWideFlags</type> <name>flags</name></member>
   <member><type>VkPlace</type> <name>place</name></member>
   <member><type>VkBool32</type> <name>yes</name></member></type>
  <type category="struct" name="VkThingKHR" alias="VkThing"/>
  <type category="struct" name="VkMany"><member><type>uint32_t</type> <name>many</name>[4]</member></type>
 </types>
 <commands>
  <command><proto><type>void</type> <name>vkDo</name></proto><param><type>VkDevice</type> <name>device</name></param>
   <param>const <type>VkThing</type>* <name>pIn</name></param><param><type>VkThing</type>* <name>pOut</name></param></command>
  <command successcodes="VK_SUCCESS,VK_AGAIN" errorcodes="VK_ERROR_X"><proto><type>VkResult</type> <name>vkTry</name></proto></command>
  <command name="vkTryKHR" alias="vkTry"/>
 </commands>
 <extensions>
  <extension name="VK_X" number="594"><require>
   <enum offset="2" extends="VkStructureType" name="VK_STRUCTURE_TYPE_THING_X"/>
   <enum offset="3" dir="-" extends="VkResult" name="VK_ERROR_X"/>
   <enum bitpos="17" extends="VkUsage" name="VK_USAGE_BIT"/>
   <enum alias="VK_STRUCTURE_TYPE_THING_X" extends="VkStructureType" name="VK_STRUCTURE_TYPE_THING"/>
  </require></extension>
 </extensions>
</registry>
"""


@pytest.fixture
def small() -> Registry:
    return Registry(ET.fromstring(SMALL))


def test_a_structure_has_its_members_and_what_it_contains_before_it(small):
    lines, type_ = small.structure("VkThing")
    assert lines == [
        *("typedef union {", "    uint64_t there;", "    const void* here;", "} VkPlace;"),
        *("typedef struct {", "    int32_t sType;", "    void* pNext;", "    uint64_t flags;", "    VkPlace place;", "    uint32_t yes;"),
        "} VkThing;",
    ]
    assert type_ == 1000593002


def test_an_alias_is_declared_under_its_own_name(small):
    lines, type_ = small.structure("VkThingKHR")
    assert (lines[-1], type_) == ("} VkThingKHR;", 1000593002)


@pytest.mark.parametrize(("name", "value"), [("VK_ERROR_X", -1000593003), ("VK_USAGE_BIT", 1 << 17)])
def test_a_value_is_computed_as_the_registry_says(small, name, value):
    assert small.value(name) == value


def test_a_command_takes_handles_and_arrays_to_fill_as_plain_pointers(small):
    assert small.pointer("Do", "vkDo") == "typedef void (*Do)(void* device, const VkThing* pIn, void* pOut);"


def test_a_command_has_the_results_of_its_own_or_of_its_alias(small):
    assert small.results("vkTryKHR") == small.results("vkTry") == ("VK_SUCCESS", "VK_AGAIN", "VK_ERROR_X")
    assert small.results("vkDo") == ()


@pytest.mark.parametrize("ask", [lambda r: r.structure("VkNone"), lambda r: r.value("VK_NONE"), lambda r: r.pointer("P", "vkNone")])
def test_a_name_that_the_registry_lacks_is_refused(small, ask):
    with pytest.raises(NotInRegistry):
        ask(small)


def test_an_array_is_refused_and_not_declared_as_one_element(small):
    with pytest.raises(NotTranslated):
        small.structure("VkMany")


def test_the_file_has_every_structure_that_is_asked_for():
    assert set(STRUCTURE_TYPES) == set(STRUCTURES)
    assert all(supplement().sizeof(name) for name in STRUCTURES)


def test_the_types_are_those_of_the_declarations():
    assert TYPES.read_text(encoding="utf-8") == types_of(DECLARATIONS), "run python -m cts.devices.vulkan.registry"


@pytest.mark.skipif(importlib.util.find_spec("vulkan_object") is None, reason="vulkan-object, which has the registry, is not installed")
def test_the_file_is_what_the_registry_says():
    root = ET.parse(packaged()).getroot()
    assert FILE.read_text(encoding="utf-8") == text_of(root), "run python -m cts.devices.vulkan.registry"
    assert supplement_of(Registry(root))["registry"].startswith("1.4.")
