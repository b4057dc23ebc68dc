"""Writes a folder that reproduces a case without the suite; with --device, also runs the case there and adds the results."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from cts.commands.context import casebook, root
from cts.commands.options import add
from cts.devices.device import Device, DeviceDescription, Finding
from cts.devices.holder import DeviceHolder
from cts.devices.spec import DeviceSpec
from cts.engine.plan import checked_front_end, checked_settings
from cts.engine.runner import judge
from cts.engine.session import open_holder
from cts.engine.summary import shortened
from cts.engine.tally import PASSING
from cts.kinds.kernel import arrange
from cts.kinds.kernel_reproduction import write_outcomes
from cts.kinds.table import KINDS
from cts.printable import printable_path
from cts.repro.bisection import BISECTION
from cts.repro.folder import README, RESULT, add_device, add_result
from cts.repro.program_files import COMPILE, PROGRAM
from cts.verdict.codes import Reason
from cts.verdict.known_failures import known_failures
from generators.casebook import CaseKind, build, load_case
from generators.errors import CtsError
from generators.kernel import Dispatch, Kernel, Outcome


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add(parser, "case")
    parser.add_argument("directory", type=Path, metavar="DIR", help="where to write")
    add(parser, "--front-end")
    add(parser, "--device", "run the case on this device (see 'cts devices') and add its results")
    for option in ("--validation", "--no-known-failures", "--step-timeout"):
        add(parser, option)


class Recording:
    """A device that records its outcomes: one list for each pipeline of the case."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self.outcomes: list[Outcome] = []

    @property
    def description(self) -> DeviceDescription:
        """The device's description."""
        return self._device.description

    def missing(self, kernel: Kernel) -> Reason | None:
        """Return the first need of the kernel that the device does not meet."""
        return self._device.missing(kernel)

    def run(self, kernel: Kernel, dispatches: Sequence[Dispatch]) -> list[Outcome]:
        """Return the device's outcomes."""
        outcomes = self._device.run(kernel, dispatches)
        self.outcomes += outcomes
        return outcomes

    @property
    def last_steps(self) -> Mapping[str, float]:
        """Seconds that each step of the device's last run took."""
        return self._device.last_steps

    def close(self) -> tuple[Finding, ...]:
        """Close the device."""
        return self._device.close()


def run(options: argparse.Namespace) -> int:
    """Write the folder and print the verdict, if there is one; exit code 1 if the case fails."""
    case = load_case(root(options), options.case)
    folder: Path = options.directory
    if not options.device:
        KINDS[case.definition.kind].reproduce(case, folder, checked_front_end(options.front_end))
        print(folder / README)
        for line in next_steps(folder):
            print(line)
        return 0
    settings = checked_settings({**vars(options), "tier": None, "embedded_mapping": None, "isolation": None})
    KINDS[case.definition.kind].reproduce(case, folder, settings.front_end)
    print(folder / README)
    inner = open_holder(settings)
    recording: list[Recording] = []

    def open_recording() -> Recording:
        inner.discard()
        device = inner.device
        assert isinstance(device, Device)
        recording.append(Recording(device))
        return recording[-1]

    # Other kinds of cases have no results in memory, and validators and devices that only compile run nothing.
    runs = case.definition.kind is CaseKind.KERNEL and isinstance(settings.spec, DeviceSpec) and not settings.spec.compiles_only
    holder = DeviceHolder(open_recording) if runs else inner
    result = judge(case, holder, settings.front_end, settings.tier)
    if not options.no_known_failures:
        result = known_failures(root(options), casebook(options), settings.description.driver).judged(result, case)
    outcomes = [outcome for one in recording for outcome in one.outcomes]
    holder.close()
    try:
        if outcomes:
            write_outcomes(folder, arrange(build(case)), outcomes)
    except OSError as error:
        raise CtsError(f"cannot write {folder}: {error.strerror}; name another folder") from error
    add_device(folder, settings.description)
    add_result(folder, result)
    why = f" ({result.code}): {result.reason}" if result.code else ""
    print(f"{result.verdict} on {result.device}{why}")
    if result.message not in ("", result.reason):
        print(shortened(result.message, printable_path(folder / RESULT)))
    for line in next_steps(folder):
        print(line)
    return 0 if result.verdict in PASSING else 1


def next_steps(folder: Path) -> Iterator[str]:
    """Yield the commands that run the folder's program, and that bisect a driver with it, if there is one."""
    if (folder / PROGRAM).is_file():
        yield f"next: cd {shlex.quote(printable_path(folder))} && {COMPILE} && ./repro"
        yield f"or, in a driver's repository: git bisect run {shlex.quote(printable_path(folder.resolve() / BISECTION))} BUILD COMMAND"
