from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace

import pytest

from cts.devices import indexed_description
from cts.devices.capabilities import CAPABILITY_FEATURES, SPIRV_EXTENSIONS
from cts.devices.device import MatrixRow
from cts.devices.module_reading import read_needs
from cts.devices.property_index import PropertyIndex
from cts.devices.requirements import missing
from cts.verdict.codes import Reason
from generators.dispatch import kernel
from generators.errors import Rule
from generators.kernel import Kernel
from generators.spirv.emit import emit
from generators.spirv.enumerants import Capability, Op
from generators.spirv.grammar import GRAMMAR
from generators.types import MatrixOperands, Scope, StorageClass
from tests.broken_rules import breaks
from tests.float_rows import Row

EXACT = MatrixRow(8, 4, 16, "f16", "f16", "f32", "f32", False, 3)
FLEXIBLE = MatrixRow(16, 8, 32, "f16", "f16", "f32", "f32", False, 3, flexible=True)
SIGNED = MatrixRow(8, 4, 16, "s8", "s8", "s32", "s32", False, 3)
WORKGROUP = MatrixRow(16, 8, 32, "f16", "f16", "f32", "f32", False, 2, flexible=True, invocations=64)
S = MatrixOperands.A_SIGNED | MatrixOperands.B_SIGNED | MatrixOperands.C_SIGNED | MatrixOperands.RESULT_SIGNED


def code(lack: Reason | None) -> str:
    return "" if lack is None else lack.code


def test_a_kernel_that_matches_a_row_lacks_nothing(muladd, describe):
    assert missing(muladd(8, 4, 16), describe(EXACT)) is None


@pytest.mark.parametrize(
    ("feature", "arguments"),
    [
        ("cooperativeMatrix", {}),
        ("vulkanMemoryModel", {}),
        ("shaderFloat16", {}),
        ("maintenance4", {}),
        ("bufferDeviceAddress", {"storage": StorageClass.PHYSICAL_STORAGE_BUFFER}),
    ],
)
def test_a_missing_feature_is_named(feature, arguments, muladd, describe):
    assert code(missing(muladd(8, 4, 16, **arguments), describe(EXACT, without=feature))) == f"missing.feature.{feature}"


def test_bfloat16_matrices_need_their_own_feature(muladd, describe):
    row = replace(EXACT, a="bf16", b="bf16")
    kernel = muladd(8, 4, 16, "bf16 bf16 f32 f32")
    lack = missing(kernel, describe(row, features="shaderBFloat16Type"))
    assert code(lack) == "missing.feature.shaderBFloat16CooperativeMatrix"
    assert missing(kernel, describe(row, features="shaderBFloat16Type shaderBFloat16CooperativeMatrix")) is None


def test_float8_encodings_are_distinguished(muladd, describe):
    row = replace(EXACT, a="e4m3", b="e4m3")
    features = "shaderFloat8 shaderFloat8CooperativeMatrix"
    assert missing(muladd(8, 4, 16, "e4m3 e4m3 f32 f32"), describe(row, features=features)) is None
    lack = missing(muladd(8, 4, 16, "e5m2 e4m3 f32 f32"), describe(row, features=features))
    assert lack == Reason("missing.row.type", "no property row for A e5m2 8x16 at subgroup scope")


@pytest.mark.parametrize(
    ("size", "matrix"), [((9, 4, 16), "A f16 9x16"), ((8, 5, 16), "B f16 16x5"), ((16, 8, 4), "A f16 16x4"), ((4, 8, 16), "A f16 4x16")]
)
def test_a_type_that_occurs_in_no_row_is_named(size, matrix, muladd, describe):
    lack = missing(muladd(*size), describe(EXACT))
    assert lack == Reason("missing.row.type", f"no property row for {matrix} at subgroup scope")


def test_types_of_different_rows_make_no_row_of_their_own(muladd, describe):
    other = MatrixRow(16, 4, 8, "f16", "f16", "f32", "f32", False, 3)
    third = MatrixRow(8, 8, 8, "f16", "f16", "f32", "f32", False, 3)
    # A 8x16, B 16x4 and an 8x4 accumulator are all known; only EXACT has them together.
    assert missing(muladd(8, 4, 16), describe(EXACT, other, third)) is None
    lack = missing(muladd(8, 4, 8), describe(EXACT, other, third))
    assert lack == Reason("missing.row.muladd", "no property row for 8x4x8 f16 x f16 + f32 -> f32 at subgroup scope")


def test_the_flags_decide_the_signedness_and_the_types_do_not(muladd, describe):
    device = describe(SIGNED)
    assert missing(muladd(8, 4, 16, "s8 s8 s32 s32", S), device) is None
    assert missing(muladd(8, 4, 16, "u8 u8 u32 u32", S), device) is None
    lack = missing(muladd(8, 4, 16, "s8 s8 s32 s32", S & ~MatrixOperands.B_SIGNED), device)
    assert lack == Reason("missing.row.muladd", "no property row for 8x4x16 s8 x u8 + s32 -> s32 at subgroup scope")


