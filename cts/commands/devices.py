"""Lists the devices that can be judged, and says which one 'pytest cts' would choose."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from cts.commands.context import print_json
from cts.devices.choose import choose, list_devices

NAME = "devices"
HELP = "list the devices that can be judged"


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments."""
    parser.add_argument("--json", action="store_true", help="whole descriptions, with features, limits and property rows")


def run(options: argparse.Namespace) -> int:
    """Prints the list."""
    listings = list_devices()
    if options.json:
        print_json([asdict(listing.description) for listing in listings])
        return 0
    for listing in listings:
        description = listing.description
        print(f"{description.name}")
        print(f"    driver {description.driver}, API {description.api_version}, subgroup size {description.subgroup_size}")
        print(f"    {len(description.rows)} property rows" + (f", UUID {description.uuid}" if description.uuid else ""))
    choice = choose(None)
    print(f"\n'pytest cts' takes {choice.description.name}: {choice.why}")
    return 0
