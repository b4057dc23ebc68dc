"""The input of a device: a module, its specialization and bindings, and the dispatches of its subcases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from generators.images import ImageSlot
from generators.passes import Passes
from generators.stages import Draw, Preceding, ShaderObject
from generators.types import ComponentType, ConversionCommand, VectorMatrixLayout
from generators.windows import Windows


@dataclass(frozen=True)
class OpaqueSlot:
    """Matrices in a layout that the device decides. A dispatch supplies and returns their elements: each matrix row-major, without padding,
    one after another.

    Attributes:
        component, rows, columns: the type and the size of each matrix.
        layout: an optimal layout.
        count: the number of matrices.
        pitch_offset: byte offset in the push constants where the device writes the distance in bytes from one matrix to the next (u32), a
            multiple of 64; None if nothing asks for it.
        command: the conversion command that a device has to use.
    """

    component: ComponentType
    rows: int
    columns: int
    layout: VectorMatrixLayout
    count: int
    pitch_offset: int | None = None
    command: ConversionCommand = "device"

    @property
    def ignores_finite_padding(self) -> bool:
        """Whether finite numbers in the padding of the matrices must not change a product (CV-API-11)."""
        return self.layout is VectorMatrixLayout.TRAINING_OPTIMAL and self.component.name in ("f16", "f32")


@dataclass(frozen=True)
class HeldMatrix:
    """A matrix that the contents of a buffer already have, as a conversion to its layout has written it.

    Attributes:
        name: for messages.
        at: its first byte in the buffer.
        bytes: its size.
        component, rows, columns, layout: its type, size and layout.
        copied: whether the kernel may read its bytes as numbers although the layout is optimal: it only copies them.
    """

    name: str
    at: int
    bytes: int
    component: ComponentType
    rows: int
    columns: int
    layout: VectorMatrixLayout
    copied: bool = False

    def __str__(self) -> str:
        return f"{self.rows} x {self.columns} {self.component} in layout {self.layout.name.lower()}"


@dataclass(frozen=True)
class BufferSlot:
    """A buffer that the kernel uses.

    Attributes:
        name: the array's name, for messages.
        bytes: size of the buffer range that the kernel may touch; with ``opaque`` the size of the elements, which a device converts; with
            ``windows`` the size of the windows.
        written: whether the kernel may write it. A device returns the contents of written buffers, and reports a write to any other.
        binding: binding in ``descriptor_set``, or None.
        address_offset: byte offset in the push constants where the buffer's device address goes, or None.
        element: its index in the array of descriptors at that binding; 0 if there is only one descriptor.
        opaque: its contents in a layout that the device decides, or None.
        windows: the bytes of a large buffer that a dispatch supplies and returns; None for all. The other bytes are unknown.
        descriptor_set: the descriptor set of the binding.
        is_uniform: whether the descriptor is of a uniform buffer; it is of a storage buffer otherwise.
        image: the image whose texels are these bytes; None for a buffer.
        matrices: the matrices in its contents, which the embedded device compares with their uses. Other devices ignore them.
        addresses: byte offsets in this buffer where a device writes the address of another buffer, each with that buffer's name.
    """

    name: str
    bytes: int
    written: bool
    binding: int | None = None
    address_offset: int | None = None
    element: int = 0
    opaque: OpaqueSlot | None = None
    windows: Windows | None = None
    descriptor_set: int = 0
    is_uniform: bool = False
    addresses: tuple[tuple[int, str], ...] = ()
    image: ImageSlot | None = None
    matrices: tuple[HeldMatrix, ...] = ()

    @property
    def span(self) -> int:
        """Size of the buffer in bytes."""
        return self.bytes if self.windows is None else self.windows.span


@dataclass(frozen=True)
class Specialization:
    """The value of a specialization constant: ``constant_id`` is its SpecId."""

    constant_id: int
    component: ComponentType
    value: int


@dataclass(frozen=True)
class Kernel:
    """A compute pipeline, or a graphics pipeline with the kernel as one of its stages.

    Attributes:
        spirv: the module, little-endian words.
        specialization: constants, without the local size.
        local_size_constant_id: SpecId of the local size in x (u32), which the device sets to ``subgroups`` x its subgroup size; None if the
            module or ``specialization`` has the local size.
        subgroups: subgroups side by side along x.
        push_constant_bytes: size of the push-constant range, 0 if none.
        buffers: the buffers, in the order of ``Dispatch.contents``.
        entry_point: name of the entry point.
        maintenance1: whether it is only for devices with VK_EXT_cooperative_matrix_maintenance1.
        required_subgroup_size: the size that the pipeline requires, which also determines x; None for the device's own.
        full_subgroups: whether the pipeline requires full subgroups; None: if the device supports it.
        robust: whether matrix accesses to bound buffers may leave their ranges: loads there return zero, and stores have no effect
            (cooperativeMatrixRobustBufferAccess, with robustBufferAccess2 for the pipeline).
        pipeline_cache: whether a Vulkan device makes the pipeline twice: first with an empty pipeline cache, then with a cache made from
            the first one's data; the second pipeline runs. Other devices ignore it.
        invocations: the local size in x if it does not depend on subgroups; None for ``subgroups`` times the subgroup size.
        draw: the draw that runs the kernel instead of workgroups; None in the compute stage.
        shader_object: the shader object that a Vulkan device makes instead of a compute pipeline (VK_EXT_shader_object); None: a pipeline.
            Other devices need the feature, and run the module.
        rounds: the number of times that a Vulkan device runs each dispatch, each time on the same contents. Other devices run it once.
        spare_descriptors: descriptors that the pipeline's layout has at each binding beyond those of ``buffers``. The kernel uses none of
            them. On a Vulkan device each is of another buffer of the kernel than the binding's first one; other devices ignore them.
        others: further pipelines of the same module, with the same buffers, to which some of the dispatches belong: the dispatches of all
            run in one submission.
        preceding: the stage of a pipeline with an empty shader that a Vulkan device makes before this one, and runs before its dispatches
            in the same submission; None for no such pipeline. Other devices need its features.
        conversion_stage: whether the barriers between conversions of matrices and dispatches have the stages and accesses of both, and no
            others (VK_PIPELINE_STAGE_2_CONVERT_COOPERATIVE_VECTOR_MATRIX_BIT_NV); otherwise they have all. Only a Vulkan device has them.
        passes: how a device repeats a dispatch that has several passes; None if none has.
    """

    spirv: bytes
    buffers: tuple[BufferSlot, ...]
    specialization: tuple[Specialization, ...] = ()
    local_size_constant_id: int | None = 0
    subgroups: int = 1
    push_constant_bytes: int = 0
    entry_point: str = "main"
    required_subgroup_size: int | None = None
    maintenance1: bool = False
    full_subgroups: bool | None = None
    robust: bool = False
    pipeline_cache: bool = False
    invocations: int | None = None
    draw: Draw | None = None
    shader_object: ShaderObject | None = None
    rounds: int = 1
    spare_descriptors: int = 0
    others: tuple[Kernel, ...] = ()
    preceding: Preceding | None = None
    conversion_stage: bool = False
    passes: Passes | None = None

    @property
    def all(self) -> tuple[Kernel, ...]:
        """This kernel and the other pipelines of its module."""
        return (self, *self.others)

    @property
    def descriptors(self) -> int:
        """Number of descriptors in the layouts of its descriptor sets."""
        bound = [slot for slot in self.buffers if slot.binding is not None]
        return len(bound) + self.spare_descriptors * len({(slot.descriptor_set, slot.binding) for slot in bound})

    def local_size_x(self, subgroup_size: int) -> int:
        """Return the local size in x for subgroups of ``subgroup_size`` invocations."""
        return self.subgroups * subgroup_size if self.invocations is None else self.invocations


@dataclass(frozen=True)
class Dispatch:
    """One run of a pipeline, or several passes of it.

    Attributes:
        push_constants: ``push_constant_bytes`` bytes; the device fills in addresses.
        contents: the initial contents of each buffer, uint8 arrays of exactly ``BufferSlot.bytes``.
        workgroups: number of workgroups in x, y, z; 1 for a draw.
        pipeline: index of the pipeline in ``Kernel.all``.
        passes: the number of passes; see ``Kernel.passes``.
    """

    push_constants: bytes
    contents: tuple[np.ndarray, ...]
    workgroups: tuple[int, int, int] = (1, 1, 1)
    pipeline: int = 0
    passes: int = 1


Where = Literal["read-only", "before", "after"]
"""Place of a stray write: in a read-only buffer, or before or after the range of a buffer."""


@dataclass(frozen=True)
class StrayWrite:
    """Bytes that the kernel must not change but changed: in a read-only buffer, or outside every buffer's range.

    Attributes:
        buffer: name of the buffer that contains them or is nearest to them.
        where: see Where.
        offset: the offset of the first such byte, from the start of the range (negative before it).
        count: number of bytes.
    """

    buffer: str
    where: Where
    offset: int
    count: int


@dataclass(frozen=True)
class Outcome:
    """The results of a dispatch.

    Attributes:
        outputs: name of each written buffer -> its contents after the run (uint8).
        stray: writes outside the bytes that the kernel may write.
        repeats: if the kernel has several rounds, the number of each round (from 2) whose results differ, with those results.
    """

    outputs: dict[str, np.ndarray]
    stray: tuple[StrayWrite, ...] = ()
    repeats: tuple[tuple[int, Outcome], ...] = ()
