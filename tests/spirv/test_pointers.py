"""The declarations of modules with pointers as values, aliased blocks and several entry points."""

from __future__ import annotations

import pytest

from generators.casebook import build, find_case
from generators.spirv.emit import emit
from generators.spirv.enumerants import Capability, Decoration, Op
from generators.spirv.reader import Instruction, read_instructions, read_string
from tests.suite import casebook


def instructions(case_id: str) -> list[Instruction]:
    """Return the instructions of a case's module."""
    return list(read_instructions(emit(build(find_case(casebook(), case_id)).program)))


def capabilities(case_id: str) -> set[int]:
    return {one.operands[0] for one in instructions(case_id) if one.op is Op.Capability}


@pytest.mark.parametrize(
    ("labels", "wanted"),
    [
        ("form:select", Capability.VariablePointersStorageBuffer),
        ("form:carried", Capability.VariablePointersStorageBuffer),
        ("form:argument/access:store", Capability.VariablePointersStorageBuffer),
        ("form:phi/reach:two_buffers", Capability.VariablePointers),
        ("form:returned/reach:workgroup", Capability.VariablePointers),
    ],
)
def test_the_capability_is_the_least_that_suffices(labels: str, wanted: Capability) -> None:
    both = {Capability.VariablePointersStorageBuffer, Capability.VariablePointers}
    assert capabilities(f"variable_pointers[component:f16/{labels}]") & both == {wanted}


def test_programs_without_chosen_pointers_declare_none() -> None:
    assert Capability.VariablePointersStorageBuffer not in capabilities("descriptor_arrays[component:f16]")


@pytest.mark.parametrize(("form", "count"), [("aliased", 2), ("filled", 0)])
def test_blocks_are_aliased_where_another_has_their_bytes(form: str, count: int) -> None:
    found = instructions(f"workgroup_blocks[component:f32/form:{form}]")
    assert sum(one.op is Op.Decorate and one.operands[1] == Decoration.Aliased for one in found) == count


def test_a_chain_may_have_another_base_type_than_the_variable() -> None:
    found = instructions("untyped_pointers[component:f16/base:u32/pointers:untyped_chain]")
    assert Op.UntypedVariableKHR not in {one.op for one in found}
    variables = {one.operands[1]: one.operands[0] for one in found if one.op is Op.Variable}
    pointees = {one.operands[0]: one.operands[2] for one in found if one.op is Op.TypePointer}
    chains = [one.operands for one in found if one.op is Op.UntypedAccessChainKHR]
    assert len(chains) == 2
    assert all(pointees[variables[base]] != base_type for _, _, base_type, base, *_ in chains)


@pytest.mark.parametrize(("order", "names"), [("runs_first", ["main", "other"]), ("other_first", ["other", "main"])])
def test_entry_points_are_in_the_order_that_the_case_asks_for(order: str, names: list[str]) -> None:
    found = instructions(f"entry_points[row:8x8x8.f16.f16.f32.f32/order:{order}]")
    assert [read_string(one.operands[2:])[0] for one in found if one.op is Op.EntryPoint] == names
