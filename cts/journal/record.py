"""The schema of a line of ``results.jsonl``, and how such a line becomes a CaseResult.

RESULT, TRY and FAILURE are the schema: by name of a field, what it may hold. A field that they do not name is ignored, one that is
missing has its default: journals of other versions of the suite may have more or fewer.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NoReturn

from cts.printable import printable, printable_line, quoted
from cts.verdict.verdict import CaseResult, Try, Verdict

MOST_BYTES = 16 << 20
"""Of a line. One that is longer is not read: JSON takes up to 25 times its size when it is."""

MOST_SECONDS = 1e9
"""Of a duration: thirty years."""

MOST_COUNT = 1 << 53
"""Of a count: what any program that reads JSON can hold."""

MOST_SIDE = 1 << 16
"""Rows or columns of a failing matrix."""

MOST_ELEMENTS = 1 << 24
"""Elements of a failing matrix."""

Kind = Callable[[Any], Any]
"""Takes a value of JSON and returns it as a record has it. Raises WrongField."""


class WrongField(Exception):
    """A value does not fit the schema.

    Attributes:
        field: where, for example ``tries[0].seconds``; empty for the whole record.
        problem: what is wrong with it.
    """

    def __init__(self, problem: str, field: str = "") -> None:
        super().__init__(problem, field)
        self.problem = problem
        self.field = field

    def under(self, name: str) -> WrongField:
        """Return the same of a field that lies in ``name``."""
        return WrongField(self.problem, name + (self.field if self.field.startswith("[") or not self.field else f".{self.field}"))


def _expected(what: str, value: object) -> NoReturn:
    raise WrongField(f"expected {what}, found {described(value)}")


def described(value: object) -> str:
    """Return a value of JSON in a few words, for messages."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:.6g}" if isinstance(value, float) else f"{value}" if abs(value) <= MOST_COUNT else "a huge number"
    return json.dumps(value)


def text(value: Any) -> str:
    """Take text of any number of lines."""
    if type(value) is not str:
        _expected("text", value)
    return value if value.isprintable() else printable(value)


def line(value: Any) -> str:
    """Take text of one line."""
    if type(value) is not str:
        _expected("text", value)
    return value if value.isprintable() else printable_line(value)


def name(value: Any) -> str:
    """Take text that is not empty."""
    found = line(value)
    return found if found else _expected("text", value)


_VERDICTS: Mapping[str, Verdict] = MappingProxyType({verdict.value: verdict for verdict in Verdict} | {"expected_fail": Verdict.KNOWN_FAIL})
"""By name, and by the name in journals of schema 1."""


def verdict(value: Any) -> Verdict:
    """Take the name of a verdict."""
    found = _VERDICTS.get(value) if type(value) is str else None
    return found if found is not None else _expected("a verdict", value)


def flag(value: Any) -> bool:
    """Take true or false."""
    return value if type(value) is bool else _expected("true or false", value)


def count(value: Any) -> int:
    """Take a whole number from 0 up."""
    return value if type(value) is int and 0 <= value <= MOST_COUNT else _expected("a whole number from 0 up", value)


def ordinal(value: Any) -> int:
    """Take a whole number from 1 up."""
    return value if type(value) is int and 1 <= value <= MOST_COUNT else _expected("a whole number from 1 up", value)


def seconds(value: Any) -> float:
    """Take a duration."""
    if type(value) is float and 0.0 <= value <= MOST_SECONDS:
        return value
    return float(value) if type(value) is int and 0 <= value <= MOST_SECONDS else _expected("a duration in seconds", value)


def each(kind: Kind) -> Kind:
    """Build the kind of lists whose items are of ``kind``."""

    def items(value: Any) -> tuple[Any, ...]:
        if type(value) is not list:
            _expected("a list", value)
        try:
            return tuple([kind(item) for item in value])
        except WrongField:
            return tuple(_checked(f"[{place}]", kind, item) for place, item in enumerate(value))

    return items


_lines_one_by_one = each(line)


def lines(value: Any) -> tuple[str, ...]:
    """Take a list of texts of one line: ``each(line)``, faster, as every record has several."""
    try:
        if type(value) is list and "".join(value).isprintable():
            return tuple(value)
    except TypeError:
        # One of them is no text: which?
        pass
    found: tuple[str, ...] = _lines_one_by_one(value)
    return found


def steps(value: Any) -> dict[str, float]:
    """Take durations by step. A step without a finite one, which ``cts.journal.journal.encode`` writes as text, is left out."""
    if type(value) is not dict:
        _expected("an object", value)
    for time in value.values():
        if type(time) is not float or not 0.0 <= time <= MOST_SECONDS:
            break
    else:
        if "".join(value).isprintable():
            found: dict[str, float] = value
            return found
    return {line(step): _checked(step, seconds, time) for step, time in value.items() if time not in ("nan", "inf", "-inf")}


