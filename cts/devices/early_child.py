"""A child process that a worker has before it knows which device to open.

If the machine has one Vulkan device, the child opens it while other processes still load the suite and ask the device for its description.
The first device that the worker opens is opened in this child. Its description is compared with the run's, as in any other opening.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Mapping
from functools import cache, partial

from cts.devices.child import ChildProcess
from cts.devices.spawner import Spawner, own_spawner

Early = tuple[ChildProcess, Spawner]
"""The child of a worker that does not exist yet, and the spawner for its other children."""


def start_early(number: int, serve: Callable[[socket.socket], None]) -> list[Early]:
    """Start the children of workers that this process will fork. Return in each of the new processes, too, by SystemExit.

    Args:
        number: the number of workers.
        serve: serves a spawner's socket; see cts.device_process.
    """
    spawners: list[Spawner] = []
    for _ in range(number):
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            ours.close()
            for spawner in spawners:
                spawner.close()
            serve(theirs)
            sys.exit()
        theirs.close()
        spawners.append(Spawner(ours, pid))
    return [(ChildProcess(start=partial(spawner.start, early=True)), spawner) for spawner in spawners]


def forget(early: Early) -> None:
    """Leave a child and its spawner to the worker."""
    child, spawner = early
    child.forget()
    spawner.close()


def adopt(early: Early) -> None:
    """Make a child and its spawner the ones of this process."""
    child, spawner = early
    _waiting().append(child)
    own_spawner().adopt(spawner)


def early_child(environment: Mapping[str, str]) -> ChildProcess | None:
    """Return the child that was started, once; None if there is none, or if the device's child needs variables of its own."""
    return _waiting().pop() if _waiting() and not environment else None


@cache
def _waiting() -> list[ChildProcess]:
    """Return the list of the child that waits: what the fork server starts, this process's run takes from here."""
    return []
