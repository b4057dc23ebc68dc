"""Runs the families of vector decode functions on embedded devices that choose between the two functions with different seeds.

``python -m tests.families.decode_choices --seeds 100`` runs every case of a tier with each seed, compares the outputs, and prints how many
elements each function supplied. The exit code is 1 if any case is not as expected.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator

from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from cts.kinds.kernel import Arrangement, arrange, compile_module
from cts.verdict.choices import decode_choices
from cts.verdict.compare import compare, compare_quality
from generators.casebook import Case, build, expand
from generators.dispatch import kernel
from tests.suite import casebook

FAMILIES = ("decode_vector", "decode_vector_choice")


def cases(tier: str) -> Iterator[Case]:
    """Yield the cases of both families."""
    for name in FAMILIES:
        yield from expand(casebook().family(name), tier)


def wrong_seeds(case: Case, seeds: range, told: Counter[str]) -> list[int]:
    """Return the seeds with which a case is not as expected. Count in ``told`` the elements that each function supplied."""
    built = build(case)
    assert not built.program.others, "a case of these families has one program"
    plan, module = arrange(built), kernel(built.program, compile_module(built.program, "spirv"))
    return [seed for seed in seeds if not _is_right(plan, module, seed, told)]


def _is_right(plan: Arrangement, module: object, seed: int, told: Counter[str]) -> bool:
    device = EmbeddedDevice(load_profile("universal"), choices=seed)
    outcomes = device.run(module, plan.dispatches)  # type: ignore[arg-type]
    right = True
    for program, want, before, outcome in zip(plan.programs, plan.expected, plan.before, outcomes, strict=True):
        right &= not compare(program, want, before, outcome) and not compare_quality(want, before, outcome)
        for line in decode_choices(want, outcome.outputs):
            told["vector"] += line.count("V") if line.startswith("  ") else 0
            told["scalar"] += line.count("s") if line.startswith("  ") else 0
    return right


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--tier", default="nightly")
    options = parser.parse_args()
    told: Counter[str] = Counter()
    count = wrong = 0
    for case in cases(options.tier):
        count += 1
        bad = wrong_seeds(case, range(options.seeds), told)
        wrong += bool(bad)
        if bad:
            print(f"{case.id}: wrong with seeds {bad}", flush=True)
    print(f"{count} cases with {options.seeds} seeds: {wrong} wrong; elements that tell which function was called: {dict(told)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
