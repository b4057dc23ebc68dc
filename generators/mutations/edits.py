"""Edits of a module's text: the changes that a rule's YAML makes to a valid module."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from generators.errors import GeneratorError, Rule

_NAME = re.compile(r"%\w+")
_AGGREGATES = ("OpTypeStruct", "OpTypeArray", "OpTypeRuntimeArray")

_FUNCTION = "OpFunction"
_RETURN = "OpReturn"
"""The entry point returns nothing; the other functions of a base module return a value."""


@dataclass(frozen=True)
class Edits:
    """Changes to a module, in SPIR-V assembly. A type that the module already has is not declared again: its name becomes an alias.

    Attributes:
        declare: lines before the first function: types, constants, variables.
        body: lines at the end of the entry point, after the definitions of all matrices.
        replace: the first whole words of exactly one line of the module -> the lines that replace it, none to remove it; a single line need
            not be in a list.
        functions: lines at the end of the module: further functions.
    """

    declare: tuple[str, ...] = ()
    body: tuple[str, ...] = ()
    replace: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    functions: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.declare or self.body or self.functions or self.replace)


def _lines(text: str | Sequence[str]) -> tuple[str, ...]:
    lines = [text] if isinstance(text, str) else text
    return tuple(line for line in lines if line)


def edited(lines: Sequence[str], edits: Iterable[Edits], aliases: Mapping[str, str]) -> list[str]:
    """Return the module with all edits, in order: replacements, then additions.

    Args:
        lines: the lines of the module, one instruction each.
        edits: the edits; they may name ids by alias.
        aliases: names that are the same for every base module -> the ids in this module.

    Raises:
        GeneratorError: no line, or more than one, begins with the words of a replacement.
    """
    found = [line.strip() for line in lines]
    aliases = dict(aliases)
    for edit in edits:
        for old, new in edit.replace.items():
            at = _only(found, _named(old, aliases))
            found[at : at + 1] = [_named(line, aliases) for line in _lines(new)]
        for place, added in ((_declarations, edit.declare), (_body, edit.body), (len, edit.functions)):
            if added:
                at = place(found)
                for line in added:
                    instruction = _named(line, aliases)
                    result, _, definition = instruction.partition(" = ")
                    same = _declared(definition, found)
                    if same:
                        aliases[result] = same
                    else:
                        found.insert(at, instruction)
                        at += 1
    return found


def _declarations(lines: Sequence[str]) -> int:
    """Return the line where the first function begins."""
    return next(number for number, line in enumerate(lines) if _instruction(line)[:1] == [_FUNCTION])


def _body(lines: Sequence[str]) -> int:
    """Return the line where the entry point ends."""
    return _only(lines, _RETURN)


def _declared(definition: str, lines: Sequence[str]) -> str:
    """Return the id of an existing type with the same declaration, since no type may be declared twice; empty if there is none."""
    if not definition.startswith("OpType") or definition.startswith(_AGGREGATES):
        return ""
    return next((line.partition(" = ")[0] for line in lines if line.partition(" = ")[2] == definition), "")


def _named(text: str, aliases: Mapping[str, str]) -> str:
    return _NAME.sub(lambda match: aliases.get(match[0], match[0]), text)


def _only(lines: Sequence[str], beginning: str) -> int:
    words = beginning.split()
    places = [
        number for number, line in enumerate(lines) if _instruction(line)[: len(words)] == words or line.split()[: len(words)] == words
    ]
    if len(places) != 1:
        raise GeneratorError(
            Rule.EDIT_AMBIGUOUS if places else Rule.EDIT_NOWHERE,
            f"{len(places)} lines of the module begin with '{beginning}'; expected exactly one",
        )
    return places[0]


def _instruction(line: str) -> list[str]:
    """Return the words after ``%result =``."""
    return line.partition(" = ")[2].split() if " = " in line else line.split()
