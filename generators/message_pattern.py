"""The pattern language with which a static rule states the expected message of a validator.

A pattern is one text, or a list of alternative texts. A text is literal, except that `…` matches any characters, case does not matter, and
spaces around `…` are ignored. A text matches if one line of the message contains its pieces in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from generators.errors import CtsError

BETWEEN = "…"

_REGULAR_EXPRESSION = ("\\", ".*", ".+", ")?", "[", "]", "...", "^", "$")
"""Characters that texts must not contain. In a message, brackets enclose names, which differ from module to module."""


class NotAPattern(CtsError, ValueError):
    """A text that cannot be a pattern; the message says what to write instead."""


@dataclass(frozen=True)
class MessagePattern:
    """A pattern for a message.

    Attributes:
        texts: the alternatives as written, one of which must match.
    """

    texts: tuple[str, ...]

    def __str__(self) -> str:
        return " or ".join(f"'{text}'" for text in self.texts)

    def matches(self, message: str) -> bool:
        """Return whether one of the texts matches a line of the message."""
        lines = message.casefold().splitlines()
        return any(_has_in_order(line, _pieces(text)) for text in self.texts for line in lines)


def message_pattern(says: str | Sequence[str]) -> MessagePattern:
    """Return the pattern in a rule's YAML.

    Args:
        says: a text, or alternatives.

    Raises:
        NotAPattern: there is no text, a text has an empty piece or a line break, or it is a regular expression.
    """
    texts = (says,) if isinstance(says, str) else tuple(says)
    if not texts:
        raise NotAPattern("`says` has no text: write what the message must have")
    for text in texts:
        _check(text)
    return MessagePattern(texts)


def _check(text: str) -> None:
    if not all(_pieces(text)):
        raise NotAPattern(f"`says`: '{text}' has an empty piece: write text before and after each '{BETWEEN}'")
    if len(text.splitlines()) > 1:
        raise NotAPattern(f"`says`: '{text}' has a line break: write what one line of the message must have")
    for part in _REGULAR_EXPRESSION:
        if part in text:
            raise NotAPattern(
                f"`says`: '{text}' has '{part}', but a text is not a regular expression: write literal text, "
                f"'{BETWEEN}' for anything between, "
                "and a list for alternatives"
            )


def _pieces(text: str) -> list[str]:
    return [piece.strip() for piece in text.casefold().split(BETWEEN)]


def _has_in_order(line: str, pieces: Sequence[str]) -> bool:
    start = 0
    for piece in pieces:
        at = line.find(piece, start)
        if at < 0:
            return False
        start = at + len(piece)
    return True
