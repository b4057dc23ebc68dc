"""The rules of the property commands (Vulkan, "Cooperative Matrices", and its two-call idiom), in words and in code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np

from cts.devices.device import DeviceDescription
from cts.devices.property_commands import (
    COMMANDS,
    INCOMPLETE,
    SATURATING,
    SUCCESS,
    AnswersQueries,
    AskedFor,
    PropertyAnswer,
    PropertyCall,
    fresh,
    name_of_result,
)
from generators.property_query import MatrixInfo, Rule
from generators.types import COMPONENT_TYPES, INTERPRETATIONS, Scope

_SPARE = 3
"""How many structures an array has beyond the count of the call."""

_STAGE_COMPUTE = 0x20
_LEAST_LARGEST_DIMENSION = 256

_LAST_CORE_COMPONENT = 10
_EXTENSION_ENUMERANTS = range(1_000_000_000, 2_000_000_000)
"""The range of the enumerants of Vulkan's extensions: new ones may add component types."""


@dataclass(frozen=True)
class Commanded:
    """A device and the command to call; ``invocations`` of a workgroup, if the command is called for its matrices."""

    device: AnswersQueries
    description: DeviceDescription
    command: str
    info: MatrixInfo | None = None
    invocations: int = 0

    @property
    def asked_for(self) -> AskedFor | None:
        """Return the arguments of the command other than count and array."""
        if self.info is None:
            return None
        size = 0 if self.info.varying else self.description.subgroup_size
        return AskedFor(int(self.info.scope), self.invocations, size, SATURATING if self.info.saturating else 0)

    def count(self) -> PropertyAnswer:
        """Ask only for the count."""
        return self.device.ask(PropertyCall(self.command, info=self.asked_for))

    def fill(self, capacity: int) -> PropertyAnswer:
        """Ask for at most ``capacity`` structures."""
        return self.device.ask(PropertyCall(self.command, capacity, capacity + _SPARE, self.asked_for))

    def all(self) -> np.ndarray:
        """Return all structures."""
        return self.fill(self.count().count).structures(self.command)[:-_SPARE]


def _expect(answer: PropertyAnswer, result: int, count: int) -> Iterator[str]:
    if answer.result != result:
        yield f"the command returns {name_of_result(answer.result)}, not {name_of_result(result)}"
    if answer.count != count:
        yield f"the count is {answer.count} afterwards, not {count}"


def _written(asked: Commanded, answer: PropertyAnswer, capacity: int, written: int) -> Iterator[str]:
    """Check that the first ``written`` structures are filled in, and that the others have not changed."""
    structures = answer.structures(asked.command)
    before = fresh(PropertyCall(asked.command, capacity, capacity + _SPARE))
    for field in ("sType", "pNext"):
        if (structures[field] != before[field]).any():
            yield f"{field} of a structure is changed"
    changed = np.array([after.tobytes() != poison.tobytes() for after, poison in zip(structures, before, strict=True)])
    if changed[written:].any():
        first = written + int(np.flatnonzero(changed[written:])[0])
        yield f"structure {first} is written, although the count was {capacity} and only {written} should be"
    fields = [field for field in structures.dtype.names or () if field not in ("sType", "pNext")]
    for field in fields:
        if (structures[field][:written] == before[field][:written]).any():
            yield f"{field} of a structure is not written"


def _members(asked: Commanded, answer: PropertyAnswer, count: int) -> Iterator[str]:
    """Check that the returned structures are among all existing ones, and that none occurs more often."""
    known = [structure.tobytes() for structure in asked.all()]
    for structure in answer.structures(asked.command)[:count]:
        if structure.tobytes() not in known:
            yield f"{_described(structure)} is not among those that a full query lists"
        else:
            known.remove(structure.tobytes())


def _described(structure: np.void) -> str:
    fields = [field for field in structure.dtype.names or () if field not in ("sType", "pNext")]
    return " ".join(f"{field} {structure[field]}" for field in fields)


def _sizes(structure: np.void) -> dict[str, int]:
    """Return the three sizes or granularities of a structure, by the names of their members."""
    return {
        field: int(structure[field]) for field in structure.dtype.names or () if field[0] in "MNK" and field[1:] in ("Size", "Granularity")
    }


def _is_power_of_two(size: int) -> bool:
    return size > 0 and size & (size - 1) == 0


