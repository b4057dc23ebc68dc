"""A family for tests of the machinery: a matrix is loaded and stored, and the axis ``number`` shows in the size of the arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from generators.program.builder import ProgramBuilder
from generators.program.memory import Pointee
from generators.program.program import Program, Subcase
from generators.program.values import MatrixType
from generators.types import COMPONENT_TYPES, Layout, Scope, StorageClass, Use

PREDICATES: Mapping[str, Callable[[Mapping[str, Any]], bool]] = {}

U8 = COMPONENT_TYPES["u8"]


def array_bytes(values: Mapping[str, Any]) -> int:
    return 64 + 16 * int(str(values["number"])[1:])


def program(values: Mapping[str, Any]) -> Program:
    builder = ProgramBuilder(Scope.SUBGROUP)
    length = array_bytes(values)
    source = builder.array("source", Pointee(U8), length, StorageClass.STORAGE_BUFFER, "input")
    target = builder.array("target", Pointee(U8), length, StorageClass.STORAGE_BUFFER, "output")
    first, stride = builder.literal(0), builder.literal(8)
    type_ = MatrixType(U8, Scope.SUBGROUP, 8, 8, Use.A)
    matrix = builder.load("matrix", type_, source, first, stride, Layout.ROW_MAJOR)
    builder.store(matrix, target, first, stride, Layout.ROW_MAJOR)
    return builder.build()


def subcase(name: str, values: Mapping[str, Any], program: Program, rng: np.random.Generator) -> Subcase:
    return Subcase(name, {"source": rng.integers(0, 256, array_bytes(values), np.uint8)})
