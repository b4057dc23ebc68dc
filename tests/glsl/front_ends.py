"""Compares the outputs of both front ends' modules byte for byte on the embedded device.

    python -m tests.glsl.front_ends [--tier smoke|nightly] [--specification NAME ...] [FAMILY ...]

Needs glslang. Prints for each family how many cases agree, how many differ, and how many GLSL cannot express. The exit code is 1 if any
case differs. If a load has two decode functions, the device runs twice: first it calls the function for single elements wherever it may,
then the other one. Normally the choice depends on the place of the instruction, which differs between the modules.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from cts.embedded.device import EmbeddedDevice
from cts.embedded.faults import Faults
from cts.embedded.instructions.tensors.decode import chosen_groups
from cts.embedded.profile import load_profile
from cts.front_ends import FRONT_ENDS
from cts.kinds.kernel import arrange, compile_module
from generators.casebook import Case, CaseKind, build, expand
from generators.dispatch import kernel
from generators.errors import NotExpressible
from generators.kernel import Outcome
from tests.suite import casebook

UNSEEN = ("SPV_NV_cooperative_matrix_decode_vector", "SPV_QCOM_cooperative_matrix_conversion", "SPV_EXT_cooperative_matrix_maintenance1")
"""The specifications that no available driver supports: only this comparison tests glslang's modules for them."""


def families(specifications: Sequence[str] = UNSEEN) -> list[str]:
    """Return the families of kernels of specifications."""
    return [family.name for family in casebook() if family.kind is CaseKind.KERNEL and family.specification in specifications]


def decoding(vector: bool) -> Faults:
    """Make a device that calls one decode function wherever it may."""

    def chosen(_: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
        return lambda seed, site, instance, count: np.full(count, vector)

    return Faults(operations={chosen_groups: chosen})


def differing(case: Case) -> list[str]:
    """Return the buffers in which the modules leave different bytes, each with subcase and decode function; none if the modules agree.

    Raises:
        NotExpressible: GLSL cannot express the case.
    """
    built = build(case)
    plan = arrange(built)
    modules = [kernel(built.program, compile_module(built.program, front_end)) for front_end in FRONT_ENDS]
    found = []
    for vector in (False, True):
        device = EmbeddedDevice(load_profile("universal"), faults=decoding(vector))
        first, second = (device.run(module, plan.dispatches) for module in modules)
        for subcase, *outcomes in zip(plan.subcases, first, second, strict=True):
            found += [f"{name} of {subcase.name}, decoded by {'groups' if vector else 'elements'}" for name in unequal(*outcomes)]
    return found


def unequal(one: Outcome, other: Outcome) -> list[str]:
    """Return the names of the buffers in which two outcomes differ."""
    names = sorted({*one.outputs, *other.outputs})
    return [
        name
        for name in names
        if name not in one.outputs or name not in other.outputs or one.outputs[name].tobytes() != other.outputs[name].tobytes()
    ]


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tier", choices=("smoke", "nightly"), default="smoke", help="tier of the cases (default: smoke)")
    parser.add_argument("--specification", action="append", help=f"all its families; may be repeated (default: {', '.join(UNSEEN)})")
    parser.add_argument("family", nargs="*", help="only these families")
    options = parser.parse_args()
    total: Counter[str] = Counter()
    for name in options.family or families(options.specification or UNSEEN):
        counts: Counter[str] = Counter()
        for case in expand(casebook().family(name), options.tier):
            try:
                found = differing(case)
            except NotExpressible:
                counts["not expressible in GLSL"] += 1
                continue
            counts["differ" if found else "agree"] += 1
            if found:
                print(f"{case.id}: {'; '.join(found)}", flush=True)
        total += counts
        print(name, *(f"{count} {what}" for what, count in sorted(counts.items())), sep="\t", flush=True)
    print("all", *(f"{count} {what}" for what, count in sorted(total.items())), sep="\t")
    return 1 if total["differ"] else 0


if __name__ == "__main__":
    sys.exit(main())
