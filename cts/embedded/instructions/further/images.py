"""Images of one level and one sample: reads, writes, fetches, samples and queries (SPIR-V 3.42.10).

A device chooses the precision of a sampler's weights. This device computes in binary64 and rounds once.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from cts.embedded.diagnostics import UndefinedUse, Unsupported, Violation, need, needed
from cts.embedded.instructions.memory.access import load_number, store_number
from cts.embedded.instructions.registry import executes
from cts.embedded.machine.machine import Machine, Run
from cts.embedded.machine.pointers import BytePointer, ImagePlace
from cts.embedded.memory.ordering import Manner, Reach
from cts.embedded.module.translation import Translation, Words
from cts.embedded.observations import Severity
from cts.embedded.types.shapes import element_of
from cts.embedded.types.spirv_types import ImageType, Number, SampledImageType, Vector, number
from cts.embedded.types.values import UNDEFINED, Undefined, Value, spread
from generators.images import AddressMode, Format
from generators.spirv.enumerants import MemoryAccess, Op

RULE = "Vulkan, Texel Coordinate Validation"

_LOD, _CONST_OFFSET, _OFFSET, _MAKE_AVAILABLE, _MAKE_VISIBLE, _NON_PRIVATE = 0x2, 0x8, 0x10, 0x100, 0x200, 0x400
_KNOWN = _LOD | _CONST_OFFSET | _OFFSET | _MAKE_AVAILABLE | _MAKE_VISIBLE | _NON_PRIVATE | 0x800 | 0x1000 | 0x2000
_WITH_OPERAND = 0x1 | _LOD | _CONST_OFFSET | _OFFSET | 0x20 | 0x40 | 0x80 | _MAKE_AVAILABLE | _MAKE_VISIBLE
"""Bits of the Image Operands (SPIR-V 3.14). Volatile, SignExtend and ZeroExtend change nothing here."""

_NON_PRIVATE_ACCESS = int(MemoryAccess.NonPrivatePointer)

_COORDINATES: Mapping[int, int] = MappingProxyType({0: 1, 1: 2, 2: 3, 5: 1})
"""Dim (1D, 2D, 3D, Buffer) -> the number of coordinates of a texel."""

Coordinates = list[np.ndarray]


@dataclass(frozen=True)
class _Operands:
    """Image Operands: how an access takes part in ordering, and the ids of offset and level, 0 if there is none."""

    manner: Manner
    offset: int
    level: int


def _image_operands(translation: Translation, words: Words) -> _Operands:
    mask, rest = (words[0], list(words[1:])) if words else (0, [])
    if mask & ~_KNOWN:
        raise Unsupported(f"image operands {mask:#x}")
    given: dict[int, int] = {}
    for bit in (1 << place for place in range(14)):
        if mask & bit & _WITH_OPERAND:
            given[bit] = rest.pop(0)
    available, visible = (Reach.BEYOND if mask & bit else Reach.NONE for bit in (_MAKE_AVAILABLE, _MAKE_VISIBLE))
    manner = translation.manner(_NON_PRIVATE_ACCESS if mask & _NON_PRIVATE else 0, available, visible)
    return _Operands(manner, given.get(_OFFSET, given.get(_CONST_OFFSET, 0)), given.get(_LOD, 0))


def _type_of(translation: Translation, id_: int) -> ImageType:
    type_ = translation.type_of[id_]
    type_ = needed(type_.image if isinstance(type_, SampledImageType) else type_, ImageType, "the operand is not an image")
    if type_.dim not in _COORDINATES or type_.is_multisampled:
        raise Unsupported(f"images of Dim {type_.dim}" + (" with several samples" if type_.is_multisampled else ""))
    return type_


def _whole(translation: Translation, id_: int, count: int) -> Callable[[], Coordinates]:
    """Return a function that returns ``count`` integer coordinates, each int64 of shape (invocations,)."""
    type_, lanes, values = translation.type_of[id_], translation.machine.lanes, translation.values
    element = element_of(type_)
    need(isinstance(element, Number) and not element.is_float, "the coordinates are not integers")
    need((type_.count if isinstance(type_, Vector) else 1) >= count, "there are too few coordinates")
    assert isinstance(element, Number)

    def coordinates() -> Coordinates:
        parts = values[id_] if isinstance(type_, Vector) else (values[id_],)
        _refuse_undefined(parts)
        spread_out = [spread(element, part, lanes) for part in parts[:count]]
        return [(x.view(element.signed_dtype) if element.component.is_signed else x).astype(np.int64) for x in spread_out]

    return coordinates


def _refuse_undefined(parts: Any) -> None:
    if any(isinstance(part, Undefined) for part in parts):
        raise UndefinedUse("an undefined coordinate, or an undefined texel that is written")


def _inside(place: ImagePlace, at: Coordinates) -> np.ndarray:
    found = np.ones(at[0].shape, bool)
    for x, size in zip(at, place.slot.size, strict=False):
        found &= (x >= 0) & (x < size)
    return found


def _first_byte(place: ImagePlace, at: Coordinates) -> np.ndarray:
    (width, height, _), padded = place.slot.size, [*at, *([np.zeros(1, np.int64)] * (3 - len(at)))]
    found: np.ndarray = ((padded[2] * height + padded[1]) * width + padded[0]) * place.slot.format.bytes
    return found


def _channel_type(format_: Format) -> Number:
    return number(format_.component.name)


def _opened(format_: Format, raw: Value, to: Number) -> Value:
    """Decode a channel to a component of a texel."""
    if isinstance(raw, Undefined):
        return raw
    component = format_.component
    x = np.asarray(raw)
    if component.is_signed:
        x = x.astype(component.bits_dtype).view(component.dtype)
    if format_.normalized:
        largest = (1 << component.precision) - 1
        x = np.maximum(x.astype(np.float64) / largest, -1.0)
    if to.is_float:
        return x.astype(to.dtype)
    return x.astype(to.signed_dtype if component.is_signed else to.dtype).astype(to.signed_dtype).view(to.dtype)


def _closed(format_: Format, value: np.ndarray, from_: Number) -> np.ndarray:
    """Encode a component of a texel as a channel: its bits, or a float."""
    component = format_.component
    if format_.normalized:
        low = -1.0 if component.is_signed else 0.0
        scaled = np.rint(np.clip(np.nan_to_num(value.astype(np.float64)), low, 1.0) * ((1 << component.precision) - 1))
        return scaled.astype(np.int64).astype(component.bits_dtype)
    if component.is_float:
        return value.astype(component.dtype)
    return value.astype(np.dtype(f"u{from_.bytes}")).astype(component.bits_dtype)


def _check_kind(format_: Format, type_: Number, what: str) -> None:
    if type_.is_float != (format_.component.is_float or format_.normalized):
        raise Violation("Vulkan, Image Format and Type Matching", f"a {what} of {type_.component} from an image of {format_.component}")


def _texel(machine: Machine, place: ImagePlace, at: Coordinates, to: Number, manner: Manner) -> list[Value]:
    """Return the four components of a texel inside of the image."""
    format_ = place.slot.format
    _check_kind(format_, to, "read")
    first = np.broadcast_to(_first_byte(place, at), machine.lanes)
    channel = _channel_type(format_)
    found: list[Value] = []
    for i in range(format_.channels):
        raw = load_number(machine, place.memory, first + i * channel.bytes, channel, manner)
        found.append(_opened(format_, raw, to))
    zero, one = to.dtype.type(0), to.dtype.type(1)
    return found + [zero if to.is_float else 0] * (3 - len(found)) + ([one if to.is_float else 1] if len(found) < 4 else [])


def _result(translation: Translation, words: Words) -> tuple[Number, bool]:
    type_ = translation.types[words[0]]
    element = needed(element_of(type_), Number, "a texel is not a number")
    return element, isinstance(type_, Vector)


@executes(Op.ImageRead, Op.ImageFetch)
def _read(translation: Translation, words: Words) -> Run:
    """Return a function that reads a texel (OpImageRead, OpImageFetch)."""
    machine, values = translation.machine, translation.values
    type_ = _type_of(translation, words[2])
    count = _COORDINATES[type_.dim] + type_.is_arrayed
    coordinates, operands = _whole(translation, words[3], count), _image_operands(translation, words[4:])
    offset = _whole(translation, operands.offset, _COORDINATES[type_.dim]) if operands.offset else None
    to, is_vector = _result(translation, words)
    level = operands.level

    def run() -> Value:
        place: ImagePlace = values[words[2]]
        at = coordinates()
        if offset is not None:
            moved = offset()
            at = [x + moved[i] if i < len(moved) else x for i, x in enumerate(at)]
        inside = _inside(place, at)
        if level:
            inside &= spread(number("u32"), values[level], machine.lanes) == 0
        if not inside[machine.mask].all():
            severity = Severity.ROBUSTNESS if place.memory.robust else None
            machine.forbid(RULE, f"a texel outside of '{place.memory.name}' is read", ~inside, severity)
            at = [np.where(inside, x, 0) for x in at]
        parts = _texel(machine, place, at, to, operands.manner)
        if not inside[machine.mask].all():
            parts = [np.where(inside, part, to.dtype.type(0)) for part in parts]
        return tuple(parts) if is_vector else parts[0]

    return run


@executes(Op.ImageWrite)
def _write(translation: Translation, words: Words) -> Run:
    """Return a function that writes a texel (OpImageWrite). Writes outside of the image are defined: they do nothing."""
    machine, values = translation.machine, translation.values
    type_ = _type_of(translation, words[0])
    coordinates = _whole(translation, words[1], _COORDINATES[type_.dim] + type_.is_arrayed)
    operands = _image_operands(translation, words[3:])
    of_texel = translation.type_of[words[2]]
    from_ = needed(element_of(of_texel), Number, "a texel is not a number")

    def run() -> None:
        place: ImagePlace = values[words[0]]
        format_ = place.slot.format
        _check_kind(format_, from_, "write")
        if not place.memory.check_writable():
            return
        at = coordinates()
        inside = _inside(place, at)
        if not (inside & machine.mask).any():
            return
        parts = values[words[2]] if isinstance(of_texel, Vector) else (values[words[2]],)
        need(len(parts) >= format_.channels, f"a texel of {len(parts)} components for {format_.channels} channels")
        _refuse_undefined(parts[: format_.channels])
        first = np.broadcast_to(_first_byte(place, [np.where(inside, x, 0) for x in at]), machine.lanes)
        channel = _channel_type(format_)
        with machine.only(machine.mask & inside):
            for i in range(format_.channels):
                data = _closed(format_, spread(from_, parts[i], machine.lanes), from_)
                store_number(machine, BytePointer(place.memory, first + i * channel.bytes), channel, data, operands.manner)

    return run


def _wrapped(x: np.ndarray, size: int, mode: AddressMode) -> np.ndarray:
    if mode == "repeat":
        return x % size
    if mode == "mirrored_repeat":
        folded = x % (2 * size)
        x = np.where(folded < size, folded, 2 * size - 1 - folded)
    found: np.ndarray = np.clip(x, 0, size - 1)
    return found


@executes(Op.ImageSampleExplicitLod)
def _sample(translation: Translation, words: Words) -> Run:
    """Return a function that samples an image (OpImageSampleExplicitLod). The level of detail has no effect on one level."""
    machine, values = translation.machine, translation.values
    type_ = _type_of(translation, words[2])
    count = _COORDINATES[type_.dim]
    floats = translation.type_of[words[3]]
    element = element_of(floats)
    need(isinstance(element, Number) and element.is_float, "the coordinates are not floats")
    need((floats.count if isinstance(floats, Vector) else 1) >= count + type_.is_arrayed, "there are too few coordinates")
    assert isinstance(element, Number)
    to, is_vector = _result(translation, words)
    operands = _image_operands(translation, (words[4], *words[5:]))
    offset = _whole(translation, operands.offset, count) if operands.offset else None

    def run() -> Value:
        place: ImagePlace = values[words[2]]
        parts = values[words[3]] if isinstance(floats, Vector) else (values[words[3]],)
        _refuse_undefined(parts)
        given = [spread(element, part, machine.lanes).astype(np.float64) for part in parts]
        moved = offset() if offset is not None else [np.zeros(1, np.int64)] * count
        is_linear = place.slot.filter == "linear"
        axes = []
        for i in range(count):
            size = place.slot.size[i]
            x = np.nan_to_num(given[i]) * size - (0.5 if is_linear else 0.0)
            low = np.floor(x)
            near = [(low, 1.0 - (x - low)), (low + 1, x - low)] if is_linear else [(low, np.ones(1))]
            axes.append([(_wrapped(p.astype(np.int64) + moved[i], size, place.slot.address), weight) for p, weight in near])
        layer = []
        if type_.is_arrayed:
            last = np.rint(given[count]).astype(np.int64)
            layer = [np.clip(last, 0, place.slot.size[count] - 1)]
        total: list[Any] = [0.0] * 4
        wide = number("f64") if to.is_float else to
        for corner in itertools.product(*axes):
            weight = np.prod([np.broadcast_to(w, machine.lanes) for _, w in corner], axis=0)
            texel = _texel(machine, place, [p for p, _ in corner] + layer, wide, operands.manner)
            if any(isinstance(part, Undefined) for part in texel):
                return (UNDEFINED,) * 4 if is_vector else UNDEFINED
            total = [sum_ + weight * np.asarray(part) for sum_, part in zip(total, texel, strict=True)] if to.is_float else texel
        found = [np.asarray(part).astype(to.dtype) for part in total] if to.is_float else total
        return tuple(found) if is_vector else found[0]

    return run


@executes(Op.ImageQuerySize, Op.ImageQuerySizeLod)
def _size(translation: Translation, words: Words) -> Run:
    values, type_ = translation.values, _type_of(translation, words[2])
    count = _COORDINATES[type_.dim] + type_.is_arrayed
    is_vector = isinstance(translation.types[words[0]], Vector)

    def run() -> Value:
        sizes: tuple[int, ...] = values[words[2]].slot.size[:count]
        return sizes if is_vector else sizes[0]

    return run


@executes(Op.ImageQueryLevels, Op.ImageQuerySamples)
def _one(translation: Translation, words: Words) -> Run:  # noqa: ARG001 (the parameters of every handler)
    """Return a function that returns the number of levels or samples: 1."""
    return lambda: 1


@executes(Op.SampledImage)
def _with_sampler(translation: Translation, words: Words) -> Run:
    values = translation.values
    return lambda: values[words[2]].sampled_like(values[words[3]])


@executes(Op.Image)
def _same(translation: Translation, words: Words) -> Run:
    values = translation.values
    return lambda: values[words[2]]


@executes(Op.ImageTexelPointer)
def _texel_pointer(translation: Translation, words: Words) -> Run:
    """Return a function that returns a pointer to a texel for an atomic (OpImageTexelPointer)."""
    machine, values, pointer = translation.machine, translation.values, words[2]
    type_ = translation.pointee(pointer)
    need(isinstance(type_, ImageType) and type_.dim in _COORDINATES, "the pointer does not point to an image")
    assert isinstance(type_, ImageType)
    coordinates = _whole(translation, words[3], _COORDINATES[type_.dim] + type_.is_arrayed)

    def run() -> Value:
        place: ImagePlace = values[pointer]
        at = coordinates()
        inside = _inside(place, at)
        if not inside[machine.mask].all():
            machine.forbid(RULE, f"an atomic access of a texel outside of '{place.memory.name}'", ~inside)
            at = [np.where(inside, x, 0) for x in at]
        return BytePointer(place.memory, np.broadcast_to(_first_byte(place, at), machine.lanes).astype(np.int64))

    return run
