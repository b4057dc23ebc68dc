"""The permitted values of each element after a dispatch, as text that a short program can read.

Each element has a line: array, byte offset, type, instance, row, column, and the permitted set; if the expected set is smaller, it follows
after a semicolon. A set is bits in hexadecimal, ranges ``LOW..HIGH`` of values, and words: ``nan`` for every NaN, ``any`` for all bits, and
``unchanged`` if the store may be dropped.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cts.verdict.expected import Exact, Expected, Interval, OneOf, Placed, ValueSet
from generators.errors import Lack, NotExpressible
from generators.numerics.formats import is_nan, sign_bit
from generators.types import ComponentType

FILE = "elements.txt"

HEADING = "# array byte type instance row column: permitted set; expected set, if it is smaller\n"

_EXACT_IN_A_DOUBLE = 32
"""The most bits of an integer type whose ranges are exact in doubles."""

Place = tuple[int, int, int]


def lines(expected: Expected) -> Iterator[str]:
    """Yield a line for each element.

    Raises:
        NotExpressible: the text cannot express a set.
    """
    for placed in expected.placed:
        for at in np.ndindex(*placed.offsets.shape):
            yield _line(placed, (at[0], at[1], at[2]))


def _line(placed: Placed, at: Place) -> str:
    instance, row, column = placed.cell(at)
    permitted = _words(placed.permitted, at)
    dropped = placed.expectation.may_be_dropped
    if dropped is not None and dropped[at]:
        permitted = [*permitted, "unchanged"]
    head = f"{placed.array} {int(placed.offsets[at])} {_type_name(placed)} {instance} {row} {column} {' '.join(permitted)}"
    if not placed.is_judged_by_two_sets:
        return head
    expected = _words(placed.expected, at)
    return head if expected == permitted else f"{head}; {' '.join(expected)}"


def _type_name(placed: Placed) -> str:
    """Return the type that says how the bits are read."""
    sets = (placed.permitted, placed.expected)
    signs = {one.signed for one in sets if isinstance(one, Interval) and one.signed is not None}
    if not signs:
        return placed.component.name
    if len(signs) > 1 or placed.component.bits > _EXACT_IN_A_DOUBLE:
        raise NotExpressible(Lack.PROGRAM_VALUES, f"elements of {placed.component} are judged by ranges that doubles cannot express")
    return f"{'s' if signs.pop() else 'u'}{placed.component.bits}"


def _words(allowed: ValueSet, at: Place) -> list[str]:
    if isinstance(allowed, Interval):
        nan = ["nan"] if allowed.nan is not None and allowed.nan[at] else []
        return [f"{float(allowed.low[at]).hex()}..{float(allowed.high[at]).hex()}", *nan]
    if isinstance(allowed, OneOf) and allowed.free is not None and allowed.free[at]:
        return ["any"]
    return list(dict.fromkeys(word for choice in allowed.choices for word in _bits(int(choice[at]), allowed)))


def _bits(bits: int, allowed: Exact | OneOf) -> list[str]:
    """Return the bits, with other encodings of the same value."""
    component = allowed.component
    digits = 2 * component.bytes
    own = f"{bits:0{digits}x}"
    if _is_nan(bits, component) and not (isinstance(allowed, Exact) and allowed.nan_bits):
        return [own, "nan"]
    if allowed.either_zero and not bits & (sign_bit(component) - 1):
        return [own, f"{bits ^ sign_bit(component):0{digits}x}"]
    return [own]


def _is_nan(bits: int, component: ComponentType) -> bool:
    return component.is_float and bool(is_nan(np.array([bits], component.bits_dtype), component)[0])
