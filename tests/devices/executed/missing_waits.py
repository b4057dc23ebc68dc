"""Takes one wait out of the code of each of some cases, and tells in how many the wrong result is noticed.

    python -m tests.devices.executed.missing_waits gfx1201 --count 20 --seed 1

It needs RADV and its null kernel driver: run it in a root of `.ci/compile-only-root`. Each case passes before one of its waits is replaced
by s_nop. The exit code is 1 if more than one in ten stays unnoticed.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys

from cts.devices.executed import program
from cts.devices.executed.encoding.decoder import Instruction
from cts.devices.executed.environment import executing
from cts.devices.spec import DeviceSpec
from cts.engine.runner import judge
from cts.engine.selection import device_rows
from cts.judges import choose
from cts.opening import open_device
from cts.verdict.verdict import Verdict
from generators.casebook import Case, expand
from tests.runner.conftest import holding
from tests.suite import casebook

S_NOP = 0xBF800000
COUNTED = ("s_wait_loadcnt", "s_wait_storecnt", "s_wait_dscnt", "s_wait_kmcnt", "s_wait_loadcnt_dscnt", "s_waitcnt", "s_waitcnt_vscnt")
CHOSEN = "CTS_MISSING_WAITS_DEVICE"
"""The variable with the device's UUID, in the process that has RADV's variables."""


class Waits:
    """Decodes as the program does, notes the waits that it meets, and replaces one of them."""

    def __init__(self) -> None:
        self._decoded = program.Program._instruction
        self._shader: program.Program | None = None
        self._first = 0
        self.met: dict[int, str] = {}
        self.left_out: int | None = None

    def decode(self, of: program.Program, address: int) -> tuple[Instruction, tuple[int, ...]]:
        """Return the instruction at an address, and its words."""
        if of is not self._shader:
            self._shader, self._first = of, address
        instruction, words = self._decoded(of, address)
        if instruction.mnemonic in COUNTED:
            place = address - self._first
            self.met[place] = instruction.mnemonic
            if place == self.left_out:
                words = (S_NOP, *words[1:])
                return program._decode(words, of._generation), words
        return instruction, words


def verdict_of(case: Case, spec: DeviceSpec) -> Verdict:
    """Return the verdict of a case on a fresh device."""
    device = open_device(spec)
    try:
        return judge(case, holding(device), "spirv", "smoke").verdict
    finally:
        device.close()


def run(uuid: str, chip: str, count: int, seed: int) -> int:
    """Print what was noticed; return the exit code."""
    waits = Waits()

    def decoded(of: program.Program, address: int) -> tuple[Instruction, tuple[int, ...]]:
        return waits.decode(of, address)

    program.Program._instruction = decoded
    spec = DeviceSpec("vulkan", uuid, chip=chip)
    rows = device_rows(open_device(spec).description)
    cases = [case for family in casebook().families.values() for case in expand(family, "smoke", rows)]
    random.Random(seed).shuffle(cases)
    noticed = tried = 0
    for case in cases:
        if "move:copy_memory" in case.id:
            continue
        waits.left_out = None
        waits.met.clear()
        if verdict_of(case, spec) is not Verdict.PASS or not waits.met:
            continue
        waits.left_out, name = random.Random(f"{seed} {case.id}").choice(sorted(waits.met.items()))
        verdict = verdict_of(case, spec)
        tried, noticed = tried + 1, noticed + (verdict is not Verdict.PASS)
        print(f"{verdict:12} without {name}: {case.id}", flush=True)
        if tried == count:
            break
    print(f"{noticed} of {tried} missing waits noticed")
    return int(10 * noticed < 9 * tried)


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chip")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if CHOSEN in os.environ:
        return run(os.environ[CHOSEN], options.chip, options.count, options.seed)
    uuid = choose(f"executed:{options.chip}").spec.name
    variables = {**os.environ, **executing(options.chip), CHOSEN: uuid}
    return subprocess.run(
        [sys.executable, "-m", "tests.devices.executed.missing_waits", *sys.argv[1:]], env=variables, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
