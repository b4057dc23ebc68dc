"""The matrices of a correct device before and after each span of a case's conversions, for finding the defects that the case shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cts.defects.layout_conversions import ConversionDefect, Span, layout_conversion_defects
from cts.kinds.conversion import given
from cts.reference.layout_conversion import evaluate, placed
from cts.verdict.elements import scatter
from cts.verdict.expected import Placed
from cts.verdict.poison import background, poison
from generators.casebook import Case, Tier, build_conversion, expand
from tests.suite import casebook

FAMILY = "vector_layout_conversion"


@dataclass(frozen=True)
class Ideal:
    """A span, with the expected elements and the previous memory contents of each matrix."""

    span: Span
    placed: tuple[Placed, ...]
    before: tuple[np.ndarray, ...]


def ideal_spans(case: Case) -> Iterator[Ideal]:
    """Yield the spans of a case."""
    conversion = build_conversion(case)
    rows, columns, elements = conversion.rows, conversion.columns, evaluate(conversion)
    first, sources = 0, tuple(given(conversion))
    for place, form in enumerate(conversion.forms):
        if place == 0 or form.layout.is_optimal:
            continue
        expected = tuple(placed(elements[place], form, str(form), "matrix"))
        before, after = [], []
        for one in expected:
            for memories, bits in ((before, poison(one.permitted)), (after, one.expected.bits)):
                memory = background(form.whole_bytes(rows, columns))
                scatter(memory, one.offsets, bits)
                memories.append(memory)
        forms, commands = conversion.forms[first : place + 1], conversion.commands[first:place]
        yield Ideal(Span(rows, columns, forms, commands, sources, conversion.between if first == 0 else "nothing"), expected, tuple(before))
        first, sources = place, tuple(after)


def is_shown(defect: ConversionDefect, ideal: Ideal) -> bool:
    """Return whether a device with the defect leaves wrong elements: a failure, or a quality warning."""
    for number, (one, before) in enumerate(zip(ideal.placed, ideal.before, strict=True)):
        bits, known = defect.converter.result(ideal.span, number, before)
        if not one.expected.contains(bits[None])[0][known].all():
            return True
    return False


def conversion_kill_table(tier: Tier) -> list[tuple[str, str, int, int, str]]:
    """Return the lines of tests.families.kill_table for conversions of layouts."""
    possible, shown = Counter[str](), Counter[str]()
    first: dict[str, str] = {}
    for case in expand(casebook().family(FAMILY), tier):
        seen: dict[str, bool] = {}
        for ideal in ideal_spans(case):
            for defect in layout_conversion_defects(ideal.span):
                if not seen.get(defect.kind):
                    seen[defect.kind] = is_shown(defect, ideal)
        possible.update(seen.keys())
        shown.update(kind for kind, is_seen in seen.items() if is_seen)
        for kind, is_seen in seen.items():
            if is_seen:
                first.setdefault(kind, case.id)
    return [(FAMILY, kind, possible[kind], shown[kind], first.get(kind, "-")) for kind in sorted(possible)]
