"""Writes one C file that runs a kernel case, and needs only a compiler and the Vulkan loader."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import numpy as np

from cts.devices.capabilities import (
    CAPABILITY_FEATURES,
    FLOAT_CAPABILITIES,
    FLOAT_MODES,
    SPIRV_EXTENSIONS,
    STORES_IN_STAGE,
    SUBGROUP_OPERATIONS,
)
from cts.devices.module_needs import ModuleNeeds
from cts.devices.module_reading import read_needs
from cts.repro.feature_structures import FeatureStructure, feature_structures, structure_of
from generators.errors import Lack, NotExpressible
from generators.kernel import Dispatch, Kernel
from generators.spirv.assemble import assemble
from generators.spirv.covering_triangle import CORNERS, COVERING_TRIANGLE
from generators.stages import Draw
from generators.types import Scope

PROGRAM = "repro.c"
COMPILE = "cc -o repro repro.c -lvulkan -lm"

_IF_THERE = ("subgroupSizeControl", "computeFullSubgroups", "shaderSubgroupExtendedTypes", "scalarBlockLayout")
"""Features that a program enables if the device has them."""

_NO_CONSTANT = "UINT32_MAX"
"""A SpecId that no constant has."""

_ROBUST = ("cooperativeMatrixRobustBufferAccess", "pipelineRobustness")


@dataclass(frozen=True)
class Run:
    """One dispatch.

    Attributes:
        folder: the folder of its buffers and expected elements.
        kernel: the kernel; all kernels of a case have the same module and buffers.
        dispatch: its push constants and workgroups.
    """

    folder: str
    kernel: Kernel
    dispatch: Dispatch


@dataclass(frozen=True)
class Condition:
    """An expression of C that is true if a device has the feature that ``words`` names."""

    condition: str
    words: str


def c_program(id_: str, about: Sequence[str], runs: Sequence[Run], disputed: Sequence[str] = ()) -> str:
    """Return the program.

    Args:
        id_: the id of the case.
        about: lines for the first comment.
        runs: its runs, in order.
        disputed: ids of positions without which the text may forbid the module; to refuse it is then only a warning.

    Raises:
        NotExpressible: the program cannot run the case.
    """
    first = runs[0].kernel
    _refuse(runs)
    kernels = list(dict.fromkeys(run.kernel for run in runs))
    needs = read_needs(first.spirv, first.entry_point)
    used = _features(first, needs)
    offsets = _offsets(first)
    pushed = -(-first.push_constant_bytes // 4) * 4
    return template("kernel.c.jinja").render(
        id=id_,
        **_stage(first.draw),
        about=about,
        **used.chained(),
        robust=first.robust,
        shader_object=first.shader_object,
        pipeline_cache=first.pipeline_cache,
        full_subgroups=first.full_subgroups is not False,
        addresses=any(slot.address_offset is not None for slot in first.buffers),
        push_constant_bytes=pushed,
        buffers=first.buffers,
        local_size_id=_NO_CONSTANT if first.draw is not None else first.local_size_constant_id,
        constants=[
            {"id": constant.constant_id, "offset": offset, "bytes": constant.component.bytes}
            for constant, offset in zip(first.specialization, offsets, strict=True)
        ],
        constant_bytes=4 + sum(constant.component.bytes for constant in first.specialization),
        pipelines=[
            {
                "subgroups": 0 if one.invocations is not None else one.subgroups,
                "invocations": one.invocations or 0,
                "subgroup_size": one.required_subgroup_size or 0,
                "values": "".join(f", {byte}" for byte in _constant_bytes(one)),
            }
            for one in kernels
        ],
        subcases=[
            {
                "folder": run.folder,
                "pipeline": kernels.index(run.kernel),
                "workgroups": run.dispatch.workgroups,
                "pushed": ", ".join(map(str, run.dispatch.push_constants)) or "0",
            }
            for run in runs
        ],
        entry_point=first.entry_point,
        disputed=", ".join(disputed),
    )


def _stage(draw: Draw | None) -> dict[str, Any]:
    """Return the values that depend on the stage; for a draw also its sizes and the vertex shader of its triangle."""
    if draw is None:
        return {
            "draw": None,
            "stage_bit": "VK_SHADER_STAGE_COMPUTE_BIT",
            "pipeline_stage": "VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT",
            "bind_point": "VK_PIPELINE_BIND_POINT_COMPUTE",
            "queue_bit": "VK_QUEUE_COMPUTE_BIT",
        }
    in_fragments = draw.stage == "fragment"
    words = np.frombuffer(assemble(COVERING_TRIANGLE), "<u4")
    return {
        "draw": draw,
        "extent": (draw.width, draw.height) if in_fragments else (1, 1),
        "vertices": CORNERS if in_fragments else draw.width,
        "triangle": ", ".join(map(hex, words.tolist())),
        "stage_bit": f"VK_SHADER_STAGE_{draw.stage.upper()}_BIT",
        "pipeline_stage": f"VK_PIPELINE_STAGE_{draw.stage.upper()}_SHADER_BIT",
        "bind_point": "VK_PIPELINE_BIND_POINT_GRAPHICS",
        "queue_bit": "VK_QUEUE_GRAPHICS_BIT",
    }


def _refuse(runs: Sequence[Run]) -> None:
    first = runs[0].kernel
    if first.draw is not None and (first.pipeline_cache or first.shader_object is not None or first.robust):
        raise NotExpressible(
            Lack.PROGRAM_PIPELINE, "it draws with a pipeline cache, a shader object or robust access, which the C program does not support"
        )
    if first.draw is not None and first.draw.stage == "raygen":
        raise NotExpressible(Lack.PROGRAM_PIPELINE, "it is a ray generation shader, and the C program makes no ray tracing pipelines")
    if any(slot.opaque is not None for slot in first.buffers):
        raise NotExpressible(
            Lack.PROGRAM_MATRICES, "it has matrices in a layout that the device chooses, and the C program cannot convert them"
        )
    if any(slot.windows is not None for slot in first.buffers):
        raise NotExpressible(Lack.PROGRAM_BUFFERS, "it has buffers of gigabytes, and the C program would keep every byte of them in memory")
    for run in runs:
        if _shared(run.kernel) != _shared(first):
            raise NotExpressible(Lack.PROGRAM_CONSTANTS, "its pipelines differ in more than constants and local sizes")


def _shared(kernel: Kernel) -> Kernel:
    """Return the values that the pipelines of a program have in common."""
    constants = tuple(replace(constant, value=0) for constant in kernel.specialization)
    return replace(kernel, specialization=constants, subgroups=1, invocations=None, required_subgroup_size=None)


def _offsets(kernel: Kernel) -> list[int]:
    """Return the byte of each specialization constant after the local size."""
    offsets, at = [], 4
    for constant in kernel.specialization:
        offsets.append(at)
        at += constant.component.bytes
    return offsets


def _constant_bytes(kernel: Kernel) -> bytes:
    return b"".join(
        (constant.value % (1 << constant.component.bits)).to_bytes(constant.component.bytes, "little") for constant in kernel.specialization
    )


class Features:
    """The features of a device that a case needs, in the form of a C program.

    Args:
        extensions: the Vulkan extensions.

    Attributes:
        structures: the structures that the program chains, in order.
        required: conditions that a device must meet.
        enabled: the members that are set, and their values.
    """

    def __init__(self, extensions: set[str]) -> None:
        self._extensions = extensions
        self._used: set[FeatureStructure] = {one for one in feature_structures() if one.extension in extensions or not one.extension}
        self.required: list[Condition] = []
        self.enabled: list[dict[str, str]] = []

    @property
    def structures(self) -> list[FeatureStructure]:
        """Return the structures that are used, in the order of the chain."""
        return [one for one in feature_structures() if one in self._used]

    def chained(self) -> dict[str, Any]:
        """Return the values that device.c.jinja and structures.c.jinja need."""
        return {
            "structures": self.structures,
            "extension_room": max(1, sum(bool(one.extension) for one in self.structures)),
            "required": self.required,
            "enabled": self.enabled,
        }

    def require_extensions(self) -> None:
        """Require all extensions."""
        for extension in sorted(self._extensions):
            name = next(one.name for one in feature_structures() if one.extension == extension)
            self.required.append(Condition(f"has->{name}.sType", f"extension {extension}"))

    def require_of_pipeline(self, feature: str) -> None:
        """Require a feature that pipelines ask for, so it is not enabled with the device."""
        structure = self._structure(feature)
        assert structure is not None, "it is a feature"
        self.required.append(Condition(f"has->{structure.path(feature)}", f"feature {feature}"))

    def enable_what_is_there(self, further: Sequence[str] = ()) -> None:
        """Enable ``further`` features and the features that every program enables, as far as the device has them."""
        for feature in (*_IF_THERE, *further):
            structure = self._structure(feature)
            assert structure is not None, "it is a feature"
            self._enable(structure.path(feature), f"has.{structure.path(feature)}")

    def require(self, alternatives: Sequence[str]) -> None:
        """Require one of the features, and enable all of them that the device has."""
        found = [(name, self._structure(name)) for name in alternatives]
        conditions = [f"floats.{name}" if one is None else f"has->{one.path(name)}" for name, one in found]
        condition = Condition(" || ".join(conditions), f"feature {' or '.join(alternatives)}")
        if condition in self.required:
            return
        self.required.append(condition)
        for name, one in found:
            if one is not None:
                self._enable(one.path(name), "VK_TRUE" if len(found) == 1 else f"has.{one.path(name)}")

    def _structure(self, feature: str) -> FeatureStructure | None:
        found = structure_of(feature, self._extensions)
        if found is not None:
            self._used.add(found)
        return found

    def _enable(self, path: str, value: str) -> None:
        if all(one["path"] != path for one in self.enabled):
            self.enabled.append({"path": path, "value": value})


def _features(kernel: Kernel, needs: ModuleNeeds) -> Features:
    """Return the features that a kernel needs."""
    used = Features({SPIRV_EXTENSIONS[name] for name in needs.extensions if name in SPIRV_EXTENSIONS})
    used.require_extensions()
    for mode, width in needs.float_modes:
        name = f"{FLOAT_MODES[mode]}{width}"
        used.required.append(Condition(f"floats.{name}", name))
    _require_capabilities(used, needs)
    specialization = {constant.constant_id: constant.value for constant in kernel.specialization}
    if any(needs.value(matrix.scope, specialization) == Scope.WORKGROUP for matrix in needs.matrices.values()):
        used.require(("cooperativeMatrixWorkgroupScope",))
    if needs.local_size_mode:
        used.require(("maintenance4",))
    if kernel.draw is not None and any(slot.written for slot in kernel.buffers):
        used.require((STORES_IN_STAGE[kernel.draw.stage],))
    if kernel.required_subgroup_size is not None:
        used.require(("subgroupSizeControl",))
    if kernel.shader_object is not None:
        used.require(("shaderObject",))
    if kernel.robust:
        for feature in _ROBUST:
            used.require((feature,))
        used.require_of_pipeline("robustBufferAccess2")
    # If no exact row has the sizes, they come from a flexible row.
    used.enable_what_is_there(("cooperativeMatrixFlexibleDimensions",) if needs.matrices else ())
    return used


def _require_capabilities(used: Features, needs: ModuleNeeds) -> None:
    for capability in needs.capabilities:
        if needs.float_modes and capability in FLOAT_CAPABILITIES:
            continue
        if capability in SUBGROUP_OPERATIONS:
            bit, name = SUBGROUP_OPERATIONS[capability]
            used.required.append(Condition(f"subgroups.supportedOperations & {bit:#x}", f"subgroupSupportedOperations ({name})"))
            continue
        for alternatives in CAPABILITY_FEATURES[capability]:
            used.require(alternatives)


@cache
def template(name: str) -> jinja2.Template:
    """Return the template ``name`` of this folder: C, with ``@{…}@`` for values and ``//%`` before statements."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        variable_start_string="@{",
        variable_end_string="}@",
        line_statement_prefix="//%",
        comment_start_string="{{#",
        comment_end_string="#}}",
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,
    )
    return environment.get_template(name)
