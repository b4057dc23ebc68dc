"""Messages between a process and its child: numbered data over a socket, with a length limit and checksums.

A driver shares the child's descriptors: it may write to the socket, or read the messages to the child. It may even have taken over the
child. So messages are MessagePack, which holds only data, and their contents are decoded by the type that the reader expects.

The large arrays of a message are not among its contents, which have only their lengths. Where both processes share memory
(cts.devices.shared_memory), they are beside the message in that memory, one after another, as far as there is room. The header has their
total length and a checksum. The reader copies them once, and checks and uses only its copy, so a later write to the memory changes nothing.
The others come after the contents, with a negative length: neither process copies them, so a device with 70 MB of memory needs no 300 MB
in each.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import msgspec
import numpy as np

from cts.devices.shared_memory import NONE

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
"""The most bytes in a message and beside it. Both sides refuse longer ones."""

SMALLEST_BESIDE = 1 << 13
"""From how many bytes an array is beside its message: copying a smaller one with the message costs less than its checksum."""

_WORD = 8
"""An array in shared memory begins at a multiple of this. Zeros fill its last word."""

_MAGIC = b"cts\x91"
_FIELDS = struct.Struct("<4sIQIQQQ")
"""Magic, number, length and checksum of the payload, length and checksum of the bytes beside it, and how many of the payload's bytes are
arrays, after the contents."""
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
        contents: its contents, to be decoded with ``Decoder.read``.
        beside: a copy of its arrays in shared memory, uint8.
        after: the arrays after its contents, uint8.
    """

    number: int
    kind: str
    contents: msgspec.Raw
    beside: np.ndarray
    after: np.ndarray = NONE


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


class _Placing:
    """Places the arrays of a message that is being written: large ones in shared memory while there is room, and after the contents.

    Attributes:
        end: where the last one in the memory ends.
        checksum: the checksum of those in the memory.
        after: those after the contents.
    """

    def __init__(self, memory: np.ndarray) -> None:
        self._memory = memory
        self.end = self.checksum = 0
        self.after: list[memoryview] = []

    def as_data(self, value: object) -> object:
        """Return a value that msgspec does not know as one that it knows: an array in the memory as its length."""
        data = _as_data(value)
        if not isinstance(data, memoryview) or data.nbytes < SMALLEST_BESIDE:
            return data
        begin, stop, end = self.end, self.end + data.nbytes, self.end + _in_words(data.nbytes)
        if end > self._memory.size:
            self.after.append(data)
            return -data.nbytes
        array = np.frombuffer(data, np.uint8)
        self._memory[begin:stop] = array
        self._memory[stop:end] = 0
        # Not from the memory: if another process writes there too, the reader must not take a mixture of both.
        self.checksum = (self.checksum + _checksum(array)) % (1 << 64)
        self.end = end
        return data.nbytes


class _Taking:
    """Takes the arrays of a message that is being read, in the order in which they were placed."""

    def __init__(self) -> None:
        self.begin(NONE, NONE)

    def begin(self, beside: np.ndarray, after: np.ndarray) -> None:
        """Begin a message; for the arrays see Message."""
        self._beside, self._after = beside, after
        self._end = 0

    def from_data(self, kind: type, value: Any) -> object:
        """Undo _Placing.as_data."""
        if kind is not np.ndarray or type(value) is not int:
            return _from_data(kind, value)
        if 0 < -value <= self._after.size:
            found, self._after = self._after[:-value], self._after[-value:]
            return found
        begin = self._end
        if not 0 < value <= self._beside.size - begin:
            raise ValueError(f"an array of {value:,} bytes is not beside the message")
        self._end += _in_words(value)
        return self._beside[begin : begin + value]

    def finish(self) -> None:
        """End a message.

        Raises:
            NotAMessage: an array is left.
        """
        if left := self._beside.size - self._end + self._after.size:
            raise NotAMessage(f"{left:,} bytes beside it, or after it, belong to no array")
        self.begin(NONE, NONE)


