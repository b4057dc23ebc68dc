"""The form of a result in a journal: converts a CaseResult to a line of JSON, and such a line to a CaseResult.

Fields of CaseResult and Try are the same in JSON. A failure is one object with the fields of its mismatch and of the mismatch's matrix;
bits are hexadecimal, and fields that do not apply are left out. docs/results.md describes all of them.

An unknown field is ignored, and a missing field of a case has its default: journals of other versions of the suite may have more or fewer
fields.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from cts.journal.schema import WrongField, convert, each
from cts.verdict.failure import Bounds, EnvelopeBounds, FailingMatrix, Failure, Match, Mismatch, WrongElement
from cts.verdict.machine import MachineWalk
from cts.verdict.tensor_map import TensorMap
from cts.verdict.verdict import CaseResult
from generators.casebook.ids import family_of

SCHEMA = 5
"""Version of the lines. Schemas 1 to 3 have no quality warnings; schemas 1 and 2 have no parameters. Schema 1 has neither header lines nor
codes, calls known failures ``expected_fail``, and explains a failure only in words."""

MOST_BYTES = 16 << 20
"""The longest line that is read: JSON needs up to 25 times its size in memory."""

MOST_WRITTEN = 64 << 10
"""The longest line that is written for a result, in bytes, unless its bare facts are longer. A broken driver fails thousands of cases, and
nobody reads the thousandth wrong element of one."""

Json = dict[str, Any]

SEVERAL_LINES = frozenset({"message", "driver_messages"})
"""Fields whose text may have several lines."""

_SHORTER = ((64, 1024, True), (16, 256, True), (16, 0, True), (16, 0, False), (0, 0, False))
"""What a failure of a result that is too long keeps: how many wrong elements, the bits of how many elements, and whether the masks."""

_KEPT = 8 << 10
"""How many characters of the message, and of what the driver said, are kept if a result is still too long."""

_KEPT_FAILURES = 32
"""How many failures are kept if a result is still too long."""


def encode(result: CaseResult) -> bytes:
    """Return the line of a result: strict JSON in UTF-8 and a newline. NaN and infinities, which JSON lacks, become strings.

    A result that is longer than MOST_WRITTEN loses elements of its failures, those of the first failure last, and keeps how many are wrong.
    If that is not enough, it loses the ends of its messages, then its last failures, then all of them.
    """
    line = encode_object(_record(result))
    if len(line) > MOST_WRITTEN:
        for shorter in _shortened(result):
            line = encode_object(_record(shorter))
            if len(line) <= MOST_WRITTEN:
                break
    return line


def _shortened(result: CaseResult) -> Iterator[CaseResult]:
    """Yield a result with less and less of its failures and messages."""
    first, rest = result.failures[:1], result.failures[1:]
    for kept in _SHORTER:
        rest = tuple(failure.shortened(*kept) for failure in rest)
        yield replace(result, failures=(*first, *rest))
    for kept in _SHORTER:
        first = tuple(failure.shortened(*kept) for failure in first)
        yield replace(result, failures=(*first, *rest))
    said = tuple(text[:_KEPT] for text in result.driver_messages[:1])
    brief = replace(result, message=result.message[:_KEPT], driver_messages=said, failures=(*first, *rest))
    yield brief
    yield replace(brief, failures=tuple(failure.brief for failure in brief.failures))
    yield replace(brief, failures=tuple(failure.brief for failure in brief.failures[:_KEPT_FAILURES]))
    yield replace(brief, failures=(), statistics={})


def encode_object(record: Mapping[str, object]) -> bytes:
    """Return the line of any object, for example the header."""
    try:
        text = json.dumps(record, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(record), ensure_ascii=False, separators=(",", ":"))
    return (text + "\n").encode("utf-8", "backslashreplace")


def _finite(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def _record(result: CaseResult) -> Json:
    record: Json = {"id": result.id, **msgspec.to_builtins(replace(result, failures=()))}
    record["failures"] = [failure_record(failure) for failure in result.failures]
    return record


def failure_record(failure: Failure) -> Json:
    """Return the JSON object of a failure."""
    mismatch = failure.mismatch
    record: Json = msgspec.to_builtins(replace(mismatch, elements=(), matrix=None))
    del record["matrix"]
    for name in ("requirement", "position"):
        if not record[name]:
            del record[name]
    record["elements"] = [_element_record(element) for element in mismatch.elements]
    if mismatch.matrix is not None:
        record |= msgspec.to_builtins(mismatch.matrix)
    record |= {"subcase": failure.subcase, "matches": [_match_record(match) for match in failure.matches]}
    if failure.tensor is not None:
        record["tensor"] = msgspec.to_builtins(failure.tensor)
    if failure.machine is not None:
        record["machine"] = msgspec.to_builtins(failure.machine)
    return record


def _match_record(match: Match) -> Json:
    record: Json = {"id": match.id, "text": match.text}
    if match.failing:
        record |= {"explains": match.explains, "failing": match.failing}
    if match.equal:
        record["equal"] = True
    if match.where:
        record["where"] = match.where
    return record


def _element_record(element: WrongElement) -> Json:
    record: Json = msgspec.to_builtins(replace(element, others=(), bounds=None))
    for name in ("component", "others", "bounds"):
        del record[name]
    record |= {name: element.hexadecimal(record[name]) for name in ("expected_bits", "got_bits")}
    if element.others:
        record["others"] = [element.hexadecimal(bits) for bits in element.others]
    return record if element.bounds is None else record | msgspec.to_builtins(element.bounds)


def result_of(record: object) -> CaseResult:
    """Return the result that a record of any schema up to SCHEMA holds.

    Args:
        record: the value of a line, of printable text.

    Raises:
        WrongField: the record does not fit the schema.
    """
    given = dict(convert(record, Json))
    failures = given.pop("failures", [])
    result = convert(_of_this_schema(given), CaseResult)
    if not result.id:
        raise WrongField("is empty", "id")
    # Anything but an empty list goes to each(), which refuses a value that is not a list.
    return result if failures == [] else replace(result, failures=each(failures, failure_of, "failures"))


def _of_this_schema(record: Json) -> Json:
    """Return a record of any schema as a record of SCHEMA, without steps whose time is not finite."""
    if isinstance(id_ := record.get("id"), str) and "family" not in record:
        record["family"] = family_of(id_)
    tries = record.get("tries")
    for part in (record, *(tries if isinstance(tries, list) else ())):
        if isinstance(part, dict) and part.get("verdict") == "expected_fail":
            part["verdict"] = "known_fail"
    if isinstance(steps := record.get("steps"), dict):
        record["steps"] = {name: seconds for name, seconds in steps.items() if seconds not in ("nan", "inf", "-inf")}
    return record


def failure_of(value: object, place: str = "failures[0]") -> Failure:
    """Return the failure that an object holds. Malformed elements are left out; the rest stays.

    Args:
        value: an object of any schema up to SCHEMA.
        place: where it is in the record, for messages.

    Raises:
        WrongField: anything else does not fit the schema.
    """
    record = convert(value, Json, place)
    matches = each(record.get("matches", []), _match, f"{place}.matches")
    bare = Failure(convert(record.get("subcase", ""), str, f"{place}.subcase"), convert(_bare(record), Mismatch, place), matches)
    try:
        return _with_elements(bare, record)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        return replace(bare, unreadable=f"{type(error).__name__}: {error}")
    except WrongField as wrong:
        return replace(bare, unreadable=f"{wrong.field}: {wrong.problem}" if wrong.field else wrong.problem)


def _bare(record: Json) -> Json:
    return {**record, "elements": (), "matrix": None}


def _with_elements(bare: Failure, record: Json) -> Failure:
    matrix = convert(record, FailingMatrix) if "shape" in record else None
    elements = () if matrix is None else tuple(_element(element, matrix.component) for element in record.get("elements", ()))
    tensor = convert(record["tensor"], TensorMap) if "tensor" in record else None
    machine = convert(record["machine"], MachineWalk) if "machine" in record else None
    return replace(bare, mismatch=replace(bare.mismatch, elements=elements, matrix=matrix), tensor=tensor, machine=machine)


def _match(value: object, place: str) -> Match:
    if isinstance(value, str):
        return Match("", value)
    record = convert(value, Json, place)
    if "text" not in record:
        raise WrongField("is missing", f"{place}.text")
    # The text already says how much the match explains, so the other fields for that stay empty.
    plain: Json = {"id": "", "sentence": record["text"]}
    plain |= {name: record[name] for name in ("id", "explains", "failing", "equal", "where") if name in record}
    return convert(plain, Match, place)


def _element(record: Json, component: str) -> WrongElement:
    bits = {name: int(record[name], 16) for name in ("expected_bits", "got_bits")}
    others = [int(one, 16) for one in record.get("others", ())]
    element = convert({**record, **bits, "others": others, "bounds": None, "component": component}, WrongElement)
    if "low" not in record:
        return element
    kind = EnvelopeBounds if "bound" in record else Bounds
    # Infinities and NaN, which JSON lacks, are strings.
    return replace(element, bounds=convert({name: float(record[name]) for name in kind.__dataclass_fields__}, kind))
