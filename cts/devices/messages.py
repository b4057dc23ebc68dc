"""Messages between a process and its child: numbered pickles over a socket, bounded in length, and checked before they are believed.

A driver shares the child's descriptors: it may write to the socket, or read what was meant for the child.
"""

from __future__ import annotations

import pickle
import socket
import struct
import zlib
from typing import Any

BEGIN = "begin"
"""The child's message after it has read a request, before it acts on it: an earlier death has another cause."""

DOING = "doing"
"""The child's messages between BEGIN and its answer, with the step that begins, or None if one is over."""

ANSWER = "answer"
"""The child's last message, with the requested value."""

FAILURE = "failure"
"""The child's last message instead of ANSWER: name of the exception, message, step, and whether the device is unusable."""

LONGEST = 1 << 30
"""Bytes of a message. Longer ones are refused on both sides."""

_MAGIC = b"cts\x91"
_FIELDS = struct.Struct("<4sIQI")
"""Magic, number, length and checksum of the payload."""
_CHECK = struct.Struct("<I")
_HEADER_BYTES = _FIELDS.size + _CHECK.size
_CHUNK = 1 << 18


class Disconnected(Exception):
    """The other side is gone."""


class NotAMessage(Exception):
    """The received bytes are not a message; says why."""


class TooLong(Exception):
    """A message of more than LONGEST bytes is to be sent; says how many."""


def frame(number: int, message: object) -> bytes:
    """Return the bytes of a message.

    Args:
        number: of the request that the message is, or belongs to.
        message: what pickle can hold.

    Raises:
        TooLong: the other side would refuse it.
    """
    payload = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    if len(payload) > LONGEST:
        raise TooLong(f"{len(payload):,} bytes, where {LONGEST:,} are the most")
    fields = _FIELDS.pack(_MAGIC, number, len(payload), zlib.crc32(payload))
    return fields + _CHECK.pack(zlib.crc32(fields)) + payload


class Decoder:
    """Takes bytes as they arrive, and gives the messages in them. Holds only the received bytes."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, data: bytes) -> None:
        """Add received bytes."""
        self._bytes += data

    def next(self) -> tuple[int, Any] | None:
        """Return number and contents of the next message, or None while it is not there as a whole.

        Raises:
            NotAMessage: the bytes are none.
        """
        start = bytes(self._bytes[: len(_MAGIC)])
        if start != _MAGIC[: len(start)]:
            raise NotAMessage(f"it begins with {bytes(self._bytes[:16])!r}")
        if len(self._bytes) < _HEADER_BYTES:
            return None
        fields = bytes(self._bytes[: _FIELDS.size])
        _, number, length, checksum = _FIELDS.unpack(fields)
        if _CHECK.unpack_from(self._bytes, _FIELDS.size) != (zlib.crc32(fields),):
            raise NotAMessage("its header does not have the checksum that it states")
        if length > LONGEST:
            raise NotAMessage(f"it states {length:,} bytes, where {LONGEST:,} are the most")
        end = _HEADER_BYTES + length
        if len(self._bytes) < end:
            return None
        with memoryview(self._bytes) as view, view[_HEADER_BYTES:end] as payload:
            if zlib.crc32(payload) != checksum:
                raise NotAMessage("its contents do not have the checksum that it states")
            message = _unpickled(payload)
        del self._bytes[:end]
        return number, message


def _unpickled(payload: memoryview) -> Any:
    try:
        return pickle.loads(payload)
    except MemoryError:
        raise
    except Exception as error:
        raise NotAMessage(f"its contents cannot be read: {type(error).__name__}: {error}") from error


def send(channel: socket.socket, number: int, message: object) -> None:
    """Send a message, however long that takes.

    Raises:
        Disconnected: nobody takes it.
        TooLong: nobody would.
    """
    data = frame(number, message)
    try:
        channel.sendall(data)
    except OSError as error:
        raise Disconnected(str(error)) from None


def receive(channel: socket.socket, decoder: Decoder) -> tuple[int, Any]:
    """Return number and contents of the next message, however long it takes to come.

    Raises:
        Disconnected: there is none.
        NotAMessage: something else came.
    """
    while (found := decoder.next()) is None:
        try:
            data = channel.recv(_CHUNK)
        except OSError as error:
            raise Disconnected(str(error)) from None
        if not data:
            raise Disconnected("end of file")
        decoder.feed(data)
    return found
