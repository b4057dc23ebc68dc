"""Functions for operations on elements. Exchanging any two arguments changes the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from generators.element_functions.writer import CallbackWriter
from generators.numerics.formats import bits_of
from generators.program.builder import U32
from generators.program.callbacks import ExtraOperand, StructOperand, VectorOperand
from generators.program.expressions import Binary, Called, Choose, Converted, ElementRead, Expression, Part, constant, element_function
from generators.program.functions import Function, Parameter
from generators.program.values import Operand, StructType, Value, VectorType
from generators.types import COMPONENT_TYPES, ComponentType

S32 = COMPONENT_TYPES["s32"]
F32 = COMPONENT_TYPES["f32"]


@dataclass(frozen=True)
class Callback:
    """A function and the operands after the matrix.

    Attributes:
        adds: whether it computes sums, so floats have to be whole numbers that fit their significand; otherwise it chooses or scales.
        rest: the sum of the absolute values of all terms except matrices and tables, for floats.
        shares: the weights of matrices and tables in the sum besides the element's own, which is 1.
    """

    function: Function
    extra: tuple[ExtraOperand, ...] = ()
    adds: bool = False
    rest: float = 0
    shares: float = 0

    def most(self, component: ComponentType, times: int) -> int | None:
        """Return the greatest magnitude of data for which ``times`` successive applications of the function are exact; None if they are
        exact for any magnitude."""
        if not component.is_float or not self.adds:
            return None
        return int(((1 << component.precision) - times * self.rest) // (1 + times * self.shares))


def _place(writer: CallbackWriter, _: int) -> Callback:
    """Add x and the place of the element."""
    own = 1 if writer.component.is_float else 5
    result = writer.arithmetic.weighted([(own, writer.x), *writer.place_terms()])
    return Callback(writer.function("place", result), (), True, writer.place_most)


def _position(writer: CallbackWriter, _: int) -> Callback:
    """Return only the place, independent of the element."""
    result = writer.arithmetic.weighted(writer.place_terms())
    return Callback(writer.function("position", result), (), True, writer.place_most)


def _mask(writer: CallbackWriter, _: int) -> Callback:
    """Replace x by a number unless column - 3 is less than row. In the first three columns the difference is negative if the type is
    signed, and a large number if it is unsigned."""
    type_ = writer.row.type
    column: Expression = writer.column if writer.column.type is type_ else Converted(type_, writer.column)
    inside = Binary("less", Binary("subtract", column, constant(type_, 3)), writer.row)
    beyond = writer.arithmetic.constant(-3.5 if writer.component.is_float else writer.number(1))
    return Callback(writer.function("mask", Choose(inside, writer.arithmetic.raised(writer.x), beyond)))


def _clamp(writer: CallbackWriter, _: int) -> Callback:
    """Keep x between two operands."""
    component, raised = writer.component, writer.arithmetic.raised
    low, high = Value("low", component), Value("high", component)
    if component.is_float:
        ends: tuple[float, float] = (-1.5, 2.5)
    elif component.is_signed:
        ends = (-(1 << (component.bits - 3)) - 1, (1 << (component.bits - 2)) + 3)
    else:
        ends = ((1 << (component.bits - 3)) + 1, 5 << (component.bits - 3))
    x, least, greatest = raised(writer.x), raised(low), raised(high)
    above = Choose(Binary("less", x, least), least, x)
    result = Choose(Binary("less", greatest, above), greatest, above)
    extra = tuple(writer.around.scalar(p.name, component, bits_of(component, end)) for p, end in zip((low, high), ends, strict=True))
    return Callback(writer.function("clamp", result, low, high), extra)


_WEIGHTS = (2, 3, 4, 5, 7)


class _Sum:
    """A sum of x and terms from operands, each with a different weight."""

    def __init__(self, writer: CallbackWriter) -> None:
        self.writer = writer
        self.terms: list[tuple[float, Expression]] = [(1 if writer.component.is_float else 5, writer.x)]
        self.rest, self.shares = 0.0, 0.0

    def add(self, term: Expression, magnitude: float | None) -> None:
        """Add a term with a magnitude; None for the elements of a matrix or a table."""
        weight = _WEIGHTS[len(self.terms) - 1]
        self.terms.append((weight, term))
        if magnitude is None:
            self.shares += weight
        else:
            self.rest += weight * abs(magnitude)

    def callback(self, name: str, parameters: tuple[Parameter, ...], extra: tuple[ExtraOperand, ...]) -> Callback:
        """Return the function of all terms."""
        result = self.writer.arithmetic.weighted(self.terms)
        return Callback(self.writer.function(name, result, *parameters), extra, True, self.rest, self.shares)


def _scalars(writer: CallbackWriter, order: int) -> Callback:
    """Add scalars of four types, in an order that the case chooses."""
    total = _Sum(writer)
    numbers = (("own", writer.component, writer.number(0)), ("unsigned", U32, 9), ("signed", S32, -6), ("float", F32, 7))
    parameters, extra = [], []
    for name, component, number in numbers[order % 4 :] + numbers[: order % 4]:
        parameter = Value(f"the_{name}", component)
        total.add(parameter, number)
        parameters.append(parameter)
        extra.append(writer.around.scalar(f"given_{name}", component, bits_of(component, number)))
    return total.callback("scalars", tuple(parameters), tuple(extra))


def _vector(writer: CallbackWriter, order: int) -> Callback:
    """Choose x or, by the place, a component of a vector of 2 to 4 components."""
    lanes = 2 + order % 3
    vector = Value("vector", VectorType(writer.component, lanes))
    operand = VectorOperand(
        tuple(writer.around.scalar(f"lane_{i}", writer.component, bits_of(writer.component, _small(writer, i))) for i in range(lanes))
    )
    # Eight or sixteen rows or columns further, the place chooses another component.
    by_row = Binary("multiply", writer.unsigned(writer.row), constant(U32, 37))
    by_column = Binary("multiply", writer.unsigned(writer.column), constant(U32, 11))
    which = Binary("and", Binary("shift_right", Binary("add", by_row, by_column), constant(U32, 3)), constant(U32, 7))
    result = writer.arithmetic.raised(writer.x)
    for i in range(lanes):
        result = Choose(Binary("equal", which, constant(U32, i)), writer.arithmetic.raised(Part(vector, i)), result)
    return Callback(writer.function("vector", result, vector), (operand,))


def _small(writer: CallbackWriter, i: int) -> float:
    """Return a number that 8-bit floats can represent, or an integer of the whole width."""
    return (-1.25, 3.5, -0.75, 5.0)[i] if writer.component.is_float else writer.number(i)


def _struct(writer: CallbackWriter, order: int) -> Callback:
    """Add every member of a struct of several types."""
    total = _Sum(writer)
    members = (writer.component, U32, writer.component, S32)
    rotated = members[order % 4 :] + members[: order % 4]
    parameter = Value("bundle", StructType("Bundle", rotated))
    operands = []
    for i, component in enumerate(rotated):
        number = writer.number(i) if component is writer.component else -6 if component is S32 else 9
        operands.append(writer.around.scalar(f"member_{i}", component, bits_of(component, number)))
        total.add(Part(parameter, i), number)
    return total.callback("structured", (parameter,), (StructOperand(tuple(operands)),))


def _matrices(writer: CallbackWriter, order: int) -> Callback:
    """Add one to three further matrices."""
    total, parameters, extra = _Sum(writer), [], []
    for i in range(1 + order % 3):
        parameter = Value(f"other_{i}", writer.component)
        total.add(parameter, None)
        parameters.append(parameter)
        extra.append(writer.around.matrix(f"matrix_{i}"))
    return total.callback("matrices", tuple(parameters), tuple(extra))


def _mixed(writer: CallbackWriter, order: int) -> Callback:
    """Add a scalar, a matrix, a vector and another matrix, in an order that the case chooses."""
    return _several(writer, order, "mixed", with_struct=False)


def _bundled(writer: CallbackWriter, order: int) -> Callback:
    """Add a scalar, a matrix, a vector, another matrix and a struct."""
    return _several(writer, order, "bundled", with_struct=True)


def _several(writer: CallbackWriter, order: int, name: str, with_struct: bool) -> Callback:
    total, component = _Sum(writer), writer.component
    vector, struct = Value("pair", VectorType(component, 2)), Value("bundle", StructType("Bundle", (U32, component)))
    scalar, one, two = (Value(name, component) for name in ("scalar", "one", "two"))
    value, lanes = writer.given("given", 0), VectorOperand((writer.given("lane_0", 1), writer.given("lane_1", 2)))
    pair_most, struct_most = abs(writer.number(1)) + 2 * abs(writer.number(2)), 9 + 2 * abs(writer.number(3))
    parts: list[tuple[Parameter, ExtraOperand, Expression, float | None]] = [
        (scalar, value, scalar, writer.number(0)),
        (one, writer.around.matrix("matrix_one"), one, None),
        (vector, lanes, Binary("add", writer.arithmetic.raised(Part(vector, 0)), _doubled(writer, Part(vector, 1))), pair_most),
        (two, writer.around.matrix("matrix_two"), two, None),
    ]
    if with_struct:
        members = StructOperand((writer.around.scalar("member_0", U32, 9), writer.given("member_1", 3)))
        both = Binary("add", writer.arithmetic.raised(Part(struct, 0)), _doubled(writer, Part(struct, 1)))
        parts.insert(3, (struct, members, both, struct_most))
    rotated = parts[order:] + parts[:order]
    for _, _, term, magnitude in rotated:
        total.add(term, magnitude)
    return total.callback(name, tuple(part[0] for part in rotated), tuple(part[1] for part in rotated))


def _doubled(writer: CallbackWriter, value: Expression) -> Expression:
    return Binary("multiply", writer.arithmetic.raised(value), writer.arithmetic.constant(2))


def _read(writer: CallbackWriter, name: str, length: int, index: Expression) -> tuple[Expression, Parameter, ExtraOperand]:
    """Read the element of a table that is ``index`` elements after the first one of this instance."""
    array, begin = writer.around.table(name, length)
    parameter = Value("begin", U32)
    return ElementRead(array, Binary("add", parameter, index)), parameter, begin


def _bias(writer: CallbackWriter, _: int) -> Callback:
    """Add x and the element of a table that the column selects."""
    total = _Sum(writer)
    read, parameter, begin = _read(writer, "bias", writer.shape[1], writer.unsigned(writer.column))
    total.add(read, None)
    return total.callback("bias", (parameter,), (begin,))


def _table(writer: CallbackWriter, _: int) -> Callback:
    """Add x and an element of a table of the matrix's shape, stored by columns."""
    total = _Sum(writer)
    rows, columns = writer.shape
    index = Binary("add", Binary("multiply", writer.unsigned(writer.column), constant(U32, rows)), writer.unsigned(writer.row))
    read, parameter, begin = _read(writer, "table", rows * columns, index)
    total.add(read, None)
    return total.callback("table", (parameter,), (begin,))


