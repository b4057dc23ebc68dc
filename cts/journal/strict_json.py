"""Reads JSON that others wrote: strictly, and without a way to end the program."""

from __future__ import annotations

import json
from typing import Any, NoReturn


class NotJson(Exception):
    """Some bytes are no JSON in UTF-8; ``problem`` says why."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


def parse(data: bytes) -> Any:
    """Return the value that ``data`` is the text of. The caller bounds its length.

    Raises:
        NotJson: it is not UTF-8, breaks the grammar, names a number that JSON lacks, is nested too deeply, has a number of thousands
            of digits, or gives a key of an object twice.
    """
    try:
        return _DECODER.decode(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise NotJson(f"not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise NotJson(f"no JSON: {error.msg} at character {error.pos}") from None
    except RecursionError:
        raise NotJson("nested too deeply") from None
    except ValueError:
        raise NotJson("a number has too many digits") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in found if keys.count(key) > 1)
        raise NotJson(f"the key {json.dumps(twice[:40])} is given twice")
    return found


def _constant(name: str) -> NoReturn:
    raise NotJson(f"{name} is no number of JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)
