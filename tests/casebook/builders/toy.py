"""A builder for families in tests; its programs move no data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from generators.parameters.declaration import parameter
from generators.program.program import Built, Program, Subcase
from generators.property_rows import parse_row
from generators.types import Scope


@dataclass(frozen=True, kw_only=True)
class Parameters:
    bytes: int = parameter("bytes of a number")
    columns: int = parameter("numbers in a row")
    use: str = parameter("what a row is for")
    stride: int | list[int] = parameter("bytes between rows")


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    pattern: str = parameter("the numbers")
    seed: int = parameter("which numbers")


def _short_row(parameters: Parameters) -> bool:
    return parameters.bytes * parameters.columns <= 64


def _misspelt(parameters: Any) -> bool:
    return bool(parameters.byte)


def _small(parameters: Parameters) -> bool:
    return parameters.bytes < 4


def _integers(parameters: Parameters) -> bool:
    return not parse_row(parameters.use).a.is_float


def _even_pattern(parameters: SubcaseParameters) -> bool:
    return parameters.pattern != "halves" or parameters.columns % 2 == 0


PREDICATES: Mapping[str, Callable[[Any], bool]] = {
    "short_row": _short_row,
    "misspelt": _misspelt,
    "even_pattern": _even_pattern,
    "small": _small,
    "integers": _integers,
}


def build(parameters: Parameters) -> Built:
    def draw(name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        data = {"data": rng.integers(0, 256, 16, np.uint8)}
        return Subcase(name, data, {"columns": parameters.columns}, vars(parameters))

    return Built(Program((), (), (), Scope.SUBGROUP, subgroups=parameters.columns), draw)
