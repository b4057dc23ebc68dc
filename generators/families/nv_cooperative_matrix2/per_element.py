"""per_element: functions that are called for each element, with its row, its column, and further operands.

Axis values are those of cases/nv_cooperative_matrix2/per_element.yaml.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from generators.element_functions.kinds import KINDS, Kind
from generators.element_functions.writer import CallbackWriter
from generators.inputs.reductions import distinct, integers
from generators.layouts.placement import stage_in
from generators.layouts.tensor_tiles import matrix_contents, matrix_in, matrix_out
from generators.parameters.vocabulary import SCOPES, SHAPE, SOURCES, SUBGROUPS, USES, TakenValues, Values, instances, shape_of
from generators.program.builder import U32, ProgramBuilder
from generators.program.callbacks import Binary, Choose, Expression
from generators.program.control_flow import Carried, Condition, Merged
from generators.program.functions import Function
from generators.program.memory import Array, Pointee
from generators.program.per_element import ExtraOperand, PerElement
from generators.program.program import Program, Subcase
from generators.program.values import Matrix, MatrixType, Scalar, ScalarValue, Source
from generators.program.values import Scalar as ComputedScalar
from generators.types import COMPONENT_TYPES, ComponentType, StorageClass, Use

_INTEGERS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {"unsigned": ("u32", "u32"), "signed": ("s32", "s32"), "row_signed": ("s32", "u32"), "column_signed": ("u32", "s32")}
)
"""Types of the row and of the column (F-CM2-11)."""

_TRIPS = 3
_SIGNS = ("mixed", "negative")
_LEAST = 4
"""Different magnitudes that float data have at least."""

AXES: TakenValues = {
    "component": COMPONENT_TYPES.keys(),
    "use": USES.keys(),
    "shape": SHAPE,
    "function": KINDS.keys(),
    "order": (0, 1, 2, 3, 4),
    "form": ("single", "twice", "chained", "loop", "branch", "itself"),
    "integers": _INTEGERS.keys(),
    "source": SOURCES,
    "storage": ("storage_buffer", "workgroup"),
    "control": ("none", "for", "against"),
    "scope": SCOPES.keys(),
    "subgroups": SUBGROUPS,
    "signs": _SIGNS,
}


class _Outside:
    """Operands, matrices and arrays of a program, as its function needs them."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self.builder = ProgramBuilder(SCOPES[values["scope"]], subgroups=int(values["subgroups"]))
        self.type = MatrixType(COMPONENT_TYPES[values["component"]], SCOPES[values["scope"]], *shape_of(values), USES[values["use"]])
        self.operands: dict[str, int] = {}
        self.tables: dict[str, int] = {}
        self.source = matrix_in(self.builder, "source", self.type)

    def scalar(self, name: str, component: ComponentType, bits: int, source: Source | None = None) -> ScalarValue:
        """A scalar from the source of the case."""
        source = source or self.values["source"]
        if source == "literal":
            return self.builder.literal(bits, component)
        # One bit of the significand or of the number, so that floats stay normal.
        operand = self.builder.operand(name, component, source, bits, bits ^ 1)
        if source != "specialization":
            self.operands[name] = bits
        return operand

    def matrix(self, name: str) -> Matrix:
        """Another matrix, or the one that the function is applied to."""
        return self.source if self.values["form"] == "itself" else matrix_in(self.builder, name, self.type)

    def table(self, name: str, length: int) -> tuple[Array, ScalarValue]:
        """An array of ``length`` elements for each instance, and where those of this one begin, which is not 0."""
        builder, storage = self.builder, StorageClass(self.values["storage"])
        pitch = length + 3
        array = stage_in(builder, name, Pointee(self.type.component), 5 + pitch * builder.instances, storage)
        self.tables[name] = length
        first = self.scalar(f"{name}_first", U32, 5)
        return array, first if builder.instances == 1 else builder.offset(f"{name}_begin", first, builder.instance_index(), pitch)


class _Nothing:
    """In place of a program, where only the magnitudes of a function matter."""

    def scalar(self, name: str, component: ComponentType, bits: int, source: Source | None = None) -> ScalarValue:  # noqa: ARG002 (as the program has it)
        """A scalar."""
        return ComputedScalar(name, component)

    def matrix(self, name: str) -> Matrix:
        """A matrix."""
        return Matrix(name, MatrixType(U32, SCOPES["subgroup"], 1, 1, Use.ACCUMULATOR))

    def table(self, name: str, length: int) -> tuple[Array, ScalarValue]:
        """An array."""
        return Array(name, Pointee(U32), length, StorageClass.STORAGE_BUFFER, "input"), ComputedScalar(name, U32)


def _kind(values: Values, outside: _Outside | _Nothing) -> Kind:
    row, column = (COMPONENT_TYPES[name] for name in _INTEGERS[values["integers"]])
    writer = CallbackWriter(outside, COMPONENT_TYPES[values["component"]], shape_of(values), row, column, values["control"])
    return KINDS[values["function"]](writer, int(values["order"]))


