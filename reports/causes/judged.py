"""The data of a case for a search for causes: the fields of a result, or of its outline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from cts.verdict.verdict import Verdict
from reports.verdicts import BAD

FAILING = frozenset(BAD)
PASSING = frozenset({Verdict.PASS, Verdict.UNEXPECTED_PASS})


class Judged(Protocol):
    """A result of cts.verdict.verdict, or an outline of cts.journal."""

    @property
    def id(self) -> str: ...
    @property
    def family(self) -> str: ...
    @property
    def verdict(self) -> Verdict: ...
    @property
    def code(self) -> str: ...
    @property
    def known(self) -> str: ...
    @property
    def defects(self) -> tuple[str, ...]: ...
    @property
    def parameters(self) -> Mapping[str, str]: ...
