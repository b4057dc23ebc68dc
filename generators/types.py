"""Component types, matrix uses, scopes and layouts: names, widths, dtypes, enumerants.

The names (``f16``, ``s8``, ``e4m3`` …) are the ones that cases, reports and devices use. Enumerants come from SPIR-V and
VkComponentTypeKHR.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Literal

import ml_dtypes
import numpy as np

NumberKind = Literal["float", "signed", "unsigned"]


@dataclass(frozen=True)
class ComponentType:
    """A scalar numerical type that a cooperative matrix may have as its component.

    Attributes:
        name: the suite's name, for example ``"f16"``.
        kind: ``"float"``, ``"signed"`` or ``"unsigned"``.
        bits: width in bits.
        dtype: the numpy (or ml_dtypes) dtype of a value.
        vk: the VkComponentTypeKHR enumerant.
        precision: significand bits including the hidden one; the value bits for an integer.
    """

    name: str
    kind: NumberKind
    bits: int
    dtype: np.dtype
    vk: int
    precision: int

    @cached_property
    def bytes(self) -> int:
        """Width in bytes; a narrower number takes a byte."""
        return -(-self.bits // 8)

    @cached_property
    def is_float(self) -> bool:
        return self.kind == "float"

    @cached_property
    def is_signed(self) -> bool:
        """True for a signed integer type."""
        return self.kind == "signed"

    @cached_property
    def has_arithmetic(self) -> bool:
        """Whether arithmetic instructions accept it. SPV_KHR_bfloat16 and SPV_EXT_float8 list the instructions that may use their types,
        and arithmetic is not among them."""
        return self.name not in ("bf16", "e4m3", "e5m2")

    @cached_property
    def limits(self) -> tuple[int, int]:
        """The lowest and the highest number of an integer type."""
        return (-(1 << self.bits - 1), (1 << self.bits - 1) - 1) if self.is_signed else (0, (1 << self.bits) - 1)

    @cached_property
    def bits_dtype(self) -> np.dtype:
        """The unsigned dtype of the same width, to hold bit patterns."""
        return np.dtype(f"u{self.bytes}")

    def __hash__(self) -> int:
        # The name alone tells types apart. Hashing a dtype is slow.
        return hash(self.name)

    def __str__(self) -> str:
        return self.name


def _component(name: str, kind: NumberKind, bits: int, dtype: object, vk: int, precision: int) -> ComponentType:
    return ComponentType(name, kind, bits, np.dtype(dtype), vk, precision)  # type: ignore[call-overload]


def _by_name(*components: ComponentType) -> Mapping[str, ComponentType]:
    return MappingProxyType({component.name: component for component in components})


COMPONENT_TYPES = _by_name(
    _component("f16", "float", 16, np.float16, 0, 11),
    _component("f32", "float", 32, np.float32, 1, 24),
    _component("f64", "float", 64, np.float64, 2, 53),
    _component("bf16", "float", 16, ml_dtypes.bfloat16, 1000141000, 8),
    _component("e4m3", "float", 8, ml_dtypes.float8_e4m3fn, 1000491002, 4),
    _component("e5m2", "float", 8, ml_dtypes.float8_e5m2, 1000491003, 3),
    _component("s8", "signed", 8, np.int8, 3, 7),
    _component("s16", "signed", 16, np.int16, 4, 15),
    _component("s32", "signed", 32, np.int32, 5, 31),
    _component("s64", "signed", 64, np.int64, 6, 63),
    _component("u8", "unsigned", 8, np.uint8, 7, 8),
    _component("u16", "unsigned", 16, np.uint16, 8, 16),
    _component("u32", "unsigned", 32, np.uint32, 9, 32),
    _component("u64", "unsigned", 64, np.uint64, 10, 64),
)


def of_other_sign(component: ComponentType) -> ComponentType:
    """Return the integer type of the same size and the other signedness."""
    return COMPONENT_TYPES[f"{'u' if component.is_signed else 's'}{component.bits}"]


MICROSCALING_TYPES = _by_name(
    _component("e2m1", "float", 4, ml_dtypes.float4_e2m1fn, 1000672002, 2),
    _component("e2m3", "float", 6, ml_dtypes.float6_e2m3fn, 1000672000, 4),
    _component("e3m2", "float", 6, ml_dtypes.float6_e3m2fn, 1000672001, 3),
    _component("ue8m0", "float", 8, ml_dtypes.float8_e8m0fnu, 1000672003, 1),
)
"""Scalars of SPV_EXT_ocp_microscaling_types. No cooperative type has them as components; they can only be moved and converted."""

SCALAR_TYPES: Mapping[str, ComponentType] = MappingProxyType({**COMPONENT_TYPES, **MICROSCALING_TYPES})
"""All scalar number types of modules, by name."""


class Use(enum.IntEnum):
    """Cooperative Matrix Use (SPV_KHR_cooperative_matrix)."""

    A = 0
    B = 1
    ACCUMULATOR = 2


class Scope(enum.IntEnum):
    """The Scope of a cooperative matrix; Vulkan allows these two (StandaloneSpirv-Scope-12243)."""

    WORKGROUP = 2
    SUBGROUP = 3


class ClampMode(enum.IntEnum):
    """Tensor Clamp Mode (SPV_NV_tensor_addressing)."""

    UNDEFINED = 0
    CONSTANT = 1
    CLAMP_TO_EDGE = 2
    REPEAT = 3
    REPEAT_MIRRORED = 4


class ReduceMode(enum.IntEnum):
    """Cooperative Matrix Reduce (SPV_NV_cooperative_matrix2): the masks that may be used (CM2-RED-02)."""

    ROW = 1
    COLUMN = 2
    ROW_AND_COLUMN = 3
    TWO_BY_TWO = 4


class MemoryScope(enum.IntEnum):
    """The Scope of a barrier's memory, or of an availability or visibility operation (Vulkan memory model)."""

    WORKGROUP = 2
    SUBGROUP = 3
    QUEUE_FAMILY = 5


