"""The options of a run, checked once and passed to every process that judges."""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from cts.devices.capabilities import STATISTICS_FEATURE
from cts.devices.device import DeviceDescription
from cts.devices.holder import Retries
from cts.devices.listing import Listed
from cts.devices.messages import NotAMessage, encoded, read
from cts.devices.spec import DeviceSpec
from cts.engine.attempts import Attempts
from cts.engine.control import Proven
from cts.engine.selection import Selection
from cts.engine.session import LOG_FAILURES, Settings
from cts.engine.shards import Shard
from cts.engine.time_limit import beginning_now
from cts.front_ends import FRONT_ENDS, FrontEnd
from cts.journal.run_record import EVERY_CASE
from cts.judges import Choice, choose, compile_only
from cts.opening import open_device
from cts.verdict.verdict import Verdict
from generators.casebook import Casebook, Tier
from generators.errors import CtsError

DEFAULT_STEP_TIMEOUT = 60.0
MOST_SECONDS = 1e6
"""The largest limit of a step: more than a week. A socket cannot wait much longer."""
MOST_REPEATS = 100_000
MOST_ROUNDS = 100
"""The most rounds. Each differing result is kept until it is compared."""
GPU_TYPES = frozenset({"integrated", "discrete", "virtual"})
"""Types of Vulkan devices that are GPUs."""
GPU_ROUNDS = 3
"""How often a GPU runs each dispatch: a race or uninitialised memory seldom shows in one run."""
MOST_ATTEMPTS = 100
"""The most attempts to open the device."""
MOST_COUNT = 10**12
"""The largest value of any other count."""
_MOST_DIGITS = 20
JUNIT = ("attention", EVERY_CASE)
ISOLATION = ("auto", "on", "off")

RETRIED = (
    Verdict.FAIL,
    Verdict.CRASH,
    Verdict.TIMEOUT,
    Verdict.DEVICE_LOST,
    Verdict.FLAKY,
    Verdict.RESOURCE_ERROR,
    Verdict.ERROR,
)
"""The verdicts that may differ in another run of the same driver and suite, and that ``--retry`` may name."""


class OptionError(CtsError):
    """An option has an invalid value; the message names valid values."""


@dataclass(frozen=True)
class Plan:
    """The choices of a run that every process needs.

    Attributes:
        groups: the settings of each group of processes, which differ only in their devices.
        extra_rows, named, listed, attempts, shard, asked: see Selection.
        proven: cases that passed in the run that this one resumes, with their seconds.
        reports: the report directory, or None.
        token: identifies the directory ``reports`` to other processes.
    """

    groups: tuple[Settings, ...]
    extra_rows: tuple[str, ...]
    named: Mapping[str, tuple[str, ...]]
    listed: Mapping[str, tuple[str, ...]] | None
    attempts: Attempts
    proven: tuple[Proven, ...]
    reports: Path | None
    token: str
    shard: Shard | None = None
    asked: Mapping[str, tuple[str, ...]] | None = None

    @property
    def settings(self) -> Settings:
        """The settings of the first group."""
        return self.groups[0]

    def selection(self, casebook: Casebook) -> Selection:
        """Return the selection of the cases to judge."""
        settings = self.settings
        return Selection(
            casebook,
            settings.tier,
            self.extra_rows,
            self.named,
            self.listed,
            self.attempts,
            settings.known.skips,
            self.shard,
            self.asked,
        )


def plan_to_bytes(plan: Plan) -> bytes:
    """Return a plan as data for another process; see ``plan_from_bytes``."""
    return zlib.compress(encoded(plan), 1)


def plan_from_bytes(data: bytes) -> Plan:
    """Return the plan that ``plan_to_bytes`` made these bytes from.

    Raises:
        NotAMessage: they are not a plan.
    """
    try:
        plan: Plan = read(zlib.decompress(data), Plan)
    except zlib.error as error:
        raise NotAMessage(str(error)) from error
    return plan


