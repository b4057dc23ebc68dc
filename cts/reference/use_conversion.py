"""OpCooperativeMatrixConvertNV and OpCooperativeMatrixTransposeNV: values move (facts.md C17).

Neither is on Vulkan's list of bit-preserving operations, so a denormal may be flushed to zero, and a zero may lose its sign.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cts.reference.state import State
from cts.reference.values import CERTAIN, Certain, Choice, MatrixValue
from cts.verdict.expected import Authority
from generators.errors import GeneratorError
from generators.numerics.formats import denormals, sign_bit, values
from generators.program.use_conversion import Transpose, UseConvert
from generators.program.values import MatrixType
from generators.types import Use

CONVERTED, TRANSPOSED = Authority("CM2-CVT-03"), Authority("CM2-TR-02")
EXTENDED, BACK = Authority("M1-USE-01"), Authority("M1-USE-02", position="F-CM2-13")


def use_convert(state: State, operation: UseConvert) -> None:
    """Keep the elements, and change the use to A or B (CM2-CVT-03), or to accumulator (M1-USE-02).

    Raises:
        GeneratorError: the types differ in more than the use, or the program's extension does not have this change.
    """
    source, target = operation.matrix.type, operation.result.type
    same = replace(source, use=target.use) == target
    uses = (source.use_value is Use.ACCUMULATOR, target.use_value is Use.ACCUMULATOR)
    if uses == (False, True):
        if not same or not state.program.maintenance1:
            what = "only SPV_EXT_cooperative_matrix_maintenance1 can convert the use of A or B, to an accumulator of the same type"
            raise GeneratorError("M1-USE-02", f"{operation.result.name}: {what} (M1-USE-02)")
    elif not same or uses != (True, False):
        what = "only the use of an accumulator may change, to A or B"
        raise GeneratorError("CM2-CVT-03", f"{operation.result.name}: {what} (CM2-CVT-03)")
    authority = (EXTENDED if uses[0] else BACK) if state.program.maintenance1 else CONVERTED
    state.matrices[operation.result.name] = _with_flushed(state.matrices[operation.matrix.name], authority)


def transpose(state: State, operation: Transpose) -> None:
    """Exchange rows and columns (CM2-TR-02).

    Raises:
        GeneratorError: the types do not match (CM2-TR-01, F-CM2-12).
    """
    source, target = operation.matrix.type, operation.result.type
    expected = MatrixType(source.component, source.scope, source.columns, source.rows, Use.B)
    if source.use_value is not Use.ACCUMULATOR or target != expected:
        raise GeneratorError(
            "CM2-TR-01",
            f"{operation.result.name}: a transposition turns an accumulator into a B with rows and columns exchanged (CM2-TR-01)",
        )
    value = state.matrices[operation.matrix.name]
    free = _transposed(value.free) if value.free.any() else None
    bits, *others = (_transposed(bits) for bits in value.expected_bits)
    known = Choice(tuple(others)) if others else CERTAIN
    origins = tuple(replace(origin, bits=_transposed(origin.bits)) for origin in value.origins)
    permitted = None if free is None else Choice(tuple(others), free)
    transposed = MatrixValue(value.component, bits, value.computed, known, origins=origins, permitted=permitted, authority=value.authority)
    state.matrices[operation.result.name] = _with_flushed(transposed, TRANSPOSED)


def _transposed(bits: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(bits.transpose(0, 2, 1))


def _with_flushed(value: MatrixValue, authority: Authority) -> MatrixValue:
    """Return ``value``, also allowing zero for denormals (C17, C29), and either sign for zeros (C7, C16)."""
    value = replace(value, authority=replace(authority, quality=value.authority.quality))
    if not value.component.is_float or not isinstance(value.known, Certain | Choice):
        return value
    if value.permitted is not None and not isinstance(value.permitted, Choice):
        return value
    sign = value.component.bits_dtype.type(sign_bit(value.component))
    found = value.expected_bits
    if any(((bits & ~sign) == 0).any() for bits in found):
        value = replace(value, computed=True)
    tiny = [denormals(values(bits, value.component), value.component) for bits in found]
    if not np.any(tiny):
        return value
    flushed = tuple(np.where(where, bits & sign, bits) for bits, where in zip(found, tiny, strict=True) if where.any())
    every = (*found[1:], *flushed)
    permitted = replace(value.permitted, others=every) if isinstance(value.permitted, Choice) else None
    return replace(value, known=Choice(every), computed=True, permitted=permitted)
