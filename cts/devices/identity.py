"""Compares what a device says about itself each time that it is opened.

A description is a promise: it decides which cases are supported. So a device that describes itself differently later is not the device of
the run, even if it has the same name.

That includes the sizes of memory heaps: the results of queries are invariant unless the specification says otherwise ("Lifetime of
Retrieved Results"), and it says so of the values of VK_EXT_memory_budget, which no description has.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import msgspec

from cts.devices.device import DeviceDescription, DeviceUnavailable, MatrixRow
from generators.errors import CtsError

_APART = frozenset({"rows", "vector_rows", "digest", "property_rows", "number"})
"""Keys of a record that are not values of the device, or are lists of rows."""

_PLACE = "extra.index"
"""The place in the loader's order changes if another device comes or goes."""

_TOLD = 3
"""How many differences the first line of a message has."""

NONE = "none"
"""Stands for a value that one of two descriptions does not have."""


@dataclass(frozen=True)
class Difference:
    """A value in which two descriptions differ.

    Attributes:
        name: the name of the value, for example ``features.cooperativeMatrix``.
        old, new: the value as JSON; NONE if it is not there.
    """

    name: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.name}: {self.old} → {self.new}"


class DeviceChanged(DeviceUnavailable):
    """A device was opened that does not describe itself as the device of the run did. Opening it again would only hide that.

    Attributes:
        differences: the values that differ, at least one.
    """

    def __init__(self, differences: tuple[Difference, ...]) -> None:
        super().__init__(f"the device is not the one that the run began with: {in_words(differences)}")
        self.differences = differences


def in_words(differences: tuple[Difference, ...]) -> str:
    """Return a line with the first differences and, if that is not all of them, a line for each after it."""
    first = "; ".join(map(str, differences[:_TOLD]))
    if len(differences) <= _TOLD:
        return first
    return "\n".join([f"{first}; and {len(differences) - _TOLD} more values", *map(str, differences)])


def record_of(description: DeviceDescription, number: int = -1) -> dict[str, Any]:
    """Return the record of a description for ``meta.json``.

    Args:
        number: the device's number, if only that tells it from another device; else -1.
    """
    record = asdict(replace(description, rows=())) | {
        "rows": list(map(_row, description.rows)),
        "property_rows": len(description.rows),
        "digest": digest(description),
    }
    return record | ({"number": number} if number >= 0 else {})


def _row(row: MatrixRow) -> str:
    words = [f"{row.m}x{row.n}x{row.k}", row.a, row.b, row.c, row.result, f"scope {row.scope}"]
    words += ["saturating"] * row.saturating + ["flexible"] * row.flexible
    if row.invocations:
        words.append(f"{row.invocations} invocations")
    if row.subgroup_size is not None:
        words.append(f"subgroups of {row.subgroup_size}")
    return " ".join(words)


_ROW = re.compile(r"(\d+)x(\d+)x(\d+) (.+) scope (\d+)( saturating)?( flexible)?(?: (\d+) invocations)?(?: subgroups of (\d+))?")


_TYPE = re.compile(r"component type \d+|\S+")
"""The name of a component type; an unknown one has a number."""


def _row_of(words: str) -> MatrixRow:
    """Return the row that ``_row`` writes so."""
    if (match := _ROW.fullmatch(words)) is None:
        raise NotADescription(f"'{words}' is not a property row")
    *sizes, types, scope, saturating, flexible, invocations, size = match.groups()
    names = _TYPE.findall(types)
    if len(names) != 4:
        raise NotADescription(f"'{words}' does not have four types")
    m, n, k = map(int, sizes)
    a, b, c, result = names
    own = None if size is None else int(size)
    return MatrixRow(m, n, k, a, b, c, result, bool(saturating), int(scope), bool(flexible), int(invocations or 0), own)


class NotADescription(CtsError):
    """A record is not the description of a device."""


def description_of(record: Mapping[str, Any]) -> DeviceDescription:
    """Return the description from which ``record_of`` made a record.

    Raises:
        NotADescription: the record has another form, or its digest is not the digest of the rest.
    """
    try:
        rows = [asdict(_row_of(words)) for words in record["rows"]]
        found = msgspec.convert({**record, "rows": rows}, DeviceDescription)
        is_same = record["digest"] == digest(found)
    except (KeyError, TypeError, ValueError, msgspec.ValidationError) as error:
        raise NotADescription(f"the record of the device lacks a field or has a wrong one: {error}") from error
    if not is_same:
        raise NotADescription("the digest of the device's record is not the digest of what the record says")
    return found


def digest(description: DeviceDescription) -> str:
    """Return a short digest of everything that a device says about itself, except its place in the loader's order."""
    record = asdict(replace(description, rows=())) | {"rows": list(map(_row, description.rows))}
    return hashlib.sha256(_text(stated(record)).encode()).hexdigest()[:16]


def stated(record: Mapping[str, Any]) -> dict[str, str]:
    """Return name -> value as JSON of everything that the record of a description states."""
    found: dict[str, str] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            found |= {f"{name}.{key}": _text(inner) for key, inner in value.items()}
        elif name not in _APART:
            found[name] = _text(value)
    found.pop(_PLACE, None)
    return found | _counted("row", record.get("rows", ())) | _counted("vector row", map(_words, record.get("vector_rows", ())))


def _counted(kind: str, rows: Iterable[str]) -> dict[str, str]:
    """Return how often each row is listed: the order of rows says nothing."""
    return {f"{kind} {row}": "listed" if count == 1 else f"listed {count} times" for row, count in Counter(rows).items()}


def _words(row: Mapping[str, Any]) -> str:
    return " ".join(map(str, row.values()))


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Difference, ...]:
    """Return the values in which the records of two descriptions differ."""
    was, now = stated(old), stated(new)
    names = dict.fromkeys([*was, *now])
    return tuple(Difference(name, was.get(name, NONE), now.get(name, NONE)) for name in names if was.get(name, NONE) != now.get(name, NONE))


def check_same(first: DeviceDescription, now: DeviceDescription) -> None:
    """Check that a device describes itself as it did when the run began.

    Raises:
        DeviceChanged: it does not.
    """
    if first != now and (found := differences(record_of(first), record_of(now))):
        raise DeviceChanged(found)
