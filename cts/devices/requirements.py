"""What a kernel needs and a device lacks: derived from the module's own capabilities, extensions and types after specialization.

The rules are Vulkan's (appendix "Vulkan Environment for SPIR-V"; facts.md D.4 has them in short).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from functools import lru_cache

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
from cts.devices.device import DeviceDescription, MatrixRow
from cts.devices.kernel_needs import KernelNeeds
from cts.devices.module_needs import MatrixTypeIds, ModuleNeeds, MulAddIds, OuterProductIds, Scalar, VectorMulIds, VectorTypeIds
from cts.devices.module_reading import read_needs
from cts.devices.property_index import PropertyIndex
from cts.verdict.codes import Code, Reason
from generators.errors import GeneratorError
from generators.kernel import Kernel
from generators.program.shape import LATEST
from generators.stages import Draw, Stage
from generators.types import INTERPRETATIONS, MatrixOperands, Scope, Use

_UNLIMITED = 1 << 63
_MAINTENANCE1 = "VK_EXT_cooperative_matrix_maintenance1"
_COMPUTE = STAGE_BITS["compute"]

_INDEPENDENCE_32_BIT_ONLY, _INDEPENDENCE_NONE = 0, 2
"""Of VkShaderFloatControlsIndependence."""

_SPIRV_OF_VULKAN = {"1.0": (1, 0), "1.1": (1, 3), "1.2": (1, 5)}
_FLOATS = {(16, None): "f16", (32, None): "f32", (64, None): "f64", (16, 0): "bf16", (8, 4214): "e4m3", (8, 4215): "e5m2"}
_USES = {Use.A: "A", Use.B: "B", Use.ACCUMULATOR: "Accumulator"}


def missing(kernel: Kernel, description: DeviceDescription) -> Reason | None:
    """Return the first thing that the device lacks for ``kernel``: a feature, an extension, a limit or a property row; None if it lacks
    nothing.

    Features come first: where one is missing, rows are missing because of it.

    Raises:
        GeneratorError: the module has something that the suite knows no requirement of.
    """
    return next(_lacking(kernel, read_needs(kernel.spirv, kernel.entry_point), _profile(_ByIdentity(description))), None)


def missing_for(needs: KernelNeeds, description: DeviceDescription) -> Reason | None:
    """Return what ``missing`` returns for every kernel with these needs.

    Raises:
        GeneratorError: see ``missing``.
    """
    return next(_lacking(needs.kernel, needs.module, _profile(_ByIdentity(description))), None)


def missing_features_for(needs: KernelNeeds, description: DeviceDescription) -> Reason | None:
    """Return what ``missing_for`` returns where a feature is missing, and None where none is.

    All kernels with the same ``feature_key`` lack the same features.
    """
    *_, workgroup_scope = feature_key(needs)
    return _lacking_features(needs.kernel, needs.module, _profile(_ByIdentity(description)), workgroup_scope)


def missing_limits_for(needs: KernelNeeds, description: DeviceDescription) -> Reason | None:
    """Return what ``missing_for`` returns where no feature is missing, but a version, an extension or a limit; None where none of these
    is.

    All kernels with the same ``limit_key`` lack the same ones.

    Raises:
        GeneratorError: see ``missing``.
    """
    return next(_lacking_limits(needs.kernel, needs.module, _profile(_ByIdentity(description))), None)


def missing_rows_for(needs: KernelNeeds, description: DeviceDescription) -> Reason | None:
    """Return what ``missing_for`` returns where no feature, version, extension and limit is missing.

    All kernels with the same ``row_key`` lack the same rows.

    Raises:
        GeneratorError: see ``missing``.
    """
    return next(_lacking_rows(needs.kernel, needs.module, _profile(_ByIdentity(description))), None)


def feature_key(needs: KernelNeeds) -> tuple[int, bool, bool]:
    """Return what features depend on: the environment, by identity, whether there are matrices, and whether any belongs to a workgroup."""
    matrices = needs.types.matrices
    return id(needs.environment), bool(matrices), any(matrix.scope == Scope.WORKGROUP for matrix in matrices)


def limit_key(needs: KernelNeeds) -> tuple[Hashable, ...]:
    """Return what versions, extensions and limits depend on: the ``feature_key``, and the sizes, by identity."""
    return *feature_key(needs), id(needs.sizes)


def row_key(needs: KernelNeeds) -> tuple[Hashable, ...]:
    """Return what property rows depend on: the types, by identity, and what says for which workgroups a device lists rows."""
    environment, sizes, types = needs
    workgroup = sizes.local_size, sizes.subgroups, sizes.invocations
    return id(types), environment.version, environment.required_subgroup_size, environment.stage, *workgroup


class _ByIdentity:
    """Makes a description a cache key without hashing its rows."""

    def __init__(self, description: DeviceDescription) -> None:
        self.description = description

    def __hash__(self) -> int:
        return id(self.description)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByIdentity) and self.description is other.description


class _Profile:
    """A description, indexed."""

    def __init__(self, description: DeviceDescription) -> None:
        self.description = description
        self.features = {name for name, supported in description.features.items() if supported}
        self._indices: dict[tuple[int, int] | None, PropertyIndex] = {}
        self._has_sized_rows = any(row.subgroup_size is not None for row in description.rows)
        listed = description.extra.get("extensions")
        self.extensions: frozenset[str] | None = None if listed is None else frozenset(listed)
        self.spirv_version = _SPIRV_OF_VULKAN.get(".".join(description.api_version.split(".")[:2]), (1, 6))

    @property
    def rows(self) -> PropertyIndex:
        """The rows that the commands without a subgroup size list."""
        return self._index(None)

    def rows_of(self, subgroup_size: int, invocations: int) -> PropertyIndex:
        """Return these rows, and those that vkGetPhysicalDeviceCooperativeMatrixProperties2EXT lists for a subgroup size (0: it varies) and
        a number of invocations in the workgroup."""
        return self._index((subgroup_size, invocations))

    def _index(self, asked: tuple[int, int] | None) -> PropertyIndex:
        if asked is not None and not self._has_sized_rows:
            asked = None
        if asked not in self._indices:
            rows = [row for row in self.description.rows if row.subgroup_size is None or _is_listed(row, asked)]
            self._indices[asked] = PropertyIndex(rows, self.limit("cooperativeMatrixFlexibleDimensionsMaxDimension"))
        return self._indices[asked]

    def limit(self, name: str) -> int:
        """Return a limit by Vulkan's name; one that the device does not state does not limit."""
        return self.description.limits.get(name, _UNLIMITED)