def _scale(writer: CallbackWriter, _: int) -> Callback:
    """Multiply x by the element of a table that the row selects."""
    read, parameter, begin = _read(writer, "factors", writer.shape[0], writer.unsigned(writer.row))
    result = Binary("multiply", writer.arithmetic.raised(writer.x), writer.arithmetic.raised(read))
    return Callback(writer.function("scale", result, parameter), (begin,))


def _nested(writer: CallbackWriter, _: int) -> Callback:
    """Call another function twice, the second time on the first result, with row and column exchanged."""
    component, arithmetic = writer.component, writer.arithmetic
    a, b = Value("a", component), Value("b", component)
    tripled = Binary("multiply", arithmetic.raised(a), arithmetic.constant(3))
    row, column = Value("row", U32), Value("column", U32)
    chosen = Choose(Binary("less", column, row), tripled, arithmetic.raised(a))
    inner_result = arithmetic.weighted([(1, b), (1, chosen), *writer.place_terms(row, column)])
    inner = element_function("inner", (row, column, a, b), arithmetic.lowered(inner_result), writer.control)
    s, t = Value("s", component), Value("t", component)
    by_row, by_column = writer.unsigned(writer.row), writer.unsigned(writer.column)
    first = Called(inner, (by_row, by_column, t, writer.x))
    result = Called(inner, (by_column, by_row, s, first))
    # The two calls pass row and column in either order.
    places = 2 * sum(writer.steps) * (max(writer.shape) - 1)
    rest = 3 * abs(writer.number(0)) + 3 * abs(writer.number(1)) + places
    return Callback(writer.function("outer", result, s, t), (writer.given("given_s", 0), writer.given("given_t", 1)), True, rest)


