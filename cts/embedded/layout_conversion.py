"""Converts matrices between layouts and component types (Vulkan, "Cooperative Vectors": VkConvertCooperativeVectorMatrixInfoNV)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from cts.devices.device import DeviceDescription, Step, UndefinedBehaviour
from cts.devices.layout_conversion import ConversionAnswer, ConversionCall, ConversionInfo, Region
from cts.devices.property_commands import INCOMPLETE, SUCCESS
from cts.embedded.diagnostics import Violation
from cts.embedded.faults import Faults, replaceable
from cts.embedded.instructions.matrices.load_store import element_offsets
from cts.embedded.memory.matrix_layouts import MatrixLayouts
from generators.layout_conversion import COMMANDS, MatrixForm
from generators.types import ComponentType, ConversionCommand, VectorMatrixLayout

_DEVICE_ALIGNMENT = 64
_FLOAT8 = ("e4m3", "e5m2")


class MatrixConverter:
    """Performs the conversion commands of a device with one profile.

    Args:
        description: the device's description.
        layouts: the device's optimal layouts.
        strict: whether invalid use raises.
        faults: deliberate mistakes of the device.
    """

    def __init__(self, description: DeviceDescription, layouts: MatrixLayouts, strict: bool, faults: Faults) -> None:
        self._types = {row.matrix_interpretation for row in description.vector_rows} | {"f32"}
        self._layouts = layouts
        self._strict = strict
        self._size = faults.performing(size_of_matrix)
        self._places = faults.performing(places_of_elements)
        self._convert = faults.performing(converted)
        self._write = faults.performing(written)

    def convert(self, call: ConversionCall) -> list[ConversionAnswer]:
        """Perform a call.

        Raises:
            UndefinedBehaviour: the call is invalid, and the device is strict.
        """
        if self._strict:
            for broken in self._invalid(call):
                raise UndefinedBehaviour(f"{COMMANDS[call.command]}: {broken}", broken.rule, step=Step.DISPATCH)
        return [self._converted(info) for info in call.infos]

    def _converted(self, info: ConversionInfo) -> ConversionAnswer:
        needed = self._size(self._layouts, info.to, info.rows, info.columns)
        source = None if info.source is None else info.source.memory.copy()
        if info.destination is None:
            return ConversionAnswer(SUCCESS, needed, source)
        memory = info.destination.memory.copy()
        if info.destination.size < needed:
            # The specification states this only for the host command (F-CV-7). The device command does nothing here.
            return ConversionAnswer(INCOMPLETE, 0, source, memory)
        assert info.source is not None, "a conversion has a source"
        elements = _elements(info.source, self._places(self._layouts, info.from_, info.rows, info.columns), info.from_.component)
        converted_ = self._convert(elements, info.from_.component, info.to.component)
        places = self._places(self._layouts, info.to, info.rows, info.columns) + info.destination.start
        if info.to.layout.is_optimal:
            # The device may write the padding of an optimal layout.
            memory[info.destination.start : info.destination.start + needed] = 0
        self._write(memory, places, converted_, info.to)
        return ConversionAnswer(SUCCESS, needed, source, memory)

    def _invalid(self, call: ConversionCall) -> Iterator[Violation]:
        for info in call.infos:
            yield from self._invalid_forms(info)
            yield from self._invalid_memory(call.command, info)
        if call.command == "host" and len(call.infos) != 1:
            yield Violation(
                "VUID-vkConvertCooperativeVectorMatrixNV-pInfo-parameter", f"each call must have one conversion, not {len(call.infos)}"
            )
        regions = [region for info in call.infos for region in (info.source, info.destination) if region is not None]
        if _overlap(regions):
            yield Violation("VUID-vkCmdConvertCooperativeVectorMatrixNV-None-10088", "memory of sources and destinations overlaps")

    def _invalid_forms(self, info: ConversionInfo) -> Iterator[Violation]:
        for which, form, stride, type_ in (("src", info.from_, 10077, 10079), ("dst", info.to, 10078, 10080)):
            if not form.layout.is_optimal:
                line = (info.columns if form.layout is VectorMatrixLayout.ROW_MAJOR else info.rows) * form.component.bytes
                if form.stride < line or form.stride % form.component.bytes:
                    rule = f"VUID-VkConvertCooperativeVectorMatrixInfoNV-{which}Layout-{stride}"
                    yield Violation(
                        rule, f"a {which}Stride of {form.stride} bytes for a line of {line} bytes with elements of {form.component.bytes}"
                    )
            if form.component.name not in self._types:
                rule = f"VUID-VkConvertCooperativeVectorMatrixInfoNV-{which}ComponentType-{type_}"
                yield Violation(rule, f"{form.component.name} is not a matrixInterpretation of this device")
        one, other = info.from_.component, info.to.component
        if one != other and not (_may_widen(one, other) or _may_widen(other, one)):
            rule = "VUID-VkConvertCooperativeVectorMatrixInfoNV-srcComponentType-10081"
            yield Violation(rule, f"{one.name} cannot be converted to {other.name}")
        if other.name in _FLOAT8 and not info.to.layout.is_optimal:
            rule = "VUID-VkConvertCooperativeVectorMatrixInfoNV-dstComponentType-10082"
            yield Violation(rule, f"a destination of {other.name} must have an optimal layout")

    def _invalid_memory(self, command: ConversionCommand, info: ConversionInfo) -> Iterator[Violation]:
        if command == "host":
            if info.source is None and info.destination is not None:
                yield Violation("VUID-vkConvertCooperativeVectorMatrixNV-pInfo-10073", "srcData is null, but dstData is not")
            rules = {"source": "VUID-vkConvertCooperativeVectorMatrixNV-pInfo-10074"}
        else:
            rules = {name: f"VUID-vkCmdConvertCooperativeVectorMatrixNV-pInfo-{rule}" for name, rule in _DEVICE_SIZES.items()}
            for name, region, rule in (("srcData", info.source, 10083), ("dstData", info.destination, 10895)):
                if region is None:
                    yield Violation(f"VUID-vkCmdConvertCooperativeVectorMatrixNV-pInfo-{rule}", f"{name} is null")
            for name, region, rule in (("srcData", info.source, 10084), ("dstData", info.destination, 10085)):
                if region is not None and region.start % _DEVICE_ALIGNMENT:
                    what = f"{name} is not a multiple of {_DEVICE_ALIGNMENT} bytes"
                    yield Violation(f"VUID-vkCmdConvertCooperativeVectorMatrixNV-pInfo-{rule}", what)
        for name, region, form in (("source", info.source, info.from_), ("destination", info.destination, info.to)):
            if region is not None and name in rules:
                needed = size_of_matrix(self._layouts, form, info.rows, info.columns)
                if region.size < needed:
                    yield Violation(rules[name], f"the {name} has {region.size} bytes, but its matrix needs {needed}")
        for region in (info.source, info.destination):
            if region is not None and region.start + region.size > len(region.memory):
                yield Violation("Vulkan, Valid Usage for Pointers", "a region is larger than its memory")


_DEVICE_SIZES = {"source": 10086, "destination": 10087}


@replaceable
def size_of_matrix(layouts: MatrixLayouts, form: MatrixForm, rows: int, columns: int) -> int:
    """Return the bytes of a matrix. The last row or column needs no padding."""
    element = form.component.bytes
    if form.layout.is_optimal:
        return layouts.size(form.layout, rows, columns, element)
    lines, length = (rows, columns) if form.layout is VectorMatrixLayout.ROW_MAJOR else (columns, rows)
    return (lines - 1) * form.stride + length * element


@replaceable
def places_of_elements(layouts: MatrixLayouts, form: MatrixForm, rows: int, columns: int) -> np.ndarray:
    """Return the byte offset of each element in the matrix, int64 of shape (rows, columns)."""
    if form.layout.is_optimal:
        return layouts.offsets(form.layout, rows, columns, form.component.bytes)
    return element_offsets(rows, columns, form.layout is VectorMatrixLayout.ROW_MAJOR, form.stride, form.component.bytes)


@replaceable
def converted(elements: np.ndarray, source: ComponentType, destination: ComponentType) -> np.ndarray:
    """Convert the bits of elements to another type.

    Rounding is to nearest, ties to even. Overflow gives infinity, or NaN in a type without infinities."""
    if source is destination:
        return elements
    with np.errstate(all="ignore"):
        return np.asarray(elements.view(source.dtype).astype(destination.dtype).view(destination.bits_dtype))


@replaceable
def written(memory: np.ndarray, places: np.ndarray, elements: np.ndarray, form: MatrixForm) -> None:
    """Write elements, and no other byte.

    Args:
        memory: uint8.
        places: byte offset of each element, (rows, columns).
        elements: bits, of that shape.
        form: the matrix's form.
    """
    memory[places[..., None] + np.arange(form.component.bytes)] = np.ascontiguousarray(elements)[..., None].view(np.uint8)


def _elements(region: Region, places: np.ndarray, component: ComponentType) -> np.ndarray:
    """Read the bits of the elements at ``places``, in the same shape."""
    found = region.memory[region.start + places[..., None] + np.arange(component.bytes)]
    return np.ascontiguousarray(found).view(component.bits_dtype)[..., 0]


def _may_widen(wide: ComponentType, narrow: ComponentType) -> bool:
    return wide.name in ("f32", "f16") and narrow.is_float and narrow.bits < wide.bits


def _overlap(regions: Sequence[Region]) -> bool:
    """Return whether two regions share memory."""
    return any(np.shares_memory(one.memory, other.memory) for at, one in enumerate(regions) for other in regions[at + 1 :])