def _count(asked: Commanded) -> Iterator[str]:
    first, second = asked.count(), asked.count()
    yield from _expect(first, SUCCESS, second.count)
    yield from _expect(second, SUCCESS, second.count)
    command = COMMANDS[asked.command]
    supported = asked.description.features.get(command.feature, False)
    may_be_empty = asked.info is not None and asked.info.saturating
    if first.count == 0 and supported and command.lists_something and not may_be_empty:
        yield f"the device lists no combination although it has the feature {command.feature}"
    if first.count and not supported:
        yield f"the device lists {first.count} combinations although it lacks the feature {command.feature}"


def _capacity(choose: Callable[[int], int]) -> Callable[[Commanded], Iterator[str]]:
    def rule(asked: Commanded) -> Iterator[str]:
        available = asked.count().count
        capacity = max(choose(available), 0)
        written = min(capacity, available)
        answer = asked.fill(capacity)
        yield from _expect(answer, SUCCESS if capacity >= available else INCOMPLETE, written)
        yield from _written(asked, answer, capacity, written)
        yield from _members(asked, answer, written)

    return rule


def _repeated(asked: Commanded) -> Iterator[str]:
    first = sorted(structure.tobytes() for structure in asked.all())
    for _ in range(3):
        if sorted(structure.tobytes() for structure in asked.all()) != first:
            yield "two full queries list different structures"
            return


def _may_be_a_component_type(value: int) -> bool:
    """Return whether a VkComponentTypeKHR can have this value on a device with any extensions."""
    return value <= _LAST_CORE_COMPONENT or value in _EXTENSION_ENUMERANTS


def _values(asked: Commanded) -> Iterator[str]:
    for structure in asked.all():
        wrong = [field for field, size in _sizes(structure).items() if not size]
        wrong += [field for field in ("AType", "BType", "CType", "ResultType") if not _may_be_a_component_type(int(structure[field]))]
        # Floats that saturate are strange, but no text forbids them (F-KHR-7).
        flags = {"saturatingAccumulation"} & set(structure.dtype.names or ())
        wrong += [flag for flag in flags if int(structure[flag]) not in (0, 1)]
        if wrong:
            yield f"{', '.join(wrong)} cannot be in: {_described(structure)}"


def _power_of_two(asked: Commanded) -> Iterator[str]:
    sizes = [list(_sizes(structure).values()) for structure in asked.all()]
    if not any(all(map(_is_power_of_two, row)) for row in sizes):
        yield f"no combination has three powers of two as its sizes: {sizes}"


def _granularities(asked: Commanded) -> Iterator[str]:
    for structure in asked.all():
        wrong = [field for field, size in _sizes(structure).items() if not _is_power_of_two(size)]
        if wrong:
            yield f"{', '.join(wrong)} not a power of two in: {_described(structure)}"


def _scopes(asked: Commanded) -> Iterator[str]:
    allowed = {int(Scope.SUBGROUP)}
    if asked.description.features.get("cooperativeMatrixWorkgroupScope"):
        allowed.add(int(Scope.WORKGROUP))
    for structure in asked.all():
        if int(structure["scope"]) not in allowed:
            yield f"scope {structure['scope']} without a feature that allows it: {_described(structure)}"


def _stages(asked: Commanded) -> Iterator[str]:
    stages = asked.description.limits.get("cooperativeMatrixSupportedStages")
    if stages != _STAGE_COMPUTE:
        shown = "not reported" if stages is None else f"{stages:#x}"
        yield f"cooperativeMatrixSupportedStages is {shown}, not VK_SHADER_STAGE_COMPUTE_BIT alone (0x20)"


def _limit(name: str, is_kept: Callable[[int, DeviceDescription], bool]) -> Callable[[Commanded], Iterator[str]]:
    """Return a rule about one limit; ``is_kept`` takes its value and the device."""

    def rule(asked: Commanded) -> Iterator[str]:
        value = asked.description.limits.get(name)
        if value is None or not is_kept(value, asked.description):
            yield f"{name} is {'not reported' if value is None else value}"

    return rule


_VECTOR_TYPES = ("inputType", "inputInterpretation", "matrixInterpretation", "biasInterpretation", "resultType")
_PACKED = frozenset(interpretation.vk for interpretation in INTERPRETATIONS.values() if interpretation.packed)

_REQUIRED = (
    "f16.f16.f16.f16.f16",
    "u32.s8packed.s8.s32.s32",
    "s8.s8.s8.s32.s32",
    "f32.s8.s8.s32.s32",
    "f16.e4m3.e4m3.f16.f16",
    "f16.e5m2.e5m2.f16.f16",
)
"""Combinations that must be supported (Vulkan, VkCooperativeVectorPropertiesNV), in the order of _VECTOR_TYPES."""

_LEAST_COMPONENTS = 128


