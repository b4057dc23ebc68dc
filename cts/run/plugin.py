"""The pytest plugin: ``pytest cts`` judges cases. In a run that names neither ``cts`` nor ``cases/`` it does nothing.

This module has the options and sets up a run; cts.run.judging collects and judges, and cts.run.overview prints.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

import pytest

from cts.checkout import check_own, is_root, suite_root
from cts.exit_codes import BAD_INPUT
from cts.printable import portable_argument, printable_line
from cts.run.garbage import all_kept
from cts.run.options import Request, in_cases, is_suite, parse_arguments
from cts.run.output import CLOSED, MOST_CHARACTERS, commands_stopped, complain, unwritable
from generators.errors import CtsError

if TYPE_CHECKING:
    # Imported where they are used, so a run that does not concern the suite does not load them.
    from cts.devices.device import Finding
    from cts.run.neighbours import Neighbours
    from cts.run.plan import Plan
    from cts.run.selection import Selection
    from cts.run.session import Settings

WORKER_INPUT = "cts"
WORKER_ROW = "cts_row"
"""Key of a worker's input: the number of its row (cts.run.neighbours)."""
_WORD = pytest.StashKey[str]()
"""Key of the word with which GitHub obeys commands again (cts.run.output.commands_stopped)."""
_FEW = 4
"""How many cases pytest-xdist gives a process at a time, if their order matters."""
_HYPOTHESIS = "hypothesispytest"
"""A plugin of pytest, by its name."""

