"""Messages between a process and its child: numbered data over a socket, with a length limit and checksums.

A driver shares the child's descriptors: it may write to the socket, or read the messages to the child. It may even have taken over the
child. So messages are MessagePack, which holds only data, and their contents are decoded by the type that the reader expects.
"""

from __future__ import annotations

import os
import socket
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import msgspec
import numpy as np

BEGIN = "begin"
"""The child's message when it has read a request, before it acts on it. A death before this message has another cause."""

DOING = "doing"
"""The child's messages between BEGIN and its answer, with the step that begins, or None if a step is over."""

HEARD = "heard"
"""The child's messages between BEGIN and its answer, each with a message that the driver sent."""

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


class Unsendable(Exception):
    """A message cannot be sent; the text says why."""


class TooLong(Unsendable):
    """A message to be sent has more than LONGEST bytes; the text says how many."""


class Message(NamedTuple):
    """A received message.

    Attributes:
        number: the number of the request that it is or answers.
        kind: one of the words above, or the name of a request.
        contents: its contents, to be decoded with ``read``.
    """

    number: int
    kind: str
    contents: msgspec.Raw


def _as_data(value: object) -> object:
    """Return a value that msgspec does not know as one that it knows."""
    if isinstance(value, np.ndarray):
        if value.dtype != np.uint8 or value.ndim != 1:
            raise TypeError(f"an array of {value.ndim} dimensions of {value.dtype}: only bytes are sent")
        return np.ascontiguousarray(value).data
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.dtype):
        return value.name
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, PurePath):
        return os.fsencode(value)
    raise TypeError(f"{type(value).__name__} is not data")


def _from_data(kind: type, value: Any) -> object:
    """Undo _as_data."""
    if kind is np.ndarray and isinstance(value, bytes):
        # The receiver may write into it.
        return np.frombuffer(value, np.uint8).copy()
    if kind is np.dtype and isinstance(value, str):
        return np.dtype(value)
    if kind is Path and isinstance(value, bytes):
        return Path(os.fsdecode(value))
    raise TypeError(f"expected {kind.__name__}, got {type(value).__name__}")


_ENCODER = msgspec.msgpack.Encoder(enc_hook=_as_data)
_OUTER = msgspec.msgpack.Decoder(tuple[str, msgspec.Raw])


def decoder_of(kind: Any) -> msgspec.msgpack.Decoder[Any]:
    """Return a decoder of contents that have a type."""
    return msgspec.msgpack.Decoder(kind, dec_hook=_from_data)


def encoded(contents: object) -> bytes:
    """Return contents as bytes, which ``read`` decodes.

    Args:
        contents: data, frozen dataclasses, and arrays of bytes.

    Raises:
        Unsendable: they have something that is not data, or text that is not Unicode.
    """
    try:
        return _ENCODER.encode(contents)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise Unsendable(f"{type(error).__name__}: {error}") from error


def read(contents: bytes | memoryview | msgspec.Raw, decoder: msgspec.msgpack.Decoder[Any]) -> Any:
    """Return the decoded contents of a message.

    Raises:
        NotAMessage: they do not have the decoder's type.
    """
    try:
        return decoder.decode(contents)
    except MemoryError:
        raise
    except Exception as error:
        raise NotAMessage(f"its contents cannot be read: {type(error).__name__}: {error}") from error


def frame(number: int, message: tuple[str, object]) -> bytes:
    """Return the bytes of a message.

    Args:
        number: the number of the request that the message is or answers.
        message: its kind and its contents: data, frozen dataclasses, and arrays of bytes.

    Raises:
        TooLong: the message has more than LONGEST bytes.
        Unsendable: it has contents that are not data, or text that is not Unicode.
    """
    payload = encoded(message)
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

    def next(self) -> Message | None:
        """Return the next message, or None while it is incomplete.

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
        # The message keeps this buffer, so that its contents need no copy. Usually nothing comes after it.
        received, self._bytes = self._bytes, self._bytes[end:]
        payload = memoryview(received)[_HEADER_BYTES:end]
        if zlib.crc32(payload) != checksum:
            raise NotAMessage("its contents have a wrong checksum")
        return Message(number, *read(payload, _OUTER))


def send(channel: socket.socket, number: int, message: tuple[str, object]) -> None:
    """Send a message, however long that takes.

    Raises:
        Disconnected: the other side is gone.
        Unsendable: see frame.
    """
    data = frame(number, message)
    try:
        channel.sendall(data)
    except OSError as error:
        raise Disconnected(str(error)) from None


def receive(channel: socket.socket, decoder: Decoder) -> Message:
    """Wait for the next message and return it.

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
