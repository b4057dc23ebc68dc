"""Moves of float components in cooperative vectors: the treatment of NaN, infinities, zeros and denormals that Vulkan's "Precision and
Operation of SPIR-V Instructions" permits (CV-FC-01, CV-FC-03, F-CV-21).

Composite instructions, OpLoad and OpStore are bit-preserving operations. OpCooperativeVectorLoadNV, OpCooperativeVectorStoreNV and
OpBitcast are not on that list: the suite expects them to keep bits, but permits all results that the text permits. This is one rule for all
programs, with execution modes or without. A program without them has such values only if it moves vectors: another operation would be
blamed for what a load has changed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cts.reference.float_controls import modes
from cts.reference.state import State
from cts.reference.values import Certain, Choice, MatrixValue
from cts.verdict.expected import Authority
from generators.errors import GeneratorError
from generators.numerics.formats import denormals, sign_bit, smallest_normal, values
from generators.types import ComponentType

UNLISTED = "F-CV-21"
"""Position that instructions outside the list of bit-preserving operations keep bits."""

_MOVED, _UNFLUSHED = Authority("CV-FC-01", "F-KHR-33"), Authority("CV-FC-03")


def has_rules(state: State, component: ComponentType) -> bool:
    """Return whether a program's data may have NaN, infinities, minus zero or denormals of ``component``."""
    return component.is_float and (bool(state.program.float_controls) or component.bits == 8)


def kept(state: State, value: MatrixValue) -> MatrixValue:
    """Return a vector that a composite instruction made from components: it has their bits."""
    component = value.component
    if not has_rules(state, component):
        return value
    special = modes(state, component).special
    if special or component.bits == 8:
        value = replace(value, computed=False)
    numbers = values(value.bits, component)
    if not (np.isfinite(numbers) & (numbers != 0)).all():
        if special:
            return replace(value, nan_kept=True, authority=_MOVED)
        if component.bits == 8:
            # No execution mode is for this width.
            return _loosened(replace(value, nan_kept=True, authority=_UNFLUSHED), flushes=False)
    return replace(value, authority=_UNFLUSHED) if denormals(numbers, component).any() else value


def accessed(state: State, value: MatrixValue, requirement: str, loaded: bool = False) -> MatrixValue:
    """Return a whole vector after a load or a store.

    Args:
        requirement: the instruction's requirement.
        loaded: whether the bits come from memory.

    Raises:
        GeneratorError: a stored value has a range to which zeros or denormals belong.
    """
    if not value.component.is_float:
        return value
    ruled = has_rules(state, value.component)
    if not isinstance(value.known, Certain | Choice):
        numbers = value.expectation().expected
        low, high = getattr(numbers, "low", None), getattr(numbers, "high", None)
        least = smallest_normal(value.component)
        # Without execution modes, zero is in the range if a denormal may become zero.
        if low is not None and high is not None and ((low < least) & (high > -least) & (ruled | (low > 0) | (high < 0))).any():
            raise GeneratorError(
                "F-CV-21", "a range of results with zeros or denormals is stored as a whole vector; store its components (F-CV-21)"
            )
        return value
    if value.permitted is None and not _has_unusual(value, ruled):
        return value
    authority = value.authority if value.authority.requirement else Authority(requirement)
    return _loosened(replace(value, nan_kept=value.nan_kept or loaded, authority=authority), flushes=True)


def _has_unusual(value: MatrixValue, ruled: bool) -> bool:
    """Tell whether a vector has numbers that a load or store may change: NaN, infinities, denormals, and minus zero; with execution modes,
    any zero."""
    component = value.component
    sign = component.bits_dtype.type(sign_bit(component))
    for bits in value.expected_bits:
        numbers = values(bits, component)
        zeros = numbers == 0 if ruled else (bits == sign) & (not value.computed)
        if (~np.isfinite(numbers) | zeros | denormals(numbers, component)).any():
            return True
    return False


def recast(state: State, value: MatrixValue, target: ComponentType) -> MatrixValue:
    """Return the same bits as numbers of ``target``, of the same width (CV-CVT-02): denormals must stay (CV-FC-03), and all other bits
    should."""
    source = _loosened(value, flushes=False) if has_rules(state, value.component) else value
    expected = source.expected_bits
    known = Choice(expected[1:]) if len(expected) > 1 else Certain()
    authority = replace(source.authority, requirement="CV-CVT-02")
    result = MatrixValue(target, expected[0], known=known, permitted=source.permitted, authority=authority, nan_kept=target.is_float)
    return _loosened(result, flushes=False) if has_rules(state, target) else result


def _loosened(value: MatrixValue, flushes: bool) -> MatrixValue:
    """Return the value with further permitted values: its NaN, infinities and signs of zeros may be ignored, and denormals flushed if
    ``flushes``."""
    component = value.component
    sign = component.bits_dtype.type(sign_bit(component))
    before = value.permitted if isinstance(value.permitted, Choice) else Choice(())
    every = [*value.expected_bits, *before.others]
    free = np.zeros(value.bits.shape, bool) if before.free is None else before.free.copy()
    found: dict[bytes, np.ndarray] = {bits.tobytes(): bits for bits in every[1:]}
    loosened = False
    for bits in every:
        numbers = values(bits, component)
        free |= ~np.isfinite(numbers)
        others = [] if value.computed else [np.where(numbers == 0, bits ^ sign, bits)]
        if flushes:
            tiny = denormals(numbers, component)
            others += [np.where(tiny, component.bits_dtype.type(0), bits), np.where(tiny, sign, bits)]
        for other in others:
            if not np.array_equal(other, bits):
                found.setdefault(other.tobytes(), other)
                loosened = True
    if not (loosened or free.any()):
        return value
    permitted = Choice(tuple(found.values()), free if free.any() else None)
    return replace(value, permitted=permitted, authority=replace(value.authority, quality=UNLISTED))
