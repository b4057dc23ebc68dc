"""The pytest plugin: ``pytest cts`` judges cases. In a run that names neither ``cts`` nor ``cases/`` it does nothing.

cts.engine judges. The other modules here collect cases as items, deal them out to the processes of pytest-xdist, and show what happens.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

import pytest

from cts.checkout import check_own, is_root, suite_root
from cts.engine.each_chip import check_named, chips_of, run_each
from cts.engine.garbage import all_kept, end_without_search
from cts.engine.options import OPTIONS, given
from cts.engine.request import Request, check_sendable, check_unconcerned, in_cases, is_suite, parse_arguments
from cts.exit_codes import BAD_INPUT
from cts.output import CLOSED, MOST_CHARACTERS, GuardedOutput, commands_stopped, complain, guarded, unwritable
from cts.printable import printable_line
from cts.run import PLAN
from cts.run.forking import Forking, can_fork
from cts.signals import ending, ignore
from cts.threads import use_one_thread
from generators.errors import CtsError

if TYPE_CHECKING:
    # Imported where they are used, so a run that does not concern the suite does not load them.
    from xdist.scheduler import Scheduling

    from cts.engine.costs import Order
    from cts.run.main_process import Foretold


_WORD = pytest.StashKey[str]()
"""Key of the word with which GitHub obeys commands again (cts.output.commands_stopped)."""
_GUARD = pytest.StashKey[GuardedOutput]()
_SCHEDULES = pytest.StashKey[bool]()
"""Key that tells whether the suite deals out the cases. A user may have chosen another scheduler by ``--dist``."""
_FEW = 4
"""How many cases a process gets at once, if their order matters."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the suite's options. Their values are checked later, so a wrong one ends with one line and exit code 2."""
    group = parser.getgroup("cts", "conformance suite (pytest cts)")
    for option in OPTIONS:
        group.addoption(f"--{option.name}", dest=f"cts_{option.key}", **option.arguments)


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, object, object]:
    """Prepare the output, and choose how pytest-xdist distributes cases. A run that cannot print ends here.

    Runs of other projects do not change: the plugin is loaded wherever the suite is installed.
    """
    if not _concerned(config):
        return (yield)
    use_one_thread()
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
        stack.enter_context(ending())
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, object, object]:
    """Set the exit code of a run whose output was lost."""
    guard = session.config.stash.get(_GUARD, None)
    if guard is None:
        return (yield)
    guard.is_ending = True
    try:
        return (yield)
    finally:
        guard.flush()
        if guard.is_lost:
            session.exitstatus = BAD_INPUT


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Let a process that judged or handed out cases end at once."""
    if _GUARD in config.stash or PLAN in getattr(config, "workerinput", ()):
        end_without_search()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config) -> Scheduling | None:
    """Return the suite's scheduler, if the user has not chosen another one: a few cases take minutes and most take milliseconds."""
    if not config.stash.get(_SCHEDULES, False):
        return None
    from xdist.workermanage import parse_tx_spec_config

    from cts.engine.costs import order_of
    from cts.run.scheduling import Scheduler

    if config.getoption("cts_time_limit"):
        return Scheduler(config, lambda ids: (range(len(ids)), list), _FEW)
    foretold: Foretold | None = config.pluginmanager.get_plugin("cts-foretold")

    def order(nodeids: Sequence[str]) -> Order:
        told: Callable[[str], Collection[str]] = (lambda _: ()) if foretold is None else foretold.ids_of
        ids, processes = [nodeid.partition("::")[2] for nodeid in nodeids], len(parse_tx_spec_config(config))
        return order_of(suite_root(config.rootpath), ids, told, processes)

    return Scheduler(config, order)


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
        pytest.exit(printable_line(" ".join(str(error).split()))[:MOST_CHARACTERS], returncode=BAD_INPUT)


