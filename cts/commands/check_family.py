"""Checks all that CONTRIBUTING.md asks of a family. For each fault it prints the id of the check, what is wrong, and how to mend it.

Exit code 0 if nothing is missing, 1 if something is. Checks that need a program which is not installed, or cases which are not pinned yet,
are named and count as neither.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

from cts.commands.context import checkout, print_json
from cts.commands.options import add
from cts.commands.pinned import check
from cts.diagnosis.proofs import read_proofs, unproved
from cts.engine.plan import one_of
from generators.bug_classes import load_bug_classes
from generators.casebook import Casebook, CaseKind, Family, Tier, expand, load_casebook
from generators.coverage import coverage, unused_labels
from generators.errors import CtsError
from generators.glsl.compile import find_glslang
from generators.skeleton import TODO

_KERNEL = frozenset({CaseKind.KERNEL})
_IN_MEMORY = _KERNEL | {CaseKind.CONVERSION}
_ALL = frozenset(CaseKind)
_CASES = "pinned case"
_PROGRAMS: Mapping[str, Callable[[], str | None]] = MappingProxyType(
    {"spirv-val": partial(shutil.which, "spirv-val"), "glslang": find_glslang}
)
_SHOWN = 12
"""The most lines of a check's output to show."""


@dataclass(frozen=True)
class Place:
    """A family in its checkout. ``own`` is the casebook with this family alone."""

    root: Path
    family: Family
    own: Casebook


@dataclass(frozen=True)
class Check:
    """Something that is asked of a family.

    Attributes:
        id: names it in the output; it never changes.
        mend: what to do about a fault: a command, or the file to edit. ``NAME`` and ``FILE`` are the family and its YAML file.
        faults: returns the faults, one line each.
        kinds: the kinds of families that it concerns.
        needs: what it needs: programs, and pinned cases.
    """

    id: str
    mend: str
    faults: Callable[[Place], Sequence[str]]
    kinds: frozenset[CaseKind] = _ALL
    needs: tuple[str, ...] = ()


def _skeleton(at: Place) -> Sequence[str]:
    return [text for text in at.family.todo if text == TODO]


def _labels(at: Place) -> Sequence[str]:
    return [f"no product takes '{one.label}' of '{one.parameter}'" for one in unused_labels(at.family)]


def _claims(at: Place) -> Sequence[str]:
    claimed = () if at.family.covers else ("it claims no requirement",)
    return [*claimed, *(f"no nightly case exercises {one.requirement}" for one in coverage(at.own).unmet)]


def _proofs(at: Place) -> Sequence[str]:
    return list(unproved(at.own, read_proofs(at.root), at.own.requirements, (at.family.name,)))


def _bug_classes(at: Place) -> Sequence[str]:
    named = {family for bug in load_bug_classes(load_casebook(at.root)) for family in bug.families}
    return [] if at.family.name in named else ["no class of bugs names it"]


def _golden(at: Place) -> Sequence[str]:
    (found,) = check(at.root, at.own, 1, [at.family.name])
    return [*(f"{id_}: lost" for id_ in found.lost), *(f"{id_}: {what}" for id_, what in found.altered), *found.notes]


def _runs(*arguments: str) -> Callable[[Place], Sequence[str]]:
    """Return a check that runs Python with these arguments; its faults are the last lines of the output, unless the exit code is 0."""

    def faults(at: Place) -> Sequence[str]:
        words = [_filled(argument, at) for argument in arguments]
        done = subprocess.run([sys.executable, *words], cwd=at.root, capture_output=True, text=True, errors="replace", check=False)
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        return [] if done.returncode == 0 else lines[-_SHOWN:] or [f"exit code {done.returncode}"]

    return faults


def _judged_by(device: str) -> Callable[[Place], Sequence[str]]:
    return _runs("-m", "pytest", "FILE", "--device", device, "--tier", "nightly", "-q", "-p", "no:cacheprovider", "--log-failures", "2")


