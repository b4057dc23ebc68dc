"""Compares the embedded device with spirv-val: the device refuses what spirv-val rejects, except what ``accepted.yaml`` lists.

``python -m tests.embedded.refusals --count 2000 --seed 1`` compares them on the broken modules of all static rules and on mutants, and
prints the messages of spirv-val about modules that the device accepts, with the first of these modules.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cts.devices.device import DeviceFailure
from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from cts.embedded.types.limits import Limits
from cts.validators.spirv_val import SpirvVal
from generators.casebook import CaseKind, Tier, build_module, expand
from generators.kernel import BufferSlot, Kernel
from generators.message_pattern import MessagePattern, message_pattern
from tests.embedded.mutants import case_samples, glslang_samples, mutants
from tests.suite import casebook, plain

SEED = 1


@dataclass(frozen=True)
class Disagreement:
    """A module that spirv-val rejects and the embedded device accepts: what it is, and spirv-val's message."""

    name: str
    message: str


@cache
def excuses() -> tuple[MessagePattern, ...]:
    """Return the messages of spirv-val about modules that the device may accept."""
    return tuple(message_pattern(one["says"]) for one in plain(Path(__file__).parent / "accepted.yaml"))


def excused(message: str) -> MessagePattern | None:
    """Return the excuse for accepting a module about which spirv-val has ``message``; None if there is none."""
    return next((pattern for pattern in excuses() if pattern.matches(message)), None)


def broken_modules() -> Iterator[tuple[str, Kernel]]:
    """Yield the broken module of each static rule, for one row each."""
    slots = tuple(BufferSlot(name, 1 << 16, True, binding) for binding, name in enumerate("abcd"))
    for family in casebook():
        if family.kind is not CaseKind.STATIC:
            continue
        rules: dict[str, str] = {}
        for case in expand(family, Tier.SMOKE):
            if case.named["form"] == "broken" and rules.setdefault(case.named["rule"], case.id) == case.id:
                yield case.id, Kernel(build_module(case).module, slots, required_subgroup_size=32)


def mutated_modules(count: int, seed: int, per_family: int = 1, families: tuple[str, ...] = ()) -> Iterator[tuple[str, Kernel]]:
    """Yield ``count`` mutants, which ``tests.embedded.mutants`` can reproduce."""
    samples = case_samples(per_family, families) + glslang_samples()
    for number, one in enumerate(mutants(samples, count, seed)):
        yield f"mutant {number} of {one.name}", one.kernel


def disagreements(kernels: Iterator[tuple[str, Kernel]], validator: SpirvVal) -> Iterator[Disagreement]:
    """Yield the modules that only the embedded device accepts."""
    device = EmbeddedDevice(load_profile("universal"), limits=Limits(memory=1 << 28))
    for name, kernel in kernels:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                device.run(kernel, [])
        except DeviceFailure:
            continue
        answer = validator.validate(kernel.spirv)
        if not answer.accepted and answer.knows:
            yield Disagreement(name, " ".join(answer.message.split()))


def main(argv: Sequence[str]) -> int:
    """Print the disagreements that nothing excuses. Return 1 if there are some."""
    parser = argparse.ArgumentParser(prog="python -m tests.embedded.refusals", description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--per-family", type=int, default=1)
    arguments = parser.parse_args(argv)
    validator, counts, wrong = SpirvVal(), Counter[MessagePattern](), 0
    for kernels in (broken_modules(), mutated_modules(arguments.count, arguments.seed, arguments.per_family)):
        for one in disagreements(kernels, validator):
            excuse = excused(one.message)
            if excuse is not None:
                counts[excuse] += 1
                continue
            wrong += 1
            print(f"{one.name}\n  {one.message}")
    for excuse, count in counts.most_common():
        print(f"{count:5} {excuse}")
    print(f"{wrong} modules that spirv-val rejects are accepted without a reason")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
