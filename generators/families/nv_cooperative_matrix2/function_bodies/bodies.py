"""Bodies of functions that compute a value from a position: operations on elements, and decode functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from generators.families.nv_cooperative_matrix2.function_bodies.surroundings import BYTES, HALVES, WORDS, Need, Surroundings
from generators.families.nv_cooperative_matrix2.function_bodies.writer import S32, FunctionWriter, finished, word
from generators.numerics.formats import bits_of
from generators.program.arrays import ArrayStore, AtomicOr
from generators.program.builder import U32
from generators.program.control_flow import Arm, Carried, Condition, ReturnBoth
from generators.program.values import BlockPointer, Scalar, ScalarValue, StructType, Value, VectorType
from generators.types import ComponentType

TABLE = tuple((0x9E3779B1 * (2 * i + 1) ^ 0x5BD1E995 >> i) % (1 << 32) for i in range(16))
"""Sixteen numbers of 32 bits that differ in their low bits."""


@dataclass(frozen=True)
class Given:
    """The inputs of a body.

    Attributes:
        p, q, x: u32: two numbers of the position, and the element. Each of them changes the body's result.
        value: the element, of the component type.
        around: the other resources.
        place: the index of the element in its matrix, or in the block of a decode function, if a body needs it.
        log_place: the index of the element in the buffer to write, if there is one.
        pointer: the pointer to the block of a decode function; None in an operation on elements.
        lower: converts a u32 to the result.
    """

    p: ScalarValue
    q: ScalarValue
    x: ScalarValue
    value: Scalar
    around: Surroundings
    place: ScalarValue | None
    log_place: ScalarValue | None
    pointer: BlockPointer | None
    lower: Callable[[FunctionWriter, ScalarValue], ScalarValue]


Write = Callable[[FunctionWriter, Given], ScalarValue]
"""A function that writes a body and returns the body's last result."""


@dataclass(frozen=True, eq=False)
class Body:
    """A body that a case may choose.

    Attributes:
        write: writes it. ``needs``: the resources that it needs besides parameters.
        has_table: whether it uses a table.
        only_elements: whether only operations on elements have it.
        only_floats: whether only floats have it.
    """

    write: Write
    needs: tuple[Need, ...] = ()
    has_table: bool = False
    only_elements: bool = False
    only_floats: bool = False


def _early_return(writer: FunctionWriter, given: Given) -> ScalarValue:
    """Return from an ``if`` with its own operations, or go on."""
    builder = writer.builder
    key = writer.do("and", writer.weighted((3, given.p), (5, given.q), (1, given.x)), word(7))
    with builder.arm() as body:
        early = given.lower(writer, writer.weighted((5, given.x), (7, given.p), (1, given.q)))
    writer.leave(Condition(key, "less", word(3)), early, body)
    return given.lower(writer, writer.weighted((3, given.x), (11, given.q), (13, given.p)))


def _both_return(writer: FunctionWriter, given: Given) -> ScalarValue:
    """Return from both arms; the first arm returns early for some elements."""
    builder = writer.builder
    with builder.arm() as then:
        inner = given.lower(writer, writer.weighted((9, given.x), (1, given.q)))
        writer.leave(Condition(writer.do("and", given.q, word(1)), "equal", word(0)), inner)
        first = given.lower(writer, writer.weighted((5, given.x), (7, given.p)))
    with builder.arm() as otherwise:
        second = given.lower(writer, writer.weighted((3, given.x), (11, given.q), (1, given.p)))
    builder.add(ReturnBoth(Condition(given.p, "greater", given.q), tuple(then), first, tuple(otherwise), second))
    return second


