"""Numbers as text, each with its unit."""

from __future__ import annotations


def count(number: int, singular: str = "", plural: str = "") -> str:
    """Write ``12345`` as ``12,345``, with its noun: ``count(1, "case")`` is ``1 case``."""
    noun = singular if number == 1 else plural or f"{singular}s"
    return f"{number:,} {noun}" if singular else f"{number:,}"


def duration(seconds: float) -> str:
    """Return a wall time in the unit that suits it."""
    if seconds < 0.000_5:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 0.01:
        return f"{seconds * 1e3:.1f} ms"
    if seconds < 0.999_5:
        return f"{seconds * 1e3:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


def percent(share: float) -> str:
    """Return a share of 0 to 1 as a percentage. A share that is not quite all or nothing is never rounded to 100 % or 0 %."""
    if 0 < share < 0.001:
        return "< 0.1 %"
    if 0.999 < share < 1:
        return "> 99.9 %"
    return f"{share * 100:.1f} %"


def rate(per_second: float) -> str:
    """Return the cases per second."""
    return f"{per_second:,.0f} cases/s" if per_second >= 10 else f"{per_second:.2f} cases/s"
