"""Invented journals, with every verdict, every kind of failure, and several shapes."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cts.journal.record import failure_record
from cts.verdict.compare import failing_matrix
from cts.verdict.failure import Failure, Mismatch, MismatchKind, WrongElement
from cts.verdict.known_failures import KnownFailure
from cts.verdict.pattern import pattern
from generators.numerics.formats import values
from generators.types import COMPONENT_TYPES

DEVICE = {"name": "Example GPU 9000", "driver": "example 1.2.3", "uuid": "00112233445566778899aabbccddeeff", "kind": "vulkan"}

TYPES = ("f16", "bf16", "f32", "s8", "u8", "e4m3")
SHAPES = {"8x8": (8, 8), "16x16": (16, 16), "8x32": (8, 32), "64x64": (64, 64), "256x256": (256, 256)}
LAYOUTS = ("row_major", "column_major")
STORAGE = ("storage_buffer", "workgroup", "physical")
PARAMETERS = {"type": TYPES, "shape": tuple(SHAPES), "layout": LAYOUTS, "storage": STORAGE}
REQUIREMENTS = {"load_store": ("KHR-LOAD-03", "KHR-LOAD-04", "KHR-STORE-01"), "muladd": ("KHR-MAD-03", "KHR-MAD-06")}


def record(id_: str, verdict: str = "pass", **changes: Any) -> dict[str, Any]:
    """Return a line of ``results.jsonl`` for a case ``family[name:label/name:label]``."""
    family, _, named = id_.removesuffix("]").partition("[")
    return {
        "id": id_,
        "family": family,
        "parameters": dict(part.split(":") for part in named.split("/") if ":" in part),
        "verdict": verdict,
        "reason": "" if verdict == "pass" else f"because of {verdict}",
        "device": DEVICE["name"],
        "driver": DEVICE["driver"],
        "front_end": "spirv",
        "tier": "nightly",
        "requirements": list(REQUIREMENTS.get(family, ())),
        "subcases": 0 if verdict == "not_supported" else 3,
        "seconds": 0.0125,
        "message": "",
        "policy": "",
        "positions": ["F-KHR-1"] if family == "load_store" else [],
        "steps": {
            "emit": 0.001,
            "inputs": 0.0005,
            "expect": 0.001,
            "device": 0.009,
            "pipeline": 0.006,
            "dispatch": 0.002,
            "compare": 0.001,
        },
        "failures": [],
    } | changes


def failure(
    rows: int, columns: int, wrong: Callable[[int, int], bool], kind: MismatchKind = "wrong value", **changes: Any
) -> dict[str, Any]:
    """Return the comparator's record of two scope instances of f16 elements; the second is wrong where ``wrong(row, column)``."""
    f16 = COMPONENT_TYPES["f16"]
    mask = np.array([[[False] * columns] * rows, [[wrong(row, column) for column in range(columns)] for row in range(rows)]])
    expected = np.arange(mask.size, dtype=np.uint16).reshape(mask.shape) + np.uint16(0x3C00)
    got = np.where(mask, expected ^ np.uint16(0x8001), expected)
    value, returned = values(expected, f16), values(got, f16)
    places = [(int(i), int(r), int(c)) for i, r, c in np.argwhere(mask)[:12]]
    elements = tuple(
        WrongElement(
            *at, 2 * int(np.ravel_multi_index(at, mask.shape)), "f16", int(expected[at]), str(value[at]), int(got[at]), str(returned[at])
        )
        for at in places
    )
    matrix = failing_matrix(f16, mask, expected, got)
    mismatch = Mismatch(kind, "D", "d", 1, int(mask.sum()), mask.size, pattern(mask), elements, matrix)
    return failure_record(Failure("first=far", mismatch)) | changes


