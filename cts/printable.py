"""Makes text from outside (drivers, journals, file names) safe to show: on a terminal, in Markdown, XML and HTML."""

from __future__ import annotations

import os
import re

_ODD = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters, except the tab and the end of a line
    "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"  # characters that end a line or change the direction of the text after them
    "\ud800-\udfff\ufeff\ufffe\uffff\U000e0000-\U000e007f]"  # surrogates, byte order marks, and invisible characters
)
_NOT_PORTABLE = re.compile(r"[^\w.,+=\-]", re.ASCII)
_LINE = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}

SHOWN = 60
"""How many characters of a wrong value a message quotes."""


def printable(text: str) -> str:
    """Return ``text`` with escapes (``\\x1b``) for characters that control a terminal or cannot be encoded. Lines stay lines."""
    return text if text.isprintable() else _ODD.sub(_escaped, text)


def printable_line(text: str) -> str:
    """Return ``text`` like ``printable``, but in one line."""
    return text if text.isprintable() else "".join(_LINE.get(character, character) for character in printable(text))


def quoted(text: str) -> str:
    """Return ``text`` in quotes, printable, in one line and cut to SHOWN characters."""
    cut = text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
    return f"'{printable_line(cut)}'"


def printable_path(path: os.PathLike[str] | str) -> str:
    """Return a path, which may have any bytes, as text that can be shown."""
    return printable_line(os.fspath(path))


def portable_name(text: str) -> str:
    """Return ``text`` as part of a file name: characters that some file systems or artifact stores refuse become ``_``."""
    return _NOT_PORTABLE.sub("_", text)


def portable_argument(argument: str) -> str:
    """Return an argument of a command line without folders of this machine: an absolute path keeps its last part only."""
    option, equals, value = argument.rpartition("=")
    return f"{option}{equals}{os.path.basename(os.path.normpath(value))}" if os.path.isabs(value) else argument


def _escaped(match: re.Match[str]) -> str:
    character = match.group()
    code = ord(character)
    return _LINE.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
