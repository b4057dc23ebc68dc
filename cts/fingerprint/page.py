"""A fingerprint as a page in Markdown. docs/fingerprint.md explains the fields of a model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

import numpy as np

from cts.fingerprint.inference import choices
from cts.fingerprint.model import UnitModel
from cts.fingerprint.record import Fingerprint, RowPrint


def share(part: float) -> str:
    """Return a share as a percentage that is 100 only if nothing is missing."""
    return "100 %" if part == 1 else f"{np.floor(part * 1e6) / 1e4:.4f} %"


def page(found: Fingerprint) -> str:
    """Return the page."""
    lines = [f"# Fingerprint of {found.device}", "", f"Driver {found.driver}.", ""]
    lines += ["| row | results predicted | random results | probes predicted |", "|---|---|---|---|"]
    for one in found.rows:
        fit = one.fit
        shares = f"{share(fit.random)} | {one.elements:,} | {share(fit.probes)}" if fit else f"{one.measured.failure or 'no model'} | |"
        lines.append(f"| {one.measured.row} | {shares} |")
    for one in found.rows:
        lines += ["", f"## {one.measured.row}", "", *_row(one)]
    return "\n".join(lines) + "\n"


def _row(one: RowPrint) -> Iterator[str]:
    fit = one.fit
    if fit is None:
        yield f"Not measured: {one.measured.failure or 'no results'}."
        return
    if fit.model is None:
        how = "saturate once, after the exact sum" if one.measured.row.saturating else "have the low bits of the exact sum"
        yield f"Integer results {how}: {share(fit.random)} of random results, {share(fit.probes)} of probes."
        return
    fields = {"nan", *choices(one.measured)}
    yield from ("| the model | |", "|---|---|")
    yield from (f"| {name} | {text} |" for name, text in _fields(fit.model) if name in fields and name not in fit.undecided)
    yield from ("", f"No probe decides {', '.join(fit.undecided)}.") if fit.undecided else ()
    yield ""
    yield "Predicted by kind of random operands: " + ", ".join(f"{kind} {share(part)}" for kind, part in fit.kinds.items()) + "."
    if fit.missed:
        yield "Probes not predicted: " + ", ".join(f"{name} ({count})" for name, count in fit.missed.items()) + "."
    if one.observed:
        yield from ("", "| seen directly | |", "|---|---|")
        yield from (f"| {what} | {seen} |" for what, seen in one.observed.items())


def _fields(model: UnitModel) -> Iterator[tuple[str, str]]:
    without = {"alignment": "all bits", "products": "exact"}
    for name, value in asdict(model).items():
        if value is None or isinstance(value, bool):
            yield name, "yes" if value else "no" if value is False else without.get(name, "none")
        else:
            yield name, f"{value:#x}" if name == "nan" else str(value).replace("_", " ")
