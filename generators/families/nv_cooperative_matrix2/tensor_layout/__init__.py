"""tensor_layout: the positions of a matrix's elements in a tensor, determined by the state of a tensor layout alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

import numpy as np

from generators.errors import possible
from generators.families.nv_cooperative_matrix2.tensor_layout.forms import FORMS, LayoutForm, LayoutSetup, write_form
from generators.families.nv_cooperative_matrix2.tensor_layout.moves import MoveSetup
from generators.families.nv_cooperative_matrix2.tensor_layout.regions import (
    BlockKind,
    ClampValueKind,
    OffsetKind,
    Order,
    SliceKind,
    SpanKind,
    StrideKind,
    layout_steps,
    region_of,
    spans_of,
)
from generators.layouts.placement import fills
from generators.layouts.sliced_tensors import SlicedTensor
from generators.layouts.tensor_writer import LayoutStep, TensorWriter, varying_steps
from generators.layouts.tensors import pattern_contents
from generators.parameters.declaration import parameter
from generators.parameters.matrices import OPERANDS, OnePointedTensor, Rank
from generators.parameters.vocabulary import CLAMP_MODES
from generators.program.builder import U32, ProgramBuilder
from generators.program.load_store import MemoryOperand
from generators.program.program import Built, Program, Subcase
from generators.program.values import TensorLayoutType
from generators.types import ClampMode, MemoryAccess

_ALIGNED_TO = 16
_MOST_ELEMENTS = 1 << 19
_MOST_ELEMENTS_OF = {"deep": 1 << 21, "broad": 1 << 21, "vast": 1 << 26}


@dataclass(frozen=True)
class FirstElement:
    """The position of the first tensor in its array.

    Attributes:
        lead: the minimum number of bytes before it.
        strided: whether the array has an ArrayStride, which must be ignored.
    """

    lead: int
    strided: bool = False


@dataclass(frozen=True)
class MemoryUse:
    """The memory operands of an access.

    Attributes:
        mask: the mask of all accesses.
        coherent: whether a load also makes memory visible, and a store makes it available.
    """

    mask: MemoryAccess
    coherent: bool = False


@dataclass(frozen=True)
class SpecializedType:
    """The operands of the layout's type that are specialization constants."""

    rank: bool = False
    mode: bool = False


_FIRST: Mapping[str, FirstElement] = MappingProxyType(
    {
        "least": FirstElement(16),
        "zero": FirstElement(0),
        "far": FirstElement((1 << 16) + 1),
        "strided": FirstElement(0, strided=True),
    }
)
_MEMORY: Mapping[str, MemoryUse | None] = MappingProxyType(
    {
        "none": None,
        "explicit_none": MemoryUse(MemoryAccess.NONE),
        "volatile": MemoryUse(MemoryAccess.VOLATILE),
        "aligned": MemoryUse(MemoryAccess.ALIGNED),
        "nontemporal": MemoryUse(MemoryAccess.NONTEMPORAL),
        "non_private": MemoryUse(MemoryAccess.NON_PRIVATE_POINTER),
        "coherent": MemoryUse(MemoryAccess.NONE, coherent=True),
        "all": MemoryUse(MemoryAccess.VOLATILE | MemoryAccess.ALIGNED | MemoryAccess.NONTEMPORAL, coherent=True),
    }
)
_CONSTANTS: Mapping[str, SpecializedType] = MappingProxyType(
    {
        "none": SpecializedType(),
        "rank": SpecializedType(rank=True),
        "mode": SpecializedType(mode=True),
        "both": SpecializedType(rank=True, mode=True),
    }
)


def _loads_clamp_values(parameters: Parameters) -> bool:
    """Return whether the case loads elements that are the clamp value."""
    return parameters.access == "load" and parameters.mode is ClampMode.CONSTANT and parameters.offset == "over"


def _has_run_time_operands(parameters: Parameters) -> bool:
    return parameters.source in ("push_constant", "buffer")


