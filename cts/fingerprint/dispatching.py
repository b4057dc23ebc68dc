"""Runs multiply-adds of whole matrices on a device: a load, a multiply-add and a store, one matrix for each workgroup."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np

from cts.devices.device import Device, DeviceDescription, DeviceFailure
from cts.fingerprint.one_operand import OneOperand, Row, one_operand_rows
from cts.fingerprint.probes import Vectors
from generators.dispatch import dispatch, kernel
from generators.element_functions.functions import combining
from generators.errors import CtsError
from generators.kernel import Kernel
from generators.layouts.row_types import row_type
from generators.program.builder import ProgramBuilder
from generators.program.callbacks import Reduce
from generators.program.conversion import Conversion, MatrixConvert
from generators.program.memory import Pointee
from generators.program.program import Program, Subcase
from generators.program.values import MatrixType, Value
from generators.property_rows import PropertyRow, parse_row
from generators.spirv.emit import emit
from generators.types import Layout, Scope, StorageClass

Unit = Callable[[Row, np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""What computes A x B + C of a row: bits (n, M, K), (n, K, N), (n, M, N) to bits (n, M, N). The same for
reductions and conversions, in the form of cts.fingerprint.one_operand."""

_MATRICES = 512
"""Matrices in one dispatch."""


class NotMeasured(CtsError):
    """The device did not compute a probe; the message says why."""


def rows_of(description: DeviceDescription, every: bool = False) -> tuple[Row, ...]:
    """Return the rows at subgroup scope without f64: the largest for each combination of types and K, or all; then the reductions and
    conversions of their matrices. A row of flexible dimensions whose granularity is an exact row has twice its K: one instruction may be
    two of the unit."""
    found: dict[object, PropertyRow] = {}
    rows = set(description.rows)
    for one in description.rows:
        # Models compute in float64, where products of f64 are not exact.
        if one.scope != Scope.SUBGROUP or "f64" in (one.a, one.b, one.c, one.result):
            continue
        if one.flexible and replace(one, flexible=False) not in rows:
            continue
        text = f"{one.m}x{one.n}x{one.k * (1 + one.flexible)}.{one.a}.{one.b}.{one.c}.{one.result}" + (".sat" if one.saturating else "")
        row = parse_row(text)
        key = row if every else (row.k, row.a, row.b, row.c, row.result, row.saturating)
        if key not in found or found[key].m * found[key].n < row.m * row.n:
            found[key] = row
    return (*found.values(), *one_operand_rows(description.rows, every))


def unit_of(device: Device) -> Unit:
    """Return the matrix unit of a device.

    Raises:
        NotMeasured: when it is called: the device lacks something, or fails.
    """

    def compute(row: Row, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        program, made = _made(row)
        reason = device.missing(made)
        if reason is not None:
            raise NotMeasured(f"{row}: {reason.text}")
        operands = (row.matrices(a),) if isinstance(row, OneOperand) else (a, b, c)
        count = len(a)
        padded = -(-count // _MATRICES) * _MATRICES
        parts = []
        for array in operands:
            whole = np.zeros((padded, *array.shape[1:]), array.dtype)
            whole[:count] = array
            parts.append(whole.reshape(padded // _MATRICES, -1).view(np.uint8))
        rows, columns = _types(row)["d"].shape
        nothing = np.zeros(_MATRICES * rows * columns * row.result.bytes, np.uint8)
        dispatches = []
        for given in zip(*parts, strict=True):
            contents = dict(zip("abc", given, strict=False)) | {"d": nothing}
            dispatches.append(dispatch(program, Subcase("one", {}), contents))
        try:
            outcomes = device.run(made, dispatches)
        except DeviceFailure as failure:
            raise NotMeasured(f"{row}: {failure.verdict}: {failure}") from failure
        results = np.concatenate([outcome.outputs["d"].view(row.result.bits_dtype) for outcome in outcomes])
        matrices = results.reshape(padded, rows, columns)[:count]
        return row.results(matrices) if isinstance(row, OneOperand) else matrices

    return compute


@cache
def _made(row: Row) -> tuple[Program, Kernel]:
    """Return the program of a row, and its kernel."""
    program = _program(row)
    return program, kernel(program, emit(program))


def _types(row: Row) -> dict[str, MatrixType]:
    """Return the types of the matrices that are loaded, and of the result, d."""
    if isinstance(row, OneOperand):
        return dict(zip("ad", row.types, strict=True))
    return {name: row_type(row, name, Scope.SUBGROUP) for name in "abcd"}


def _program(row: Row) -> Program:
    builder = ProgramBuilder(Scope.SUBGROUP, workgroups=_MATRICES)
    instance = builder.instance_index()
    loaded, placed = {}, {}
    types = _types(row)
    for name, type_ in types.items():
        rows, columns = type_.shape
        array = builder.array(
            name, Pointee(type_.component), _MATRICES * rows * columns, StorageClass.STORAGE_BUFFER, "output" if name == "d" else "input"
        )
        first = builder.offset(f"{name}_first", builder.literal(0), instance, rows * columns)
        placed[name] = array, first, builder.literal(columns)
        if name != "d":
            loaded[name] = builder.load(f"matrix_{name}", type_, *placed[name], Layout.ROW_MAJOR)
    if isinstance(row, PropertyRow):
        result = builder.muladd("product", types["d"], loaded["a"], loaded["b"], loaded["c"], row.operands)
    else:
        result = Value("result", types["d"])
        if row.mode is not None:
            builder.add(Reduce(result, loaded["a"], row.mode, combining("combine", row.a, "add")))
        else:
            builder.add(MatrixConvert(result, loaded["a"], Conversion.F_TO_F, row.saturating))
    builder.store(result, *placed["d"], Layout.ROW_MAJOR)
    return builder.build()


def run_vectors(unit: Unit, row: Row, vectors: Vectors) -> np.ndarray:
    """Return the results of vectors: bits (n). Each matrix has several: on its diagonal, or in all that it reduces or
    converts."""
    if isinstance(row, OneOperand):
        whole = np.zeros((-(-len(vectors.c) // row.m) * row.m, row.k), vectors.a.dtype)
        whole[: len(vectors.c)] = vectors.a
        return unit(row, whole.reshape(-1, row.m, row.k), vectors.b, vectors.c).reshape(-1)[: len(vectors.c)]
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
