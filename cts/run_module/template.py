"""A job for a module, with a buffer for each binding, to be filled in."""

from __future__ import annotations

from cts.embedded.interface import Constant, Interface
from generators.stages import Stage
from generators.types import SCALAR_TYPES

_ELEMENTS = 256
_INVOCATIONS = 32


def template(interface: Interface, stage: Stage = "compute") -> str:
    """Return the job as YAML. ``stage``: the stage of the entry point."""
    size = "workgroups: [1, 1, 1]" if stage == "compute" else f"draw: [{_INVOCATIONS}, 1]"
    lines = [f"entry_point: {interface.entry_point}", size, "# subgroup_size: 32", "# full_subgroups: false", "# robust: true"]
    if interface.constants:
        lines.append("specialization:")
        lines += [f"  {one.constant_id}: {_default(one)}  # {one.name}, {one.component}" for one in interface.constants]
    if interface.push_constants:
        lines.append("push_constants:")
    for name, at, type_, count in interface.push_constants:
        zeros = ", ".join(["0"] * min(count, _ELEMENTS))
        hint = "; or address_of: BUFFER in place of type and data" if type_ == "u64" else ""
        lines.append(f"  - {{at: {at}, type: {type_}, data: [{zeros}]}}  # {name}{hint}")
    if interface.bindings:
        lines.append("buffers:")
        lines.append("  # in place of type and data: matrices: {NAME: {rows: 8, columns: 16, type: f16, layout: inferencing_optimal}}")
    for one in interface.bindings:
        length = one.bytes + one.stride * _ELEMENTS
        place = f"binding: {one.binding}" + (f", set: {one.descriptor_set}" if one.descriptor_set else "")
        if one.is_image:
            lines.append(f"  {one.name}: {{{place}, image: {{format: rgba32f, size: [16, 16], filter: nearest}}, data: {{random: 1}}}}")
            continue
        is_float = one.element is not None and SCALAR_TYPES[one.element].is_float
        limits = "" if is_float else ", low: 0, high: 9"
        values = "" if one.is_written else f"data: {{random: 1{limits}}}, "
        lines.append(f"  {one.name}: {{{place}, type: {one.element or 'u32'}, {values}bytes: {max(length, 4)}}}")
        if one.is_written:
            lines.append("    # expected: [...], or {fill: 0, count: 4}; tolerance: {absolute: 0, relative: 0}")
    return "\n".join(lines) + "\n"


def _default(one: Constant) -> str:
    if not one.component.is_float:
        return str(one.default)
    bits = one.component.bits_dtype.type(one.default)
    return str(float(bits.view(one.component.dtype)))
