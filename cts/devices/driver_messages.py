"""Collects the messages that a driver sends during one step, so they belong to the call that fails."""

from __future__ import annotations

from cts.printable import printable

MOST = 20
"""How many messages of a step are kept. Repeated messages count once."""

LONGEST = 2000
"""How many characters of a message are kept."""


class DriverMessages:
    """The first messages of a step."""

    def __init__(self) -> None:
        self._kept: list[str] = []

    @property
    def texts(self) -> tuple[str, ...]:
        """The messages in the order in which they came."""
        return tuple(self._kept)

    def add(self, text: str) -> str:
        """Keep a message unless there are enough. Return the kept text, which is safe to print; empty if the message is not kept."""
        kept = printable(text[:LONGEST]).strip()
        if not kept or kept in self._kept or len(self._kept) >= MOST:
            return ""
        self._kept.append(kept)
        return kept

    def clear(self) -> None:
        """Forget the messages: another step begins."""
        self._kept.clear()