def _unused(writer: CallbackWriter, _: int) -> Callback:
    """Take unused parameters of every kind, around two that are used."""
    total, component = _Sum(writer), writer.component
    s, t = Value("s", component), Value("t", component)
    total.add(s, writer.number(0))
    total.add(t, writer.number(1))
    parameters = (
        Value("unread", U32),
        s,
        Value("unread_vector", VectorType(component, 3)),
        Value("unread_element", component),
        Value("unread_signed", S32),
        t,
        Value("unread_last", component),
    )
    extra = (
        writer.around.scalar("unread", U32, 77),
        writer.given("given_s", 0),
        VectorOperand(tuple(writer.given(f"unread_{i}", i) for i in range(3))),
        writer.around.matrix("matrix_unread"),
        writer.around.scalar("unread_signed", S32, bits_of(S32, -5)),
        writer.given("given_t", 1),
        writer.given("unread_last", 3),
    )
    return total.callback("unused", parameters, extra)


def _outside(writer: CallbackWriter, _: int) -> Callback:
    """Use specialization constants inside the function."""
    total = _Sum(writer)
    for i in range(2):
        value = writer.around.scalar(f"constant_{i}", writer.component, bits_of(writer.component, writer.number(i)), "specialization")
        total.add(value if isinstance(value, Operand) else writer.x, writer.number(i))
    return total.callback("outside", (), ())


