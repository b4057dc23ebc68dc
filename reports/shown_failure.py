"""A failure of a published run as the README shows it: its first lines, and a picture of the matrix with its wrong elements."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from textwrap import wrap

import numpy as np

from cts.kinds.authorities import binding
from cts.verdict.compare import format_mismatch
from cts.verdict.elements import number
from cts.verdict.failure import FailingMatrix, Failure, bit_masks
from cts.verdict.verdict import CaseResult
from generators.casebook import Casebook, find_case
from generators.errors import CtsError
from generators.numerics.formats import values
from generators.types import COMPONENT_TYPES

_ELEMENTS = 3
"""Wrong elements in the lines."""

_COLUMNS = 118
"""The longest line."""

_CELL, _ROW, _RULER, _MARGIN, _LINE = 66, 34, 26, 16, 18
"""Pixels: width and height of an element, width of the row numbers, outer margin, height of a line of text."""

_LEGEND = "are wrong; expected above, got below"

_STYLE = """\
text{font:13px system-ui,sans-serif;fill:#1f2328;text-anchor:middle}
.head{font-weight:600;text-anchor:start}.note{text-anchor:start}.tick{font-size:11px;fill:#656d76}
.right{fill:#8c959f}.want{font-size:11px;fill:#656d76}.got{font-weight:600;fill:#a40e26}
rect{fill:#fff;stroke:#d0d7de}.wrong{fill:#ffebe9;stroke:#ff8182}"""


class NotShowable(CtsError):
    """A published failure has no wrong elements of a matrix that could be shown."""


def failure_lines(result: CaseResult, casebook: Casebook) -> str:
    """Return the failure as a run prints it, with its first wrong elements only.

    Raises:
        NotShowable: it has no wrong elements.
    """
    failure = _failure(result)
    mismatch = replace(failure.mismatch, elements=failure.mismatch.elements[:_ELEMENTS], grounds="")
    quotes = binding(mismatch, find_case(casebook, result.id))
    lines = format_mismatch(mismatch, [match.text for match in failure.matches], quotes)
    folded = (line for long in lines.splitlines() for line in wrap(long, _COLUMNS, subsequent_indent="    "))
    return "\n".join([f"FAIL {result.id}", *folded, f"reproduce: cts repro '{result.id}' DIR", ""])


def failure_picture(result: CaseResult) -> str:
    """Return an SVG document with the matrix of the first failure. A wrong element has the expected value above the one that came back.

    Raises:
        NotShowable: it has no wrong elements.
    """
    failure = _failure(result)
    matrix = failure.mismatch.matrix
    assert matrix is not None, "a failure with wrong elements has a matrix"
    rows, columns = matrix.shape
    width = 2 * _MARGIN + _RULER + columns * _CELL
    top = _MARGIN + 2 * _LINE + _RULER
    notes = [line for match in failure.matches if match.id for line in wrap(f"Explained by: {match.text}.", width // 7)]
    height = top + rows * _ROW + 2 * _MARGIN + len(notes) * _LINE
    driver = result.driver.partition(" (")[0]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">',
        f"<title>{escape(result.id)}: {escape(failure.mismatch.summary)}</title><style>{_STYLE}</style>",
        f'<rect width="{width}" height="{height}" rx="6"/>',
        _text(_MARGIN, _MARGIN + 12, "head", result.id),
        _text(_MARGIN, _MARGIN + 12 + _LINE, "note", f"{driver}: {failure.mismatch.count} of {failure.mismatch.total} elements {_LEGEND}"),
        *(_text(_center(column), top - 8, "tick", str(column)) for column in range(columns)),
        *(_text(_MARGIN + 10, top + row * _ROW + 21, "tick", str(row)) for row in range(rows)),
        *_elements(matrix, top),
        *(_text(_MARGIN, height - _MARGIN - (len(notes) - 1 - line) * _LINE, "note", note) for line, note in enumerate(notes)),
        "</svg>\n",
    ]
    return "\n".join(parts)


def _failure(result: CaseResult) -> Failure:
    found = next((one for one in result.failures if one.mismatch.elements and one.mismatch.matrix), None)
    if found is None:
        raise NotShowable(f"{result.id}: the published run has no wrong elements of it; name a case whose failure it has whole")
    return found


def _elements(matrix: FailingMatrix, top: int) -> list[str]:
    columns = matrix.shape[1]
    expected, got = (_numbers(side, matrix.component) for side in (matrix.expected, matrix.got))
    parts = []
    for row, mask in enumerate(bit_masks(matrix.wrong)):
        for column in range(columns):
            is_wrong, element = mask >> column & 1, row * columns + column
            x, y = _center(column), top + row * _ROW
            kind = "wrong" if is_wrong else ""
            parts.append(f'<rect x="{x - _CELL // 2}" y="{y}" width="{_CELL}" height="{_ROW}" class="{kind}"/>')
            if is_wrong:
                parts += [_text(x, y + 14, "want", expected[element]), _text(x, y + 28, "got", got[element])]
            else:
                parts.append(_text(x, y + 21, "right", got[element]))
    return parts


def _center(column: int) -> int:
    return _MARGIN + _RULER + column * _CELL + _CELL // 2


def _numbers(digits: tuple[str, ...], component: str) -> list[str]:
    type_ = COMPONENT_TYPES[component]
    bits = np.array([int(text, 16) for text in digits], type_.bits_dtype)
    return [number(value) if type_.is_float else str(value) for value in values(bits, type_).tolist()]


def _text(x: int, y: int, kind: str, text: str) -> str:
    return f'<text x="{x}" y="{y}" class="{kind}">{escape(text)}</text>'
