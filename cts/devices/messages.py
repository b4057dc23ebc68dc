"""Messages between a process and its child: numbered pickles over a socket, with a length limit and checksums.

A driver shares the child's descriptors: it may write to the socket, or read the messages to the child.
"""

from __future__ import annotations

import pickle
import socket
import struct
import zlib
from typing import Any

BEGIN = "begin"
"""The child's message when it has read a request, before it acts on it. A death before this message has another cause."""

DOING = "doing"
"""The child's messages between BEGIN and its answer, with the step that begins, or None if a step is over."""

ANSWER = "answer"
"""The child's last message, with the requested value."""

FAILURE = "failure"
"""The child's last message instead of ANSWER, with a cts.devices.failures.Report."""

LONGEST = 1 << 30
"""The most bytes in a message. Both sides refuse longer ones."""

_MAGIC = b"cts\x91"
_FIELDS = struct.Struct("<4sIQI")
"""Magic, number, length and checksum of the payload."""
_CHECK = struct.Struct("<I")
_HEADER_BYTES = _FIELDS.size + _CHECK.size
_CHUNK = 1 << 18


class Disconnected(Exception):
    """The other side is gone."""


class NotAMessage(Exception):
    """The received bytes are not a message; the text says why."""


class TooLong(Exception):
    """A message to be sent has more than LONGEST bytes; the text says how many."""


def frame(number: int, message: object) -> bytes:
    """Return the bytes of a message.

    Args:
        number: the number of the request that the message is or answers.
        message: anything that can be pickled.

    Raises:
        TooLong: the message has more than LONGEST bytes.
    """
    payload = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    if len(payload) > LONGEST:
        raise TooLong(f"{len(payload):,} bytes; the limit is {LONGEST:,}")
    fields = _FIELDS.pack(_MAGIC, number, len(payload), zlib.crc32(payload))
    return fields + _CHECK.pack(zlib.crc32(fields)) + payload


class Decoder:
    """Takes bytes as they arrive and returns the messages in them. Allocates only for received bytes, not for stated lengths."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, data: bytes) -> None:
        """Add received bytes."""
        self._bytes += data

    def next(self) -> tuple[int, Any] | None:
        """Return number and contents of the next message, or None while it is incomplete.

        Raises:
            NotAMessage: the bytes are not a message.
        """
        start = bytes(self._bytes[: len(_MAGIC)])
        if start != _MAGIC[: len(start)]:
            raise NotAMessage(f"it begins with {bytes(self._bytes[:16])!r}")
        if len(self._bytes) < _HEADER_BYTES:
            return None
        fields = bytes(self._bytes[: _FIELDS.size])
        _, number, length, checksum = _FIELDS.unpack(fields)
        if _CHECK.unpack_from(self._bytes, _FIELDS.size) != (zlib.crc32(fields),):
            raise NotAMessage("its header has a wrong checksum")
        if length > LONGEST:
            raise NotAMessage(f"it states {length:,} bytes; the limit is {LONGEST:,}")
        end = _HEADER_BYTES + length
        if len(self._bytes) < end:
            return None
        with memoryview(self._bytes) as view, view[_HEADER_BYTES:end] as payload:
            if zlib.crc32(payload) != checksum:
                raise NotAMessage("its contents have a wrong checksum")
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
        Disconnected: the other side is gone.
        TooLong: the message has more than LONGEST bytes.
    """
    data = frame(number, message)
    try:
        channel.sendall(data)
    except OSError as error:
        raise Disconnected(str(error)) from None


def receive(channel: socket.socket, decoder: Decoder) -> tuple[int, Any]:
    """Wait for the next message and return its number and contents.

    Raises:
        Disconnected: the other side is gone.
        NotAMessage: the received bytes are not a message.
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
