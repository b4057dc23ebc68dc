"""The order in which workers get cases."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cts.engine.costs import Costs, longest_first, order_of, write_costs
from cts.engine.dealing import AHEAD
from cts.run.scheduling import Scheduler

COSTS = st.lists(st.none() | st.integers(1, 100), max_size=60)
WORKERS = st.integers(1, 5)


class Worker:
    """A worker as pytest-xdist's controller sees it."""

    def __init__(self, name: str) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.waiting: list[int] = []
        self.judged: list[int] = []
        self.shutting_down = False

    def send_runtest_some(self, indices: list[int]) -> None:
        assert not self.shutting_down
        self.waiting += indices

    def shutdown(self) -> None:
        self.shutting_down = True

    @property
    def can_judge(self) -> bool:
        """Whether it knows the next case, or that there is none."""
        return bool(self.waiting) and (len(self.waiting) > 1 or self.shutting_down)


class Dealt:
    """A run whose cases are dealt out to workers."""

    def __init__(self, costs: list[int | None], workers: int) -> None:
        config: Any = SimpleNamespace(getvalue=lambda _: [f"{workers}*popen"], hook=SimpleNamespace(pytest_collectreport=self.complain))
        first, others = longest_first(costs)
        self.scheduler = Scheduler(config, lambda _: (first, lambda: self.find(others)))
        self.ids = [str(number) for number in range(len(costs))]
        self.complaints: list[str] = []
        self.waiting_meanwhile: list[list[int]] = []
        self.workers = [self.add(f"gw{number}") for number in range(workers)]
        self.scheduler.schedule()

    def add(self, name: str, *more: str) -> Any:
        worker: Any = Worker(name)
        self.scheduler.add_node(worker)
        self.scheduler.add_node_collection(worker, [*self.ids, *more])
        return worker

    def find(self, others: list[int]) -> list[int]:
        """Find the cases that do not come first."""
        self.waiting_meanwhile = [list(worker.waiting) for worker in self.scheduler.nodes]  # type: ignore[attr-defined]
        return others

    def complain(self, report: Any) -> None:
        self.complaints.append(report.longrepr)

    def judge(self, worker: Any) -> None:
        """Let a worker judge its next case."""
        worker.judged.append(number := worker.waiting.pop(0))
        self.scheduler.mark_test_complete(worker, number)

    def finish(self) -> list[int]:
        """Let all workers judge in turns, and return the numbers of the judged cases."""
        while able := [worker for worker in self.workers if worker.can_judge]:
            for worker in able:
                self.judge(worker)
        return sorted(number for worker in self.workers for number in worker.judged)


@given(COSTS, WORKERS)
def test_every_case_is_judged_once(costs, workers):
    dealt = Dealt(costs, workers)
    assert dealt.finish() == list(range(len(costs)))
    assert dealt.scheduler.tests_finished
    assert all(worker.shutting_down for worker in dealt.workers)


@given(COSTS)
def test_long_cases_come_first_and_the_others_in_their_order(costs):
    long, others = longest_first(costs)
    assert sorted([*long, *others]) == list(range(len(costs)))
    assert [costs[number] for number in long] == sorted((cost for cost in costs if cost), reverse=True)
    assert others == sorted(others)


def test_workers_have_the_first_cases_while_the_others_are_found():
    dealt = Dealt([4, 3, 2, 1, None], 2)
    assert dealt.waiting_meanwhile == [[0, 2], [1, 3]]


def test_each_process_begins_with_a_quick_case_of_the_family_of_most_long_cases(tmp_path):
    (tmp_path / "golden").mkdir()
    write_costs(tmp_path, Costs(cases={"b[x]": 5, "b[y]": 6, "a[x]": 7}))
    ids = ["a[w]", "a[x]", "b[told]", "b[v]", "b[w]", "b[x]", "b[y]", "b[z]"]
    first, others = order_of(tmp_path, ids, lambda family: {"b[told]"} if family == "b" else (), 2)
    assert [ids[number] for number in first] == ["b[v]", "b[w]", "a[x]", "b[y]", "b[x]"]
    assert [ids[number] for number in others()] == ["a[w]", "b[z]"]


def test_each_worker_has_neighbours_of_its_own_part():
    for begin, worker in zip((0, 200), Dealt([None] * 400, 2).workers, strict=True):
        assert worker.waiting == list(range(begin, begin + len(worker.waiting)))
        assert len(worker.waiting) > AHEAD


def test_a_worker_that_is_done_takes_from_the_end_of_the_largest_part():
    dealt = Dealt([None] * 40, 2)
    quick = dealt.workers[0]
    while quick.can_judge:
        dealt.judge(quick)
    assert quick.judged == [*range(20), *range(39, 21, -1)]


@given(WORKERS.filter(lambda workers: workers > 1), st.integers(1, 100))
def test_no_long_case_waits_behind_others_than_the_one_before_it(workers, count):
    dealt = Dealt([5] * count, workers)
    assert all(len(worker.waiting) <= AHEAD for worker in dealt.workers)


def test_few_cases_are_spread_over_the_workers():
    assert [worker.waiting for worker in Dealt([None] * 3, 3).workers] == [[0], [1], [2]]


@given(COSTS.filter(lambda costs: len(costs) > 3))
def test_the_cases_of_a_worker_that_died_are_judged_by_others_except_the_one_that_it_judged(costs):
    dealt = Dealt(costs, 2)
    dead = dealt.workers.pop()
    died_in = int(dealt.scheduler.remove_node(dead) or -1)
    dealt.workers.append(dealt.add("gw2"))
    dealt.scheduler.schedule()
    assert died_in == dead.waiting[0]
    assert dealt.finish() == [number for number in range(len(costs)) if number != died_in]


def test_a_worker_that_has_collected_other_cases_gets_none_and_is_named():
    dealt = Dealt([None] * 200, 2)
    other = dealt.add("gw2", "another")
    dealt.scheduler.schedule()
    assert (other.waiting, other.shutting_down) == ([], True)
    assert len(dealt.complaints) == 1
    assert "gw2" in dealt.complaints[0]
