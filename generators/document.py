"""YAML in which every value knows its place, so an error can name the file, line and key.

Scalars follow the core schema of YAML 1.2: ``on``, ``off``, ``yes`` and ``no`` are text.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from generators.bounded_files import Unreadable, read_text
from generators.errors import CasebookError

if TYPE_CHECKING:
    _Base = yaml.SafeLoader
else:
    _Base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


_DEPTH = 100
"""Maximum nesting depth. No document needs more, and libyaml's loader, which recurses in C, crashes the process at a few tens of thousands
of levels."""

_SHOWN = 40
"""Number of characters of a wrong value that a message quotes."""

_MOST_BYTES = 4 << 20
"""Maximum size of a file. The longest document of the suite has 40 thousand bytes."""

_MOST_NODES = 200_000
"""Maximum number of values in a document, counted once for each place where an alias puts them. One page of nested aliases can expand to
more than any memory holds."""

_MOST_KEY = 200
"""Maximum number of characters in a key."""

_MOST_PROBLEM = 2_000
"""Maximum number of characters in a message, which may list every known name."""


class _CoreLoader(_Base):
    """Resolves null, booleans, integers and floats of YAML 1.2 and nothing else."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 (the base class declares it so)
    _depth = 0

    def descend_resolver(self, current_node: yaml.Node | None, current_index: object) -> None:  # noqa: ARG002 (the parser passes it)
        """Go down to a node."""
        self._depth += 1
        if self._depth > _DEPTH and current_node is not None:
            raise yaml.composer.ComposerError(None, None, f"nested deeper than {_DEPTH} levels", current_node.start_mark)

    def ascend_resolver(self) -> None:
        """Come back up."""
        self._depth -= 1


for _tag, _pattern, _first in (
    ("null", r"~|null|", ["~", "n", ""]),
    ("bool", r"true|false", ["t", "f"]),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)|0x[0-9a-fA-F]+", list("-+0123456789")),
    ("float", r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+|[-+]?\.inf|\.nan", list("-+.0123456789")),
):
    _CoreLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), _first)


def _construct_scalar(loader: _CoreLoader, node: yaml.Node) -> Any:
    """Construct a scalar whose tag is written out or resolved. PyYAML raises errors other than YAMLError for a text that does not fit its
    tag."""
    try:
        return yaml.SafeLoader.yaml_constructors[node.tag](loader, node)
    except (ValueError, KeyError, AttributeError):
        kind = node.tag.rpartition(":")[2]
        raise yaml.constructor.ConstructorError(None, None, f"'{_short(node.value)}' is not a valid {kind}", node.start_mark) from None


for _tag in ("int", "float", "bool", "timestamp"):
    _CoreLoader.add_constructor(f"tag:yaml.org,2002:{_tag}", _construct_scalar)


def _short(text: str, most: int = _SHOWN) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


_KINDS = {yaml.MappingNode: "a mapping", yaml.SequenceNode: "a list", yaml.ScalarNode: "a scalar"}


class _Unusual(Exception):
    """A value is none of those that most documents have."""


_TEXT, _INTEGER, _LIST, _MAPPING = (f"tag:yaml.org,2002:{name}" for name in ("str", "int", "seq", "map"))
_SMALL = re.compile(r"0|[1-9][0-9]{0,8}")


def _usual(node: yaml.Node) -> Any:
    """Construct text, small integers, and lists and mappings of them: a loader takes ten times as long.

    Raises:
        _Unusual: the value is another one.
    """
    if node.tag == _TEXT and isinstance(node, yaml.ScalarNode):
        return node.value
    if node.tag == _INTEGER and _SMALL.fullmatch(node.value):
        return int(node.value)
    if node.tag == _LIST and isinstance(node, yaml.SequenceNode):
        return list(map(_usual, node.value))
    if node.tag == _MAPPING and isinstance(node, yaml.MappingNode) and all(key.tag == _TEXT for key, _ in node.value):
        return {_usual(key): _usual(value) for key, value in node.value}
    raise _Unusual