def _is_listed(row: MatrixRow, asked: tuple[int, int] | None) -> bool:
    """Return whether a row is in the list for a subgroup size and a number of invocations."""
    return asked is not None and row.subgroup_size == asked[0] and row.invocations in (0, asked[1])


@lru_cache(maxsize=8)
def _profile(key: _ByIdentity) -> _Profile:
    return _Profile(key.description)


def _lacking(kernel: Kernel, needs: ModuleNeeds, device: _Profile) -> Iterator[Reason]:
    """Yield everything that is missing, features first."""
    scopes = _scopes(needs, _specialization(kernel, device))
    if features := _lacking_features(kernel, needs, device, Scope.WORKGROUP in scopes.values()):
        yield features
    yield from _lacking_limits(kernel, needs, device)
    yield from _lacking_rows(kernel, needs, device)


def _subgroup_size(kernel: Kernel, device: _Profile) -> int:
    return kernel.required_subgroup_size or device.description.subgroup_size


def _specialization(kernel: Kernel, device: _Profile) -> dict[int, int]:
    """Return the values of the specialization constants that are set, by their ids."""
    found: dict[int, int] = {constant.constant_id: constant.value for constant in kernel.specialization}
    if kernel.local_size_constant_id is not None:
        found[kernel.local_size_constant_id] = kernel.local_size_x(_subgroup_size(kernel, device))
    return found


