"""Runs mutated modules on the embedded device, which must answer in bounded time and memory, with outputs or with one of its own failures.
All other code that reads the words of a module, to find its needs or to show it, must also answer.

``python -m tests.embedded.mutants --count 5000 --seed 1`` prints how many mutants had each answer, the most memory that the process took,
and each result that is not an answer, with the seed and number that reproduce the mutant.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from cts.devices.device import DeviceFailure
from cts.embedded.device import EmbeddedDevice
from cts.embedded.observations import Observations
from cts.embedded.profile import load_profile
from cts.embedded.types.limits import LIMITS, Limits
from generators.casebook import CaseKind, Tier, build, expand
from generators.dispatch import dispatch, kernel
from generators.errors import GeneratorError
from generators.kernel import BufferSlot, Dispatch, Kernel
from generators.spirv.disassemble import disassemble
from generators.spirv.emit import emit
from tests.embedded.glslang_modules import NO_CONSTANT, module
from tests.embedded.mutation import mutant
from tests.families.evidence import casebook

MEMORY_LIMIT = 1 << 30
"""The most memory that a process may take, in bytes."""

FORESEEN = (DeviceFailure, GeneratorError)


@dataclass(frozen=True)
class Sample:
    """A kernel whose module is mutated, and one dispatch of it."""

    name: str
    kernel: Kernel
    dispatch: Dispatch


@dataclass(frozen=True)
class Answer:
    """The device's answer to a mutant.

    Attributes:
        kind: ``"ran"``, or the name of the failure's class.
        text: its message, or the traceback of an exception that is not a failure of a device.
        foreseen: whether it counts as an answer.
        seconds: CPU time.
    """

    kind: str
    text: str
    foreseen: bool
    seconds: float


def answer(device: EmbeddedDevice, sample: Sample) -> Answer:
    """Return the answer of ``device`` to a kernel, including exceptions while the module is checked for features or shown."""
    begin = time.process_time()
    asked = _attempt(lambda: device.missing(sample.kernel))
    ran = _attempt(lambda: device.run(sample.kernel, [sample.dispatch]))
    shown = _attempt(lambda: disassemble(sample.kernel.spirv))
    kind, text, foreseen = next((attempt for attempt in (asked, shown) if not attempt[2]), ran)
    return Answer(kind, text, foreseen, time.process_time() - begin)


def _attempt(ask: Callable[[], object]) -> tuple[str, str, bool]:
    try:
        ask()
    except FORESEEN as failure:
        return type(failure).__name__, str(failure), True
    except Exception as error:
        return type(error).__name__, traceback.format_exc(), False
    return "ran", "", True


def mutants(samples: Sequence[Sample], count: int, seed: int) -> Iterator[Sample]:
    """Yield ``count`` mutants of ``samples``; number i of a seed is always the same."""
    modules = [sample.kernel.spirv for sample in samples]
    for number in range(count):
        yield one_mutant(samples, modules, seed, number)


def one_mutant(samples: Sequence[Sample], modules: Sequence[bytes], seed: int, number: int) -> Sample:
    """Return mutant ``number`` of ``seed``."""
    rng = random.Random(f"{seed}/{number}")
    index = rng.randrange(len(samples))
    origin = samples[index]
    return replace(origin, kernel=replace(origin.kernel, spirv=mutant(rng, modules, index)))


@cache
def glslang_samples() -> tuple[Sample, ...]:
    """Return modules that glslang made, with four buffers of 4 KiB each."""
    names = sorted(path.stem for path in (Path(__file__).parent / "glslang").glob("*.spvasm"))
    slots = tuple(BufferSlot(f"buffer{i}", 4096, True, i, 8 * i) for i in range(5))
    return tuple(
        Sample(
            f"glslang {name}",
            Kernel(module(name), slots, local_size_constant_id=NO_CONSTANT, push_constant_bytes=64),
            Dispatch(bytes(64), tuple(np.full(4096, 1, np.uint8) for _ in slots)),
        )
        for name in names
    )


@cache
def case_samples(per_family: int, names: tuple[str, ...] = ()) -> tuple[Sample, ...]:
    """Return the first subcases of some smoke cases of the families ``names``, or of all."""
    found = []
    for family in casebook():
        if family.kind is not CaseKind.KERNEL or (names and family.name not in names):
            continue
        cases = expand(family, Tier.SMOKE)
        for case in cases[:: max(len(cases) // per_family, 1)][:per_family]:
            built = build(case)
            program = built.program
            subcase = built.subcases()[0]
            contents = {array.name: np.zeros(array.bytes, np.uint8) for array in program.arrays} | subcase.inputs
            found.append(Sample(case.id, kernel(program, emit(program)), dispatch(program, subcase, contents)))
    return tuple(found)


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.embedded.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--per-family", type=int, default=3, help="number of cases of each family whose modules are mutated")
    parser.add_argument("--only", type=int, help="the number of one mutant; its answer is printed")
    parser.add_argument("--steps", type=int, default=LIMITS.steps, help="number of steps after which a mutant is stopped")
    parser.add_argument("--collecting", action="store_true", help="use a device that collects mistakes, as of cts run-module")
    parser.add_argument("--not-strict", action="store_true", help="use a device that goes on after undefined behaviour")
    return parser.parse_args(argv)


def main(argv: Sequence[str]) -> int:
    """Print the counts. Return 1 if a mutant had no answer or the memory limit was exceeded, else 0."""
    arguments = _arguments(argv)
    warnings.simplefilter("ignore", RuntimeWarning)
    samples = case_samples(arguments.per_family) + glslang_samples()
    observations = Observations() if arguments.collecting else None
    limits = Limits(steps=arguments.steps)
    device = EmbeddedDevice(load_profile("universal"), strict=not arguments.not_strict, limits=limits, observations=observations)
    if arguments.only is not None:
        one = one_mutant(samples, [s.kernel.spirv for s in samples], arguments.seed, arguments.only)
        found = answer(device, one)
        print(one.name, found.kind, f"{found.seconds:.2f} s", found.text, sep="\n")
        return 0 if found.foreseen else 1
    before = _peak()
    counts: Counter[str] = Counter()
    unforeseen: dict[tuple[str, ...], list[int]] = {}
    slowest: list[tuple[float, int, str]] = []
    for number, one in enumerate(mutants(samples, arguments.count, arguments.seed)):
        found = answer(device, one)
        counts[found.kind] += 1
        slowest = sorted([*slowest, (found.seconds, number, found.kind)], reverse=True)[:5]
        if not found.foreseen:
            lines = found.text.strip().splitlines()
            where = [line.strip() for line in lines if line.lstrip().startswith("File ")][-1:]
            unforeseen.setdefault((*where, lines[-1][:90]), []).append(number)
    for kind, count in counts.most_common():
        print(f"{count:6} {kind}")
    print(f"memory: {before >> 20} MiB before, {_peak() >> 20} MiB at most; slowest:", *(f"{s:.1f} s (#{n}, {k})" for s, n, k in slowest))
    for (where, *what), numbers in sorted(unforeseen.items(), key=lambda item: -len(item[1])):
        print(f"{len(numbers):4} x {where.split('/')[-1]}: {' '.join(what)} (#{numbers[0]})")
    return 1 if unforeseen or _peak() > MEMORY_LIMIT else 0


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
