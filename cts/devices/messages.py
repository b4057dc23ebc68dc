"""Messages between a process and its child: a pickle behind its length, over a socket, each way bounded in time."""

from __future__ import annotations

import pickle
import socket
import struct
import time
from typing import Any

BEGIN = "begin"
"""What the child sends when it has read a request, before it does anything for it: a child that dies earlier died of something else."""

DOING = "doing"
"""The first part of what the child sends, once or more, between BEGIN and its answer; the second part is what it does now."""

_LENGTH = struct.Struct("<Q")


class Disconnected(Exception):
    """The other side is gone."""


class Late(Exception):
    """The other side did not answer, or did not listen, in time."""


class Deadline:
    """A moment that is ``seconds`` away; None is never."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds

    def remaining(self) -> float | None:
        """Seconds left.

        Raises:
            Late: none.
        """
        if self._end is None:
            return None
        left = self._end - time.monotonic()
        if left <= 0:
            raise Late
        return left


def send(channel: socket.socket, message: object, deadline: Deadline) -> None:
    """Sends a message.

    Raises:
        Disconnected, Late: it was not taken.
    """
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    try:
        channel.settimeout(deadline.remaining())
        channel.sendall(_LENGTH.pack(len(data)) + data)
    except TimeoutError:
        raise Late from None
    except OSError:
        raise Disconnected from None


def receive(channel: socket.socket, deadline: Deadline) -> Any:
    """The next message.

    Raises:
        Disconnected, Late: there is none.
    """
    (length,) = _LENGTH.unpack(_receive_bytes(channel, _LENGTH.size, deadline))
    return pickle.loads(_receive_bytes(channel, length, deadline))


def _receive_bytes(channel: socket.socket, count: int, deadline: Deadline) -> bytearray:
    data = bytearray(count)
    view, position = memoryview(data), 0
    while position < count:
        try:
            channel.settimeout(deadline.remaining())
            received = channel.recv_into(view[position:])
        except TimeoutError:
            raise Late from None
        except OSError:
            raise Disconnected from None
        if not received:
            raise Disconnected
        position += received
    return data
