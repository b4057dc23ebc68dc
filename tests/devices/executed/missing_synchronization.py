"""Takes one wait, cache scope or barrier out of the code of each of some cases, and tells in how many the wrong result is noticed.

    python -m tests.devices.executed.missing_synchronization gfx1201 --count 20 --seed 1

It needs RADV and its null kernel driver: run it in a root of `.ci/compile-only-root`. Each case passes before. A wait or a barrier is
replaced by s_nop; the scope of a load becomes one compute unit. Only barriers and scopes are taken that the code needs (exchanges.py): many
cases have some between waves that do not share anything there. The exit code is 1 if more than one in ten stays unnoticed.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable

from cts.devices.device import Device
from cts.devices.executed import gpu, program
from cts.devices.executed.dispatch import Dispatch, run
from cts.devices.executed.encoding.decoder import Instruction
from cts.devices.executed.environment import executing
from cts.devices.executed.memory import Memory
from cts.devices.spec import DeviceSpec
from cts.engine.runner import judge
from cts.engine.selection import device_rows
from cts.judges import choose
from cts.opening import open_device
from cts.verdict.verdict import Verdict
from generators.casebook import Case, expand
from tests.devices.executed.exchanges import Exchanges
from tests.runner.conftest import holding
from tests.suite import casebook

S_NOP = 0xBF800000
WAITS = ("s_wait_loadcnt", "s_wait_storecnt", "s_wait_dscnt", "s_wait_kmcnt", "s_wait_loadcnt_dscnt", "s_waitcnt", "s_waitcnt_vscnt")
BARRIERS = ("s_barrier", "s_barrier_signal", "s_barrier_wait")
KINDS = ("scope", "barrier", "wait")
"""What can be taken out, the rarest first."""

CHOSEN = "CTS_MISSING_SYNCHRONIZATION_DEVICE"
"""The variable with the device's UUID, in the process that has RADV's variables."""

Place = tuple[int, int]
"""Which shader of the case, and the instruction's place from its first."""


class Code:
    """Decodes as the program does, notes what can be taken out, and takes some of it out.

    Attributes:
        met: mnemonics by place.
        needed: the places of barriers and scopes that are needed.
        left_out: the places of the instructions that are changed.
    """

    def __init__(self) -> None:
        self._decoded = program.Program._instruction
        self._shaders: dict[tuple[int, ...], int] = {}
        self._first = self._shader = 0
        self.met: dict[Place, str] = {}
        self.needed: set[Place] = set()
        self._words: dict[Place, tuple[int, ...]] = {}
        self._exchanges = Exchanges()
        self._exchanges.install()
        self.left_out: frozenset[Place] = frozenset()

    def begin(self, left_out: Iterable[Place] = ()) -> None:
        """Begin a run of a case."""
        self.left_out = frozenset(left_out)
        self._shaders.clear()
        self.met.clear()
        self.needed.clear()
        self._words.clear()
        self._exchanges.scopes.clear()

    def run(self, dispatch: Dispatch, memory: Memory, number: int, watch: program.Watch | None) -> None:
        """Run a dispatch."""
        self._first = dispatch.code
        words = tuple(memory.words(dispatch.code, 16).tolist())
        self._shader = self._shaders.setdefault(words, len(self._shaders))
        self._exchanges.begin()
        run(dispatch, memory, number, watch)
        self.needed |= {(self._shader, address - self._first) for address in self._exchanges.barriers()}
        self.needed |= {place for place, loads in self._words.items() if place[0] == self._shader and loads in self._exchanges.scopes}

    def decode(self, of: program.Program, address: int) -> tuple[Instruction, tuple[int, ...]]:
        """Return the instruction at an address, and its words."""
        instruction, words = self._decoded(of, address)
        name, place = instruction.mnemonic, (self._shader, address - self._first)
        scoped = name.startswith(("buffer_load", "global_load")) and bool(instruction.fields.get("scope", instruction.fields.get("glc", 0)))
        if name in WAITS or name in BARRIERS or scoped:
            self.met[place], self._words[place] = name, words[: instruction.words]
        if place not in self.left_out:
            return instruction, words
        if not scoped:
            words = (S_NOP, *words[1:])
        elif of._generation == "gfx12":
            words = (words[0], words[1] & ~(3 << 18), *words[2:])
        else:
            words = (words[0] & ~(1 << 14), *words[1:])
        return program._decode(words, of._generation), words

    def choices(self) -> dict[str, list[tuple[Place, ...]]]:
        """Return what can be taken out, by kind: for each the places of the instructions to change."""
        places = sorted(self.met)
        found: dict[str, list[tuple[Place, ...]]] = {kind: [] for kind in KINDS}
        for number, place in enumerate(places):
            name = self.met[place]
            if name in WAITS:
                found["wait"].append((place,))
            elif place not in self.needed:
                continue
            elif name == "s_barrier_wait":
                signal = max(earlier for earlier in places[:number] if self.met[earlier] == "s_barrier_signal")
                found["barrier"].append((signal, place))
            else:
                found["barrier" if name == "s_barrier" else "scope"].append((place,))
        return found


