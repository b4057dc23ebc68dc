"""Cases in pytest: the package ``cts`` is a directory, the files of ``cases/`` are its files, and each case is a light item."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from cts.engine.case_words import has_default
from cts.engine.keyword_expression import named, parse_expression
from cts.engine.selection import Selection
from generators.casebook import Case, Family, named_case
from generators.casebook.blocks import Block, block_cases
from generators.casebook.ids import family_of
from generators.errors import CtsError

_MADE = 4
"""How many items a worker keeps: it needs the one that it judges and the next one."""


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
                yield from map(self.item, selection.asked[family.name])
            else:
                yield from (self._item(case.id, find=partial(_known, case)) for case in named(selection, family, words, above))
        except CtsError as error:
            # The message says what to do; a traceback through the suite's code does not help the user.
            raise self.CollectError(str(error)) from error

    def item(self, id_: str) -> CasesItem:
        """Return the item of a case, which is found when it is needed."""
        return self._item(id_, find=partial(named_case, self.selection.casebook, id_))

    def _item(self, name: str, **keywords: Any) -> CasesItem:
        # By the text of the node id, pytest finds what is in the brackets of the name, and recognises the item in its cache.
        item: CasesItem = CasesItem.from_parent(self, name=name, nodeid=f"{self.nodeid}::{name}", **keywords)
        return item

    def _left(self, block: Block) -> Iterator[Case]:
        return self.selection.left(block_cases(self.family, block))


class Items:
    """The items of a worker that has been told the ids of its cases: it makes an item when it judges the case, because the items of all
    cases take a second and 30 MB.

    Args:
        session: pytest's session.
        selection: the selection of the run, with the ids.
    """

    def __init__(self, session: pytest.Session, selection: Selection) -> None:
        self._session = session
        self._selection = selection
        self._ids = [id_ for ids in (selection.asked or {}).values() for id_ in ids]
        self._made: dict[int, CasesItem] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, number: int) -> CasesItem:
        if number not in self._made:
            if len(self._made) >= _MADE:
                del self._made[next(iter(self._made))]
            id_ = self._ids[number]
            self._made[number] = self._file(family_of(id_)).item(id_)
        return self._made[number]

    def _file(self, name: str) -> CasesFile:
        family = self._selection.casebook.families[name]
        return cases_file(self._session, family.path, family, self._selection)


class KnownItems:
    """Registered in a worker whose plan has all ids, instead of a collection.

    Args:
        selection: the selection of the run.
    """

    def __init__(self, selection: Selection) -> None:
        self._selection = selection

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> bool:
        """Collect nothing. The worker reports no ids, and the main process adds those that both know (cts.run.main_process)."""
        session.items = []
        session.config.hook.pytest_collection_finish(session=session)
        items = Items(session, self._selection)
        session.items, session.testscollected = cast("list[pytest.Item]", items), len(items)
        return True


def _known(case: Case) -> Case:
    return case


def cases_file(parent: pytest.Collector, path: Path, family: Family, selection: Selection) -> CasesFile:
    """Return the collector of a family's file."""
    file: CasesFile = CasesFile.from_parent(parent, path=path, nodeid=selection.file(family.name), family=family, selection=selection)
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
