"""Measures the arithmetic of a device's matrix unit: block length, alignment, rounding, order, special values; the order of its reductions
and the rounding of its conversions. No result is wrong: a model that fits the results is printed, with the share of random results whose
bits it predicts. Exit code 1 only with --expect-model."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
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
from cts.fingerprint.one_operand import Row
from cts.fingerprint.page import page
from cts.fingerprint.record import Fingerprint, RowPrint, document, read
from cts.journal.atomic import write_text
from cts.judges import choose
from generators.errors import CtsError

_ELEMENTS = 1_000_000
_SEED = 35


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add(parser, "--device", default=EMBEDDED)
    parser.add_argument("--from", dest="from_", type=Path, metavar="FILE", help="infer from the results in a file of --out; run nothing")
    parser.add_argument(
        "--row",
        action="append",
        metavar="TEXT",
        help="only rows, reductions and conversions whose names have this text, such as reduce, convert or 16x16x16.f16; may be given "
        "several times",
    )
    parser.add_argument("--every-row", action="store_true", help="also rows that differ from another one only in M and N")
    parser.add_argument(
        "--elements",
        type=int,
        default=_ELEMENTS,
        metavar="N",
        help="random results for each row (default: %(default)s); at most 100000 for a reduction or conversion",
    )
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
    for path in filter(None, (options.out, options.models, options.page)):
        if path.is_dir() or not path.parent.is_dir():
            raise CtsError(f"cannot write {path}: it is a folder, or is in none")
    expected = None if options.expect_model is None else _read(options, options.expect_model)
    if options.from_ is not None:
        kept = _read(options, options.from_)
        device, driver, measured = kept.device, kept.driver, [one.measured for one in kept.rows]
        if not any(one.results.size or one.failure for one in measured):
            raise CtsError(f"{options.from_} has models without results; give a file of --out")
    else:
        device, driver, measured = _measure(options, expected)
    rows = tuple(RowPrint(one, infer(one) if one.results.size else None, observe(one), one.random.size) for one in measured)
    found = Fingerprint(device, driver, rows)
    if options.page is None:
        print(page(found), end="")
    for path, results in ((options.out, True), (options.models, False), (options.page, None)):
        try:
            if path is not None:
                write_text(path, page(found) if results is None else json.dumps(document(found, results)) + "\n")
        except OSError as error:
            raise CtsError(f"cannot write {path}: {error.strerror}") from error
    changed = [] if expected is None else list(unexpected(expected, found))
    for line in changed:
        print(f"changed: {line}")
    return int(bool(changed))


def _read(options: argparse.Namespace, path: Path) -> Fingerprint:
    """Return the wanted rows of a file."""
    found = read(path)
    if not (rows := tuple(one for one in found.rows if _wanted(options, one.measured.row))):
        raise CtsError(f"{path} has no such row")
    return replace(found, rows=rows)


def _wanted(options: argparse.Namespace, row: Row) -> bool:
    return not options.row or any(text in str(row) for text in options.row)


def _measure(options: argparse.Namespace, expected: Fingerprint | None) -> tuple[str, str, list[Measured]]:
    """Return the names of the device and of its driver, and what it computes; if models are expected, for their rows and operands."""
    choice = choose(options.device)
    if not isinstance(choice.spec, DeviceSpec) or choice.spec.compiles_only:
        raise CtsError(f"--device {options.device}: it runs nothing; name another device")
    before = {} if expected is None else {one.measured.row: one for one in expected.rows}
    every = options.every_row or bool(before)
    rows = [row for row in rows_of(choice.description, every) if (row in before if before else _wanted(options, row))]
    if not (rows or before):
        raise CtsError(f"{choice.description.name} has no such row of exact sizes at subgroup scope; 'cts devices --json' lists its rows")
    seconds = seconds_of("--step-timeout", options.step_timeout, DEFAULT_STEP_TIMEOUT)
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
