"""Fits a job to a device: sizes and places of matrices, their contents, offsets that the module is told, and the pipeline's subgroups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from cts.devices.device import Device, DeviceDescription
from cts.devices.kernel_needs import needs_of
from cts.devices.layout_conversion import missing_for
from cts.run_module.job import Job
from cts.run_module.matrices import placed
from cts.verdict.codes import Reason
from generators.errors import GeneratorError
from generators.kernel import Dispatch, HeldMatrix, Kernel


@dataclass(frozen=True)
class Placed:
    """A job on one device: what the device runs, and where its matrices are, by buffer."""

    kernel: Kernel
    dispatch: Dispatch
    matrices: Mapping[str, tuple[HeldMatrix, ...]]


def lacking(job: Job, description: DeviceDescription) -> Reason | None:
    """Return the first thing that a device lacks for the matrices of a job; None if it lacks nothing."""
    optimal = [one for matrices in job.matrices.values() for one in matrices if one.form.layout.is_optimal]
    if not optimal:
        return None
    forms = [form for one in optimal for form in (one.outer, one.form)]
    return missing_for(description, forms, {one.command for one in optimal})


def place(job: Job, device: Device) -> Placed:
    """Return a job for a device, whose own command has converted the matrices.

    Raises:
        DeviceFailure: a conversion fails.
        JobError: matrices overlap on this device.
    """
    name = device.description.name
    held = {buffer: placed(matrices, device, name) for buffer, matrices in job.matrices.items()}
    slots, contents = [], []
    for slot, data in zip(job.kernel.buffers, job.dispatch.contents, strict=True):
        here = held.get(slot.name, ())
        size = max([slot.bytes, *(one.at + one.bytes for one in here)])
        filled = np.concatenate([data, np.zeros(size - data.size, np.uint8)])
        for one, matrix in zip(here, job.matrices.get(slot.name, ()), strict=True):
            filled[one.at : one.at + one.bytes] = matrix.put_in(device, one.bytes)
        slots.append(replace(slot, bytes=size, matrices=here))
        contents.append(filled)
    push = bytearray(job.dispatch.push_constants)
    begins = {one.name: one.at for matrices in held.values() for one in matrices}
    buffers = {slot.name: data for slot, data in zip(slots, contents, strict=True)}
    for told in job.offsets:
        number = begins[told.matrix].to_bytes(told.bytes, "little")
        if told.buffer is None:
            push[told.at : told.at + told.bytes] = number
        else:
            buffers[told.buffer][told.at : told.at + told.bytes] = np.frombuffer(number, np.uint8)
    kernel = replace(job.kernel, buffers=tuple(slots), full_subgroups=_full(job.kernel, device.description))
    return Placed(kernel, replace(job.dispatch, push_constants=bytes(push), contents=tuple(contents)), held)


def taken_out(job: Job, on: Placed, device: Device, outputs: Mapping[str, np.ndarray]) -> tuple[dict[str, np.ndarray], tuple[str, ...]]:
    """Return the results with the row-major elements of each matrix in place of its buffer, and writes outside of matrices in words.

    Raises:
        DeviceFailure: a conversion fails.
    """
    found, stray = {}, []
    before = {slot.name: data for slot, data in zip(on.kernel.buffers, on.dispatch.contents, strict=True)}
    for name, data in outputs.items():
        if name not in job.matrices:
            found[name] = data
            continue
        changed = data != before[name]
        for held, matrix in zip(on.matrices[name], job.matrices[name], strict=True):
            part = data[held.at : held.at + held.bytes]
            found[held.name] = np.ascontiguousarray(matrix.taken_out(device, part)).view(np.uint8).reshape(-1)
            changed[held.at + (np.arange(held.bytes) if held.layout.is_optimal else matrix.element_bytes())] = False
        if changed.any():
            stray.append(
                f"{np.count_nonzero(changed)} bytes of '{name}' that belong to no matrix were written, from byte {changed.argmax()}"
            )
    return found, tuple(stray)


def _full(kernel: Kernel, description: DeviceDescription) -> bool | None:
    """Return whether the pipeline requires full subgroups: by default, unless the local size forbids it (VUID 02758)."""
    if kernel.full_subgroups is not None:
        return kernel.full_subgroups
    try:
        size = needs_of(kernel).sizes.local_size
    except GeneratorError:
        return None
    return False if size is not None and size[0] % (kernel.required_subgroup_size or description.subgroup_size) else None
