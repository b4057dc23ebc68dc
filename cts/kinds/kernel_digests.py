"""The digests that ``cts golden`` pins for a kernel case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from cts.devices.kernel_needs import DependsOnDevice, needs_of
from cts.kinds.kernel import Arrangement, arrange, compile_module, policy_of
from cts.kinds.pinned_needs import CaseNeeds
from cts.verdict.expected import Exact, Expected, Interval, OneOf, ValueSet
from generators.casebook import BuiltCase, Case, CaseKind, build
from generators.digests import array_bytes, digest, digest_inputs
from generators.dispatch import kernel
from generators.numerics.rounding import to_bits

_SIGNIFICANT_BITS = 20


@lru_cache(maxsize=1)
def _built(case: Case) -> tuple[BuiltCase, bytes]:
    """Return the program of a case, and its module; they are kept until another case is asked for."""
    built = build(case)
    return built, compile_module(built.program, "spirv")


@lru_cache(maxsize=1)
def _arranged(case: Case) -> Arrangement:
    """Return the subcases of a case; they are kept until another case is asked for."""
    return arrange(_built(case)[0])


def digests(case: Case) -> tuple[str, str, str]:
    """Digest the module that the suite assembles, the inputs and the expected results."""
    plan, (_, module) = _arranged(case), _built(case)
    return digest([module]), digest_inputs(plan.subcases), digest_expected(plan.expected)


def only_positions(case: Case) -> tuple[str, ...]:
    """Return the positions without which no specification binds a driver to pass the case; empty if a specification binds it.

    For error bounds, which are a policy of the suite, it is ``policy``.

    Such a case has a module that the text may forbid, values for which the text has no bound, or values that only a position gives.
    """
    if case.definition.kind is not CaseKind.KERNEL:
        return ()
    if case.disputed:
        return case.disputed
    plan = _arranged(case)
    if policy_of(plan):
        return ("policy",)
    authorities = [placed.expectation.authority for want in plan.expected for placed in want.placed]
    return tuple(dict.fromkeys(one.position for one in authorities if one.position and not one.requirement))


def needs(case: Case) -> CaseNeeds | None:
    """Return the needs of the case; None if they depend on the subgroup size, or if the case is of another kind.

    Raises:
        GeneratorError: the case cannot be built.
    """
    if case.definition.kind is not CaseKind.KERNEL:
        return None
    built, module = _built(case)
    try:
        return tuple((one.label, needs_of(kernel(one, module))) for one in built.program.all)
    except DependsOnDevice:
        return None


def digest_expected(expected: Iterable[Expected]) -> str:
    """Digest the permitted results of a case's subcases.

    Bounds of intervals are rounded to 20 significant bits, because sums in float64 may differ in their last bit between machines.
    """

    def parts() -> Iterator[bytes]:
        for want in expected:
            for placed in want.placed:
                allowed = placed.expected
                either_zero = not isinstance(allowed, Interval) and allowed.either_zero
                yield f"{placed.array} {allowed.KIND} {allowed.component.name} {either_zero}".encode()
                yield array_bytes(placed.offsets)
                yield from _allowed(allowed)
                if placed.permitted is not allowed:
                    yield b"permitted"
                    yield from _allowed(placed.permitted)
                if placed.expectation.may_be_dropped is not None:
                    yield b"may be dropped"
                    yield array_bytes(placed.expectation.may_be_dropped)

    return digest(parts())


def _allowed(allowed: ValueSet) -> Iterator[bytes]:
    yield array_bytes(allowed.any_nan)
    match allowed:
        case Interval():
            yield array_bytes(to_bits(allowed.low, _SIGNIFICANT_BITS))
            yield array_bytes(to_bits(allowed.high, _SIGNIFICANT_BITS))
        case Exact() | OneOf():
            for bits in allowed.choices:
                yield array_bytes(bits)
            if isinstance(allowed, OneOf) and allowed.free is not None:
                yield array_bytes(allowed.free)
