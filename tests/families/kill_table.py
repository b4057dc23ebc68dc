"""Which cases show which known defects.

    python -m tests.families.kill_table [--tier smoke|nightly] [--jobs N] [--share I/N] [--defects WORD] [--device PROFILE] [FAMILY ...]

Prints a line for each family of kernel cases, and of conversions of layouts, and each kind of defect that can occur in it, separated by
tabs: the family, the kind, in how many cases it can occur, how many of them show it, and the first that does. A kind is a defect's id,
and the parameters that make another mistake of it. A case shows a defect if an expected result changes, or if the reference model cannot
evaluate it: then the defect stores where it must not, or its sums are not exact, and a device would show either.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from cts.devices.device import Device
from cts.devices.embedded.device import EmbeddedDevice
from cts.devices.embedded.profile import load_profile
from cts.diagnosis.diagnose import known_defects
from generators.casebook import CaseKind, Tier
from generators.dispatch import kernel
from generators.program.program import Program
from generators.spirv.emit import emit
from tests.families.blind_spots import is_shown, prepared
from tests.families.conversion_spans import FAMILY as CONVERSIONS
from tests.families.conversion_spans import conversion_kill_table
from tests.suite import casebook, programs

Line = tuple[str, str, int, int, str]


def kill_table(name: str, tier: Tier, share: tuple[int, int] = (1, 1), word: str = "", profile: str = "") -> list[Line]:
    """Return the lines of the family ``name`` in ``tier``, by kind.

    Args:
        share: (i, n) takes every n-th case, from the i-th on; of conversions all.
        word: takes the kinds that contain it.
        profile: takes the cases that the embedded device supports with this profile; all if empty.
    """
    if name == CONVERSIONS:
        return [line for line in conversion_kill_table(tier) if word in line[1]]
    device = EmbeddedDevice(load_profile(profile)) if profile else None
    possible, shown = Counter[str](), Counter[str]()
    first: dict[str, str] = {}
    number, count = share
    for position, (case, program) in enumerate(programs(name, tier)):
        if position % count != number - 1:
            continue
        defects = [defect for defect in known_defects(program) if word in defect.kind]
        if not defects or (device is not None and not is_supported(device, program)):
            continue
        places = prepared(case, program)
        seen: dict[str, bool] = {}
        for defect in defects:
            if not seen.get(defect.kind):
                seen[defect.kind] = any(is_shown(defect, at) for at in places)
        for kind, is_seen in seen.items():
            possible[kind] += 1
            shown[kind] += is_seen
            if is_seen:
                first.setdefault(kind, case.id)
    return [(name, kind, possible[kind], shown[kind], first.get(kind, "-")) for kind in sorted(possible)]


def is_supported(device: Device, program: Program) -> bool:
    """Return whether a device supports all pipelines of a case."""
    return not any(device.missing(kernel(one, emit(one))) for one in program.all)


def main() -> int:
    """Make the table and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tier", choices=("smoke", "nightly"), default="smoke", help="of the cases (default: smoke)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (default: 2)")
    parser.add_argument("--share", default="1/1", metavar="I/N", help="every N-th case of each family, from the I-th on (default: 1/1)")
    parser.add_argument("--defects", default="", metavar="WORD", help="only kinds that contain this (default: all)")
    parser.add_argument("--device", default="", metavar="PROFILE", help="only cases that a profile of the embedded device supports")
    parser.add_argument("family", nargs="*", help="only these")
    arguments = parser.parse_args()
    number, _, count = arguments.share.partition("/")
    kinds = CaseKind.KERNEL, CaseKind.CONVERSION
    names = arguments.family or [family.name for family in casebook() if family.kind in kinds]
    table = partial(kill_table, tier=arguments.tier, share=(int(number), int(count)), word=arguments.defects, profile=arguments.device)
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for lines in pool.map(table, names):
            for line in lines:
                print(*line, sep="\t", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