@dataclass(frozen=True, slots=True)
class Element:
    """A value of a document.

    Attributes:
        node: the parser's node, with its marks.
        path: the file.
        key: the path of keys from the top, for messages (``parameters.stride.tight``).
        line: the line of the key, or of the value if there is no key; counted from 1.
    """

    node: yaml.Node
    path: Path
    key: str
    line: int

    @property
    def place(self) -> str:
        """File, line and key, for messages of later checks."""
        return f"{self.path}:{self.line}: {self.key}" if self.key else f"{self.path}:{self.line}"

    def error(self, problem: str) -> CasebookError:
        """Return an error that names this place; the caller raises it."""
        # The message may quote text from the file that spans several lines.
        return CasebookError(f"{self.place}: {_short(' '.join(problem.split()), _MOST_PROBLEM)}")

    def _expected(self, what: str) -> CasebookError:
        found = _KINDS[type(self.node)]
        if isinstance(self.node, yaml.ScalarNode):
            found = f"'{_short(self.node.value)}'" if self.node.value else "nothing"
        return self.error(f"expected {what}, found {found}")

    @property
    def is_mapping(self) -> bool:
        return isinstance(self.node, yaml.MappingNode)

    @property
    def is_sequence(self) -> bool:
        return isinstance(self.node, yaml.SequenceNode)

    def _child(self, key_node: yaml.Node, key: str, value: yaml.Node) -> Element:
        return Element(value, self.path, f"{self.key}.{key}" if self.key else key, _line(key_node))

    def entries(self, what: str = "a mapping") -> dict[str, Element]:
        """Return the entries of a mapping with any keys, in order. ``what`` describes the mapping in messages."""
        if not isinstance(self.node, yaml.MappingNode):
            raise self._expected(what)
        entries: dict[str, Element] = {}
        for key_node, value_node in self.node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                raise self._child(key_node, "?", key_node)._expected("a scalar as key")
            key = key_node.value
            if len(key) > _MOST_KEY:
                raise self._child(key_node, _short(key), key_node).error(f"the key is longer than {_MOST_KEY} characters")
            if key in entries:
                raise self._child(key_node, key, value_node).error(f"duplicate key; it was already given on line {entries[key].line}")
            entries[key] = self._child(key_node, key, value_node)
        return entries

    def fields(self, required: Collection[str], optional: Collection[str] = ()) -> dict[str, Element]:
        """Return the entries of a mapping whose keys are known."""
        known = (*required, *optional)
        entries = self.entries(f"a mapping with the keys {', '.join(known)}")
        for key, value in entries.items():
            if key not in known:
                raise value.error(f"unknown key; expected one of {', '.join(known)}")
        for key in required:
            if key not in entries:
                raise self.error(f"key '{key}' is missing; expected {', '.join(required)}")
        return entries

    def items(self, what: str) -> list[Element]:
        """Return the items of a list; ``what`` describes them in messages."""
        if not isinstance(self.node, yaml.SequenceNode):
            raise self._expected(f"a list of {what}")
        return [Element(node, self.path, f"{self.key}[{index}]", _line(node)) for index, node in enumerate(self.node.value)]

    def label(self, what: str = "a scalar") -> str:
        """Return the text of a scalar as it is written."""
        if not isinstance(self.node, yaml.ScalarNode):
            raise self._expected(what)
        return str(self.node.value)

    def text(self, what: str = "text") -> str:
        """Return a scalar that is not empty, as text."""
        text = self.label(what).strip()
        if not text:
            raise self._expected(what)
        return text

    def integer(self, low: int, high: int) -> int:
        """Return an integer from ``low`` to ``high``."""
        value = self.data()
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise self._expected(f"an integer from {low} to {high}")
        return value

    def flag(self) -> bool:
        """Return true or false."""
        value = self.data()
        if not isinstance(value, bool):
            raise self._expected("true or false")
        return value

    def data(self) -> Any:
        """Return the value as plain Python objects."""
        with suppress(_Unusual):
            return _usual(self.node)
        loader = _CoreLoader("")
        try:
            return loader.construct_document(self.node)
        except yaml.constructor.ConstructorError as error:
            raise self.error(f"expected plain data: {error.problem}") from error
        except (TypeError, ValueError, OverflowError) as error:
            # A tag may not fit its value: a set of lists, or binary data that are plain letters.
            raise self.error(f"expected plain data: {error}") from error
        finally:
            loader.dispose()


def _count(node: yaml.Node, path: Path, counts: dict[int, int]) -> int:
    """Count the values that a node expands to, including the values of its aliases. ``counts`` has the counts of the nodes visited so far;
    0 marks an unfinished node, which contains itself if it is met again.

    Raises:
        CasebookError: there are too many, or a value contains itself.
    """
    if id(node) in counts:
        if not counts[id(node)]:
            raise CasebookError(f"{path}:{_line(node)}: a value contains itself through an alias")
        return counts[id(node)]
    counts[id(node)] = 0
    children = itertools.chain.from_iterable(node.value) if isinstance(node, yaml.MappingNode) else node.value
    total = 1 + (0 if isinstance(node, yaml.ScalarNode) else sum(_count(child, path, counts) for child in children))
    if total > _MOST_NODES:
        raise CasebookError(f"{path}:{_line(node)}: with its aliases, this expands to more than {_MOST_NODES:,} values")
    counts[id(node)] = total
    return total


def read_document(path: Path) -> Element:
    """Return the top element of the YAML document in ``path``.

    Raises:
        CasebookError: the file cannot be read or is not one YAML document.
    """
    try:
        text = read_text(path, _MOST_BYTES)
    except Unreadable as error:
        place = f"{path}:{error.line}" if error.line else path
        raise CasebookError(f"{place}: cannot be read: {error}") from error
    try:
        node = yaml.compose(text, Loader=_CoreLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark is not None else 1
        context = f" {error.context} of line {error.context_mark.line + 1}" if error.context and error.context_mark else ""
        raise CasebookError(f"{path}:{line}: malformed YAML: {error.problem}{context}") from error
    except yaml.YAMLError as error:
        line = text.count("\n", 0, getattr(error, "position", 0)) + 1
        raise CasebookError(f"{path}:{line}: malformed YAML: {' '.join(str(error).split())}") from error
    except RecursionError:
        raise CasebookError(f"{path}:1: malformed YAML: nested too deeply") from None
    if node is None:
        raise CasebookError(f"{path}:1: the document is empty; expected a mapping")
    if "*" in text:
        _count(node, path, {})
    return Element(node, path, "", _line(node))
