"""Short digests of a case's module, inputs and results, the same on every machine; golden/ pins them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

import numpy as np

from generators.program.program import Subcase

DIGITS = 10
"""Number of hexadecimal digits: a change goes unnoticed once in 2^40."""


def digest(parts: Iterable[bytes]) -> str:
    """Digest several byte strings, each with its length, so moving a byte from one to the next changes the digest."""
    state = hashlib.sha256()
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.hexdigest()[:DIGITS]


def array_bytes(array: np.ndarray) -> bytes:
    """Return the elements of an array, little-endian."""
    return np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False).tobytes()


def digest_inputs(subcases: Iterable[Subcase]) -> str:
    """Digest the names, operands and input data of a case's subcases."""

    def parts() -> Iterable[bytes]:
        for subcase in subcases:
            yield subcase.name.encode()
            yield from _mapping(subcase.operands)
            for name in sorted(subcase.inputs):
                yield name.encode()
                yield array_bytes(subcase.inputs[name])

    return digest(parts())


def _mapping(values: Mapping[str, int]) -> Iterable[bytes]:
    for name in sorted(values):
        yield f"{name}={values[name]}".encode()
