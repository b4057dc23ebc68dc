"""Cases in pytest: the package ``cts`` is a directory, the files of ``cases/`` are its files, and each case is a light item."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cts.run.name_filter import kept_by_name, wanted_by_name
from cts.run.selection import Selection
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
        kept = kept_by_name(self)
        try:
            blocks = self.selection.blocks(self.family)
            if blocks is not None and not self.config.option.keyword.strip():
                for block in blocks:
                    yield BlockItem.from_parent(self, name=block.name, block=block, selection=self.selection)
                return
            if self.selection.foretold is not None:
                yield from (CaseItem.from_parent(self, name=case.id, case=case) for case in self.selection.divided(self.family)[0])
                return
            for case in self.selection.cases(self.family, wanted_by_name(self, kept)):
                words = kept(case, name := case.id)
                if words is None:
                    continue
                item = CaseItem.from_parent(self, name=name, case=case)
                item.extra_keyword_matches.update(words)
                yield item
        except CtsError as error:
            # The message says what to do; a traceback through the suite's code does not help the user.
            raise self.CollectError(str(error)) from error


def cases_file(parent: pytest.Collector, path: Path, family: Family, selection: Selection) -> CasesFile:
    """Return the collector of a family's file. Its node id depends neither on the kind of installation nor on pytest's rootdir."""
    nodeid = path.relative_to(selection.casebook.root.parent).as_posix()
    file: CasesFile = CasesFile.from_parent(parent, path=path, nodeid=nodeid, family=family, selection=selection)
    return file


class CaseItem(pytest.Item):
    """One case. The judging plugin runs it whole: there are no fixtures, and no set-up or tear-down phases."""

    def __init__(self, *, case: Case, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.case = case

    def runtest(self) -> None:
        raise NotImplementedError("the judging plugin runs cases")

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name


class BlockItem(pytest.Item):
    """A block of the full tier. Its cases are enumerated only when they are judged: items for millions of cases would fill the memory."""

    def __init__(self, *, block: Block, selection: Selection, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.block = block
        self.selection = selection
        self._at_hand = ""

    @property
    def nodeid(self) -> str:
        """Return the node id of the current case, if there is one: a worker of pytest-xdist sends only reports with this id."""
        return self.__dict__.get("_at_hand") or super().nodeid

    def cases(self) -> Iterator[CaseItem]:
        """Yield the items of its cases that are still to be judged.

        Raises:
            CasebookError: see ``block_cases``.
        """
        assert isinstance(self.parent, CasesFile), "blocks are collected from files"
        try:
            for case in self.selection.left(block_cases(self.parent.family, self.block)):
                item = CaseItem.from_parent(self.parent, name=case.id, case=case)
                self._at_hand = item.nodeid
                yield item
        finally:
            self._at_hand = ""

    def runtest(self) -> None:
        raise NotImplementedError("the judging plugin runs the cases of a block")

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name
