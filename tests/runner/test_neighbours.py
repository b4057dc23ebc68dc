"""A process learns whether another process that shares its device has lost it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cts.run.neighbours import Neighbours

STEP = 60.0


@pytest.fixture
def row(tmp_path: Path) -> Iterator[Callable[..., Neighbours]]:
    """Return a function that gives a process its row."""
    path = tmp_path / "neighbours"
    path.touch()
    given = []

    def new(own: int, group: int = 0, sleep: Callable[[float], None] = lambda _: pytest.fail("it waits")) -> Neighbours:
        given.append(Neighbours(path, own, group, sleep))
        return given[-1]

    yield new
    for one in given:
        one.close()


def test_a_loss_since_then_is_told(row):
    first, second = row(0), row(1)
    before = first.losses()
    assert not first.lost_since(before, STEP)
    second.lost()
    assert first.lost_since(before, STEP)
    assert not first.lost_since(first.losses(), STEP)


def test_its_own_losses_do_not_count(row):
    first, _ = row(0), row(1)
    first.lost()
    assert first.losses() == 0


def test_losses_of_another_device_do_not_count(row):
    first, other = row(0), row(1, group=1)
    other.runs(True)
    other.lost()
    assert not first.lost_since(0, STEP)


def test_a_process_waits_for_the_shaders_that_others_run_now(row):
    second = row(1)
    ends = iter([lambda: None, lambda: second.runs(False)])
    first = row(0, sleep=lambda _: next(ends)())
    second.runs(True)
    assert not first.lost_since(0, STEP)
    assert next(ends, None) is None


def test_a_shader_that_runs_now_and_is_lost_counts(row):
    second = row(1)
    first = row(0, sleep=lambda _: second.lost())
    second.runs(True)
    assert first.lost_since(0, STEP)


def test_a_shader_that_begins_later_is_not_waited_for(row):
    second = row(1)

    def next_shader(_: float) -> None:
        second.runs(False)
        second.runs(True)

    first = row(0, sleep=next_shader)
    second.runs(True)
    assert not first.lost_since(0, STEP)


def test_a_process_that_dies_while_it_runs_a_shader_has_lost_the_device(row, tmp_path):
    first = row(0)
    running = "import sys; from pathlib import Path; from cts.run.neighbours import Neighbours; Neighbours(Path(sys.argv[1]), 1).runs(True)"
    subprocess.run([sys.executable, "-c", running, str(tmp_path / "neighbours")], check=True)
    assert first.lost_since(0, STEP)
    assert not first.lost_since(first.losses(), STEP)


def test_a_zombie_has_died(row, tmp_path):
    first = row(0)
    running = "import sys; from pathlib import Path; from cts.run.neighbours import Neighbours; Neighbours(Path(sys.argv[1]), 1).runs(True)"
    with subprocess.Popen([sys.executable, "-c", running, str(tmp_path / "neighbours")], stdout=subprocess.PIPE) as process:
        process.stdout.read()
        while not Path(f"/proc/{process.pid}/stat").read_bytes().rpartition(b")")[2].startswith(b" Z"):
            pass
        assert first.losses() == 1


def test_a_shader_that_outlasts_its_limit_counts_as_lost(row, monkeypatch):
    first, second = row(0, sleep=lambda _: None), row(1)
    monkeypatch.setattr("cts.run.neighbours._MORE", 0.0)
    second.runs(True)
    assert first.lost_since(0, 0.0)
