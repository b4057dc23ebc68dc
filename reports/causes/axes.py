"""The axes on which cases of a family differ: their parameters, and the parts of their labels.

A label may have parts: ``16x8x32.s8.s8.s32.s32`` has three sizes and four types, ``crrc`` a letter for each matrix, ``n256`` a letter and a
number. Parts are recognized only by the form of the labels, because a report reads the journal and not the casebook, which lacks rows that
only a device lists.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

ANYWHERE = " anywhere"
"""The end of the names of parts that tell whether a label contains a word at any position; their values are yes and no."""

_SIZES = re.compile(r"\d+(?:x\d+)+")
_WORDS = re.compile(r"[.-]")
_NUMBERED = re.compile(r"([a-z]+)(\d+)")
_LETTERS = re.compile(r"[rc]{2,}")

_SIZE_NAMES: Mapping[int, Sequence[str]] = MappingProxyType({2: ("rows", "columns"), 3: ("M", "N", "K")})
_WORD_NAMES: Mapping[int, Sequence[str]] = MappingProxyType(
    {4: ("A", "B", "C", "Result"), 5: ("input", "input interpretation", "matrix interpretation", "bias interpretation", "Result")}
)
_MATRICES = ("A", "B", "C", "Result")
_SUBSETS = re.compile(r"(?=.)a?b?c?d?")


@dataclass(frozen=True, order=True)
class Axis:
    """A parameter, or a part of its labels.

    Attributes:
        parameter: its name.
        part: the part of the labels; empty for the whole label.
    """

    parameter: str
    part: str = ""

    @property
    def word(self) -> str:
        """Return the word that the axis looks for at any position; empty for other axes."""
        return self.part.removesuffix(ANYWHERE) if self.part.endswith(ANYWHERE) else ""

    def __str__(self) -> str:
        return f"{self.part} of {self.parameter}" if self.part else self.parameter


def values(parameter: str, labels: Iterable[str]) -> dict[Axis, dict[str, str]]:
    """Return the values of a parameter's labels: for each axis, label -> value. Labels of another form have no value.

    Args:
        parameter: its name.
        labels: all labels in the cases of a family.
    """
    labels = sorted(set(labels))
    found = {Axis(parameter): {label: label for label in labels}}
    for parts in (_positions(labels), _letters(labels), _numbered(labels), _mentions(labels), _members(labels)):
        for name, by_label in parts.items():
            if len(set(by_label.values())) > 1 or 0 < len(by_label) < len(labels):
                found.setdefault(Axis(parameter, name), by_label)
    return found


def _positions(labels: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the sizes and words at each position, for labels of the most common form."""
    split = {label: _split(label) for label in labels}
    forms = Counter((len(sizes), len(words)) for sizes, words in split.values() if len(sizes) + len(words) > 1)
    if not forms:
        return {}
    form = max(forms, key=lambda one: (forms[one], one))
    alike = {label: parts for label, parts in split.items() if (len(parts[0]), len(parts[1])) == form}
    found: dict[str, dict[str, str]] = {}
    for place, names in enumerate((_SIZE_NAMES, _WORD_NAMES)):
        count = form[place]
        for i, name in enumerate(names.get(count) or [f"{('size', 'word')[place]} {number}" for number in range(1, count + 1)]):
            found[name] = {label: parts[place][i] for label, parts in alike.items()}
    with_sizes = {label: [int(size) for size in sizes] for label, (sizes, _) in split.items() if sizes}
    if with_sizes:
        found["largest size"] = {label: str(max(sizes)) for label, sizes in with_sizes.items()}
        found["smallest size"] = {label: str(min(sizes)) for label, sizes in with_sizes.items()}
    return found


def _split(label: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the sizes and the words of a label."""
    first, *words = _WORDS.split(label)
    if _SIZES.fullmatch(first):
        return tuple(first.split("x")), tuple(words)
    return (), (first, *words)


def _letters(labels: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the layouts of matrices from one letter each."""
    if not all(_LETTERS.fullmatch(label) for label in labels) or len({len(label) for label in labels}) != 1:
        return {}
    count = len(labels[0])
    names = _MATRICES if count == len(_MATRICES) else [f"letter {number}" for number in range(1, count + 1)]
    return {name: {label: label[i] for label in labels} for i, name in enumerate(names)}


def _numbered(labels: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return word and number of labels such as ``n256`` and ``s32``."""
    matched = {label: match.groups() for label in labels if (match := _NUMBERED.fullmatch(label))}
    if len(matched) < 2:
        return {}
    return {
        "letters": {label: str(letters) for label, (letters, _) in matched.items()},
        "number": {label: str(number) for label, (_, number) in matched.items()},
    }


def _mentions(labels: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return, for each word in labels of several words, the labels that contain it at any position."""
    words = {label: set(_split(label)[1]) for label in labels}
    if all(len(of_label) < 2 for of_label in words.values()):
        return {}
    every = sorted(set().union(*words.values()))
    return _having(every, words)


def _members(labels: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return, for each letter in labels that name several things by one letter each, such as ``abc``, the labels that contain it."""
    if len(labels) < 3 or not all(_SUBSETS.fullmatch(label) for label in labels) or all(len(label) < 2 for label in labels):
        return {}
    return _having(sorted(set("".join(labels))), {label: set(label) for label in labels})


def _having(words: Sequence[str], of_labels: Mapping[str, set[str]]) -> dict[str, dict[str, str]]:
    return {f"{word}{ANYWHERE}": {label: "yes" if word in has else "no" for label, has in of_labels.items()} for word in words}
