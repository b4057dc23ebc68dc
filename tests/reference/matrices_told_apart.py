"""Runs programs on matrices with different contents, by the reference model and on the embedded device."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from generators.program.builder import ProgramBuilder
from generators.program.memory import Pointee
from generators.program.program import Subcase
from generators.program.values import Matrix
from generators.types import Layout, Scope
from tests.agreement import agreed
from tests.reference.programs import BUFFER, as_bytes, matrix_type

TYPE = matrix_type("u16", 8, 8)
Body = Callable[[ProgramBuilder, list[Matrix]], list[Matrix]]


def stored(body: Body, subgroups: int = 1, pushed: int = 0) -> list[int]:
    """Return, for every instance, the number of the input (of four) that each matrix from ``body`` equals.

    The embedded device must give the result that the reference model expects.
    """
    builder = ProgramBuilder(Scope.SUBGROUP, subgroups)
    source = builder.array("source", Pointee(TYPE.component), 256, BUFFER, "input")
    target = builder.array("target", Pointee(TYPE.component), 64 * 8, BUFFER, "output")
    stride = builder.literal(8)
    given = [builder.load(f"m{i}", TYPE, source, builder.literal(64 * i), stride, Layout.ROW_MAJOR) for i in range(4)]
    results = body(builder, given)
    for i, matrix in enumerate(results):
        first = builder.offset(f"place{i}", builder.literal(i * 64), builder.instance_index(), 64 * len(results))
        builder.store(matrix, target, first, stride, Layout.ROW_MAJOR)
    program = builder.build()
    data = np.arange(256, dtype=np.uint16) * 251
    operands = {o.name: pushed for o in program.operands if o.source == "push_constant"}
    subcase = Subcase("one", {"source": as_bytes(data)}, operands)
    outputs = agreed(program, subcase)
    which = {data[64 * i : 64 * i + 64].tobytes(): i for i in range(4)}
    words = outputs["target"].view(np.uint16)
    return [which[words[64 * i : 64 * i + 64].tobytes()] for i in range(len(results) * subgroups)]
