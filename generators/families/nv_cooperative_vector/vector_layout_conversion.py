"""vector_layout_conversion: conversions of matrices between layouts and component types without a shader."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import Literal

import numpy as np

from generators.layout_conversion import FLOAT8, Between, Capacity, LayoutConversion, MatrixForm, may_convert
from generators.numerics.formats import encode, largest_finite, sign_bit, values
from generators.numerics.rounding import nearest
from generators.parameters.declaration import parameter
from generators.parameters.vectors import MATRIX_LAYOUTS
from generators.parameters.vocabulary import parse_shape
from generators.types import COMPONENT_TYPES, ComponentType, ConversionCommand, VectorMatrixLayout

_TYPES_OF = MappingProxyType({"first": (0, 1, 1, 2), "second": (0, 0, 1, 2), "third": (0, 1, 2, 2)})
"""For each value of the parameter ``change``, which of three types each of the four forms has."""

_MULTIPLIER = 40507
"""A prime. Modulo a count that it does not divide, its multiples are all numbers below the count, and adjacent multiples are far apart."""

Stride = Literal["tight", "padded", "wide"]
Data = Literal["exact", "ties", "beyond", "halves"]


def parse_layouts(text: str) -> tuple[VectorMatrixLayout, ...]:
    """Return the layouts that a label such as ``row-inferencing-column`` names; raises ValueError."""
    names = text.split("-")
    if len(names) not in (3, 4) or any(name not in MATRIX_LAYOUTS for name in names):
        raise ValueError(f"three or four of {', '.join(MATRIX_LAYOUTS)}, such as row-inferencing-column")
    found = tuple(MATRIX_LAYOUTS[name] for name in names)
    if found[0].is_optimal or found[-1].is_optimal:
        raise ValueError("a chain that begins and ends with row or column, such as row-inferencing-column")
    return found


def parse_types(text: str) -> tuple[ComponentType, ...]:
    """Return the three component types that a label such as ``f16.e4m3.f32`` names; raises ValueError."""
    names = text.split(".")
    if len(names) != 3 or any(name not in COMPONENT_TYPES for name in names):
        raise ValueError("three component types, such as f16.e4m3.f32")
    return tuple(COMPONENT_TYPES[name] for name in names)


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """The parameters of a case."""

    types: tuple[ComponentType, ...] = parameter("component types of the given, converted and last matrix", decode=parse_types)
    layouts: tuple[VectorMatrixLayout, ...] = parameter("layouts of the chain", decode=parse_layouts)
    size: tuple[int, int] = parameter("rows and columns", default="13x7", decode=parse_shape)
    change: Literal["first", "second", "third"] = parameter(
        "which of three conversions changes the type", default="first", applies=lambda parameters: len(parameters.layouts) == 4
    )
    source_stride: Stride = parameter("stride of the given matrix", default="padded")
    result_stride: Stride = parameter("stride of the last matrix, and of others in row-major or column-major layout", default="padded")
    commands: Literal["host", "device", "alternate"] = parameter("which command makes each conversion", default="host")
    matrices: int = parameter("matrices that one command converts", default=1, applies=lambda parameters: parameters.commands == "device")
    capacity: Capacity = parameter(
        "bytes of the destination, as the command is told", default="exact", applies=lambda parameters: parameters.commands == "host"
    )
    data: Data = parameter("values of the elements", default="exact")
    between: Between = parameter("what happens to the first optimal matrix", default="nothing")


def _components(parameters: Parameters) -> tuple[ComponentType, ...]:
    """Return the type of each form."""
    types = parameters.types
    if len(parameters.layouts) == 3:
        return types
    return tuple(types[number] for number in _TYPES_OF[parameters.change])


def _valid(parameters: Parameters) -> bool:
    """Return whether Vulkan permits these conversions."""
    components = _components(parameters)
    pairs = all(may_convert(*pair) for pair in pairwise(components))
    return pairs and not any(
        component.name in FLOAT8 and not layout.is_optimal for component, layout in zip(components[1:], parameters.layouts[1:], strict=True)
    )


def _halfway(parameters: Parameters) -> bool:
    """Return whether the given type has numbers between two adjacent numbers of another type in the chain."""
    components = _components(parameters)
    return components[0].is_float and min(component.bits for component in components) < components[0].bits


def _changes(parameters: Parameters) -> bool:
    """Return whether the parameter ``change`` has an effect different from its first label."""
    types = parameters.types
    if len(parameters.layouts) == 3 or parameters.change == "first":
        return True
    return types[0] is not types[1] if parameters.change == "second" else types[1] is not types[2]


PREDICATES: Mapping[str, Callable[[Parameters], bool]] = MappingProxyType({"valid": _valid, "changes": _changes, "halfway": _halfway})


def _stride(layout: VectorMatrixLayout, component: ComponentType, size: tuple[int, int], kind: Stride) -> int:
    """Return the bytes from row to row or column to column: without padding, with one element of padding, or rounded up to a multiple of 64
    plus 64."""
    if layout.is_optimal:
        return 0
    line = size[layout is VectorMatrixLayout.ROW_MAJOR] * component.bytes
    return {"tight": line, "padded": line + component.bytes, "wide": -(-line // 64) * 64 + 64}[kind]


def _ascending(numbers: np.ndarray) -> np.ndarray:
    """Return each number once, in ascending order, with 0 for both zeros: which zero numpy keeps depends on the processor."""
    return np.unique(numbers + 0.0)


@lru_cache(maxsize=64)
def _numbers(component: ComponentType, narrowest: ComponentType, data: Data, halved: bool) -> np.ndarray:
    """Return bits of ``component`` through which cases cycle.

    Args:
        component: the component type of the given matrix.
        narrowest: the chain's type with the fewest values.
        data: the kind of data.
        halved: whether to return only numbers that every type can double.
    """
    if not component.is_float:
        return np.arange(1 << min(component.bits, 16)).astype(component.bits_dtype)
    limit = largest_finite(narrowest)
    if data == "halves":
        return np.arange(1 << 16).astype(component.bits_dtype)
    # Every number of the narrowest type, or of f16 if that type is wider: all types keep these numbers unchanged.
    named = narrowest if narrowest.bits <= 16 else COMPONENT_TYPES["f16"]
    known = values(np.arange(1 << named.bits).astype(named.bits_dtype), named)
    known = _ascending(known[np.isfinite(known)])
    if data == "exact":
        if component.name == "f32" and narrowest is component:
            bits = (np.arange(1, 1 << 14, dtype=np.uint64) * 0x9E3779B1 % (1 << 32)).astype(np.uint32)
            numbers = values(bits, component)
            bits = bits[np.isfinite(numbers) & (np.abs(numbers) < limit / 4)]
            return np.asarray(bits)
        numbers = known[np.abs(known) <= limit / 2] if halved else known
        return encode(component, numbers)
    step = np.diff(known)
    if data == "ties":
        middle = known[:-1] + step / 2
        near = [middle, middle + step / 8, middle - step / 8, known[:-1] + step / 16]
        if component.name == "f32":
            # The nearest f32 on both sides of each tie.
            ties = middle.astype(np.float32)
            near += [np.nextafter(ties, np.float32(np.inf)).astype(np.float64), np.nextafter(ties, np.float32(-np.inf)).astype(np.float64)]
        found = np.concatenate(near)
        found = found[nearest(component, found) == found]
        return encode(component, _ascending(found[np.isfinite(nearest(narrowest, found))]))
    last = float(step[-1])
    around = limit + last * np.array([-1.0, 0.0, 0.25, 0.5, 0.75, 1.0, 2.0, 16.0])
    beyond = np.concatenate((around, [largest_finite(component), np.inf, 1.0, 0.0]))
    with np.errstate(over="ignore"):
        return encode(component, np.concatenate((beyond, -beyond, [np.nan])))


def _data(parameters: Parameters) -> np.ndarray:
    """Return bits of all matrices: (matrices, rows, columns)."""
    components = _components(parameters)
    narrowest = min(components, key=lambda component: (component.bits, component.precision))
    found = _numbers(components[0], narrowest, parameters.data, parameters.between == "doubled")
    rows, columns = parameters.size
    number = np.arange(parameters.matrices * rows * columns)
    count = len(found)
    step = _MULTIPLIER if count % _MULTIPLIER else 1
    # Go through all numbers once, then start again at another one; each matrix has different numbers from the one before.
    order = (number * step + number // count * 5 + 11) % count
    bits = np.array(found[order].reshape(parameters.matrices, rows, columns))
    if parameters.data == "exact" and components[0].is_float and rows * columns > 1:
        # Among thousands of numbers, few cases would have this one.
        bits[:, rows // 2, columns // 2] = sign_bit(components[0])
    return bits


def _commands(parameters: Parameters) -> tuple[ConversionCommand, ...]:
    conversions = len(parameters.layouts) - 1
    if parameters.commands == "alternate":
        return tuple("device" if number % 2 else "host" for number in range(conversions))
    return (parameters.commands,) * conversions


def conversion(parameters: Parameters) -> LayoutConversion:
    """Return the conversions of a case."""
    components = _components(parameters)
    forms = []
    for place, (component, layout) in enumerate(zip(components, parameters.layouts, strict=True)):
        kind = parameters.result_stride if place else parameters.source_stride
        forms.append(MatrixForm(component, layout, _stride(layout, component, parameters.size, kind)))
    return LayoutConversion(
        *parameters.size,
        tuple(forms),
        _commands(parameters),
        _data(parameters),
        parameters.capacity,
        parameters.between,
    )
