"""reduce: rows, columns, whole matrices and 2x2 neighbourhoods combined by a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np

from generators.element_functions.functions import Combination, combining
from generators.inputs.reductions import elements_for, integers, summands
from generators.layouts.matrix_arrays import matrix_contents, matrix_in, matrix_out, matrix_source, tight
from generators.numerics.exactness import permitted_precision
from generators.parameters.declaration import parameter
from generators.parameters.vocabulary import SCOPE, OfEitherExtension, Scoped, parse_shape
from generators.program.builder import U32, ProgramBuilder
from generators.program.callbacks import PerElement, Reduce
from generators.program.control_flow import Carried, Condition, Merged
from generators.program.expressions import Binary, element_function
from generators.program.functions import Function
from generators.program.operation import Hint
from generators.program.program import Built, Program, Subcase
from generators.program.values import Matrix, MatrixType, Value
from generators.types import COMPONENT_TYPES, ComponentType, Layout, MatrixOperands, ReduceMode, Use

_MODES: Mapping[str, ReduceMode] = MappingProxyType(
    {"row": ReduceMode.ROW, "column": ReduceMode.COLUMN, "both": ReduceMode.ROW_AND_COLUMN, "2x2": ReduceMode.TWO_BY_TWO}
)

Size = Literal["same", "half", "double", "triple", "crossed", "turned"]
"""Size of the result, in both dimensions if the mode permits, otherwise only in rows or columns. ``crossed`` has twice as many rows and
half as many columns; ``turned`` exchanges rows and columns."""

_FACTORS: Mapping[Size, tuple[tuple[int, int], tuple[int, int]]] = MappingProxyType(
    {
        "same": ((1, 1), (1, 1)),
        "half": ((1, 2), (1, 2)),
        "double": ((2, 1), (2, 1)),
        "triple": ((3, 1), (3, 1)),
        "crossed": ((2, 1), (1, 2)),
    }
)
"""Factors of rows and of columns, as fractions."""

_TRIPS = 3
_PRODUCTS: Mapping[ComponentType, tuple[ComponentType, int]] = MappingProxyType(
    {
        COMPONENT_TYPES[accumulator]: (COMPONENT_TYPES[factor], depth)
        for accumulator, factor, depth in (("f16", "f16", 16), ("f32", "f16", 16), ("s32", "s8", 32), ("u32", "u8", 32))
    }
)
"""Component type of A and B, and K, by the component type of the accumulator; for 8x8, K is 8."""

_NEXT: Mapping[ReduceMode, ReduceMode] = MappingProxyType(
    {
        ReduceMode.ROW: ReduceMode.COLUMN,
        ReduceMode.COLUMN: ReduceMode.ROW,
        ReduceMode.ROW_AND_COLUMN: ReduceMode.ROW,
        ReduceMode.TWO_BY_TWO: ReduceMode.ROW_AND_COLUMN,
    }
)
"""The mode of the other instruction that calls the same function."""


@dataclass(frozen=True, kw_only=True)
class Parameters(Scoped, OfEitherExtension):
    """The parameters of a case."""

    component: ComponentType = parameter("the type of the matrix's elements", labels=COMPONENT_TYPES)
    shape: tuple[int, int] = parameter("rows and columns of the matrix", default="16x8", decode=parse_shape)
    mode: ReduceMode = parameter("which elements are combined", labels=_MODES)
    to: Size = parameter("the size of the result", default="same")
    function: Combination = parameter("how two elements are combined")
    form: Literal["single", "chained", "shared", "product", "loop", "branch", "shifted"] = parameter(
        "one reduction; one of the result of another; two by one function; of a product; carried through a loop; in the arms of a branch; "
        "or of the elements minus the extreme of their group",
        default="single",
    )
    nesting: Literal[0, 1, 2] = parameter("functions that the function calls, one inside the other", default=0)
    control: Hint = parameter("the function control, for or against inlining", default="none", then=SCOPE)

    @property
    def matrix_type(self) -> MatrixType:
        """The type of the matrix that is reduced."""
        return MatrixType(self.component, self.scope, *self.shape, Use.ACCUMULATOR)


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    signs: Literal["mixed", "positive", "negative"] = parameter("the signs of all elements; for unsigned integers their top bit")


def _scaled(size: int, factor: tuple[int, int]) -> int | None:
    return size * factor[0] // factor[1] if size % factor[1] == 0 else None


def result_shape(mode: ReduceMode, shape: tuple[int, int], to: Size) -> tuple[int, int] | None:
    """Return the rows and columns of the result of reducing ``shape``; None if the mode has no such result, or another label names it."""
    rows, columns = shape
    if to == "turned":
        return (columns, rows) if mode is ReduceMode.ROW_AND_COLUMN and rows != columns else None
    by_rows, by_columns = _FACTORS[to]
    if mode is ReduceMode.ROW_AND_COLUMN:
        new_rows, new_columns = _scaled(rows, by_rows), _scaled(columns, by_columns)
    elif to == "crossed":
        return None
    elif mode is ReduceMode.ROW:
        new_rows, new_columns = rows, _scaled(columns, by_columns)
    elif mode is ReduceMode.COLUMN:
        new_rows, new_columns = _scaled(rows, by_rows), columns
    else:
        new_rows, new_columns = (_scaled(rows, (1, 2)), _scaled(columns, (1, 2))) if to == "half" else (None, None)
    return None if new_rows is None or new_columns is None else (new_rows, new_columns)


def _has_size(parameters: Parameters) -> bool:
    mode, shape = parameters.mode, parameters.shape
    result = result_shape(mode, shape, parameters.to)
    if result is None:
        return False
    form = parameters.form
    if form in ("loop", "shifted"):
        return result == shape
    if form == "chained" and mode is ReduceMode.TWO_BY_TWO:
        return result_shape(mode, result, "half") is not None
    if form == "chained" and mode is ReduceMode.ROW_AND_COLUMN:
        return result_shape(ReduceMode.TWO_BY_TWO, shape, "half") is not None
    return True


def _has_function(parameters: Parameters) -> bool:
    """Return whether the component type has the function: only integers are combined bit by bit or wrap, a magnitude needs a sign, and
    products of e4m3 are soon denormal."""
    component, function = parameters.component, parameters.function
    if component.is_float:
        return function not in ("and", "or", "xor", "circle") and not (function == "multiply" and component.name == "e4m3")
    return function != "magnitude" or component.is_signed


def _is_exact(parameters: Parameters) -> bool:
    """Return whether floats stay exact in the form's other computations."""
    component, function, form = parameters.component, parameters.function, parameters.form
    if form == "product" and component not in _PRODUCTS:
        return False
    if form in ("loop", "shifted") and not component.has_arithmetic:
        return False
    if form == "shifted":
        return function in ("minimum", "maximum")
    if not component.is_float or form in ("single", "chained", "shared", "branch"):
        return True
    if form == "product":
        return component.precision > 11 or parameters.mode is not ReduceMode.ROW_AND_COLUMN
    in_lines = component.precision > 11 and parameters.mode in (ReduceMode.ROW, ReduceMode.COLUMN)
    return function in ("minimum", "maximum") or (function == "add" and in_lines)


