"""A defect acts on the reference model from outside: other steps, lifted checks, memory that can be read beyond its end."""

from __future__ import annotations

import numpy as np
import pytest

from cts.defects.evaluation import evaluate_defect, substituting
from cts.reference.evaluate import evaluate, perform
from generators.errors import Rule
from generators.layouts.tensor_writer import TensorWriter
from generators.program.builder import ProgramBuilder
from generators.program.load_store import MatrixLoad
from generators.program.memory import Pointee
from generators.program.program import Program, Subcase
from generators.program.tensor_access import TensorLoad
from generators.program.values import TensorLayoutType, Value
from generators.types import COMPONENT_TYPES, Layout, Scope
from tests.broken_rules import breaks
from tests.reference.programs import BUFFER, as_bytes, load_program, matrix_type

U16 = COMPONENT_TYPES["u16"]
BEYOND = 0x5A
SUBCASE = Subcase("one", {"m_in": as_bytes(np.arange(4, dtype=np.uint16))})


def loaded(first: int) -> Program:
    """Build a load of a row of four from ``first`` of an array of four."""
    place = {"type": "u16", "pointee": "u16", "first": first, "stride": 4, "layout": "ROW_MAJOR", "shape": (1, 4)}
    return load_program(place, SUBCASE.inputs["m_in"])[0]


def tensor_loaded(offset: int) -> Program:
    """Build a load of a row of four from ``offset`` of a tensor of four, in mode Undefined."""
    builder = ProgramBuilder(Scope.SUBGROUP)
    source, target = (builder.array(name, Pointee(U16), 4, BUFFER, role) for name, role in (("m_in", "input"), ("d_out", "output")))
    layout = TensorWriter(builder, "literal").layout("layout", TensorLayoutType(1), ("dimension", (4,)), ("slice", (offset, 4)))
    matrix = Value("m", matrix_type(U16, 1, 4))
    before = builder.splat("before", matrix.type, builder.literal(0, U16))
    builder.add(TensorLoad(matrix, source, builder.literal(0), before, layout))
    builder.store(matrix, target, builder.literal(0), builder.literal(4), Layout.ROW_MAJOR)
    return builder.build()


def bits(program: Program, beyond: int | None) -> list[int]:
    (placed,) = evaluate_defect(program, SUBCASE, {}, beyond).placed
    return placed.expected.bits.ravel().tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(("program", "rule"), [(loaded(2), Rule.OUT_OF_BOUNDS), (tensor_loaded(2), "CM2-CL-01")], ids=["matrix", "tensor"])
def test_only_a_device_with_a_defect_can_read_memory_beyond_its_end(program: Program, rule: str) -> None:
    with breaks(rule):
        evaluate(program, SUBCASE)
    with breaks(Rule.OUT_OF_BOUNDS):
        evaluate_defect(program, SUBCASE, {})
    assert bits(program, BEYOND) == [2, 3, 0x5A5A, 0x5A5A]


def test_a_substitute_takes_the_place_of_its_operation_and_of_no_other() -> None:
    program = loaded(0)
    (load,) = (operation for operation in program.operations if isinstance(operation, MatrixLoad))
    done = []

    def backwards(state, operation):  # type: ignore[no-untyped-def]
        perform(state, operation)
        done.append(operation)
        value = state.matrices[operation.result.name]
        value.bits[...] = value.bits[..., ::-1].copy()

    (placed,) = evaluate_defect(program, SUBCASE, {load: backwards}).placed
    assert placed.expected.bits.ravel().tolist() == [3, 2, 1, 0]
    assert done == [load]
    assert evaluate(program, SUBCASE).placed[0].expected.bits.ravel().tolist() == [0, 1, 2, 3]


def test_substitutes_can_be_put_over_others() -> None:
    program = loaded(0)
    load, store = (operation for operation in program.operations if hasattr(operation, "stride"))
    calls = []
    outer = substituting({load: lambda *_: calls.append("outer load"), store: lambda *_: calls.append("outer store")})
    inner = substituting({load: lambda *_: calls.append("inner load")}, outer)
    for operation in (load, store):
        inner(None, operation)  # type: ignore[arg-type]
    assert calls == ["inner load", "outer store"]
