"""What a device computed, as JSON: the probes with their operands, and the results of random operands, which their seed gives again."""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from cts.devices.device import DeviceDescription
from cts.fingerprint.dispatching import NotMeasured, Unit, run_vectors
from cts.fingerprint.probes import Vectors, probes
from cts.fingerprint.samples import RECIPE, samples
from generators.bounded_files import Unreadable, read_bytes
from generators.errors import CtsError
from generators.property_rows import PropertyRow, parse_row

FORMAT = 1
_MOST_BYTES = 1 << 28
_CHUNK = 512


class BadFingerprint(CtsError):
    """A file is no fingerprint; the message says what to do."""


@dataclass(frozen=True)
class Measured:
    """What a unit computed for a row.

    Attributes:
        row: the row.
        probes, results: the probes, and the bits of their results.
        seed: of the random operands.
        random: the bits of their results, (elements).
        failure: why nothing was measured; then the rest is empty.
    """

    row: PropertyRow
    probes: Vectors
    results: np.ndarray
    seed: int
    random: np.ndarray
    failure: str = ""


@dataclass(frozen=True)
class Measurement:
    """What a device computed.

    Attributes:
        device, driver: the description's.
        rows: its rows.
    """

    device: str
    driver: str
    rows: tuple[Measured, ...]


def measure(unit: Unit, description: DeviceDescription, rows: tuple[PropertyRow, ...], seed: int, elements: int) -> Measurement:
    """Run the probes and at least ``elements`` random results of each row, in whole matrices."""
    return Measurement(description.name, description.driver, tuple(_measured(unit, row, seed, elements) for row in rows))


def _measured(unit: Unit, row: PropertyRow, seed: int, elements: int) -> Measured:
    given = probes(row)
    nothing = np.zeros(0, row.result.bits_dtype)
    try:
        results = run_vectors(unit, row, given)
        # Sums of integers are exact, so few results tell all.
        matrices = -(-(elements if row.result.is_float else elements // 16) // (row.m * row.n))
        random = [nothing]
        for first in range(0, matrices, _CHUNK):
            random.append(unit(row, *samples(row, seed, first, min(_CHUNK, matrices - first))).reshape(-1))
    except NotMeasured as failure:
        return Measured(row, given[:0], nothing, seed, nothing, str(failure))
    return Measured(row, given, results, seed, np.concatenate(random))


def _packed(bits: np.ndarray) -> dict[str, Any]:
    """Return an array as text: bytes of equal significance are adjacent, which compresses better."""
    planes = np.ascontiguousarray(bits.reshape(-1, 1).view(np.uint8).T)
    text = base64.b85encode(zlib.compress(planes.tobytes(), 9)).decode()
    return {"shape": list(bits.shape), "bytes": bits.itemsize, "data": text}


class _Packed(msgspec.Struct, frozen=True):
    shape: list[int]
    bytes: int
    data: str

    def unpacked(self) -> np.ndarray:
        count = int(np.prod(self.shape, dtype=object)) * self.bytes
        if not 0 <= count <= _MOST_BYTES or self.bytes not in (1, 2, 4, 8):
            raise ValueError(f"an array of {count} bytes")
        stream = zlib.decompressobj()
        data = stream.decompress(base64.b85decode(self.data), count + 1)
        if len(data) != count:
            raise ValueError(f"{len(data)} bytes instead of {count}")
        planes = np.frombuffer(data, np.uint8).reshape(self.bytes, -1)
        return np.ascontiguousarray(planes.T).reshape(-1).view(f"u{self.bytes}").reshape(self.shape)


class _Probes(msgspec.Struct, frozen=True):
    names: list[str]
    a: _Packed
    b: _Packed
    c: _Packed
    results: _Packed


class _Random(msgspec.Struct, frozen=True):
    recipe: int
    seed: int
    results: _Packed


class _Row(msgspec.Struct, frozen=True):
    row: str
    failure: str = ""
    probes: _Probes | None = None
    random: _Random | None = None


class _Document(msgspec.Struct, frozen=True):
    format: int
    device: str
    driver: str
    rows: list[_Row]


def document(measurement: Measurement) -> dict[str, Any]:
    """Return a measurement as a document, for JSON."""
    rows = []
    for one in measurement.rows:
        entry: dict[str, Any] = {"row": str(one.row), "failure": one.failure}
        if not one.failure:
            vectors = {name: _packed(getattr(one.probes, name)) for name in ("a", "b", "c")}
            entry["probes"] = {"names": list(one.probes.names), **vectors, "results": _packed(one.results)}
            entry["random"] = {"recipe": RECIPE, "seed": one.seed, "results": _packed(one.random)}
        rows.append(entry)
    return {"format": FORMAT, "device": measurement.device, "driver": measurement.driver, "rows": rows}


def read(path: Path) -> Measurement:
    """Read a measurement.

    Raises:
        BadFingerprint: it is none, or one of another version of the suite.
    """
    try:
        found = msgspec.convert(json.loads(read_bytes(path, _MOST_BYTES)), _Document)
        return Measurement(found.device, found.driver, tuple(_row(one) for one in found.rows))
    except (Unreadable, ValueError, RecursionError, zlib.error) as error:
        raise BadFingerprint(f"{path}: no fingerprint: {error}; 'cts fingerprint --out FILE' writes one") from error


def _row(found: _Row) -> Measured:
    row = parse_row(found.row)
    nothing = np.zeros(0, row.result.bits_dtype)
    if found.probes is None or found.random is None:
        empty = Vectors((), np.zeros((0, row.k), row.a.bits_dtype), np.zeros((0, row.k), row.b.bits_dtype), np.zeros(0, row.c.bits_dtype))
        return Measured(row, empty, nothing, 0, nothing, found.failure or "nothing was measured")
    if found.random.recipe != RECIPE:
        raise ValueError(f"random operands by recipe {found.random.recipe}; this suite draws by recipe {RECIPE}: measure again")
    a, b, c, results = (getattr(found.probes, name).unpacked() for name in ("a", "b", "c", "results"))
    count = len(found.probes.names)
    if (a.shape, b.shape, c.shape, results.shape) != ((count, row.k), (count, row.k), (count,), (count,)):
        raise ValueError(f"{row}: the arrays of the probes have wrong sizes")
    random = found.random.results.unpacked()
    for bits, type_ in ((a, row.a), (b, row.b), (c, row.c), (results, row.result), (random, row.result)):
        if bits.dtype != type_.bits_dtype:
            raise ValueError(f"{row}: an array of {bits.itemsize} bytes each instead of {type_}")
    return Measured(row, Vectors(tuple(found.probes.names), a, b, c), results, found.random.seed, random)
