"""Keeps the end of a child process's output, however long the output is."""

from __future__ import annotations

import os

from cts.printable import printable

KEPT = 4000
"""How many bytes of the output a message quotes."""

_CHUNK = 1 << 16


class Output:
    """The reading end of a pipe that a child writes to. The owner reads it whenever it waits for the child.

    Attributes:
        descriptor: the descriptor to poll; -1 once the pipe has ended or is closed.
    """

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self.descriptor = descriptor
        self._tail = b""
        self._total = 0

    def read(self) -> bool:
        """Read the available output, at most one chunk. Return whether there was any."""
        if self.descriptor < 0:
            return False
        try:
            data = os.read(self.descriptor, _CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self.close()
            return False
        self._total += len(data)
        self._tail = (self._tail + data)[-KEPT:]
        return True

    def last_words(self) -> str:
        """Return the end of the output, safe to print. If the output was longer, say how long."""
        text = printable(self._tail.decode(errors="backslashreplace").strip())
        return text if self._total <= KEPT else f"(the end of {self._total:,} bytes of output)\n…{text}"

    def close(self) -> None:
        """Close the pipe: later writers to it get an error."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