def _branch(writer: FunctionWriter, given: Given) -> ScalarValue:
    """Compute in the arms of a branch, and of another branch inside it."""
    builder = writer.builder
    with builder.arm() as inner_then:
        one = writer.weighted((5, given.x), (7, given.p))
    with builder.arm() as inner_otherwise:
        two = writer.weighted((9, given.x), (3, given.q))
    with builder.arm() as then:
        chosen, inner = writer.merged(one, two)
        odd = Condition(writer.do("and", given.x, word(1)), "not_equal", word(0))
        builder.branch(odd, inner_then, inner_otherwise, [inner])
        first = writer.do("add", chosen, given.q)
    with builder.arm() as otherwise:
        second = writer.weighted((11, given.x), (1, given.p), (5, given.q))
    result, outer = writer.merged(first, second)
    builder.branch(Condition(given.q, "less_equal", given.p), then, otherwise, [outer])
    return given.lower(writer, result)


def _switched(writer: FunctionWriter, given: Given, selector: ScalarValue) -> ScalarValue:
    """Choose among four sums by a selector; two literals select the same sum."""
    builder = writer.builder
    arms, values = [], []
    for literals, weights in (((0,), (5, 7, 3)), ((1, 4), (3, 11, 1)), ((2, 7), (9, 1, 13))):
        with builder.arm() as body:
            values.append(writer.weighted(*zip(weights, (given.x, given.p, given.q), strict=True)))
        arms.append(Arm(literals, tuple(body)))
    with builder.arm() as default:
        values.append(writer.weighted((7, given.x), (5, given.p), (9, given.q)))
    result, merged = writer.merged(*values)
    builder.switch(selector, arms, default, [merged])
    return given.lower(writer, result)


def _switch_constant(writer: FunctionWriter, given: Given) -> ScalarValue:
    """Choose by a number that is the same for all elements."""
    return _switched(writer, given, given.around.number("mode", 4, 3))


def _switch_default(writer: FunctionWriter, given: Given) -> ScalarValue:
    """Build the same function with a number that no arm has."""
    return _switched(writer, given, given.around.number("mode", 5, 2))


def _switch_element(writer: FunctionWriter, given: Given) -> ScalarValue:
    """Choose by the element and its position."""
    return _switched(writer, given, writer.do("and", writer.weighted((1, given.p), (3, given.q), (1, given.x)), word(7)))


def _loop(writer: FunctionWriter, given: Given) -> ScalarValue:
    """Add as many times as the position says, or until a number is reached; skip some iterations."""
    builder = writer.builder
    trips = writer.do("and", writer.weighted((1, given.p), (3, given.q)), word(7))
    index, current, carried = writer.fresh(), writer.fresh(), list[Carried]()
    with builder.loop(index, trips, carried):
        key = writer.do("and", writer.do("add", current, index), word(15))
        builder.exit("break", Condition(key, "equal", word(5)))
        builder.exit("continue", Condition(key, "equal", word(2)))
        following = writer.weighted((3, current), (1, given.q), (7, index))
        carried.append(Carried(given.x, current, following))
    return given.lower(writer, writer.weighted((1, current), (5, given.p)))


def _loop_return(writer: FunctionWriter, given: Given) -> ScalarValue:
    """Return from inside a loop, in an iteration that differs from element to element."""
    builder = writer.builder
    index, current, carried = writer.fresh(), writer.fresh(), list[Carried]()
    with builder.loop(index, word(6), carried):
        with builder.arm() as body:
            found = given.lower(writer, writer.weighted((5, current), (9, index), (1, given.p)))
        key = writer.do("and", writer.weighted((1, current), (1, given.p), (1, given.q)), word(3))
        writer.leave(Condition(key, "equal", word(1)), found, body)
        carried.append(Carried(given.x, current, writer.weighted((5, current), (3, given.q), (1, index))))
    return given.lower(writer, writer.weighted((3, current), (7, given.p)))


