"""Matrices made of a scalar: OpCompositeConstruct (SPV_KHR_cooperative_matrix, 3.42.12)."""

from __future__ import annotations

from dataclasses import dataclass

from generators.program.values import Matrix, ScalarValue


@dataclass(frozen=True)
class MatrixSplat:
    """Every component of ``result`` is ``value``, a scalar of the component type (KHR-COMP-02)."""

    result: Matrix
    value: ScalarValue
