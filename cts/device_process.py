"""The process from which the processes that hold devices are forked: ``python -m cts.device_process FD`` serves the socket FD."""

from __future__ import annotations

import socket
import sys
from contextlib import suppress
from functools import partial

from cts.devices.forking import fork_children
from cts.devices.isolation_child import answer_requests
from cts.engine.memory import keep_memory
from cts.opening import open_device


def serve(control: socket.socket) -> None:
    """Load what devices need, and fork the processes that hold them; see cts.devices.forking."""
    keep_memory()
    with suppress(Exception):
        # Without a Vulkan loader this fails. Then opening a Vulkan device fails, too, and reports it.
        import cts.devices.vulkan.device
        import cts.devices.vulkan.supplement_types  # noqa: F401
    fork_children(control, partial(answer_requests, open_device))


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
