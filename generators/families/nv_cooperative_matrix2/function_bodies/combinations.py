"""Bodies of functions that reductions call; they are commutative and associative on whole numbers from 0 up to a limit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from generators.families.nv_cooperative_matrix2.function_bodies.surroundings import BYTES, WORDS, Need, Surroundings
from generators.families.nv_cooperative_matrix2.function_bodies.writer import FunctionWriter, finished, word
from generators.numerics.formats import bits_of
from generators.program.builder import U32
from generators.program.control_flow import Arm, Carried, Condition, ReturnBoth
from generators.program.functions import Function
from generators.program.values import Scalar, ScalarValue, Value, VectorType

_ORDER = (3, 6, 1, 7, 0, 4, 2, 5)
"""The numbers of a cyclic group of eight elements: element i of the group is called ``_ORDER[i]``."""

TABLE = tuple(_ORDER[(_ORDER.index(a) + _ORDER.index(b)) % 8] for a in range(8) for b in range(8))
"""The combination of two elements of the group, at index a * 8 + b."""

SATURATED = 125
"""Limit of the saturating sum: some rows of sixteen numbers below sixteen reach it, and others do not."""

_MODULUS = 251


@dataclass(frozen=True)
class Pair:
    """The inputs of a body.

    Attributes:
        a, b: the elements, u32.
        first, second: the same, of the component type.
        around: the other resources.
        lower: converts a u32 to the result.
    """

    a: ScalarValue
    b: ScalarValue
    first: Scalar
    second: Scalar
    around: Surroundings
    lower: Callable[[FunctionWriter, ScalarValue], ScalarValue]


Write = Callable[[FunctionWriter, Pair], ScalarValue]
"""A function that writes a body and returns the body's last result."""


@dataclass(frozen=True, eq=False)
class Combination:
    """A body that a case may choose.

    Attributes:
        write: writes it. ``needs``: the resources that it needs besides parameters.
        limit: numbers are below it. ``multiples``: they are multiples of a number of their group, except zero.
        table: its table.
        constant: whether all elements of a group are equal.
        negative: whether elements of signed types have both signs.
        only_floats: whether only floats have it.
    """

    write: Write
    limit: int
    needs: tuple[Need, ...] = ()
    table: tuple[int, ...] = ()
    multiples: bool = False
    constant: bool = False
    negative: bool = False
    only_floats: bool = False


def _early_return(writer: FunctionWriter, pair: Pair) -> ScalarValue:
    """Return the greater number, early if it is the second."""
    writer.leave(Condition(pair.a, "less", pair.b), pair.lower(writer, pair.b))
    return pair.lower(writer, pair.a)


def _both_return(writer: FunctionWriter, pair: Pair) -> ScalarValue:
    """Return the lesser number from either arm."""
    smaller, other = pair.lower(writer, pair.a), pair.lower(writer, pair.b)
    writer.builder.add(ReturnBoth(Condition(pair.a, "less", pair.b), (), smaller, (), other))
    return other


def _key(writer: FunctionWriter, value: ScalarValue) -> Scalar:
    return writer.do("modulo", writer.do("multiply", value, word(77)), word(_MODULUS))


def _branch(writer: FunctionWriter, pair: Pair) -> ScalarValue:
    """Choose in the arms of a branch by a key, which is different for each number."""
    builder = writer.builder
    left, right = _key(writer, pair.a), _key(writer, pair.b)
    with builder.arm() as then:
        one = writer.do("or", pair.b, word(0))
    with builder.arm() as otherwise:
        two = writer.do("or", pair.a, word(0))
    result, merged = writer.merged(one, two)
    builder.branch(Condition(left, "less", right), then, otherwise, [merged])
    return pair.lower(writer, result)


def _switched(writer: FunctionWriter, pair: Pair, mode: ScalarValue) -> ScalarValue:
    builder, values = writer.builder, list[ScalarValue]()
    with builder.arm() as one:
        values.append(writer.do("modulo", writer.do("add", pair.a, pair.b), word(_MODULUS)))
    with builder.arm() as two:
        values.append(writer.extended("maximum", pair.a, pair.b))
    with builder.arm() as default:
        values.append(writer.do("xor", pair.a, pair.b))
    arms = [Arm((0, 3), tuple(one)), Arm((4,), tuple(two))]
    result, merged = writer.merged(*values)
    builder.switch(mode, arms, default, [merged])
    return pair.lower(writer, result)


def _switch_constant(writer: FunctionWriter, pair: Pair) -> ScalarValue:
    """Combine in a way that a number chooses; the number is the same for all elements."""
    return _switched(writer, pair, pair.around.number("mode", 4, 3))


