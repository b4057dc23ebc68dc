"""Finds what a device lacks for a kernel, from the module's own capabilities, extensions and types after specialization.

The rules are Vulkan's (appendix "Vulkan Environment for SPIR-V"; facts.md D.4 summarizes them).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping

from cts.devices.capabilities import (
    CAPABILITY_FEATURES,
    FLOAT_CAPABILITIES,
    FLOAT_MODES,
    INDEPENDENT_MODES,
    QUEUE_GRAPHICS,
    QUEUE_SPARSE_BINDING,
    SPIRV_EXTENSIONS,
    STAGE_BITS,
    STORES_IN_STAGE,
    SUBGROUP_OPERATIONS,
)
from cts.devices.cooperative_rows import lacking_matrices, lacking_sub_arrays, lacking_vectors
from cts.devices.device import DeviceDescription
from cts.devices.indexed_description import IndexedDescription, indexed
from cts.devices.kernel_needs import KernelNeeds
from cts.devices.module_needs import ModuleNeeds
from cts.devices.module_reading import read_needs
from cts.verdict.codes import Code, Reason
from generators.errors import GeneratorError, Rule
from generators.kernel import Kernel
from generators.program.shape import LATEST
from generators.spirv.enumerants import Capability
from generators.stages import Draw, Stage
from generators.types import Scope

_MAINTENANCE1 = "VK_EXT_cooperative_matrix_maintenance1"
_COMPUTE = STAGE_BITS["compute"]

_INDEPENDENCE_32_BIT_ONLY, _INDEPENDENCE_NONE = 0, 2
"""Values of VkShaderFloatControlsIndependence."""


def missing(kernel: Kernel, description: DeviceDescription) -> Reason | None:
    """Return the first thing that the device lacks for ``kernel``: a feature, an extension, a limit or a property row; None if it lacks
    nothing.

    Features come before rows, because a missing feature causes missing rows.

    Raises:
        GeneratorError: the module has something whose requirements the suite does not know.
    """
    return next(_lacking(kernel, read_needs(kernel.spirv, kernel.entry_point), indexed(description)), None)


def missing_for(needs: KernelNeeds, description: DeviceDescription) -> Reason | None:
    """Return the result of ``missing`` for every kernel with these needs.

    Raises:
        GeneratorError: see ``missing``.
    """
    return next(_lacking(needs.kernel, needs.module, indexed(description)), None)


def missing_features_for(needs: KernelNeeds, description: DeviceDescription) -> Reason | None:
    """Return the first missing feature, or VK_EXT_cooperative_matrix_maintenance1 if it is missing; None if the device has all.

    All kernels with the same ``feature_key`` lack the same features.
    """
    *_, workgroup_scope = feature_key(needs)
    device = indexed(description)
    return _lacking_maintenance1(needs.kernel, needs.module, device) or _lacking_features(
        needs.kernel, needs.module, device, workgroup_scope
    )


def missing_limits_for(needs: KernelNeeds, description: DeviceDescription) -> Reason | None:
    """Return the first missing version, extension or limit; None if the device has all. Assume that no feature is missing.

    All kernels with the same ``limit_key`` lack the same ones.

    Raises:
        GeneratorError: see ``missing``.
    """
    return next(_lacking_limits(needs.kernel, needs.module, indexed(description)), None)


def missing_rows_for(needs: KernelNeeds, description: DeviceDescription) -> Reason | None:
    """Return the first missing property row; None if the device has all. Assume that no feature, version, extension or limit is missing.

    All kernels with the same ``row_key`` lack the same rows.

    Raises:
        GeneratorError: see ``missing``.
    """
    return next(_lacking_rows(needs.kernel, needs.module, indexed(description)), None)


def feature_key(needs: KernelNeeds) -> tuple[int, bool, bool]:
    """Return the needs that decide features: the id of the environment, whether there are matrices, and whether any has workgroup scope."""
    matrices = needs.types.matrices
    return id(needs.environment), bool(matrices), any(matrix.scope == Scope.WORKGROUP for matrix in matrices)


def limit_key(needs: KernelNeeds) -> tuple[Hashable, ...]:
    """Return the needs that decide versions, extensions and limits: the ``feature_key`` and the id of the sizes."""
    return *feature_key(needs), id(needs.sizes)


def row_key(needs: KernelNeeds) -> tuple[Hashable, ...]:
    """Return the needs that decide property rows: the id of the types, and the values that select which rows a device lists."""
    environment, sizes, types = needs
    workgroup = sizes.local_size, sizes.subgroups, sizes.invocations
    return id(types), environment.version, environment.required_subgroup_size, environment.stage, *workgroup


def _lacking(kernel: Kernel, needs: ModuleNeeds, device: IndexedDescription) -> Iterator[Reason]:
    """Yield everything that is missing, the most informative first."""
    if extension := _lacking_maintenance1(kernel, needs, device):
        yield extension
    if features := _lacking_features(kernel, needs, device, _has_workgroup_scope(needs, _specialization(kernel, device))):
        yield features
    yield from _lacking_limits(kernel, needs, device)
    yield from _lacking_rows(kernel, needs, device)


def _subgroup_size(kernel: Kernel, device: IndexedDescription) -> int:
    return kernel.required_subgroup_size or device.description.subgroup_size


def _specialization(kernel: Kernel, device: IndexedDescription) -> dict[int, int]:
    """Return SpecId -> value of the specialization constants that are set."""
    found: dict[int, int] = {constant.constant_id: constant.value for constant in kernel.specialization}
    if kernel.local_size_constant_id is not None:
        found[kernel.local_size_constant_id] = kernel.local_size_x(_subgroup_size(kernel, device))
    return found


def _has_workgroup_scope(needs: ModuleNeeds, specialization: Mapping[int, int]) -> bool:
    return any(needs.value(matrix.scope, specialization) == Scope.WORKGROUP for matrix in needs.matrices.values())


def _lacking_limits(kernel: Kernel, needs: ModuleNeeds, device: IndexedDescription) -> Iterator[Reason]:
    """Yield the versions, extensions and limits that are missing."""
    specialization, subgroup_size = _specialization(kernel, device), _subgroup_size(kernel, device)
    yield from _environment(needs, device)
    yield from _limits(kernel, device)
    if kernel.draw is not None:
        yield from _draw(kernel.draw, needs, device)
    else:
        yield from _required_size(kernel, device)
        workgroup_scope = _has_workgroup_scope(needs, specialization)
        shared = needs.workgroup_bytes(specialization)
        yield from _workgroup_limits(kernel, shared, _local_size(needs, specialization), workgroup_scope, subgroup_size, device)


def _lacking_rows(kernel: Kernel, needs: ModuleNeeds, device: IndexedDescription) -> Iterator[Reason]:
    """Yield the missing property rows, and other missing things that cooperative types require."""
    specialization = _specialization(kernel, device)
    stage: Stage = "compute" if kernel.draw is None else kernel.draw.stage
    invocations = math.prod(_local_size(needs, specialization)) if kernel.draw is None else 0
    queried = queried_subgroup_size(device.description, needs.version, kernel.required_subgroup_size)
    yield from lacking_matrices(needs, specialization, invocations, device.rows_of(queried, invocations))
    yield from lacking_vectors(needs, specialization, stage, device)
    yield from lacking_sub_arrays(needs, specialization, device.rows)


def _lacking_maintenance1(kernel: Kernel, needs: ModuleNeeds, device: IndexedDescription) -> Reason | None:
    """Return VK_EXT_cooperative_matrix_maintenance1 if it is missing.

    It comes before the features: VK_NV_cooperative_matrix2 has features with the same names, so no missing feature would name it.
    """
    needed = kernel.maintenance1 or any(SPIRV_EXTENSIONS.get(extension) == _MAINTENANCE1 for extension in needs.extensions)
    if not needed or device.extensions is None or _MAINTENANCE1 in device.extensions:
        return None
    return Reason(Code.MISSING_EXTENSION.of(_MAINTENANCE1), f"extension {_MAINTENANCE1}")


def _lacking_features(kernel: Kernel, needs: ModuleNeeds, device: IndexedDescription, workgroup_scope: bool) -> Reason | None:
    features = dict.fromkeys((*_features(needs, device, workgroup_scope), *_pipeline_features(kernel, needs, device)))
    if not features:
        return None
    words = f"feature{'s' if len(features) > 1 else ''} {', '.join(lack.text for lack in features)}"
    return Reason(next(iter(features)).code, words)


def queried_subgroup_size(description: DeviceDescription, version: tuple[int, int] = LATEST, required: int | None = None) -> int:
    """Return the subgroupSize with which to query a kernel's rows (VUID-RuntimeSpirv-cooperativeMatrixProperties2-13382).

    It is the size that the pipeline requires, if any. Otherwise it is 0 (a varying size) from SPIR-V 1.6 on, and the device's own size
    before.

    Args:
        version: SPIR-V version of the module.
        required: the subgroup size that the kernel requires, if any.
    """
    if required is not None:
        return required
    return 0 if version >= LATEST and not _varies(description) else description.subgroup_size


def _varies(description: DeviceDescription) -> bool:
    """Return whether subgroup sizes vary. If so, every pipeline requires the device's own size (_required_size)."""
    own = description.subgroup_size
    least, most = (description.limits.get(name, own) for name in ("minSubgroupSize", "maxSubgroupSize"))
    return least != most


