"""Parameters of vector_muladd: the operands of a case, and the places of its matrices and biases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from generators.inputs.vector_products import (
    FloatPattern,
    IntegerPattern,
    NetworkPattern,
)
from generators.layouts.inner_arrays import POINTS_TO, PointsTo
from generators.layouts.vector_arrays import VectorArray
from generators.layouts.vector_matrices import VectorMatrices
from generators.parameters.declaration import parameter
from generators.parameters.matrices import INTEGERS
from generators.parameters.vectors import FIRST_VECTORS, INVOCATIONS, MATRIX_LAYOUTS, Invocations
from generators.parameters.vocabulary import BUFFERS, SOURCE_NAMES, parse_shape
from generators.program.memory import Pointee
from generators.program.values import CooperativeVectorType
from generators.types import (
    COMPONENT_TYPES,
    ComponentType,
    ConversionCommand,
    StorageClass,
    VectorMatrixLayout,
)
from generators.vector_rows import VectorTypes, parse_vector_row

OTHER_LAYOUT: Mapping[VectorMatrixLayout, VectorMatrixLayout] = {layout: VectorMatrixLayout(layout ^ 1) for layout in VectorMatrixLayout}
"""The default value of a specialization constant."""

_PADDINGS: Mapping[str, int | None] = {"tight": 0, "padded": 16, "wide": 208, "page": 4096, "absent": None}

_FIRST: Mapping[str, int] = {"zero": 0, "minimal": 64, "odd": 192, "far": 65600, "beyond": (1 << 24) + 64}
"""Bytes before the first matrix."""

MATRIX_HEAD, BIAS_HEAD = 64, 48
"""Bytes of the member before an inner array."""

_STAGGER = 32
"""Bytes between the strides of two matrices, if each has its own."""

Given = Literal["loaded", "scalars", "constant", "replicated", "null", "merged", "exchanged", "parameter"]
MADE: tuple[Given, ...] = ("constant", "replicated", "null")
"""Inputs that the program makes."""

_HIDDEN = 5
"""Number of components of a vector between two layers."""


def _linear(parameters: Parameters) -> bool:
    return not parameters.layout.is_optimal


def _single(parameters: Parameters) -> bool:
    return parameters.form == "single"


@dataclass(frozen=True, kw_only=True)
class Parameters(Invocations):
    """The parameters of a case."""

    row: VectorTypes = parameter(
        "types of the input, of the interpretations of input, matrix and bias, and of the result", decode=parse_vector_row
    )
    size: tuple[int, int] = parameter("M and K", default="5x7", decode=parse_shape)
    bias: Literal["added", "none"] = parameter("whether there is a bias", default="added")
    layout: VectorMatrixLayout = parameter("the layout of the matrices", default="row", labels=MATRIX_LAYOUTS)
    transpose: bool = parameter("whether matrices are stored as K x M", default=False, applies=lambda parameters: not _linear(parameters))
    stride: int | None = parameter(
        "bytes between rows or columns beyond the minimum; an optimal layout ignores it, and then it may be absent",
        default="padded",
        labels=_PADDINGS,
    )
    first: int = parameter("where the first matrix begins", default="minimal", labels=_FIRST, applies=_linear)
    bias_first: int = parameter("where the first bias begins", default="minimal", labels=FIRST_VECTORS)
    source: SOURCE_NAMES = parameter("where offsets of the first matrix and bias, and the stride, come from", default="literal")
    integer: ComponentType = parameter("the integer type of offsets and strides", default="u32", labels=INTEGERS, applies=_linear)
    converted_by: ConversionCommand = parameter(
        "whether a command of the device or of the host brings matrices into an optimal layout",
        default="device",
        labels={name: name for name in get_args(ConversionCommand)},
        applies=lambda parameters: parameters.layout.is_optimal,
    )
    constants: Literal["literal", "specialization"] = parameter(
        "where M, K, layout, transposition and interpretations come from", default="literal", applies=_single
    )
    pointee: Literal["component", "u8", "u32", "f16"] = parameter("the elements of the arrays of matrices and biases", default="component")
    storage: StorageClass = parameter("where matrices and biases are", default="storage_buffer", labels=BUFFERS)
    matrices: Literal["one", "second", "alternate", "clustered", "unique"] = parameter(
        "which matrix an invocation takes: the only one; the second of two; one of three in turn; one for "
        "every four invocations; or its own",
        default="one",
        then=INVOCATIONS,
    )
    control: Literal["straight", "half", "branches", "loop"] = parameter(
        "which invocations multiply: all, or the odd ones; odd and even ones in two branches, with different matrices; or each in a loop "
        "that goes up to the invocation's own matrix",
        default="straight",
        applies=_single,
    )
    form: Literal["single", "again", "network"] = parameter(
        "one multiply; a second one, of the same input by the next matrix; or layers with activations between them", default="single"
    )
    layers: int = parameter("layers of the network", default=2, applies=lambda parameters: parameters.form == "network")
    activation: Literal["relu", "clamp", "none"] = parameter(
        "what follows each layer except the last, whose result may also be the next input as it is",
        default="relu",
        applies=lambda parameters: parameters.form == "network",
    )
    data: Literal["exact", "envelope"] = parameter("whether sums are exact, or rounded and judged by the envelope", default="exact")
    given: Given = parameter(
        "the input: as loaded; constructed of components; a constant, of one component or not, or null; one of two vectors that a branch "
        "chose, or that a loop exchanged; or a parameter of the function that multiplies",
        default="loaded",
    )
    arrays: Literal["apart", "together"] = parameter(
        "whether matrices and biases have arrays of their own", default="apart", applies=lambda parameters: parameters.bias == "added"
    )
    strides: Literal["same", "own"] = parameter("whether all matrices have the same stride", default="same", applies=_linear)
    spare: Literal["none", "one"] = parameter(
        "components of a packed input beyond the last element", default="none", applies=lambda parameters: parameters.row.packed
    )
    points_to: PointsTo = parameter(POINTS_TO, default="block", applies=_linear)


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: FloatPattern | IntegerPattern | NetworkPattern = parameter(
        "how the data are drawn",
        labels={name: name for names in (FloatPattern, IntegerPattern, NetworkPattern) for name in get_args(names)},
    )


# The shape of a case


def count_of(parameters: Parameters) -> int:
    """Return the number of matrices."""
    match parameters.matrices:
        case "one":
            return 1
        case "second":
            return 2
        case "alternate":
            return 3
        case "clustered":
            return -(-parameters.lanes // 4)
        case _:
            return parameters.lanes


def sizes_of(parameters: Parameters) -> list[tuple[int, int]]:
    """Return M and K of each layer."""
    rows, columns = parameters.size
    between = [_HIDDEN] * (parameters.layers - 1) if parameters.form == "network" else []
    widths = [columns, *between, rows]
    return list(zip(widths[1:], widths[:-1], strict=True))


def matrices_of(parameters: Parameters, rows: int, columns: int) -> VectorMatrices:
    """Return the matrices of a layer, of ``rows`` x ``columns`` each."""
    linear = _linear(parameters)
    first, padding = (parameters.first, parameters.stride or 0) if linear else (0, 0)
    component, transpose = parameters.row.matrix.component, parameters.transpose
    form = component, rows, columns, parameters.layout, count_of(parameters), transpose
    stagger = _STAGGER if linear and parameters.strides == "own" else 0
    apart = 0
    if linear and parameters.points_to != "block":
        first += MATRIX_HEAD
        apart = first if parameters.points_to == "own" else 0
    return VectorMatrices(*form, first, padding, parameters.converted_by, stagger, apart)


def biases_of(parameters: Parameters, rows: int) -> VectorArray:
    """Return the biases of a layer, of ``rows`` components each."""
    type_ = CooperativeVectorType(parameters.row.bias.component, rows)
    first, guard = parameters.bias_first, 16
    if _linear(parameters) and parameters.points_to != "block":
        first += BIAS_HEAD
        guard = first if parameters.points_to == "own" else guard
    return VectorArray(type_, count_of(parameters), first, guard)


def components_of(parameters: Parameters) -> int:
    """Return the number of components of an input."""
    return parameters.row.components(sizes_of(parameters)[0][1]) + (parameters.row.packed and parameters.spare == "one")


def small_floats(parameters: Parameters) -> bool:
    """Return whether inputs are small whole numbers, as in networks."""
    return parameters.form == "network" or (parameters.given in MADE and parameters.row.is_float)


def pointee_of(parameters: Parameters) -> Pointee | None:
    """Return the element type of the arrays; None for the component type."""
    return None if parameters.pointee == "component" else Pointee(COMPONENT_TYPES[parameters.pointee])


def _has_layout(parameters: Parameters) -> bool:
    """Return whether matrices of the row can have the layout: 8-bit floats have only optimal layouts."""
    return parameters.layout.is_optimal or parameters.row.matrix.component.has_arithmetic


def _whole_pointees(parameters: Parameters) -> bool:
    """Return whether the arrays of matrices consist of whole elements, and the label is the only one for these elements."""
    pointee = pointee_of(parameters)
    if pointee is None:
        return True
    if pointee.component in (parameters.row.matrix.component, parameters.row.bias.component):
        return False
    return all(matrices_of(parameters, *size).bytes % pointee.bytes == 0 for size in sizes_of(parameters))


def _fits(parameters: Parameters) -> bool:
    """Return whether each array has at most 4 MiB, and an input at most 512 components."""
    if components_of(parameters) > 512:
        return False
    return all(matrices_of(parameters, *size).held <= 1 << 22 for size in sizes_of(parameters))


def _chains(parameters: Parameters) -> bool:
    """Return whether a result can be the input of the next layer: it has the input's type or is converted to it, and an input that becomes
    an 8-bit float is clamped to numbers that this type can represent."""
    row = parameters.row
    if parameters.form != "network":
        return True
    if row.packed or not (row.input is row.result or row.input.bits != row.result.bits or row.input.is_float != row.result.is_float):
        return False
    small = row.interpretation.component.is_float and row.interpretation.component.bits == 8
    narrow = not row.input.is_float and row.input.bits == 8
    if parameters.activation == "none" and row.input is not row.result:
        return False
    return parameters.activation == "clamp" or not (small or narrow)


def _given_fits(parameters: Parameters) -> bool:
    """Return whether the program can make the input: of a literal number of components, in straight code, from exact data."""
    straight = parameters.control == "straight" and parameters.data == "exact" and parameters.constants == "literal"
    # A function sees no push constants, and so not the pitch of matrices in an optimal layout.
    literal = parameters.source == "literal" and (_linear(parameters) or count_of(parameters) == 1)
    literal = literal or parameters.given != "parameter"
    return parameters.given == "loaded" or (parameters.form == "single" and straight and literal)


def _arrays_fit(parameters: Parameters) -> bool:
    """Return whether matrices and biases can be in one array: in layouts that the device does not decide."""
    near = parameters.first < 1 << 20
    return parameters.arrays == "apart" or (near and _linear(parameters) and parameters.points_to == "block")


def _strides_fit(parameters: Parameters) -> bool:
    return parameters.strides == "same" or (count_of(parameters) > 1 and parameters.matrices != "second" and parameters.stride is not None)


def _points_fit(parameters: Parameters) -> bool:
    """Return whether pointers can lead to inner arrays; if they differ between invocations, so do matrices, and offsets are the same."""
    if parameters.points_to != "own":
        return True
    return count_of(parameters) > 1 and parameters.first < 1 << 10 and parameters.bias_first < 1 << 10 and parameters.integer.name == "u32"


def _data_fits_row(parameters: SubcaseParameters) -> bool:
    """Return whether the row has the pattern."""
    row, pattern = parameters.row, parameters.pattern
    if small_floats(parameters) != (pattern == "network"):
        return False
    if pattern == "network":
        return True
    if not row.is_float:
        return pattern in get_args(IntegerPattern)
    target = row.interpretation.component
    rounds = not row.input.is_float or (row.input.name == "f16" and target.bits == 8)
    if pattern == "rounded":
        return rounds
    if not row.input.is_float:
        return pattern == "kept_width"
    return pattern in get_args(FloatPattern)


def _envelope_of_floats(parameters: Parameters) -> bool:
    row = parameters.row
    return parameters.data == "exact" or (row.is_float and row.input.is_float and row.interpretation.component.bits > 8)


def _from_integers(parameters: Parameters) -> bool:
    row = parameters.row
    return not row.packed and not row.input.is_float and not row.is_float and row.input is not row.interpretation.component


def _has_stride(parameters: Parameters) -> bool:
    """Return whether there is a stride, or it may be absent: with an optimal layout, and if no operand flags follow it."""
    row = parameters.row
    flagged = row.input.is_signed or row.result.is_signed
    return parameters.stride is not None or (parameters.layout.is_optimal and not flagged)


def _ignored_stride(parameters: Parameters) -> bool:
    """Return whether there is a stride that a device must ignore."""
    return parameters.layout.is_optimal and parameters.stride is not None


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {
    "arrays_fit": _arrays_fit,
    "chains": _chains,
    "given_fits": _given_fits,
    "points_fit": _points_fit,
    "strides_fit": _strides_fit,
    "data_fits_row": _data_fits_row,
    "envelope_of_floats": _envelope_of_floats,
    "fits": _fits,
    "has_layout": _has_layout,
    "whole_pointees": _whole_pointees,
    "has_stride": _has_stride,
    "is_packed": lambda parameters: parameters.row.packed,
    "is_integer_to_integer": _from_integers,
    "is_float_to_integer": lambda parameters: parameters.row.input.is_float and not parameters.row.is_float,
    "is_integer_to_float": lambda parameters: not parameters.row.input.is_float and parameters.row.is_float,
    "is_float_to_float": lambda parameters: (
        parameters.row.input.is_float and parameters.row.is_float and parameters.row.input is not parameters.row.interpretation.component
    ),
    "is_float8": lambda parameters: parameters.row.is_float and parameters.row.interpretation.component.bits == 8,
    "has_integer_input": lambda parameters: not parameters.row.input.is_float,
    "has_integer_sums": lambda parameters: not parameters.row.is_float,
    "ignored_stride": _ignored_stride,
    "transposes": lambda parameters: not parameters.transpose or parameters.row.transposes,
    "other_pointee": lambda parameters: parameters.pointee != "component" or not parameters.row.matrix.component.has_arithmetic,
}