def _extended(writer: FunctionWriter, given: Given) -> ScalarValue:
    """Add up the results of extended instructions on the element and its position, each of the component type."""
    type_, value = given.value.type, given.value
    p, q = writer.convert(given.p, type_), writer.convert(given.q, type_)

    def constant(number: float) -> ScalarValue:
        return writer.builder.literal(bits_of(type_, number), type_)

    low, high = constant(4), writer.do("add", q, constant(20))
    parts = [
        writer.extended("minimum", value, writer.do("add", q, q)),
        writer.extended("maximum", value, writer.do("add", p, constant(9))),
        writer.extended("clamp", value, low, high),
    ]
    if type_.is_float or type_.is_signed:
        parts.append(writer.extended("absolute", writer.do("subtract", value, p)))
    if type_.is_float:
        parts.append(writer.extended("floor", writer.do("multiply", value, constant(0.25))))
        parts.append(writer.extended("fused", value, constant(3), p))
    total = parts[0]
    for i, part in enumerate(parts[1:]):
        total = writer.do("add", total, total) if i % 2 else total
        total = writer.do("add", total, part)
    return total


def _division(writer: FunctionWriter, given: Given) -> ScalarValue:
    """Divide the element by numbers of the position, as unsigned and as signed, and take remainders."""
    by_p, by_q = writer.do("add", given.p, word(3)), writer.do("add", given.q, word(5))
    quotient, rest = writer.do("divide", given.x, by_p), writer.do("modulo", given.x, by_q)
    signed = writer.do("subtract", writer.convert(writer.do("and", given.x, word(0xFF)), S32), writer.builder.literal(128, S32))
    toward_zero = writer.convert(writer.do("divide", signed, writer.convert(by_q, S32)), U32)
    odd = writer.convert(writer.do("modulo", writer.convert(writer.do("and", given.x, word(0x7F)), S32), writer.convert(by_p, S32)), U32)
    return given.lower(writer, writer.weighted((1, quotient), (3, rest), (37, toward_zero), (11, odd)))


def _vector(writer: FunctionWriter, given: Given) -> ScalarValue:
    """Build a vector and a struct; take members, and a component by a computed index."""
    vector_type = VectorType(U32, 4)
    pair_type = VectorType(U32, 2)
    parts = (writer.weighted((factor, number)) for factor, number in ((3, given.p), (5, given.q), (7, given.x)))
    vector = writer.construct(vector_type, given.x, *parts)
    variable = writer.variable(vector_type)
    writer.set(variable, vector)
    component = writer.get(variable, writer.do("and", writer.weighted((1, given.p), (1, given.q)), word(3)))
    pair = writer.construct(pair_type, given.q, given.x)
    both = writer.construct(StructType("Member", (U32, pair_type)), given.p, pair)
    terms = (component, writer.extract(vector, 3), writer.extract(both, 0), writer.extract(both, 1, 0), writer.extract(both, 1, 1))
    return given.lower(writer, writer.weighted(*zip((1, 9, 11, 3, 17), terms, strict=True)))


def _bytes(writer: FunctionWriter, given: Given) -> ScalarValue:
    """Unpack a byte with a computed index from words in a buffer or in the block."""
    index = given.place
    assert index is not None, "the body needs the element's number"
    if given.pointer is not None:
        index = writer.do("xor", given.q, word(13))
        packed: ScalarValue = writer.member(given.pointer, writer.do("shift_right", index, word(2)))
    else:
        assert given.around.words is not None, "the body needs words"
        packed = writer.read(given.around.words, writer.do("shift_right", index, word(2)))
    return given.lower(writer, writer.weighted((5, writer.byte(packed, index)), (3, given.x), (1, given.p), (7, given.q)))


def _reference(writer: FunctionWriter, given: Given) -> ScalarValue:
    """Cast a buffer reference to other types, and load through each at a computed index."""
    pointer = given.pointer
    if pointer is None:
        assert given.around.packed is not None, "the body needs packed words"
        pointer = writer.address(given.around.packed, writer.do("multiply", given.p, word(WORDS.bytes)), WORDS)
    byte = writer.member(writer.cast(pointer, BYTES), writer.do("xor", writer.do("and", given.q, word(15)), word(6)))
    half = writer.member(writer.cast(pointer, HALVES), writer.do("and", writer.do("add", given.q, given.p), word(7)))
    whole = writer.member(pointer, writer.do("and", given.q, word(3)))
    return given.lower(writer, writer.weighted((3, given.x), (5, byte), (7, half), (1, whole), (9, given.p)))


