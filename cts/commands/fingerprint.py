"""Measures the arithmetic of a device's matrix unit: block length, alignment, rounding, order, special values. No result is wrong; a
model that fits the results is printed, with the share of random results whose bits it predicts."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from cts.commands.options import add
from cts.devices.device import Device
from cts.devices.isolation import IsolatedDevice
from cts.devices.spec import EMBEDDED, DeviceSpec
from cts.engine.plan import DEFAULT_STEP_TIMEOUT, seconds_of
from cts.fingerprint.dispatching import rows_of, unit_of
from cts.fingerprint.record import Measurement, document, measure, read
from cts.judges import choose
from generators.errors import CtsError

_ELEMENTS = 1_000_000
_SEED = 35


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add(parser, "--device", default=EMBEDDED)
    parser.add_argument("--from", dest="from_", type=Path, metavar="FILE", help="use the results in a file of --out, and run nothing")
    parser.add_argument("--row", action="append", metavar="TEXT", help="only rows whose name has this text; may be given several times")
    parser.add_argument("--every-row", action="store_true", help="also rows that differ from another one only in M and N")
    parser.add_argument("--elements", type=int, default=_ELEMENTS, metavar="N", help="random results for each row (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=_SEED, metavar="N", help="the seed of random operands (default: %(default)s)")
    add(parser, "--step-timeout")
    add(parser, "--out", "write the results here, as JSON")


def run(options: argparse.Namespace) -> int:
    """Print the fingerprint."""
    measurement = read(options.from_) if options.from_ is not None else _measure(options)
    if options.out is not None:
        options.out.write_text(json.dumps(document(measurement)) + "\n")
    for one in measurement.rows:
        print(f"{one.row}: {one.failure or f'{len(one.results)} probes, {one.random.size} random results'}")
    return 0


def _measure(options: argparse.Namespace) -> Measurement:
    choice = choose(options.device)
    if not isinstance(choice.spec, DeviceSpec) or choice.spec.compiles_only:
        raise CtsError(f"--device {options.device}: it runs nothing; name another device")
    rows = rows_of(choice.description, options.every_row)
    if options.row:
        rows = tuple(row for row in rows if any(text in str(row) for text in options.row))
    if not rows:
        raise CtsError(f"{choice.description.name} has no such row of exact sizes at subgroup scope; 'cts devices --json' lists its rows")
    seconds = seconds_of("--step-timeout", options.step_timeout, DEFAULT_STEP_TIMEOUT)
    device: Device = IsolatedDevice(choice.spec, seconds, choice.description)
    try:
        return measure(unit_of(device), choice.description, rows, options.seed, options.elements)
    finally:
        device.close()
