"""Defects of conversions of matrices between layouts and component types: the memory that a device with each defect would leave, and the
sizes that it would return.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from cts.defects.edits import of_first
from cts.defects.glossary import ParameterValue, glossary
from cts.reference.layout_conversion import Elements
from cts.reference.layout_conversion import converted as right_converted
from cts.verdict.elements import byte_offsets, gather, scatter
from generators.layout_conversion import FLOAT8, Between, MatrixForm
from generators.numerics.formats import denormals, encode, largest_finite, sign_bit, values
from generators.numerics.rounding import toward_zero, ulp
from generators.types import COMPONENT_TYPES, ComponentType, ConversionCommand, VectorMatrixLayout

Offsets = Callable[[MatrixForm, int, int], np.ndarray]
"""Takes the form, rows and columns of a matrix, and returns the byte at which each element begins, int64 of shape (rows, columns)."""

Convert = Callable[[np.ndarray, ComponentType, ComponentType], np.ndarray]
"""Takes bits of one type, and returns bits of another type in the same shape."""

Rounding = Callable[[ComponentType, np.ndarray], np.ndarray]
"""Rounds numbers to numbers of a type, float64."""


@dataclass(frozen=True)
class Span:
    """Conversions from one form with a specified layout to the next such form.

    Attributes:
        rows, columns: the size of each matrix.
        forms: the first form, the optimal forms between, and the last form.
        commands: the command of each conversion, one fewer than forms.
        sources: the bytes of each matrix in the first form, uint8.
        between: what happened to the matrices after the first conversion.
    """

    rows: int
    columns: int
    forms: tuple[MatrixForm, ...]
    commands: tuple[ConversionCommand, ...]
    sources: tuple[np.ndarray, ...]
    between: Between = "nothing"


def offsets_of(form: MatrixForm, rows: int, columns: int) -> np.ndarray:
    """Return the byte at which each element begins."""
    return form.offsets(rows, columns)


def converted(bits: np.ndarray, source: ComponentType, destination: ComponentType) -> np.ndarray:
    """Return elements (matrices, rows, columns) converted correctly to another type."""
    return right_converted(Elements(source, bits, (), np.zeros(bits.shape, bool)), destination).expected


def _as_they_are(bits: np.ndarray) -> np.ndarray:
    return bits


@dataclass(frozen=True)
class Converter:
    """A device that makes the conversions of a span; by default a correct one.

    Attributes:
        source, destination: where it assumes elements to be.
        converted: how it converts them.
        arranged: how it rearranges the elements of all matrices, (matrices, rows, columns).
        unwritten: the indices of the elements that it does not write, in the matrix with a number; None for none.
    """

    source: Offsets = offsets_of
    destination: Offsets = offsets_of
    converted: Convert = converted
    arranged: Callable[[np.ndarray], np.ndarray] = _as_they_are
    unwritten: Callable[[int], Any] = lambda _: None

    def result(self, span: Span, number: int, before: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the elements of matrix ``number`` afterwards, as bits, and which of them do not depend on memory around the source, as
        bool; both (rows, columns).

        Args:
            before: the previous contents of the destination's memory, uint8.
        """
        rows, columns, first, last = span.rows, span.columns, span.forms[0], span.forms[-1]
        at = self.source(first, rows, columns)
        inside = at <= min(map(len, span.sources)) - first.component.bytes
        bits = np.stack([gather(source, np.where(inside, at, 0), first.component) for source in span.sources])
        for place, (from_, to) in enumerate(pairwise(span.forms)):
            bits = self.converted(bits, from_.component, to.component)
            if place == 0:
                bits = _edited_between(bits, to.component, span.between)
        bits = self.arranged(bits)[number]
        memory, known = before.copy(), np.ones(len(before), bool)
        places = self.destination(last, rows, columns)
        kept = places <= len(before) - last.component.bytes
        if (unwritten := self.unwritten(number)) is not None:
            kept[unwritten] = False
        scatter(memory, places[kept], bits[kept])
        known[byte_offsets(places[kept & ~inside], last.component.bytes)] = False
        read = last.offsets(rows, columns)
        return gather(memory, read, last.component), known[byte_offsets(read, last.component.bytes)].all(axis=-1)


def _edited_between(bits: np.ndarray, component: ComponentType, between: Between) -> np.ndarray:
    """Return the elements that the host leaves between the first two conversions: zeros, doubled or unchanged ones."""
    if between == "zeros":
        return np.zeros_like(bits)
    if between == "doubled":
        with np.errstate(invalid="ignore", over="ignore"):
            return encode(component, 2 * values(bits, component))
    return bits


