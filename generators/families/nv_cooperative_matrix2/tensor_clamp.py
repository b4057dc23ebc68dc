"""tensor_clamp: what loads and stores do with coordinates that are out of bounds.

Axis values are those of cases/nv_cooperative_matrix2/tensor_clamp.yaml.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from generators.errors import GeneratorError
from generators.inputs.patterns import PATTERNS
from generators.layouts.placement import fills
from generators.layouts.tensor_tiles import contents, matrix_in, matrix_out, tensor_elements, tensor_in, tensor_out
from generators.layouts.tensor_writer import CLAMP_VALUE, LayoutStep, TensorWriter, slice_step
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
from generators.program.builder import ProgramBuilder
from generators.program.program import Program, Subcase
from generators.program.tensor import TensorLayoutType
from generators.program.tensor_access import TensorLoad, TensorStore
from generators.program.values import Matrix, MatrixType
from generators.types import COMPONENT_TYPES, StorageClass

_MOST_ELEMENTS = 1 << 18

AXES: TakenValues = {
    "component": COMPONENT_TYPES.keys(),
    "use": USES.keys(),
    "shape": SHAPE,
    "scope": SCOPES.keys(),
    "subgroups": SUBGROUPS,
    "rank": (1, 2, 3, 4, 5),
    "mode": CLAMP_MODES.keys(),
    "access": ("load", "store"),
    "side": ("inside", "before", "after", "both"),
    "which": ("all", "outermost", "innermost", "middle", "ends", "beside_one"),
    "reach": ("one", "part", "whole", "periods", "far"),
    "size": ("one", "two", "odd", "fit", "large"),
    "strides": ("default", "padded", "spread"),
    "clamp_value": ("default", "low", "garbage"),
    "source": SOURCES,
    "integer": ("u32", "s32"),
    "storage": STORAGE,
    "pattern": PATTERNS,
}


@dataclass(frozen=True)
class Geometry:
    """The tensor and the slice of a case: for each dimension its size, the slice's offset and span, and the stride in elements."""

    sizes: tuple[int, ...]
    offsets: tuple[int, ...]
    spans: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def elements(self) -> int:
        """From the first to behind the last one."""
        return tensor_elements(self.sizes, self.strides)


def spans_of(rows: int, columns: int, rank: int) -> tuple[int, ...]:
    """The slice of ``rank`` dimensions that has as many elements as the matrix; no two neighbours are equal where that can be."""
    match rank:
        case 1:
            return (rows * columns,)
        case 2:
            return rows, columns
        case 3:
            return 2, rows // 2, columns
        case 4:
            return 2, rows // 2, columns // 2, 2
        case _:
            return 2, rows // 4, 2, columns // 2, 2