_REQUIRED_MATRICES = (("f16.f16.f16.f16", "f16.f16.f32.f32"), ("u8.u8.u32.u32", "u8.u8.s32.s32"), ("s8.s8.s32.s32",))
"""Types of A, B, C and Result of which each list must have at least one of each tuple (Vulkan,
vkGetPhysicalDeviceCooperativeMatrixProperties2EXT)."""


def _matrix_required(asked: Commanded) -> Iterator[str]:
    fields = ("AType", "BType", "CType", "ResultType")
    listed = {tuple(int(structure[field]) for field in fields) for structure in asked.all()}
    for alternatives in _REQUIRED_MATRICES:
        if listed.isdisjoint(tuple(COMPONENT_TYPES[name].vk for name in types.split(".")) for types in alternatives):
            yield f"{' or '.join(alternatives)} must be listed"


def _vector_values(asked: Commanded) -> Iterator[str]:
    for structure in asked.all():
        wrong = [field for field in _VECTOR_TYPES if not _may_be_a_component_type(int(structure[field]))]
        wrong += [field for field in _VECTOR_TYPES if field != "inputInterpretation" and int(structure[field]) in _PACKED]
        wrong += ["transpose"] if int(structure["transpose"]) not in (0, 1) else []
        if wrong:
            yield f"{', '.join(wrong)} cannot be in: {_described(structure)}"


def _vector_required(asked: Commanded) -> Iterator[str]:
    listed = {tuple(int(structure[field]) for field in _VECTOR_TYPES) for structure in asked.all()}
    for combination in _REQUIRED:
        if tuple(INTERPRETATIONS[name].vk for name in combination.split(".")) not in listed:
            yield f"the combination {combination} is not listed"


def _vector_stages(asked: Commanded) -> Iterator[str]:
    stages = asked.description.limits.get("cooperativeVectorSupportedStages")
    if stages is None or not stages & _STAGE_COMPUTE:
        shown = "not reported" if stages is None else f"{stages:#x}"
        yield f"cooperativeVectorSupportedStages is {shown}, without VK_SHADER_STAGE_COMPUTE_BIT (0x20)"


def _vector_components(asked: Commanded) -> Iterator[str]:
    most = asked.description.limits.get("maxCooperativeVectorComponents")
    if most is None or most < _LEAST_COMPONENTS:
        yield f"maxCooperativeVectorComponents is {'not reported' if most is None else most}, but must be at least {_LEAST_COMPONENTS}"


def _decode_blocks(asked: Commanded) -> Iterator[str]:
    if not asked.description.features.get("cooperativeMatrixBlockLoads"):
        yield "the device has the feature cooperativeMatrixDecodeVector but lacks cooperativeMatrixBlockLoads"


def _properties2_supported(asked: Commanded) -> Iterator[str]:
    if not asked.description.features.get("cooperativeMatrixProperties2"):
        yield "the device has VK_EXT_cooperative_matrix_maintenance1 but lacks the feature cooperativeMatrixProperties2"


@dataclass(frozen=True)
class PropertyRule:
    """A rule for the answers of a device to property queries.

    Attributes:
        words: the demand of the rule, in words.
        calls: how the command is called to check it.
        broken: yields how a device breaks it, in lines.
        feature: the feature on which the rule depends; empty if it always applies.
        needs: what a device must have before the rule applies: the command with its feature, only the command's extension, or nothing.
        required: combinations of component types that must be listed, by Vulkan's numbers; empty if the rule demands none.
    """

    words: str
    calls: str
    broken: Callable[[Commanded], Iterator[str]]
    feature: str = ""
    needs: Literal["command", "extension", "nothing"] = "command"
    required: tuple[tuple[int, ...], ...] = ()


_COUNT = "without an array for the count n"
_ALL = f"{_COUNT}, then for all n"
_LIMITS = "vkGetPhysicalDeviceProperties2 with VkPhysicalDeviceCooperativeMatrix2PropertiesNV, instead of the command"


def _of_capacity(words: str, capacity: str, choose: Callable[[int], int]) -> PropertyRule:
    """Build a rule about an array for ``capacity`` of the n available structures."""
    calls = f"{_COUNT}, then with a count of {capacity} and an array that has {_SPARE} structures more, then for all n to compare with"
    return PropertyRule(words, calls, _capacity(choose))