def _local_size(needs: ModuleNeeds, specialization: Mapping[int, int]) -> tuple[int, int, int]:
    if needs.local_size is None:
        raise GeneratorError(Rule.MODULE, "the module has no local size; a compute kernel needs LocalSize or LocalSizeId")
    x, y, z = needs.local_size
    if needs.local_size_ids:
        x, y, z = (needs.value(constant, specialization) for constant in (x, y, z))
    return x, y, z


def _draw(draw: Draw, needs: ModuleNeeds, device: IndexedDescription) -> Iterator[Reason]:
    """Yield what is missing for a draw: a graphics queue, or cooperative matrices in its stage (VUID 08985 of RuntimeSpirv).

    A compute queue can trace rays."""
    if draw.stage != "raygen" and not device.limit("queueFlags") & QUEUE_GRAPHICS:
        yield Reason(Code.MISSING_PROPERTY.of("queueFlags"), "a queue that computes and draws")
    name = "cooperativeMatrixSupportedStages"
    if needs.matrices and not device.limit(name) & STAGE_BITS[draw.stage]:
        yield Reason(Code.MISSING_PROPERTY.of(name), f"{name} ({draw.stage})")


def _features(needs: ModuleNeeds, device: IndexedDescription, workgroup_scope: bool) -> Iterator[Reason]:
    for mode, width in needs.float_modes:
        property_ = f"{FLOAT_MODES[mode]}{width}"
        if property_ not in device.features:
            yield Reason(Code.MISSING_PROPERTY.of(property_), property_)
    yield from _independence(needs, device)
    for capability in needs.capabilities:
        if needs.float_modes and capability in FLOAT_CAPABILITIES:
            # The modes themselves name the required properties more exactly than their capabilities do.
            continue
        if capability in SUBGROUP_OPERATIONS:
            bit, name = SUBGROUP_OPERATIONS[capability]
            if not device.limit("subgroupSupportedOperations") & bit:
                yield Reason(Code.MISSING_PROPERTY.of("subgroupSupportedOperations"), f"subgroupSupportedOperations ({name})")
            continue
        clauses = CAPABILITY_FEATURES.get(capability)
        if clauses is None:
            raise GeneratorError(
                Rule.CAPABILITY,
                f"capability {_name(capability)} has no entry in CAPABILITY_FEATURES of cts/devices/capabilities.py: add one "
                "(CONTRIBUTING.md, 'A new capability')",
            )
        for alternatives in clauses:
            if device.features.isdisjoint(alternatives):
                yield Reason(Code.MISSING_FEATURE.of(alternatives[0]), " or ".join(alternatives))
    if needs.local_size_mode and "maintenance4" not in device.features:
        yield _feature("maintenance4")
    if workgroup_scope and "cooperativeMatrixWorkgroupScope" not in device.features:
        yield _feature("cooperativeMatrixWorkgroupScope")


