"""The job of a module: a YAML file with its bindings, data and expected results. docs/run_module.md explains the keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import yaml

from cts.embedded.interface import Binding, Interface
from cts.run_module.matrices import Matrix, MatrixJob, make_matrices
from cts.run_module.values import (
    MOST_BYTES,
    Count,
    Figure,
    Given,
    JobError,
    Positive,
    Tolerance,
    array_of,
    component_named,
    numbers_of,
)
from generators.bounded_files import Unreadable, read_text
from generators.images import AddressMode, Filter, ImageSlot, format_named
from generators.kernel import BufferSlot, Dispatch, Kernel, Specialization
from generators.stages import Draw, Stage
from generators.types import ComponentType

_MOST_JOB_BYTES = 1 << 26


class ImageJob(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """An image, or a sampler. See docs/run_module.md."""

    format: str = "rgba32f"
    size: list[Count] = []
    filter: Filter = "nearest"
    address: AddressMode = "clamp_to_edge"


class BufferJob(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One buffer. See docs/run_module.md."""

    type: str | None = None
    binding: Count | None = None
    set: Count = 0
    element: Count = 0
    image: ImageJob | None = None
    data: Given | None = None
    bytes: Count | None = None
    written: bool | None = None
    expected: Given | None = None
    tolerance: Tolerance = Tolerance()
    addresses: dict[int, str] = {}
    matrices: dict[str, MatrixJob] = {}
    offsets: dict[int, str] = {}