def _fits_product(parameters: Parameters) -> bool:
    return parameters.form != "product" or (
        parameters.shape in ((8, 8), (16, 16), (16, 8)) and parameters.function in ("add", "minimum", "maximum")
    )


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {
    "has_size": _has_size,
    "has_function": _has_function,
    "is_exact": _is_exact,
    "fits_product": _fits_product,
}


class _ReductionWriter:
    """Writes the program of a case."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.builder = ProgramBuilder(parameters.scope, subgroups=parameters.subgroups, maintenance1=parameters.maintenance1)
        self.component = parameters.component
        self.mode, self.to = parameters.mode, parameters.to
        self.type = parameters.matrix_type
        self.function = self.named("combine", parameters.function)

    def named(self, name: str, combination: Combination) -> Function:
        """Return a function called ``name`` that combines two elements."""
        return combining(name, self.component, combination, self.parameters.nesting, self.parameters.control)

    def reduced(self, name: str, matrix: Matrix, mode: ReduceMode, to: Size, function: Function | None = None) -> Matrix:
        """Reduce a matrix, by the function of the case if none is given."""
        shape = result_shape(mode, matrix.type.shape, to)
        assert shape is not None, "constraints exclude what has no result"
        result = Value(name, MatrixType(self.component, self.type.scope, *shape, Use.ACCUMULATOR))
        self.builder.add(Reduce(result, matrix, mode, function or self.function))
        return result


def _single(writer: _ReductionWriter) -> None:
    source = matrix_in(writer.builder, "source", writer.type)
    matrix_out(writer.builder, "target", writer.reduced("reduced", source, writer.mode, writer.to))


def _chained(writer: _ReductionWriter) -> None:
    """Reduce rows, then columns, and in reverse; reduce neighbourhoods, then all elements or neighbourhoods again. Store each result."""
    source = matrix_in(writer.builder, "source", writer.type)
    mode, squares = writer.mode, ReduceMode.TWO_BY_TWO
    first_mode = squares if mode is ReduceMode.ROW_AND_COLUMN else mode
    first = writer.reduced("first", source, first_mode, "half" if first_mode is squares else writer.to)
    second_mode = _NEXT[mode] if mode in (ReduceMode.ROW, ReduceMode.COLUMN) else mode
    second = writer.reduced("second", first, second_mode, "half" if second_mode is squares else "same")
    matrix_out(writer.builder, "target_first", first)
    matrix_out(writer.builder, "target_second", second)


def _shared(writer: _ReductionWriter) -> None:
    """Call one function from two instructions."""
    source = matrix_in(writer.builder, "source", writer.type)
    first = writer.reduced("first", source, writer.mode, writer.to)
    second = writer.reduced("second", source, _NEXT[writer.mode], "same")
    matrix_out(writer.builder, "target_first", first)
    matrix_out(writer.builder, "target_second", second)


def _factor_types(result: MatrixType) -> tuple[MatrixType, MatrixType]:
    """Return the types of A and B whose product is reduced."""
    component, depth = _PRODUCTS[result.component]
    rows, columns = result.shape
    k = 8 if (rows, columns) == (8, 8) else depth
    return MatrixType(component, result.scope, rows, k, Use.A), MatrixType(component, result.scope, k, columns, Use.B)


def _product(writer: _ReductionWriter) -> None:
    """Reduce A * B + C, and also store the product."""
    builder = writer.builder
    type_a, type_b = _factor_types(writer.type)
    a, b, c = matrix_in(builder, "a", type_a), matrix_in(builder, "b", type_b), matrix_in(builder, "source", writer.type)
    signed = MatrixOperands.A_SIGNED | MatrixOperands.B_SIGNED | MatrixOperands.C_SIGNED | MatrixOperands.RESULT_SIGNED
    product = builder.muladd("product", writer.type, a, b, c, signed if writer.component.is_signed else None)
    matrix_out(writer.builder, "target", writer.reduced("reduced", product, writer.mode, writer.to))
    matrix_out(writer.builder, "target_product", product)


def _loop(writer: _ReductionWriter) -> None:
    """In each iteration, reduce the sum of a tile and the previous iteration's result."""
    builder = writer.builder
    source = matrix_source(builder, "source", tight(writer.type, Layout.ROW_MAJOR, (builder.instances, _TRIPS)), label="place")
    if builder.instances > 1:
        # Made before the loop, since the store after it needs it too.
        builder.instance_index()
    index, current = Value("trip", U32), Value("current", writer.type)
    carried: list[Carried] = []
    start = builder.null("start", writer.type)
    with builder.loop(index, builder.operand("trips", U32, "push_constant", _TRIPS), carried):
        tile = source.load_tile("tile", index)
        total = builder.elementwise("total", "add", tile, current)
        carried.append(Carried(start, current, writer.reduced("next", total, writer.mode, "same")))
    matrix_out(writer.builder, "target", current)


