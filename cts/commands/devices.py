"""Lists the devices that can be judged, and the one that 'pytest cts' would choose."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import asdict

from cts.commands.context import print_json
from cts.commands.options import add
from cts.devices.compile_only.chips import installed, obstacles
from cts.devices.device import DeviceDescription
from cts.devices.executed.environment import DRIVER as EXECUTED_DRIVER
from cts.devices.listing import list_vulkan
from cts.devices.spec import COMPILE_ONLY, EXECUTED
from cts.exit_codes import BAD_INPUT
from cts.judges import best, list_others
from cts.validators.validator import VALIDATORS


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add(parser, "--json", "print whole descriptions, with features, limits and property rows, as JSON")


def run(options: argparse.Namespace) -> int:
    """Print the list; exit code 2 if a device cannot be queried."""
    vulkan = list_vulkan()
    listed = [*((one.number, one.description) for one in vulkan.devices), *((-1, description) for description in list_others())]
    if options.json:
        print_json([asdict(description) for _, description in listed])
    else:
        for number, description in listed:
            print(f"{number}: {description.name}" if number >= 0 else description.name)
            print("\n".join(f"    {line}" for line in _lines(description)))
        print("\n".join(_chips()))
    for one in vulkan.broken:
        print(f"cts: {one}", file=sys.stderr)
    if vulkan.broken:
        return BAD_INPUT
    choice = best(vulkan)
    if not options.json:
        print(f"\n'pytest cts' takes {choice.description.name}: {choice.why}")
    return 0


def _chips() -> Iterator[str]:
    """Yield lines about the chips whose drivers compile without them, and about what other drivers need for that."""
    for chip in installed():
        yield f"{chip.device}: {chip.vendor} {chip.architecture}, driver {chip.driver.name}"
        if chip.driver.name == EXECUTED_DRIVER:
            yield f"{EXECUTED}:{chip.name}: the same, and a model of the chip on the CPU executes what the driver submits"
    yield from obstacles().values()
    yield f"    {COMPILE_ONLY} makes the pipelines of a chip that is not there, and runs nothing"


def _lines(description: DeviceDescription) -> list[str]:
    if description.kind in VALIDATORS:
        return [f"validator {description.driver}: judges modules by the static rules, and does not run them"]
    lines = [
        f"driver {description.driver}, API {description.api_version}, subgroup size {description.subgroup_size}",
        f"{len(description.rows)} property rows" + (f", UUID {description.uuid}" if description.uuid else ""),
    ]
    return lines if description.kind == "vulkan" else [*lines, "a SPIR-V interpreter of this suite, which needs no driver"]