_OPTIONS = (
    "tier",
    "device",
    "front_end",
    "case_list",
    "shard",
    "report_dir",
    "validation",
    "resume",
    "retry",
    "repeat",
    "rounds",
    "time_limit",
    "require_vulkan",
    "embedded_mapping",
    "step_timeout",
    "open_timeout",
    "open_attempts",
    "open_pause",
    "isolation",
    "known_failures",
    "no_known_failures",
    "fail_on_quality",
    "log_failures",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the suite's options. Their values are checked later, so a wrong one ends with one line and exit code 2."""
    group = parser.getgroup("cts", "conformance suite (pytest cts)")

    def add(name: str, help_: str, **keywords: Any) -> None:
        group.addoption(f"--{name}", dest=_dest(name.replace("-", "_")), help=help_, **keywords)

    add("tier", "smoke, nightly or full: how many of the cases are selected (default: smoke)", metavar="TIER")
    add(
        "device",
        "the device to judge: all (every Vulkan device with cooperative matrices), embedded, embedded:PROFILE, spirv-val, part of a Vulkan "
        "device's name, its UUID or its index; "
        "see 'cts devices' (default: the best Vulkan device with cooperative matrices, else embedded). Given several times, or all: the "
        "processes of -n share these devices, which must be identical, and each case is judged on one",
        metavar="DEVICE",
        action="append",
    )
    add("front-end", "spirv (assembled by the suite) or glsl (compiled by glslang) (default: spirv)", metavar="NAME")
    add(
        "case-list",
        "judge the cases named in FILE, in any tier: one id per line, # comments, NAME.txt for another list",
        metavar="FILE",
    )
    add(
        "shard",
        "judge only part K of N parts of about equal cost, which are the same on every machine; 'cts merge' joins their report directories",
        metavar="K/N",
    )
    add("report-dir", "keep results as they are judged, and reports, in DIR", metavar="DIR")
    add("resume", "continue the run in DIR of --report-dir: judge only the cases that it has not judged", action="store_true")
    add(
        "retry",
        "with --resume: judge again the cases that ended as one of VERDICTS, separated by commas, of fail, crash, timeout, device_lost, "
        "flaky, resource_error, error",
        metavar="VERDICTS",
    )
    add("repeat", "judge each case N times (default: 1)", metavar="N")
    add("rounds", "run each dispatch N times, and compare each result (default: 3 on a GPU, else 1)", metavar="N")
    add(
        "time-limit",
        "start no more cases SECONDS after the start; cases that cover most pairs of parameters come first, the run counts the rest, "
        "and --resume continues with it (default: none)",
        metavar="SECONDS",
    )
    add("require-vulkan", "exit with 2 if there is no Vulkan device to judge, instead of judging the embedded one", action="store_true")
    add("validation", "load the Vulkan validation layer; any message from it is an error of the suite", action="store_true")
    add(
        "embedded-mapping",
        "how the embedded device spreads a matrix over invocations, and, after a colon, the seed of its free choices (default: 0)",
        metavar="NAME:SEED",
    )
    add(
        "step-timeout",
        "seconds that an isolated device may take to make a pipeline, and to run a shader; time that it spends waiting for a processor is "
        "not counted (default: 60)",
        metavar="SECONDS",
    )
    add("open-timeout", "seconds that opening the device, and querying it, may take (default: 60)", metavar="SECONDS")
    add("open-attempts", "how often opening the device is tried before the run ends (default: 4)", metavar="N")
    add("open-pause", "seconds before it is tried again; each further pause is twice as long (default: 1)", metavar="SECONDS")
    add(
        "known-failures",
        "more known failures of the driver: a file in one of deqp-runner's formats, by the end of its name: -fails.txt (or .csv), "
        "-flakes.txt, -skips.txt, whose cases are not judged; or .yaml as in golden/known_failures; may be given several times",
        metavar="FILE",
        action="append",
    )
    add(
        "no-known-failures",
        "count the failures that golden/known_failures lists for the driver as ordinary failures",
        action="store_true",
    )
    add(
        "fail-on-quality",
        "exit with 1 if a result is permitted by the specification but not expected by this suite (quality_warning)",
        action="store_true",
    )
    add(
        "log-failures",
        "announce at most N failures as they occur, and explain at most N at the end; the reports have all (default: 20)",
        metavar="N",
    )
    add("isolation", "auto, on or off: whether a child process holds the device (default: auto, that is on for Vulkan)", metavar="WHEN")


def _dest(name: str) -> str:
    return f"cts_{name}"


def _options(config: pytest.Config) -> dict[str, Any]:
    return {name: config.getoption(_dest(name)) for name in _OPTIONS}


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, object, object]:
    """Let processes take cases from one another if ``-n`` is given without ``--dist``.

    Some cases take minutes and most take milliseconds, but pytest-xdist's default deals out hundreds at once. A run that cannot print ends
    here. Runs of other projects do not change: the plugin is loaded wherever the suite is installed.
    """
    if not _concerned(config):
        return (yield)
    if config.getoption("numprocesses", None) and config.getoption("dist") == "no":
        if config.getoption(_dest("time_limit")):
            # The processes take a few cases at a time from the front, so the most informative cases come first.
            config.option.dist = "load"
            config.option.maxschedchunk = config.getoption("maxschedchunk", None) or _FEW
        else:
            config.option.dist = "worksteal"
    if sys.stdout is None:
        complain(unwritable(CLOSED))
        # pytest itself would fail to flush it.
        raise SystemExit(BAD_INPUT)
    with nullcontext("") if hasattr(config, "workerinput") else commands_stopped(sys.stdout) as config.stash[_WORD]:
        return (yield)


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
    options = _options(config)
    worker_input: Mapping[str, Any] | None = getattr(config, "workerinput", None)
    if worker_input is not None:
        if WORKER_INPUT in worker_input:
            with all_kept():
                _join(config, worker_input[WORKER_INPUT])
        return
    for name, value in options.items():
        # A variable that a script forgot to set must not mean the default.
        if value == "" or (isinstance(value, list) and "" in value):
            raise CtsError(f"--{name.replace('_', '-')} is empty: give it a value, or leave it out")
    request = parse_arguments(config.args, directory, root, bool(config.getoption("pyargs")))
    if request is None:
        if any(options.values()) and not is_root(root):
            raise CtsError(f"pytest's rootdir {root} is not a checkout of the suite: give --rootdir the folder that has cases/ and cts/")
        if given := [f"--{name.replace('_', '-')}" for name, value in options.items() if value]:
            raise CtsError(f"{given[0]} is an option of the conformance suite: name what to judge, for example 'pytest cts {given[0]} …'")
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
    from cts.checkout import suite_version
    from cts.devices.identity import record_of
    from cts.devices.spec import DeviceSpec
    from cts.journal import journal
    from cts.journal.run_record import DeviceRecord, RunRecord
    from cts.kinds.foretelling import Foreteller
    from cts.run.alone import Alone
    from cts.run.attempts import Attempts, by_id
    from cts.run.control import proven_by
    from cts.run.foretold import Foretold, foretold, marks
    from cts.run.github import from_environment
    from cts.run.groups import checked_groups
    from cts.run.neighbours import new_file
    from cts.run.output_guard import OutputGuard
    from cts.run.overview import Overview, timestamp
    from cts.run.plan import Plan, checked_retry, log_failures
    from cts.run.selected import Selected
    from cts.run.selection import check_named, device_rows, list_ids, selection_digest
    from cts.run.session import open_holder
    from cts.run.shards import parse_shard
    from cts.run.signals import Endings
    from cts.run.tally import Digest, Tally
    from cts.verdict.known_failures import NONE_KNOWN, known_failures, with_files
    from generators.casebook import load_casebook

    root = suite_root(config.rootpath)
    if options["resume"] and not options["report_dir"]:
        raise CtsError("--resume continues the results in a report directory: name it with --report-dir DIR")
    if options["retry"] and not options["resume"]:
        raise CtsError("--retry judges again what an earlier run judged: add --resume")
    if _controls(config) and config.getoption("dist") == "each":
        raise CtsError("--dist each: every process would judge every case: leave it out, or use --repeat to judge each case several times")
    retry = checked_retry(options["retry"])
    shard = parse_shard(options["shard"]) if options["shard"] else None
    with ThreadPoolExecutor(1) as asking:
        # A driver answers in a separate process; read the casebook meanwhile.
        asked = asking.submit(checked_groups, options)
        casebook = load_casebook(root)
        named = check_named(casebook, request)
        listed = list_ids(casebook, config.invocation_params.dir / options["case_list"]) if options["case_list"] else None
        groups = asked.result()
    processes = config.getoption("numprocesses", None) if _controls(config) else 1
    if processes is not None and processes < len(groups):
        raise CtsError(f"--device: {len(groups)} devices need at least one process each: add -n {len(groups)} or more")
    driver = groups[0].description.driver
    known = NONE_KNOWN if options["no_known_failures"] else known_failures(root, casebook, driver)
    if options["known_failures"]:
        files = [config.invocation_params.dir / name for name in options["known_failures"]]
        known = with_files(known, files, casebook, driver)
    strict, shown = bool(options["fail_on_quality"]), log_failures(options["log_failures"])
    groups = tuple(replace(group, known=known, fail_on_quality=strict, log_failures=shown) for group in groups)
    settings = groups[0]
    version = suite_version()
    rows = device_rows(settings.description)

    reports: Path | None = None
    claim: int | None = None
    before: dict[tuple[str, int], Digest] = {}
    if options["report_dir"] and not config.option.collectonly:
        reports = (config.invocation_params.dir / options["report_dir"]).resolve()
        claim = journal.claim(reports)
        path = journal.prepare(reports, bool(options["resume"]))
        before = Digest.by_attempt(journal.read(path))
        device = record_of(settings.description, getattr(settings.spec, "number", -1))
        meta: RunRecord = {
            "suite_version": version,
            "device": cast("DeviceRecord", device),
            "units": tuple(group.unit for group in groups if group.unit),
            "selector": settings.spec.selector,
            "why": settings.why,
            "fallback": settings.fallback,
            "repeat": settings.repeat,
            "rounds": settings.rounds,
            "tier": settings.tier,
            "front_end": settings.front_end,
            "validation": bool(options["validation"]),
            "embedded_mapping": settings.spec.mapping if isinstance(settings.spec, DeviceSpec) else "",
            "isolated": settings.isolated,
            "known_failures": ", ".join(settings.known.names),
            "left_out_by": ", ".join(skips.name for skips in settings.known.skips),
            "shard": str(shard or ""),
            "selection": selection_digest(request, config.option.keyword, listed, rows),
            "command": shlex.join(["pytest", *map(portable_argument, map(str, config.invocation_params.args))]),
            "started": timestamp(),
        }
        if before:
            meta = journal.resumed_meta(reports, meta)
        journal.write_meta(reports, meta)

    retried = {key: digest for key, digest in before.items() if digest.verdict in retry}
    before = {key: digest for key, digest in before.items() if key not in retried}
    tally = Tally()
    for digest in before.values():
        tally.add(digest)
    proven = proven_by(before, casebook)
    config.pluginmanager.register(Endings(), "cts-signals")
    if (reporter := config.pluginmanager.get_plugin("terminalreporter")) is not None:
        config.pluginmanager.register(OutputGuard(reporter), "cts-output")
    attempts = Attempts(settings.repeat, by_id(before))
    plan = Plan(groups, rows, named, listed, attempts, proven, reports, _token(reports), shard)
    reasons = None
    if _foretells(config, request, settings):
        foreteller = Foreteller(settings.spec, settings.description, settings.front_end)
        reasons = foretold(plan.selection(casebook), foreteller)
        plan = replace(plan, foretold=marks(reasons))
    findings: list[Finding] = []
    selection = plan.selection(casebook)
    selected = Selected(selection)
    overview = Overview(version, groups, reports, selected, tally, retried, findings, claim)
    config.pluginmanager.register(overview, "cts-overview")
    if (github := from_environment(config.stash.get(_WORD, ""), reports, settings.passing)) is not None:
        config.pluginmanager.register(github, "cts-github")
    holders = [(group, open_holder(group, findings)) for group in groups]
    alone = Alone(casebook, holders, overview.journal, findings, proven)
    config.pluginmanager.register(alone, "cts-alone")
    if reasons is not None:
        config.pluginmanager.register(Foretold(casebook.root.parent, settings, selected, reasons, overview.journal), "cts-foretold")
    if _controls(config):
        check_sendable(config.invocation_params.args)
        if settings.isolated:
            plan = replace(plan, neighbours=new_file())
        config.pluginmanager.register(Controller(plan), "cts-controller")
    else:
        _judge(config, plan, 0, selection, findings)