class Judge:
    """Judges cases on one device, and opens it again when it is lost."""

    def __init__(self, spec: DeviceSpec) -> None:
        self._spec = spec
        self._device: Device | None = None

    def device(self) -> Device:
        """Return the device."""
        self._device = self._device or open_device(self._spec)
        return self._device

    def verdict(self, case: Case) -> Verdict:
        """Return the verdict of a case."""
        found = judge(case, holding(self.device()), "spirv", "smoke").verdict
        if found not in (Verdict.PASS, Verdict.FAIL):
            self.device().close()
            self._device = None
        return found


def shares(count: int) -> Counter[str]:
    """Return how many of each kind to take out, as equal as can be."""
    return Counter(KINDS[-1 - number % len(KINDS)] for number in range(count))


def try_all(uuid: str, chip: str, count: int, seed: int) -> int:
    """Print what was noticed; return the exit code."""
    code = Code()

    def decoded(of: program.Program, address: int) -> tuple[Instruction, tuple[int, ...]]:
        return code.decode(of, address)

    program.Program._instruction = decoded
    gpu.run = code.run
    judge_ = Judge(DeviceSpec("vulkan", uuid, chip=chip))
    rows = device_rows(judge_.device().description)
    cases = [case for family in casebook().families.values() for case in expand(family, "smoke", rows)]
    random.Random(seed).shuffle(cases)
    left, noticed, tried = shares(count), Counter[str](), Counter[str]()
    for case in cases:
        # Only these cases have several waves or workgroups, and one crashes RADV.
        several = "subgroups:" in case.id or "form:dispatch" in case.id
        if "move:copy_memory" in case.id or not (several or left["wait"]):
            continue
        code.begin()
        if judge_.verdict(case) is not Verdict.PASS:
            continue
        choices = code.choices()
        kind = next((kind for kind in KINDS if left[kind] and choices[kind]), None)
        if kind is None:
            continue
        taken = random.Random(f"{seed} {case.id}").choice(choices[kind])
        names = " and ".join(code.met[place] for place in taken)
        code.begin(taken)
        verdict = judge_.verdict(case)
        left[kind] -= 1
        tried[kind] += 1
        noticed[kind] += verdict is not Verdict.PASS
        print(f"{verdict:12} without {kind} ({names} at {taken[0][1]:#x}): {case.id}", flush=True)
        if not left.total():
            break
    print("; ".join(f"{kind}: {noticed[kind]} of {tried[kind]} noticed" for kind in KINDS))
    return int(10 * noticed.total() < 9 * count)


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chip")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if CHOSEN in os.environ:
        return try_all(os.environ[CHOSEN], options.chip, options.count, options.seed)
    uuid = choose(f"executed:{options.chip}").spec.name
    variables = {**os.environ, **executing(options.chip), CHOSEN: uuid}
    command = [sys.executable, "-m", "tests.devices.executed.missing_synchronization", *sys.argv[1:]]
    return subprocess.run(command, env=variables, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
