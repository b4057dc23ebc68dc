"""Cases in pytest: the package ``cts`` is a directory, the files of ``cases/`` are its files, and each case is a light item."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cts.engine.case_words import has_default
from cts.engine.keyword_expression import named, parse_expression
from cts.engine.selection import Selection
from generators.casebook import Case, Family, named_case
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
                for block in blocks:
                    yield self._item(block.name, enumerate_block=partial(self._left, block))
                return
            above = [node.name for node in self.listchain() if not isinstance(node, pytest.Session) and node.parent != self.session]
            if selection.asked is not None:
                yield from (self._item(id_, find=partial(named_case, selection.casebook, id_)) for id_ in selection.asked[family.name])
            else:
                yield from (self._item(case.id, find=partial(_known, case)) for case in named(selection, family, words, above))
        except CtsError as error:
            # The message says what to do; a traceback through the suite's code does not help the user.
            raise self.CollectError(str(error)) from error

    def _item(self, name: str, **keywords: Any) -> CasesItem:
        # By the text of the node id, pytest finds what is in the brackets of the name, and recognises the item in its cache.
        item: CasesItem = CasesItem.from_parent(self, name=name, nodeid=f"{self.nodeid}::{name}", **keywords)
        return item

    def _left(self, block: Block) -> Iterator[Case]:
        return self.selection.left(block_cases(self.family, block))


def _known(case: Case) -> Case:
    return case


def cases_file(parent: pytest.Collector, path: Path, family: Family, selection: Selection) -> CasesFile:
    """Return the collector of a family's file."""
    file: CasesFile = CasesFile.from_parent(parent, path=path, nodeid=selection.file(family), family=family, selection=selection)
    return file


class CasesItem(pytest.Item):
    """A case; or a block of the full tier, because items for millions of cases would fill the memory.

    The plugin judges an item whole: there are no fixtures, and no set-up or tear-down phases.

    Args:
        find: finds the case, when it is needed; None for a block.
        enumerate_block: returns the cases of the block that are still to be judged.
    """

    def __init__(
        self, *, find: Callable[[], Case] | None = None, enumerate_block: Callable[[], Iterator[Case]] | None = None, **keywords: Any
    ) -> None:
        super().__init__(**keywords)
        self._find = find
        self._enumerate_block = enumerate_block
        # Ids leave defaults out, so pytest needs them as keywords.
        if ":" in (words := self.config.option.keyword) and (case := self.case) is not None:
            self.extra_keyword_matches.update(word for word in parse_expression(words).words if has_default(case, word))

    @property
    def case(self) -> Case | None:
        """The case; None for a block.

        Raises:
            CasebookError: see ``named_case``.
        """
        return None if self._find is None else self._find()

    def cases(self) -> Iterator[Case]:
        """Return the cases to judge.

        Raises:
            CasebookError: see ``named_case`` and ``block_cases``.
        """
        if (case := self.case) is not None:
            return iter((case,))
        assert self._enumerate_block is not None, "an item has a case or a block"
        return self._enumerate_block()

    def runtest(self) -> None:
        """Do nothing: the plugin's protocol judges the cases."""

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name