def checked_settings(options: Mapping[str, Any], choice: Choice | None = None, listed: Listed | None = None) -> Settings:
    """Choose a device, and return the settings that the options ask for.

    Args:
        options: ``tier``, ``device``, ``front_end``, ``validation``, ``embedded_mapping``, ``step_timeout`` and ``isolation``; and, if the
            command has them, ``open_timeout``, ``open_attempts``, ``open_pause``, ``repeat``, ``rounds``, ``require_vulkan``,
            ``compile_only``, ``time_limit`` and ``statistics``. An option that was not given is None or false.
        choice: the device, if it is already chosen; ``device`` is then ignored.
        listed: see ``choose``.

    Raises:
        OptionError, DeviceError: an option's value does not exist; there is no such device; glslang is needed and not installed; no Vulkan
            device replaces one that was not named, and ``require_vulkan`` is true, or this is a job of a CI system.
    """
    tier = Tier(one_of("--tier", options["tier"] or "smoke", tuple(Tier)))
    front_end = checked_front_end(options["front_end"])
    isolation = one_of("--isolation", options["isolation"] or "auto", ISOLATION)
    timeout = seconds_of("--step-timeout", options["step_timeout"], DEFAULT_STEP_TIMEOUT)
    seconds = seconds_of("--time-limit", options.get("time_limit"), 0.0)
    retries = opening_retries(options)
    repeat = at_least_one("--repeat", options.get("repeat") or "1", MOST_REPEATS)
    choice = choice or choose(options["device"], retries.seconds, listed)
    if options.get("compile_only"):
        choice = compile_only(choice)
    spec, description = choice.spec, choice.description
    if choice.fallback and "require_vulkan" in options and in_ci():
        raise OptionError(
            f"CI={os.environ['CI']}: there is no Vulkan device to judge ({choice.why}); --device embedded judges the embedded device"
        )
    if options.get("require_vulkan") and spec.kind != "vulkan":
        raise OptionError(f"--require-vulkan: there is no Vulkan device to judge ({choice.why})")
    if isinstance(spec, DeviceSpec) and description.kind == "vulkan":
        # The watchdog enforces shorter times: it ends the child process, and the submission with it.
        spec = replace(spec, submission_seconds=max(spec.submission_seconds, timeout))
    if options["validation"]:
        if not isinstance(spec, DeviceSpec) or description.kind != "vulkan":
            raise OptionError(
                f"--validation is for Vulkan devices, and {description.name} is not one: leave it out or choose another --device"
            )
        spec = replace(spec, validation=True)
    if options.get("statistics"):
        if not isinstance(spec, DeviceSpec) or not description.features.get(STATISTICS_FEATURE):
            raise OptionError(
                f"--statistics needs VK_KHR_pipeline_executable_properties, and {description.name} lacks it: leave it out, or choose "
                "another --device"
            )
        spec = replace(spec, statistics=True)
    if options["embedded_mapping"]:
        if not isinstance(spec, DeviceSpec) or description.kind != "embedded":
            raise OptionError(
                f"--embedded-mapping is for the embedded device, not for {description.name}: leave it out or add --device embedded"
            )
        spec = replace(spec, mapping=options["embedded_mapping"])
        open_device(spec).close()
    if isolation == "on" and not isinstance(spec, DeviceSpec):
        raise OptionError(f"--isolation on: {description.name} already runs in a separate process for each module; leave --isolation out")
    if isolation == "off" and isinstance(spec, DeviceSpec) and spec.environment:
        raise OptionError(f"--isolation off: {description.name} needs a process with its own environment; leave --isolation out")
    isolated = isolation == "on" or (isolation == "auto" and description.kind == "vulkan")
    # The embedded device also accepts options for drivers, because it may replace a missing driver.
    if options["step_timeout"] and not isolated and not choice.fallback:
        raise OptionError(
            f"--step-timeout {options['step_timeout']}: {description.name} runs in the suite's own process, which cannot be ended; "
            "leave it out (pytest has --isolation on)"
        )
    rounds = at_least_one("--rounds", options.get("rounds") or str(rounds_of(description)), MOST_ROUNDS)
    settings = Settings(tier, front_end, spec, description, choice.why, isolated, timeout, retries, repeat, choice.fallback, rounds=rounds)
    return replace(settings, limit=beginning_now(seconds)) if seconds else settings


def in_ci() -> bool:
    """Tell whether this is a job of a CI system: they set CI."""
    return os.environ.get("CI", "").lower() in ("true", "1")


def rounds_of(description: DeviceDescription) -> int:
    """Return how often a dispatch runs by default: repeated dispatches are cheap on a GPU, and expensive on a processor."""
    return GPU_ROUNDS if description.extra.get("type") in GPU_TYPES else 1


def opening_retries(options: Mapping[str, Any]) -> Retries:
    """Return the retries for opening the device, from the options; see ``checked_settings``."""
    usual = Retries()
    return Retries(
        at_least_one("--open-attempts", options.get("open_attempts") or str(usual.attempts), MOST_ATTEMPTS),
        seconds_of("--open-pause", options.get("open_pause"), usual.pause),
        seconds_of("--open-timeout", options.get("open_timeout"), usual.seconds),
    )


def checked_retry(text: str | None) -> frozenset[Verdict]:
    """Return the verdicts whose cases a resumed run judges again.

    Raises:
        OptionError: a word in ``text`` is not one of RETRIED.
    """
    return frozenset(Verdict(one_of("--retry", word.strip(), RETRIED)) for word in (text or "").split(",") if word.strip())


def checked_front_end(name: str | None) -> FrontEnd:
    """Return the front end with that name; spirv for None.

    Raises:
        OptionError: there is no such front end, or glslang is not installed.
    """
    front_end = cast(FrontEnd, one_of("--front-end", name or "spirv", FRONT_ENDS))
    if front_end == "glsl":
        from generators.glsl.compile import find_glslang

        if find_glslang() is None:
            raise OptionError("--front-end glsl needs glslang: install it (glslang-tools), or use --front-end spirv")
    return front_end


def one_of(option: str, value: str, known: tuple[str, ...]) -> str:
    """Return ``value``, if it is one of ``known``.

    Raises:
        OptionError: it is not one of them.
    """
    if value not in known:
        raise OptionError(f"{option} {value}: unknown; it is one of {', '.join(known)}")
    return value


def log_failures(text: str | None) -> int:
    """Return the number of ``--log-failures``; LOG_FAILURES if the option is not given.

    Raises:
        OptionError: it is not a number.
    """
    if text is None:
        return LOG_FAILURES
    return 0 if text == "0" else at_least_one("--log-failures", text)


def at_least_one(option: str, text: str, most: int = MOST_COUNT) -> int:
    """Return the integer from 1 to ``most`` in ``text``.

    Raises:
        OptionError: it is not such a number.
    """
    # Python refuses to read thousands of digits.
    number = int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else 0
    if not 1 <= number <= most:
        raise OptionError(f"{option} {text[:_MOST_DIGITS]}: expected an integer from 1 to {most:,}")
    return number


def seconds_of(option: str, text: str | None, usual: float) -> float:
    """Return the seconds in ``text``; ``usual`` if it is None.

    Raises:
        OptionError: it is not a number of seconds.
    """
    if text is None:
        return usual
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= MOST_SECONDS:
        raise OptionError(f"{option} {text}: expected a number of seconds above 0 and at most {MOST_SECONDS:,.0f}")
    return seconds