class PushConstant(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Numbers, the address of a buffer or the offset of a matrix, at byte ``at`` of the push constants; without ``at``, directly after the
    previous entry."""

    at: Count | None = None
    type: str = "u32"
    data: list[Figure] | None = None
    address_of: str | None = None
    offset_of: str | None = None


class JobDocument(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The file."""

    entry_point: str | None = None
    workgroups: tuple[Positive, Positive, Positive] = (1, 1, 1)
    draw: tuple[Positive, Positive] | None = None
    subgroup_size: Positive | None = None
    full_subgroups: bool | None = None
    robust: bool = False
    specialization: dict[int, Figure | bool] = {}
    push_constants: list[PushConstant] = []
    buffers: dict[str, BufferJob] = {}


@dataclass(frozen=True)
class Expectation:
    """The expected contents of a buffer: elements of ``component``, within ``tolerance`` (zero: the same bits)."""

    component: ComponentType
    elements: np.ndarray
    tolerance: Tolerance


@dataclass(frozen=True)
class Offset:
    """A place where the module finds the offset of a matrix: ``bytes`` from byte ``at`` of a buffer, or of the push constants if None."""

    buffer: str | None
    at: int
    bytes: int
    matrix: str


@dataclass(frozen=True)
class Job:
    """A module, its data, and its expected results.

    Attributes:
        kernel, dispatch: the module and its dispatch, for a device without the contents of matrices.
        components: name of a buffer or a matrix -> its type, for reports.
        tolerances: name of a buffer or a matrix -> its tolerance.
        expected: name of a buffer or a matrix -> its expected contents.
        matrices: name of a buffer -> its matrices, if it has any.
        offsets: where the module finds their offsets.
    """

    kernel: Kernel
    dispatch: Dispatch
    components: Mapping[str, ComponentType]
    tolerances: Mapping[str, Tolerance]
    expected: Mapping[str, Expectation]
    matrices: Mapping[str, tuple[Matrix, ...]]
    offsets: tuple[Offset, ...]


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


def make_job(spirv: bytes, document: JobDocument, interface: Interface, folder: Path, stage: Stage = "compute") -> Job:
    """Return the job that a document describes for a module.

    Args:
        spirv: the module.
        document: the document.
        interface: the interface of the module.
        folder: the folder of the files that the document names.
        stage: the stage of the entry point.

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
    push, addresses, offsets = _push_constants(document, interface)
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
        full_subgroups=document.full_subgroups,
        draw=_draw(document, stage),
        robust=document.robust,
    )
    components = {name: _type(name, buffer) for name, buffer in document.buffers.items()}
    expected = {}
    for name, buffer in document.buffers.items():
        if buffer.expected is not None:
            numbers = numbers_of(buffer.expected, components[name], None, folder, f"buffer '{name}': expected")
            expected[name] = Expectation(components[name], numbers, buffer.tolerance)
    for name, one in expected.items():
        size = next(slot.bytes for slot in slots if slot.name == name)
        if one.elements.nbytes > size:
            raise JobError(f"buffer '{name}': {one.elements.nbytes} bytes are expected, but the buffer has {size}")
    tolerances = {name: buffer.tolerance for name, buffer in document.buffers.items()}
    matrices = {
        name: make_matrices(name, buffer.matrices, components[name], folder) for name, buffer in document.buffers.items() if buffer.matrices
    }
    for matrix in chain.from_iterable(matrices.values()):
        component = matrix.form.component
        components[matrix.name], tolerances[matrix.name] = component, matrix.tolerance
        if matrix.expected is not None:
            numbers = matrix.expected.reshape(-1).view(component.dtype if component.is_float else component.bits_dtype)
            expected[matrix.name] = Expectation(component, numbers, matrix.tolerance)
    for name, buffer in document.buffers.items():
        where = f"buffer '{name}': offsets"
        offsets += [Offset(name, at, 4, _need_matrix(document, told, where)) for at, told in buffer.offsets.items()]
    dispatch = Dispatch(push, tuple(contents), document.workgroups)
    return Job(kernel, dispatch, components, tolerances, expected, matrices, tuple(offsets))


def _draw(document: JobDocument, stage: Stage) -> Draw | None:
    if stage == "compute":
        if document.draw is not None:
            raise JobError("draw: the entry point is for compute; give it workgroups")
        return None
    if document.draw is None or document.workgroups != (1, 1, 1):
        raise JobError(f"the entry point is for the stage {stage}; give it 'draw: [WIDTH, HEIGHT]' and no workgroups")
    if stage != "fragment" and document.draw[1] != 1:
        raise JobError(f"draw: a height of {document.draw[1]} in the stage {stage}; it must be 1")
    return Draw(stage, *document.draw)


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
    if slot.bytes > MOST_BYTES:
        raise JobError(f"{where}: {slot.bytes:,} bytes; at most {MOST_BYTES:,}")
    return slot


def _need_buffer(document: JobDocument, name: str, where: str) -> None:
    if name not in document.buffers:
        raise JobError(f"{where}: there is no buffer '{name}'; the job has {', '.join(document.buffers) or 'none'}")


def _need_matrix(document: JobDocument, name: str, where: str) -> str:
    known = [f"{buffer}.{matrix}" for buffer, one in document.buffers.items() for matrix in one.matrices]
    if name not in known:
        raise JobError(f"{where}: there is no matrix '{name}'; the job has {', '.join(known) or 'none'}")
    return name


def _type(name: str, buffer: BufferJob) -> ComponentType:
    """Return the type of a buffer's numbers: the job's, else that of an image's channels, else u32."""
    image = _image(name, buffer)
    if buffer.type is None and image is not None:
        return image.format.component
    return component_named(buffer.type or "u32", f"buffer '{name}'")


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


def _push_constants(document: JobDocument, interface: Interface) -> tuple[bytes, dict[str, int], list[Offset]]:
    """Return the bytes of the push constants, where addresses of buffers go in them, and where offsets of matrices do."""
    block = bytearray(interface.push_constant_bytes)
    addresses: dict[str, int] = {}
    offsets: list[Offset] = []
    end = 0
    for number, one in enumerate(document.push_constants):
        where = f"push_constants[{number}]"
        at = end if one.at is None else one.at
        if sum(given is not None for given in (one.data, one.address_of, one.offset_of)) != 1:
            raise JobError(f"{where}: needs exactly one of data, address_of and offset_of")
        if one.offset_of is not None:
            data = bytes(component_named(one.type, where).bytes)
            offsets.append(Offset(None, at, len(data), _need_matrix(document, one.offset_of, where)))
        elif one.address_of is not None:
            _need_buffer(document, one.address_of, where)
            addresses[one.address_of] = at
            data = bytes(8)
        else:
            data = array_of(one.data or [], component_named(one.type, where), where).tobytes()
        end = at + len(data)
        if end > len(block):
            raise JobError(f"{where}: bytes {at} to {end - 1}, but the module has {len(block)} bytes of push constants")
        block[at:end] = data
    return bytes(block), addresses, offsets


def _contents(name: str, buffer: BufferJob, folder: Path) -> np.ndarray:
    """Return the contents of a buffer before the run: uint8, zeros after its data."""
    where = f"buffer '{name}'"
    component, image = _type(name, buffer), _image(name, buffer)
    given = buffer.bytes if image is None else image.bytes
    if buffer.matrices and (buffer.data is not None or buffer.expected is not None or buffer.addresses or image is not None):
        raise JobError(
            f"{where}: has matrices, so it has no data, expected, addresses or image of its own; a vector is a matrix with one row"
        )
    if buffer.data is None and given is None:
        if buffer.matrices:
            return np.zeros(0, np.uint8)
        raise JobError(f"{where}: needs data, bytes, matrices, or data and bytes")
    data = np.zeros(0, np.uint8)
    if buffer.data is not None:
        data = np.ascontiguousarray(numbers_of(buffer.data, component, given, folder, f"{where}: data")).view(np.uint8).ravel()
    size = data.size if given is None else given
    if size > MOST_BYTES:
        raise JobError(f"{where}: {size:,} bytes; at most {MOST_BYTES:,}")
    if data.size > size:
        raise JobError(f"{where}: {data.size} bytes of data, but the buffer has {size}")
    for places, width, what in ((buffer.addresses, 8, "address"), (buffer.offsets, 4, "offset")):
        lost = next((at for at in places if not 0 <= at <= size - width), None)
        if lost is not None:
            raise JobError(f"{where}: an {what} at byte {lost}, but the buffer has {size} bytes")
    return np.concatenate([data, np.zeros(size - data.size, np.uint8)])
