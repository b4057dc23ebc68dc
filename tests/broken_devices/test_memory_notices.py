"""Devices on which a matrix load returns stale contents of memory: one that loads each place only once, and others with stale caches."""

from __future__ import annotations

import numpy as np
import pytest

from cts.embedded.faults import Faults
from cts.embedded.instructions.matrices.load_store import element_offsets
from cts.embedded.memory.memory import Memory
from generators.spirv.enumerants import MemoryAccess, MemorySemantics, Op
from tests.broken_devices.smoke import fails, noticed, prepared, smoke_cases, wrong

TODAY = ("llvmpipe", "nvidia-h200")
_CACHE_LINE = 64


def number(value):
    return int(np.asarray(value).ravel()[0])


def place_of(machine, pointer):
    """Return the memory that the first invocation's pointer points into, and the byte there."""
    memory = pointer.resolve(machine).memory
    at = number(pointer.address) - memory.base if hasattr(pointer, "address") else number(pointer.offset)
    return memory, at


def loading_once(*forgetting: Op) -> Faults:
    """Return a fault that makes a load repeat the result of the first load of the same type from the same place, unless one of
    ``forgetting`` was executed between them."""
    known, owners = {}, set()

    def first_again(right):
        def handler(translation, words):
            run, values, machine = right(translation, words), translation.values, translation.machine
            result, layout = words[1], translation.constant(words[3])

            def again():
                if result in owners:
                    known.clear()
                    owners.clear()
                memory, at = place_of(machine, values[words[2]])
                key = memory.name, at, layout, words[0], number(values[words[4]])
                if key not in known:
                    known[key] = run()
                    owners.add(result)
                return known[key]

            return again

        return handler

    def forgets(right):
        def handler(translation, words):
            run = right(translation, words)

            def both():
                known.clear()
                return run()

            return both

        return handler

    return Faults({Op.CooperativeMatrixLoadKHR: first_again} | dict.fromkeys(forgetting, forgets))


@pytest.mark.parametrize("profile", TODAY)
@pytest.mark.parametrize("form", ["reload", "reload_other", "reload_plain"])
def test_a_second_load_of_one_place_that_reuses_the_first(profile, form):
    assert noticed("memory", wrong(profile, loading_once()), form=form)


@pytest.mark.parametrize("profile", TODAY)
def test_a_second_load_that_only_a_matrix_store_makes_new(profile):
    assert noticed("memory", wrong(profile, loading_once(Op.CooperativeMatrixStoreKHR)), form="reload_plain")


def cached_by(caches) -> Faults:
    """Return faults that make matrix loads, matrix stores and barriers go through ``caches``."""

    def clearing(right):
        def handler(translation, words):
            run = right(translation, words)
            visible = bool(translation.constant(words[-1]) & MemorySemantics.MakeVisible)

            def barrier():
                if visible:
                    caches.clear()
                return run()

            return barrier

        return handler

    barriers = dict.fromkeys((Op.ControlBarrier, Op.MemoryBarrier), clearing)
    return Faults({Op.CooperativeMatrixLoadKHR: caches.load, Op.CooperativeMatrixStoreKHR: caches.store} | barriers)