def _configure(config: pytest.Config) -> None:
    if config.getoption("rootdir", None) is None:
        check_own(config.rootpath)
    root, directory = suite_root(config.rootpath), config.invocation_params.dir
    worker_input: Mapping[str, Any] | None = getattr(config, "workerinput", None)
    if worker_input is not None:
        if PLAN in worker_input:
            with all_kept():
                _join(config, worker_input)
        return
    options = {option.key: config.getoption(f"cts_{option.key}") for option in OPTIONS}
    names = given(options)
    request = parse_arguments(config.args, directory, root, bool(config.getoption("pyargs")))
    if request is None:
        check_unconcerned(root, names)
        return
    if chips := chips_of(options["device"] or ()):
        kept = options["report_dir"] and directory / options["report_dir"]
        cache = config.getini("cache_dir") if config.pluginmanager.has_plugin("cacheprovider") else ""
        code = run_each(chips, check_named(options["device"], config.invocation_params.args), kept, cache, config.getoption("maxfail") == 1)
        pytest.exit(f"chips were judged one after another: {', '.join(chips)}", returncode=code)
    if request.everything:
        # The whole suite includes everything else that is named in it; pytest would collect that twice.
        config.args[:] = [argument for argument in config.args if not in_cases(argument, directory, root)]
    if request.alone:
        _leave_out_hypothesis(config)
    if _controls(config) and can_fork():
        with suppress(OSError):
            listed = directory / options["case_list"] if options["case_list"] else None
            config.pluginmanager.register(Forking(root, _early(config, options), listed), "cts-forking")
    with all_kept():
        _start(config, request, options)


def _leave_out_hypothesis(config: pytest.Config) -> None:
    """Unregister Hypothesis' plugin: it has nothing to do for cases, but its summary takes a second to import all of Hypothesis."""
    config.pluginmanager.unregister(name="hypothesispytest")


def _early(config: pytest.Config, options: Mapping[str, Any]) -> int:
    """Return how many workers may start the process of their Vulkan device before the device is known: all, or none."""
    from xdist.workermanage import parse_tx_spec_config

    is_certain = options["require_vulkan"] and not any(options[name] for name in ("validation", "compile_only", "isolation", "device"))
    workers = parse_tx_spec_config(config) if is_certain else []
    # The only process opens its device when it needs it. Workers elsewhere are not forked here.
    return len(workers) if len(workers) > 1 and all(spec == "popen" for spec in workers) else 0


def _start(config: pytest.Config, request: Request, options: Mapping[str, Any]) -> None:
    """Set up the only process, or the controller of pytest-xdist."""
    from cts.devices.listing import begin_listing

    # The drivers start while this process imports the rest.
    listed = None if options["device"] or options["open_timeout"] else begin_listing()
    from cts.engine.setup import Invocation, prepare
    from cts.run.main_process import Foretold, Workers
    from cts.run.overview import Overview

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
        deselected=tuple(config.getoption("deselect", None) or ()),
        selects_items=any(getattr(config.option, name, None) for name in ("markexpr", "collectonly", "lf", "failedfirst", "newfirst")),
        deals=config.stash.get(_SCHEDULES, False),
        resuming=config.stash.get(_WORD, ""),
        listed=listed,
    )
    prepared = prepare(invocation)
    run = prepared.run
    register(Overview(run), "cts-overview")
    register(Workers(run, prepared.alone, prepared.plan), "cts-workers")
    if prepared.foretelling is not None:
        register(Foretold(run, prepared.foretelling), "cts-foretold")
    if controls:
        check_sendable(config.invocation_params.args)
    else:
        from cts.engine.setup import worker
        from cts.run.judging import ItemJudging

        judges = worker(prepared.plan, prepared.selection, prepared.findings, None, bool(config.getoption("maxfail")))
        register(ItemJudging(invocation.root, judges), "cts-judging")


def _join(config: pytest.Config, worker_input: Mapping[str, Any]) -> None:
    """Set up a worker of pytest-xdist."""
    from cts.engine.plan import plan_from_bytes
    from cts.engine.setup import casebook_of, worker
    from cts.run.collection import KnownItems
    from cts.run.judging import ItemJudging

    ignore()
    root = suite_root(config.rootpath)
    plan = plan_from_bytes(worker_input[PLAN])
    place = worker_input["workerid"], worker_input["workercount"]
    if plan.asked is not None:
        # Cases are all that this run has.
        _leave_out_hypothesis(config)
    selection = plan.selection(casebook_of(root))
    judges = worker(plan, selection, [], place, bool(config.getoption("maxfail")))
    if selection.asked is not None and plan.settings.limit is None:
        config.pluginmanager.register(KnownItems(selection), "cts-items")
    config.pluginmanager.register(ItemJudging(root, judges), "cts-judging")
