"""reduce: rows, columns, whole matrices and 2x2 neighbourhoods combined by a function.

Axis values are those of cases/nv_cooperative_matrix2/reduce.yaml.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from generators.element_functions.functions import FUNCTIONS, combining
from generators.inputs.reductions import SIGNS, elements_for, integers, summands
from generators.layouts.tensor_tiles import matrix_contents, matrix_in, matrix_out
from generators.layouts.tile_arrays import tile_array
from generators.parameters.vocabulary import SCOPES, SHAPE, SUBGROUPS, TakenValues, Values, instances, shape_of
from generators.program.builder import U32, ProgramBuilder
from generators.program.callbacks import Binary, element_function
from generators.program.control_flow import Carried, Condition, Merged
from generators.program.functions import Function
from generators.program.per_element import PerElement
from generators.program.program import Program, Subcase
from generators.program.reduce import Reduce
from generators.program.values import Matrix, MatrixType, Scalar
from generators.types import COMPONENT_TYPES, ComponentType, Layout, MatrixOperands, ReduceMode, Use

_MODES: Mapping[str, ReduceMode] = MappingProxyType(
    {"row": ReduceMode.ROW, "column": ReduceMode.COLUMN, "both": ReduceMode.ROW_AND_COLUMN, "2x2": ReduceMode.TWO_BY_TWO}
)
_SIZES: Mapping[str, tuple[tuple[int, int], tuple[int, int]]] = MappingProxyType(
    {
        "same": ((1, 1), (1, 1)),
        "half": ((1, 2), (1, 2)),
        "double": ((2, 1), (2, 1)),
        "triple": ((3, 1), (3, 1)),
        "crossed": ((2, 1), (1, 2)),
    }
)
"""Factors of rows and columns, as fractions. Reductions of rows have the factor of columns alone, and the reverse."""

_TRIPS = 3
_PRODUCTS: Mapping[str, tuple[str, int]] = MappingProxyType({"f16": ("f16", 16), "f32": ("f16", 16), "s32": ("s8", 32), "u32": ("u8", 32)})
"""For the component of an accumulator that of A and B, and K; for 8x8, K is 8."""

_NEXT: Mapping[str, str] = MappingProxyType({"row": "column", "column": "row", "both": "row", "2x2": "both"})
"""The mode of another instruction that calls the same function."""

_OTHER: Mapping[str, str] = MappingProxyType({"maximum": "minimum", "multiply": "minimum", "magnitude": "minimum"})
"""The function of the other arm of a branch, maximum if none is here; it is exact on the same data."""

AXES: TakenValues = {
    "component": COMPONENT_TYPES.keys(),
    "shape": SHAPE,
    "mode": _MODES.keys(),
    "to": (*_SIZES, "turned"),
    "function": FUNCTIONS,
    "form": ("single", "chained", "shared", "product", "loop", "branch", "shifted"),
    "nesting": (0, 1, 2),
    "control": ("none", "for", "against"),
    "scope": SCOPES.keys(),
    "subgroups": SUBGROUPS,
    "signs": SIGNS,
}


def _scaled(size: int, factor: tuple[int, int]) -> int | None:
    return size * factor[0] // factor[1] if size % factor[1] == 0 else None


def result_shape(mode: ReduceMode, shape: tuple[int, int], to: str) -> tuple[int, int] | None:
    """Rows and columns of the result of a reduction of ``shape``; None where the mode has no such result, or another word names it."""
    rows, columns = shape
    if to == "turned":
        return (columns, rows) if mode is ReduceMode.ROW_AND_COLUMN and rows != columns else None
    by_rows, by_columns = _SIZES[to]
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


def _has_size(values: Values) -> bool:
    mode, shape = _MODES[values["mode"]], shape_of(values)
    result = result_shape(mode, shape, values["to"])
    if result is None:
        return False
    form = values["form"]
    if form in ("loop", "shifted"):
        return result == shape
    if form == "chained" and mode is ReduceMode.TWO_BY_TWO:
        return result_shape(mode, result, "half") is not None
    if form == "chained" and mode is ReduceMode.ROW_AND_COLUMN:
        return result_shape(ReduceMode.TWO_BY_TWO, shape, "half") is not None
    return True


def _has_function(values: Values) -> bool:
    """Bitwise functions and wrapping are of integers; a magnitude needs a sign; a product of e4m3 soon is not normal."""
    component, function = COMPONENT_TYPES[values["component"]], values["function"]
    if component.is_float:
        return function not in ("and", "or", "xor", "circle") and not (function == "multiply" and component.name == "e4m3")
    return function != "magnitude" or component.is_signed


def _is_exact(values: Values) -> bool:
    """Forms compute more than the reduction; floats have to stay exact there."""
    component, function, form = COMPONENT_TYPES[values["component"]], values["function"], values["form"]
    if form == "product" and component.name not in _PRODUCTS:
        return False
    if form in ("loop", "shifted") and not component.has_arithmetic:
        return False
    if form == "shifted":
        return function in ("minimum", "maximum")
    if not component.is_float or form in ("single", "chained", "shared", "branch"):
        return True
    if form == "product":
        return component.precision > 11 or values["mode"] != "both"
    return function in ("minimum", "maximum") or (function == "add" and component.precision > 11 and values["mode"] in ("row", "column"))


def _fits_product(values: Values) -> bool:
    return values["form"] != "product" or (
        values["shape"] in ("8x8", "16x16", "16x8") and values["function"] in ("add", "minimum", "maximum")
    )


PREDICATES: Mapping[str, Callable[[Values], bool]] = {
    "has_size": _has_size,
    "has_function": _has_function,
    "is_exact": _is_exact,
    "fits_product": _fits_product,
}


class _Writer:
    def __init__(self, values: Values) -> None:
        self.values = values
        self.builder = ProgramBuilder(SCOPES[values["scope"]], subgroups=int(values["subgroups"]))
        self.component = COMPONENT_TYPES[values["component"]]
        self.mode = values["mode"]
        self.type = self.sized(shape_of(values))
        self.function = self.named("combine", values["function"])

    def named(self, name: str, kind: str) -> Function:
        return combining(name, self.component, kind, int(self.values["nesting"]), self.values["control"])

    def sized(self, shape: tuple[int, int]) -> MatrixType:
        return MatrixType(self.component, SCOPES[self.values["scope"]], *shape, Use.ACCUMULATOR)

    def reduced(self, name: str, matrix: Matrix, mode: str, to: str, function: Function | None = None) -> Matrix:
        shape = result_shape(_MODES[mode], matrix.type.shape, to)
        assert shape is not None, "constraints leave out what has no result"
        result = Matrix(name, self.sized(shape))
        self.builder.add(Reduce(result, matrix, _MODES[mode], function or self.function))
        return result

    def out(self, name: str, matrix: Matrix) -> None:
        matrix_out(self.builder, name, matrix)


def _single(writer: _Writer, to: str) -> None:
    source = matrix_in(writer.builder, "source", writer.type)
    writer.out("target", writer.reduced("reduced", source, writer.mode, to))


def _chained(writer: _Writer, to: str) -> None:
    """Rows, then columns, and the reverse; neighbourhoods, then all or neighbourhoods again. Each result is seen."""
    source = matrix_in(writer.builder, "source", writer.type)
    first_mode = writer.mode if writer.mode != "both" else "2x2"
    first = writer.reduced("first", source, first_mode, "half" if first_mode == "2x2" else to)
    second_mode = writer.mode if writer.mode in ("both", "2x2") else _NEXT[writer.mode]
    second = writer.reduced("second", first, second_mode, "half" if second_mode == "2x2" else "same")
    writer.out("target_first", first)
    writer.out("target_second", second)


def _shared(writer: _Writer, to: str) -> None:
    """Two instructions call one function."""
    source = matrix_in(writer.builder, "source", writer.type)
    first = writer.reduced("first", source, writer.mode, to)
    second = writer.reduced("second", source, _NEXT[writer.mode], "same")
    writer.out("target_first", first)
    writer.out("target_second", second)


def product_types(values: Values) -> tuple[MatrixType, MatrixType]:
    """Those of A and B whose product is reduced."""
    name, depth = _PRODUCTS[values["component"]]
    rows, columns = shape_of(values)
    k = 8 if (rows, columns) == (8, 8) else depth
    component, scope = COMPONENT_TYPES[name], SCOPES[values["scope"]]
    return MatrixType(component, scope, rows, k, Use.A), MatrixType(component, scope, k, columns, Use.B)


def _product(writer: _Writer, to: str) -> None:
    builder = writer.builder
    type_a, type_b = product_types(writer.values)
    a, b, c = matrix_in(builder, "a", type_a), matrix_in(builder, "b", type_b), matrix_in(builder, "source", writer.type)
    signed = MatrixOperands.A_SIGNED | MatrixOperands.B_SIGNED | MatrixOperands.C_SIGNED | MatrixOperands.RESULT_SIGNED
    product = builder.muladd("product", writer.type, a, b, c, signed if writer.component.is_signed else None)
    writer.out("target", writer.reduced("reduced", product, writer.mode, to))
    writer.out("target_product", product)


def _loop(writer: _Writer, _: str) -> None:
    """What an iteration reduces is the sum of a tile and what the one before left."""
    builder = writer.builder
    tiles = tile_array(builder, "source", writer.type, _TRIPS, Layout.ROW_MAJOR)
    if builder.instances > 1:
        # Known before the loop, since what is stored behind it needs it too.
        builder.instance_index()
    index, current = Scalar("trip", U32), Matrix("current", writer.type)
    carried: list[Carried] = []
    start = builder.null("start", writer.type)
    with builder.loop(index, builder.operand("trips", U32, "push_constant"), carried):
        tile = tiles.load(builder, "tile", index)
        total = builder.elementwise("total", "add", tile, current)
        carried.append(Carried(start, current, writer.reduced("next", total, writer.mode, "same")))
    writer.out("target", current)


def _branch(writer: _Writer, to: str) -> None:
    """One arm for some instances, or for some dispatches, and another for the others."""
    builder = writer.builder
    source = matrix_in(builder, "source", writer.type)
    decides = builder.instance_index() if builder.instances > 1 else builder.operand("which", U32, "push_constant")
    other = writer.named("combine_otherwise", _OTHER.get(writer.values["function"], "maximum"))
    with builder.arm() as then:
        first = writer.reduced("then", source, writer.mode, to)
    with builder.arm() as otherwise:
        second = writer.reduced("otherwise", source, writer.mode, to, other)
    result = Matrix("chosen", first.type)
    builder.branch(Condition(decides, "less", builder.literal(1)), then, otherwise, [Merged(result, (first, second))])
    writer.out("target", result)


def _shifted(writer: _Writer, _: str) -> None:
    """As a softmax does: the extreme of each group is taken from its elements, and what is left summed."""
    builder = writer.builder
    source = matrix_in(builder, "source", writer.type)
    extreme = writer.reduced("extreme", source, writer.mode, "same")
    row, column = Scalar("row", U32), Scalar("column", U32)
    x, less = Scalar("x", writer.component), Scalar("less", writer.component)
    rest = Matrix("rest", writer.type)
    builder.add(PerElement(rest, source, element_function("shift", (row, column, x, less), Binary("subtract", x, less)), (extreme,)))
    writer.out("target_extreme", extreme)
    writer.out("target", writer.reduced("sum", rest, writer.mode, "same", writer.named("total", "add")))


_FORMS: Mapping[str, Callable[[_Writer, str], None]] = MappingProxyType(
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


def program(values: Values) -> Program:
    """The program of a case: matrices are loaded and reduced, and every result is stored."""
    writer = _Writer(values)
    _FORMS[values["form"]](writer, values["to"])
    return writer.builder.build()


def _in_groups(shape: tuple[int, int, int], mode: str, draw: Callable[[tuple[int, ...], int], np.ndarray]) -> np.ndarray:
    """Elements of matrices of ``shape`` that ``draw`` gives with each group along the last axes; it gets their shape, and the size of a
    group."""
    count, rows, columns = shape
    match mode:
        case "row":
            return draw(shape, columns)
        case "column":
            return draw((count, columns, rows), rows).transpose(0, 2, 1)
        case "2x2":
            squares = draw((count, rows // 2, columns // 2, 2, 2), 4)
            return squares.transpose(0, 1, 3, 2, 4).reshape(shape)
        case _:
            return draw(shape, rows * columns)


def _data(values: Values, component: ComponentType, shape: tuple[int, int, int], rng: np.random.Generator) -> np.ndarray:
    form, function, signs = values["form"], values["function"], values["signs"]
    mode = "both" if form in ("chained", "shared") else values["mode"]

    def draw(shape: tuple[int, ...], group: int) -> np.ndarray:
        if not component.is_float or form in ("single", "chained", "shared", "branch"):
            return elements_for(component, shape, function, group, signs, rng)
        # Twice the size of a group leaves room for the differences from an extreme, and for the sum with a product.
        return summands(component, shape, _LOOP_GROUP if form == "loop" else 2 * group, signs, rng).astype(component.dtype)

    return _in_groups(shape, mode, draw)


_LOOP_GROUP = 1 << 16
"""Sums of sums: three times over at most 32 elements, of values that are at most 2^p / 2^16 units."""


def subcase(name: str, values: Values, program: Program, rng: np.random.Generator) -> Subcase:
    """Elements each of which the result shows."""
    component, count = COMPONENT_TYPES[values["component"]], instances(values)
    rows, columns = shape_of(values)
    type_ = MatrixType(component, SCOPES[values["scope"]], rows, columns, Use.ACCUMULATOR)
    operands = {}
    source = program.array("source")
    if values["form"] == "loop":
        tiles = _data(values, component, (count * _TRIPS, rows, columns), rng)
        return Subcase(name, {"source": np.ascontiguousarray(tiles).view(np.uint8).reshape(-1)}, {"trips": _TRIPS})
    inputs = {"source": matrix_contents(source, type_, _data(values, component, (count, rows, columns), rng))}
    if values["form"] == "product":
        inputs |= _factors(values, program, count, rng)
    if values["form"] == "branch" and count == 1:
        operands["which"] = int(values["signs"] != "mixed")
    return Subcase(name, inputs, operands)


def _factors(values: Values, program: Program, count: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Integers of the whole width; of floats A has one element that is not zero in each row, so that rows of B come through."""
    type_a, type_b = product_types(values)
    found = {}
    for name, type_ in (("a", type_a), ("b", type_b)):
        shape = (count, *type_.shape)
        if not type_.component.is_float:
            data = integers(type_.component, shape, "add", 1, "mixed", rng)
        elif name == "a":
            numbers = np.zeros(shape)
            rows, depth = type_.shape
            signs = rng.choice(np.array([-1.0, 1.0]), rows)
            numbers[:, np.arange(rows), rng.permutation(max(rows, depth))[:rows] % depth] = signs
            data = numbers.astype(type_.component.dtype)
        else:
            # Half of what a group may sum up to; C has the other.
            group = {"row": type_.shape[1], "column": type_a.shape[0], "2x2": 4}.get(values["mode"], type_a.shape[0] * type_.shape[1])
            data = summands(type_.component, shape, 2 * group, "mixed", rng).astype(type_.component.dtype)
        found[name] = matrix_contents(program.array(name), type_, data)
    return found
