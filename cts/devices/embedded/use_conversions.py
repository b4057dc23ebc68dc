"""OpCooperativeMatrixConvertNV and OpCooperativeMatrixTransposeNV (SPV_NV_cooperative_matrix2, 3.49.11) move elements unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from cts.devices.embedded.diagnostics import Violation
from cts.devices.embedded.elementwise import USE_CONVERSIONS, use_may_change
from cts.devices.embedded.machine import Run
from cts.devices.embedded.spirv_types import MatrixType
from cts.devices.embedded.translation import Handler, Translation, Words
from cts.devices.embedded.values import Partly, Undefined, Value
from generators.spirv.enumerants import Capability, Op
from generators.types import Use


def _types(translation: Translation, words: Words, rule: str) -> tuple[MatrixType, MatrixType]:
    """Return the types of the operand and of the result."""
    to = translation.types[words[0]]
    if not isinstance(to, MatrixType):
        raise Violation(rule, "the result is not a cooperative matrix")
    return translation.matrix_type(words[2], rule, "the matrix"), to


def _convert(translation: Translation, words: Words) -> Run:
    what = "OpCooperativeMatrixConvertNV"
    if translation.capabilities.isdisjoint(USE_CONVERSIONS):
        raise Violation("CM2-CAP-02", f"{what} without the capability CooperativeMatrixConversionsNV")
    from_, to = _types(translation, words, "CM2-CVT-03")
    if from_.number != to.number:
        raise Violation("CM2-CVT-03", f"a {from_} to a {to}; the component type must be the same")
    if (from_.scope, from_.rows, from_.columns) != (to.scope, to.rows, to.columns):
        raise Violation("CM2-CVT-03", f"a {from_} to a {to}; scope, rows and columns must be the same")
    if not use_may_change(translation, Op.CooperativeMatrixConvertUseEXT, from_, to):
        raise Violation(
            "CM2-CVT-03",
            f"a {from_} to a {to}; it must go from an accumulator to A or B, or back with CooperativeMatrixConversionsEXT",
        )
    machine, values, operand = translation.machine, translation.values, words[2]

    def run() -> Value:
        machine.active_instances(to.scope)
        return values[operand]

    return run


def _transpose(translation: Translation, words: Words) -> Run:
    what = "OpCooperativeMatrixTransposeNV"
    if Capability.CooperativeMatrixConversionsNV not in translation.capabilities:
        raise Violation("CM2-CAP-02", f"{what} without the capability CooperativeMatrixConversionsNV")
    from_, to = _types(translation, words, "CM2-TR-01")
    if (from_.use, to.use) != (Use.ACCUMULATOR, Use.B):
        raise Violation("CM2-TR-01", f"a {from_} to a {to}; it must go from an accumulator to B")
    if (from_.scope, from_.columns, from_.rows) != (to.scope, to.rows, to.columns):
        raise Violation("CM2-TR-01", f"a {from_} to a {to}; rows and columns must be swapped, in the same scope")
    if from_.number != to.number:
        raise Violation("CM2-TR-03", f"a {from_} to a {to}; the component type must be the same (F-CM2-12)")
    machine, values, operand = translation.machine, translation.values, words[2]

    def run() -> Value:
        machine.active_instances(to.scope)
        matrix = values[operand]
        if isinstance(matrix, Partly):
            return Partly(_transposed(matrix.value), _transposed(matrix.defined))
        return matrix if isinstance(matrix, Undefined) else _transposed(matrix)

    return run


def _transposed(matrix: np.ndarray) -> np.ndarray:
    """Transpose each instance: move the element at (r, c) to (c, r) (CM2-TR-02)."""
    return np.ascontiguousarray(matrix.swapaxes(1, 2))


HANDLERS: Mapping[Op, Handler] = MappingProxyType(
    {Op.CooperativeMatrixConvertUseEXT: _convert, Op.CooperativeMatrixTransposeNV: _transpose}
)
"""Handlers for changes of use."""