def _switch_default(writer: FunctionWriter, pair: Pair) -> ScalarValue:
    """Build the same function with a number that no arm has."""
    return _switched(writer, pair, pair.around.number("mode", 5, 0))


def _switch_element(writer: FunctionWriter, pair: Pair) -> ScalarValue:
    """Keep the number with the greater upper bits; if those are equal, keep the exclusive or of the lower bits."""
    builder = writer.builder
    left, right = (writer.do("shift_right", value, word(7)) for value in (pair.a, pair.b))
    is_less = writer.select(Condition(left, "less", right), word(1), word(0))
    is_greater = writer.select(Condition(left, "greater", right), word(2), word(0))
    with builder.arm() as second:
        one = writer.do("or", pair.b, word(0))
    with builder.arm() as first:
        two = writer.do("or", pair.a, word(0))
    with builder.arm() as default:
        low = writer.do("xor", writer.do("and", pair.a, word(127)), writer.do("and", pair.b, word(127)))
        three = writer.do("or", low, writer.do("shift_left", left, word(7)))
    result, merged = writer.merged(one, two, three)
    arms = [Arm((1,), tuple(second)), Arm((2,), tuple(first))]
    builder.switch(writer.do("add", is_less, is_greater), arms, default, [merged])
    return pair.lower(writer, result)


def _loop(writer: FunctionWriter, pair: Pair) -> ScalarValue:
    """Add two numbers without carries, digit by digit in base 4."""
    builder = writer.builder
    index, current, carried = writer.fresh(), writer.fresh(), list[Carried]()
    with builder.loop(index, word(6), carried):
        shift = writer.do("multiply", index, word(2))
        digits = [writer.do("and", writer.do("shift_right", value, shift), word(3)) for value in (pair.a, pair.b)]
        digit = writer.do("and", writer.do("add", *digits), word(3))
        carried.append(Carried(word(0), current, writer.do("or", current, writer.do("shift_left", digit, shift))))
    return pair.lower(writer, current)


def _loop_return(writer: FunctionWriter, pair: Pair) -> ScalarValue:
    """Return the greatest common divisor from inside Euclid's loop."""
    builder = writer.builder
    index, left, right, carried = writer.fresh(), writer.fresh(), writer.fresh(), list[Carried]()
    with builder.loop(index, word(20), carried):
        with builder.arm() as body:
            found = pair.lower(writer, left)
        writer.leave(Condition(right, "equal", word(0)), found, body)
        carried.append(Carried(pair.a, left, right))
        carried.append(Carried(pair.b, right, writer.do("modulo", left, right)))
    return pair.lower(writer, right)


def _extended(writer: FunctionWriter, pair: Pair) -> ScalarValue:
    """Combine unsigned numbers by a sum that saturates, signed numbers by the greater magnitude, and floats by a sum modulo 64."""
    type_, first, second = pair.first.type, pair.first, pair.second

    def constant(number: float) -> ScalarValue:
        return writer.builder.literal(bits_of(type_, number), type_)

    if type_.is_float:
        total = writer.do("add", first, second)
        whole = writer.extended("floor", writer.do("multiply", total, constant(1 / 64)))
        return writer.extended("fused", whole, constant(-64), total)
    if type_.is_signed:
        return writer.extended("maximum", writer.extended("absolute", first), writer.extended("absolute", second))
    return writer.extended("clamp", writer.do("add", first, second), constant(0), constant(SATURATED))


def _division(writer: FunctionWriter, pair: Pair) -> ScalarValue:
    """Add modulo a prime, with a quotient. Integers are added in their own type."""
    type_ = U32 if pair.first.type.is_float else pair.first.type
    modulus = writer.builder.literal(_MODULUS, type_)
    total = writer.do("add", writer.convert(pair.a, type_), writer.convert(pair.b, type_))
    whole = writer.do("multiply", writer.do("divide", total, modulus), modulus)
    return pair.lower(writer, writer.do("subtract", total, whole))


def _vector(writer: FunctionWriter, pair: Pair) -> ScalarValue:
    """Unpack both into vectors, and keep the greater of each pair of components, which a loop visits."""
    builder, type_ = writer.builder, VectorType(U32, 4)
    variables = []
    for value in (pair.a, pair.b):
        parts = [writer.do("and", writer.do("shift_right", value, word(3 * i)), word(7)) for i in range(3)]
        variable = writer.variable(type_)
        writer.set(variable, writer.construct(type_, *parts, word(0)))
        variables.append(variable)
    index, current, carried = writer.fresh(), writer.fresh(), list[Carried]()
    with builder.loop(index, word(3), carried):
        left, right = (writer.get(variable, index) for variable in variables)
        greater = writer.select(Condition(left, "less", right), right, left)
        placed = writer.do("shift_left", greater, writer.do("multiply", index, word(3)))
        carried.append(Carried(word(0), current, writer.do("or", current, placed)))
    return pair.lower(writer, current)