def _foretells(config: pytest.Config, request: Request, settings: Settings) -> bool:
    """Tell whether unsupported cases need no items: they need them if an option of pytest selects or lists items."""
    given = [getattr(config.option, name, None) for name in ("keyword", "markexpr", "deselect", "collectonly", "lf", "failedfirst")]
    return request.everything and request.alone and settings.tier != "full" and not any(given)


def _join(config: pytest.Config, data: bytes) -> None:
    """Set up a worker of pytest-xdist, from a plan as data."""
    from cts.run.groups import group_of
    from cts.run.plan import plan_from_bytes
    from cts.run.signals import ignore
    from generators.casebook import load_casebook

    ignore()
    plan = plan_from_bytes(data)
    selection = plan.selection(load_casebook(suite_root(config.rootpath)))
    group = group_of(config.workerinput["workerid"], len(plan.groups))  # type: ignore[attr-defined]
    _judge(config, plan, group, selection, [])


def _judge(config: pytest.Config, plan: Plan, group: int, selection: Selection, findings: list[Finding]) -> None:
    from cts.journal.journal import RESULTS, Journal, join_writers
    from cts.run.judging import Judging
    from cts.run.session import open_holder

    here = plan.reports is not None and _token(plan.reports) == plan.token
    journal = None
    if plan.reports is not None and here:
        if hasattr(config, "workerinput"):
            join_writers(plan.reports)
        journal = Journal(plan.reports / RESULTS)
    elsewhere = plan.reports is not None and not here
    settings = plan.groups[group]
    neighbours = _neighbours(config, plan)
    holder = open_holder(settings, findings, neighbours)
    processes = getattr(config, "workerinput", {}).get("workercount", 1)
    if settings.isolated and processes > 1:
        # If many processes open the device at once, that takes seconds; meanwhile this process collects the cases.
        holder.begin()
    root = suite_root(config.rootpath)
    judging = Judging(root, settings, selection, holder, journal, elsewhere, plan.proven, group, processes, neighbours)
    config.pluginmanager.register(judging, "cts-judging")


