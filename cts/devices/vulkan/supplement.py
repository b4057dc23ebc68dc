"""What the ``vulkan`` package does not have yet: structures newer than Vulkan 1.3.275, as vulkan_core.h has them, declared for cffi."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

_DECLARATIONS = """
typedef uint32_t VkBool32;
typedef struct { int32_t sType; void* pNext;
    VkBool32 cooperativeMatrixWorkgroupScope, cooperativeMatrixFlexibleDimensions, cooperativeMatrixReductions,
        cooperativeMatrixConversions, cooperativeMatrixPerElementOperations, cooperativeMatrixTensorAddressing,
        cooperativeMatrixBlockLoads;
} VkPhysicalDeviceCooperativeMatrix2FeaturesNV;
typedef struct { int32_t sType; void* pNext;
    uint32_t MGranularity, NGranularity, KGranularity;
    int32_t AType, BType, CType, ResultType;
    VkBool32 saturatingAccumulation;
    int32_t scope;
    uint32_t workgroupInvocations;
} VkCooperativeMatrixFlexibleDimensionsPropertiesNV;
typedef struct { int32_t sType; void* pNext;
    uint32_t cooperativeMatrixWorkgroupScopeMaxWorkgroupSize, cooperativeMatrixFlexibleDimensionsMaxDimension,
        cooperativeMatrixWorkgroupScopeReservedSharedMemory;
} VkPhysicalDeviceCooperativeMatrix2PropertiesNV;
typedef struct { int32_t sType; void* pNext;
    VkBool32 cooperativeVector, cooperativeVectorTraining;
} VkPhysicalDeviceCooperativeVectorFeaturesNV;
typedef struct { int32_t sType; void* pNext;
    uint32_t cooperativeVectorSupportedStages;
    VkBool32 cooperativeVectorTrainingFloat16Accumulation, cooperativeVectorTrainingFloat32Accumulation;
    uint32_t maxCooperativeVectorComponents;
} VkPhysicalDeviceCooperativeVectorPropertiesNV;
typedef struct { int32_t sType; void* pNext;
    int32_t inputType, inputInterpretation, matrixInterpretation, biasInterpretation, resultType;
    VkBool32 transpose;
} VkCooperativeVectorPropertiesNV;
typedef struct { int32_t sType; void* pNext;
    VkBool32 cooperativeMatrixDecodeVector;
} VkPhysicalDeviceCooperativeMatrixDecodeVectorFeaturesNV;
typedef struct { int32_t sType; void* pNext;
    VkBool32 cooperativeMatrixConversion;
} VkPhysicalDeviceCooperativeMatrixConversionFeaturesQCOM;
typedef struct { int32_t sType; void* pNext;
    VkBool32 cooperativeMatrixProperties2, cooperativeMatrixReductions, cooperativeMatrixConversions,
        cooperativeMatrixPerElementOperations, cooperativeMatrixGetCoordinate;
} VkPhysicalDeviceCooperativeMatrixMaintenance1FeaturesEXT;
typedef struct { int32_t sType; void* pNext;
    VkBool32 shaderBFloat16Type, shaderBFloat16DotProduct, shaderBFloat16CooperativeMatrix;
} VkPhysicalDeviceShaderBfloat16FeaturesKHR;
typedef struct { int32_t sType; void* pNext;
    VkBool32 shaderFloat8, shaderFloat8CooperativeMatrix;
} VkPhysicalDeviceShaderFloat8FeaturesEXT;
typedef struct { int32_t sType; void* pNext;
    VkBool32 shaderReplicatedComposites;
} VkPhysicalDeviceShaderReplicatedCompositesFeaturesEXT;
typedef struct { int32_t sType; void* pNext;
    VkBool32 longVector;
} VkPhysicalDeviceShaderLongVectorFeaturesEXT;
typedef struct { int32_t sType; void* pNext;
    VkBool32 shader64BitIndexing;
} VkPhysicalDeviceShader64BitIndexingFeaturesEXT;
typedef struct { int32_t sType; void* pNext;
    VkBool32 shaderUntypedPointers;
} VkPhysicalDeviceShaderUntypedPointersFeaturesKHR;
typedef struct { int32_t sType; void* pNext;
    VkBool32 shaderFloatControls2;
} VkPhysicalDeviceShaderFloatControls2FeaturesKHR;
typedef struct { int32_t sType; void* pNext;
    VkBool32 shaderFloat16VectorAtomics;
} VkPhysicalDeviceShaderAtomicFloat16VectorFeaturesNV;
typedef union { uint64_t deviceAddress; const void* hostAddress; } VkDeviceOrHostAddressConstKHR;
typedef union { uint64_t deviceAddress; void* hostAddress; } VkDeviceOrHostAddressKHR;
typedef struct { int32_t sType; const void* pNext;
    size_t srcSize;
    VkDeviceOrHostAddressConstKHR srcData;
    size_t* pDstSize;
    VkDeviceOrHostAddressKHR dstData;
    int32_t srcComponentType, dstComponentType;
    uint32_t numRows, numColumns;
    int32_t srcLayout;
    size_t srcStride;
    int32_t dstLayout;
    size_t dstStride;
} VkConvertCooperativeVectorMatrixInfoNV;
typedef int32_t (*ConvertMatrix)(void* device, const VkConvertCooperativeVectorMatrixInfoNV* info);
typedef void (*RecordConversions)(void* commandBuffer, uint32_t infoCount, const VkConvertCooperativeVectorMatrixInfoNV* infos);
typedef struct { int32_t sType; const void* pNext;
    int32_t scope;
    uint32_t invocations, subgroupSize, flags;
} VkPhysicalDeviceCooperativeMatrixInfo2EXT;
typedef int32_t (*QueryRowsOf)(void* physicalDevice, const VkPhysicalDeviceCooperativeMatrixInfo2EXT* info, uint32_t* count,
    void* properties);
