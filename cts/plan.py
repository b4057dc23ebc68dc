"""What a run has been asked for, checked once and handed to every process that judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from cts.devices.choose import choose, open_device
from cts.session import FRONT_ENDS, FrontEnd, Settings
from generators.casebook import Tier
from generators.errors import CtsError

DEFAULT_STEP_TIMEOUT = 60.0
MOST_SECONDS = 1e6
"""Of a step: more than a week. Far beyond, a socket cannot wait that long."""
ISOLATION = ("auto", "on", "off")


class OptionError(CtsError):
    """An option has a value that it cannot have; the message names those that it can."""


@dataclass(frozen=True)
class Plan:
    """Picklable.

    Attributes:
        named: family -> ids named on the command line.
        listed: family -> ids of the case list, or None.
        judged: ids that a resumed journal has.
        reports: directory for reports, or None.
        token: what a process sees in ``reports`` if it sees the same directory.
    """

    settings: Settings
    extra_rows: tuple[str, ...]
    named: Mapping[str, tuple[str, ...]]
    listed: Mapping[str, tuple[str, ...]] | None
    judged: frozenset[str]
    reports: Path | None
    token: str


def checked_settings(options: Mapping[str, Any]) -> Settings:
    """The settings that the options ask for, with the device chosen.

    Args:
        options: ``tier``, ``device``, ``front_end``, ``validation``, ``embedded_mapping``, ``step_timeout``, ``isolation``; None or
            false where not given.

    Raises:
        OptionError, DeviceError: an option's value does not exist; there is no such device; glslang is asked for and not installed.
    """
    tier = Tier(one_of("--tier", options["tier"] or "smoke", tuple(Tier)))
    front_end = checked_front_end(options["front_end"])
    isolation = one_of("--isolation", options["isolation"] or "auto", ISOLATION)
    timeout = _seconds("--step-timeout", options["step_timeout"])
    choice = choose(options["device"])
    spec, description = choice.spec, choice.description
    if description.kind == "vulkan":
        # A shorter time is the watchdog's, which ends the child process and with it the submission.
        spec = replace(spec, submission_seconds=max(spec.submission_seconds, timeout))
    if options["validation"]:
        if description.kind != "vulkan":
            raise OptionError(f"--validation is for Vulkan devices; {description.name} is none: leave it out or choose another --device")
        spec = replace(spec, validation=True)
    if options["embedded_mapping"]:
        if description.kind != "embedded":
            raise OptionError(
                f"--embedded-mapping is for the embedded device; {description.name} is none: leave it out or add --device embedded"
            )
        spec = replace(spec, mapping=options["embedded_mapping"])
        open_device(spec).close()
    if isolation == "on" and description.kind == "spirv-val":
        raise OptionError("--isolation on: spirv-val is a process of its own for each module; leave --isolation out")
    isolated = isolation == "on" or (isolation == "auto" and description.kind == "vulkan")
    if options["step_timeout"] and not isolated:
        raise OptionError(
            f"--step-timeout {options['step_timeout']}: {description.name} runs in the suite's own process, which nothing ends; "
            "leave it out (pytest has --isolation on)"
        )
    return Settings(tier, front_end, spec, description, choice.why, isolated, timeout)


def checked_front_end(name: str | None) -> FrontEnd:
    """The front end of that name; spirv for None.

    Raises:
        OptionError: there is none, or glslang is not installed.
    """
    front_end = cast(FrontEnd, one_of("--front-end", name or "spirv", FRONT_ENDS))
    if front_end == "glsl":
        from generators.glsl.compile import find_glslang

        if find_glslang() is None:
            raise OptionError("--front-end glsl needs glslang: install it (glslang-tools), or use --front-end spirv")
    return front_end


def one_of(option: str, value: str, known: tuple[str, ...]) -> str:
    """``value``, if it is one of ``known``.

    Raises:
        OptionError: it is not.
    """
    if value not in known:
        raise OptionError(f"{option} {value}: unknown; it is one of {', '.join(known)}")
    return value


def at_least_one(option: str, text: str) -> int:
    """The whole number, 1 or more, that ``text`` stands for.

    Raises:
        OptionError: it stands for none.
    """
    if not text.isdecimal() or int(text) < 1:
        raise OptionError(f"{option} {text}: expected a whole number from 1 up")
    return int(text)


def _seconds(option: str, text: str | None) -> float:
    if text is None:
        return DEFAULT_STEP_TIMEOUT
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= MOST_SECONDS:
        raise OptionError(f"{option} {text}: expected a number of seconds above 0, {MOST_SECONDS:,.0f} at most")
    return seconds