def test_saturation_is_part_of_a_row(muladd, describe):
    kernel = muladd(8, 4, 16, "s8 s8 s32 s32", S | MatrixOperands.SATURATING_ACCUMULATION)
    assert code(missing(kernel, describe(SIGNED))) == "missing.row.muladd"
    assert missing(kernel, describe(replace(SIGNED, saturating=True))) is None
    assert code(missing(muladd(8, 4, 16, "s8 s8 s32 s32", S), describe(replace(SIGNED, saturating=True)))) == "missing.row.muladd"


def test_flexible_rows_take_multiples_up_to_the_limit(muladd, describe):
    device = describe(
        FLEXIBLE, features="cooperativeMatrixFlexibleDimensions", limits={"cooperativeMatrixFlexibleDimensionsMaxDimension": 64}
    )
    assert missing(muladd(48, 8, 64), device) is None
    assert code(missing(muladd(24, 8, 64), device)) == "missing.row.type"
    assert code(missing(muladd(16, 8, 96), device)) == "missing.row.type"


def test_sizes_are_those_after_specialization(muladd, describe):
    kernel = muladd(8, 4, 16, m_from_constant=True)
    assert missing(kernel, describe(EXACT)) is None
    assert code(missing(replace(kernel, specialization=()), describe(EXACT))) == "missing.row.type"


def test_workgroup_scope_needs_its_feature_and_the_rows_invocations(muladd, describe):
    limits = {"cooperativeMatrixWorkgroupScopeMaxWorkgroupSize": 128}
    two = muladd(16, 8, 32, scope=Scope.WORKGROUP, subgroups=2)
    four = muladd(16, 8, 32, scope=Scope.WORKGROUP, subgroups=4)
    assert code(missing(two, describe(WORKGROUP, limits=limits))) == "missing.feature.cooperativeMatrixWorkgroupScope"
    device = describe(WORKGROUP, limits=limits, features="cooperativeMatrixWorkgroupScope")
    assert missing(two, device) is None
    assert missing(four, device) == Reason("missing.row.type", "no property row for A f16 16x32 at workgroup scope with 128 invocations")
    eight = muladd(16, 8, 32, scope=Scope.WORKGROUP, subgroups=8)
    assert code(missing(eight, device)) == "missing.limit.cooperativeMatrixWorkgroupScopeMaxWorkgroupSize"


def test_scopes_have_rows_of_their_own(muladd, describe):
    assert code(missing(muladd(16, 8, 32), describe(WORKGROUP))) == "missing.row.type"


@pytest.mark.parametrize(
    ("changes", "lack"),
    [
        (
            {"max_workgroup_invocations": 32},
            Reason("missing.limit.maxComputeWorkGroupInvocations", "limit maxComputeWorkGroupInvocations 32 (needs 64)"),
        ),
        (
            {"limits": {"maxComputeWorkGroupSize[0]": 8}},
            Reason("missing.limit.maxComputeWorkGroupSize", "limit maxComputeWorkGroupSize[0] 8 (needs 64)"),
        ),
        (
            {"limits": {"maxStorageBufferRange": 100}},
            Reason("missing.limit.maxStorageBufferRange", "limit maxStorageBufferRange 100 bytes (needs 256 bytes)"),
        ),
        ({"api_version": "1.2.0"}, Reason("missing.spirv.1.6", "SPIR-V 1.6 (Vulkan 1.2.0 accepts 1.5)")),
        (
            {"extra": {"extensions": []}},
            Reason("missing.extension.VK_KHR_cooperative_matrix", "extension VK_KHR_cooperative_matrix (for SPV_KHR_cooperative_matrix)"),
        ),
    ],
)
def test_a_limit_of_the_device_is_named(changes, lack, muladd, describe):
    assert missing(muladd(8, 4, 16, subgroups=2), describe(EXACT, **changes)) == lack


def test_physical_addresses_count_as_push_constants(muladd, describe):
    kernel = muladd(8, 4, 16, storage=StorageClass.PHYSICAL_STORAGE_BUFFER)
    assert code(missing(kernel, describe(EXACT, limits={"maxPushConstantsSize": 16}))) == "missing.limit.maxPushConstantsSize"


def _words(op: Op, *operands: int) -> bytes:
    return b"".join(word.to_bytes(4, "little") for word in ((1 + len(operands)) << 16 | op, *operands))


def _insert(spirv: bytes, instruction: bytes) -> bytes:
    return spirv[:20] + instruction + spirv[20:]


def test_a_capability_without_a_known_requirement_is_our_defect(muladd, describe):
    kernel = muladd(8, 4, 16)
    odd = replace(kernel, spirv=_insert(kernel.spirv, _words(Op.Capability, Capability.Addresses)))
    with breaks(Rule.CAPABILITY):
        missing(odd, describe(EXACT))


