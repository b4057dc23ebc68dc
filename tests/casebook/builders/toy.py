"""A builder for families of tests: its programs move nothing."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from generators.program.program import Program, Subcase
from generators.property_rows import parse_row
from generators.types import Scope


def _short_row(values: Mapping[str, Any]) -> bool:
    return values["bytes"] * values["columns"] <= 64


def _misspelt(values: Mapping[str, Any]) -> bool:
    return bool(values["byte"])


def _small(values: Mapping[str, Any]) -> bool:
    return bool(values["bytes"] < 4)


def _integers(values: Mapping[str, Any]) -> bool:
    return not parse_row(values["use"]).a.is_float


def _even_pattern(values: Mapping[str, Any]) -> bool:
    return values["pattern"] != "halves" or values["columns"] % 2 == 0


PREDICATES = {"short_row": _short_row, "misspelt": _misspelt, "even_pattern": _even_pattern, "small": _small, "integers": _integers}


def program(values: Mapping[str, Any]) -> Program:
    return Program((), (), (), Scope.SUBGROUP, subgroups=values["columns"])


def subcase(name: str, values: Mapping[str, Any], program: Program, rng: np.random.Generator) -> Subcase:
    return Subcase(name, {"data": rng.integers(0, 256, 16, np.uint8)}, {"columns": values["columns"]}, dict(values))