def _scopes(needs: ModuleNeeds, specialization: Mapping[int, int]) -> dict[int, int]:
    """Return the scope of each matrix type, by the type's id."""
    return {id_: needs.value(matrix.scope, specialization) for id_, matrix in needs.matrices.items()}


def _lacking_limits(kernel: Kernel, needs: ModuleNeeds, device: _Profile) -> Iterator[Reason]:
    """Yield the versions, extensions and limits that are missing."""
    specialization, subgroup_size = _specialization(kernel, device), _subgroup_size(kernel, device)
    yield from _environment(needs, device)
    if kernel.maintenance1 and device.extensions is not None and _MAINTENANCE1 not in device.extensions:
        yield Reason(Code.MISSING_EXTENSION.of(_MAINTENANCE1), f"extension {_MAINTENANCE1}")
    yield from _limits(kernel, device)
    if kernel.draw is not None:
        yield from _draw(kernel.draw, needs, device)
    else:
        yield from _required_size(kernel, device)
        workgroup_scope = Scope.WORKGROUP in _scopes(needs, specialization).values()
        shared = needs.workgroup_bytes(specialization)
        yield from _workgroup_limits(kernel, shared, _local_size(needs, specialization), workgroup_scope, subgroup_size, device)


def _lacking_rows(kernel: Kernel, needs: ModuleNeeds, device: _Profile) -> Iterator[Reason]:
    """Yield the property rows that are missing, and what else types need."""
    specialization = _specialization(kernel, device)
    scopes = _scopes(needs, specialization)
    stage: Stage = "compute" if kernel.draw is None else kernel.draw.stage
    invocations = math.prod(_local_size(needs, specialization)) if kernel.draw is None else 0
    queried = queried_subgroup_size(device.description, needs.version, kernel.required_subgroup_size)
    rows = device.rows_of(queried, invocations)
    types: dict[int, tuple[str, int, int]] = {}
    for id_, matrix in needs.matrices.items():
        types[id_] = _component(needs, matrix), needs.value(matrix.rows, specialization), needs.value(matrix.columns, specialization)
        yield from _type(types[id_], scopes[id_], _use(needs.value(matrix.use, specialization)), invocations, rows)
    for muladd in needs.muladds:
        yield from _muladd(muladd, types, scopes[muladd.result], invocations, rows)
    yield from _vectors(needs, specialization, stage, device)
    yield from _sub_arrays(needs, specialization, device)


def _lacking_features(kernel: Kernel, needs: ModuleNeeds, device: _Profile, workgroup_scope: bool) -> Reason | None:
    features = dict.fromkeys((*_features(needs, device, workgroup_scope), *_pipeline_features(kernel, needs, device)))
    if not features:
        return None
    words = f"feature{'s' if len(features) > 1 else ''} {', '.join(lack.text for lack in features)}"
    return Reason(next(iter(features)).code, words)


def queried_subgroup_size(description: DeviceDescription, version: tuple[int, int] = LATEST, required: int | None = None) -> int:
    """Return the subgroupSize for which a device lists the rows of a kernel (VUID-RuntimeSpirv-cooperativeMatrixProperties2-13382): the
    size that its pipeline requires; 0, a size that varies, where it requires none and the module has SPIR-V 1.6; the device's own one
    before.

    Args:
        version: of the module.
        required: the subgroup size that the kernel requires, if any.
    """
    if required is not None:
        return required
    return 0 if version >= LATEST and not _varies(description) else description.subgroup_size


def _varies(description: DeviceDescription) -> bool:
    """Return whether subgroup sizes vary. Where they do, every pipeline requires the device's own one (_required_size)."""
    own = description.subgroup_size
    least, most = (description.limits.get(name, own) for name in ("minSubgroupSize", "maxSubgroupSize"))
    return least != most


