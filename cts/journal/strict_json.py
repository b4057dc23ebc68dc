"""Reads untrusted JSON strictly, so no input can crash the program."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from cts.printable import printable, printable_line


class NotJson(Exception):
    """Some bytes are not JSON in UTF-8; ``problem`` says why."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


def parse(data: bytes, several_lines: frozenset[str] = frozenset()) -> Any:
    """Return the value in the JSON text ``data``. Its strings cannot control a terminal or break a file.

    Args:
        data: the caller bounds its length.
        several_lines: the keys of strings that may have several lines; all others become one line.

    Raises:
        NotJson: the text is not UTF-8, breaks the grammar, names a number that JSON lacks, is nested too deeply, has a number of thousands
            of digits, or has a key of an object twice.
    """
    try:
        text = data.decode("utf-8")
        value = _DECODER.decode(text)
        return value if text.rstrip("\n").isprintable() and not _ESCAPE.search(text) else _cleaned(value, several_lines, "")
    except UnicodeDecodeError as error:
        raise NotJson(f"not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise NotJson(f"not JSON: {error.msg} at character {error.pos}") from None
    except RecursionError:
        raise NotJson("nested too deeply") from None
    except ValueError:
        raise NotJson("a number has too many digits") from None


_ESCAPE = re.compile(r'\\[^"\\/]')
"""Finds every escape that can mean an unprintable character, and also some other escapes."""


def _cleaned(value: Any, several_lines: frozenset[str], name: str) -> Any:
    if isinstance(value, str):
        return value if value.isprintable() else (printable if name in several_lines else printable_line)(value)
    if isinstance(value, dict):
        return {key if key.isprintable() else printable_line(key): _cleaned(item, several_lines, key) for key, item in value.items()}
    if isinstance(value, list):
        return value if _are_printable(value) else [_cleaned(item, several_lines, name) for item in value]
    return value


def _are_printable(values: list[Any]) -> bool:
    """Tell whether all values are strings that can be printed."""
    try:
        return "".join(values).isprintable()
    except TypeError:
        return False


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in found if keys.count(key) > 1)
        raise NotJson(f"the key {json.dumps(twice[:40])} is given twice")
    return found


def _constant(name: str) -> NoReturn:
    raise NotJson(f"{name} is not a JSON number")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)
