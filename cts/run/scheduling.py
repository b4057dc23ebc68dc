"""Hands cases out to the workers of pytest-xdist, in the order of cts.engine.dealing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from xdist.workermanage import WorkerController, parse_tx_spec_config

from cts.engine.costs import Order
from cts.engine.dealing import AHEAD, MOST, Dealing


class Scheduler:
    """Deals out cases, as xdist.scheduler.Scheduling demands.

    Args:
        config: pytest's configuration.
        order: returns the order of the cases with some node ids.
        ahead: how many of the first cases a worker has.
    """

    def __init__(self, config: pytest.Config, order: Callable[[Sequence[str]], Order], ahead: int = AHEAD) -> None:
        self._config = config
        self._workers = len(parse_tx_spec_config(config))
        self._order = order
        self._ahead = ahead
        self._collections: dict[WorkerController, list[str]] = {}
        self._given: dict[WorkerController, list[int]] = {}
        self._ids: list[str] | None = None
        self._dealing = Dealing(())

    @property
    def nodes(self) -> list[WorkerController]:
        return list(self._given)

    @property
    def collection_is_completed(self) -> bool:
        return len(self._collections) >= self._workers

    @property
    def tests_finished(self) -> bool:
        return self.collection_is_completed and not self._dealing.left and all(len(given) < AHEAD for given in self._given.values())

    @property
    def has_pending(self) -> bool:
        return bool(self._dealing.left) or any(self._given.values())

    def add_node(self, node: WorkerController) -> None:
        self._given[node] = []

    def add_node_collection(self, node: WorkerController, collection: Sequence[str]) -> None:
        self._collections[node] = list(collection)
        if self._ids is not None and self._collections[node] != self._ids:
            # A new worker, after another one died.
            self._given.pop(node)
            self._complain(node)
            node.shutdown()

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:  # noqa: ARG002 (pytest-xdist passes it)
        self._given[node].remove(item_index)
        self._deal(node)

    def mark_test_pending(self, item: str) -> None:
        assert self._ids is not None, "only a case that was dealt out comes back"
        self._dealing.put_back([self._ids.index(item)])
        self._deal_all()

    def remove_pending_tests_from_node(self, node: WorkerController, indices: Sequence[int]) -> None:
        raise NotImplementedError("no worker gives cases back")

    def remove_node(self, node: WorkerController) -> str | None:
        given = self._given.pop(node)
        if not given:
            return None
        assert self._ids is not None, "a worker has cases only after the collection"
        self._dealing.put_back(given[1:])
        self._deal_all()
        return self._ids[given[0]]

    def schedule(self) -> None:
        if self._ids is None:
            self._ids = next(iter(self._collections.values()))
            if differing := [node for node, ids in self._collections.items() if ids != self._ids]:
                self._complain(differing[0])
                return
            first, others = self._order(self._ids)
            self._dealing = Dealing(first, self._ahead)
            # The workers judge these while the others are found.
            self._deal_in_turns()
            self._dealing.divide(others(), self.nodes)
        self._deal_all()

    def _complain(self, node: WorkerController) -> None:
        """Report that a worker has collected other cases. Then nothing is dealt out."""
        text = f"{node.gateway.id} has collected other cases than the first worker"
        report = pytest.CollectReport(nodeid=node.gateway.id, outcome="failed", longrepr=text, result=[])
        self._config.hook.pytest_collectreport(report=report)

    def _deal_all(self) -> None:
        self._deal_in_turns()
        for node in self.nodes:
            self._deal(node)

    def _deal_in_turns(self) -> None:
        """Give each worker a case that needs one before any worker gets two: there may be few."""
        for _ in range(AHEAD):
            for node in self.nodes:
                self._give(node, most=1)

    def _deal(self, node: WorkerController) -> None:
        """Give a worker more cases if it needs some; tell it if there are none."""
        self._give(node)
        if not self._dealing.left:
            node.shutdown()

    def _give(self, node: WorkerController, most: int = MOST) -> None:
        given = self._given[node]
        if not node.shutting_down and (dealt := self._dealing.take(node, len(given), most)):
            given += dealt
            node.send_runtest_some(dealt)
