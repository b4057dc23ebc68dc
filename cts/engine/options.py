"""The options of a run, declared once: pytest's command line, its help and the checks of their values follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from generators.errors import CtsError


class EmptyOption(CtsError):
    """An option has an empty value: a script may have forgotten to set a variable."""


@dataclass(frozen=True)
class Option:
    """An option of a run.

    Attributes:
        name: without the dashes.
        help: what it does, with the default.
        metavar: a word for its value; empty for a switch.
        several: whether it may be given several times.
    """

    name: str
    help: str
    metavar: str = ""
    several: bool = False

    @property
    def key(self) -> str:
        """Return its key in the values that a run gets."""
        return self.name.replace("-", "_")

    @property
    def arguments(self) -> dict[str, Any]:
        """Return how a command line declares it, as arguments of argparse."""
        action = "append" if self.several else "store" if self.metavar else "store_true"
        return {"help": self.help, "action": action} | ({"metavar": self.metavar} if self.metavar else {})


OPTIONS = (
    Option("tier", "smoke, nightly or full: how many of the cases are selected (default: smoke)", "TIER"),
    Option(
        "device",
        "the device to judge: all (every Vulkan device with cooperative matrices), embedded, embedded:PROFILE, spirv-val, part of a Vulkan "
        "device's name, its UUID or its index, compile-only:CHIP (the driver of a chip compiles without the chip, and nothing runs), "
        "compile-only:all (each installed driver, one after another), or executed:CHIP (AMD's driver of a chip compiles, and a model of "
        "the chip on the CPU executes what it submits); "
        "see 'cts devices' (default: the best Vulkan device with cooperative matrices, else embedded). Given several times, or all: the "
        "processes of -n share these devices, which must be identical, and each case is judged on one",
        "DEVICE",
        several=True,
    ),
    Option("compile-only", "only make the pipelines of a Vulkan device, and dispatch nothing: cases end as compiled, never as pass"),
    Option("front-end", "spirv (assembled by the suite) or glsl (compiled by glslang) (default: spirv)", "NAME"),
    Option("case-list", "judge the cases named in FILE, in any tier: one id per line, # comments, NAME.txt for another list", "FILE"),
    Option(
        "shard",
        "judge only part K of N parts of about equal cost, which are the same on every machine; 'cts merge' joins their report directories",
        "K/N",
    ),
    Option("report-dir", "keep results as they are judged, and reports, in DIR", "DIR"),
    Option(
        "junit",
        "which cases are tests of junit.xml: attention (those that need someone's attention; the others are one test for each family and "
        "outcome) or all (default: attention)",
        "WHICH",
    ),
    Option("resume", "continue the run in DIR of --report-dir: judge only the cases that it has not judged"),
    Option(
        "retry",
        "with --resume: judge again the cases that ended as one of VERDICTS, separated by commas, of fail, crash, timeout, device_lost, "
        "flaky, resource_error, error",
        "VERDICTS",
    ),
    Option("repeat", "judge each case N times (default: 1)", "N"),
    Option(
        "rounds",
        "run each dispatch in which invocations could race N times, and compare each result (default: 3 on a GPU, else 1)",
        "N",
    ),
    Option(
        "time-limit",
        "start no more cases SECONDS after the start; cases that cover most pairs of parameters come first, the run counts the rest, "
        "and --resume continues with it (default: none)",
        "SECONDS",
    ),
    Option(
        "require-vulkan",
        "exit with 2 if there is no Vulkan device to judge, instead of judging the embedded one (default with "
        "CI=true in the environment, unless --device is given)",
    ),
    Option("validation", "load the Vulkan validation layer; any message from it is an error of the suite"),
    Option(
        "statistics",
        "record what the Vulkan driver tells of the code of each pipeline: instructions, registers, bytes (default with --compile-only)",
    ),
    Option(
        "embedded-mapping",
        "how the embedded device spreads a matrix over invocations, and, after a colon, the seed of its free choices (default: 0); with "
        "':weak' at the end, a load that races with a store may get an older value, instead of a report of the race",
        "NAME:SEED",
    ),
    Option(
        "step-timeout",
        "seconds that an isolated device may take to make a pipeline, and to run a shader; time that it spends waiting for a processor is "
        "not counted (default: 60)",
        "SECONDS",
    ),
    Option("open-timeout", "seconds that opening the device, and querying it, may take (default: 60)", "SECONDS"),
    Option("open-attempts", "how often opening the device is tried before the run ends (default: 4)", "N"),
    Option("open-pause", "seconds before it is tried again; each further pause is twice as long (default: 1)", "SECONDS"),
    Option(
        "known-failures",
        "more known failures of the driver: a file in one of deqp-runner's formats, by the end of its name: -fails.txt (or .csv), "
        "-flakes.txt, -skips.txt, whose cases are not judged; or .yaml as in golden/known_failures; may be given several times",
        "FILE",
        several=True,
    ),
    Option("no-known-failures", "count the failures that golden/known_failures lists for the driver as ordinary failures"),
    Option(
        "fail-on-quality",
        "exit with 1 if a result is permitted by the specification but not expected by this suite (quality_warning)",
    ),
    Option(
        "log-failures",
        "announce at most N failures as they occur, and explain at most N at the end; the reports have all (default: 20)",
        "N",
    ),
    Option("isolation", "auto, on or off: whether a child process holds the device (default: auto, that is on for Vulkan)", "WHEN"),
)
"""Every option of a run, in the order of the help."""


def given(values: Mapping[str, Any]) -> list[str]:
    """Return the options that have a value, as they are written.

    Args:
        values: the value of each option by its key; None or false where it is not given.

    Raises:
        EmptyOption: a value is empty.
    """
    for option in OPTIONS:
        value = values[option.key]
        if value == "" or (isinstance(value, list) and "" in value):
            raise EmptyOption(f"--{option.name} is empty: give it a value, or leave it out")
    return [f"--{option.name}" for option in OPTIONS if values[option.key]]
