"""The embedded device keeps each rule of the property commands, and a device that does one thing wrong breaks it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from cts.devices.device import DeviceDescription
from cts.devices.holder import DeviceHolder
from cts.devices.property_commands import COMMANDS, INCOMPLETE, SUCCESS, AskedFor, PropertyAnswer, PropertyCall, workgroup_invocations
from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from cts.embedded.property_commands import ask
from cts.engine.runner import judge
from cts.kinds.property_rules import RULES, Commanded
from cts.kinds.required_support import REQUIRED_SUPPORT
from cts.verdict.codes import Code
from cts.verdict.verdict import Verdict
from generators.casebook import build_query, expand
from generators.property_query import MatrixInfo
from generators.types import COMPONENT_TYPES, Scope
from tests.suite import casebook

COMMAND = "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"
FLEXIBLE = "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV"
FAMILIES = (
    "property_queries",
    "flexible_queries",
    "vector_property_queries",
    "decode_vector_features",
    "subgroup_size_queries",
    "required_support",
)
BY_SUBGROUP_SIZE = "vkGetPhysicalDeviceCooperativeMatrixProperties2EXT"
VECTORS = "vkGetPhysicalDeviceCooperativeVectorPropertiesNV"
OF_BOTH = ("count", "all", "generous", "one_short", "one", "none", "repeated")
OF_VECTORS = ("vector_values", "vector_required", "vector_stages", "vector_components")
DESCRIPTION = load_profile("nvidia-h200").description


class Answering:
    """The embedded device, with changed answers."""

    def __init__(self, change: Callable[[PropertyCall, PropertyAnswer], PropertyAnswer], description: DeviceDescription) -> None:
        self._change = change
        self._description = description

    def ask(self, call: PropertyCall) -> PropertyAnswer:
        return self._change(call, ask(self._description, call))


def unchanged(_: PropertyCall, answer: PropertyAnswer) -> PropertyAnswer:
    return answer


def broken(rule: str, change=unchanged, description: DeviceDescription = DESCRIPTION, command: str = COMMAND) -> list[str]:
    return list(RULES[rule].broken(Commanded(Answering(change, description), description, command)))


def edit(answer: PropertyAnswer, function: Callable[[np.ndarray], None], command: str = COMMAND) -> PropertyAnswer:
    if not answer.array:
        return answer
    structures = np.frombuffer(bytearray(answer.array), COMMANDS[command].dtype)
    function(structures)
    return replace(answer, array=structures.tobytes())


@pytest.mark.parametrize("profile", ["universal", "nvidia-h200", "llvmpipe"])
@pytest.mark.parametrize(
    "case", [case for name in FAMILIES for case in expand(casebook().family(name), "nightly")], ids=lambda case: case.id
)
def test_a_device_that_does_it_right(case, profile):
    found = judge(case, DeviceHolder(lambda: EmbeddedDevice(load_profile(profile))), "spirv", "nightly")
    query, features = build_query(case), load_profile(profile).description.features
    rule = (RULES | REQUIRED_SUPPORT)[query.rule]
    needed = "" if rule.needs == "nothing" else COMMANDS[query.command].asked_with, rule.feature
    lacks = not all(features.get(feature) for feature in filter(None, needed))
    assert found.verdict is (Verdict.NOT_SUPPORTED if lacks else Verdict.PASS), found.reason


@pytest.mark.parametrize("case", expand(casebook().family("subgroup_size_queries"), "nightly"), ids=lambda case: case.id)
def test_queries_by_subgroup_size_need_no_other_extension(case):
    found = judge(case, DeviceHolder(lambda: EmbeddedDevice(load_profile("maintenance1"))), "spirv", "nightly")
    if case.parameters.scope is Scope.WORKGROUP:
        assert found.code == Code.MISSING_FEATURE.of("cooperativeMatrixWorkgroupScope")
    else:
        assert found.verdict is Verdict.PASS


def of_maintenance1(rule: str, info: MatrixInfo, change=unchanged) -> list[str]:
    description = load_profile("maintenance1").description
    return list(RULES[rule].broken(Commanded(Answering(change, description), description, BY_SUBGROUP_SIZE, info)))


def test_a_list_that_must_have_entries_is_not_empty():
    def nothing(_, answer):
        return replace(answer, count=0)

    assert of_maintenance1("count", MatrixInfo(saturating=True), nothing) == []
    for varying in (False, True):
        assert any("lists no combination" in line for line in of_maintenance1("count", MatrixInfo(varying), nothing))


def test_the_device_is_told_what_is_asked_for():
    told = []

    def seen(call, answer):
        told.append(call.info)
        return answer

    for info in (MatrixInfo(), MatrixInfo(varying=True, saturating=True)):
        of_maintenance1("all", info, seen)
    assert set(told) == {AskedFor(3, 0, 32, 0), AskedFor(3, 0, 0, 1)}


def test_matrices_of_a_workgroup_are_asked_for_with_each_number_of_invocations():
    description = load_profile("universal").description
    lists = [(64, 256), (32, 32)]
    for size, most in lists:
        limits = {**description.limits, "cooperativeMatrixWorkgroupScopeMaxWorkgroupSize": most}
        counts = list(workgroup_invocations(replace(description, subgroup_size=size, limits=limits)))
        assert counts == ([64, 128, 256] if size == 64 else [32])
    info = MatrixInfo(varying=True, scope=Scope.WORKGROUP)
    told = []

    def seen(call, answer):
        told.append(call.info)
        return answer

    list(RULES["all"].broken(Commanded(Answering(seen, description), description, BY_SUBGROUP_SIZE, info, 64)))
    assert set(told) == {AskedFor(2, 64, 0, 0)}


def test_a_list_of_a_workgroup_may_not_be_empty_with_any_number_of_invocations():
    (case,) = (
        one for one in expand(casebook().family("subgroup_size_queries"), "nightly") if one.id.endswith("[rule:count/scope:workgroup]")
    )

    class Silent(EmbeddedDevice):
        def ask(self, call):
            answer = super().ask(call)
            return replace(answer, count=0) if call.info.invocations == 256 else answer

    found = judge(case, DeviceHolder(lambda: Silent(load_profile("universal"))), "spirv", "nightly")
    assert found.verdict is Verdict.FAIL
    assert found.message.count("lists no combination") == 1


def test_a_device_with_the_extension_and_without_its_command_is_wrong():
    profile = load_profile("maintenance1")
    without = replace(profile, features=profile.features - {"cooperativeMatrixProperties2"})
    (case,) = (one for one in expand(casebook().family("subgroup_size_queries"), "nightly") if "properties2_supported" in one.id)
    for one, verdict in ((without, Verdict.FAIL), (profile, Verdict.PASS), (load_profile("nvidia-h200"), Verdict.NOT_SUPPORTED)):
        assert judge(case, DeviceHolder(lambda one=one: EmbeddedDevice(one)), "spirv", "nightly").verdict is verdict


def lines_without(*types: str) -> list[str]:
    """Return the broken lines of a device that lists none of these types."""
    unwanted = [[COMPONENT_TYPES[name].vk for name in each.split(".")] for each in types]

    def without(structures):
        for structure in structures:
            if [structure[field] for field in ("AType", "BType", "CType", "ResultType")] in unwanted:
                structure["AType"] = COMPONENT_TYPES["f64"].vk

    return of_maintenance1("matrix_required", MatrixInfo(), lambda _, answer: edit(answer, without, BY_SUBGROUP_SIZE))


@pytest.mark.parametrize(
    "types", [("f16.f16.f16.f16", "f16.f16.f32.f32"), ("u8.u8.u32.u32", "u8.u8.s32.s32"), ("s8.s8.s32.s32",)], ids=lambda one: one[0]
)
def test_of_types_that_every_device_has_one_at_least_is_listed(types):
    assert lines_without(*types) == [f"{' or '.join(types)} must be listed"]


@pytest.mark.parametrize("types", ["f16.f16.f16.f16", "f16.f16.f32.f32", "u8.u8.u32.u32", "u8.u8.s32.s32"])
def test_either_type_of_the_accumulator_is_enough(types):
    """Vulkan: CType and ResultType are either both FLOAT16 or both FLOAT32, and either both UINT32 or both SINT32."""
    assert lines_without(types) == []


def with_features(**features: bool) -> DeviceDescription:
    return replace(DESCRIPTION, features={**DESCRIPTION.features, **features})


def with_limit(name: str, value: int) -> DeviceDescription:
    return replace(DESCRIPTION, limits={**DESCRIPTION.limits, name: value})


def test_flexible_dimensions_are_listed_only_with_their_feature():
    without = with_features(cooperativeMatrixFlexibleDimensions=False)
    assert ask(DESCRIPTION, PropertyCall(FLEXIBLE)).count > 0
    for rule in ("count", "all", "generous", "one_short", "one", "none", "repeated", "values", "granularities"):
        assert broken(rule, description=without, command=FLEXIBLE) == []
    one_listed = broken("count", lambda _, answer: replace(answer, count=1), without, FLEXIBLE)
    assert any("although it lacks the feature cooperativeMatrixFlexibleDimensions" in line for line in one_listed)
    assert broken("count", lambda _, answer: replace(answer, count=0), DESCRIPTION, FLEXIBLE) == []


@pytest.mark.parametrize("member", ["MGranularity", "NGranularity", "KGranularity"])
def test_granularities_are_powers_of_two(member):
    def change(_, answer):
        return edit(answer, lambda s: s[member].__setitem__(1, 24), FLEXIBLE)

    assert any(member in line for line in broken("granularities", change, command=FLEXIBLE))


def test_a_member_of_flexible_dimensions_that_is_not_written_is_seen():
    def change(_, answer):
        return edit(answer, lambda s: s["workgroupInvocations"].__setitem__(slice(None), 0xA5A5A5A5), FLEXIBLE)

    assert any("workgroupInvocations of a structure is not written" in line for line in broken("all", change, command=FLEXIBLE))


@pytest.mark.parametrize(
    ("rule", "name", "least_right", "wrong"),
    [
        ("largest_workgroup", "cooperativeMatrixWorkgroupScopeMaxWorkgroupSize", 64, 63),
        ("largest_dimension", "cooperativeMatrixFlexibleDimensionsMaxDimension", 256, 255),
        ("reserved_memory", "cooperativeMatrixWorkgroupScopeReservedSharedMemory", 49152 // 2, 49152 // 2 + 1),
    ],
)
def test_required_limits(rule, name, least_right, wrong):
    assert DESCRIPTION.max_shared_memory == 49152
    assert broken(rule, description=with_limit(name, least_right)) == []
    assert any(str(wrong) in line for line in broken(rule, description=with_limit(name, wrong)))
    assert any("not reported" in line for line in broken(rule, description=replace(DESCRIPTION, limits={})))


def test_vector_decode_functions_need_block_loads():
    with_both = with_features(cooperativeMatrixDecodeVector=True)
    assert broken("decode_blocks", description=with_both, command=FLEXIBLE) == []
    alone = with_features(cooperativeMatrixDecodeVector=True, cooperativeMatrixBlockLoads=False)
    assert any("lacks cooperativeMatrixBlockLoads" in line for line in broken("decode_blocks", description=alone, command=FLEXIBLE))


@pytest.mark.parametrize("profile", ["universal", "nvidia-h200"])
@pytest.mark.parametrize("rule", OF_BOTH + OF_VECTORS)
def test_a_device_with_cooperative_vectors_that_does_it_right(rule, profile):
    assert broken(rule, description=load_profile(profile).description, command=VECTORS) == []


def never_incomplete(_, answer):
    return replace(answer, result=SUCCESS)


def always_incomplete(_, answer):
    return replace(answer, result=INCOMPLETE)


def count_as_given(call, answer):
    return answer if call.capacity is None else replace(answer, count=call.capacity)


def true_count_always(call, answer):
    return replace(answer, count=ask(DESCRIPTION, PropertyCall(COMMAND)).count)


def one_too_many(call, answer):
    if call.capacity is None:
        return answer
    larger = ask(DESCRIPTION, PropertyCall(COMMAND, call.capacity + 1, call.slots))
    written = replace(answer, array=larger.array)
    return edit(written, lambda s: s["scope"].__setitem__(min(call.capacity, len(s) - 1), 7))


def clears_the_rest(call, answer):
    return edit(answer, lambda s: s["MSize"].__setitem__(slice(answer.count, None), 0))


def changes_the_chain(_, answer):
    return edit(answer, lambda s: s["pNext"].__setitem__(0, 8))


def zeroes_the_type(_, answer):
    return edit(answer, lambda s: s["sType"].__setitem__(slice(None), 0))


def leaves_saturation_alone(_, answer):
    return edit(answer, lambda s: s["saturatingAccumulation"].__setitem__(slice(None), 0xA5A5A5A5))


def invents_a_row(call, answer):
    return edit(answer, lambda s: s["KSize"].__setitem__(0, 64)) if call.capacity == 1 else answer


def other_sizes(member, value):
    return lambda _, answer: edit(answer, lambda s: s[member].__setitem__(slice(None), value))


def wavering():
    calls = []

    def change(call, answer):
        calls.append(call)
        return edit(answer, lambda s: s["KSize"].__setitem__(0, 8 + len(calls)))

    return change


def incomplete_from_the_second_call_on():
    calls = []

    def change(call, answer):
        calls.append(call)
        return replace(answer, result=SUCCESS if len(calls) == 1 else INCOMPLETE)

    return change


@pytest.mark.parametrize(
    ("rule", "change", "words"),
    [
        ("count", lambda _, answer: replace(answer, count=0), "lists no combination"),
        ("count", always_incomplete, "VK_INCOMPLETE"),
        ("count", incomplete_from_the_second_call_on(), "VK_INCOMPLETE"),
        ("all", always_incomplete, "VK_INCOMPLETE"),
        ("all", changes_the_chain, "pNext"),
        ("all", zeroes_the_type, "sType"),
        ("all", leaves_saturation_alone, "saturatingAccumulation of a structure is not written"),
        ("all", clears_the_rest, "is written, although"),
        ("generous", count_as_given, "the count is"),
        ("generous", clears_the_rest, "is written, although"),
        ("one_short", never_incomplete, "VK_SUCCESS"),
        ("one_short", true_count_always, "the count is"),
        ("one_short", one_too_many, "is written, although"),
        ("one", never_incomplete, "VK_SUCCESS"),
        ("one", invents_a_row, "is not among"),
        ("none", one_too_many, "is written, although"),
        ("none", never_incomplete, "VK_SUCCESS"),
        ("repeated", wavering(), "list different"),
        ("values", other_sizes("AType", 77), "AType"),
        ("values", other_sizes("MSize", 0), "MSize"),
        ("values", other_sizes("AType", 0x7FFFFFFF), "AType"),
        ("values", other_sizes("saturatingAccumulation", 2), "saturatingAccumulation"),
        ("power_of_two", other_sizes("NSize", 24), "powers of two"),
        ("scopes", other_sizes("scope", 5), "scope 5"),
    ],
)
def test_a_device_that_does_it_wrong(rule, change, words):
    assert any(words in line for line in broken(rule, change)), broken(rule, change)


def test_the_workgroup_scope_needs_its_feature():
    without = replace(DESCRIPTION, features={**DESCRIPTION.features, "cooperativeMatrixWorkgroupScope": False})
    workgroup = other_sizes("scope", 2)
    assert broken("scopes", workgroup) == []
    assert broken("scopes", workgroup, without)


@pytest.mark.parametrize("member", ["AType", "BType", "CType", "ResultType"])
@pytest.mark.parametrize("enumerant", [1000491000, 1000491001, 1000672000, 1000672004, 1000999007])
def test_a_component_type_of_another_extension_may_be_listed(member, enumerant):
    assert broken("values", other_sizes(member, enumerant)) == []


def test_floats_may_be_listed_as_saturating():
    """No text forbids it (F-KHR-7)."""
    assert broken("values", other_sizes("saturatingAccumulation", 1)) == []


def test_other_stages_than_compute_are_wrong():
    assert broken("stages", description=replace(DESCRIPTION, limits={**DESCRIPTION.limits, "cooperativeMatrixSupportedStages": 0x30}))
    assert broken("stages", description=replace(DESCRIPTION, limits={}))


def vector_members(member, value):
    return lambda _, answer: edit(answer, lambda s: s[member].__setitem__(slice(None), value), VECTORS)


@pytest.mark.parametrize(
    ("rule", "change", "words"),
    [
        ("count", lambda _, answer: replace(answer, count=0), "has the feature cooperativeVector"),
        ("one_short", never_incomplete, "VK_SUCCESS"),
        ("all", always_incomplete, "VK_INCOMPLETE"),
        ("all", vector_members("transpose", 0xA5A5A5A5), "transpose of a structure is not written"),
        ("vector_values", vector_members("matrixInterpretation", 1000491000), "matrixInterpretation cannot be in"),
        ("vector_values", vector_members("resultType", 77), "resultType"),
        ("vector_values", vector_members("transpose", 2), "transpose"),
        ("vector_required", vector_members("biasInterpretation", 1), "f16.f16.f16.f16.f16 is not listed"),
    ],
)
def test_a_device_with_cooperative_vectors_that_does_it_wrong(rule, change, words):
    found = broken(rule, change, command=VECTORS)
    assert any(words in line for line in found), found


@pytest.mark.parametrize(
    ("rule", "limit", "value"),
    [("vector_stages", "cooperativeVectorSupportedStages", 0x10), ("vector_components", "maxCooperativeVectorComponents", 127)],
)
def test_limits_of_cooperative_vectors(rule, limit, value):
    assert broken(rule, description=replace(DESCRIPTION, limits={**DESCRIPTION.limits, limit: value}), command=VECTORS)
    without = {name: number for name, number in DESCRIPTION.limits.items() if name != limit}
    assert broken(rule, description=replace(DESCRIPTION, limits=without), command=VECTORS)
