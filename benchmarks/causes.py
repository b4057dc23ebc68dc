"""Measures the cost of finding the causes of a run's failures, in seconds of processor time.

    python -m benchmarks.causes [--cases N] [--seed N]

Makes a run of N invented results (30,000) of 60 families with 16 parameters each. In half of the families the cases of one box fail, in the
others the cases of two boxes or none. One case in a hundred gets a random result, so there are failures outside the boxes, and many groups.
The last line compares the time with the time for parsing the same results from the lines of a journal.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator
from typing import Any

from cts.journal.record import result_of
from cts.journal.strict_json import parse
from cts.verdict.verdict import Verdict
from reports.causes import causes

FAMILIES = 60

ROWS = (
    "16x16x16.f16.f16.f32.f32",
    "16x8x8.f16.f16.f16.f16",
    "16x16x32.s8.s8.s32.s32",
    "16x8x16.bf16.bf16.f32.f32",
    "32x16x32.u8.u8.u32.u32",
)

PARAMETERS = {
    "row": ROWS,
    "shape": ("8x8", "16x16", "16x32", "32x16", "64x64"),
    "layouts": ("cccc", "crcr", "rcrc", "rrrr"),
    "trips": ("0", "1", "2", "3", "7", "16"),
    "subgroups": ("1", "2", "4", "8"),
    "length": ("1", "2", "3", "5", "7", "8", "13", "16", "17", "31", "33", "64", "97", "128"),
} | {f"option_{number}": tuple(f"label_{label}" for label in range(2 + number % 5)) for number in range(10)}

CODES = ("fail.value", "fail.padding", "fail.unwritten", "crash.pipeline", "timeout.dispatch")


def run(cases: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the records of a run.

    Args:
        cases: number of cases.
        seed: determines their parameters and failures.
    """
    draw = random.Random(seed)
    boxes = [
        [_box(draw, f"area.defect_{family % 7}" if (family + number) % 3 else "") for number in range((1, 1, 2, 0)[family % 4])]
        for family in range(FAMILIES)
    ]
    for number in range(cases):
        family = number % FAMILIES
        parameters = {name: draw.choice(labels) for name, labels in PARAMETERS.items()}
        code, defect = next(((code, defect) for box, code, defect in boxes[family] if box.items() <= parameters.items()), ("", ""))
        if draw.random() < 0.01:
            code, defect = draw.choice(CODES), ""
        yield _record(f"family_{family}", number, parameters, code, defect)


def _box(draw: random.Random, defect: str) -> tuple[dict[str, str], str, str]:
    names = draw.sample(list(PARAMETERS), 2)
    return {name: draw.choice(PARAMETERS[name]) for name in names}, "fail.value" if defect else draw.choice(CODES), defect


def _record(family: str, number: int, parameters: dict[str, str], code: str, defect: str) -> dict[str, Any]:
    matrix = {"subcase": "first", "kind": "wrong value", "array": "D", "what": "d", "count": 1, "total": 256, "pattern": "one element"}
    matrix |= {"instance": 0, "shape": [16, 16], "component": "f16", "matches": [{"id": defect, "text": f"text of {defect}"}]}
    return {
        "id": f"{family}[{'/'.join(f'{name}:{label}' for name, label in parameters.items())}/number:{number}]",
        "family": family,
        "verdict": code.partition(".")[0] if code else Verdict.PASS,
        "reason": f"reason {number}" if code else "",
        "device": "Example GPU 9000",
        "driver": "example 1.2.3",
        "front_end": "spirv",
        "tier": "nightly",
        "requirements": ["KHR-MAD-01"],
        "subcases": 3,
        "seconds": 0.06,
        "failures": [matrix] if defect else [],
        "code": code,
        "parameters": parameters,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=30_000, metavar="N", help="number of results (default: 30000)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the invented run (default: 1)")
    arguments = parser.parse_args()
    lines = [json.dumps(record).encode() for record in run(arguments.cases, arguments.seed)]
    start = time.process_time()
    results = [result_of(parse(line)) for line in lines]
    parsing = time.process_time() - start
    start = time.process_time()
    found = causes(results)
    seconds = time.process_time() - start
    failed = sum(result.verdict is not Verdict.PASS for result in results)
    print(f"{len(results):,} results, {failed:,} failures, {len(found):,} causes: {seconds:.2f} s of processor time")
    print(f"{seconds / parsing:.2f} times as long as parsing the lines of the journal ({parsing:.2f} s)")


if __name__ == "__main__":
    main()