@dataclass(frozen=True)
class ConversionDefect:
    """A mistake of the glossary that a device makes in the conversions of a span.

    Attributes:
        id: the id of the glossary's entry.
        converter: a device with the defect.
        parameters: values for the names in braces of the entry's text.
    """

    id: str
    converter: Converter
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Return the sentence of a message."""
        return glossary().sentence(self.id, self.parameters)

    @property
    def kind(self) -> str:
        """Return the id with the parameters that make another kind of mistake."""
        return glossary().kind(self.id, self.parameters)


def _of(name: str, converter: Converter, **parameters: str) -> ConversionDefect:
    return ConversionDefect(f"layout_conversion.{name}", converter, parameters)


# Where elements are


def _layout_swapped(form: MatrixForm, rows: int, columns: int) -> np.ndarray:
    return replace(form, layout=VectorMatrixLayout(1 - form.layout)).offsets(rows, columns)


def _stride_ignored(form: MatrixForm, rows: int, columns: int) -> np.ndarray:
    return replace(form, stride=form.line(rows, columns)).offsets(rows, columns)


def _stride_in_elements(form: MatrixForm, rows: int, columns: int) -> np.ndarray:
    return replace(form, stride=form.stride * form.component.bytes).offsets(rows, columns)


def _places(span: Span) -> Iterator[ConversionDefect]:
    first, last = span.forms[0], span.forms[-1]
    for name, offsets, applies in (
        ("layout_swapped", _layout_swapped, lambda _: max(span.rows, span.columns) > 1),
        ("stride_ignored", _stride_ignored, lambda form: _lines(span, form) > 1 and form.stride > form.line(span.rows, span.columns)),
        ("stride_in_elements", _stride_in_elements, lambda form: _lines(span, form) > 1 and form.component.bytes > 1),
    ):
        source, destination = applies(first), applies(last)
        if source:
            yield _of(name, Converter(source=offsets), side="source")
        if destination:
            yield _of(name, Converter(destination=offsets), side="destination")
        if source and destination:
            yield _of(name, Converter(source=offsets, destination=offsets), side="source and of the destination")
    if min(span.rows, span.columns) > 1 and any(form.layout.is_optimal for form in span.forms):
        yield _of("transposed_when_optimal", Converter(arranged=_transposed))


def _lines(span: Span, form: MatrixForm) -> int:
    """Return the number of rows (columns)."""
    return span.rows if form.layout is VectorMatrixLayout.ROW_MAJOR else span.columns


def _transposed(bits: np.ndarray) -> np.ndarray:
    """Return the elements as if they were stored column by column and read row by row."""
    return np.ascontiguousarray(bits.transpose(0, 2, 1)).reshape(bits.shape)


# How elements are converted


def _wrong(convert: Convert, applies: Callable[[ComponentType, ComponentType], bool]) -> Converter:
    """Return a device that makes conversions between some types in a wrong way; ``applies`` takes source and destination."""
    return Converter(converted=lambda bits, source, to: (convert if applies(source, to) else converted)(bits, source, to))


def _differ(source: ComponentType, destination: ComponentType) -> bool:
    return source is not destination


def _narrows(source: ComponentType, destination: ComponentType) -> bool:
    return destination.bits < source.bits


def _rounded(rounding: Rounding) -> Convert:
    """Build a conversion that rounds to narrower floats by another rule; infinities and NaN stay right."""

    def convert(bits: np.ndarray, source: ComponentType, destination: ComponentType) -> np.ndarray:
        numbers = values(bits, source)
        finite = np.isfinite(numbers)
        rounded = rounding(destination, np.where(finite, numbers, 0))
        inside = finite & (np.abs(rounded) <= largest_finite(destination))
        return np.where(inside, encode(destination, rounded), converted(bits, source, destination))

    return convert


def _half_away(component: ComponentType, numbers: np.ndarray) -> np.ndarray:
    step = ulp(component, numbers)
    return np.asarray(np.copysign(np.floor(np.abs(numbers) / step + 0.5) * step, numbers))


def _as_bits(bits: np.ndarray, _: ComponentType, destination: ComponentType) -> np.ndarray:
    return bits.astype(destination.bits_dtype)


def _flushed(bits: np.ndarray, component: ComponentType) -> np.ndarray:
    return np.where(denormals(values(bits, component), component), bits & component.bits_dtype.type(sign_bit(component)), bits)


def _sources_flushed(bits: np.ndarray, source: ComponentType, destination: ComponentType) -> np.ndarray:
    return converted(_flushed(bits, source), source, destination)


def _results_flushed(bits: np.ndarray, source: ComponentType, destination: ComponentType) -> np.ndarray:
    return _flushed(converted(bits, source, destination), destination)


def _saturated(bits: np.ndarray, source: ComponentType, destination: ComponentType) -> np.ndarray:
    right = converted(bits, source, destination)
    numbers, largest = values(bits, source), largest_finite(destination)
    beyond = ~np.isnan(numbers) & ~(np.abs(values(right, destination)) <= largest)
    return np.where(beyond, encode(destination, np.copysign(largest, numbers)), right)


def _zeros_positive(bits: np.ndarray, source: ComponentType, destination: ComponentType) -> np.ndarray:
    right = converted(bits, source, destination)
    return np.where(right == sign_bit(destination), 0, right).astype(right.dtype)


_OTHER = {COMPONENT_TYPES["e4m3"]: COMPONENT_TYPES["e5m2"], COMPONENT_TYPES["e5m2"]: COMPONENT_TYPES["e4m3"]}


def _read_as_other(bits: np.ndarray, source: ComponentType, destination: ComponentType) -> np.ndarray:
    return converted(bits, _OTHER.get(source, source), destination)


def _written_as_other(bits: np.ndarray, source: ComponentType, destination: ComponentType) -> np.ndarray:
    return converted(bits, source, _OTHER.get(destination, destination))


def _numbers(span: Span) -> Iterator[ConversionDefect]:
    pairs = [(one.component, other.component) for one, other in pairwise(span.forms) if one.component is not other.component]
    if not pairs:
        if span.forms[0].component.is_float:
            yield _of("zeros_positive", Converter(converted=_zeros_positive), conversions="conversions that keep the type")
        return
    yield _of("zeros_positive", _wrong(_zeros_positive, _differ), conversions="conversions to another type")
    yield _of("not_converted", Converter(converted=_as_bits))
    if any(_narrows(source, destination) for source, destination in pairs):
        for words, rounding in (("toward zero", toward_zero), ("half away from zero", _half_away)):
            yield _of("rounded", _wrong(_rounded(rounding), _narrows), rounding=words)
        yield _of("saturated", _wrong(_saturated, _narrows))
    yield _of("denormals_flushed", _wrong(_sources_flushed, _differ), side="given")
    yield _of("denormals_flushed", _wrong(_results_flushed, _differ), side="converted")
    if any(source.name in FLOAT8 for source, _ in pairs):
        yield _of("other_float8", _wrong(_read_as_other, _differ), access="read")
    if any(destination.name in FLOAT8 for _, destination in pairs):
        yield _of("other_float8", _wrong(_written_as_other, _differ), access="written")


# Which elements are converted


def _zero(at: Any) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that makes the elements at an index of each matrix zero."""

    def arranged(bits: np.ndarray) -> np.ndarray:
        kept = bits.copy()
        kept[(slice(None), *at)] = 0
        return kept

    return arranged


