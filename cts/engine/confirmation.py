"""Judges failures again in a fresh process, because a case is blamed only for what it does there.

A driver that leaks, or that is damaged by an earlier case, fails innocent cases later in the same process. A fresh process costs about a
second, so several failures share one. They run in reverse order: then no case comes after the cases before which it first failed. A control
runs before the first of them and after each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from cts.engine.set_aside import SetAside, tried
from cts.journal.record import encode
from cts.verdict.verdict import CaseResult

BATCH = 16
"""How many failures share a fresh process."""


@dataclass(frozen=True)
class Bench:
    """A device on which failures are judged again.

    Attributes:
        renew: ends the process that holds the device; the next use begins another one.
        require: checks that the device works before or after the case with an id. Raises DeviceUnavailable if it does not, in any of
            several fresh processes.
        works: tells whether the device works after the case with an id, in the process that it has.
        judge: judges a case, without explaining a failure with the given code.
        alone: whether no other process has the device open.
        late: tells whether the time limit is over.
    """

    renew: Callable[[], None]
    require: Callable[[str], None]
    works: Callable[[str], bool]
    judge: Callable[[SetAside, str], CaseResult]
    alone: bool
    late: Callable[[], bool]


def confirmed(batch: Sequence[SetAside], bench: Bench) -> Iterator[tuple[SetAside, CaseResult | None]]:
    """Judge failures again, together in a fresh process. Yield each with its first result, if it failed with the same bits again.

    Yield it with None if it did not, or if the control failed after it: it must be judged by itself. After the time limit, judge nothing.

    Args:
        batch: failures, in the order in which they occurred; each has its result.

    Raises:
        DeviceUnavailable: a control fails in fresh processes, too.
    """
    fresh = False
    for aside in reversed(batch):
        if bench.late():
            yield aside, unconfirmed(aside)
            continue
        if not fresh:
            bench.renew()
            bench.require(aside.id)
        first = aside.result
        assert first is not None, "only results that are known can be confirmed"
        again = bench.judge(aside, first.code)
        fresh = is_same(first, again) and bench.works(aside.id)
        tries = (*first.tries, tried(first, alone=False), tried(again, bench.alone, fresh=True))
        yield aside, replace(first, tries=tries) if fresh else None


def unconfirmed(aside: SetAside) -> CaseResult:
    """Return the first result of a failure; its message says that no fresh process has repeated it."""
    first = aside.result
    assert first is not None, "only results that are known need to be confirmed"
    note = "not confirmed: the time limit was over before a fresh process repeated this failure"
    return replace(first, message=f"{first.message.rstrip()}\n{note}".lstrip(), tries=(*first.tries, tried(first, alone=False)))


def is_same(one: CaseResult, other: CaseResult) -> bool:
    """Tell whether two results have the same verdict and the same wrong bits, whatever explains them."""
    return _facts(one) == _facts(other)


def _facts(result: CaseResult) -> tuple[str, str, str, bytes]:
    failures = tuple(replace(failure, matches=(), tensor=None, machine=None, unreadable="") for failure in result.failures)
    # Encoded, because a result may come from a journal.
    bits = encode(CaseResult(id="a", family="a", verdict=result.verdict, failures=failures))
    return result.verdict, result.code, result.step, bits


def batches(asides: Sequence[SetAside], count: int = BATCH) -> Iterator[Sequence[SetAside]]:
    """Yield the failures in batches; each batch has one device, so one group."""
    for group in sorted({aside.group for aside in asides}):
        of_group = [aside for aside in asides if aside.group == group]
        for first in range(0, len(of_group), count):
            yield of_group[first : first + count]