def test_every_extension_of_a_capability_has_the_vulkan_extension_that_allows_it():
    grammars = [GRAMMAR.kinds["Capability"].by_value[capability] for capability in CAPABILITY_FEATURES]
    extensions = {extension for grammar in grammars if not grammar.version for extension in grammar.extensions}
    assert extensions - SPIRV_EXTENSIONS.keys() == set(), "add them to SPIRV_EXTENSIONS of cts/devices/capabilities.py"


def test_alternative_features_are_enough_one_by_one(muladd, describe):
    kernel = muladd(8, 4, 16)
    atomics = replace(kernel, spirv=_insert(kernel.spirv, _words(Op.Capability, Capability.Int64Atomics)))
    text = "feature shaderBufferInt64Atomics or shaderSharedInt64Atomics"
    assert missing(atomics, describe(EXACT)) == Reason("missing.feature.shaderBufferInt64Atomics", text)
    assert missing(atomics, describe(EXACT, features="shaderSharedInt64Atomics")) is None


def test_subgroup_operations_are_looked_up_in_their_mask(muladd, describe):
    kernel = muladd(8, 4, 16)
    shuffling = replace(kernel, spirv=_insert(kernel.spirv, _words(Op.Capability, Capability.GroupNonUniformShuffle)))
    assert missing(shuffling, describe(EXACT, limits={"subgroupSupportedOperations": 0x10})) is None
    lack = missing(shuffling, describe(EXACT, limits={"subgroupSupportedOperations": 0xF}))
    assert lack == Reason("missing.property.subgroupSupportedOperations", "feature subgroupSupportedOperations (shuffle)")


def test_the_rows_of_a_device_are_indexed_once(muladd, describe, monkeypatch):
    made = []
    monkeypatch.setattr(indexed_description, "PropertyIndex", lambda *given: made.append(given) or PropertyIndex(*given))
    kernel, device = muladd(8, 4, 16), describe(*(replace(EXACT, m=m) for m in range(1, 100)))
    for _ in range(3):
        missing(kernel, device)
    assert len(made) == 1


def test_reading_a_module_takes_few_calls_for_each_instruction(muladd):
    spirv = muladd(8, 4, 16).spirv
    calls = Counter()
    sys.setprofile(lambda frame, event, _: calls.update([event]))
    try:
        read_needs.__wrapped__(spirv)
    finally:
        sys.setprofile(None)
    assert calls["call"] < len(spirv) // 4


@pytest.mark.parametrize("features", ["", "subgroupSizeControl"])
def test_a_subgroup_size_that_varies_and_cannot_be_required_is_named(features, muladd, describe):
    limits = {"minSubgroupSize": 4, "maxSubgroupSize": 32, "requiredSubgroupSizeStages": 0x20 if not features else 0x10}
    lack = missing(muladd(8, 4, 16), describe(EXACT, features=features, limits=limits))
    assert code(lack) == "missing.property.requiredSubgroupSizeStages"


def test_a_varying_subgroup_size_that_can_be_required_is_supported(muladd, describe):
    limits = {"minSubgroupSize": 4, "maxSubgroupSize": 32, "requiredSubgroupSizeStages": 0x20}
    assert missing(muladd(8, 4, 16), describe(EXACT, features="subgroupSizeControl", limits=limits)) is None


FLOATS = "shaderRoundingModeRTEFloat16 shaderRoundingModeRTZFloat32 shaderRoundingModeRTEFloat64"


def under(modes: str) -> Kernel:
    row = Row("move", "f16", modes, [1.0] * 8)
    return kernel(row.program(), emit(row.program()))


HALVES = MatrixRow(1, 8, 8, "f16", "f16", "f16", "f16", False, 3)


def test_a_float_mode_needs_the_property_of_its_width(describe):
    assert missing(under("rte16"), describe(HALVES, features=FLOATS)) is None
    lack = missing(under("rtz16"), describe(HALVES, features=FLOATS))
    assert code(lack) == "missing.property.shaderRoundingModeRTZFloat16"
    assert code(missing(under("special32"), describe(HALVES, features=FLOATS))) == "missing.property.shaderSignedZeroInfNanPreserveFloat32"


@pytest.mark.parametrize(
    ("modes", "independence", "lacks"),
    [
        ("rte16 rtz32", 1, ""),
        ("rte16 rtz32", 0, ""),
        ("rte16 rtz32", 2, "missing.property.roundingModeIndependence"),
        ("rte16 rte64", 2, ""),
        ("rtz32", 2, ""),
    ],
)
def test_widths_have_modes_of_their_own_where_the_device_says_so(modes, independence, lacks, describe):
    description = describe(HALVES, features=FLOATS, limits={"roundingModeIndependence": independence})
    assert code(missing(under(modes), description)) == lacks


def test_only_32_bits_may_have_denormals_of_their_own(describe):
    features = "shaderDenormPreserveFloat16 shaderDenormFlushToZeroFloat32 shaderDenormFlushToZeroFloat64"
    description = describe(HALVES, features=features, limits={"denormBehaviorIndependence": 0})
    assert missing(under("preserve16 flush32"), description) is None
    assert code(missing(under("preserve16 flush64"), description)) == "missing.property.denormBehaviorIndependence"
