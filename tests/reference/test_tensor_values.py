"""Tensor layouts and views as values: copied, held by variables, passed to functions and returned; the embedded device must agree."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from cts.reference.evaluate import evaluate
from cts.verdict.compare import compare
from cts.verdict.poison import initial_contents
from generators.dispatch import dispatch, kernel
from generators.errors import Rule
from generators.glsl.emit import emit as print_glsl
from generators.layouts.tensor_writer import TensorWriter
from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Condition
from generators.program.functions import Function, PointerParameter
from generators.program.memory import Array, Pointee
from generators.program.program import Program, Subcase
from generators.program.tensor_access import TensorLoad
from generators.program.values import (
    ArrayType,
    Matrix,
    TensorLayout,
    TensorLayoutType,
    TensorView,
    TensorViewType,
    Value,
    is_matrix,
    is_tensor_layout,
)
from generators.program.variables import Variable
from generators.spirv.emit import emit
from generators.types import COMPONENT_TYPES, Layout, Scope
from tests.broken_rules import breaks
from tests.reference.programs import BUFFER, as_bytes, matrix_type

U16 = COMPONENT_TYPES["u16"]
TYPE = matrix_type("u16", 8, 8)
LAYOUT = TensorLayoutType(2)
QUARTERS = 4
Body = Callable[["Bench"], list[Matrix]]


class Bench:
    """A tensor of four 8x8 quarters, one below the other, and loads from it."""

    def __init__(self, subgroups: int) -> None:
        self.builder = ProgramBuilder(Scope.SUBGROUP, subgroups)
        self.writer = TensorWriter(self.builder, "literal")
        self.source: Array = self.builder.array("source", Pointee(U16), 64 * QUARTERS, BUFFER, "input")
        self.count = 0

    def whole(self, name: str = "whole") -> TensorLayout:
        """Build a layout of all quarters, sliced to the first one."""
        return self.writer.layout(name, LAYOUT, ("dimension", (8 * QUARTERS, 8)), ("slice", (0, 8, 0, 8)))

    def below(self, name: str, layout: TensorLayout, quarters: int = 1) -> TensorLayout:
        """Move the slice of the layout further down."""
        return self.writer.changed(name, layout, ("slice", (8 * quarters, 8, 0, 8)))

    def load(self, layout: TensorLayout, view: TensorView | None = None) -> Matrix:
        """Load the elements that a layout addresses."""
        self.count += 1
        builder = self.builder
        before = builder.splat(f"before{self.count}", TYPE, builder.literal(1, U16))
        matrix = Value(f"loaded{self.count}", TYPE)
        builder.add(TensorLoad(matrix, self.source, builder.literal(0), before, layout, view))
        return matrix


def made(body: Body, subgroups: int = 1) -> Program:
    """Build the program that stores the result of ``body``."""
    bench = Bench(subgroups)
    builder = bench.builder
    target = builder.array("target", Pointee(U16), 64 * 8, BUFFER, "output")
    results = body(bench)
    for i, matrix in enumerate(results):
        first = builder.offset(f"place{i}", builder.literal(i * 64), builder.instance_index(), 64 * len(results))
        builder.store(matrix, target, first, builder.literal(8), Layout.ROW_MAJOR)
    return builder.build()


def quarters(body: Body, subgroups: int = 1) -> list[int | str]:
    """Return the quarter in each matrix that ``body`` returns, T if it is transposed, for one instance after another."""
    program = made(body, subgroups)
    data = np.arange(64 * QUARTERS, dtype=np.uint16) * 251
    subcase = Subcase("one", {"source": as_bytes(data)})
    expected = evaluate(program, subcase)
    before = initial_contents(program, subcase, expected)
    device = EmbeddedDevice(load_profile("universal"))
    (outcome,) = device.run(kernel(program, emit(program)), [dispatch(program, subcase, before)])
    assert not compare(program, expected, before, outcome)
    which: dict[bytes, int | str] = {}
    for i in range(QUARTERS):
        quarter = data[64 * i : 64 * i + 64]
        which |= {quarter.tobytes(): i, quarter.reshape(8, 8).T.tobytes(): f"{i}T"}
    words = outcome.outputs["target"].view(np.uint16)
    return [which[words[64 * i : 64 * i + 64].tobytes()] for i in range(len(expected.placed) * subgroups)]


def test_a_layout_that_others_were_made_from_is_as_it_was() -> None:
    def body(bench: Bench) -> list[Matrix]:
        first = bench.whole()
        third = bench.below("third", first, 2)
        fourth = bench.below("fourth", third)
        return [bench.load(fourth), bench.load(first), bench.load(third)]

    assert quarters(body) == [3, 0, 2]


@pytest.mark.parametrize("storage", ["function", "private"])
def test_a_variable_holds_a_layout(storage: str) -> None:
    def body(bench: Bench) -> list[Matrix]:
        builder = bench.builder
        variable = builder.variable("layout", LAYOUT, storage)  # type: ignore[arg-type]
        first = bench.whole()
        builder.set(variable, (), bench.below("second", first))
        held = builder.get("held", variable)
        builder.set(variable, (), bench.below("last", first, 3))
        again = builder.get("again", variable)
        assert is_tensor_layout(held)
        assert is_tensor_layout(again)
        return [bench.load(held), bench.load(again)]

    assert quarters(body) == [1, 3]


def test_an_array_holds_layouts() -> None:
    def body(bench: Bench) -> list[Matrix]:
        builder = bench.builder
        variable = builder.variable("layouts", ArrayType(LAYOUT, 2))
        first = bench.whole()
        builder.set(variable, (0,), bench.below("third", first, 2))
        builder.set(variable, (1,), bench.below("second", first, 1))
        held = builder.get("held", variable, builder.literal(1))
        assert is_tensor_layout(held)
        return [bench.load(held)]

    assert quarters(body) == [1]


def test_a_function_loads_by_its_parameter() -> None:
    def body(bench: Bench) -> list[Matrix]:
        builder = bench.builder
        layout, view = Value("layout", LAYOUT), Value("view", TensorViewType((1, 0)))
        with builder.arm() as operations:
            matrix = bench.load(bench.below("lower", layout), view)
        loads = Function("loads", (layout, view), tuple(operations), matrix)
        turned = bench.writer.view("turned", TensorViewType((1, 0)))
        first = bench.whole()
        results = [builder.call(name, loads, [layout_, turned]) for name, layout_ in (("a", bench.below("second", first)), ("b", first))]
        return [result for result in results if is_matrix(result)]

    assert quarters(body) == ["2T", "1T"]


def _lowering(bench: Bench) -> Function:
    """Build the function (layout, quarters) -> the layout this many quarters further down."""
    layout, distance = Value("layout", LAYOUT), Value("distance", U32)
    with bench.builder.arm() as operations:
        rows = bench.builder.arithmetic("rows", "multiply", distance, bench.builder.literal(8))
        lower = bench.writer.changed("lower", layout, ("slice", (rows, 8, 0, 8)))
    return Function("lowered", (layout, distance), tuple(operations), lower)


def test_a_function_returns_a_layout_and_leaves_its_argument_alone() -> None:
    def body(bench: Bench) -> list[Matrix]:
        builder, lowered = bench.builder, _lowering(bench)
        first = bench.whole()
        second = builder.call("second", lowered, [first, builder.literal(1)])
        fourth = builder.call("fourth", lowered, [second, builder.literal(2)])  # type: ignore[list-item]
        assert is_tensor_layout(second)
        assert is_tensor_layout(fourth)
        return [bench.load(second), bench.load(fourth), bench.load(first)]

    assert quarters(body) == [1, 3, 0]


def test_each_instance_gets_the_layout_that_it_computes() -> None:
    def body(bench: Bench) -> list[Matrix]:
        builder, lowered = bench.builder, _lowering(bench)
        result = builder.call("lower", lowered, [bench.whole(), builder.instance_index()])
        assert is_tensor_layout(result)
        return [bench.load(result)]

    assert quarters(body, subgroups=4) == [0, 1, 2, 3]


def test_a_function_changes_the_layout_that_its_pointer_leads_to_where_it_is_called() -> None:
    def body(bench: Bench) -> list[Matrix]:
        builder = bench.builder
        parameter = Variable("parameter", LAYOUT)
        with builder.arm() as operations:
            held = builder.get("inside", parameter)
            assert is_tensor_layout(held)
            builder.set(parameter, (), bench.below("lower", held))
        lowers = Function("lowers", (PointerParameter(parameter),), tuple(operations), None)
        variable = builder.variable("variable", LAYOUT)
        builder.set(variable, (), bench.whole())
        with builder.arm() as then:
            builder.call("once", lowers, [variable])
            builder.call("twice", lowers, [variable])
        builder.branch(Condition(builder.instance_index(), "equal", builder.literal(1)), then)
        after = builder.get("after", variable)
        assert is_tensor_layout(after)
        return [bench.load(after)]

    assert quarters(body, subgroups=2) == [0, 2]


def test_a_function_takes_layouts_of_its_parameters_type_only() -> None:
    def body(bench: Bench) -> list[Matrix]:
        flat = bench.writer.layout("flat", TensorLayoutType(1), ("dimension", (64,)))
        bench.builder.call("result", _lowering(bench), [flat, bench.builder.literal(1)])
        return []

    program = made(body)
    with breaks(Rule.ARGUMENTS):
        evaluate(program, Subcase("one", {"source": np.zeros(512, np.uint8)}))


def test_glsl_spells_layouts_as_parameters_and_results() -> None:
    def body(bench: Bench) -> list[Matrix]:
        lower = bench.builder.call("below", _lowering(bench), [bench.whole(), bench.builder.literal(1)])
        assert is_tensor_layout(lower)
        return [bench.load(lower)]

    text = print_glsl(made(body))
    assert re.search(r"^(tensorLayoutNV<2, \w+>) lowered\w*\(\1 \w+, uint distance\) {", text, re.MULTILINE)
    assert re.search(r"tensorLayoutNV<2, \w+> below = lowered\w*\(", text)
