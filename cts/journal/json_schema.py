"""The JSON schema of the journal, and the tables of docs/results.md, made from the classes whose fields the journal has.

cts.journal.record writes an object for a failing array with the fields of several classes; here they are joined in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, get_type_hints

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from cts.journal.declared import meanings, types
from cts.journal.record import SCHEMA
from cts.journal.run_record import RunRecord
from cts.verdict.failure import EnvelopeBounds, FailingMatrix, Failure, Match, Mismatch, Number, WrongElement
from cts.verdict.machine import MachineLine, MachineWalk
from cts.verdict.tensor_map import TensorMap
from cts.verdict.verdict import CaseResult, Judgement, Try

Hexadecimal = Annotated[str, Meta(pattern="^0x[0-9a-f]+$")]


def _record(name: str, always: Mapping[str, Any], sometimes: Mapping[str, Any], *kinds: type) -> type[Struct]:
    """Return the class of an object of the journal.

    Args:
        name: what docs/results.md calls it.
        always, sometimes: the types of the fields that each such object has, and of those that only some have.
        kinds: the classes that say what the fields mean.
    """
    said = {field: meaning for kind in kinds for field, meaning in meanings(kind).items()}
    hints = {field: (hint,) for field, hint in always.items()} | {field: (hint | UnsetType, UNSET) for field, hint in sometimes.items()}
    fields = [(field, Annotated[hints[field][0], Meta(description=said[field])], *hints[field][1:]) for field in said if field in hints]
    return msgspec.defstruct(name, fields, kw_only=True)


def _without(kind: type, *left_out: str) -> dict[str, Any]:
    return {name: hint for name, hint in types(kind).items() if name not in left_out}


def records() -> dict[str, type[Struct]]:
    """Return the classes of the objects of a line of the journal, by name; a result is the first."""
    bits = {"expected_bits": Hexadecimal, "got_bits": Hexadecimal}
    element = _record(
        "wrong element",
        _without(WrongElement, "component", "others", "bounds") | bits,
        {"others": tuple[Hexadecimal, ...]} | dict.fromkeys(types(EnvelopeBounds), Number),
        WrongElement,
        EnvelopeBounds,
    )
    match = _record("match", {"id": str, "text": str}, _without(Match, "id", "sentence", "fit"), Match)
    tensor = _record("tensor", types(TensorMap), {}, TensorMap)
    line = _record("machine line", types(MachineLine), {}, MachineLine)
    machine = _record("machine", types(MachineWalk) | {"lines": tuple[line, ...]}, {}, MachineWalk)  # type: ignore[valid-type]
    array = _record(
        "failing array",
        _without(Mismatch, "matrix", "requirement", "position")
        | {"elements": tuple[element, ...], "subcase": str, "matches": tuple[match, ...]},  # type: ignore[valid-type]
        {"requirement": str, "position": str, **types(FailingMatrix), "tensor": tensor, "machine": machine},
        Mismatch,
        FailingMatrix,
        Failure,
    )
    attempt = _record("try", types(Try), {}, Try)
    nested = {"failures": tuple[array, ...], "tries": tuple[attempt, ...]}  # type: ignore[valid-type]
    result = _record("result", types(CaseResult) | nested, {}, CaseResult, Judgement)
    return {one.__name__: one for one in (result, array, match, element, tensor, machine, line, attempt)}


def rows(record: type[Struct]) -> Iterator[tuple[str, str]]:
    """Return the rows of the table of an object: its fields, those with the same meaning together, and the meaning."""
    fields: dict[str, list[str]] = {}
    for name, hint in get_type_hints(record, include_extras=True).items():
        (meaning,) = (meta.description for meta in hint.__metadata__ if isinstance(meta, Meta) and meta.description)
        fields.setdefault(meaning, []).append(f"`{name}`")
    return ((", ".join(names), meaning) for meaning, names in fields.items())


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of a result in ``results.jsonl`` and of ``meta.json``."""
    (result, _), definitions = msgspec.json.schema_components([records()["result"], RunRecord], ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"A result of schema {SCHEMA} in results.jsonl; #/$defs/RunRecord is meta.json",
        **result,
        "$defs": definitions,
    }