class Caches:
    """Two processors run workgroups in turn. Each reads matrices in storage buffers through its own cache of whole lines.

    Args:
        dropped: whether memory operands and barriers have no effect.
    """

    def __init__(self, dropped: bool) -> None:
        self.dropped = dropped
        self.caches: tuple[dict[tuple[str, int], np.ndarray], ...] = ({}, {})
        self.workgroup = -1

    @property
    def lines(self) -> dict[tuple[str, int], np.ndarray]:
        return self.caches[self.workgroup % 2]

    def clear(self) -> None:
        if not self.dropped:
            self.lines.clear()

    def begin(self, machine) -> None:
        before, self.workgroup = self.workgroup, machine.workgroup[0]
        if self.workgroup < before:
            for cache in self.caches:
                cache.clear()

    def load(self, right):
        def handler(translation, words):
            run, machine, values = right(translation, words), translation.machine, translation.values
            matrix, row_major = translation.types[words[0]], translation.constant(words[3]) == 0
            visible = len(words) > 5 and bool(words[5] & MemoryAccess.MakePointerVisible)

            def cached():
                self.begin(machine)
                memory, at = place_of(machine, values[words[2]])
                if visible:
                    self.clear()
                stride = number(values[words[4]]) * matrix.number.bytes
                offsets = at + element_offsets(matrix.rows, matrix.columns, row_major, stride, matrix.number.bytes)
                now = memory.data.copy()
                for line in np.unique(offsets // _CACHE_LINE):
                    part = slice(line * _CACHE_LINE, (line + 1) * _CACHE_LINE)
                    memory.data[part] = self.lines.setdefault((memory.name, int(line)), now[part].copy())
                result = run()
                memory.data[:] = now
                return result

            return cached

        return handler

    def store(self, right):
        def handler(translation, words):
            run, machine, values = right(translation, words), translation.machine, translation.values

            def through():
                self.begin(machine)
                memory, _ = place_of(machine, values[words[0]])
                before = memory.data.copy()
                run()
                for (name, line), held in self.lines.items():
                    if name == memory.name:
                        part = slice(line * _CACHE_LINE, (line + 1) * _CACHE_LINE)
                        np.copyto(held, memory.data[part], where=memory.data[part] != before[part])

            return through

        return handler


@pytest.mark.parametrize("profile", TODAY)
def test_interleaved_matrices_show_visibility_that_is_dropped(profile):
    labels = {"form": "interleaved", "storage": "storage_buffer"}
    assert not noticed("memory", wrong(profile, cached_by(Caches(dropped=False))), **labels)
    assert noticed("memory", wrong(profile, cached_by(Caches(dropped=True))), **labels)


class SubgroupCaches:
    """Each subgroup reads matrices through its own cache of whole lines, and writes through it to memory.

    Args:
        dropped: whether memory operands and barriers have no effect.
    """

    def __init__(self, dropped: bool) -> None:
        self.dropped = dropped
        self.caches: dict[int, dict[tuple[Memory, int], np.ndarray]] = {}
        self.workgroup = (0, 0, 0)

    def clear(self) -> None:
        if not self.dropped:
            self.caches.clear()

    def places(self, translation, matrix, pointer, layout, stride):
        """Return the accessed memory, and for each subgroup the position of each element in it, in bytes."""
        machine, values = translation.machine, translation.values
        if machine.workgroup != self.workgroup:
            # Workgroups run one after another, each on idle processors.
            self.workgroup = machine.workgroup
            self.caches.clear()
        found = values[pointer]
        memory = found.resolve(machine).memory
        place = found.address - memory.base if hasattr(found, "address") else found.offset
        at = machine.uniform(place, matrix.scope, "the pointer")
        size = matrix.number.bytes
        offsets = element_offsets(matrix.rows, matrix.columns, translation.constant(layout) == 0, number(values[stride]) * size, size)
        starts = np.broadcast_to(at, machine.instances(matrix.scope)).tolist()
        active = machine.active_instances(matrix.scope)
        return memory, {i: start + offsets for i, start in enumerate(starts) if active is None or i in active}

    def load(self, right):
        def handler(translation, words):
            run, matrix = right(translation, words), translation.types[words[0]]
            visible = len(words) > 5 and bool(words[5] & MemoryAccess.MakePointerVisible)

            def cached():
                memory, places = self.places(translation, matrix, *words[2:5])
                result = run().copy()
                if visible:
                    self.clear()
                for subgroup, offsets in places.items():
                    held, seen = self.caches.setdefault(subgroup, {}), memory.data.copy()
                    for line in np.unique(offsets // _CACHE_LINE).tolist():
                        part = slice(line * _CACHE_LINE, (line + 1) * _CACHE_LINE)
                        seen[part] = held.setdefault((memory, line), memory.data[part].copy())
                    bytes_ = seen[offsets[..., None] + np.arange(matrix.number.bytes)]
                    result[subgroup] = np.ascontiguousarray(bytes_).view(matrix.number.dtype)[..., 0]
                return result

            return cached

        return handler

    def store(self, right):
        def handler(translation, words):
            run, matrix = right(translation, words), translation.type_of[words[1]]

            def through():
                memory, places = self.places(translation, matrix, words[0], *words[2:4])
                run()
                for subgroup, offsets in places.items():
                    for byte in np.unique(offsets[..., None] + np.arange(matrix.number.bytes)).tolist():
                        held = self.caches.get(subgroup, {}).get((memory, byte // _CACHE_LINE))
                        if held is not None:
                            held[byte % _CACHE_LINE] = memory.data[byte]

            return through

        return handler


@pytest.mark.parametrize("profile", TODAY)
@pytest.mark.parametrize("form", ["relay", "reload_other"])
def test_caches_of_subgroups_that_stay_old(profile, form):
    several = [case.id for case in smoke_cases("memory") if case.named["form"] == form and case.named["subgroups"] != "1"]
    right = wrong(profile, cached_by(SubgroupCaches(dropped=False)))
    supported = [case_id for case_id in several if not right.missing(prepared(case_id)[0])]
    assert supported
    for case_id in supported:
        assert not fails(case_id, right)
        assert fails(case_id, wrong(profile, cached_by(SubgroupCaches(dropped=True)))), case_id
