"""A fingerprint as JSON: the model of each row, what it predicts, and the results from which it was inferred."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from cts.fingerprint.inference import Fit
from cts.fingerprint.measuring import Measured, unmeasured
from cts.fingerprint.one_operand import OneOperand
from cts.fingerprint.one_operand import parse as parse_row
from cts.fingerprint.orders import NAMED, postfix
from cts.fingerprint.probes import Vectors
from cts.fingerprint.samples import RECIPE
from cts.journal.strict_json import NotJson, parse
from cts.verdict.sizes import Count
from generators.bounded_files import Unreadable, read_bytes
from generators.errors import CtsError

FORMAT = 1
_MOST_BYTES = 1 << 28
_MOST_SIZE = 4096
"""The most rows and columns of a matrix."""


class BadFingerprint(CtsError):
    """A file is no fingerprint; the message says what to do."""


@dataclass(frozen=True)
class RowPrint:
    """The fingerprint of a row.

    Attributes:
        measured: the results; empty if only the model was kept.
        fit: the model; None if nothing was measured or inferred.
        observed: what some probes show directly: a name -> what was seen, in words.
        elements: the number of random results.
    """

    measured: Measured
    fit: Fit | None
    observed: Mapping[str, str]
    elements: int


@dataclass(frozen=True)
class Fingerprint:
    """The fingerprint of a device; ``device`` and ``driver`` are the description's."""

    device: str
    driver: str
    rows: tuple[RowPrint, ...]


class _Packed(msgspec.Struct, frozen=True):
    """An array, compressed. Bytes of equal significance are adjacent, which compresses better."""

    shape: list[int]
    bytes: int
    data: str

    @staticmethod
    def of(bits: np.ndarray) -> _Packed:
        planes = np.ascontiguousarray(bits.reshape(-1, 1).view(np.uint8).T)
        return _Packed(list(bits.shape), bits.itemsize, base64.b85encode(zlib.compress(planes.tobytes(), 9)).decode())

    def unpacked(self, wanted: np.dtype, *shape: int) -> np.ndarray:
        """Return the array.

        Raises:
            ValueError: it is malformed, or not of this dtype and shape.
        """
        if self.bytes != wanted.itemsize or tuple(self.shape) != shape:
            raise ValueError(f"an array of shape {self.shape}, {self.bytes} bytes each, instead of {list(shape)}, {wanted.itemsize} bytes")
        count = int(np.prod(shape, dtype=object)) * self.bytes
        if not 0 <= count <= _MOST_BYTES:
            raise ValueError(f"an array of {count} bytes; at most {_MOST_BYTES}")
        data = zlib.decompressobj().decompress(base64.b85decode(self.data), count + 1)
        if len(data) != count:
            raise ValueError(f"{len(data)} bytes of an array instead of {count}")
        planes = np.frombuffer(data, np.uint8).reshape(self.bytes, -1)
        return np.ascontiguousarray(planes.T).reshape(-1).view(wanted).reshape(shape)


class _Probes(msgspec.Struct, frozen=True):
    names: list[str]
    a: _Packed
    b: _Packed
    c: _Packed
    results: _Packed


class _Row(msgspec.Struct, frozen=True):
    row: str
    seed: Count
    elements: Count
    failure: str = ""
    fit: Fit | None = None
    observed: dict[str, str] = {}
    probes: _Probes | None = None
    random: _Packed | None = None


class _Document(msgspec.Struct, frozen=True):
    format: int
    recipe: int
    device: str
    driver: str
    rows: list[_Row]


def document(found: Fingerprint, results: bool = True) -> dict[str, Any]:
    """Return a fingerprint as a document, for JSON; ``results``: with all results, or with the models alone."""
    rows = []
    for one in found.rows:
        measured = one.measured
        probes = random = None
        if results and measured.results.size:
            given = measured.probes
            arrays = (_Packed.of(bits) for bits in (given.a, given.b, given.c, measured.results))
            probes, random = _Probes(list(given.names), *arrays), _Packed.of(measured.random)
        rows.append(_Row(str(measured.row), measured.seed, one.elements, measured.failure, one.fit, dict(one.observed), probes, random))
    whole: dict[str, Any] = msgspec.to_builtins(_Document(FORMAT, RECIPE, found.device, found.driver, rows))
    return whole


def read(path: Path) -> Fingerprint:
    """Read a fingerprint.

    Raises:
        BadFingerprint: it is none, or one of another version of the suite.
    """
    try:
        found = msgspec.convert(parse(read_bytes(path, _MOST_BYTES)), _Document)
        if (found.format, found.recipe) != (FORMAT, RECIPE):
            raise ValueError("another version of the suite wrote it, whose probes were different: measure again")
        return Fingerprint(found.device, found.driver, tuple(_row(one) for one in found.rows))
    except (Unreadable, NotJson, ValueError, zlib.error, CtsError) as error:
        raise BadFingerprint(f"{path}: no fingerprint: {error}; 'cts fingerprint --out FILE' writes one") from error


def _row(found: _Row) -> RowPrint:
    row = parse_row(found.row)
    model = None if found.fit is None else found.fit.model
    if max(row.m, row.n, row.k) > _MOST_SIZE or (found.fit is not None and (model is None) is row.result.is_float):
        raise ValueError(f"{row}: too large, or not the kind of model that it has")
    if model is not None and (row.k % model.block or not 0 <= model.nan < 1 << row.result.bits):
        raise ValueError(f"{row}: block {model.block} or nan {model.nan:#x} do not fit it")
    if model is not None and isinstance(row, OneOperand):
        postfix(model.order, row.k)
    elif model is not None and model.order not in NAMED[:3]:
        raise ValueError(f"{row}: only reductions have the order {model.order[:80]}")
    if found.probes is None or found.random is None:
        return RowPrint(unmeasured(row, found.failure, found.seed), found.fit, found.observed, found.elements)
    probes, count = found.probes, len(found.probes.names)
    a, b = (packed.unpacked(t.bits_dtype, count, row.k) for packed, t in ((probes.a, row.a), (probes.b, row.b)))
    c, results = (packed.unpacked(t.bits_dtype, count) for packed, t in ((probes.c, row.c), (probes.results, row.result)))
    random = found.random.unpacked(row.result.bits_dtype, found.elements)
    measured = Measured(row, Vectors(tuple(probes.names), a, b, c), results, found.seed, random)
    return RowPrint(measured, found.fit, found.observed, found.elements)
