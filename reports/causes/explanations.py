"""Chooses the fewest explanations that explain every failure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence


def explained(candidates: Sequence[Collection[str]]) -> list[str]:
    """Return for each failure one of the ids that may explain it, using few ids in total; if several used ids fit, return the one that
    explains the most failures.

    An id that alone explains a failure is used. Next comes the id that explains the most remaining failures, and so on: the total exceeds
    the minimum by at most a logarithmic factor. Redundant ids are left out.

    Args:
        candidates: for each failure, the ids that may explain it: at least one.
    """
    of_all = Counter(id_ for ids in candidates for id_ in set(ids))
    chosen = {next(iter(ids)) for ids in candidates if len(set(ids)) == 1}
    left = [set(ids) for ids in candidates if chosen.isdisjoint(ids)]
    while left:
        counted = Counter(id_ for ids in left for id_ in ids)
        best = min(counted, key=lambda id_: (-counted[id_], -of_all[id_], id_))
        chosen.add(best)
        left = [ids for ids in left if best not in ids]
    for id_ in sorted(chosen, key=lambda id_: (of_all[id_], id_)):
        if all(not chosen.isdisjoint(set(ids) - {id_}) for ids in candidates if id_ in ids):
            chosen.remove(id_)
    return [min(chosen.intersection(ids), key=lambda id_: (-of_all[id_], id_)) for ids in candidates]
