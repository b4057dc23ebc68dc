"""A pytest plugin for runs that a test starts: they judge an embedded device that makes one or two mistakes.

The device overwrites C as lavapipe does. WORSE is the number of a kernel, counted from 1: the device also changes the first byte of that
kernel's output.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from cts import judges
from cts.devices.listing import Listed
from cts.devices.spec import DeviceSpec
from cts.engine import plan, session
from generators.kernel import Dispatch, Kernel, Outcome
from tests.broken_devices.doubles import Broken
from tests.broken_devices.test_broken_devices import OVERWRITING_C


class Night(Broken):
    def __init__(self) -> None:
        super().__init__(faults=OVERWRITING_C)
        self._kernels = 0

    def run(self, kernel: Kernel, dispatches: Sequence[Dispatch]) -> list[Outcome]:
        outcomes = super().run(kernel, dispatches)
        self._kernels += 1
        if self._kernels == int(os.environ.get("WORSE", "0")):
            next(iter(outcomes[0].outputs.values()))[0] ^= 1
        return outcomes


def choose(selector: str | None, seconds: float = 60.0, listed: Listed | None = None) -> judges.Choice:
    return judges.Choice(DeviceSpec("embedded", "universal"), Night().description, "the broken one")


plan.choose = choose  # type: ignore[attr-defined]
session.open_judge = lambda spec: Night()  # type: ignore[attr-defined]
