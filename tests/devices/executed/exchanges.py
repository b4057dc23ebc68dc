"""Finds the barriers and the cache scopes that a dispatch needs: by what its waves load and store, in whatever order they run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from cts.devices.executed import program
from cts.devices.executed.caches import Cache, Uncached
from cts.devices.executed.encoding.decoder import Instruction
from cts.devices.executed.instructions import transfers
from cts.devices.executed.instructions.control import Ending, Ends, Signal
from cts.devices.executed.wave import Wave

Bytes = defaultdict[int, set[int]]
"""Places of bytes by the identity of the array that has them."""


def _no_bytes() -> Bytes:
    return defaultdict(set)


class Exchanges:
    """Notes the loads and stores of each wave between its barriers.

    A barrier is needed if a wave accesses before it what another one accesses after it, until the next barrier, and one of both stores. The
    scope of a load is needed if it loads what a wave with another cache has stored before. Both are properties of the code: the values, and
    what the model's caches have, say nothing here.

    Attributes:
        scopes: the words of the loads that need their scope.
    """

    def __init__(self) -> None:
        self._wave: Wave | None = None
        self._words: tuple[int, ...] = ()
        self._accesses: dict[tuple[int, int, int], tuple[Bytes, Bytes]] = defaultdict(lambda: (_no_bytes(), _no_bytes()))
        self._barriers: dict[tuple[int, int], int] = {}
        self._stored: dict[int, dict[int, int]] = defaultdict(dict)
        self._kept: list[Wave] = []
        self.scopes: set[tuple[int, ...]] = set()

    def install(self) -> None:
        """Hear of all accesses from now on."""
        prepared, loaded, endings = program._prepared, transfers.loaded, program.ENDINGS
        writes = {kind: kind.write for kind in (Uncached, Cache)}

        def prepare(words: tuple[int, ...], generation: str) -> Callable[[Wave], None] | None:
            inner = prepared(words, generation)

            def step(wave: Wave) -> None:
                self._wave, self._words = wave, words
                if inner is not None:
                    inner(wave)

            return inner and step

        def load(wave: Wave, parts: Iterable[Any], size: int, *further: Any) -> np.ndarray:
            parts = list(parts)
            for part in parts:
                self._note(part.data, part.places, size, stores=False)
            return loaded(wave, parts, size, *further)

        def ending(name: str) -> Ends:
            def ends(instruction: Instruction, following: int) -> Ending:
                inner = endings[name](instruction, following)

                def end(wave: Wave) -> Signal | None:
                    self._barriers[id(wave.group), int(min(wave.signaled, wave.group.opened))] = following - 4
                    return inner(wave)

                return end

            return ends

        def writing(kind: type[Uncached]) -> Callable[..., np.ndarray]:
            def write(cache: Uncached, data: np.ndarray, places: np.ndarray, size: int) -> np.ndarray:
                self._note(data, places, size, stores=True)
                return writes[kind](cache, data, places, size)

            return write

        barriers = {name: ending(name) for name in ("s_barrier", "s_barrier_wait")}
        changes = ((program, "_prepared", prepare), (transfers, "loaded", load), (program, "ENDINGS", {**endings, **barriers}))
        for module, name, value in changes:
            setattr(module, name, value)
        for kind in writes:
            kind.write = writing(kind)  # type: ignore[method-assign]

    def begin(self) -> None:
        """Begin a dispatch."""
        for notes in (self._accesses, self._barriers, self._stored, self._kept):
            notes.clear()

    def barriers(self) -> set[int]:
        """Return the addresses of the barriers that the dispatch needed, those of the instructions that wait."""
        needed = set()
        for (group, phase, wave), (loads, stores) in self._accesses.items():
            for (other_group, later, other), (other_loads, other_stores) in self._accesses.items():
                if (other_group, later) == (group, phase + 1) and other != wave:
                    pairs = ((stores, other_loads), (stores, other_stores), (loads, other_stores))
                    if any(first[data] & second[data] for first, second in pairs for data in list(first)):
                        needed.add(self._barriers[group, phase])
        return needed

    def _note(self, data: np.ndarray, places: np.ndarray, size: int, stores: bool) -> None:
        wave = self._wave
        assert wave is not None
        # Identities stay those of one object while it is kept.
        self._kept.append(wave)
        places_ = (places[:, np.newaxis] + np.arange(size)).ravel().tolist()
        self._accesses[id(wave.group), wave.group.opened, id(wave)][stores][id(data)].update(places_)
        stored, own = self._stored[id(data)], id(wave.cache)
        if stores:
            stored.update(dict.fromkeys(places_, own))
        elif any(stored.get(place, own) != own for place in places_):
            self.scopes.add(self._words)
