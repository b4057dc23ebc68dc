"""What a device gets: a module, how to specialize and connect it, and the dispatches of its subcases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from generators.images import ImageSlot
from generators.stages import Draw, ShaderObject
from generators.types import ComponentType, ConversionCommand, VectorMatrixLayout
from generators.windows import Windows


@dataclass(frozen=True)
class OpaqueSlot:
    """Matrices in a layout that the device decides. What a dispatch gives and what comes back are their elements: each matrix row-major,
    without padding, one after another.

    Attributes:
        component, rows, columns: of each matrix.
        layout: an optimal one.
        count: how many.
        pitch_offset: byte offset in the push constants where the device writes the bytes from one matrix to the next (u32), a multiple of
            64; None if nothing asks for it.
        command: which conversion command a device has to use.
    """

    component: ComponentType
    rows: int
    columns: int
    layout: VectorMatrixLayout
    count: int
    pitch_offset: int | None = None
    command: ConversionCommand = "device"


@dataclass(frozen=True)
class BufferSlot:
    """A buffer that the kernel is connected to.

    Attributes:
        name: the array's name, for messages.
        bytes: size of the buffer range that the kernel may touch; with ``opaque`` the size of the elements, which a device converts; with
            ``windows`` the size of those.
        written: whether the kernel may write it. A device returns the contents of these, and reports a write to any other.
        binding: binding in ``descriptor_set``, or None.
        address_offset: byte offset in the push constants where the buffer's device address goes, or None.
        element: its number in the array of descriptors at that binding; 0 where there is one descriptor.
        opaque: what it holds in a layout of the device's, or None.
        windows: the bytes that a dispatch gives and gets back of a large buffer; None for all. What the others hold is not known.
        descriptor_set: the descriptor set of the binding.
        is_uniform: whether the descriptor is of a uniform buffer; it is of a storage buffer otherwise.
        image: the image whose texels the bytes are; None for a buffer.
        addresses: byte offsets in this buffer where a device writes the address of another one, each with that buffer's name.
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

    @property
    def span(self) -> int:
        """Bytes of the buffer."""
        return self.bytes if self.windows is None else self.windows.span


@dataclass(frozen=True)
class Specialization:
    """The value of a specialization constant: ``constant_id`` is its SpecId."""

    constant_id: int
    component: ComponentType
    value: int


@dataclass(frozen=True)
class Kernel:
    """A compute pipeline, or a graphics pipeline one stage of which is the kernel.

    Attributes:
        spirv: the module, little-endian words.
        specialization: constants, without the local size.
        local_size_constant_id: SpecId of the local size in x (u32), which the device sets to ``subgroups`` x its subgroup size; None
            where the module, or ``specialization``, has the local size.
        subgroups: subgroups side by side along x.
        push_constant_bytes: size of the push-constant range, 0 if none.
        buffers: in the order of ``Dispatch.contents``.
        entry_point: name of the entry point.
        maintenance1: whether it is for devices with VK_EXT_cooperative_matrix_maintenance1 alone.
        required_subgroup_size: the size that the pipeline requires, and so the one that x is set by; None for the device's.
        full_subgroups: whether the pipeline requires full subgroups; None: if the device can.
        robust: whether matrix accesses to bound buffers may leave their ranges: loads then give zero, and stores nothing
            (cooperativeMatrixRobustBufferAccess, with robustBufferAccess2 for the pipeline).
        pipeline_cache: whether a Vulkan device makes the pipeline twice: with an empty pipeline cache, and, which is the one that runs,
            with a cache made of the first one's data. Other devices ignore it.
        invocations: the local size in x where no subgroup decides it; None for ``subgroups`` times the subgroup size.
        draw: what runs the kernel in place of workgroups; None in the compute stage.
        shader_object: what a Vulkan device makes in place of a compute pipeline (VK_EXT_shader_object); None: a pipeline. Other devices
            need the feature, and run the module.
        rounds: how often a Vulkan device runs each dispatch, each time on the same contents. Other devices run it once.
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

    def local_size_x(self, subgroup_size: int) -> int:
        """Return the local size in x where subgroups have ``subgroup_size`` invocations."""
        return self.subgroups * subgroup_size if self.invocations is None else self.invocations


@dataclass(frozen=True)
class Dispatch:
    """One run of the pipeline.

    Attributes:
        push_constants: ``push_constant_bytes`` bytes; the device fills in addresses.
        contents: what each buffer holds before the run, uint8 arrays of exactly ``BufferSlot.bytes``.
        workgroups: number of workgroups in x, y, z; 1 of a draw.
    """

    push_constants: bytes
    contents: tuple[np.ndarray, ...]
    workgroups: tuple[int, int, int] = (1, 1, 1)


Where = Literal["read-only", "before", "after"]
"""Where a stray write lies: in a read-only buffer, or before or after the range of a buffer."""


@dataclass(frozen=True)
class StrayWrite:
    """A byte changed where the kernel had no business: in a read-only buffer, or outside every buffer's range.

    Attributes:
        buffer: name of the buffer that it lies in or nearest to.
        where: see Where.
        offset: of the first such byte, from the start of the range (negative before it).
        count: how many bytes.
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
        stray: writes outside of what the kernel may write.
        repeats: where the kernel has several rounds, the number of each round (from 2) that left something else, and what it left.
    """

    outputs: dict[str, np.ndarray]
    stray: tuple[StrayWrite, ...] = ()
    repeats: tuple[tuple[int, Outcome], ...] = ()