def _neighbours(config: pytest.Config, plan: Plan) -> Neighbours | None:
    """Return this worker's view of the other workers; None if this is no worker, or if the file is on another machine."""
    from cts.run.neighbours import Neighbours

    if plan.neighbours is None:
        return None
    try:
        return Neighbours(plan.neighbours, config.workerinput[WORKER_ROW])  # type: ignore[attr-defined]
    except FileNotFoundError:
        return None


def _token(directory: Path | None) -> str:
    """Make a token that tells whether two processes see the same directory, on whichever machine they run."""
    if directory is None:
        return ""
    from cts.journal.journal import META

    try:
        return (directory / META).read_text(encoding="utf-8")
    except OSError:
        return ""


class NotSendable(CtsError):
    """pytest-xdist cannot send an argument to its workers."""


def check_sendable(arguments: Sequence[str | os.PathLike[str]]) -> None:
    """Refuse arguments that pytest-xdist cannot send to its workers.

    Raises:
        NotSendable: the bytes of an argument are not UTF-8.
    """
    for given in arguments:
        argument = os.fspath(given)
        if any("\ud800" <= character <= "\udfff" for character in argument):
            raise NotSendable(
                f"-n: pytest-xdist cannot send an argument whose bytes are not UTF-8 ({argument}): name another path, or leave out -n"
            )


class Controller:
    """Hands the plan to each worker of pytest-xdist."""

    def __init__(self, plan: Plan) -> None:
        from cts.run.plan import plan_to_bytes

        self._plan = plan_to_bytes(plan)
        self._neighbours = plan.neighbours
        self._rows = 0

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[WORKER_INPUT] = self._plan
        node.workerinput[WORKER_ROW] = self._rows
        self._rows += 1

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        from cts.run.neighbours import bury

        if self._neighbours is not None:
            bury(self._neighbours, node.workerinput[WORKER_ROW])

    def pytest_unconfigure(self) -> None:
        if self._neighbours is not None:
            self._neighbours.unlink(missing_ok=True)