def most(values: Values) -> int | None:
    """The greatest magnitude of float data for which all that a form computes is exact; None for data of any magnitude."""
    component = COMPONENT_TYPES[values["component"]]
    kind = _kind(values, _Nothing())
    if not component.is_float or not kind.adds:
        return None
    times = _TRIPS if values["form"] == "loop" else 1
    return int(((1 << component.precision) - times * kind.rest) // (1 + times * kind.shares))


def _is_exact(values: Values) -> bool:
    limit = most(values)
    return limit is None or limit >= _LEAST


def _fits_form(values: Values) -> bool:
    """A matrix is its own operand only where the function takes one."""
    return values["form"] != "itself" or values["function"] in ("matrices", "mixed", "bundled", "unused")


PREDICATES: Mapping[str, Callable[[Values], bool]] = {"is_exact": _is_exact, "fits_form": _fits_form}


def _applied(outside: _Outside, name: str, matrix: Matrix, function: Function, extra: tuple[ExtraOperand, ...]) -> Matrix:
    result = Matrix(name, outside.type)
    outside.builder.add(PerElement(result, matrix, function, extra))
    return result


def _triangle(outside: _Outside, values: Values, name: str, below: bool) -> tuple[Function, tuple[ExtraOperand, ...]]:
    """The element below the diagonal (or else above and on it), elsewhere that of the source."""
    row, column = (COMPONENT_TYPES[n] for n in _INTEGERS[values["integers"]])
    writer = CallbackWriter(outside, outside.type.component, outside.type.shape, row, column, values["control"])
    own = Scalar(f"{name}_other", outside.type.component)
    x, other = writer.arithmetic.raised(writer.x), writer.arithmetic.raised(own)
    pair: tuple[Expression, Expression] = (x, other) if below else (other, x)
    chosen = Choose(Binary("less", writer.unsigned(writer.column), writer.unsigned(writer.row)), *pair)
    return writer.function(name, chosen, own), (outside.source,)


def _out(outside: _Outside, name: str, matrix: Matrix) -> None:
    matrix_out(outside.builder, name, matrix)


def _written(values: Values) -> _Outside:
    outside = _Outside(values)
    builder, source = outside.builder, outside.source
    kind = _kind(values, outside)
    function, extra = kind.function, kind.extra
    match values["form"]:
        case "twice":
            second = matrix_in(builder, "second", outside.type)
            _out(outside, "target_second", _applied(outside, "result_second", second, function, extra))
            _out(outside, "target", _applied(outside, "result", source, function, extra))
        case "chained":
            first = _applied(outside, "first", source, function, extra)
            _out(outside, "target", _applied(outside, "result", first, *_triangle(outside, values, "below", below=True)))
            _out(outside, "target_first", first)
        case "loop":
            if builder.instances > 1:
                # Known before the loop, since what is stored behind it needs it too.
                builder.instance_index()
            index, current = ComputedScalar("trip", U32), Matrix("current", outside.type)
            carried: list[Carried] = []
            with builder.loop(index, outside.scalar("trips", U32, _TRIPS, "push_constant"), carried):
                carried.append(Carried(source, current, _applied(outside, "next", current, function, extra)))
            _out(outside, "target", current)
        case "branch":
            decides = builder.instance_index() if builder.instances > 1 else builder.operand("which", U32, "push_constant")
            with builder.arm() as then:
                first = _applied(outside, "then", source, function, extra)
            with builder.arm() as otherwise:
                first_again = _applied(outside, "again", source, function, extra)
                other = _applied(outside, "otherwise", first_again, *_triangle(outside, values, "above", below=False))
            result = Matrix("chosen", outside.type)
            builder.branch(Condition(decides, "less", builder.literal(1)), then, otherwise, [Merged(result, (first, other))])
            _out(outside, "target", result)
        case _:
            _out(outside, "target", _applied(outside, "result", source, function, extra))
    return outside


def program(values: Values) -> Program:
    """The program of a case: a function is applied to each element of a matrix, and the result stored."""
    return _written(values).builder.build()


def _data(values: Values, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    component = COMPONENT_TYPES[values["component"]]
    if not component.is_float:
        return integers(component, shape, "add", 1, values["signs"], rng)
    limit = most(values)
    if limit is None:
        return distinct(component, shape, values["signs"], rng).astype(component.dtype)
    magnitudes = rng.integers(1, limit, shape, endpoint=True).astype(np.float64)
    signs = -1.0 if values["signs"] == "negative" else rng.choice(np.array([-1.0, 1.0]), shape)
    return (magnitudes * signs).astype(component.dtype)


def subcase(name: str, values: Values, program: Program, rng: np.random.Generator) -> Subcase:
    """Random elements; in tables, factors are powers of two for floats, so that products are exact."""
    written, count = _written(values), instances(values)
    component = COMPONENT_TYPES[values["component"]]
    inputs = {}
    for array in program.arrays:
        if array.role != "input":
            continue
        if array.name in written.tables:
            data = _data(values, (array.count,), rng)
            if array.name == "factors" and component.is_float:
                data = rng.choice(np.array([-2.0, -0.5, 0.5, 2.0, 1.0]), array.count).astype(component.dtype)
            inputs[array.name] = np.ascontiguousarray(data).view(np.uint8)
        else:
            inputs[array.name] = matrix_contents(array, written.type, _data(values, (count, *written.type.shape), rng))
    operands = dict(written.operands)
    if values["form"] == "branch" and count == 1:
        operands["which"] = _SIGNS.index(values["signs"])
    return Subcase(name, inputs, operands)