_READINGS = "show the defects with other data, or say in tests/families/unseen_defects.py why no case can: cts show 'CASE' --expected"
CHECKS = (
    Check("skeleton", "do that in FILE and its builder, and take the line out of 'todo'", _skeleton),
    Check("labels", "use the label in a product of FILE, or remove it", _labels),
    Check("tiers", "cts golden --update --tiers --family NAME, then cts golden --update --family NAME", _golden),
    Check("claims", "name in 'covers' of FILE what its cases exercise, and add products to the nightly tier, or remove the claim", _claims),
    Check(
        "proofs",
        "cts golden --update --proofs --family NAME; for what stays: other data, or cts/defects/claims.yaml",
        _proofs,
        _KERNEL,
    ),
    Check("bug_classes", "name NAME and its parameters in cases/bug_classes.yaml", _bug_classes),
    Check(
        "embedded",
        "pytest FILE --device embedded --tier nightly shows the failures",
        _judged_by("embedded"),
        _ALL - {CaseKind.STATIC},
        (_CASES,),
    ),
    Check(
        "static",
        "pytest FILE --device spirv-val --tier nightly shows the failures",
        _judged_by("spirv-val"),
        frozenset({CaseKind.STATIC}),
        ("spirv-val", _CASES),
    ),
    Check(
        "spirv_val",
        "cts spirv-val --family NAME --front-end both --tier nightly shows what is wrong",
        _runs("-m", "cts", "spirv-val", "--family", "NAME", "--front-end", "both", "--tier", "nightly"),
        _KERNEL,
        ("spirv-val", "glslang", _CASES),
    ),
    Check(
        "null_device",
        "end the shader with a call of add_witness (generators/layouts/placement.py)",
        _runs("-m", "tests.families.null_device", "NAME", "--tier", "nightly"),
        _IN_MEMORY,
        (_CASES,),
    ),
    Check("blind_spots.smoke", _READINGS, _runs("-m", "tests.families.blind_spots", "NAME", "--tier", "smoke"), _KERNEL, (_CASES,)),
    Check("blind_spots.nightly", _READINGS, _runs("-m", "tests.families.blind_spots", "NAME", "--tier", "nightly"), _KERNEL, (_CASES,)),
    Check(
        "tests",
        "pytest tests/casebook tests/families -k NAME shows the failures",
        _runs("-m", "pytest", "tests/casebook", "tests/families", "-k", "NAME", "-q", "-p", "no:cacheprovider", "--no-header"),
        needs=(_CASES,),
    ),
    Check("pages", "cts pages", _runs("-m", "cts", "pages", "--check")),
    Check(
        "thin_kinds",
        "add the family to generators/placements/kinds.yaml, or see tests/families/thin_kinds.yaml",
        _runs("-m", "tests.families.thin_kinds"),
        _KERNEL,
        (_CASES,),
    ),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("name", metavar="NAME", help="the family")
    parser.add_argument("--only", action="append", metavar="ID", help="only this check; may be given several times")
    add(parser, "--json")


def run(options: argparse.Namespace) -> int:
    """Check the family, quick checks first."""
    root = checkout(options)
    ids = tuple(one.id for one in CHECKS)
    wanted = {one_of("--only", id_, ids) for id_ in options.only or ids}
    own = load_casebook(root, [options.name])
    at = Place(root, own.family(options.name), own)
    has_cases = _has_cases(at.family)
    told = []
    for one in CHECKS:
        if one.id in wanted and at.family.kind in one.kinds:
            missing = [name for name in one.needs if not (has_cases if name == _CASES else _PROGRAMS[name]())]
            faults = [] if missing else _faults(one, at)
            told.append({"id": one.id, "missing": missing, "faults": faults, "mend": _filled(one.mend, at) if faults else ""})
            if not options.json:
                print(*_lines(one, at, missing, faults), sep="\n", flush=True)
    if options.json:
        print_json(told)
    return 1 if any(one["faults"] for one in told) else 0


def _has_cases(family: Family) -> bool:
    """Tell whether the cases of a family are pinned as its YAML describes them."""
    try:
        return bool(expand(family, Tier.NIGHTLY))
    except CtsError:
        return False


def _faults(one: Check, at: Place) -> Sequence[str]:
    try:
        return list(one.faults(at))
    except CtsError as error:
        # Outdated pins, for example: the message says what to do.
        return [str(error)]


def _lines(one: Check, at: Place, missing: Sequence[str], faults: Sequence[str]) -> Iterator[str]:
    """Yield what the text says of a check."""
    if not faults:
        yield f"{one.id}: not checked, because there is no {' and no '.join(missing)}" if missing else f"{one.id}: ok"
        return
    yield f"{one.id}: {len(faults)} wrong"
    yield from (f"    {fault}" for fault in faults[:_SHOWN])
    if len(faults) > _SHOWN:
        yield f"    and {len(faults) - _SHOWN} more"
    yield f"    to mend it: {_filled(one.mend, at)}"


def _filled(text: str, at: Place) -> str:
    return text.replace("NAME", at.family.name).replace("FILE", str(at.family.path.relative_to(at.root)))
