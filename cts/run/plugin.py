"""The pytest plugin: ``pytest cts`` judges cases. In a run that names neither ``cts`` nor ``cases/`` it does nothing.

cts.engine judges. The other modules here collect cases as items, deal them out to the processes of pytest-xdist, and show what happens.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from cts.checkout import check_own, is_root, suite_root
from cts.engine.garbage import all_kept
from cts.engine.options import OPTIONS, given
from cts.engine.request import Request, in_cases, is_suite, parse_arguments
from cts.exit_codes import BAD_INPUT
from cts.output import CLOSED, MOST_CHARACTERS, commands_stopped, complain, unwritable
from cts.printable import printable_line
from cts.run.output_guard import GuardedOutput, OutputEnding, guarded
from generators.errors import CtsError

if TYPE_CHECKING:
    # Imported where they are used, so a run that does not concern the suite does not load them.
    from xdist.scheduler import Scheduling

    from cts.engine.plan import Plan

_PLAN = "cts"
"""Key of a worker's input: the plan."""
_WORD = pytest.StashKey[str]()
"""Key of the word with which GitHub obeys commands again (cts.output.commands_stopped)."""
_GUARD = pytest.StashKey[GuardedOutput]()
_SCHEDULES = pytest.StashKey[bool]()
"""Key that tells whether the suite deals out the cases. A user may have chosen another scheduler by ``--dist``."""
_FEW = 4
"""How many cases a process gets at once, if their order matters."""
_HYPOTHESIS = "hypothesispytest"
"""A plugin of pytest, by its name."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the suite's options. Their values are checked later, so a wrong one ends with one line and exit code 2."""
    group = parser.getgroup("cts", "conformance suite (pytest cts)")
    for option in OPTIONS:
        group.addoption(f"--{option.name}", dest=f"cts_{option.key}", **option.arguments)


def _options(config: pytest.Config) -> dict[str, Any]:
    return {option.key: config.getoption(f"cts_{option.key}") for option in OPTIONS}


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, object, object]:
    """Prepare the output, and choose how pytest-xdist distributes cases. A run that cannot print ends here.

    Runs of other projects do not change: the plugin is loaded wherever the suite is installed.
    """
    if not _concerned(config):
        return (yield)
    if sys.stdout is None:
        complain(unwritable(CLOSED))
        # pytest itself would fail to flush it.
        raise SystemExit(BAD_INPUT)
    if hasattr(config, "workerinput"):
        return (yield)
    if (config.getoption("numprocesses", None) or config.getoption("tx", None)) and config.getoption("dist") == "no":
        config.option.dist = "load"
        config.stash[_SCHEDULES] = True
    with ExitStack() as stack:
        config.stash[_GUARD] = stack.enter_context(guarded())
        config.stash[_WORD] = stack.enter_context(commands_stopped(sys.stdout))
        return (yield)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config) -> Scheduling | None:
    """Return the suite's scheduler, if the user has not chosen another one: a few cases take minutes and most take milliseconds."""
    if not config.stash.get(_SCHEDULES, False):
        return None
    from cts.engine.costs import longest_first, read_costs
    from cts.run.scheduling import Scheduler

    if config.getoption("cts_time_limit"):
        return Scheduler(config, lambda ids: (list(range(len(ids))), []), _FEW)
    costs = read_costs(suite_root(config.rootpath))
    return Scheduler(config, lambda ids: longest_first([costs.cases.get(id_.partition("::")[2]) for id_ in ids]))


def _controls(config: pytest.Config) -> bool:
    """Tell whether this process only hands cases to others. pytest-xdist decides this, maybe after this plugin is configured."""
    return config.getoption("dist", "no") != "no" and bool(config.getoption("tx", None)) and not config.option.collectonly


