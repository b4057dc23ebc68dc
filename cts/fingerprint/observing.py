"""What some probes show directly, without a model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from cts.fingerprint.measuring import Measured
from generators.numerics.formats import is_nan, values

_LADDERS = {
    "first": "the first term",
    "between": "between the large ones",
    "last": "the last term",
    "before_last": "the first term, and the large ones are last",
    "c_small": "C",
    "c_large_first": "the last term, and a large one is C",
    "c_large_last": "the first term, and a large one is C",
}


def observe(measured: Measured) -> Mapping[str, str]:
    """Return what the probes of a row show: a name -> what was seen, in words."""
    found: dict[str, str] = {}
    if not measured.results.size or not measured.row.result.is_float:
        return found
    numbers = dict(zip(measured.probes.names, values(measured.results, measured.row.result).tolist(), strict=True))
    for place, what in _LADDERS.items():
        ladder = _by_last(numbers, f"ladder/{place}/1/+1/")
        if ladder:
            found[f"smallest term beside 1 and -1 that survives as {what}"] = _survivors({e: x != 0 for e, x in ladder.items()})
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
    counts: dict[int, int] = defaultdict(int)
    for bits in measured.results[is_nan(measured.results, measured.row.result)].tolist():
        counts[bits] += 1
    digits = measured.row.result.bits // 4
    most = sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:6]
    return ", ".join(f"{bits:#0{digits + 2}x} ({count})" for bits, count in most) or "none"


def share(part: float) -> str:
    """Return a share as a percentage that is 100 only if nothing is missing."""
    return "100 %" if part == 1 else f"{np.floor(part * 1e6) / 1e4:.4f} %"