def _in_words(count: int) -> int:
    """Return how many bytes whole words for ``count`` bytes have."""
    return -(-count // _WORD) * _WORD


def _checksum(array: np.ndarray) -> int:
    """Return the sum of an array's 64-bit words modulo 2^64; zeros complete the last word.

    Like a CRC it finds no forgery. Unlike a CRC it takes less time than a copy.
    """
    whole = array.size // _WORD * _WORD
    last = int.from_bytes(array[whole:].tobytes().ljust(_WORD, b"\0"), sys.byteorder) if whole < array.size else 0
    return (int(np.add.reduce(array[:whole].view(np.uint64))) + last) % (1 << 64)


_OUTER = msgspec.msgpack.Decoder(tuple[str, msgspec.Raw])


def encoded(contents: object, placing: _Placing | None = None) -> bytes:
    """Return contents as bytes, which ``read`` decodes.

    Args:
        contents: data, frozen dataclasses, and arrays of bytes.
        placing: places the arrays; None: all are in the result.

    Raises:
        Unsendable: they have something that is not data, or text that is not Unicode.
    """
    try:
        return msgspec.msgpack.encode(contents, enc_hook=_as_data if placing is None else placing.as_data)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise Unsendable(f"{type(error).__name__}: {error}") from error


def _typed(kind: Any, taking: _Taking) -> msgspec.msgpack.Decoder[Any]:
    return msgspec.msgpack.Decoder(kind, dec_hook=taking.from_data)


def _decoded(contents: bytes | memoryview | msgspec.Raw, decoder: msgspec.msgpack.Decoder[Any]) -> Any:
    try:
        return decoder.decode(contents)
    except MemoryError:
        raise
    except Exception as error:
        raise NotAMessage(f"its contents cannot be read: {type(error).__name__}: {error}") from error


def read(contents: bytes, kind: Any) -> Any:
    """Return what ``encoded`` made to bytes.

    Args:
        contents: the bytes.
        kind: the type of the result.

    Raises:
        NotAMessage: they do not have the type.
    """
    return _decoded(contents, _typed(kind, _Taking()))


def frame(number: int, message: tuple[str, object], memory: np.ndarray = NONE) -> bytes:
    """Return the bytes of a message, as ``pieces`` does, in one piece."""
    return b"".join(pieces(number, message, memory))


def pieces(number: int, message: tuple[str, object], memory: np.ndarray = NONE) -> list[bytes | memoryview]:
    """Return the bytes of a message. Write its large arrays into shared memory, as far as there is room.

    Args:
        number: the number of the request that the message is or answers.
        message: its kind and its contents: data, frozen dataclasses, and arrays of bytes.
        memory: memory that the reader shares, uint8. The reader must have received the message before it is used for another one.

    Raises:
        TooLong: the message has more than LONGEST bytes, including those in ``memory``.
        Unsendable: it has contents that are not data, or text that is not Unicode.
    """
    placing = _Placing(memory)
    payload = encoded(message, placing)
    after, checksum = sum(array.nbytes for array in placing.after), zlib.crc32(payload)
    if (length := len(payload) + after + placing.end) > LONGEST:
        raise TooLong(f"{length:,} bytes; the limit is {LONGEST:,}")
    for array in placing.after:
        checksum = zlib.crc32(array, checksum)
    fields = _FIELDS.pack(_MAGIC, number, len(payload) + after, checksum, placing.end, placing.checksum, after)
    return [fields + _CHECK.pack(zlib.crc32(fields)) + payload, *placing.after]


class Decoder:
    """Takes bytes as they arrive and returns the messages in them. Allocates only for received bytes, not for stated lengths.

    Args:
        memory: memory that the other process shares, uint8.
    """

    def __init__(self, memory: np.ndarray = NONE) -> None:
        self._bytes = bytearray()
        self._memory = memory
        self._taking = _Taking()
        self._decoders: dict[Any, msgspec.msgpack.Decoder[Any]] = {}

    def close(self) -> None:
        """Let go of the shared memory: later messages can have nothing beside them."""
        self._memory = NONE

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
        _, number, length, checksum, size, checksum_beside, after = _FIELDS.unpack(fields)
        if _CHECK.unpack_from(self._bytes, _FIELDS.size) != (zlib.crc32(fields),):
            raise NotAMessage("its header has a wrong checksum")
        if length + size > LONGEST:
            raise NotAMessage(f"it states {length + size:,} bytes; the limit is {LONGEST:,}")
        if size > self._memory.size:
            raise NotAMessage(f"it states {size:,} bytes beside it; the shared memory has {self._memory.size:,}")
        if after > length:
            raise NotAMessage(f"it states {after:,} bytes after its contents, and {length:,} bytes in all")
        end = _HEADER_BYTES + length
        if len(self._bytes) < end:
            return None
        # The message keeps this buffer, so that its contents need no copy. Usually nothing comes after it.
        received, self._bytes = self._bytes, self._bytes[end:]
        payload = memoryview(received)[_HEADER_BYTES:end]
        if zlib.crc32(payload) != checksum:
            raise NotAMessage("its contents have a wrong checksum")
        beside = self._memory[:size].copy() if size else NONE
        if size and _checksum(beside) != checksum_beside:
            raise NotAMessage("the bytes beside it have a wrong checksum")
        kind, contents = _decoded(payload[: length - after], _OUTER)
        return Message(number, kind, contents, beside, np.frombuffer(payload[length - after :], np.uint8) if after else NONE)

    def read(self, message: Message, kind: Any) -> Any:
        """Return the decoded contents of a message. Their arrays are views of ``message.beside`` and ``message.after``.

        Args:
            message: a result of ``next``.
            kind: the type of its contents.

        Raises:
            NotAMessage: they do not have the type, or their arrays are not exactly what is beside the message.
        """
        decoder = self._decoders.get(kind)
        if decoder is None:
            decoder = self._decoders[kind] = _typed(kind, self._taking)
        self._taking.begin(message.beside, message.after)
        found = _decoded(message.contents, decoder)
        self._taking.finish()
        return found


def send(channel: socket.socket, number: int, message: tuple[str, object], memory: np.ndarray = NONE) -> None:
    """Send a message, however long that takes. For ``memory`` see frame.

    Raises:
        Disconnected: the other side is gone.
        Unsendable: see frame.
    """
    data = pieces(number, message, memory)
    try:
        for piece in data:
            channel.sendall(piece)
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
