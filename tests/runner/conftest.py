from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from cts.devices.holder import DeviceHolder
from cts.embedded.profile import load_profile
from cts.verdict.codes import Reason
from generators.casebook import Case, Casebook, expand, load_casebook
from generators.kernel import Dispatch, Kernel, Outcome
from tests import suite

REPOSITORY = suite.REPOSITORY


class Scripted:
    """A device whose runs a function of the test performs."""

    description = replace(load_profile("universal").description, name="Scripted", driver="1.0")

    def __init__(self, run: Callable[[Sequence[Dispatch]], list[Outcome]], missing: Reason | None = None) -> None:
        self._run = run
        self._missing = missing
        self.runs = 0
        self.closed = False
        self.last_steps: dict[str, float] = {}

    def missing(self, kernel: Kernel) -> Reason | None:
        return self._missing

    def run(self, kernel: Kernel, dispatches: Sequence[Dispatch]) -> list[Outcome]:
        self.runs += 1
        self.last_steps = {"pipeline": 0.25}
        return self._run(dispatches)

    def close(self) -> tuple[()]:
        self.closed = True
        return ()


@pytest.fixture(autouse=True)
def _suite_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give commands the suite's casebook, which all tests share. They read the casebook of another checkout themselves."""

    def loaded(root: Path, only: Collection[str] | None = None) -> Casebook:
        return suite.casebook() if root == REPOSITORY and only is None else load_casebook(root, only)

    monkeypatch.setattr("generators.casebook.load_casebook", loaded)


@pytest.fixture(scope="session")
def casebook() -> Casebook:
    return suite.casebook()


@pytest.fixture(scope="session")
def case(casebook: Casebook) -> Case:
    return expand(casebook.family("load_store"), "smoke")[0]


def holding(*devices: Scripted) -> DeviceHolder:
    """Return a holder that opens these devices one after another."""
    rest = iter(devices)
    return DeviceHolder(lambda: next(rest))