def _name(capability: int) -> str:
    return str(Capability(capability).name) if capability in Capability else str(capability)


def _independence(needs: ModuleNeeds, device: IndexedDescription) -> Iterator[Reason]:
    """Check VUIDs 06289 to 06292 of RuntimeSpirv: which widths may have different modes. A width without a mode is free (F-KHR-34)."""
    for property_, modes in INDEPENDENT_MODES.items():
        by_width = {width: mode for mode, width in needs.float_modes if mode in modes}
        bound = {_INDEPENDENCE_32_BIT_ONLY: (16, 64), _INDEPENDENCE_NONE: (16, 32, 64)}.get(device.limit(property_), ())
        if len({mode for width, mode in by_width.items() if width in bound}) > 1:
            widths = " and ".join(str(width) for width in sorted(by_width) if width in bound)
            yield Reason(Code.MISSING_PROPERTY.of(property_), f"{property_} (for modes that differ for {widths} bits)")


def _feature(name: str) -> Reason:
    return Reason(Code.MISSING_FEATURE.of(name), name)


def _environment(needs: ModuleNeeds, device: IndexedDescription) -> Iterator[Reason]:
    if needs.version > device.spirv_version:
        have = device.description.api_version
        wanted, taken = (f"{major}.{minor}" for major, minor in (needs.version, device.spirv_version))
        yield Reason(Code.MISSING_SPIRV.of(wanted), f"SPIR-V {wanted} (Vulkan {have} accepts {taken})")
    if device.extensions is not None:
        for extension in needs.extensions:
            vulkan = SPIRV_EXTENSIONS.get(extension)
            if vulkan is not None and vulkan not in device.extensions:
                yield Reason(Code.MISSING_EXTENSION.of(vulkan), f"extension {vulkan} (for {extension})")