def _sub_arrays(needs: ModuleNeeds, specialization: Mapping[int, int], device: _Profile) -> Iterator[Reason]:
    for types in needs.sub_arrays:
        for type_id, name, what in ((types.source, "N", "array"), (types.result, "K", "part of an array")):
            length = needs.value(needs.composites[type_id].length, specialization)
            if not device.rows.has_size(name, length):
                yield Reason(Code.MISSING_ROW.of("sub_array"), f"no property row with {name} {length}, the length of the {what}")


def _local_size(needs: ModuleNeeds, specialization: Mapping[int, int]) -> tuple[int, int, int]:
    if needs.local_size is None:
        raise GeneratorError("the module has no local size; a compute kernel needs LocalSize or LocalSizeId")
    x, y, z = needs.local_size
    if needs.local_size_ids:
        x, y, z = (needs.value(constant, specialization) for constant in (x, y, z))
    return x, y, z


def _draw(draw: Draw, needs: ModuleNeeds, device: _Profile) -> Iterator[Reason]:
    """Yield what is missing for a draw: a queue, and cooperative matrices in its stage (VUID 08985 of RuntimeSpirv)."""
    if not device.limit("queueFlags") & QUEUE_GRAPHICS:
        yield Reason(Code.MISSING_PROPERTY.of("queueFlags"), "a queue that computes and draws")
    name = "cooperativeMatrixSupportedStages"
    if needs.matrices and not device.limit(name) & STAGE_BITS[draw.stage]:
        yield Reason(Code.MISSING_PROPERTY.of(name), f"{name} ({draw.stage})")


def _use(value: int) -> Use:
    if value not in set(Use):
        raise GeneratorError(f"a cooperative matrix of use {value}, which is none")
    return Use(value)


def _features(needs: ModuleNeeds, device: _Profile, workgroup_scope: bool) -> Iterator[Reason]:
    for mode, width in needs.float_modes:
        property_ = f"{FLOAT_MODES[mode]}{width}"
        if property_ not in device.features:
            yield Reason(Code.MISSING_PROPERTY.of(property_), property_)
    yield from _independence(needs, device)
    for capability in needs.capabilities:
        if needs.float_modes and capability in FLOAT_CAPABILITIES:
            # The modes that it is declared for name the properties exactly.
            continue
        if capability in SUBGROUP_OPERATIONS:
            bit, name = SUBGROUP_OPERATIONS[capability]
            if not device.limit("subgroupSupportedOperations") & bit:
                yield Reason(Code.MISSING_PROPERTY.of("subgroupSupportedOperations"), f"subgroupSupportedOperations ({name})")
            continue
        clauses = CAPABILITY_FEATURES.get(capability)
        if clauses is None:
            raise GeneratorError(f"what capability {capability} needs is not known; add it to cts.devices.capabilities")
        for alternatives in clauses:
            if device.features.isdisjoint(alternatives):
                yield Reason(Code.MISSING_FEATURE.of(alternatives[0]), " or ".join(alternatives))
    if needs.local_size_mode and "maintenance4" not in device.features:
        yield _feature("maintenance4")
    if workgroup_scope and "cooperativeMatrixWorkgroupScope" not in device.features:
        yield _feature("cooperativeMatrixWorkgroupScope")


def _independence(needs: ModuleNeeds, device: _Profile) -> Iterator[Reason]:
    """VUIDs 06289 to 06292 of RuntimeSpirv: which widths may have modes of their own. One without a mode differs from none (F-KHR-34)."""
    for property_, modes in INDEPENDENT_MODES.items():
        by_width = {width: mode for mode, width in needs.float_modes if mode in modes}
        bound = {_INDEPENDENCE_32_BIT_ONLY: (16, 64), _INDEPENDENCE_NONE: (16, 32, 64)}.get(device.limit(property_), ())
        if len({mode for width, mode in by_width.items() if width in bound}) > 1:
            widths = " and ".join(str(width) for width in sorted(by_width) if width in bound)
            yield Reason(Code.MISSING_PROPERTY.of(property_), f"{property_} (for modes that differ for {widths} bits)")


def _feature(name: str) -> Reason:
    return Reason(Code.MISSING_FEATURE.of(name), name)


