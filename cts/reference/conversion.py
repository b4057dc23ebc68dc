"""Conversions of matrices, component by component (KHR-CVT-*, facts.md C10 to C15), and changes of their use (CM2-CVT-*, CM2-TR-*, M1-*).

Integers and exactly representable floats have one value. A float that the result type cannot represent may become either of its two
neighbours, because Vulkan leaves the direction of rounding to the implementation (C10, C12). Denormals before or after may be flushed to
zero (C29), except from 8-bit floats to f16 (C14). SPV_EXT_float8 defines the results for values out of range of an 8-bit float (C13); in
other types the neighbours of such a value are the largest finite number and infinity. A conversion of a value that an earlier conversion
rounded may skip that rounding (C5), but not a truncation to integers.

Instructions that only change the use, or exchange rows and columns, move values (C17). None of them is on Vulkan's list of bit-preserving
operations, so a denormal may be flushed to zero, and a zero may lose its sign.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cts.reference import float_controls, single_precision
from cts.reference.state import State, evaluates
from cts.reference.values import CERTAIN, Certain, Choice, MatrixValue, Origin, transposed
from cts.verdict.expected import Authority
from generators.errors import GeneratorError, Rule
from generators.numerics.formats import denormals, encode, integers, largest_finite, sign_bit, values
from generators.numerics.rounding import by_magnitude, nearest, neighbours, neighbours_of_integers
from generators.program import conversion as language
from generators.program.float_controls import NO_MODES, Modes
from generators.program.values import MatrixType
from generators.types import ComponentType, Use

CONVERTED = Authority("KHR-CVT-01")

NO_INFINITY = "F-KHR-23"
"""Position that a number beyond the range of the result is rounded like any other."""

_READS_SIGNED = (language.Conversion.S_TO_F, language.Conversion.S_TO_S)

Bits = tuple[np.ndarray, ...]
"""The allowed bits of each element, the most usual first; all of one shape."""


def convert_value(value: MatrixValue, target: ComponentType, conversion: language.Conversion, saturating: bool = False) -> MatrixValue:
    """Convert ``value`` to ``target`` by an instruction that accepts these types.

    Raises:
        GeneratorError: the result is undefined, nothing is promised about an element, or a float is known only by an envelope.
    """
    found: list[np.ndarray] = []
    before = value.free
    for bits in value.expected_bits:
        found += _convert(bits, value.component, target, conversion, saturating)
    for origin in value.origins:
        found += _from_origin(origin, target, conversion, saturating)
    others: dict[bytes, np.ndarray] = {bits.tobytes(): bits for bits in found[1:]}
    others.pop(found[0].tobytes(), None)
    origins: tuple[Origin, ...] = ()
    if target.is_float and others:
        signed = conversion in _READS_SIGNED
        origins = (*value.origins, *(Origin(value.component, bits, signed) for bits in value.expected_bits))
    known = Choice(tuple(others.values())) if others else CERTAIN
    converted = MatrixValue(target, found[0], target.is_float, known, origins=origins, authority=CONVERTED)
    beyond = before | _overflows(value, target, conversion)
    if not beyond.any():
        if conversion in (language.Conversion.S_TO_F, language.Conversion.U_TO_F):
            return single_precision.converted(converted, _numbers(value.bits, value.component, conversion))
        return converted
    permitted = Choice(tuple(others.values()), beyond)
    return replace(converted, permitted=permitted, authority=replace(CONVERTED, quality=NO_INFINITY))


def _overflows(value: MatrixValue, target: ComponentType, conversion: language.Conversion) -> np.ndarray:
    """Return which elements are beyond the largest float of ``target``. Vulkan lets an implementation assume that there are no infinities
    (C30), so their results are free; for 8-bit floats, SPV_EXT_float8 defines them (C13)."""
    if not target.is_float or language.is_float8(target):
        return np.zeros(value.bits.shape, bool)
    numbers = values(value.bits, value.component) if value.component.is_float else _numbers(value.bits, value.component, conversion)
    return np.asarray(np.abs(numbers.astype(np.float64)) > largest_finite(target))


def _from_origin(origin: Origin, target: ComponentType, conversion: language.Conversion, saturating: bool) -> Bits:
    """Return the results of a conversion that takes the number before an earlier rounding; ``conversion`` is the conversion of the rounded
    float."""
    if origin.component is target:
        return (origin.bits,)
    if not origin.component.is_float:
        reading = language.Conversion.S_TO_F if origin.signed else language.Conversion.U_TO_F
        if not target.is_float:
            return (_numbers(origin.bits, origin.component, reading).astype(target.bits_dtype),)
        conversion = reading
    return _convert(origin.bits, origin.component, target, conversion, saturating)


def _convert(bits: np.ndarray, source: ComponentType, target: ComponentType, conversion: language.Conversion, saturating: bool) -> Bits:
    match conversion:
        case language.Conversion.BITCAST:
            return (bits,)
        case language.Conversion.S_TO_S | language.Conversion.U_TO_U:
            return (_numbers(bits, source, conversion).astype(target.bits_dtype),)
        case language.Conversion.F_TO_S | language.Conversion.F_TO_U:
            return (_truncated(bits, source, target, conversion),)
        case language.Conversion.S_TO_F | language.Conversion.U_TO_F:
            toward, away = neighbours_of_integers(_numbers(bits, source, conversion), target)
            return _rounded(toward, away, np.zeros(bits.shape, bool), target, saturating)
        case language.Conversion.F_TO_F:
            return _float_to_float(bits, source, target, saturating)


def _numbers(bits: np.ndarray, source: ComponentType, conversion: language.Conversion) -> np.ndarray:
    """Return the integers that the instruction reads: the instruction decides the signedness, not the type (SPIR-V: "Signed Value is
    treated as signed")."""
    return integers(bits, source, conversion in _READS_SIGNED)


def _truncated(bits: np.ndarray, source: ComponentType, target: ComponentType, conversion: language.Conversion) -> np.ndarray:
    """Round floats toward zero (C11, KHR-CVT-05).

    Raises:
        GeneratorError: the truncated number is out of the instruction's range, so the result is undefined.
    """
    signed = conversion is language.Conversion.F_TO_S
    whole = np.trunc(values(bits, source))
    low, high = (-(2.0 ** (target.bits - 1)), 2.0 ** (target.bits - 1)) if signed else (0.0, 2.0**target.bits)
    if not ((whole >= low) & (whole < high)).all():
        raise GeneratorError(
            Rule.CONVERSION_RANGE, f"Op{conversion.value} of a float outside the range of its result; keep it inside (facts.md C11)"
        )
    return np.asarray(whole.astype(f"{'i' if signed else 'u'}{target.bytes}").view(target.bits_dtype))


def _float_to_float(bits: np.ndarray, source: ComponentType, target: ComponentType, saturating: bool) -> Bits:
    numbers = values(bits, source)
    if np.isnan(numbers).any() or (np.isinf(numbers).any() and not language.is_float8(target)):
        raise GeneratorError(
            Rule.NOT_FINITE, f"a NaN or an infinity is converted to {target}, for which nothing is promised; use finite data (facts.md C30)"
        )
    flushed = denormals(numbers, source) & (not (language.is_float8(source) and target.name == "f16"))
    if target.precision == 53:
        return _rounded(numbers, numbers, flushed, target, saturating)
    finite = np.where(np.isinf(numbers), np.copysign(2 * largest_finite(target), numbers), numbers)
    # Rounding through binary32, as bfloat16 requires, gives the same neighbours: every bfloat16 is a binary32.
    with np.errstate(over="ignore"):
        toward, away = by_magnitude(finite, *neighbours(target, finite))
    return _rounded(toward, away, flushed | _result_flushed(toward, away, source, target), target, saturating, finite)


def _result_flushed(toward: np.ndarray, away: np.ndarray, source: ComponentType, target: ComponentType) -> np.ndarray:
    """Tell which results are denormal and may be flushed to zero: all except f16 results from 8-bit floats (C14)."""
    if language.is_float8(source) and target.name == "f16":
        return np.zeros(toward.shape, bool)
    return np.asarray(denormals(toward, target) | denormals(away, target))


def _rounded(
    toward: np.ndarray, away: np.ndarray, flushed: np.ndarray, target: ComponentType, saturating: bool, exact: np.ndarray | None = None
) -> Bits:
    """Return the allowed bits of numbers between ``toward`` and ``away``, their neighbours in ``target`` without its limits.

    Args:
        toward, away: the neighbour nearer to zero, and the other one; equal if the number is representable.
        flushed: where zero is also allowed.
        exact: the numbers themselves, if float64 has them; they only decide which allowed bits come first.
    """
    largest = largest_finite(target)
    limit = np.copysign(largest, toward)
    beyond, crossing = np.abs(toward) > largest, np.abs(away) > largest
    over = limit if saturating else np.copysign(np.nan if target.name == "e4m3" else np.inf, toward)
    # In a float type with infinities other than an 8-bit one, the neighbours of a number beyond the largest are the largest and infinity.
    inner = np.where(beyond, over if language.is_float8(target) else limit, toward)
    outer = np.where(crossing, over, away)
    if exact is None:
        first, second = inner, outer
    else:
        usual = nearest(target, np.where(crossing, 0.0, exact))
        outward = (usual == outer) & ~crossing
        first, second = np.where(outward, outer, inner), np.where(outward, inner, outer)
    found = [encode(target, first), encode(target, second)]
    if flushed.any():
        found.append(np.where(flushed, encode(target, np.copysign(0.0, toward)), found[0]))
    return tuple(found)


@evaluates(language.MatrixConvert)
def convert(state: State, operation: language.MatrixConvert) -> None:
    """Raise GeneratorError if the instruction does not take these types (KHR-CVT-02, KHR-CVT-03)."""
    if not language.is_allowed_conversion(operation, state.program.maintenance1):
        raise GeneratorError(
            Rule.NO_CONVERSION,
            f"Op{operation.conversion.value} from {operation.matrix.type.component} to {operation.result.type.component} is not allowed; "
            "see generators.program.conversion.conversions (KHR-CVT-02, KHR-CVT-03)",
        )
    value, target = state.matrices[operation.matrix.name], operation.result.type.component
    state.matrices[operation.result.name] = converted_by_modes(state, value, target, operation.conversion, operation.saturating)


def converted_by_modes(
    state: State, value: MatrixValue, target: ComponentType, conversion: language.Conversion, saturating: bool = False
) -> MatrixValue:
    """Return ``value`` converted to ``target`` as the program's execution modes require.

    Raises:
        GeneratorError: as for ``convert_value``.
    """
    modes = _modes(state, value.component, target, conversion)
    if modes is None:
        return convert_value(value, target, conversion, saturating)
    return float_controls.converted(value, target, *modes, CONVERTED)


def _modes(state: State, source: ComponentType, target: ComponentType, conversion: language.Conversion) -> tuple[Modes, Modes] | None:
    """Return the execution modes of operand and result; None if they have none, and for 8-bit numbers and integers."""
    found = float_controls.modes(state, source), float_controls.modes(state, target)
    if found == (NO_MODES, NO_MODES) or conversion is not language.Conversion.F_TO_F or min(source.bits, target.bits) < 16:
        return None
    return found


CONVERTED, TRANSPOSED = Authority("CM2-CVT-03"), Authority("CM2-TR-02")
EXTENDED, BACK, SIGN = Authority("M1-USE-01"), Authority("M1-USE-02"), Authority("M1-USE-06", position="F-M1-1")


@evaluates(language.UseConvert)
def use_convert(state: State, operation: language.UseConvert) -> None:
    """Keep the elements, and change the use to A or B (CM2-CVT-03), or to accumulator (M1-USE-02). SPV_EXT_cooperative_matrix_maintenance1
    also changes the signedness of integers (M1-USE-06).

    Raises:
        GeneratorError: the types differ in something else, or the program's extension does not have this change.
    """
    rule = _broken_rule(operation, state.program.maintenance1)
    if rule is not None:
        raise GeneratorError(rule, f"{operation.result.name}: no change of use makes this type from the type of the matrix ({rule})")
    source, target = operation.matrix.type, operation.result.type
    from_accumulator = source.use_value is Use.ACCUMULATOR
    authority = (EXTENDED if from_accumulator else BACK) if state.program.maintenance1 else CONVERTED
    if source.component is not target.component:
        authority = SIGN
    value = with_flushed(state.matrices[operation.matrix.name], authority)
    state.matrices[operation.result.name] = replace(value, component=target.component)


def _broken_rule(operation: language.UseConvert, maintenance1: bool) -> str | None:
    """Return the requirement that a change of use breaks; None if it breaks none."""
    source, target = operation.matrix.type, operation.result.type
    uses = (source.use_value is Use.ACCUMULATOR, target.use_value is Use.ACCUMULATOR)
    if not maintenance1:
        if uses == (False, True):
            return "M1-USE-02"
        return None if uses == (True, False) and replace(source, use=target.use) == target else "CM2-CVT-03"
    one, other = source.component, target.component
    integers = not one.is_float and not other.is_float and one.bits == other.bits
    if (one is not other and not integers) or source.scope != target.scope:
        return "M1-USE-04"
    if source.shape != target.shape:
        return "M1-USE-05"
    return None if uses in ((True, False), (False, True)) else "M1-USE-03"


@evaluates(language.Transpose)
def transpose(state: State, operation: language.Transpose) -> None:
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
    state.matrices[operation.result.name] = with_flushed(transposed(state.matrices[operation.matrix.name]), TRANSPOSED)


def with_flushed(value: MatrixValue, authority: Authority) -> MatrixValue:
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


CONVERTED, MOVED, SIGN = Authority("M1-TR-02"), Authority("M1-TR-03"), Authority("M1-TR-03", position="F-M1-1")


@evaluates(language.TransposedConvert)
def transposed_convert(state: State, operation: language.TransposedConvert) -> None:
    """Convert the elements, and exchange rows and columns. Raises GeneratorError as ``check_transposed_conversion``."""
    language.check_transposed_conversion(operation, state.program.maintenance1)
    value, target = state.matrices[operation.matrix.name], operation.result.type.component
    if operation.conversion is None:
        moved = with_flushed(value, MOVED if value.component is target else SIGN)
        value = replace(moved, component=target)
    else:
        converted = converted_by_modes(state, value, target, operation.conversion, operation.saturating)
        value = replace(converted, authority=replace(CONVERTED, quality=converted.authority.quality))
    state.matrices[operation.result.name] = transposed(value)
