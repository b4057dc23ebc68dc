"""Long cases begin first, spread over the processes."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdist.scheduler import WorkStealingScheduling

from cts.run.longest_first import longest_first

COSTS = st.lists(st.none() | st.integers(1, 100), max_size=40)


class Process:
    """A worker as pytest-xdist's scheduler sees it."""

    shutting_down = False

    def __init__(self, name: str) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.got: list[int] = []

    def send_runtest_some(self, indices: list[int]) -> None:
        self.got += indices

    def send_steal(self, indices: list[int]) -> None:
        """Refuse to give tests back."""

    def shutdown(self) -> None:
        """Ignore the request."""


def dealt(count: int, processes: int) -> list[list[int]]:
    """Return the tests that pytest-xdist first assigns to each process."""
    config = SimpleNamespace(option=SimpleNamespace(tx=[f"{processes}*popen"], px=[]), getvalue=lambda name: [f"{processes}*popen"])
    scheduling, nodes = WorkStealingScheduling(config), [Process(f"gw{number}") for number in range(processes)]
    for node in nodes:
        scheduling.add_node(node)
    for node in nodes:
        scheduling.add_node_collection(node, [str(number) for number in range(count)])
    scheduling.schedule()
    return [node.got for node in nodes]


@given(COSTS, st.integers(1, 8))
def test_every_case_is_there_once(costs, processes):
    assert sorted(longest_first(costs, processes)) == list(range(len(costs)))


@given(COSTS, st.integers(1, 8))
def test_the_others_stay_in_their_order(costs, processes):
    others = [number for number in longest_first(costs, processes) if costs[number] is None]
    assert others == sorted(others)


@pytest.mark.parametrize("processes", [1, 2, 3, 7])
def test_each_process_begins_with_its_long_cases(processes):
    costs = [None] * 50
    costs[44], costs[3], costs[20], costs[45] = 7, 60, 60, 9
    order = longest_first(costs, processes)
    for part in dealt(len(costs), processes):
        long = [costs[order[place]] is not None for place in part]
        assert long == sorted(long, reverse=True)


def test_nothing_that_takes_long_waits_for_another_where_there_are_processes_enough():
    costs = [None] * 50
    costs[44], costs[3], costs[20], costs[45] = 7, 60, 60, 9
    order = longest_first(costs, 4)
    assert sorted(order[part[0]] for part in dealt(50, 4)) == [3, 20, 44, 45]


def test_a_process_with_a_very_long_case_gets_no_other():
    costs = [None] * 20
    costs[0], costs[1], costs[2], costs[3] = 60, 9, 8, 7
    order = longest_first(costs, 2)
    assert [[costs[order[place]] for place in part if costs[order[place]]] for part in dealt(20, 2)] == [[60], [9, 8, 7]]