def _always(at: Any) -> Callable[[int], Any]:
    return lambda _: at


def _extents(span: Span) -> Iterator[ConversionDefect]:
    for line, size, last in (("row", span.rows, np.s_[-1:, :]), ("column", span.columns, np.s_[:, -1:])):
        if size > 1:
            yield _of("last_line_zero", Converter(arranged=_zero(last)), line=line)
            yield _of("last_line_unwritten", Converter(unwritten=_always(last)), line=line)
    yield _of("last_line_unwritten", Converter(unwritten=_always(np.s_[-1, -1])), line="element")
    if len(span.sources) > 1:
        yield _of("first_matrix_alone", Converter(unwritten=lambda number: np.s_[:] if number else None))
        yield _of("first_matrix_for_all", Converter(arranged=of_first))


def layout_conversion_defects(span: Span) -> Iterator[ConversionDefect]:
    """Yield every defect that the diagnosis knows for the conversions of a span."""
    yield from _places(span)
    yield from _numbers(span)
    yield from _extents(span)


def size_defects(rows: int, columns: int, form: MatrixForm) -> Iterator[tuple[str, int]]:
    """Yield ids of defects of a size query for a row-major or column-major matrix, each with the size that a device with it gives."""
    lines = (rows, columns) if form.layout is VectorMatrixLayout.ROW_MAJOR else (columns, rows)
    yield "layout_conversion.size_without_padding", rows * columns * form.component.bytes
    yield "layout_conversion.size_of_transposed", lines[1] * form.stride
    yield "layout_conversion.size_in_elements", lines[0] * form.stride * form.component.bytes
