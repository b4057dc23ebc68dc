"""The program that pytest-xdist starts as a worker: a fork server makes the worker, on the input and output of this program.

``python -I -S fork_client.py NAME ARGUMENT …`` asks the server that listens at the abstract address NAME, and ends when the worker ends. If
there is no server, it becomes ``python ARGUMENT …``. It needs only the standard library, so it starts at once.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import sys
from contextlib import suppress

STREAMS = (0, 1, 2)
"""The descriptors that a worker takes over."""


def is_own(connection: socket.socket) -> bool:
    """Tell whether the other end belongs to the user of this process: every user of the machine may connect to an abstract address."""
    _, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    return bool(user == os.getuid())


def _has_worker(name: str, connection: socket.socket) -> bool:
    """Ask the server for a worker, and tell whether it made one."""
    with suppress(OSError):
        connection.connect(f"\0{name}")
        if is_own(connection):
            socket.send_fds(connection, [b"fork"], STREAMS)
            return bool(connection.recv(1))
    return False


def main() -> None:
    """Run the program."""
    name, arguments = sys.argv[1], sys.argv[2:]
    # These signals go to all processes of a job. The worker decides what they do.
    handlers = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    with socket.socket(socket.AF_UNIX) as connection:
        if not _has_worker(name, connection):
            for number, handler in handlers.items():
                signal.signal(number, handler)
            os.execv(sys.executable, [sys.executable, *arguments])
        null = os.open(os.devnull, os.O_RDWR)
        for stream in STREAMS:
            os.dup2(null, stream)
        with suppress(OSError):
            connection.recv(1)


if __name__ == "__main__":
    main()