@dataclass(frozen=True, kw_only=True)
class Parameters(OnePointedTensor):
    """The parameters of a case."""

    access: Literal["load", "store"] = parameter("what is done by tensor addressing", default="load")
    rank: Rank = parameter("dimensions of the tensor", default=2)
    span: SpanKind = parameter("the shape of the slice", default="matrix")
    offset: OffsetKind = parameter("where the slice is", default="inside")
    slices: SliceKind = parameter("the instructions that slice", default="one")
    order: Order = parameter("the order of the instructions that set up the layout", default="plain")
    strides: StrideKind = parameter("the strides of the tensor", default="default")
    blocks: BlockKind = parameter("whether the layout has block sizes, and whether they divide its dimensions", default="none")
    mode: ClampMode = parameter("the clamp mode of the layout", default="undefined", labels=CLAMP_MODES)
    clamp_value: ClampValueKind = parameter("which of the instructions sets the clamp value", default="none", applies=_loads_clamp_values)
    form: LayoutForm = parameter("how the program gets its layouts", default="direct", labels=FORMS, then=(*OPERANDS, "pointee"))
    first: FirstElement = parameter("where the first tensor is in its array", default="least", labels=_FIRST)
    memory: MemoryUse | None = parameter("the memory operands of the access", default="none", labels=_MEMORY)
    constants: SpecializedType = parameter(
        "the operands of the layout's type that are specialization constants", default="none", labels=_CONSTANTS
    )


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: Literal["index", "index_high", "bits"] = parameter("what the source array is full of")
    moved: bool = parameter(
        "whether the slice is one element away from its place in other dispatches",
        default="no",
        labels={"no": False, "yes": True},
        applies=_has_run_time_operands,
    )


def _region(parameters: Parameters) -> SlicedTensor | None:
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
    most = _MOST_ELEMENTS_OF.get(parameters.offset, _MOST_ELEMENTS)
    return region if parameters.has_room(_elements(parameters, region), most) else None


def _elements(parameters: Parameters, region: SlicedTensor) -> int:
    """Return a lower bound on the elements of all tensors together: it leaves out the gaps between them."""
    form = parameters.form
    longest = region.elements * (2 if form.copy is not None or form.own_shapes else 1)
    return longest if form.in_one_tensor else longest * parameters.instances


def _orders_differ(parameters: Parameters) -> bool:
    """Return whether the case has the strides or blocks that its order concerns, and its label is the only one for that order of steps."""
    order = parameters.order
    if order in ("slice_then_stride", "stride_twice", "block_between") and parameters.strides == "default":
        return False
    return order not in ("block_last", "block_between", "block_twice") or parameters.blocks != "none"


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {
    "fits": lambda parameters: _region(parameters) is not None,
    "orders_differ": _orders_differ,
    "pointee_fits": lambda parameters: parameters.pointee_fits,
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
    region, component = possible(_region(parameters), "tensor_layout"), parameters.component
    builder = ProgramBuilder(parameters.scope, subgroups=parameters.subgroups)
    writer = TensorWriter(builder, parameters.source, parameters.integer.is_signed)
    given = MoveSetup(
        writer,
        parameters.matrix_type,
        parameters.access == "load",
        parameters.storage,
        parameters.array_pointee,
        parameters.first.lead,
        parameters.first.strided,
        _memory(parameters),
    )

    def steps(region: SlicedTensor) -> list[LayoutStep]:
        return layout_steps(region, parameters.slices, parameters.order, parameters.strides, parameters.clamp_value)

    moved = replace(region, offsets=(region.offsets[0] - 1, *region.offsets[1:]))
    setup = LayoutSetup(region, _layout_type(parameters, builder), varying_steps(steps(region), steps(moved)))
    write_form(parameters.form, given, setup)

    def draw(name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        inputs = fills(program, rng)
        inputs["source"] = pattern_contents(program.array("source"), component, parameters.pattern, rng)
        return Subcase(name, inputs, writer.other_operands if parameters.moved else {})

    return Built(builder.build(), draw)