def write_journal(directory: Path, records: Iterable[dict[str, Any]], **meta: Any) -> Path:
    """Write ``results.jsonl`` and ``meta.json`` in ``directory``."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "results.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in records))
    (directory / "meta.json").write_text(json.dumps(meta))
    return path


def realistic(cases: int) -> list[dict[str, Any]]:
    """Return a run like a vendor's: mostly passes, a tenth not supported, and about thirty failures of all kinds."""
    random_numbers = random.Random(1)
    records = []
    for number in range(cases):
        family = ("load_store", "muladd")[number % 2]
        drawn = {name: random_numbers.choice(labels) for name, labels in PARAMETERS.items()} | {"number": str(number)}
        changes: dict[str, Any] = {"seconds": random_numbers.lognormvariate(-4.4, 0.6)}
        verdict = "pass"
        if drawn["type"] == "e4m3" and random_numbers.random() < 0.8:
            verdict, changes["reason"] = "not_supported", "feature shaderFloat8CooperativeMatrix"
        elif family == "muladd" and drawn["shape"] == "8x32" and random_numbers.random() < 0.3:
            verdict, changes["reason"] = "not_supported", f"no property row for A {drawn['type']} 8x32 at subgroup scope"
        if family == "muladd" and drawn["type"] == "f16":
            changes["policy"] = "sums that are not exact are judged by the envelope (K+1) 2^(1-p) S"
        named = "/".join(f"{name}:{label}" for name, label in drawn.items())
        records.append(record(f"{family}[{named}]", verdict, **changes))
    passing = [place for place, line in enumerate(records) if line["verdict"] == "pass" and line["family"] == "load_store"]
    transposed = [place for place in passing if "layout:column_major/storage:workgroup/" in records[place]["id"]][:14]
    for place in transposed:
        rows, columns = SHAPES[records[place]["parameters"]["shape"]]
        off_diagonal = failure(rows, columns, lambda row, column: row != column)
        fail(
            records[place],
            off_diagonal | {"matches": [{"id": "load_store.layout_swapped", "text": "matrix a loaded row major instead of column major"}]},
            off_diagonal | {"subcase": "first=0"},
        )
    others: list[Callable[[int, int], dict[str, Any]]] = [
        lambda rows, columns: failure(rows, columns, lambda row, column: row == rows // 2),
        lambda rows, columns: failure(rows, columns, lambda row, column: column >= columns // 2 and row >= rows // 2),
        lambda rows, columns: failure(rows, columns, lambda row, column: (row, column) == (3, 5), "not written"),
        lambda rows, columns: failure(rows, columns, lambda row, column: (row * 7 + column * 13) % 11 == 0),
        lambda rows, columns: failure(rows, columns, lambda row, column: row % 4 == 0, "not written"),
        lambda rows, columns: overwritten(),
    ]
    for place, number in zip([place for place in passing if place not in transposed][:600:50], range(12), strict=False):
        rows, columns = SHAPES[records[place]["parameters"]["shape"]]
        fail(records[place], others[number % len(others)](rows, columns))
    envelope = failure(16, 16, lambda row, column: column == 9)
    for element in envelope["elements"]:
        element |= {"low": 1.9990234375, "high": 2.001953125, "center": 2.0, "bound": 0.00146484375, "magnitude": 9.25}
    muladds = [place for place, line in enumerate(records) if line["verdict"] == "pass" and line["family"] == "muladd"]
    fail(records[muladds[5]], envelope)
    records[muladds[5]]["policy"] = "sums that are not exact are judged by the envelope (K+1) 2^(1-p) S"
    for place, verdict, reason in (
        (muladds[10], "crash", "device process ended by SIGSEGV while it made the pipeline"),
        (muladds[11], "crash", "device process ended by SIGSEGV while it made the pipeline"),
        (muladds[20], "timeout", "no answer within 60 s in step run"),
        (muladds[30], "device_lost", "VK_ERROR_DEVICE_LOST from vkWaitForFences (and again, alone on a fresh device)"),
        (muladds[40], "error", "error of the suite, not of the device: IndexError: list index out of range"),
    ):
        records[place] |= {
            "verdict": verdict,
            "reason": reason,
            "message": reason + "\nlast words of the process:\n  llvm: assertion failed at <unknown>",
            "failures": [],
        }
    return records


def overwritten() -> dict[str, Any]:
    """Return the comparator's record of bytes between rows."""
    mismatch = Mismatch("padding overwritten", "D", "bytes that no store may touch", 0, 12, 96, "at byte 32 (0xa5 became 0x00) and 11 more")
    return failure_record(Failure("first=far", mismatch))


def fail(line: dict[str, Any], *failures: dict[str, Any]) -> None:
    """Turn a record into that of a failed case."""
    first = failures[0]
    summary = "{kind}: {count} of {total} elements: {pattern}".format_map(first)
    line |= {
        "verdict": "fail",
        "reason": f"{len(failures)} of 3 subcases wrong: {summary}",
        "message": "subcase first=far:\n  (0, 1): expected 0x3c01 (1), got 0x3c10 (16)\n",
        "failures": list(failures),
    }


@pytest.fixture(scope="session")
def example() -> SimpleNamespace:
    """Return the functions above."""
    makers = (record, failure, overwritten, fail, write_journal, realistic)
    return SimpleNamespace(DEVICE=DEVICE, **{maker.__name__: maker for maker in makers})


@pytest.fixture(scope="session")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the journal of a realistic, complete run of 2,000 cases."""
    directory = tmp_path_factory.mktemp("run")
    times = {"started": "2027-03-01T12:00:00Z", "finished": "2027-03-01T12:00:14Z", "seconds": 14.2}
    return write_journal(
        directory, realistic(2000), suite_version="0.1.0+1a2b3c4", device=DEVICE, command="pytest cts --tier nightly", **times
    )


@pytest.fixture
def known_failure(example, tmp_path):
    """Return the journal of a run in which two cases fail as known, and what the known failure's entry says."""
    reason, link = "rows are lost", "https://example.org/reports/7"
    parts = {"since": (), "until": (), "selectors": (), "ends": ("fail.value",), "defects": (), "front_end": None, "evidence": ""}
    entry = KnownFailure(id="rows-lost", what=reason, smallest=("a[0]",), seen="Example", link=link, place="x.yaml:1", **parts)
    ends = {"code": "fail.value", "known": "rows-lost", "reason": reason}
    records = [example.record(f"a[{number}]", "known_fail", **ends) for number in range(2)]
    journal = example.write_journal(tmp_path / "known", records)
    return SimpleNamespace(journal=journal, issues={entry.id: entry}, reason=reason, link=link)
