"""What some probes show directly, without a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from cts.fingerprint.measuring import Measured
from cts.fingerprint.one_operand import OneOperand
from generators.numerics.formats import is_nan, values

_LADDERS = ("first", "between", "last", "before_last", "c_small", "c_large_first", "c_large_last")
"""Where the small term of a ladder is, or whether it or a large one is C."""

_NANS = 6
"""The most different NaN that are listed."""


def observe(measured: Measured) -> Mapping[str, str]:
    """Return what the probes of a row show: a name -> what was seen, in words."""
    found: dict[str, str] = {}
    if not measured.results.size or not measured.row.result.is_float:
        return found
    if isinstance(measured.row, OneOperand):
        return {"NaN results": _nans(measured)}
    numbers = dict(zip(measured.probes.names, values(measured.results, measured.row.result).tolist(), strict=True))
    ladders = {place: _by_last(numbers, f"ladder/{place}/1/+1/") for place in _LADDERS}
    least = [f"{place} {_survivors({e: x != 0 for e, x in ladder.items()})}" for place, ladder in ladders.items() if ladder]
    found["smallest term that survives beside 1 and -1"] = ", ".join(least)
    for name, of in (("C = 1", "swamp/c"), ("a first product of 1", "swamp/first")):
        found[f"smallest of equal products that change {name}"] = _survivors({e: x != 1 for e, x in _by_last(numbers, f"{of}/").items()})
    zero = {e: x != 0 for e, x in _by_last(numbers, "zero_product/a/").items()}
    if zero:
        found["smallest product beside 0 x the largest power that survives"] = _survivors(zero)
    masks = _by_last(numbers, "mask/near/0/")
    if masks:
        left = ", ".join(f"{masks[j] * 2.0**14:g}" for j in sorted(masks))
        found[f"products of {measured.row.k} that survive beside a large first one and its negative at place 1, 2, … (the last is C)"] = (
            left
        )
    for which in ("a", "b", "c"):
        kept = [x != 0 for name, x in numbers.items() if name.startswith(f"denormal/{which}/")]
        if kept:
            found[f"denormal {which.upper()}"] = "kept" if all(kept) else "flushed" if not any(kept) else f"{sum(kept)} of {len(kept)} kept"
    found["NaN results"] = _nans(measured)
    return found


def _by_last(numbers: Mapping[str, float], prefix: str) -> dict[int, float]:
    return {int(name.rpartition("/")[2]): x for name, x in numbers.items() if name.rpartition("/")[0] + "/" == prefix}


def _survivors(survives: Mapping[int, bool]) -> str:
    if not survives or all(survives.values()):
        return f"all, to 2^-{max(survives, default=0)}"
    kept = [exponent for exponent in survives if survives[exponent]]
    return f"2^-{max(kept)}" if kept else "none"


def _nans(measured: Measured) -> str:
    counts = Counter(measured.results[is_nan(measured.results, measured.row.result)].tolist())
    digits = measured.row.result.bits // 4 + 2
    return ", ".join(f"{bits:#0{digits}x} ({count})" for bits, count in counts.most_common(_NANS)) or "none"