def _concerned(config: pytest.Config) -> bool:
    """Tell whether this run judges cases, or runs the suite's own tests."""
    root, directory = suite_root(config.rootpath), config.invocation_params.dir
    if is_root(config.rootpath):
        return True
    pyargs = bool(config.getoption("pyargs"))
    return any(is_suite(argument, directory, root, pyargs) for argument in config.args)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Set up the run, if it concerns the suite.

    This hook runs after pytest's own plugins are configured, because it uses their reporter.
    """
    if config.getoption("help", False) or config.getoption("version", 0):
        return
    try:
        _configure(config)
    except CtsError as error:
        _refuse(str(error))


def _refuse(message: str) -> NoReturn:
    pytest.exit(printable_line(" ".join(message.split()))[:MOST_CHARACTERS], returncode=BAD_INPUT)


def _configure(config: pytest.Config) -> None:
    if config.getoption("rootdir", None) is None:
        check_own(config.rootpath)
    root = suite_root(config.rootpath)
    directory = config.invocation_params.dir
    worker_input: Mapping[str, Any] | None = getattr(config, "workerinput", None)
    if worker_input is not None:
        if _PLAN in worker_input:
            with all_kept():
                _join(config, worker_input)
        return
    options = _options(config)
    names = given(options)
    request = parse_arguments(config.args, directory, root, bool(config.getoption("pyargs")))
    if request is None:
        if names and not is_root(root):
            raise CtsError(f"pytest's rootdir {root} is not a checkout of the suite: give --rootdir the folder that has cases/ and cts/")
        if names:
            raise CtsError(f"{names[0]} is an option of the conformance suite: name what to judge, for example 'pytest cts {names[0]} …'")
        return
    if request.everything:
        # The whole suite includes everything else that is named in it; pytest would collect that twice.
        config.args[:] = [argument for argument in config.args if not in_cases(argument, directory, root)]
    if request.alone:
        # Hypothesis' plugin has nothing to do for cases, but its summary takes a second to import all of Hypothesis.
        config.pluginmanager.unregister(name=_HYPOTHESIS)
    with all_kept():
        _start(config, request, options)


def _start(config: pytest.Config, request: Request, options: Mapping[str, Any]) -> None:
    """Set up the only process, or the controller of pytest-xdist."""
    from cts.engine.setup import Invocation, prepare
    from cts.run.github import from_environment
    from cts.run.main_process import Ending, Foretold
    from cts.run.overview import Overview
    from cts.run.signals import Endings

    controls, register = _controls(config), config.pluginmanager.register
    if controls and config.getoption("dist") == "each":
        raise CtsError("--dist each: every process would judge every case: leave it out, or use --repeat to judge each case several times")
    invocation = Invocation(
        root=suite_root(config.rootpath),
        directory=config.invocation_params.dir,
        request=request,
        options=options,
        words=config.option.keyword,
        command=[os.fspath(argument) for argument in config.invocation_params.args],
        processes=config.getoption("numprocesses", None) if controls else 1,
        lists_only=config.option.collectonly,
        selects_items=any(
            getattr(config.option, name, None) for name in ("keyword", "markexpr", "deselect", "collectonly", "lf", "failedfirst")
        ),
    )
    prepared = prepare(invocation)
    run = prepared.run
    register(Endings(), "cts-signals")
    if (guard := config.stash.get(_GUARD, None)) is not None:
        register(OutputEnding(guard), "cts-output")
    register(Overview(run), "cts-overview")
    if (github := from_environment(config.stash.get(_WORD, ""), run.directory, run.settings.passing)) is not None:
        register(github, "cts-github")
    register(Ending(run, prepared.alone), "cts-ending")
    if prepared.reasons is not None:
        register(Foretold(run, prepared.reasons), "cts-foretold")
    if controls:
        check_sendable(config.invocation_params.args)
        register(Controller(prepared.plan), "cts-controller")
    else:
        from cts.engine.setup import worker
        from cts.run.judging import ItemJudging

        judges = worker(prepared.plan, prepared.selection, prepared.findings, None, bool(config.getoption("maxfail")))
        register(ItemJudging(invocation.root, judges), "cts-judging")


def _join(config: pytest.Config, worker_input: Mapping[str, Any]) -> None:
    """Set up a worker of pytest-xdist."""
    from cts.engine.plan import plan_from_bytes
    from cts.engine.setup import worker
    from cts.run.judging import ItemJudging
    from cts.run.signals import ignore
    from generators.casebook import load_casebook

    ignore()
    root = suite_root(config.rootpath)
    plan = plan_from_bytes(worker_input[_PLAN])
    place = worker_input["workerid"], worker_input["workercount"]
    judges = worker(plan, plan.selection(load_casebook(root)), [], place, bool(config.getoption("maxfail")))
    config.pluginmanager.register(ItemJudging(root, judges), "cts-judging")


class NotSendable(CtsError):
    """pytest-xdist cannot send an argument to its workers."""


def check_sendable(arguments: Sequence[str | os.PathLike[str]]) -> None:
    """Refuse arguments that pytest-xdist cannot send to its workers.

    Raises:
        NotSendable: the bytes of an argument are not UTF-8.
    """
    for argument in [os.fspath(one) for one in arguments]:
        if any("\ud800" <= character <= "\udfff" for character in argument):
            raise NotSendable(
                f"-n: pytest-xdist cannot send an argument whose bytes are not UTF-8 ({argument}): name another path, or leave out -n"
            )


class Controller:
    """Hands the plan to each worker of pytest-xdist."""

    def __init__(self, plan: Plan) -> None:
        from cts.engine.plan import plan_to_bytes

        self._plan = plan_to_bytes(plan)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[_PLAN] = self._plan