RULES: Mapping[Rule, PropertyRule] = MappingProxyType(
    {
        "count": PropertyRule(
            "without an array the command gives VK_SUCCESS and the same count each time, "
            "which is 0 without its feature, and not 0 where something must be listed",
            "twice without an array",
            _count,
        ),
        "all": _of_capacity("an array for all structures is filled: VK_SUCCESS, and nothing is written beyond it", "n", lambda n: n),
        "generous": _of_capacity("the rest of a larger array does not change: VK_SUCCESS and the true count", "n + 2", lambda n: n + 2),
        "one_short": _of_capacity(
            "an array for all but one structure gives VK_INCOMPLETE, and nothing is written beyond it", "n - 1", lambda n: n - 1
        ),
        "one": _of_capacity("an array for one structure gets one, and nothing is written beyond it", "1", lambda _: 1),
        "none": _of_capacity("a count of 0 with an array gives VK_INCOMPLETE and writes nothing", "0", lambda _: 0),
        "repeated": PropertyRule("every full query lists the same", f"{_ALL}, four times", _repeated),
        "values": PropertyRule("every member has a valid value", _ALL, _values),
        "power_of_two": PropertyRule("at least one combination has three powers of two as its sizes", _ALL, _power_of_two),
        "scopes": PropertyRule("the scope is subgroup, unless cooperativeMatrixWorkgroupScope is supported", _ALL, _scopes),
        "stages": PropertyRule(
            "cooperative matrices are supported only in compute shaders",
            "vkGetPhysicalDeviceProperties2 with VkPhysicalDeviceCooperativeMatrixPropertiesKHR, instead of the command",
            _stages,
        ),
        "granularities": PropertyRule("all granularities are powers of two", _ALL, _granularities),
        "largest_workgroup": PropertyRule(
            "cooperativeMatrixWorkgroupScopeMaxWorkgroupSize is at least twice subgroupSize",
            _LIMITS,
            _limit(
                "cooperativeMatrixWorkgroupScopeMaxWorkgroupSize",
                lambda value, description: value >= 2 * description.subgroup_size,
            ),
            "cooperativeMatrixWorkgroupScope",
        ),
        "largest_dimension": PropertyRule(
            "cooperativeMatrixFlexibleDimensionsMaxDimension is at least 256",
            _LIMITS,
            _limit("cooperativeMatrixFlexibleDimensionsMaxDimension", lambda value, _: value >= _LEAST_LARGEST_DIMENSION),
            "cooperativeMatrixFlexibleDimensions",
        ),
        "reserved_memory": PropertyRule(
            "cooperativeMatrixWorkgroupScopeReservedSharedMemory is at most half of maxComputeSharedMemorySize",
            _LIMITS,
            _limit(
                "cooperativeMatrixWorkgroupScopeReservedSharedMemory",
                lambda value, description: 2 * value <= description.max_shared_memory,
            ),
            "cooperativeMatrixWorkgroupScope",
        ),
        "matrix_required": PropertyRule("the combinations of types that every device must support are listed", _ALL, _matrix_required),
        "vector_values": PropertyRule("every member has a valid value, and only inputInterpretation is packed", _ALL, _vector_values),
        "vector_required": PropertyRule(
            "the six combinations that every device must support are listed",
            _ALL,
            _vector_required,
            required=tuple(tuple(INTERPRETATIONS[name].vk for name in one.split(".")) for one in _REQUIRED),
        ),
        "vector_stages": PropertyRule(
            "cooperative vectors are supported at least in compute shaders, if a queue supports compute",
            "vkGetPhysicalDeviceProperties2 with VkPhysicalDeviceCooperativeVectorPropertiesNV, instead of the command",
            _vector_stages,
        ),
        "vector_components": PropertyRule(
            "a cooperative vector may have at least 128 components",
            "vkGetPhysicalDeviceProperties2 with VkPhysicalDeviceCooperativeVectorPropertiesNV, instead of the command",
            _vector_components,
        ),
        "decode_blocks": PropertyRule(
            "cooperativeMatrixDecodeVector comes with cooperativeMatrixBlockLoads",
            "vkGetPhysicalDeviceFeatures2 with VkPhysicalDeviceCooperativeMatrixDecodeVectorFeaturesNV and "
            "VkPhysicalDeviceCooperativeMatrix2FeaturesNV, instead of the command",
            _decode_blocks,
            "cooperativeMatrixDecodeVector",
        ),
        "properties2_supported": PropertyRule(
            "VK_EXT_cooperative_matrix_maintenance1 comes with cooperativeMatrixProperties2",
            "vkGetPhysicalDeviceFeatures2 with VkPhysicalDeviceCooperativeMatrixMaintenance1FeaturesEXT, instead of the command",
            _properties2_supported,
            needs="extension",
        ),
    }
)
"""Every rule by its name in the cases."""
