"""Devices that confuse the pipelines of one module: those that a submission runs in turn, and those with other pipeline layouts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cts.devices.vulkan.commands import descriptors_of
from cts.verdict.verdict import Verdict
from generators.casebook import expand
from generators.kernel import BufferSlot, Dispatch, Kernel, Outcome
from tests.broken_devices.doubles import Broken, verdict_on
from tests.suite import casebook


class Confused(Broken):
    """A device whose dispatches use the constants of the first pipeline, or those of the one before."""

    def __init__(self, first: bool) -> None:
        super().__init__()
        self.first = first

    def run(self, kernel, dispatches):
        if self.first:
            return super().run(replace(kernel, others=tuple(kernel for _ in kernel.others)), dispatches)
        before = [dispatches[0].pipeline, *(one.pipeline for one in dispatches[:-1])]
        return super().run(kernel, [replace(one, pipeline=last) for one, last in zip(dispatches, before, strict=True)])


def _found(kernel: Kernel) -> dict[int, int]:
    """Return the buffer that code finds in place of each buffer in a set of the kernel's layout, if it is compiled for a layout without
    spare descriptors."""
    places = sorted(descriptors_of(kernel.buffers, kernel.spare_descriptors), key=lambda one: (one[0].binding, one[1]))
    order = sorted(range(len(kernel.buffers)), key=lambda place: (kernel.buffers[place].binding, kernel.buffers[place].element))
    return {place: found for place, (_, _, found) in zip(order, places, strict=False)}


def _read_elsewhere(kernel: Kernel, dispatch: Dispatch) -> Dispatch:
    kernel = kernel.all[dispatch.pipeline]
    found = _found(kernel)
    contents = [np.resize(dispatch.contents[found[place]], slot.bytes) for place, slot in enumerate(kernel.buffers)]
    return replace(dispatch, contents=tuple(contents))


def _written_elsewhere(kernel: Kernel, dispatch: Dispatch, outcome: Outcome) -> Outcome:
    kernel = kernel.all[dispatch.pipeline]
    buffers, found = kernel.buffers, _found(kernel)
    outputs = {slot.name: contents.copy() for slot, contents in zip(buffers, dispatch.contents, strict=True) if slot.written}
    for place, slot in enumerate(buffers):
        if slot.written and (name := buffers[found[place]].name) in outputs:
            common = min(slot.bytes, outputs[name].size)
            outputs[name][:common] = outcome.outputs[slot.name][:common]
    return replace(outcome, outputs=outputs)


def _smoke(family: str, label: str) -> list[str]:
    found = [case.id for case in expand(casebook().family(family), "smoke") if f"/{label}" in case.id]
    assert found
    return found


@pytest.mark.parametrize("first", [True, False], ids=["of_the_first", "of_the_one_before"])
def test_constants_of_another_pipeline_of_the_submission_show(first):
    for id_ in _smoke("specialization", "submission:in_turn"):
        assert verdict_on(id_, Broken()) is Verdict.PASS
        assert verdict_on(id_, Confused(first)) is not Verdict.PASS, id_


def test_descriptors_at_the_places_of_another_layout_show():
    for id_ in _smoke("descriptor_arrays", "layouts:"):
        assert verdict_on(id_, Broken()) is Verdict.PASS
        assert verdict_on(id_, Broken(contents=_read_elsewhere, outcome=_written_elsewhere)) is Verdict.FAIL, id_


def test_spare_descriptors_follow_those_of_their_binding_and_have_other_buffers():
    slots = [BufferSlot(name, 64, name == "c", binding=number) for number, name in enumerate("abc")]
    found = [(slot.name, element, slots[place].name) for slot, element, place in descriptors_of(slots, 1)]
    assert found == [("a", 0, "a"), ("b", 0, "b"), ("c", 0, "c"), ("a", 1, "c"), ("b", 1, "a"), ("c", 1, "b")]
