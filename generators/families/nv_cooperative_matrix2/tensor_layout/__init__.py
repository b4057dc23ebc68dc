"""tensor_layout: the positions of a matrix's elements in a tensor, determined by the state of a tensor layout alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from generators.errors import GeneratorError, Rule
from generators.families.nv_cooperative_matrix2.tensor_layout.forms import LayoutSetup, write_form
from generators.families.nv_cooperative_matrix2.tensor_layout.moves import MoveSetup
from generators.families.nv_cooperative_matrix2.tensor_layout.parameters import Parameters, SubcaseParameters
from generators.families.nv_cooperative_matrix2.tensor_layout.regions import Region, layout_steps, region_of, spans_of
from generators.layouts.placement import fills, pointee_of
from generators.layouts.tensor_writer import LayoutStep, TensorWriter, varying_steps
from generators.layouts.tensors import pattern_contents
from generators.program.builder import U32, ProgramBuilder
from generators.program.load_store import MemoryOperand
from generators.program.program import Built, Program, Subcase
from generators.program.values import TensorLayoutType
from generators.types import ClampMode, MemoryAccess, StorageClass

_ALIGNED_TO = 16
_MOST_ELEMENTS = 1 << 19
_MOST_ELEMENTS_OF = {"deep": 1 << 21, "broad": 1 << 21, "vast": 1 << 26}
_MOST_WORKGROUP_BYTES = 8192


def _region(parameters: Parameters) -> Region | None:
    """Return the tensor and its slice; None if the parameters contradict each other or the tensor is too large."""
    rows, columns = parameters.shape
    spans = spans_of(parameters.span, rows, columns, parameters.rank)
    if spans is None:
        return None
    form = parameters.form
    region = region_of(
        spans,
        parameters.offset,
        parameters.slices != "none",
        parameters.strides,
        parameters.blocks,
        strides_in_elements=parameters.order == "block_last",
        copies=parameters.instances if form.in_one_tensor else form.slices,
        margin=parameters.instances - 1 if form.own_shapes else 0,
    )
    elements = _elements(parameters, region)
    if parameters.storage is StorageClass.WORKGROUP:
        return region if elements * parameters.component.bytes <= _MOST_WORKGROUP_BYTES else None
    return region if elements <= _MOST_ELEMENTS_OF.get(parameters.offset, _MOST_ELEMENTS) else None


def _elements(parameters: Parameters, region: Region) -> int:
    """Return a lower bound on the elements of all tensors together: it leaves out the gaps between them."""
    form = parameters.form
    longest = region.elements * (2 if form.copy is not None or form.own_shapes else 1)
    return longest if form.in_one_tensor else longest * parameters.instances


def _fits(parameters: Parameters) -> bool:
    return _region(parameters) is not None


def _orders_differ(parameters: Parameters) -> bool:
    """Return whether the case has the strides or blocks that its order concerns, and its label is the only one for that order of steps."""
    order = parameters.order
    if order in ("slice_then_stride", "stride_twice", "block_between") and parameters.strides == "default":
        return False
    return order not in ("block_last", "block_between", "block_twice") or parameters.blocks != "none"


def _pointee_fits(parameters: Parameters) -> bool:
    """Return whether the label is the only one for this pointee."""
    return parameters.pointee != "u32" or parameters.component is not U32


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {
    "fits": _fits,
    "orders_differ": _orders_differ,
    "pointee_fits": _pointee_fits,
}


def _memory(parameters: Parameters) -> MemoryOperand | None:
    use = parameters.memory
    if use is None:
        return None
    mask = use.mask
    if use.coherent:
        load = parameters.access == "load"
        mask |= MemoryAccess.NON_PRIVATE_POINTER
        mask |= MemoryAccess.MAKE_POINTER_VISIBLE if load else MemoryAccess.MAKE_POINTER_AVAILABLE
    return MemoryOperand(mask, _ALIGNED_TO if mask & MemoryAccess.ALIGNED else None)


def _layout_type(parameters: Parameters, builder: ProgramBuilder) -> TensorLayoutType:
    """Return the type of the layout. The default of a mode constant differs from its value. The default of the rank does not, since the
    module would then have too few operands."""
    rank, mode, constants = parameters.rank, parameters.mode, parameters.constants
    made_rank = builder.operand("rank", U32, "specialization", rank, rank) if constants.rank else rank
    if not constants.mode:
        return TensorLayoutType(made_rank, mode)
    other = ClampMode.CONSTANT if mode is ClampMode.UNDEFINED else ClampMode.UNDEFINED
    return TensorLayoutType(made_rank, builder.operand("mode", U32, "specialization", int(mode), int(other)))


def build(parameters: Parameters) -> Built:
    """Build loads by tensor addressing and plain stores, or plain loads and stores by tensor addressing.

    The whole source array holds the pattern, so a wrong address reads a wrong value. If operands come at run time, other dispatches of the
    pipeline have the slice in another place.
    """
    region, component = _region(parameters), parameters.component
    if region is None:
        raise GeneratorError(Rule.CONSTRAINT, "tensor_layout: the constraint 'fits' must exclude this case")
    builder = ProgramBuilder(parameters.scope, subgroups=parameters.subgroups)
    writer = TensorWriter(builder, parameters.source, parameters.integer.is_signed)
    given = MoveSetup(
        writer,
        parameters.matrix_type,
        parameters.access == "load",
        parameters.storage,
        pointee_of(parameters.pointee, component),
        parameters.first.lead,
        parameters.first.strided,
        _memory(parameters),
    )

    def steps(region: Region) -> list[LayoutStep]:
        return layout_steps(region, parameters.slices, parameters.order, parameters.strides, parameters.clamp_value)

    moved = replace(region, offsets=(region.offsets[0] - 1, *region.offsets[1:]))
    setup = LayoutSetup(region, _layout_type(parameters, builder), varying_steps(steps(region), steps(moved)))
    write_form(parameters.form, given, setup)

    def draw(name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        inputs = fills(program, rng)
        inputs["source"] = pattern_contents(program.array("source"), component, parameters.pattern, rng)
        return Subcase(name, inputs, dict(writer.other_operands if parameters.moved else writer.operands))

    return Built(builder.build(), draw)