def _pipeline_features(kernel: Kernel, needs: ModuleNeeds, device: IndexedDescription) -> Iterator[Reason]:
    # Before SPIR-V 1.6, subgroups are full only if the pipeline asks, which it must for matrices (VUID 10770).
    full = kernel.full_subgroups or (needs.version < LATEST and bool(needs.matrices) and kernel.full_subgroups is None)
    wanted = {"subgroupSizeControl": kernel.required_subgroup_size is not None, "computeFullSubgroups": full}
    wanted["shaderObject"] = kernel.shader_object is not None
    # The commands that convert a matrix to one of the device's own layouts take device addresses.
    wanted["bufferDeviceAddress"] = any(slot.opaque is not None and slot.opaque.command == "device" for slot in kernel.buffers)
    if kernel.draw is not None and kernel.draw.stage in STORES_IN_STAGE:
        wanted[STORES_IN_STAGE[kernel.draw.stage]] = any(slot.written for slot in kernel.buffers)
    wanted |= dict.fromkeys(("cooperativeMatrixRobustBufferAccess", "robustBufferAccess2", "pipelineRobustness"), kernel.robust)
    yield from (_feature(name) for name, asked in wanted.items() if asked and name not in device.features)


def _required_size(kernel: Kernel, device: IndexedDescription) -> Iterator[Reason]:
    """Check VUIDs 02755, 02760 and 02761 of VkPipelineShaderStageRequiredSubgroupSizeCreateInfo.

    If sizes vary, every pipeline requires the device's own size, because local sizes are multiples of it."""
    size = kernel.required_subgroup_size
    own = device.description.subgroup_size
    least, most = (device.description.limits.get(name, own) for name in ("minSubgroupSize", "maxSubgroupSize"))
    if size is None:
        if kernel.invocations is not None:
            # The local size does not depend on the subgroup size.
            return
        requirable = "subgroupSizeControl" in device.features and device.limit("requiredSubgroupSizeStages") & _COMPUTE
        if _varies(device.description) and not requirable:
            text = f"a known subgroup size (it varies from {least} to {most}, and compute pipelines cannot require one)"
            yield Reason(Code.MISSING_PROPERTY.of("requiredSubgroupSizeStages"), text)
        return
    if not least <= size <= most:
        name = "minSubgroupSize" if size < least else "maxSubgroupSize"
        yield Reason(Code.MISSING_LIMIT.of(name), f"subgroup size {size} (minSubgroupSize {least}, maxSubgroupSize {most})")
    if not device.limit("requiredSubgroupSizeStages") & _COMPUTE:
        yield Reason(Code.MISSING_PROPERTY.of("requiredSubgroupSizeStages"), "requiredSubgroupSizeStages (compute)")


