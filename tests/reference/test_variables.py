"""Variables: the value of a part, the writes to it, and forbidden reads; the embedded device must agree."""

from __future__ import annotations

import pytest

from generators.errors import Rule
from generators.program.builder import ProgramBuilder
from generators.program.values import ArrayType, Matrix, StructType, is_scalar
from generators.program.variables import Variable
from generators.types import COMPONENT_TYPES, Scope
from tests.broken_rules import breaks
from tests.reference.matrices_told_apart import TYPE, Body, stored

U16, U32, F32 = (COMPONENT_TYPES[name] for name in ("u16", "u32", "f32"))


def filled(builder: ProgramBuilder, given: list[Matrix], storage: str = "function") -> Variable:
    array = builder.variable("matrices", ArrayType(TYPE, 4), storage)  # type: ignore[arg-type]
    for i, matrix in enumerate(given):
        builder.set(array, (i,), matrix)
    return array


@pytest.mark.parametrize("storage", ["function", "private"])
def test_each_element_of_an_array_is_a_place_of_its_own(storage: str) -> None:
    def body(builder: ProgramBuilder, given: list[Matrix]) -> list[Matrix]:
        array = filled(builder, given, storage)
        builder.set(array, (2,), given[0])
        return [builder.get_matrix(f"out{i}", array, i) for i in (3, 2, 1, 0)]

    assert stored(body) == [3, 0, 1, 0]


def test_an_index_from_outside_picks_an_element() -> None:
    def body(builder: ProgramBuilder, given: list[Matrix]) -> list[Matrix]:
        array, index = filled(builder, given), builder.operand("index", U32, "push_constant")
        builder.set(array, (index,), given[0])
        return [builder.get_matrix("a", array, 2), builder.get_matrix("b", array, 3), builder.get_matrix("c", array, index)]

    assert stored(body, pushed=2) == [0, 3, 0]


def test_instances_have_variables_of_their_own_and_may_index_them_differently() -> None:
    def body(builder: ProgramBuilder, given: list[Matrix]) -> list[Matrix]:
        array, index = filled(builder, given), builder.instance_index()
        picked = builder.get_matrix("picked", array, index)
        builder.set(array, (index,), given[3])
        return [picked, builder.get_matrix("first", array, 0), builder.get_matrix("second", array, 1)]

    assert stored(body, subgroups=2) == [0, 3, 1, 1, 0, 3]


def test_a_nested_aggregate_is_moved_as_a_whole_and_by_parts() -> None:
    pair = StructType("Pair", (U32, ArrayType(TYPE, 2)))

    def body(builder: ProgramBuilder, given: list[Matrix]) -> list[Matrix]:
        one, two = builder.variable("one", ArrayType(pair, 2)), builder.variable("two", ArrayType(pair, 2), "private")
        for i in range(2):
            builder.set(one, (i, 0), builder.literal(1 - i))
            for j in range(2):
                builder.set(one, (i, 1, j), given[2 * i + j])
        builder.set(two, (), builder.get("whole", one))
        builder.set(one, (1,), builder.get("half", one, 0))
        index = builder.get("index", two, 0, 0)
        assert is_scalar(index)
        return [
            builder.get_matrix("a", two, index, 1, 0),
            builder.get_matrix("b", one, index, 1, 0),
            builder.get_matrix("c", one, 1, 1, index),
        ]

    assert stored(body) == [2, 0, 1]


def test_a_length_may_be_a_specialization_constant() -> None:
    def body(builder: ProgramBuilder, given: list[Matrix]) -> list[Matrix]:
        length = builder.operand("length", U32, "specialization", 4, 2)
        array = builder.variable("matrices", ArrayType(TYPE, length))
        builder.set(array, (3,), given[1])
        return [builder.get_matrix("out", array, 3)]

    assert stored(body) == [1]


def refused(rule: str, body: Body) -> None:
    with breaks(rule):
        stored(body)


def test_unwritten_parts_of_variables_are_not_read() -> None:
    def element(builder: ProgramBuilder, given: list[Matrix]) -> list[Matrix]:
        array = builder.variable("matrices", ArrayType(TYPE, 4))
        builder.set(array, (1,), given[1])
        return [builder.get_matrix("out", array, 2)]

    def whole(builder: ProgramBuilder, given: list[Matrix]) -> list[Matrix]:
        array = builder.variable("matrices", ArrayType(TYPE, 4))
        builder.set(array, (1,), given[1])
        builder.get("all", array)
        return []

    refused(Rule.UNINITIALIZED, element)
    refused(Rule.UNINITIALIZED, whole)


def test_an_index_beyond_the_array_is_refused() -> None:
    def body(builder: ProgramBuilder, given: list[Matrix]) -> list[Matrix]:
        return [builder.get_matrix("out", filled(builder, given), builder.literal(4))]

    refused(Rule.INDEX, body)


def test_matrices_that_instances_would_mix_are_not_mixed_if_one_is_undefined() -> None:
    def body(builder: ProgramBuilder, given: list[Matrix]) -> list[Matrix]:
        array = builder.variable("matrices", ArrayType(TYPE, 4))
        builder.set(array, (builder.instance_index(),), given[1])
        return [builder.get_matrix("out", array, 0)]

    with breaks(Rule.UNINITIALIZED):
        stored(body, subgroups=2)


def test_a_path_that_leads_nowhere_is_refused() -> None:
    builder = ProgramBuilder(Scope.SUBGROUP)
    variable = builder.variable("pair", StructType("Pair", (TYPE, F32)))
    with breaks(Rule.INDEX):
        builder.get("part", variable, 2)
    with breaks(Rule.PATH_END):
        builder.get("part", variable, 1, 0)
    with breaks(Rule.STRUCT_INDEX):
        builder.get("part", variable, builder.literal(0))
