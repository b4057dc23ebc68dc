"""A process learns whether another process that shares its device has lost it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cts.engine.neighbours import Neighbours, NoTemporaryFile, bury, new_file


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return new_file()


@pytest.fixture
def row(path: Path) -> Iterator[Callable[..., Neighbours]]:
    """Return a function that gives a process its row."""
    given = []

    def new(own: int, sleep: Callable[[float], None] = lambda _: pytest.fail("it waits"), patience: float = 60.0) -> Neighbours:
        given.append(Neighbours(path, own, sleep, patience))
        return given[-1]

    yield new
    for one in given:
        one.close()


def test_a_loss_since_then_is_told(row):
    first, second = row(0), row(1)
    before = first.losses()
    assert not first.lost_since(before)
    second.lost()
    assert first.lost_since(before)
    assert not first.lost_since(first.losses())


def test_its_own_losses_do_not_count(row):
    first, _ = row(0), row(1)
    first.lost()
    assert first.losses() == 0


def test_a_process_waits_for_the_shaders_that_others_run_now(row):
    second = row(1)
    ends = iter([lambda: None, lambda: second.runs(False)])
    first = row(0, sleep=lambda _: next(ends)())
    second.runs(True)
    assert not first.lost_since(0)
    assert next(ends, None) is None


def test_a_shader_that_runs_now_and_is_lost_counts(row):
    second = row(1)
    first = row(0, sleep=lambda _: second.lost())
    second.runs(True)
    assert first.lost_since(0)


def test_a_shader_that_begins_later_is_not_waited_for(row):
    second = row(1)

    def next_shader(_: float) -> None:
        second.runs(False)
        second.runs(True)

    first = row(0, sleep=next_shader)
    second.runs(True)
    assert not first.lost_since(0)


def test_a_shader_that_outlasts_the_patience_may_be_lost(row):
    first, second = row(0, patience=0.0), row(1)
    second.runs(True)
    assert first.lost_since(0)


def test_a_process_that_died_while_it_ran_a_shader_has_lost_the_device(row, path):
    first, second = row(0), row(1)
    second.runs(True)
    bury(path, 1)
    assert first.lost_since(0)
    assert not first.lost_since(first.losses())


def test_a_process_that_ended_between_shaders_has_lost_nothing(row, path):
    first, second = row(0), row(1)
    second.runs(True)
    second.runs(False)
    bury(path, 1)
    assert not first.lost_since(0)


def test_a_run_without_a_folder_for_temporary_files_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    with pytest.raises(NoTemporaryFile):
        new_file()