def _limits(kernel: Kernel, device: IndexedDescription) -> Iterator[Reason]:
    wanted = (
        ("maxPushConstantsSize", kernel.push_constant_bytes),
        ("maxPerStageDescriptorStorageBuffers", kernel.descriptors),
    )
    yield from (_beyond(name, need, device.limit(name)) for name, need in wanted if need > device.limit(name))
    yield from (_beyond(name, need, device.limit(name), " bytes") for name, need in _memory(kernel, device) if need > device.limit(name))


def _memory(kernel: Kernel, device: IndexedDescription) -> Iterator[tuple[str, int]]:
    """Yield each memory limit with the bytes that the kernel needs."""
    large = [slot.span for slot in kernel.buffers if slot.windows is not None]
    if large:
        yield "maxBufferSize", max(large)
        if has_sparse_buffers(device.description):
            yield "sparseAddressSpaceSize", sum(large)
        else:
            yield "maxMemoryAllocationSize", max(large)
            yield "memoryHeapSize", sum(large)
    if "shader64BitIndexing" not in device.features:
        # With the feature enabled, the limit does not apply (VK_EXT_shader_64bit_indexing).
        yield "maxStorageBufferRange", max((slot.span for slot in kernel.buffers if slot.binding is not None), default=0)


def has_sparse_buffers(description: DeviceDescription) -> bool:
    """Return whether the device can bind memory to parts of a buffer."""
    wanted = ("sparseBinding", "sparseResidencyBuffer")
    return all(description.features.get(name) for name in wanted) and bool(description.limits.get("queueFlags", 0) & QUEUE_SPARSE_BINDING)


def _beyond(name: str, need: int, limit: int, unit: str = "") -> Reason:
    return Reason(Code.MISSING_LIMIT.of(name.partition("[")[0]), f"limit {name} {limit:,}{unit} (needs {need:,}{unit})")


def _workgroup_limits(
    kernel: Kernel, shared: int, local_size: tuple[int, int, int], workgroup_scope: bool, subgroup_size: int, device: IndexedDescription
) -> Iterator[Reason]:
    description = device.description
    invocations = local_size[0] * local_size[1] * local_size[2]
    reserved = device.description.limits.get("cooperativeMatrixWorkgroupScopeReservedSharedMemory", 0) if workgroup_scope else 0
    wanted = [
        ("maxComputeWorkGroupInvocations", invocations, description.max_workgroup_invocations),
        ("maxComputeWorkGroupSize[0]", local_size[0], None),
        ("maxComputeWorkGroupSize[1]", local_size[1], None),
        ("maxComputeWorkGroupSize[2]", local_size[2], None),
        ("maxComputeSharedMemorySize", shared + reserved, description.max_shared_memory),
    ]
    if kernel.required_subgroup_size is not None:
        wanted.append(("maxComputeWorkgroupSubgroups", -(-invocations // subgroup_size), None))
    if workgroup_scope:
        wanted.append(("cooperativeMatrixWorkgroupScopeMaxWorkgroupSize", invocations, None))
    for name, need, stated in wanted:
        limit = device.limit(name) if stated is None else stated
        if need > limit:
            yield _beyond(name, need, limit)
    subgroups, rest = divmod(invocations, subgroup_size)
    if workgroup_scope and (rest or subgroups & (subgroups - 1)):
        text = f"{invocations} invocations at workgroup scope (not a power-of-two multiple of the subgroup size {subgroup_size})"
        yield Reason(Code.MISSING_PROPERTY.of("subgroupSize"), text)
