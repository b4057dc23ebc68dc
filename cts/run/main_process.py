"""The parts of a run that the main process does itself: verdicts that need no device, before all others, and cases alone, after them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from queue import Queue
from typing import Any

import pytest

from cts.devices.device import DeviceUnavailable
from cts.engine.alone import Alone
from cts.engine.foretelling import Foretelling, results
from cts.engine.judging import Judged
from cts.engine.neighbours import Claim, Neighbours
from cts.engine.plan import Plan, plan_to_bytes
from cts.engine.run import Run
from cts.journal.journal import JournalError
from cts.journal.record import SEVERAL_LINES, encode, result_of
from cts.journal.run_record import finding_of
from cts.journal.strict_json import parse
from cts.run import FINDINGS, PLAN
from cts.run.reports import contents, ended_without_journal, verdict_report
from cts.verdict.verdict import ENDED_WELL


class Meanwhile:
    """The queue of pytest-xdist's loop. While no worker has said anything, the process does other work, in small steps.

    Args:
        said: the queue of what the workers say.
        steps: does one step of the other work at each turn.
    """

    def __init__(self, said: Queue[Any], steps: Iterator[object]) -> None:
        self._said = said
        self._steps = steps
        self.put = said.put

    def get(self, timeout: float | None = None) -> Any:
        """Return what a worker said, after as many steps as there is time for.

        Raises:
            Empty: there are no steps left, and no worker has said anything for ``timeout`` seconds.
        """
        while self._said.empty():
            if next(self._steps, None) is None:
                break
        return self._said.get(timeout=timeout)


class Foretold:
    """Gives the verdicts that are known without the device: those of one family before there are workers, and the others whenever no
    worker has anything to say. A run without workers gives all of them before it judges.
    """

    def __init__(self, run: Run, foretelling: Foretelling) -> None:
        self._run = run
        self._foretelling = foretelling
        self._left = dict.fromkeys(foretelling.cases)
        self._has_begun = False
        self._ended: KeyboardInterrupt | None = None

    def ids_of(self, family: str) -> frozenset[str]:
        """Return the ids of a family's cases whose verdicts are known."""
        return self._foretelling.told_ids_of(family)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_setupnodes(self, config: pytest.Config) -> None:
        """Give the verdicts of one family before pytest-xdist starts its processes; the verdicts of all families would delay them."""
        first = next(filter(self._foretelling.told, self._left), None)
        if first is not None:
            deque(self._report(config, first), maxlen=0)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionstart(self) -> Iterator[None]:
        """Write summary and reports if a run is ended while its processes start; pytest would write neither."""
        try:
            return (yield)
        except KeyboardInterrupt as error:
            if not self._has_begun:
                raise
            self._ended = error

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Iterator[None]:
        if self._ended is not None:
            raise self._ended
        told = (step for steps in (self._find, self._report) for name in list(self._left) for step in steps(session.config, name))
        controller = session.config.pluginmanager.get_plugin("dsession")
        if controller is None:
            deque(told, maxlen=0)
            return (yield)
        controller.queue = Meanwhile(controller.queue, told)
        try:
            result = yield
        except session.Interrupted:
            # The user's -x, for example, concerns cases that run. These verdicts are certain.
            deque(told, maxlen=0)
            raise
        deque(told, maxlen=0)
        return result

    def _find(self, _: pytest.Config, name: str) -> Iterator[object]:
        """Find the cases of one family before any verdict is given, because no worker gets a case before all are found."""
        yield self._foretelling.told(name)

    def _report(self, config: pytest.Config, name: str) -> Iterator[object]:
        """Give the verdicts of the cases of one family, one at each turn: if the run is ended here, its counts agree with its journal."""
        run, told = self._run, self._foretelling.told(name)
        del self._left[name]
        self._has_begun = True
        for result in results(run.selected.selection, run.settings, told):
            with ended_without_journal():
                run.keep(encode(result))
            report = verdict_report(run.nodeid(result.id), Judged(result, time.time()), run.settings.passing)
            config.hook.pytest_runtest_logreport(report=report)
            yield report


class Workers:
    """Hands the plan to other processes and decides their claims. Collects what they set aside, and judges that when all have ended."""

    def __init__(self, run: Run, alone: Alone, plan: Plan) -> None:
        self._run = run
        self._made = plan
        self._alone = alone
        self._neighbours = Neighbours()
        self._has_finding = False
        self._session: pytest.Session | None = None

    @cached_property
    def _plan(self) -> bytes:
        # If the items are known, no other process needs what selected them.
        made = self._made
        return plan_to_bytes(made if made.asked is None else replace(made, named={}, listed=None))

    @cached_property
    def _nodeids(self) -> Sequence[str]:
        return [self._run.nodeid(id_) for id_ in self._run.selected.asked or ()]

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[PLAN] = self._plan
        self._neighbours.begins(node.workerinput["workerid"])

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Complete what a worker says: it does not repeat the ids that its plan has (cts.run.collection.KnownItems)."""
        if not ids:
            ids += self._nodeids

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object | None) -> None:
        found = getattr(node, "workeroutput", None) or {}
        self._run.findings += map(finding_of, found.get(FINDINGS, ()))
        self._neighbours.ends(node.workerinput["workerid"], died=error is not None)
        self._decide()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        said = contents(report)
        if said is None:
            return
        self._alone.add(said.asides)
        if said.digest is not None and said.digest.verdict in ENDED_WELL:
            self._alone.passed(said.id, said.digest.family, said.digest.seconds)
        if said.stretch is not None:
            doubtful = tuple(aside for aside in said.asides if aside.line)
            self._neighbours.reports(said.stretch, said.claim or (Claim(asides=doubtful) if doubtful else None))
            self._decide()
        elif said.claim is not None:
            self._count(said.claim)

    def _decide(self) -> None:
        """Give the verdicts of the claims that count, and judge the others alone."""
        for claim, counts in self._neighbours.decided():
            if counts:
                self._count(claim)
            else:
                (self._alone.add if claim.lines else self._alone.excuse)(claim.asides)

    def _count(self, claim: Claim) -> None:
        if not self._has_finding:
            # A driver that wears out would cause one for each process.
            self._has_finding = bool(claim.findings)
            self._run.findings += map(finding_of, claim.findings[:1])
        for line in claim.lines:
            assert self._session is not None, "cases are judged in the loop"
            with ended_without_journal():
                self._report(self._session, self._alone.claimed(result_of(parse(line, SEVERAL_LINES))))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Iterator[None]:
        self._session = session
        result = yield
        if self._alone.waiting and not session.shouldstop and not session.shouldfail:
            try:
                for event in self._alone.judge_all():
                    if isinstance(event, Judged):
                        self._report(session, event)
                    else:
                        self._say(session.config, event)
            except (DeviceUnavailable, JournalError) as error:
                raise session.Interrupted(str(error)) from None
        return result

    def _report(self, session: pytest.Session, judged: Judged) -> None:
        report = verdict_report(self._run.nodeid(judged.result.id), judged, self._run.settings.passing)
        session.config.hook.pytest_runtest_logreport(report=report)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)

    @staticmethod
    def _say(config: pytest.Config, line: str) -> None:
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None and config.get_verbosity() >= 0:
            reporter.ensure_newline()
            reporter.write_line(line)