def _environment(needs: ModuleNeeds, device: _Profile) -> Iterator[Reason]:
    if needs.version > device.spirv_version:
        have = device.description.api_version
        wanted, taken = (f"{major}.{minor}" for major, minor in (needs.version, device.spirv_version))
        yield Reason(Code.MISSING_SPIRV.of(wanted), f"SPIR-V {wanted} (Vulkan {have} takes {taken})")
    if device.extensions is not None:
        for extension in needs.extensions:
            vulkan = SPIRV_EXTENSIONS.get(extension)
            if vulkan is not None and vulkan not in device.extensions:
                yield Reason(Code.MISSING_EXTENSION.of(vulkan), f"extension {vulkan} (for {extension})")


def _pipeline_features(kernel: Kernel, needs: ModuleNeeds, device: _Profile) -> Iterator[Reason]:
    # Before SPIR-V 1.6 subgroups are full only where the pipeline asks, which it must for matrices (VUID 10770).
    full = kernel.full_subgroups or (needs.version < LATEST and bool(needs.matrices) and kernel.full_subgroups is None)
    wanted = {"subgroupSizeControl": kernel.required_subgroup_size is not None, "computeFullSubgroups": full}
    wanted["shaderObject"] = kernel.shader_object is not None
    # The commands that convert a matrix to a layout of the device's take device addresses.
    wanted["bufferDeviceAddress"] = any(slot.opaque is not None and slot.opaque.command == "device" for slot in kernel.buffers)
    if kernel.draw is not None:
        wanted[STORES_IN_STAGE[kernel.draw.stage]] = any(slot.written for slot in kernel.buffers)
    wanted |= dict.fromkeys(("cooperativeMatrixRobustBufferAccess", "robustBufferAccess2", "pipelineRobustness"), kernel.robust)
    yield from (_feature(name) for name, asked in wanted.items() if asked and name not in device.features)


def _required_size(kernel: Kernel, device: _Profile) -> Iterator[Reason]:
    """VUIDs 02755, 02760 and 02761 of VkPipelineShaderStageRequiredSubgroupSizeCreateInfo. Where sizes vary, every pipeline requires
    the device's own one: local sizes are multiples of it."""
    size = kernel.required_subgroup_size
    own = device.description.subgroup_size
    least, most = (device.description.limits.get(name, own) for name in ("minSubgroupSize", "maxSubgroupSize"))
    if size is None:
        if kernel.invocations is not None:
            # The local size does not depend on the subgroup size.
            return
        requirable = "subgroupSizeControl" in device.features and device.limit("requiredSubgroupSizeStages") & _COMPUTE
        if _varies(device.description) and not requirable:
            text = f"a subgroup size that is known (it varies from {least} to {most}, and compute cannot require one)"
            yield Reason(Code.MISSING_PROPERTY.of("requiredSubgroupSizeStages"), text)
        return
    if not least <= size <= most:
        name = "minSubgroupSize" if size < least else "maxSubgroupSize"
        yield Reason(Code.MISSING_LIMIT.of(name), f"subgroup size {size} (minSubgroupSize {least}, maxSubgroupSize {most})")
    if not device.limit("requiredSubgroupSizeStages") & _COMPUTE:
        yield Reason(Code.MISSING_PROPERTY.of("requiredSubgroupSizeStages"), "requiredSubgroupSizeStages (compute)")


def _limits(kernel: Kernel, device: _Profile) -> Iterator[Reason]:
    wanted = (
        ("maxPushConstantsSize", kernel.push_constant_bytes),
        ("maxPerStageDescriptorStorageBuffers", sum(slot.binding is not None for slot in kernel.buffers)),
    )
    yield from (_beyond(name, need, device.limit(name)) for name, need in wanted if need > device.limit(name))
    yield from (_beyond(name, need, device.limit(name), " bytes") for name, need in _memory(kernel, device) if need > device.limit(name))


