"""Cases in pytest: the package ``cts`` is a directory, the files of ``cases/`` are its files, and each case is a light item."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cts.engine.case_words import has_default
from cts.engine.keyword_expression import ExpressionError, parse_expression
from cts.engine.selection import Selection
from generators.casebook import Case, Family
from generators.casebook.blocks import Block, block_cases
from generators.errors import CtsError


class SuiteDirectory(pytest.Directory):
    """The whole suite: ``pytest cts``."""

    def __init__(self, *, selection: Selection, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.selection = selection

    def collect(self) -> Iterator[pytest.Collector]:
        for path in self.selection.files:
            family = self.selection.family(path)
            assert family is not None
            yield cases_file(self, path, family, self.selection)


class CasesFile(pytest.File):
    """A family's YAML file."""

    def __init__(self, *, family: Family, selection: Selection, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.family = family
        self.selection = selection

    def collect(self) -> Iterator[pytest.Item]:
        selection, family = self.selection, self.family
        try:
            words = self.config.option.keyword.strip()
            if not words and (blocks := selection.blocks(family)) is not None:
                yield from (BlockItem.from_parent(self, name=block.name, block=block, selection=selection) for block in blocks)
                return
            for case in selection.divided(family)[0] if selection.foretold is not None else _named(self, words):
                yield CaseItem.from_parent(self, name=case.id, case=case)
        except CtsError as error:
            # The message says what to do; a traceback through the suite's code does not help the user.
            raise self.CollectError(str(error)) from error


def _named(file: CasesFile, words: str) -> Iterator[Case]:
    """Yield the cases of a file that ``-k`` may select: pytest applies it only after every case has an item, which takes seconds."""
    selection, family = file.selection, file.family
    try:
        expression = parse_expression(words)
    except ExpressionError:
        # pytest knows better, or complains.
        expression = parse_expression("")
    above = [node.name.lower() for node in file.listchain() if not isinstance(node, pytest.Session) and node.parent != file.session]

    def finds(case: Case | None, id_: str) -> Callable[[str], bool]:
        return lambda word: any(word.lower() in name for name in (id_.lower(), *above)) or (case is not None and has_default(case, word))

    # A word with a colon may name a default, which the id leaves out.
    by_id = None if any(":" in word for word in expression.words) else lambda id_: expression.holds(finds(None, id_))
    yield from (case for case in selection.cases(family, by_id) if expression.holds(finds(case, case.id)))


def cases_file(parent: pytest.Collector, path: Path, family: Family, selection: Selection) -> CasesFile:
    """Return the collector of a family's file. Its node id depends neither on the kind of installation nor on pytest's rootdir."""
    nodeid = path.relative_to(selection.casebook.root.parent).as_posix()
    file: CasesFile = CasesFile.from_parent(parent, path=path, nodeid=nodeid, family=family, selection=selection)
    return file


class CaseItem(pytest.Item):
    """One case. The plugin judges it whole: there are no fixtures, and no set-up or tear-down phases."""

    def __init__(self, *, case: Case, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.case = case
        # Ids leave defaults out, so pytest needs them as keywords.
        if ":" in (words := self.config.option.keyword):
            self.extra_keyword_matches.update(word for word in parse_expression(words).words if has_default(case, word))

    def cases(self) -> Iterator[Case]:
        """Yield the case."""
        yield self.case

    def runtest(self) -> None:
        """Do nothing: the plugin's protocol judges the case."""

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name


class BlockItem(pytest.Item):
    """A block of the full tier. Its cases are enumerated only when they are judged: items for millions of cases would fill the memory."""

    def __init__(self, *, block: Block, selection: Selection, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.block = block
        self.selection = selection

    def cases(self) -> Iterator[Case]:
        """Yield the cases that are still to be judged.

        Raises:
            CasebookError: see ``block_cases``.
        """
        assert isinstance(self.parent, CasesFile), "blocks are collected from files"
        return self.selection.left(block_cases(self.parent.family, self.block))

    def runtest(self) -> None:
        """Do nothing: the plugin's protocol judges the cases."""

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name