def _touched(values: Values, rank: int) -> tuple[int, ...]:
    """The dimensions in which the slice goes out of bounds."""
    if values["side"] == "inside":
        return ()
    match values["which"]:
        case "all":
            return tuple(range(rank))
        case "outermost":
            return (0,)
        case "innermost":
            return (rank - 1,)
        case "middle":
            return (rank // 2,)
        case "beside_one":
            return tuple(range(1, rank))
        case _:
            return 0, rank - 1


def _size(values: Values, span: int) -> int:
    match values["size"]:
        case "one":
            return 1
        case "two":
            return 2
        case "odd":
            return 3 if span < 8 else 5
        case "fit":
            return span
        case _:
            return 2 * span + 3


def _offset(values: Values, size: int, span: int) -> int | None:
    """Where the slice begins in a dimension; None where the side and size do not go together."""
    amount = {"one": 1, "part": (span + 1) // 2, "whole": span, "periods": span + 3 * size + 1, "far": span + 1_000_003}[values["reach"]]
    match values["side"]:
        case "before":
            # What lies inside ends before the dimension does, or the slice is beyond both ends.
            return -amount
        case "after":
            return size - span + amount
        case _:
            beyond = span - size
            return -(beyond // 2) if beyond >= 2 and values["reach"] == "part" else None


def geometry(values: Values) -> Geometry | None:
    """What the axes ask for; None where they contradict each other, or the tensor is too large."""
    rows, columns = shape_of(values)
    rank = int(values["rank"])
    beside_one = values["which"] == "beside_one"
    if rank - beside_one == 5 and rows % 4:
        return None
    spans = (1, *spans_of(rows, columns, rank - 1)) if beside_one else spans_of(rows, columns, rank)
    touched = _touched(values, rank)
    sizes, offsets = [], []
    for dimension, span in enumerate(spans):
        if beside_one and dimension == 0:
            sizes.append(1)
            offsets.append(0)
            continue
        if dimension not in touched:
            sizes.append(span + 3)
            offsets.append(1 + dimension % 2)
            continue
        size = _size(values, span)
        offset = _offset(values, size, span)
        if offset is None:
            return None
        sizes.append(size)
        offsets.append(offset)
    strides = [1] * rank
    if values["strides"] == "spread":
        strides[-1] = 3
    for dimension in range(rank - 2, -1, -1):
        strides[dimension] = strides[dimension + 1] * sizes[dimension + 1] + (0 if values["strides"] == "default" else 1 + dimension)
    result = Geometry(tuple(sizes), tuple(offsets), spans, tuple(strides))
    limit = _MOST_ELEMENTS if values["storage"] != "workgroup" else 8192 // COMPONENT_TYPES[values["component"]].bytes
    return result if result.elements * instances(values) <= limit else None


def _fits(values: Values) -> bool:
    return geometry(values) is not None


def _which_differ(values: Values) -> bool:
    """Words for the same dimensions are used once."""
    rank, which = int(values["rank"]), values["which"]
    return which == "all" or rank > 2 or (rank == 2 and which not in ("middle", "ends"))


PREDICATES: Mapping[str, Callable[[Values], bool]] = {"fits": _fits, "which_differ": _which_differ}


def _clamp_value(values: Values) -> int:
    bits = min(32, COMPONENT_TYPES[values["component"]].bits)
    return CLAMP_VALUE if values["clamp_value"] == "garbage" else CLAMP_VALUE & ((1 << bits) - 1)


def _written(values: Values) -> tuple[ProgramBuilder, TensorWriter]:
    component, scope = COMPONENT_TYPES[values["component"]], SCOPES[values["scope"]]
    rows, columns = shape_of(values)
    type_ = MatrixType(component, scope, rows, columns, USES[values["use"]])
    shape = geometry(values)
    if shape is None:
        raise GeneratorError("tensor_clamp: the constraint 'fits' must exclude this case")
    builder = ProgramBuilder(scope, subgroups=int(values["subgroups"]))
    writer = TensorWriter(builder, values["source"], values["integer"] == "s32")
    storage = StorageClass(values["storage"])
    load = values["access"] == "load"
    if load:
        tensor = tensor_in(builder, "source", component, shape.elements, storage)
    else:
        tensor, target = tensor_out(builder, "target", component, shape.elements, storage)
    steps: list[LayoutStep] = [("dimension", shape.sizes)]
    if values["strides"] != "default":
        steps.append(("stride", shape.strides))
    if values["clamp_value"] != "default":
        steps.append(("clamp_value", (_clamp_value(values),)))
    steps.append(slice_step(shape.offsets, shape.spans))
    layout = writer.layout("layout", TensorLayoutType(int(values["rank"]), CLAMP_MODES[values["mode"]]), *steps)
    first = tensor.begin(builder, writer.number("first", tensor.first, signed=False))
    if load:
        before = builder.splat("before", type_, builder.literal(1, component))
        matrix = Matrix("matrix", type_)
        builder.add(TensorLoad(matrix, tensor.array, first, before, layout))
        matrix_out(builder, "target", matrix)
    else:
        matrix = matrix_in(builder, "source", type_)
        builder.add(TensorStore(matrix, tensor.array, first, layout))
        target.finish(builder)
    return builder, writer


def program(values: Values) -> Program:
    """The program of a case: a load by tensor addressing and a plain store, or a plain load and a store by tensor addressing."""
    return _written(values)[0].build()


def subcase(name: str, values: Values, program: Program, rng: np.random.Generator) -> Subcase:
    """The whole source array holds the pattern, so that a wrong address reads a wrong value."""
    inputs = fills(program, rng)
    source = program.array("source")
    inputs["source"] = contents(source, COMPONENT_TYPES[values["component"]], values["pattern"], rng)
    return Subcase(name, inputs, _written(values)[1].operands)