def labels(value: Any) -> dict[str, str]:
    """Take labels of parameters by name."""
    if type(value) is not dict:
        _expected("an object", value)
    try:
        if "".join(value).isprintable() and "".join(value.values()).isprintable():
            found: dict[str, str] = value
            return found
    except TypeError:
        # One of the labels is not text: the loop below names it.
        pass
    return {line(name): _checked(name, line, label) for name, label in value.items()}


def shape(value: Any) -> tuple[int, int]:
    """Take rows and columns of a matrix."""
    if type(value) is not list or len(value) != 2 or not all(type(side) is int and 1 <= side <= MOST_SIDE for side in value):
        _expected(f"two sizes from 1 to {MOST_SIDE:,}", value)
    if math.prod(value) > MOST_ELEMENTS:
        raise WrongField(f"expected at most {MOST_ELEMENTS:,} elements, found {value[0]} rows of {value[1]}")
    return value[0], value[1]


def anything(value: Any) -> Any:
    """Take what only the picture of a failing matrix needs, which checks it itself: see reports.picture."""
    return value


def fields(schema: Mapping[str, Kind], value: Any, required: Iterable[str] = ()) -> dict[str, Any]:
    """Return what ``value`` has of the fields of ``schema``.

    Raises:
        WrongField: it is no object, a required field is missing, or a field does not fit.
    """
    if type(value) is not dict:
        _expected("an object", value)
    for needed in required:
        if needed not in value:
            raise WrongField("is missing", needed)
    try:
        return {field: kind(value[field]) for field, kind in schema.items() if field in value}
    except WrongField:
        # Only who finds something wrong pays for knowing where.
        return {field: _checked(field, kind, value[field]) for field, kind in schema.items() if field in value}


def _checked(place: str, kind: Kind, value: Any) -> Any:
    try:
        return kind(value)
    except WrongField as wrong:
        raise wrong.under(printable_line(place[:60])) from None


MATCH: Mapping[str, Kind] = MappingProxyType({"id": line, "text": line})
"""Of what explains a failure: the id of a defect (cts/defects/glossary.yaml), empty where there is none, and what a message says of it."""


def match(value: Any) -> dict[str, str]:
    """Take what explains a failure. Journals of suites whose defects had no ids have the text alone."""
    if type(value) is str:
        return {"id": "", "text": line(value)}
    return {"id": "", **fields(MATCH, value, ("text",))}


TRY: Mapping[str, Kind] = MappingProxyType(
    {"alone": flag, "verdict": verdict, "reason": line, "step": line, "seconds": seconds, "code": line}
)
"""Of a Try. All but ``code`` are required."""

FAILURE: Mapping[str, Kind] = MappingProxyType(
    {
        "subcase": line,
        "array": line,
        "what": line,
        "kind": line,
        "pattern": line,
        "grounds": line,
        "matches": each(match),
        "count": count,
        "total": count,
        "instance": count,
        "shape": shape,
        "component": line,
        "elements": anything,
        "wrong": anything,
        "expected": anything,
        "got": anything,
        "instances": anything,
        "tensor": anything,
    }
)
"""Of a failing array, see cts.verdict.compare.Mismatch.record."""


def failure(value: Any) -> dict[str, Any]:
    """Take a failing array."""
    return fields(FAILURE, value)


def one_try(value: Any) -> Try:
    """Take a Try."""
    return Try(**fields(TRY, value, tuple(name for name in TRY if name != "code")))


RESULT: Mapping[str, Kind] = MappingProxyType(
    {
        "id": name,
        "family": line,
        "verdict": verdict,
        "reason": line,
        "device": line,
        "driver": line,
        "front_end": line,
        "tier": line,
        "requirements": lines,
        "subcases": count,
        "seconds": seconds,
        "message": text,
        "policy": line,
        "steps": steps,
        "failures": each(failure),
        "positions": lines,
        "step": line,
        "attempt": ordinal,
        "tries": each(one_try),
        "code": line,
        "known": line,
        "parameters": labels,
    }
)
"""Of a CaseResult."""

REQUIRED = ("id", "verdict")

_DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {"reason": "", "device": "", "driver": "", "front_end": "", "tier": "", "requirements": (), "subcases": 0, "seconds": 0.0}
)


def result_of(record: Any) -> CaseResult:
    """Return the result that a record holds.

    Raises:
        WrongField: the record does not fit the schema.
    """
    found = fields(RESULT, record, REQUIRED)
    if len(found) < len(RESULT):
        found = {"family": found["id"].partition("[")[0], **_DEFAULTS, **found}
    return CaseResult(**found)
