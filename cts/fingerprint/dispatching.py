"""Runs multiply-adds of whole matrices on a device: a load, a multiply-add and a store, one matrix for each workgroup."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from cts.devices.device import Device, DeviceDescription, DeviceFailure
from cts.fingerprint.probes import Vectors
from generators.dispatch import dispatch, kernel
from generators.errors import CtsError
from generators.kernel import Kernel
from generators.layouts.row_types import row_type
from generators.program.builder import ProgramBuilder
from generators.program.memory import Pointee
from generators.program.program import Program, Subcase
from generators.property_rows import PropertyRow, parse_row
from generators.spirv.emit import emit
from generators.types import Layout, Scope, StorageClass

Unit = Callable[[PropertyRow, np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""What computes A x B + C of a row: bits (n, M, K), (n, K, N), (n, M, N) to bits (n, M, N)."""

_MATRICES = 512
"""Matrices in one dispatch."""


class NotMeasured(CtsError):
    """The device did not compute a probe; the message says why."""


def rows_of(description: DeviceDescription, every: bool = False) -> tuple[PropertyRow, ...]:
    """Return the rows of exact sizes at subgroup scope without f64: the largest for each combination of types and K, or all."""
    found: dict[object, PropertyRow] = {}
    for one in description.rows:
        # Models compute in float64, where products of f64 are not exact.
        if one.scope != Scope.SUBGROUP or one.flexible or "f64" in (one.a, one.b, one.c, one.result):
            continue
        text = f"{one.m}x{one.n}x{one.k}.{one.a}.{one.b}.{one.c}.{one.result}" + (".sat" if one.saturating else "")
        row = parse_row(text)
        key = row if every else (row.k, row.a, row.b, row.c, row.result, row.saturating)
        if key not in found or found[key].m * found[key].n < row.m * row.n:
            found[key] = row
    return tuple(found.values())


def unit_of(device: Device) -> Unit:
    """Return the matrix unit of a device.

    Raises:
        NotMeasured: when it is called: the device lacks something, or fails.
    """

    def compute(row: PropertyRow, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        program, made = _made(row)
        reason = device.missing(made)
        if reason is not None:
            raise NotMeasured(f"{row}: {reason.text}")
        count = len(a)
        padded = -(-count // _MATRICES) * _MATRICES
        parts = []
        for array in (a, b, c):
            whole = np.zeros((padded, *array.shape[1:]), array.dtype)
            whole[:count] = array
            parts.append(whole.reshape(padded // _MATRICES, -1).view(np.uint8))
        nothing = np.zeros(_MATRICES * row.m * row.n * row.result.bytes, np.uint8)
        dispatches = []
        for left, right, added in zip(*parts, strict=True):
            contents = {"a": left, "b": right, "c": added, "d": nothing}
            dispatches.append(dispatch(program, Subcase("one", {}), contents))
        try:
            outcomes = device.run(made, dispatches)
        except DeviceFailure as failure:
            raise NotMeasured(f"{row}: {failure.verdict}: {failure}") from failure
        results = np.concatenate([outcome.outputs["d"].view(row.result.bits_dtype) for outcome in outcomes])
        return results.reshape(padded, row.m, row.n)[:count]

    return compute


@cache
def _made(row: PropertyRow) -> tuple[Program, Kernel]:
    """Return the program of a row, and its kernel."""
    program = _program(row)
    return program, kernel(program, emit(program))


def _program(row: PropertyRow) -> Program:
    builder = ProgramBuilder(Scope.SUBGROUP, workgroups=_MATRICES)
    instance = builder.instance_index()
    loaded, placed = {}, {}
    for name in ("a", "b", "c", "d"):
        type_ = row_type(row, name, Scope.SUBGROUP)
        rows, columns = type_.shape
        array = builder.array(
            name, Pointee(type_.component), _MATRICES * rows * columns, StorageClass.STORAGE_BUFFER, "output" if name == "d" else "input"
        )
        first = builder.offset(f"{name}_first", builder.literal(0), instance, rows * columns)
        placed[name] = array, first, builder.literal(columns)
        if name != "d":
            loaded[name] = builder.load(f"matrix_{name}", type_, *placed[name], Layout.ROW_MAJOR)
    result = row_type(row, "d", Scope.SUBGROUP)
    product = builder.muladd("product", result, loaded["a"], loaded["b"], loaded["c"], row.operands)
    builder.store(product, *placed["d"], Layout.ROW_MAJOR)
    return builder.build()


def run_vectors(unit: Unit, row: PropertyRow, vectors: Vectors) -> np.ndarray:
    """Return the results of vectors: bits (n). Each matrix has several on its diagonal."""
    side, count = min(row.m, row.n), len(vectors.c)
    matrices = -(-count // side)
    a = np.zeros((matrices * side, row.k), vectors.a.dtype)
    b, c = np.zeros((matrices * side, row.k), vectors.b.dtype), np.zeros(matrices * side, vectors.c.dtype)
    a[:count], b[:count], c[:count] = vectors.a, vectors.b, vectors.c
    left = np.zeros((matrices, row.m, row.k), a.dtype)
    right, added = np.zeros((matrices, row.k, row.n), b.dtype), np.zeros((matrices, row.m, row.n), c.dtype)
    left[:, :side] = a.reshape(matrices, side, row.k)
    right[:, :, :side] = b.reshape(matrices, side, row.k).swapaxes(1, 2)
    diagonal = np.arange(side)
    added[:, diagonal, diagonal] = c.reshape(matrices, side)
    return unit(row, left, right, added)[:, diagonal, diagonal].reshape(-1)[:count]
