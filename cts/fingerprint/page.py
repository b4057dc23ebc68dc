"""A fingerprint as a page in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

from cts.fingerprint.model import UnitModel
from cts.fingerprint.observing import share
from cts.fingerprint.record import Fingerprint, RowPrint

_WORDS: Mapping[str, Mapping[Any, str]] = MappingProxyType(
    {
        "interleaved": {False: "neighbours", True: "K / block apart"},
        "alignment": {None: "all (the sum is exact)"},
        "zeros": {False: "ignored", True: "counted, with the factors' exponents"},
        "lowest_exponent": {None: "none"},
        "products": {None: "exact"},
        "accumulator": {"in_sum": "a term of each sum of products", "after_sum": "added after each sum of products"},
        "c": {"first": "the first accumulator", "last": "added after all products"},
        "product_exponent": {"sum": "the sum of the factors' exponents", "value": "that of the product itself"},
        "last_sum": {"result": "directly to the result's type", "partial": "to the type of partial sums first"},
        "overflow": {"infinity": "infinity", "largest": "the largest number"},
        "zero": {"ieee": "as in IEEE 754", "plus_sums": "plus for a sum; results keep theirs", "plus": "always plus"},
        "nan_operands": {
            "ignored": "give the same bits",
            "products_first": "give their own bits: the first of A and B, then C",
            "c_first": "give their own bits: C, then the first of A and B",
        },
    }
)
"""What the values of fields mean; other values are written as they are."""

_LABELS: Mapping[str, str] = MappingProxyType(
    {
        "block": "products in one sum",
        "interleaved": "products of a sum",
        "alignment": "fraction bits of aligned terms",
        "alignment_rounding": "rounding of aligned terms",
        "product_exponent": "exponent of a product",
        "zeros": "zero products in the largest exponent",
        "lowest_exponent": "least exponent of an alignment",
        "products": "rounding of products",
        "accumulator": "accumulator",
        "order": "order of sums",
        "c": "C",
        "partial": "type of partial sums",
        "partial_rounding": "rounding of partial sums",
        "last_sum": "last sum is rounded",
        "final_rounding": "rounding of the result",
        "overflow": "directed rounding beyond the largest number",
        "flush_factors": "denormal A and B flushed",
        "flush_c": "denormal C flushed",
        "flush_sums": "denormal partial sums flushed",
        "flush_result": "denormal results flushed",
        "zero": "sign of zero",
        "nan": "bits of NaN",
        "nan_operands": "NaN operands",
    }
)


def model_lines(model: UnitModel, undecided: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Yield the name and the value of each field of a model, in words; fields that nothing decides only say so."""
    for name, value in asdict(model).items():
        text = _WORDS.get(name, {}).get(value) or (f"{value:#x}" if name == "nan" else str(value).replace("_", " "))
        yield _LABELS[name], "not decided" if name in undecided else text


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
    yield from ("| the model | |", "|---|---|")
    yield from (f"| {label} | {text} |" for label, text in model_lines(fit.model, fit.undecided))
    yield ""
    yield "Predicted by kind of random operands: " + ", ".join(f"{kind} {share(part)}" for kind, part in fit.kinds.items()) + "."
    if fit.missed:
        yield "Probes not predicted: " + ", ".join(f"{name} ({count})" for name, count in fit.missed.items()) + "."
    if one.observed:
        yield from ("", "| seen directly | |", "|---|---|")
        yield from (f"| {what} | {seen} |" for what, seen in one.observed.items())
