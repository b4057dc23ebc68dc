"""Waits for what a spawner tells of a process."""

from __future__ import annotations

import select

from cts.devices.spawner import Spawned


def number_of(process: Spawned) -> int:
    """Return the number of a process, once it has begun."""
    while process._pid is None:
        _wait(process)
    return process._pid


def wait_for_end(process: Spawned) -> int | None:
    """Return the exit status of a process, once it has ended."""
    while not process.has_ended:
        _wait(process)
    return process.returncode


def _wait(process: Spawned) -> None:
    assert select.select([process.descriptor], [], [], 60)[0], "the spawner tells nothing"
    process.read()