def _memory(kernel: Kernel, device: _Profile) -> Iterator[tuple[str, int]]:
    """Yield the limits of memory, each with the bytes that the kernel needs."""
    large = [slot.span for slot in kernel.buffers if slot.windows is not None]
    if large:
        yield "maxBufferSize", max(large)
        if has_sparse_buffers(device.description):
            yield "sparseAddressSpaceSize", sum(large)
        else:
            yield "maxMemoryAllocationSize", max(large)
            yield "memoryHeapSize", sum(large)
    if "shader64BitIndexing" not in device.features:
        # Where the feature is enabled the limit does not apply (VK_EXT_shader_64bit_indexing).
        yield "maxStorageBufferRange", max((slot.span for slot in kernel.buffers if slot.binding is not None), default=0)


def has_sparse_buffers(description: DeviceDescription) -> bool:
    """Return whether the device can bind memory to parts of a buffer."""
    wanted = ("sparseBinding", "sparseResidencyBuffer")
    return all(description.features.get(name) for name in wanted) and bool(description.limits.get("queueFlags", 0) & QUEUE_SPARSE_BINDING)


def _beyond(name: str, need: int, limit: int, unit: str = "") -> Reason:
    return Reason(Code.MISSING_LIMIT.of(name.partition("[")[0]), f"limit {name} {limit:,}{unit} (needs {need:,}{unit})")


