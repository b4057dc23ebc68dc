"""tensor_layout: where the elements of a matrix lie in a tensor, by the state of a tensor layout alone.

Axis values are those of cases/nv_cooperative_matrix2/tensor_layout.yaml.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from generators.errors import GeneratorError
from generators.families.nv_cooperative_matrix2.tensor_layout.forms import FORMS, SHARED_FORMS, TILES, Plan, run
from generators.families.nv_cooperative_matrix2.tensor_layout.regions import (
    BLOCKS,
    CLAMP_VALUES,
    OFFSETS,
    ORDERS,
    SLICES,
    SPANS,
    STRIDES,
    Region,
    layout_steps,
    region_of,
    spans_of,
)
from generators.inputs.patterns import PATTERNS
from generators.layouts.placement import POINTEES, fills, pointee_of
from generators.layouts.tensor_bench import Tiled
from generators.layouts.tensor_tiles import contents
from generators.layouts.tensor_writer import TensorWriter
from generators.parameters.vocabulary import (
    CLAMP_MODES,
    SCOPES,
    SHAPE,
    SOURCES,
    STORAGE,
    SUBGROUPS,
    USES,
    TakenValues,
    Values,
    instances,
    shape_of,
)
from generators.program.builder import U32, ProgramBuilder
from generators.program.load_store import MemoryOperand
from generators.program.program import Program, Subcase
from generators.program.tensor import TensorLayoutType
from generators.program.values import MatrixType
from generators.types import COMPONENT_TYPES, ClampMode, MemoryAccess, StorageClass

_COMMON = {
    "explicit_none": MemoryAccess.NONE,
    "volatile": MemoryAccess.VOLATILE,
    "aligned": MemoryAccess.ALIGNED,
    "nontemporal": MemoryAccess.NONTEMPORAL,
    "non_private": MemoryAccess.NON_PRIVATE_POINTER,
}
_MEMORY = ("none", *_COMMON, "coherent", "all")
_LEADS = {"least": 16, "zero": 0, "far": (1 << 16) + 1, "strided": 0}
"""Bytes before the first tensor, to be rounded up. ``strided``: none, and an ArrayStride that must be ignored."""

ALIGNED_TO = 16
_MOST_ELEMENTS = 1 << 19
_WORKGROUP_BYTES = 8192

AXES: TakenValues = {
    "component": COMPONENT_TYPES.keys(),
    "use": USES.keys(),
    "shape": SHAPE,
    "scope": SCOPES.keys(),
    "subgroups": SUBGROUPS,
    "access": ("load", "store"),
    "rank": (1, 2, 3, 4, 5),
    "span": SPANS,
    "offset": OFFSETS,
    "slices": SLICES,
    "order": ORDERS,
    "strides": STRIDES,
    "blocks": BLOCKS,
    "mode": CLAMP_MODES.keys(),
    "clamp_value": CLAMP_VALUES,
    "form": FORMS.keys(),
    "source": SOURCES,
    "integer": ("u32", "s32"),
    "storage": STORAGE,
    "pointee": POINTEES,
    "first": _LEADS.keys(),
    "memory": _MEMORY,
    "constants": ("none", "rank", "mode", "both"),
    "pattern": PATTERNS,
    "moved": ("no", "yes"),
}


def _spans(values: Values) -> tuple[int, ...] | None:
    rows, columns = shape_of(values)
    return spans_of(values["span"], rows, columns, int(values["rank"]))


def _copies(values: Values) -> int:
    """Slices that the form needs one behind the other."""
    if values["form"] == "instance":
        return instances(values)
    return TILES if values["form"] in SHARED_FORMS else 1


def region(values: Values) -> Region | None:
    """What the axes ask for; None where they contradict each other, or the tensor is too large."""
    spans = _spans(values)
    if spans is None:
        return None
    margin = instances(values) - 1 if values["form"] == "instance_shape" else 0
    result = region_of(
        spans,
        values["offset"],
        values["slices"] != "none",
        values["strides"],
        values["blocks"],
        strides_in_elements=values["order"] == "block_last",
        copies=_copies(values),
        margin=margin,
    )
    elements = _elements(values, result)
    if values["storage"] == "workgroup":
        return result if elements * COMPONENT_TYPES[values["component"]].bytes <= _WORKGROUP_BYTES else None
    return result if elements <= _MOST_ELEMENTS else None


def _elements(values: Values, found: Region) -> int:
    """Those of all tensors together, gaps between them left out."""
    longest = found.elements * (2 if values["form"].startswith("copied") or values["form"] == "instance_shape" else 1)
    return longest if values["form"] == "instance" else longest * instances(values)


def _fits(values: Values) -> bool:
    return region(values) is not None


def _orders_differ(values: Values) -> bool:
    """Words for one order of the same steps are used once, and what an order is about is there."""
    order = values["order"]
    if order in ("slice_then_stride", "stride_twice", "block_between") and values["strides"] == "default":
        return False
    return not str(order).startswith("block") or str(values["blocks"]) != "none"


def _pointee_fits(values: Values) -> bool:
    """A pointee that is the component itself adds nothing."""
    return (str(values["pointee"]), str(values["component"])) != ("u32", "u32")


PREDICATES: Mapping[str, Callable[[Values], bool]] = {"fits": _fits, "orders_differ": _orders_differ, "pointee_fits": _pointee_fits}


def _memory(values: Values) -> MemoryOperand | None:
    name = values["memory"]
    if name == "none":
        return None
    load = values["access"] == "load"
    coherent = MemoryAccess.NON_PRIVATE_POINTER | (MemoryAccess.MAKE_POINTER_VISIBLE if load else MemoryAccess.MAKE_POINTER_AVAILABLE)
    unordered = MemoryAccess.VOLATILE | MemoryAccess.ALIGNED | MemoryAccess.NONTEMPORAL
    mask = _COMMON.get(name, coherent if name == "coherent" else unordered | coherent)
    return MemoryOperand(mask, ALIGNED_TO if mask & MemoryAccess.ALIGNED else None)


def _layout_type(values: Values, builder: ProgramBuilder) -> TensorLayoutType:
    """The default of the mode is another one; that of Dim is not, since the module would have too few operands then."""
    rank, mode, constants = int(values["rank"]), CLAMP_MODES[values["mode"]], values["constants"]
    made_rank = builder.operand("rank", U32, "specialization", rank, rank) if constants in ("rank", "both") else rank
    if constants not in ("mode", "both"):
        return TensorLayoutType(made_rank, mode)
    other = ClampMode.CONSTANT if mode is ClampMode.UNDEFINED else ClampMode.UNDEFINED
    return TensorLayoutType(made_rank, builder.operand("mode", U32, "specialization", int(mode), int(other)))


def _written(values: Values, moved: bool = False) -> tuple[ProgramBuilder, TensorWriter]:
    found = region(values)
    if found is None:
        raise GeneratorError("tensor_layout: the constraint 'fits' must exclude this case")
    if moved:
        found = Region(found.sizes, (found.offsets[0] - 1, *found.offsets[1:]), found.spans, found.blocks, found.strides)
    component, scope = COMPONENT_TYPES[values["component"]], SCOPES[values["scope"]]
    rows, columns = shape_of(values)
    builder = ProgramBuilder(scope, subgroups=int(values["subgroups"]))
    writer = TensorWriter(builder, values["source"], values["integer"] == "s32")
    tiled = Tiled(
        writer,
        MatrixType(component, scope, rows, columns, USES[values["use"]]),
        values["access"] == "load",
        StorageClass(values["storage"]),
        pointee_of(values["pointee"], component),
        _LEADS[values["first"]],
        values["first"] == "strided",
        _memory(values),
    )
    steps = layout_steps(found, values["slices"], values["order"], values["strides"], values["clamp_value"])
    run(values["form"], tiled, Plan(found, _layout_type(values, builder), tuple(steps)))
    return builder, writer


def program(values: Values) -> Program:
    """The program of a case: loads by tensor addressing and plain stores, or plain loads and stores by tensor addressing."""
    return _written(values)[0].build()


def subcase(name: str, values: Values, program: Program, rng: np.random.Generator) -> Subcase:
    """The whole source array holds the pattern, so that a wrong address reads a wrong value. Where operands come at run time, the slice
    of another dispatch of the pipeline lies elsewhere (``moved``)."""
    inputs = fills(program, rng)
    inputs["source"] = contents(program.array("source"), COMPONENT_TYPES[values["component"]], values["pattern"], rng)
    return Subcase(name, inputs, _written(values, values["moved"] == "yes")[1].operands)
