"""An executed chip that also tells how its machine code made an element."""

from __future__ import annotations

from dataclasses import replace

from cts.devices.executed.device import ExecutedDevice
from cts.devices.machine_walk.recorder import Recorder
from cts.devices.machine_walk.walk import walk
from cts.devices.vulkan.guarded import lay_out
from cts.verdict.machine import ElementPlace, MachineWalk
from generators.kernel import Dispatch, Kernel


class WalkedDevice(ExecutedDevice):
    """See cts.devices.device.WalksBack."""

    def walk(self, kernel: Kernel, dispatch: Dispatch, place: ElementPlace, number: int = 0) -> MachineWalk | None:
        """Run a dispatch once more, and return the way back from an element; None if its array is not memory that all code sees.

        Raises:
            DeviceFailure: see ``run``.
        """
        names = [slot.name for slot in kernel.buffers]
        if place.array not in names or any(slot.opaque is not None or slot.windows is not None for slot in kernel.buffers):
            return None
        recorder = Recorder(self._gpu.generation)
        self._gpu.watch, self._before = recorder.watch, number
        try:
            self.run(replace(kernel, rounds=1), [dispatch])
        finally:
            self._gpu.watch, self._before = None, 0
        begin, offsets = self._gpu.host(self._arena.address), lay_out(kernel.buffers).offsets

        def named(host: int) -> str:
            for slot, offset in zip(kernel.buffers, offsets, strict=True):
                if 0 <= host - begin - offset < slot.bytes:
                    return f"byte {host - begin - offset} of {slot.name}"
            return "memory of no array"

        element = begin + offsets[names.index(place.array)] + place.offset
        return walk(list(recorder.events), element, place.size, self._gpu.generation, named)
