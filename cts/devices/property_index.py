"""Indexes a device's property rows, to look up whether they allow a matrix type, a size, or a multiply-add."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from cts.devices.device import MatrixRow
from generators.types import Use

TypeKey = tuple[str, int, int]
"""Component, use, scope."""

MulAddKey = tuple[str, str, str, str, bool, int]
"""Components of A, B, C and Result, saturating, scope."""


class PropertyIndex:
    """Looks up rows by the types and sizes that they allow.

    Args:
        rows: the device's rows.
        largest: the largest dimension of a type (VUID-RuntimeSpirv-cooperativeMatrixFlexibleDimensionsMaxDimension-10167).
    """

    def __init__(self, rows: Iterable[MatrixRow], largest: int) -> None:
        self._largest = largest
        self._types: dict[TypeKey, set[tuple[int, int]]] = defaultdict(set)
        self._flexible_types: dict[TypeKey, set[tuple[int, int, int]]] = defaultdict(set)
        self._muladds: dict[MulAddKey, set[tuple[int, int, int]]] = defaultdict(set)
        self._flexible_muladds: dict[MulAddKey, set[tuple[int, int, int, int]]] = defaultdict(set)
        self._exact: dict[str, set[int]] = defaultdict(set)
        self._steps: dict[str, set[int]] = defaultdict(set)
        for row in rows:
            for name, size in (("M", row.m), ("N", row.n), ("K", row.k)):
                (self._steps if row.flexible else self._exact)[name].add(size)
            key = row.a, row.b, row.c, row.result, row.saturating, row.scope
            matrices = (
                (row.a, Use.A, row.m, row.k),
                (row.b, Use.B, row.k, row.n),
                (row.c, Use.ACCUMULATOR, row.m, row.n),
                (row.result, Use.ACCUMULATOR, row.m, row.n),
            )
            if row.flexible:
                self._flexible_muladds[key].add((row.m, row.n, row.k, row.invocations))
                for component, use, rows_, columns in matrices:
                    self._flexible_types[component, int(use), row.scope].add((rows_, columns, row.invocations))
            else:
                self._muladds[key].add((row.m, row.n, row.k))
                for component, use, rows_, columns in matrices:
                    self._types[component, int(use), row.scope].add((rows_, columns))

    def has_type(self, key: TypeKey, rows: int, columns: int, invocations: int) -> bool:
        """Return whether a row of any list has a matrix type (VUID-RuntimeSpirv-OpTypeCooperativeMatrixKHR-10163,
        VUID-RuntimeSpirv-cooperativeMatrixProperties2-13382, VUID-RuntimeSpirv-cooperativeMatrixFlexibleDimensions-10165).

        Args:
            key: component, use and scope.
            rows, columns: size of the matrix.
            invocations: the number of invocations in the workgroup.
        """
        if max(rows, columns) > self._largest:
            return False
        return (rows, columns) in self._types.get(key, ()) or any(
            rows % row_step == 0 and columns % column_step == 0 and needed in (0, invocations)
            for row_step, column_step, needed in self._flexible_types.get(key, ())
        )

    def has_size(self, name: str, size: int) -> bool:
        """Return whether any row, whatever its types, has a size; ``name`` is M, N or K (VUID-RuntimeSpirv-NSize-12352,
        VUID-RuntimeSpirv-KSize-12353). A flexible row has every multiple of its granularity."""
        if size in self._exact.get(name, ()):
            return True
        return size <= self._largest and any(size % step == 0 for step in self._steps.get(name, ()))

    def has_muladd(self, key: MulAddKey, m: int, n: int, k: int, invocations: int) -> bool:
        """Return whether one row of any list allows a multiply-add (VUID-RuntimeSpirv-OpCooperativeMatrixMulAddKHR-10060,
        VUID-RuntimeSpirv-cooperativeMatrixProperties2-13383, VUID-RuntimeSpirv-cooperativeMatrixFlexibleDimensions-10166)."""
        if max(m, n, k) > self._largest:
            return False
        return (m, n, k) in self._muladds.get(key, ()) or any(
            m % m_step == 0 and n % n_step == 0 and k % k_step == 0 and needed in (0, invocations)
            for m_step, n_step, k_step, needed in self._flexible_muladds.get(key, ())
        )
