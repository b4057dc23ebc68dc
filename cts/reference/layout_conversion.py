"""The elements of matrices after a chain of conversions (Vulkan, "Cooperative Vectors").

A layout moves elements and changes none. A conversion between component types rounds to the nearest number, ties to even; the text does not
define the results for numbers beyond the largest, for NaN and for the sign of zeros (F-CV-8).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from cts.verdict.expected import Authority, Exact, Expectation, OneOf, Placed, one_set
from generators.layout_conversion import LayoutConversion, MatrixForm
from generators.numerics.formats import encode, is_nan, largest_finite, sign_bit, values
from generators.numerics.rounding import nearest
from generators.types import ComponentType

_LAYOUT = "CV-API-02"
_ROUNDING = "CV-API-03"
_ELEMENTS = "CV-API-05"
_SILENT = "F-CV-8"


@dataclass(frozen=True)
class Elements:
    """The permitted and expected elements of some matrices.

    Attributes:
        component: their type.
        expected: bits, unsigned, (matrices, rows, columns).
        permitted: further permitted bits, each of the same shape.
        free: where everything is permitted, bool, of the same shape.
        rounded: whether a conversion between types contributed to them.
        edited: whether an operation other than a conversion did.
    """

    component: ComponentType
    expected: np.ndarray
    permitted: tuple[np.ndarray, ...]
    free: np.ndarray
    rounded: bool = False
    edited: bool = False

    @property
    def expectation(self) -> Expectation:
        """Return the expectation by which the elements are judged."""
        requirement = _ELEMENTS if self.edited else _ROUNDING if self.rounded else _LAYOUT
        if not self.rounded and not self.edited:
            return one_set(Exact(self.component, self.expected), Authority(requirement))
        permitted = OneOf(self.component, (self.expected, *self.permitted), either_zero=self.component.is_float, free=self.free)
        return Expectation(permitted, Exact(self.component, self.expected), Authority(requirement, quality=_SILENT))


def evaluate(conversion: LayoutConversion) -> tuple[Elements, ...]:
    """Return the elements of the matrices in each form; the first form is given."""
    found = Elements(conversion.forms[0].component, conversion.data, (), np.zeros(conversion.data.shape, bool))
    all_ = [found]
    for place, form in enumerate(conversion.forms[1:]):
        found = converted(found, form.component)
        if place == 0 and conversion.between == "zeros":
            nothing = np.zeros_like(found.expected)
            found = replace(found, expected=nothing, permitted=(), free=np.zeros(nothing.shape, bool), edited=True)
        elif place == 0 and conversion.between == "doubled":
            found = _doubled(found)
        all_.append(found)
    return tuple(all_)


def converted(elements: Elements, component: ComponentType) -> Elements:
    """Return the elements as ``component``, which may be their own type."""
    if component is elements.component:
        return elements
    expected, *further = _rounded(elements.expected, elements.component, component)
    for bits in elements.permitted:
        further += _rounded(bits, elements.component, component)
    permitted = tuple(bits for bits in further if (bits != expected).any())
    free = elements.free | is_nan(elements.expected, elements.component)
    return replace(elements, component=component, expected=expected, permitted=permitted, free=free, rounded=True)


def _rounded(bits: np.ndarray, source: ComponentType, destination: ComponentType) -> list[np.ndarray]:
    """Return the bits of the nearest numbers, and the same bits with the largest number in place of values beyond it."""
    numbers = values(bits, source)
    with np.errstate(invalid="ignore"):
        rounded = nearest(destination, numbers)
    largest = np.copysign(largest_finite(destination), numbers)
    return [_encoded(destination, rounded, numbers), _encoded(destination, np.where(np.isinf(rounded), largest, rounded), numbers)]


def _encoded(component: ComponentType, numbers: np.ndarray, sign_of: np.ndarray) -> np.ndarray:
    """Return the bits of numbers, each with the sign of another one, zeros included."""
    sign = component.bits_dtype.type(sign_bit(component))
    bits = encode(component, np.abs(numbers))
    return np.asarray(np.where(np.signbit(sign_of) & ~is_nan(bits, component), bits | sign, bits))


def _doubled(elements: Elements) -> Elements:
    """Return the elements times two; the data are chosen so every type can hold the results."""
    twice = [encode(elements.component, 2 * values(bits, elements.component)) for bits in (elements.expected, *elements.permitted)]
    return replace(elements, expected=twice[0], permitted=tuple(twice[1:]), edited=True)


def placed(elements: Elements, form: MatrixForm, what: str, array: str) -> Iterator[Placed]:
    """Yield the expectation of each matrix in its own memory, in a row-major or column-major form.

    Args:
        elements: the elements of all matrices.
        form: the stored form.
        what, array: names, for messages; the index of a matrix follows if there are several.
    """
    matrices, rows, columns = elements.expected.shape
    offsets = form.offsets(rows, columns)[None]
    whole = elements.expectation
    for number in range(matrices):
        one = slice(number, number + 1)
        part = replace(
            elements,
            expected=elements.expected[one],
            permitted=tuple(bits[one] for bits in elements.permitted),
            free=elements.free[one],
        ).expectation
        suffix = f" {number}" if matrices > 1 else ""
        yield Placed(f"{array}{suffix}", offsets, part if matrices > 1 else whole, f"{what}{suffix}")
