"""Lists the devices that can be judged, and says which one 'pytest cts' would choose."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict

from cts.commands.context import print_json
from cts.devices.listing import list_vulkan
from cts.exit_codes import BAD_INPUT
from cts.judges import best, list_others

NAME = "devices"
HELP = "list the devices that can be judged"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("--json", action="store_true", help="whole descriptions, with features, limits and property rows")


def run(options: argparse.Namespace) -> int:
    """Print the list; exit code 2 if a device does not say what it is."""
    vulkan = list_vulkan()
    listed = [*((one.number, one.description) for one in vulkan.devices), *((-1, description) for description in list_others())]
    if options.json:
        print_json([asdict(description) for _, description in listed])
    else:
        for number, description in listed:
            print(f"{number}: {description.name}" if number >= 0 else description.name)
            print(f"    driver {description.driver}, API {description.api_version}, subgroup size {description.subgroup_size}")
            print(f"    {len(description.rows)} property rows" + (f", UUID {description.uuid}" if description.uuid else ""))
    for one in vulkan.broken:
        print(f"cts: {one}", file=sys.stderr)
    if vulkan.broken:
        return BAD_INPUT
    choice = best(vulkan)
    if not options.json:
        print(f"\n'pytest cts' takes {choice.description.name}: {choice.why}")
    return 0
