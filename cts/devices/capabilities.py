"""What each SPIR-V capability, extension and execution mode requires of a device (Vulkan-Docs appendices/spirvenv.adoc)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from generators.spirv.enumerants import Capability, ExecutionMode
from generators.stages import Stage

Alternatives = tuple[str, ...]
"""Alternative features; one is enough."""


def _one(*features: str) -> tuple[Alternatives, ...]:
    """Require every one of ``features``."""
    return tuple((feature,) for feature in features)


_MATRIX = ("cooperativeMatrix",)
_NOTHING: tuple[Alternatives, ...] = ()

CAPABILITY_FEATURES: Mapping[int, tuple[Alternatives, ...]] = MappingProxyType(
    {
        Capability.Matrix: _NOTHING,
        Capability.Shader: _NOTHING,
        Capability.Float16: _one("shaderFloat16"),
        Capability.Float64: _one("shaderFloat64"),
        Capability.Int64: _one("shaderInt64"),
        Capability.Int16: _one("shaderInt16"),
        Capability.Int8: _one("shaderInt8"),
        Capability.Int64Atomics: (("shaderBufferInt64Atomics", "shaderSharedInt64Atomics"),),
        Capability.AtomicFloat16AddEXT: (("shaderBufferFloat16AtomicAdd", "shaderSharedFloat16AtomicAdd"),),
        Capability.AtomicFloat32AddEXT: (("shaderBufferFloat32AtomicAdd", "shaderSharedFloat32AtomicAdd"),),
        Capability.AtomicFloat64AddEXT: (("shaderBufferFloat64AtomicAdd", "shaderSharedFloat64AtomicAdd"),),
        Capability.AtomicFloat16VectorNV: _one("shaderFloat16VectorAtomics"),
        Capability.StorageBufferArrayDynamicIndexing: _one("shaderStorageBufferArrayDynamicIndexing"),
        Capability.RuntimeDescriptorArray: _one("runtimeDescriptorArray"),
        Capability.ShaderNonUniform: _NOTHING,
        Capability.StorageBufferArrayNonUniformIndexing: _one("shaderStorageBufferArrayNonUniformIndexing"),
        Capability.StorageBuffer16BitAccess: _one("storageBuffer16BitAccess"),
        Capability.UniformAndStorageBuffer16BitAccess: _one("uniformAndStorageBuffer16BitAccess"),
        Capability.StoragePushConstant16: _one("storagePushConstant16"),
        Capability.StorageBuffer8BitAccess: _one("storageBuffer8BitAccess"),
        Capability.UniformAndStorageBuffer8BitAccess: _one("uniformAndStorageBuffer8BitAccess"),
        Capability.StoragePushConstant8: _one("storagePushConstant8"),
        Capability.VariablePointersStorageBuffer: _one("variablePointersStorageBuffer"),
        Capability.VariablePointers: _one("variablePointers"),
        Capability.WorkgroupMemoryExplicitLayoutKHR: _one("workgroupMemoryExplicitLayout"),
        Capability.WorkgroupMemoryExplicitLayout8BitAccessKHR: _one("workgroupMemoryExplicitLayout8BitAccess"),
        Capability.WorkgroupMemoryExplicitLayout16BitAccessKHR: _one("workgroupMemoryExplicitLayout16BitAccess"),
        Capability.UntypedPointersKHR: _one("shaderUntypedPointers"),
        Capability.PhysicalStorageBufferAddresses: _one("bufferDeviceAddress"),
        Capability.VulkanMemoryModel: _one("vulkanMemoryModel"),
        Capability.VulkanMemoryModelDeviceScope: _one("vulkanMemoryModelDeviceScope"),
        Capability.DotProduct: _one("shaderIntegerDotProduct"),
        Capability.DotProductInputAll: _one("shaderIntegerDotProduct"),
        Capability.DotProductInput4x8Bit: _one("shaderIntegerDotProduct"),
        Capability.DotProductInput4x8BitPacked: _one("shaderIntegerDotProduct"),
        Capability.Shader64BitIndexingEXT: _one("shader64BitIndexing"),
        Capability.FloatControls2: _one("shaderFloatControls2"),
        Capability.DenormPreserve: (("shaderDenormPreserveFloat16", "shaderDenormPreserveFloat32", "shaderDenormPreserveFloat64"),),
        Capability.DenormFlushToZero: (
            ("shaderDenormFlushToZeroFloat16", "shaderDenormFlushToZeroFloat32", "shaderDenormFlushToZeroFloat64"),
        ),
        Capability.SignedZeroInfNanPreserve: (
            ("shaderSignedZeroInfNanPreserveFloat16", "shaderSignedZeroInfNanPreserveFloat32", "shaderSignedZeroInfNanPreserveFloat64"),
        ),
        Capability.RoundingModeRTE: (("shaderRoundingModeRTEFloat16", "shaderRoundingModeRTEFloat32", "shaderRoundingModeRTEFloat64"),),
        Capability.RoundingModeRTZ: (("shaderRoundingModeRTZFloat16", "shaderRoundingModeRTZFloat32", "shaderRoundingModeRTZFloat64"),),
        Capability.ReplicatedCompositesEXT: _one("shaderReplicatedComposites"),
        Capability.LongVectorEXT: _one("longVector"),
        Capability.BFloat16TypeKHR: _one("shaderBFloat16Type"),
        Capability.BFloat16DotProductKHR: _one("shaderBFloat16Type", "shaderBFloat16DotProduct"),
        Capability.BFloat16CooperativeMatrixKHR: (_MATRIX, *_one("shaderBFloat16Type", "shaderBFloat16CooperativeMatrix")),
        Capability.Float8EXT: _one("shaderFloat8"),
        Capability.Float8CooperativeMatrixEXT: (_MATRIX, *_one("shaderFloat8", "shaderFloat8CooperativeMatrix")),
        Capability.CooperativeMatrixKHR: (_MATRIX,),
        Capability.CooperativeMatrixReductionsEXT: _one("cooperativeMatrixReductions"),
        Capability.CooperativeMatrixConversionsNV: _one("cooperativeMatrixConversions"),
        Capability.CooperativeMatrixConversionsEXT: _one("cooperativeMatrixConversions"),
        Capability.CooperativeMatrixPerElementOperationsEXT: _one("cooperativeMatrixPerElementOperations"),
        Capability.CooperativeMatrixTensorAddressingNV: _one("cooperativeMatrixTensorAddressing"),
        Capability.TensorAddressingNV: _one("cooperativeMatrixTensorAddressing"),
        Capability.CooperativeMatrixBlockLoadsNV: _one("cooperativeMatrixBlockLoads"),
        Capability.CooperativeMatrixDecodeVectorNV: _one("cooperativeMatrixBlockLoads", "cooperativeMatrixDecodeVector"),
        Capability.CooperativeMatrixGetCoordinateEXT: _one("cooperativeMatrixGetCoordinate"),
        Capability.CooperativeVectorNV: _one("cooperativeVector"),
        Capability.CooperativeVectorTrainingNV: _one("cooperativeVectorTraining"),
        Capability.RayTracingKHR: _one("rayTracingPipeline", "bufferDeviceAddress"),
        Capability.CooperativeMatrixConversionQCOM: (_MATRIX, *_one("cooperativeMatrixConversion")),
    }
)
"""Capability -> the features that it requires: one from each tuple."""

SUBGROUP_OPERATIONS: Mapping[int, tuple[int, str]] = MappingProxyType(
    {
        Capability.GroupNonUniform: (0x1, "basic"),
        Capability.GroupNonUniformVote: (0x2, "vote"),
        Capability.GroupNonUniformArithmetic: (0x4, "arithmetic"),
        Capability.GroupNonUniformBallot: (0x8, "ballot"),
        Capability.SubgroupBallotKHR: (0x8, "ballot"),
        Capability.GroupNonUniformShuffle: (0x10, "shuffle"),
        Capability.GroupNonUniformShuffleRelative: (0x20, "shuffle relative"),
        Capability.GroupNonUniformClustered: (0x40, "clustered"),
        Capability.GroupNonUniformQuad: (0x80, "quad"),
    }
)
"""Capability -> its VkSubgroupFeatureFlagBits and the name of the operations."""

FLOAT_MODES: Mapping[int, str] = MappingProxyType(
    {
        ExecutionMode.DenormPreserve: "shaderDenormPreserveFloat",
        ExecutionMode.DenormFlushToZero: "shaderDenormFlushToZeroFloat",
        ExecutionMode.SignedZeroInfNanPreserve: "shaderSignedZeroInfNanPreserveFloat",
        ExecutionMode.RoundingModeRTE: "shaderRoundingModeRTEFloat",
        ExecutionMode.RoundingModeRTZ: "shaderRoundingModeRTZFloat",
    }
)
"""Execution mode that has a width operand -> the prefix of its VkBool32 property; the width completes the name."""

FLOAT_CAPABILITIES: frozenset[int] = frozenset(
    {
        Capability.DenormPreserve,
        Capability.DenormFlushToZero,
        Capability.SignedZeroInfNanPreserve,
        Capability.RoundingModeRTE,
        Capability.RoundingModeRTZ,
    }
)
"""The capabilities that allow the modes of FLOAT_MODES."""

INDEPENDENT_MODES: Mapping[str, frozenset[int]] = MappingProxyType(
    {
        "denormBehaviorIndependence": frozenset({ExecutionMode.DenormPreserve, ExecutionMode.DenormFlushToZero}),
        "roundingModeIndependence": frozenset({ExecutionMode.RoundingModeRTE, ExecutionMode.RoundingModeRTZ}),
    }
)
"""Property (VkShaderFloatControlsIndependence) -> the modes that it is about: it says whether widths may have different ones."""

SPIRV_EXTENSIONS: Mapping[str, str] = MappingProxyType(
    {
        "SPV_KHR_cooperative_matrix": "VK_KHR_cooperative_matrix",
        "SPV_NV_cooperative_matrix2": "VK_NV_cooperative_matrix2",
        "SPV_NV_tensor_addressing": "VK_NV_cooperative_matrix2",
        "SPV_NV_cooperative_matrix_decode_vector": "VK_NV_cooperative_matrix_decode_vector",
        "SPV_NV_cooperative_vector": "VK_NV_cooperative_vector",
        "SPV_QCOM_cooperative_matrix_conversion": "VK_QCOM_cooperative_matrix_conversion",
        "SPV_EXT_cooperative_matrix_maintenance1": "VK_EXT_cooperative_matrix_maintenance1",
        "SPV_KHR_bfloat16": "VK_KHR_shader_bfloat16",
        "SPV_EXT_float8": "VK_EXT_shader_float8",
        "SPV_EXT_replicated_composites": "VK_EXT_shader_replicated_composites",
        "SPV_EXT_long_vector": "VK_EXT_shader_long_vector",
        "SPV_EXT_shader_64bit_indexing": "VK_EXT_shader_64bit_indexing",
        "SPV_KHR_untyped_pointers": "VK_KHR_shader_untyped_pointers",
        "SPV_KHR_workgroup_memory_explicit_layout": "VK_KHR_workgroup_memory_explicit_layout",
        "SPV_KHR_float_controls2": "VK_KHR_shader_float_controls2",
        "SPV_EXT_shader_atomic_float_add": "VK_EXT_shader_atomic_float",
        "SPV_EXT_shader_atomic_float16_add": "VK_EXT_shader_atomic_float2",
        "SPV_KHR_ray_tracing": "VK_KHR_ray_tracing_pipeline",
        "SPV_NV_shader_atomic_fp16_vector": "VK_NV_shader_atomic_float16_vector",
    }
)
"""SPIR-V extension that no core version of Vulkan allows -> the Vulkan extension that allows it."""

STORES_IN_STAGE: Mapping[Stage, str] = MappingProxyType(
    {"fragment": "fragmentStoresAndAtomics", "vertex": "vertexPipelineStoresAndAtomics"}
)
"""Stage -> the feature that lets it write to storage buffers; ray generation and compute shaders need none."""

STAGE_BITS: Mapping[Stage, int] = MappingProxyType({"vertex": 0x1, "fragment": 0x10, "compute": 0x20, "raygen": 0x100})
"""Stage -> its VkShaderStageFlagBits."""

QUEUE_GRAPHICS = 0x1
"""VK_QUEUE_GRAPHICS_BIT."""

QUEUE_SPARSE_BINDING = 0x8
"""VK_QUEUE_SPARSE_BINDING_BIT."""

DEVICE_FEATURES: frozenset[str] = frozenset(
    {
        "maintenance4",  # LocalSizeId
        "subgroupSizeControl",
        "computeFullSubgroups",
        "shaderSubgroupExtendedTypes",
        "scalarBlockLayout",
        "cooperativeMatrixWorkgroupScope",
        "cooperativeMatrixFlexibleDimensions",
        "cooperativeMatrixProperties2",
        "cooperativeMatrixRobustBufferAccess",  # only for pipelines that ask for robust access
        "pipelineRobustness",
        "shaderObject",
        "sparseBinding",  # large buffers
        "sparseResidencyBuffer",
        *STORES_IN_STAGE.values(),
    }
)
"""Features that no capability requires, but that kernels or the Vulkan device use."""

ENABLED_FEATURES: frozenset[str] = DEVICE_FEATURES | {
    feature for clauses in CAPABILITY_FEATURES.values() for alternatives in clauses for feature in alternatives
}
"""Every feature that a device may enable.

robustBufferAccess is not one of them: it would hide stray writes from the guard zones. Individual pipelines request it instead."""

STATISTICS_FEATURE = "pipelineExecutableInfo"
"""The feature for statistics of compiled code, enabled only for them: with it, some drivers do not use their caches."""

STATED_FEATURES: frozenset[str] = (
    ENABLED_FEATURES
    | {STATISTICS_FEATURE}
    | {"robustBufferAccess2"}
    | {f"cooperativeVectorTrainingFloat{width}Accumulation" for width in (16, 32)}
    | {f"{mode}{width}" for mode in FLOAT_MODES.values() for width in (16, 32, 64)}
)
"""Every feature and property that ``DeviceDescription.features`` must state."""