def _branch(writer: _ReductionWriter) -> None:
    """Reduce by a different function in each arm of a branch; instances or dispatches take either arm."""
    builder = writer.builder
    source = matrix_in(builder, "source", writer.type)
    decides = builder.instance_index() if builder.instances > 1 else builder.operand("which", U32, "push_constant")
    # Data that suit one of these functions are also exact for the other.
    function: Combination = "minimum" if writer.parameters.function in ("maximum", "multiply", "magnitude") else "maximum"
    other = writer.named("combine_otherwise", function)
    with builder.arm() as then:
        first = writer.reduced("then", source, writer.mode, writer.to)
    with builder.arm() as otherwise:
        second = writer.reduced("otherwise", source, writer.mode, writer.to, other)
    result = Value("chosen", first.type)
    builder.branch(Condition(decides, "less", builder.literal(1)), then, otherwise, [Merged(result, (first, second))])
    matrix_out(writer.builder, "target", result)


def _shifted(writer: _ReductionWriter) -> None:
    """Subtract the extreme of each group from its elements and sum the differences, as a softmax does."""
    builder = writer.builder
    source = matrix_in(builder, "source", writer.type)
    extreme = writer.reduced("extreme", source, writer.mode, "same")
    row, column = Value("row", U32), Value("column", U32)
    x, less = Value("x", writer.component), Value("less", writer.component)
    rest = Value("rest", writer.type)
    builder.add(PerElement(rest, source, element_function("shift", (row, column, x, less), Binary("subtract", x, less)), (extreme,)))
    matrix_out(writer.builder, "target_extreme", extreme)
    matrix_out(writer.builder, "target", writer.reduced("sum", rest, writer.mode, "same", writer.named("total", "add")))


_FORMS: Mapping[str, Callable[[_ReductionWriter], None]] = MappingProxyType(
    {
        "single": _single,
        "chained": _chained,
        "shared": _shared,
        "product": _product,
        "loop": _loop,
        "branch": _branch,
        "shifted": _shifted,
    }
)

_LOOP_GROUP = 1 << 16
"""Nested sums: three times over at most 32 elements, of values of at most 2^p / 2^16 units."""


