"""Multiply-adds that a device supports, with their results."""

from __future__ import annotations

import numpy as np

from cts.devices.device import DeviceDescription
from generators.kernel import Dispatch

_SEED = 20


def size_of(description: DeviceDescription) -> dict[str, int]:
    """Return a size of f16 x f16 + f32 at subgroup scope that the device supports."""
    rows = (r for r in description.rows if (r.a, r.b, r.c, r.result, r.scope, r.flexible) == ("f16", "f16", "f32", "f32", 3, False))
    row = next(rows)
    return {"m": row.m, "n": row.n, "k": row.k}


def work(size: dict[str, int], count: int, push_constant_bytes: int = 0) -> tuple[list[Dispatch], list[np.ndarray]]:
    """Return dispatches with different data, each with the bytes that it must leave in the buffer ``out``."""
    rng = np.random.default_rng(_SEED)
    m, n, k = size["m"], size["n"], size["k"]
    dispatches, results = [], []
    for _ in range(count):
        a = rng.integers(-8, 8, (m, k)).astype(np.float16)
        b = rng.integers(-8, 8, (k, n)).astype(np.float16)
        c = rng.integers(-99, 99, (m, n)).astype(np.float32)
        contents = tuple(matrix.view(np.uint8).ravel() for matrix in (a, b, c, np.full((m, n), 7, np.float32)))
        dispatches.append(Dispatch(bytes(push_constant_bytes), contents))
        results.append((a.astype(np.float32) @ b.astype(np.float32) + c).view(np.uint8).ravel())
    return dispatches, results