@dataclass(frozen=True, eq=False)
class CallbackDesign:
    """A function that a case may choose, before its component type and shape are known.

    Attributes:
        make: writes it; the number chooses the order or the count of its operands.
        orders: how many such numbers there are, counted from 0.
        takes_scalars: whether its operands include scalars, which have a source.
        takes_matrices: whether its operands include matrices.
        reads_memory: whether it reads a table.
    """

    make: Callable[[CallbackWriter, int], Callback]
    orders: int = 1
    takes_scalars: bool = True
    takes_matrices: bool = False
    reads_memory: bool = False


CALLBACKS: Mapping[str, CallbackDesign] = MappingProxyType(
    {
        "place": CallbackDesign(_place, takes_scalars=False),
        "position": CallbackDesign(_position, takes_scalars=False),
        "mask": CallbackDesign(_mask, takes_scalars=False),
        "clamp": CallbackDesign(_clamp),
        "scalars": CallbackDesign(_scalars, orders=4),
        "vector": CallbackDesign(_vector, orders=3),
        "struct": CallbackDesign(_struct, orders=4),
        "matrices": CallbackDesign(_matrices, orders=3, takes_scalars=False, takes_matrices=True),
        "mixed": CallbackDesign(_mixed, orders=4, takes_matrices=True),
        "bundled": CallbackDesign(_bundled, orders=5, takes_matrices=True),
        "bias": CallbackDesign(_bias, reads_memory=True),
        "table": CallbackDesign(_table, reads_memory=True),
        "scale": CallbackDesign(_scale, reads_memory=True),
        "nested": CallbackDesign(_nested),
        "unused": CallbackDesign(_unused, takes_matrices=True),
        "outside": CallbackDesign(_outside, takes_scalars=False),
    }
)
"""The designs by their casebook label."""