def _number(writer: FunctionWriter, given: Given) -> ScalarValue:
    """Multiply by and add numbers that are not passed as arguments."""
    around = given.around
    factor, addend = around.number("factor", 11, 6), around.number("addend", 0x9E375, 0x9E374)
    product = writer.do("multiply", given.x, factor)
    return given.lower(writer, writer.do("add", writer.do("add", product, addend), writer.weighted((3, given.p), (5, given.q))))


def _private(writer: FunctionWriter, given: Given) -> ScalarValue:
    """Use a variable of the module that the entry point has set, differently in each scope instance."""
    assert given.around.private is not None, "the body needs a variable of the module"
    own = writer.get(given.around.private)
    product = writer.do("multiply", given.x, own)
    return given.lower(writer, writer.do("add", product, writer.weighted((3, given.p), (5, given.q), (1, own))))


def _table(writer: FunctionWriter, given: Given) -> ScalarValue:
    """Look up a number by a computed index."""
    index = writer.do("and", writer.weighted((5, given.p), (1, given.q), (3, given.x)), word(15))
    found = given.around.look_up(writer, index)
    return given.lower(writer, writer.weighted((1, found), (3, given.x), (7, given.p), (11, given.q)))


def _call(writer: FunctionWriter, given: Given) -> ScalarValue:
    """Call a function that returns early for some elements twice, the second time with its first result."""
    a, b = Value("a", U32), Value("b", U32)
    inner = FunctionWriter(writer.builder, f"{writer.name}_inner")
    with writer.builder.arm() as body:
        key = inner.do("and", inner.weighted((1, a), (3, b)), word(3))
        inner.leave(Condition(key, "less", word(2)), inner.weighted((5, a), (3, b)), ())
        result = inner.weighted((7, a), (1, b))
    # The value that an exit returns is computed before it.
    function = finished(inner, (a, b), body, result)
    first = writer.call(function, given.x, given.p)
    return given.lower(writer, writer.call(function, given.q, first))


def _store(writer: FunctionWriter, given: Given) -> ScalarValue:
    """Store a number for each element in its own word of a buffer, for some elements inside a branch."""
    assert given.around.log is not None, "the body needs a buffer to write"
    assert given.log_place is not None, "the body needs a place to write"
    builder = writer.builder
    with builder.arm() as then:
        one = writer.weighted((5, given.x), (3, given.p))
    with builder.arm() as otherwise:
        two = writer.weighted((9, given.x), (7, given.q))
    number, merged = writer.merged(one, two)
    builder.branch(Condition(given.p, "less", given.q), then, otherwise, [merged])
    builder.add(ArrayStore(given.around.log, given.log_place, number))
    return given.lower(writer, writer.weighted((3, number), (1, given.q)))


def _mark(writer: FunctionWriter, given: Given) -> ScalarValue:
    """Set bits that identify the element, in its own word or in a part of a word, by an atomic instruction."""
    around, place = given.around, given.log_place
    assert around.marks is not None, "the body needs a buffer of marks"
    assert place is not None, "the body needs a place to mark"
    if around.mark == "word":
        number = bits = writer.do("or", writer.weighted((5, given.x), (3, given.p), (7, given.q)), word(1))
    else:
        # The lowest two bits identify the element, the third bit may be set from the start, and the fourth bit shows a carry.
        number = writer.do("add", writer.do("and", given.x, word(1)), word(5))
        bits = writer.do("shift_left", number, writer.do("multiply", writer.do("and", place, word(7)), word(4)))
        place = writer.do("shift_right", place, word(3))
    writer.builder.add(AtomicOr(around.marks, place, bits))
    return given.lower(writer, writer.weighted((3, number), (5, given.x), (1, given.q)))


class _Floats:
    """Makes floats of one type in a body."""

    def __init__(self, writer: FunctionWriter, type_: ComponentType) -> None:
        self._writer = writer
        self._type = type_

    def constant(self, number: float) -> ScalarValue:
        return self._writer.builder.literal(bits_of(self._type, number), self._type)

    def place(self, number: ScalarValue, mask: int, unit: float) -> ScalarValue:
        """Return the bits in ``mask`` of a number of the position, times ``unit``."""
        writer = self._writer
        return writer.do("multiply", writer.convert(writer.do("and", number, word(mask)), self._type), self.constant(unit))


