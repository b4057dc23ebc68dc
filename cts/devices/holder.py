"""Holds the device or validator with which a process judges cases. Opens it on first use, and again after it was lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass

from cts.devices.background import in_background
from cts.devices.device import DeviceError, DeviceUnavailable, Finding, Judge
from generators.casebook import CaseKind

LONGEST_PAUSE = 3600.0
"""The longest pause in seconds."""


@dataclass(frozen=True)
class Retries:
    """How often to try to open a device, and how long to wait.

    Attributes:
        attempts: the number of attempts, at least one.
        pause: seconds before the second attempt. Each further pause is twice as long, up to LONGEST_PAUSE.
        seconds: how long one attempt to open the device may take.
    """

    attempts: int = 4
    pause: float = 1.0
    seconds: float = 60.0

    def pauses(self) -> list[float]:
        """Return the seconds to wait before each attempt, 0 before the first."""
        longest = max(self.pause, LONGEST_PAUSE)
        return [0.0, *(min(self.pause * 2.0**number, longest) for number in range(self.attempts - 1))]

    def begin(self, sleep: Callable[[float], None]) -> Iterator[None]:
        """Yield once for each attempt, after the pause before it."""
        for pause in self.pauses():
            if pause:
                sleep(pause)
            yield


ONCE = Retries(attempts=1)


class DeviceHolder:
    """A device or validator that is opened on first use, and again after it was lost.

    Args:
        open_device: opens the device, outside of any case.
        retries: how often to try to open it.
        sleep: waits for a number of seconds.
        findings: the list that findings are added to; a new one by default.

    Attributes:
        findings: problems that occurred while no case was judged, for example while the device was closed.
        judges: kinds of cases that the device is known to judge, whichever one is open. To ask a device takes long before Python 3.12.
    """

    def __init__(
        self,
        open_device: Callable[[], Judge],
        retries: Retries = ONCE,
        sleep: Callable[[float], None] = time.sleep,
        findings: list[Finding] | None = None,
    ) -> None:
        self._open = open_device
        self._retries = retries
        self._sleep = sleep
        self._device: Judge | None = None
        self._begun: Future[Judge] | None = None
        self.findings = [] if findings is None else findings
        self.judges: set[CaseKind] = set()

    @property
    def device(self) -> Judge:
        """The open device.

        Raises:
            DeviceUnavailable: no attempt to open it succeeded.
        """
        if self._device is None:
            begun, self._begun = self._begun, None
            self._device = self._opened() if begun is None else begun.result()
        return self._device

    def begin(self) -> None:
        """Begin to open the next device in a separate thread: the first one, or the one after a device that is about to be lost.

        The first caller that needs it waits for it and gets its errors.
        """
        if self._begun is None:
            self._begun = in_background(self._opened, "opens the device")

    def _opened(self) -> Judge:
        last: DeviceError | None = None
        for _ in self._retries.begin(self._sleep):
            try:
                return self._open()
            except DeviceUnavailable:
                # Another attempt would not help, or would hide the problem.
                raise
            except DeviceError as error:
                last = error
        times = self._retries.attempts
        what, line_end, last_words = str(last).partition("\n")
        tried = f" (tried {times} times)" if times > 1 else ""
        raise DeviceUnavailable(what + tried + line_end + last_words, attempts=times) from last

    def discard(self) -> None:
        """Close the device, whatever its state, and ignore errors. The next use gets a fresh one; one that was begun is fresh."""
        device, self._device = self._device, None
        if device is not None:
            # A lost device may fail to close in any way. The next one does not depend on it.
            with suppress(Exception):
                self._close(device)

    def close(self) -> None:
        """Close the device if it is open, and the one that was begun."""
        device, self._device = self._device, None
        begun, self._begun = self._begun, None
        try:
            if device is not None:
                self._close(device)
        finally:
            if begun is not None:
                # The device was never used, so a failure to open it does not matter.
                with suppress(DeviceError):
                    self._close(begun.result())

    def _close(self, device: Judge) -> None:
        self.findings += device.close()
