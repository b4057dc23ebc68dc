"""The program that pytest-xdist starts as a worker: a fork server makes the worker, on the input and output of this program.

``python -I -S fork_client.py NAME ARGUMENT …`` asks the server that listens at the abstract address NAME, and ends when the worker ends. If
there is no server, it becomes ``python ARGUMENT …``. pytest-xdist starts its workers one after another, so this program imports only what
is in the interpreter: the modules ``socket``, ``signal`` and ``contextlib`` take as long as the rest of its start.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _socket
import os
import struct
import sys

STREAMS = (0, 1, 2)
"""The descriptors that a worker takes over."""


def is_own(connection: _socket.socket) -> bool:
    """Tell whether the other end belongs to the user of this process: every user of the machine may connect to an abstract address."""
    _, user, _ = struct.unpack("3i", connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, struct.calcsize("3i")))
    return bool(user == os.getuid())


def _has_worker(name: str, connection: _socket.socket) -> bool:
    """Ask the server for a worker, and tell whether it made one."""
    try:
        connection.connect(f"\0{name}")
        if is_own(connection):
            connection.sendmsg([b"fork"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, struct.pack("3i", *STREAMS))])
            return _heard(connection)
    except OSError:
        pass
    return False


def _heard(connection: _socket.socket) -> bool:
    """Wait until the server has said something, or has gone."""
    try:
        return bool(connection.recv(1))
    except OSError:
        return False


def main() -> None:
    """Run the program."""
    name, arguments = sys.argv[1], sys.argv[2:]
    # These signals go to all processes of a job. The worker decides what they do.
    handlers = {number: _signal.signal(number, _signal.SIG_IGN) for number in (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP)}
    connection = _socket.socket(_socket.AF_UNIX)
    if not _has_worker(name, connection):
        connection.close()
        for number, handler in handlers.items():
            _signal.signal(number, handler)
        os.execv(sys.executable, [sys.executable, *arguments])
    null = os.open(os.devnull, os.O_RDWR)
    for stream in STREAMS:
        os.dup2(null, stream)
    _heard(connection)


if __name__ == "__main__":
    main()
