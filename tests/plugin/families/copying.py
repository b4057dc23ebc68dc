"""A family for tests of the machinery: a matrix is loaded and stored, and the parameter ``number`` determines the size of the arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from generators.parameters.declaration import parameter
from generators.program.builder import ProgramBuilder
from generators.program.memory import Pointee
from generators.program.program import Built, Program, Subcase
from generators.program.values import MatrixType
from generators.types import COMPONENT_TYPES, Layout, Scope, StorageClass, Use

PREDICATES: Mapping[str, Callable[[Any], bool]] = {}

U8 = COMPONENT_TYPES["u8"]


@dataclass(frozen=True, kw_only=True)
class Parameters:
    number: int = parameter("adds 16 bytes", decode=lambda label: int(label.removeprefix("n")))
    colour: str = parameter("changes nothing", default="red")


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    data: str = parameter("changes nothing")


def build(parameters: Parameters) -> Built:
    builder = ProgramBuilder(Scope.SUBGROUP)
    length = 64 + 16 * parameters.number
    source = builder.array("source", Pointee(U8), length, StorageClass.STORAGE_BUFFER, "input")
    target = builder.array("target", Pointee(U8), length, StorageClass.STORAGE_BUFFER, "output")
    first, stride = builder.literal(0), builder.literal(8)
    type_ = MatrixType(U8, Scope.SUBGROUP, 8, 8, Use.A)
    matrix = builder.load("matrix", type_, source, first, stride, Layout.ROW_MAJOR)
    builder.store(matrix, target, first, stride, Layout.ROW_MAJOR)

    def draw(name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        return Subcase(name, {"source": rng.integers(0, 256, length, np.uint8)})

    return Built(builder.build(), draw)