def _exponential(writer: FunctionWriter, given: Given) -> ScalarValue:
    """Return an attention weight: exp of the element less a number of its row, or 0 if masked."""
    floats = _Floats(writer, given.value.type)
    writer.leave(Condition(given.q, "greater", writer.do("add", given.p, word(4))), floats.constant(0))
    weight = writer.extended("exponential", writer.do("subtract", given.value, floats.place(given.p, 3, 0.5)))
    return writer.do("multiply", weight, writer.do("add", floats.place(given.q, 1, 1.0), floats.constant(1)))


def _power(writer: FunctionWriter, given: Given) -> ScalarValue:
    """Return a weight in base 2, computed from a product and a sum, and clamped between two numbers."""
    floats = _Floats(writer, given.value.type)
    exponent = writer.extended("fused", given.value, floats.constant(0.5), floats.place(given.q, 7, -0.25))
    weight = writer.extended("clamp", writer.extended("power_of_two", exponent), floats.constant(0.125), floats.constant(3))
    return writer.do("multiply", weight, writer.do("add", floats.place(given.p, 3, 1.0), floats.constant(1)))


def _tangent(writer: FunctionWriter, given: Given) -> ScalarValue:
    """Return an activation: the element times one more than tanh, plus a number of its row."""
    floats = _Floats(writer, given.value.type)
    argument = writer.do("add", writer.do("multiply", given.value, floats.constant(0.25)), floats.place(given.q, 3, 0.25))
    gate = writer.do("add", writer.extended("hyperbolic_tangent", argument), floats.constant(1))
    return writer.do("add", writer.do("multiply", given.value, gate), floats.place(given.p, 3, 1.0))


def _root(writer: FunctionWriter, given: Given) -> ScalarValue:
    """Return the element divided by a root, as a normalization does."""
    total = writer.convert(writer.weighted((3, given.p), (1, writer.do("add", given.q, word(2)))), given.value.type)
    return writer.do("multiply", given.value, writer.extended("inverse_root", total))


def _logarithm(writer: FunctionWriter, given: Given) -> ScalarValue:
    """Return a logarithm of the magnitude of the element and its row, less a number of its column; at least 0."""
    floats = _Floats(writer, given.value.type)
    magnitude = writer.do("add", writer.extended("absolute", given.value), writer.convert(given.p, given.value.type))
    logarithm = writer.extended("logarithm", writer.do("add", magnitude, floats.constant(1)))
    return writer.extended("maximum", writer.do("subtract", logarithm, floats.place(given.q, 3, 0.5)), floats.constant(0))


BODIES: Mapping[str, Body] = MappingProxyType(
    {
        "early_return": Body(_early_return),
        "both_return": Body(_both_return),
        "branch": Body(_branch),
        "switch_constant": Body(_switch_constant),
        "switch_default": Body(_switch_default),
        "switch_element": Body(_switch_element),
        "loop": Body(_loop),
        "loop_return": Body(_loop_return),
        "extended": Body(_extended),
        "division": Body(_division),
        "vector": Body(_vector),
        "bytes": Body(_bytes, ("words",)),
        "reference": Body(_reference, ("reference",)),
        "number": Body(_number),
        "private": Body(_private, ("private",)),
        "table": Body(_table, has_table=True),
        "call": Body(_call),
        "store": Body(_store, ("log",), only_elements=True),
        "mark": Body(_mark, ("marks",), only_elements=True),
        "exponential": Body(_exponential, only_elements=True, only_floats=True),
        "power": Body(_power, only_elements=True, only_floats=True),
        "tangent": Body(_tangent, only_elements=True, only_floats=True),
        "root": Body(_root, only_elements=True, only_floats=True),
        "logarithm": Body(_logarithm, only_elements=True, only_floats=True),
    }
)
"""By name."""
