"""The suite's own casebook, which all tests of a process share, and the pinning of families that tests write."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from generators.casebook import Case, Casebook, Family, Tier, build, expand, load_casebook
from generators.casebook.pinning import choose_tiers
from generators.casebook.tiers import home, pinned_file, write_tiers
from generators.program.program import Program

REPOSITORY = Path(__file__).resolve().parents[1]


@cache
def casebook() -> Casebook:
    """Return the casebook of this checkout."""
    return load_casebook(REPOSITORY)


def plain(path: Path) -> Any:
    """Return a YAML document as plain values, read by libyaml where PyYAML has it: it is ten times as fast."""
    return yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def pin(family: Family) -> Family:
    """Pin the tiers of a family in its checkout."""
    write_tiers(pinned_file(home(family), family.name), choose_tiers(family))
    return family


def programs(family: str, tier: Tier | str) -> Iterator[tuple[Case, Program]]:
    """Yield the kernel cases of a family in a tier, each with its program; a program of the smoke tier is built once."""
    made = _kept if tier == Tier.SMOKE else _program
    return ((case, made(case)) for case in expand(casebook().family(family), tier))


def _program(case: Case) -> Program:
    return build(case).program


_kept = cache(_program)