class Layout(enum.IntEnum):
    """Cooperative Matrix Layout (SPV_KHR_cooperative_matrix)."""

    ROW_MAJOR = 0
    COLUMN_MAJOR = 1


ConversionCommand = Literal["host", "device"]
"""The command: vkConvertCooperativeVectorMatrixNV, or vkCmdConvertCooperativeVectorMatrixNV in a command buffer."""


class VectorMatrixLayout(enum.IntEnum):
    """Cooperative Vector Matrix Layout (SPV_NV_cooperative_vector)."""

    ROW_MAJOR = 0
    COLUMN_MAJOR = 1
    INFERENCING_OPTIMAL = 2
    TRAINING_OPTIMAL = 3

    @property
    def is_optimal(self) -> bool:
        """Whether only the device knows the positions of the elements."""
        return self in (VectorMatrixLayout.INFERENCING_OPTIMAL, VectorMatrixLayout.TRAINING_OPTIMAL)


@dataclass(frozen=True)
class Interpretation:
    """A Component Type operand: how an instruction interprets an input vector, a matrix or a bias (SPV_NV_cooperative_vector).

    Attributes:
        name: the component type's name, or ``s8packed`` or ``u8packed``.
        component: the type of an element.
        vk: its number, which is also the VkComponentTypeKHR enumerant.
        packed: whether 32-bit components of an input vector are bitcast to several elements each, the first in the lowest bits.
    """

    name: str
    component: ComponentType
    vk: int
    packed: bool = False

    def __str__(self) -> str:
        return self.name


_INTERPRETED = ("f16", "f32", "f64", "s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64", "e4m3", "e5m2")

INTERPRETATIONS: Mapping[str, Interpretation] = MappingProxyType(
    {
        **{name: Interpretation(name, COMPONENT_TYPES[name], COMPONENT_TYPES[name].vk) for name in _INTERPRETED},
        "s8packed": Interpretation("s8packed", COMPONENT_TYPES["s8"], 1000491000, packed=True),
        "u8packed": Interpretation("u8packed", COMPONENT_TYPES["u8"], 1000491001, packed=True),
    }
)
"""Every Component Type of the extension, by name."""


class StorageClass(enum.Enum):
    """The storage of an array in matrix loads and stores (VUID StandaloneSpirv-Pointer-08973)."""

    STORAGE_BUFFER = "storage_buffer"
    WORKGROUP = "workgroup"
    PHYSICAL_STORAGE_BUFFER = "physical_storage_buffer"


class MatrixOperands(enum.IntFlag):
    """Cooperative Matrix Operands (SPV_KHR_cooperative_matrix)."""

    NONE = 0
    A_SIGNED = 0x1
    B_SIGNED = 0x2
    C_SIGNED = 0x4
    RESULT_SIGNED = 0x8
    SATURATING_ACCUMULATION = 0x10


class MemoryAccess(enum.IntFlag):
    """SPIR-V Memory Operands that the suite generates."""

    NONE = 0
    VOLATILE = 0x1
    ALIGNED = 0x2
    NONTEMPORAL = 0x4
    MAKE_POINTER_AVAILABLE = 0x8
    MAKE_POINTER_VISIBLE = 0x10
    NON_PRIVATE_POINTER = 0x20