def _workgroup_limits(
    kernel: Kernel, shared: int, local_size: tuple[int, int, int], workgroup_scope: bool, subgroup_size: int, device: _Profile
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
        text = f"{invocations} invocations at workgroup scope (no power-of-two multiple of the subgroup size {subgroup_size})"
        yield Reason(Code.MISSING_PROPERTY.of("subgroupSize"), text)


def _component(needs: ModuleNeeds, type_: MatrixTypeIds | VectorTypeIds) -> str:
    """Return the component's name; an integer's by the declared signedness, which need not be that of the data."""
    scalar = needs.scalars.get(type_.component)
    name = None if scalar is None else scalar_name(scalar)
    if name is None:
        kind = "matrix" if isinstance(type_, MatrixTypeIds) else "vector"
        raise GeneratorError(f"id {type_.component} is the component type of a cooperative {kind}, and the suite does not know it")
    return name


def scalar_name(scalar: Scalar) -> str | None:
    """Return the suite's name of a numerical type, None if it has none."""
    if scalar.signed is not None:
        return f"{'s' if scalar.signed else 'u'}{scalar.width}"
    return _FLOATS.get((scalar.width, scalar.encoding))


def _either_sign(component: str) -> tuple[str, ...]:
    """OpTypeInt stands for a row's type of either signedness (facts.md D.1)."""
    return (f"s{component[1:]}", f"u{component[1:]}") if component[0] in "su" else (component,)


def _with_sign(component: str, signed: bool) -> str:
    """Return what a multiply-add takes an integer type for: only the flag counts (KHR-MAD-05)."""
    return f"{'s' if signed else 'u'}{component[1:]}" if component[0] in "su" else component


def _vectors(needs: ModuleNeeds, specialization: Mapping[int, int], stage: Stage, device: _Profile) -> Iterator[Reason]:
    """VUIDs 10089 and 10091 to 10095 of RuntimeSpirv: what is missing for cooperative vectors."""
    if not needs.vectors:
        return
    name = "cooperativeVectorSupportedStages"
    if not device.limit(name) & STAGE_BITS[stage]:
        yield Reason(Code.MISSING_PROPERTY.of(name), f"{name} ({stage})")
    components = {id_: _component(needs, vector) for id_, vector in needs.vectors.items()}
    reported = {name for row in device.description.vector_rows for name in row.types}
    for id_, vector in needs.vectors.items():
        count, most = needs.value(vector.length, specialization), device.limit("maxCooperativeVectorComponents")
        if count > most:
            name = "maxCooperativeVectorComponents"
            yield Reason(Code.MISSING_LIMIT.of(name), f"limit {name} {most} (needs {count})")
        if reported.isdisjoint(_either_sign(components[id_])):
            yield Reason(Code.MISSING_ROW.of("vector_type"), f"no property row for vectors of {components[id_]}")
    for multiply in needs.multiplies:
        yield from _multiply(needs, multiply, components, specialization, device)
    for accumulation in needs.accumulations:
        if isinstance(accumulation, OuterProductIds):
            type_ = _interpretation(needs.value(accumulation.interpretation, specialization))
        else:
            type_ = components[accumulation.vector]
        name = f"cooperativeVectorTrainingFloat{type_[1:]}Accumulation"
        if name not in device.features:
            yield Reason(Code.MISSING_PROPERTY.of(name), name)


def _multiply(
    needs: ModuleNeeds, multiply: VectorMulIds, components: Mapping[int, str], specialization: Mapping[int, int], device: _Profile
) -> Iterator[Reason]:
    operands = multiply.operands
    input_ = _with_sign(components[multiply.input], bool(operands & MatrixOperands.B_SIGNED))
    result = _with_sign(components[multiply.result], bool(operands & MatrixOperands.RESULT_SIGNED))
    of_input, of_matrix = (
        _interpretation(needs.value(id_, specialization)) for id_ in (multiply.input_interpretation, multiply.matrix_interpretation)
    )
    bias = multiply.bias_interpretation
    of_bias = None if bias is None else _interpretation(needs.value(bias, specialization))
    transposed = bool(needs.value(multiply.transpose, specialization))
    for row in device.description.vector_rows:
        if (row.input, row.input_interpretation, row.matrix_interpretation, row.result) != (input_, of_input, of_matrix, result):
            continue
        if of_bias in (None, row.bias_interpretation) and (row.transpose or not transposed):
            return
    added = "" if of_bias is None else f" + {of_bias}"
    text = f"{'transposed ' if transposed else ''}{of_matrix} x {input_} as {of_input}{added} -> {result}"
    yield Reason(Code.MISSING_ROW.of("vector_multiply"), f"no property row for {text}")


def _interpretation(value: int) -> str:
    """Return the name of a Component Type."""
    return next((name for name, one in INTERPRETATIONS.items() if one.vk == value), f"component type {value}")


def _where(scope: int, invocations: int) -> str:
    if scope == Scope.WORKGROUP:
        return f"at workgroup scope with {invocations} invocations"
    return "at subgroup scope" if scope == Scope.SUBGROUP else f"at scope {scope}"


def _type(type_: tuple[str, int, int], scope: int, use: Use, invocations: int, listed: PropertyIndex) -> Iterator[Reason]:
    component, rows, columns = type_
    if not any(listed.has_type((name, int(use), scope), rows, columns, invocations) for name in _either_sign(component)):
        text = f"no property row for {_USES[use]} {component} {rows}x{columns} {_where(scope, invocations)}"
        yield Reason(Code.MISSING_ROW.of("type"), text)


def _muladd(
    muladd: MulAddIds, types: dict[int, tuple[str, int, int]], scope: int, invocations: int, listed: PropertyIndex
) -> Iterator[Reason]:
    operands = muladd.operands
    a, m, k = types[muladd.a]
    b, _, n = types[muladd.b]
    signed = (
        (a, MatrixOperands.A_SIGNED),
        (b, MatrixOperands.B_SIGNED),
        (types[muladd.c][0], MatrixOperands.C_SIGNED),
        (types[muladd.result][0], MatrixOperands.RESULT_SIGNED),
    )
    a, b, c, result = (_with_sign(component, bool(operands & flag)) for component, flag in signed)
    saturating = bool(operands & MatrixOperands.SATURATING_ACCUMULATION)
    if not listed.has_muladd((a, b, c, result, saturating, scope), m, n, k, invocations):
        kind = "saturating " if saturating else ""
        text = f"no property row for {kind}{m}x{n}x{k} {a} x {b} + {c} -> {result} {_where(scope, invocations)}"
        yield Reason(Code.MISSING_ROW.of("muladd"), text)
