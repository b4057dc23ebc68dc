"""Differences between two fingerprints, and between a model and the results of a unit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

import numpy as np

from cts.fingerprint.inference import judge
from cts.fingerprint.page import share
from cts.fingerprint.record import Fingerprint, RowPrint

_NAMED = 5


def differences(before: Fingerprint, after: Fingerprint) -> Iterator[str]:
    """Yield what differs, a line each."""
    olds, news = ({one.measured.row: one for one in found.rows} for found in (before, after))
    for row in olds | news:
        if row in olds and row in news:
            yield from (f"{row}: {line}" for line in _of_row(olds[row], news[row]))
        else:
            yield f"{row}: only the {'first' if row in olds else 'second'} has it"


def _of_row(old: RowPrint, new: RowPrint) -> Iterator[str]:
    if old.measured.failure != new.measured.failure:
        yield f"{old.measured.failure or 'measured'}, then {new.measured.failure or 'measured'}"
        return
    if old.fit is not None and new.fit is not None:
        fields = tuple({} if fit.model is None else asdict(fit.model) for fit in (old.fit, new.fit))
        open_ = {*old.fit.undecided, *new.fit.undecided}
        for name in fields[0]:
            if name in fields[1] and name not in open_ and fields[0][name] != fields[1][name]:
                yield f"model: {name} {fields[0][name]}, then {fields[1][name]}"
        if (old.elements, old.measured.seed) == (new.elements, new.measured.seed) and old.fit.random != new.fit.random:
            yield f"random results predicted: {share(old.fit.random)}, then {share(new.fit.random)}"
    one, other = old.measured, new.measured
    if one.results.size and one.probes.names == other.probes.names and one.results.shape == other.results.shape:
        changed = np.flatnonzero(one.results != other.results)
        if changed.size:
            named = ", ".join(one.probes.names[i] for i in changed[:_NAMED])
            yield f"{changed.size} of {one.results.size} probes: {named}{', …' if changed.size > _NAMED else ''}"
    size = min(one.random.size, other.random.size) if one.seed == other.seed else 0
    count = int((one.random[:size] != other.random[:size]).sum())
    if count:
        yield f"{count:,} of {size:,} random results"


def unexpected(expected: Fingerprint, found: Fingerprint) -> Iterator[str]:
    """Yield the rows whose results a model predicts worse than those from which it was inferred, a line each."""
    measured = {one.measured.row: one.measured for one in found.rows}
    for one in expected.rows:
        row, fit = one.measured.row, one.fit
        if fit is None:
            continue
        if row not in measured or measured[row].failure:
            yield f"{row}: {measured[row].failure if row in measured else 'no such row any more'}"
            continue
        now = judge(fit.model, measured[row])
        for what, old, new in (("probes", fit.probes, now.probes), ("random results", fit.random, now.random)):
            if new < old:
                yield f"{row}: the model predicts {share(new)} of {what}, and predicted {share(old)}"
