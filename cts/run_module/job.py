"""The job of a module: a YAML file with its bindings, data and expected results. docs/run_module.md explains the keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
import yaml

from cts.embedded.interface import Binding, Interface
from generators.bounded_files import Unreadable, read_bytes, read_text
from generators.errors import CtsError
from generators.images import AddressMode, Filter, ImageSlot, format_named
from generators.kernel import BufferSlot, Dispatch, Kernel, Specialization
from generators.types import SCALAR_TYPES, ComponentType

_MOST_BYTES = 1 << 30
_MOST_JOB_BYTES = 1 << 26
_Count = Annotated[int, msgspec.Meta(ge=0)]
_Positive = Annotated[int, msgspec.Meta(ge=1)]
_Number = int | float


class JobError(CtsError):
    """A job cannot be read, or does not fit its module; the message says what to change."""


class Values(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Numbers that a rule makes: exactly one of ``fill``, ``range`` (start and step), ``random`` (a seed) and ``file``."""

    count: _Count | None = None
    fill: _Number | None = None
    range: tuple[_Number, _Number] | None = None
    random: int | None = None
    low: _Number = -1
    high: _Number = 1
    file: str | None = None


class Tolerance(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """How far a number may be from the expected one: ``absolute`` plus ``relative`` times the expected one's magnitude."""

    absolute: float = 0.0
    relative: float = 0.0


class ImageJob(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """An image, or a sampler. See docs/run_module.md."""

    format: str = "rgba32f"
    size: list[_Count] = []
    filter: Filter = "nearest"
    address: AddressMode = "clamp_to_edge"


class BufferJob(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One buffer. See docs/run_module.md."""

    type: str | None = None
    binding: _Count | None = None
    set: _Count = 0
    element: _Count = 0
    image: ImageJob | None = None
    data: list[_Number] | Values | None = None
    bytes: _Count | None = None
    written: bool | None = None
    expected: list[_Number] | Values | None = None
    tolerance: Tolerance = Tolerance()
    addresses: dict[int, str] = {}


class PushConstant(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Numbers, or the address of a buffer, at byte ``at`` of the push constants; without ``at``, directly after the previous entry."""

    at: _Count | None = None
    type: str = "u32"
    data: list[_Number] | None = None
    address_of: str | None = None


class JobDocument(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The file."""

    entry_point: str | None = None
    workgroups: tuple[_Positive, _Positive, _Positive] = (1, 1, 1)
    subgroup_size: _Positive | None = None
    robust: bool = False
    specialization: dict[int, _Number | bool] = {}
    push_constants: list[PushConstant] = []
    buffers: dict[str, BufferJob] = {}


@dataclass(frozen=True)
class Expectation:
    """The expected contents of a buffer: elements of ``component``, within ``tolerance`` (zero: the same bits)."""

    component: ComponentType
    elements: np.ndarray
    tolerance: Tolerance


@dataclass(frozen=True)
class Job:
    """A module, its data, and its expected results.

    Attributes:
        kernel, dispatch: the module and its dispatch, for a device.
        components: name of a buffer -> its type, for reports.
        tolerances: name of a buffer -> its tolerance.
        expected: name of a buffer -> its expected contents.
    """

    kernel: Kernel
    dispatch: Dispatch
    components: Mapping[str, ComponentType]
    tolerances: Mapping[str, Tolerance]
    expected: Mapping[str, Expectation]


def read_document(path: Path) -> JobDocument:
    """Read a job.

    Raises:
        JobError: it is not a file, not YAML, or not a job.
    """
    try:
        text = read_text(path, _MOST_JOB_BYTES)
    except Unreadable as error:
        raise JobError(f"{path}: cannot be read: {error}") from error
    try:
        return msgspec.convert(yaml.safe_load(text) or {}, JobDocument)
    except (yaml.YAMLError, RecursionError) as error:
        raise JobError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
    except msgspec.ValidationError as error:
        raise JobError(f"{path}: {error}; 'cts run-module SHADER.spv --template' writes a job with every key") from error


def make_job(spirv: bytes, document: JobDocument, interface: Interface, folder: Path) -> Job:
    """Return the job that a document describes for a module.

    Args:
        spirv: the module.
        document: the document.
        interface: the interface of the module.
        folder: the folder of the files that the document names.

    Raises:
        JobError: the document does not fit the module.
    """
    bindings = {(one.descriptor_set, one.binding): one for one in interface.bindings}
    for name, buffer in document.buffers.items():
        bound_to = None if buffer.binding is None else bindings.get((buffer.set, buffer.binding))
        if bound_to is not None and bound_to.is_image is not (buffer.image is not None):
            what = "an image or a sampler, so give it 'image'" if bound_to.is_image else "no image"
            raise JobError(f"buffer '{name}': binding {buffer.binding} of set {buffer.set} is {what}")
        if buffer.binding is not None and bound_to is None:
            known = ", ".join(f"{one.binding} ({one.name})" for one in interface.bindings) or "none"
            raise JobError(f"buffer '{name}': the module has no binding {buffer.binding} in set {buffer.set}; it has {known}")
        for other in buffer.addresses.values():
            _need_buffer(document, other, f"buffer '{name}': addresses")
    bound = {(buffer.set, buffer.binding) for buffer in document.buffers.values()}
    unbound = [one for place, one in bindings.items() if place not in bound]
    if unbound:
        named = ", ".join(f"'{one.name}' (set {one.descriptor_set}, binding {one.binding})" for one in unbound)
        raise JobError(f"the job has no buffer for {named}; 'cts run-module SHADER.spv --template' writes one for each")
    push, addresses = _push_constants(document, interface)
    slots, contents = [], []
    for name, buffer in document.buffers.items():
        data = _contents(name, buffer, folder)
        binding = None if buffer.binding is None else bindings[buffer.set, buffer.binding]
        slots.append(_slot(name, buffer, data.size, binding, addresses))
        contents.append(data)
    kernel = Kernel(
        spirv,
        tuple(slots),
        _specialization(document, interface),
        local_size_constant_id=None,
        push_constant_bytes=len(push),
        entry_point=interface.entry_point,
        required_subgroup_size=document.subgroup_size,
        robust=document.robust,
    )
    components = {name: _type(name, buffer) for name, buffer in document.buffers.items()}
    expected = {}
    for name, buffer in document.buffers.items():
        if buffer.expected is not None:
            numbers = _numbers(buffer.expected, components[name], None, folder, f"buffer '{name}': expected")
            expected[name] = Expectation(components[name], numbers, buffer.tolerance)
    for name, one in expected.items():
        size = next(slot.bytes for slot in slots if slot.name == name)
        if one.elements.nbytes > size:
            raise JobError(f"buffer '{name}': {one.elements.nbytes} bytes are expected, but the buffer has {size}")
    tolerances = {name: buffer.tolerance for name, buffer in document.buffers.items()}
    return Job(kernel, Dispatch(push, tuple(contents), document.workgroups), components, tolerances, expected)


def _slot(name: str, buffer: BufferJob, size: int, binding: Binding | None, addresses: Mapping[str, int]) -> BufferSlot:
    return BufferSlot(
        name,
        size,
        (binding is None or binding.is_written) if buffer.written is None else buffer.written,
        buffer.binding,
        addresses.get(name),
        buffer.element,
        descriptor_set=buffer.set,
        is_uniform=binding is not None and binding.is_uniform,
        addresses=tuple(buffer.addresses.items()),
        image=_image(name, buffer),
    )


def _image(name: str, buffer: BufferJob) -> ImageSlot | None:
    """Return the image whose texels a job gives; a sampler alone has none."""
    if buffer.image is None:
        return None
    given, where = buffer.image, f"buffer '{name}': image"
    found = format_named(given.format)
    if found is None:
        raise JobError(f"{where}: no format '{given.format}'; give one as GLSL names it, such as rgba32f, r32ui, rg16f or rgba8")
    if len(given.size) > 3:
        raise JobError(f"{where}: a size in {len(given.size)} dimensions; at most 3")
    x, y, z = (*given.size, *[1] * (3 - len(given.size))) if given.size else (0, 0, 0)
    slot = ImageSlot(found, (x, y, z), given.filter, given.address)
    if slot.bytes > _MOST_BYTES:
        raise JobError(f"{where}: {slot.bytes:,} bytes; at most {_MOST_BYTES:,}")
    return slot


def _need_buffer(document: JobDocument, name: str, where: str) -> None:
    if name not in document.buffers:
        raise JobError(f"{where}: there is no buffer '{name}'; the job has {', '.join(document.buffers) or 'none'}")


def _type(name: str, buffer: BufferJob) -> ComponentType:
    """Return the type of a buffer's numbers: the job's, else that of an image's channels, else u32."""
    image = _image(name, buffer)
    if buffer.type is None and image is not None:
        return image.format.component
    return _component(buffer.type or "u32", f"buffer '{name}'")


def _component(name: str, where: str) -> ComponentType:
    if name not in SCALAR_TYPES:
        raise JobError(f"{where}: no type '{name}'; one of {', '.join(SCALAR_TYPES)}")
    return SCALAR_TYPES[name]


def _bits(component: ComponentType, value: Any) -> int:
    """Return the bits of a number; integers wrap."""
    if component.is_float:
        return int(np.asarray(value).astype(component.dtype).view(component.bits_dtype))
    return int(value) % (1 << component.bits)


def _specialization(document: JobDocument, interface: Interface) -> tuple[Specialization, ...]:
    known = {one.constant_id: one for one in interface.constants}
    for id_ in document.specialization:
        if id_ not in known:
            names = ", ".join(f"{one.constant_id} ({one.name})" for one in interface.constants) or "none"
            raise JobError(f"specialization: the module has no constant {id_}; it has {names}")
    found = []
    for id_, value in document.specialization.items():
        found.append(Specialization(id_, known[id_].component, _bits(known[id_].component, value)))
    return tuple(found)


def _push_constants(document: JobDocument, interface: Interface) -> tuple[bytes, dict[str, int]]:
    """Return the bytes of the push constants, and the offsets at which addresses of buffers go."""
    block = bytearray(interface.push_constant_bytes)
    addresses: dict[str, int] = {}
    end = 0
    for number, one in enumerate(document.push_constants):
        where = f"push_constants[{number}]"
        at = end if one.at is None else one.at
        if (one.data is None) == (one.address_of is None):
            raise JobError(f"{where}: needs either data or address_of")
        if one.address_of is not None:
            _need_buffer(document, one.address_of, where)
            addresses[one.address_of] = at
            data = bytes(8)
        else:
            data = _array(one.data or [], _component(one.type, where), where).tobytes()
        end = at + len(data)
        if end > len(block):
            raise JobError(f"{where}: bytes {at} to {end - 1}, but the module has {len(block)} bytes of push constants")
        block[at:end] = data
    return bytes(block), addresses


def _array(values: list[_Number], component: ComponentType, where: str) -> np.ndarray:
    try:
        if component.is_float:
            return np.array(values, np.float64).astype(component.dtype)
        return np.array([int(value) % (1 << component.bits) for value in values], component.bits_dtype)
    except (ValueError, OverflowError, TypeError) as error:
        raise JobError(f"{where}: not numbers of {component}: {error}") from error


def _numbers(given: list[_Number] | Values, component: ComponentType, size: int | None, folder: Path, where: str) -> np.ndarray:
    """Return numbers from a list or a rule; if the rule has no count, ``size`` bytes of them."""
    if isinstance(given, list):
        return _array(given, component, where)
    rules = [name for name in ("fill", "range", "random", "file") if getattr(given, name) is not None]
    if len(rules) != 1:
        raise JobError(f"{where}: needs exactly one of fill, range, random and file, not {' and '.join(rules) or 'none'}")
    if given.file is not None:
        return _from_file(folder / given.file, component, where)
    count = given.count if given.count is not None else None if size is None else size // component.bytes
    if count is None:
        raise JobError(f"{where}: needs a count, or bytes of the buffer")
    if count * component.bytes > _MOST_BYTES:
        raise JobError(f"{where}: {count * component.bytes:,} bytes; at most {_MOST_BYTES:,}")
    if given.fill is not None:
        return np.broadcast_to(_array([given.fill], component, where), count)
    if given.range is not None:
        start, step = given.range
        return _array([start + step * i for i in range(count)], component, where)
    generator = np.random.default_rng(given.random)
    if component.is_float:
        return generator.uniform(given.low, given.high, count).astype(component.dtype)
    found = generator.integers(int(given.low), int(given.high), count, endpoint=True)
    return found.astype(np.int64).view(np.uint64).astype(component.bits_dtype)


def _from_file(path: Path, component: ComponentType, where: str) -> np.ndarray:
    try:
        raw = read_bytes(path, _MOST_BYTES)
    except Unreadable as error:
        raise JobError(f"{where}: {path}: {error}") from error
    if len(raw) % component.bytes:
        raise JobError(f"{where}: {path} has {len(raw)} bytes, not a multiple of the {component.bytes} of {component}")
    return np.frombuffer(raw, component.dtype if component.is_float else component.bits_dtype)


def _contents(name: str, buffer: BufferJob, folder: Path) -> np.ndarray:
    """Return the contents of a buffer before the run: uint8, zeros after its data."""
    where = f"buffer '{name}'"
    component, image = _type(name, buffer), _image(name, buffer)
    given = buffer.bytes if image is None else image.bytes
    if buffer.data is None and given is None:
        raise JobError(f"{where}: needs data, bytes, or both")
    data = np.zeros(0, np.uint8)
    if buffer.data is not None:
        data = np.ascontiguousarray(_numbers(buffer.data, component, given, folder, f"{where}: data")).view(np.uint8).ravel()
    size = data.size if given is None else given
    if size > _MOST_BYTES:
        raise JobError(f"{where}: {size:,} bytes; at most {_MOST_BYTES:,}")
    if data.size > size:
        raise JobError(f"{where}: {data.size} bytes of data, but the buffer has {size}")
    for at in buffer.addresses:
        if not 0 <= at <= size - 8:
            raise JobError(f"{where}: an address at byte {at}, but the buffer has {size} bytes")
    return np.concatenate([data, np.zeros(size - data.size, np.uint8)])