def _combined(writer: FunctionWriter, pair: Pair) -> Scalar:
    return writer.do("add", writer.do("multiply", pair.a, word(8)), pair.b)


def _bytes(writer: FunctionWriter, pair: Pair) -> ScalarValue:
    """Look up in a table of bytes that are packed in words of a buffer."""
    assert pair.around.words is not None, "the body needs words"
    index = _combined(writer, pair)
    packed = writer.read(pair.around.words, writer.do("shift_right", index, word(2)))
    return pair.lower(writer, writer.byte(packed, index))


def _reference(writer: FunctionWriter, pair: Pair) -> ScalarValue:
    """Look up in a table of bytes by a buffer reference that is cast."""
    assert pair.around.packed is not None, "the body needs packed words"
    index = _combined(writer, pair)
    block = writer.do("multiply", writer.do("shift_right", index, word(4)), word(WORDS.bytes))
    pointer = writer.cast(writer.address(pair.around.packed, block, WORDS), BYTES)
    return pair.lower(writer, writer.member(pointer, writer.do("and", index, word(15))))


def _table(writer: FunctionWriter, pair: Pair) -> ScalarValue:
    """Look up in a table."""
    return pair.lower(writer, pair.around.look_up(writer, _combined(writer, pair)))


def _number(writer: FunctionWriter, pair: Pair) -> ScalarValue:
    """Add modulo a number that is not passed as an argument."""
    total = writer.do("add", pair.a, pair.b)
    return pair.lower(writer, writer.do("modulo", total, pair.around.number("modulus", _MODULUS, 193)))


def _private(writer: FunctionWriter, pair: Pair) -> ScalarValue:
    """Add modulo a number in a variable of the module, which differs from one scope instance to the next."""
    assert pair.around.private is not None, "the body needs a variable of the module"
    modulus = writer.get(pair.around.private)
    return pair.lower(writer, writer.do("modulo", writer.do("add", pair.a, pair.b), modulus))


def _call(writer: FunctionWriter, pair: Pair) -> ScalarValue:
    """Add the lesser of each pair of digits; other functions compute the digits, and one of them returns early."""
    a, b = Value("a", U32), Value("b", U32)
    inner = FunctionWriter(writer.builder, f"{writer.name}_inner")
    with writer.builder.arm() as body:
        inner.leave(Condition(b, "less", a), b)
        result = inner.do("or", a, word(0))
    function: Function = finished(inner, (a, b), body, result)
    low = writer.call(function, *(writer.do("and", value, word(15)) for value in (pair.b, pair.a)))
    high = writer.call(function, *(writer.do("and", value, word(0x7F0)) for value in (pair.a, pair.b)))
    return pair.lower(writer, writer.do("or", low, high))


def _first(writer: FunctionWriter, pair: Pair) -> ScalarValue:
    """Return the first element of a group whose elements are all equal."""
    return pair.lower(writer, pair.a)


def _exponential(writer: FunctionWriter, pair: Pair) -> ScalarValue:
    """Return the greater number: it has the smaller exponential of a negative multiple."""
    quarter = writer.builder.literal(bits_of(pair.first.type, -0.25), pair.first.type)
    left, right = (writer.extended("exponential", writer.do("multiply", value, quarter)) for value in (pair.first, pair.second))
    return writer.select(Condition(right, "less", left), pair.second, pair.first)


COMBINATIONS: Mapping[str, Combination] = MappingProxyType(
    {
        "early_return": Combination(_early_return, 2000),
        "both_return": Combination(_both_return, 2000),
        "branch": Combination(_branch, _MODULUS),
        "switch_constant": Combination(_switch_constant, _MODULUS),
        "switch_default": Combination(_switch_default, _MODULUS),
        "switch_element": Combination(_switch_element, 512),
        "loop": Combination(_loop, 2048),
        "loop_return": Combination(_loop_return, 2000, multiples=True),
        "extended": Combination(_extended, 16, negative=True),
        "division": Combination(_division, _MODULUS),
        "vector": Combination(_vector, 512),
        "bytes": Combination(_bytes, 8, ("words",)),
        "reference": Combination(_reference, 8, ("reference",)),
        "number": Combination(_number, _MODULUS),
        "private": Combination(_private, 150, ("private",)),
        "table": Combination(_table, 8, table=TABLE),
        "call": Combination(_call, 2048),
        "first": Combination(_first, 2000, constant=True),
        "exponential": Combination(_exponential, 24, only_floats=True),
    }
)
"""By name."""
