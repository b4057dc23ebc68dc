"""Finds the known defect that explains the result of a layout conversion, or the size that a device gives for one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from cts.defects.glossary import glossary
from cts.defects.layout_conversions import Span, converted, layout_conversion_defects, size_defects
from cts.diagnosis.diagnose import TELLING
from cts.diagnosis.relations import LISTED, ranked, relation, relations_of
from cts.verdict.elements import gather
from cts.verdict.expected import Placed
from cts.verdict.failure import Fit, Match
from generators.layout_conversion import COMMANDS, MatrixForm
from generators.numerics.formats import is_nan, values
from generators.types import ConversionCommand


def diagnose_conversion(span: Span, number: int, placed: Placed, old: np.ndarray, new: np.ndarray) -> tuple[Match, ...]:
    """Return the known defects whose outcome equals the results, else relations between expected and received elements.

    Args:
        span: the conversions that made the matrix.
        number: the number of the matrix.
        placed: its elements and their expectation. A match explains the elements that are not as expected.
        old, new: the memory of the destination before and after, from the start of the matrix; uint8.
    """
    form = span.forms[-1]
    places = form.offsets(span.rows, span.columns)
    got = gather(new, places, form.component)
    allowed = placed.expected if placed.permitted.contains(got[None]).all() else placed.permitted
    failing = ~allowed.contains(got[None])[0]
    found = []
    for defect in layout_conversion_defects(span):
        bits, known = defect.converter.result(span, number, old)
        same = (bits == got) | (is_nan(bits, form.component) & is_nan(got, form.component)) | (~failing & allowed.contains(bits[None])[0])
        explained = int(np.count_nonzero(failing & known & same))
        whole = bool(known.all())
        if same[known].all() and explained >= (1 if whole else max(TELLING, known.size // 8)):
            fit = Fit.ALL if whole else Fit.BEYOND_ARRAY
            found.append(Match(defect.id, defect.text, fit, explained, int(np.count_nonzero(failing))))
    if found:
        return ranked(found)[:LISTED]
    return tuple(_relations(span, number, placed, got, failing & (got != gather(old, places, form.component))))[:LISTED]


def _relations(span: Span, number: int, placed: Placed, got: np.ndarray, bad: np.ndarray) -> Iterator[Match]:
    if not bad.any():
        return
    explained = int(np.count_nonzero(bad))
    wanted = placed.expected.bits[0]
    for words in _as_bytes(span, number, got):
        yield relation("bytes_of_given", explained, what=placed.what, type=words)
    if len(span.forms) > 2 and _is_elsewhere(placed, wanted, got):
        if (crossing := _crossing(span)) is None:
            yield relation("elsewhere_when_optimal", explained, what=placed.what)
        else:
            writer, reader = (COMMANDS[command] for command in crossing)
            yield relation("elsewhere_by_other_command", explained, what=placed.what, writer=writer, reader=reader)
        return
    yield from relations_of(placed, got[None], bad[None])


def _crossing(span: Span) -> tuple[ConversionCommand, ConversionCommand] | None:
    """Return two commands if one wrote an optimal layout that the other read; else None."""
    return next(((one, other) for one, other in zip(span.commands, span.commands[1:], strict=False) if one != other), None)


def _is_elsewhere(placed: Placed, wanted: np.ndarray, got: np.ndarray) -> bool:
    """Tell whether the results are elements that are expected elsewhere, or zeros, and mostly not zeros."""
    received, known = (Counter(bits[values(bits, placed.component) != 0].tolist()) for bits in (got, wanted))
    return not received - known and 2 * received.total() > known.total()


def _as_bytes(span: Span, number: int, got: np.ndarray) -> Iterator[str]:
    """Yield the names of one-byte types if at least half of the results are the bytes of the source, read as elements of that type."""
    first, last = span.forms[0], span.forms[-1]
    given = gather(span.sources[number], first.offsets(span.rows, span.columns), first.component)
    for form in span.forms[1:-1]:
        if form.component.bytes > 1 or first.component.bytes == 1:
            continue
        parts = np.ascontiguousarray(given).view(np.uint8).reshape(span.rows, -1)[:, : span.columns]
        as_numbers = converted(parts[None], form.component, last.component)[0]
        if np.count_nonzero(as_numbers == got) * 2 >= got.size and got.size >= TELLING:
            yield form.component.name


def diagnose_size(rows: int, columns: int, form: MatrixForm, size: int) -> tuple[Match, ...]:
    """Return the known defects that give a wrong size of a row-major or column-major matrix; none for optimal ones."""
    if form.layout.is_optimal:
        return ()
    return tuple(Match(id_, glossary().sentence(id_, {})) for id_, given in size_defects(rows, columns, form) if given == size)