typedef int32_t (*QueryRows)(void* physicalDevice, uint32_t* count, void* properties);
"""

STRUCTURE_TYPES: Mapping[str, int] = MappingProxyType(
    {
        "VkPhysicalDeviceCooperativeMatrix2FeaturesNV": 1000593000,
        "VkCooperativeMatrixFlexibleDimensionsPropertiesNV": 1000593001,
        "VkPhysicalDeviceCooperativeMatrix2PropertiesNV": 1000593002,
        "VkPhysicalDeviceCooperativeVectorFeaturesNV": 1000491000,
        "VkPhysicalDeviceCooperativeVectorPropertiesNV": 1000491001,
        "VkCooperativeVectorPropertiesNV": 1000491002,
        "VkConvertCooperativeVectorMatrixInfoNV": 1000491004,
        "VkPhysicalDeviceCooperativeMatrixDecodeVectorFeaturesNV": 1000689000,
        "VkPhysicalDeviceCooperativeMatrixConversionFeaturesQCOM": 1000172000,
        "VkPhysicalDeviceCooperativeMatrixMaintenance1FeaturesEXT": 1000659000,
        "VkPhysicalDeviceCooperativeMatrixInfo2EXT": 1000659001,
        "VkPhysicalDeviceShaderBfloat16FeaturesKHR": 1000141000,
        "VkPhysicalDeviceShaderFloat8FeaturesEXT": 1000567000,
        "VkPhysicalDeviceShaderReplicatedCompositesFeaturesEXT": 1000564000,
        "VkPhysicalDeviceShaderLongVectorFeaturesEXT": 1000635000,
        "VkPhysicalDeviceShaderUntypedPointersFeaturesKHR": 1000387000,
        "VkPhysicalDeviceShader64BitIndexingFeaturesEXT": 1000627000,
        "VkPhysicalDeviceShaderFloatControls2FeaturesKHR": 1000528000,
        "VkPhysicalDeviceShaderAtomicFloat16VectorFeaturesNV": 1000563000,
    }
)
"""Structure -> VkStructureType."""

BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT = 0x00020000
MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT = 0x00000002
PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT = 0x00000002
"""Bits whose value the package has lost (it has None under the names of the extensions that they came from)."""

PACKED_COMPONENT_TYPES: Mapping[int, str] = MappingProxyType({1000491000: "s8packed", 1000491001: "u8packed"})
"""VkComponentTypeKHR that only a cooperative vector's input interpretation can be."""


@cache
def supplement() -> Any:
    """Return the cffi instance that has the declarations."""
    import cffi

    ffi = cffi.FFI()
    ffi.cdef(_DECLARATIONS)
    return ffi