def _in_groups(shape: tuple[int, int, int], mode: ReduceMode, draw: Callable[[tuple[int, ...], int], np.ndarray]) -> np.ndarray:
    """Return elements of matrices of ``shape``. ``draw`` returns them with each group along the last axes; it gets their shape and the size
    of a group."""
    count, rows, columns = shape
    match mode:
        case ReduceMode.ROW:
            return draw(shape, columns)
        case ReduceMode.COLUMN:
            return draw((count, columns, rows), rows).transpose(0, 2, 1)
        case ReduceMode.TWO_BY_TWO:
            squares = draw((count, rows // 2, columns // 2, 2, 2), 4)
            return squares.transpose(0, 1, 3, 2, 4).reshape(shape)
        case _:
            return draw(shape, rows * columns)


def _elements(parameters: SubcaseParameters, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the elements of ``count`` matrices, each of which affects the result; (count, rows, columns)."""
    component, form = parameters.component, parameters.form
    whole = form in ("chained", "shared")

    def draw(shape: tuple[int, ...], group: int) -> np.ndarray:
        if not component.is_float or whole or form in ("single", "branch"):
            return elements_for(component, shape, parameters.function, group, parameters.signs, rng)
        # Twice the size of a group leaves room for the differences from an extreme, and for the sum with a product.
        group = _LOOP_GROUP if form == "loop" else 2 * group
        largest = _largest_term(component) if form == "product" else None
        return summands(component, shape, group, parameters.signs, rng, largest).astype(component.dtype)

    return _in_groups((count, *parameters.shape), ReduceMode.ROW_AND_COLUMN if whole else parameters.mode, draw)


def _largest_term(result: ComponentType) -> int:
    """Return the largest C whose sum with a product is exact in the bits that a multiply-add must keep."""
    return _largest_sum(result) - _largest_product(result)


def _largest_product(result: ComponentType) -> int:
    """Return the largest product: it needs all of these bits."""
    return _largest_sum(result) * 5 // 8


def _largest_sum(result: ComponentType) -> int:
    component = _PRODUCTS[result][0]
    return (1 << permitted_precision(component, component, result, result)) - 1


def _factors(
    parameters: SubcaseParameters, type_a: MatrixType, type_b: MatrixType, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw A and B: integers of the whole width. For floats, A has one nonzero element in each row, so the result has rows of B; or B has
    one in each column."""
    count, component = parameters.instances, type_a.component
    rows, depth = type_a.shape
    columns = type_b.shape[1]
    if not component.is_float:
        a, b = (integers(component, (count, *type_.shape), "add", 1, "mixed", rng) for type_ in (type_a, type_b))
        return a, b
    # Half of the maximum sum of a group; C has the other half.
    groups = {ReduceMode.ROW: columns, ReduceMode.COLUMN: rows, ReduceMode.TWO_BY_TWO: 4}
    group = 2 * groups.get(parameters.mode, rows * columns)
    summed = parameters.component
    if parameters.signs == "mixed":
        a = _selecting(count, rows, depth, rng)
        b = summands(summed, (count, depth, columns), group, "mixed", rng, _largest_product(summed))
    else:
        a = summands(summed, (count, rows, depth), group, "mixed", rng, _largest_product(summed))
        b = _selecting(count, columns, depth, rng).transpose(0, 2, 1)
    return a.astype(component.dtype), b.astype(component.dtype)


def _selecting(count: int, lines: int, depth: int, rng: np.random.Generator) -> np.ndarray:
    """Draw lines with one nonzero element, which is 1 or -1, (count, lines, depth)."""
    numbers = np.zeros((count, lines, depth))
    places = rng.permutation(max(lines, depth))[:lines] % depth
    numbers[:, np.arange(lines), places] = rng.choice(np.array([-1.0, 1.0]), lines)
    return numbers


def build(parameters: Parameters) -> Built:
    """Build a program that loads matrices, reduces them, and stores every result."""
    writer = _ReductionWriter(parameters)
    _FORMS[parameters.form](writer)
    factor_types = _factor_types(writer.type) if parameters.form == "product" else None

    def draw(name: str, parameters: SubcaseParameters, _: Program, rng: np.random.Generator) -> Subcase:
        count = parameters.instances
        if parameters.form == "loop":
            tiles = _elements(parameters, count * _TRIPS, rng)
            return Subcase(name, {"source": np.ascontiguousarray(tiles).view(np.uint8).reshape(-1)})
        inputs = {"source": matrix_contents(writer.type, _elements(parameters, count, rng))}
        if factor_types is not None:
            factors = _factors(parameters, *factor_types, rng)
            for array, type_, data in zip("ab", factor_types, factors, strict=True):
                inputs[array] = matrix_contents(type_, data)
        chosen = parameters.form == "branch" and count == 1
        return Subcase(name, inputs, {"which": int(parameters.signs != "mixed")} if chosen else {})

    return Built(writer.builder.build(), draw)
