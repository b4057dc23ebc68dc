"""Measures the arithmetic of a device's matrix unit: block length, alignment, rounding, order, special values. No result is wrong: a
model that fits the results is printed, with the share of random results whose bits it predicts. Exit code 1 only with --expect-model."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from cts.commands.options import add
from cts.devices.device import Device
from cts.devices.isolation import IsolatedDevice
from cts.devices.spec import EMBEDDED, DeviceSpec
from cts.engine.plan import DEFAULT_STEP_TIMEOUT, seconds_of
from cts.fingerprint.comparison import unexpected
from cts.fingerprint.dispatching import rows_of, unit_of
from cts.fingerprint.inference import infer
from cts.fingerprint.measuring import Measured, measure
from cts.fingerprint.observing import observe
from cts.fingerprint.page import page
from cts.fingerprint.record import Fingerprint, RowPrint, document, read
from cts.judges import choose
from generators.errors import CtsError
from generators.property_rows import PropertyRow

_ELEMENTS = 1_000_000
_SEED = 35


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add(parser, "--device", default=EMBEDDED)
    parser.add_argument("--from", dest="from_", type=Path, metavar="FILE", help="infer from the results in a file of --out; run nothing")
    parser.add_argument("--row", action="append", metavar="TEXT", help="only rows whose name has this text; may be given several times")
    parser.add_argument("--every-row", action="store_true", help="also rows that differ from another one only in M and N")
    parser.add_argument("--elements", type=int, default=_ELEMENTS, metavar="N", help="random results for each row (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=_SEED, metavar="N", help="the seed of random operands (default: %(default)s)")
    add(parser, "--step-timeout")
    add(parser, "--out", "write models and results here, as JSON")
    parser.add_argument("--models", type=Path, metavar="FILE", help="write only the models here, as JSON")
    parser.add_argument("--page", type=Path, metavar="FILE.md", help="write the page here instead of printing it")
    parser.add_argument(
        "--expect-model",
        type=Path,
        metavar="FILE",
        help="a file of --out or --models: exit code 1 if its models predict less than they did",
    )


def run(options: argparse.Namespace) -> int:
    """Print the fingerprint; exit code 1 if an expected model does not fit any more."""
    if options.elements < 0 or options.seed < 0:
        raise CtsError("--elements and --seed must not be negative")
    expected = None if options.expect_model is None else read(options.expect_model)
    if options.from_ is not None:
        kept = read(options.from_)
        device, driver = kept.device, kept.driver
        measured = [one.measured for one in kept.rows if _wanted(options, one.measured.row)]
    else:
        device, driver, measured = _measure(options, expected)
    rows = tuple(RowPrint(one, infer(one) if one.results.size else None, observe(one), one.random.size) for one in measured)
    found = Fingerprint(device, driver, rows)
    for path, results in ((options.out, True), (options.models, False)):
        if path is not None:
            path.write_text(json.dumps(document(found, results)) + "\n")
    if options.page is not None:
        options.page.write_text(page(found))
    else:
        print(page(found), end="")
    changed = [] if expected is None else list(unexpected(expected, found))
    for line in changed:
        print(f"changed: {line}")
    return int(bool(changed))


def _wanted(options: argparse.Namespace, row: PropertyRow) -> bool:
    return not options.row or any(text in str(row) for text in options.row)


def _measure(options: argparse.Namespace, expected: Fingerprint | None) -> tuple[str, str, list[Measured]]:
    """Return the names of the device and of its driver, and what it computes; rows with an expected model get the same operands again."""
    choice = choose(options.device)
    if not isinstance(choice.spec, DeviceSpec) or choice.spec.compiles_only:
        raise CtsError(f"--device {options.device}: it runs nothing; name another device")
    rows = [row for row in rows_of(choice.description, options.every_row) if _wanted(options, row)]
    if not rows:
        raise CtsError(f"{choice.description.name} has no such row of exact sizes at subgroup scope; 'cts devices --json' lists its rows")
    seconds = seconds_of("--step-timeout", options.step_timeout, DEFAULT_STEP_TIMEOUT)
    before = {} if expected is None else {one.measured.row: one for one in expected.rows}
    device: Device = IsolatedDevice(choice.spec, seconds, choice.description)
    try:
        unit, found = unit_of(device), []
        for row in rows:
            seed = before[row].measured.seed if row in before else options.seed
            elements = before[row].elements * (1 if row.result.is_float else 16) if row in before else options.elements
            found.append(measure(unit, row, seed, elements))
        return choice.description.name, choice.description.driver, found
    finally:
        device.close()
