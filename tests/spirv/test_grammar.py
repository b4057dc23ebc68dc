"""The grammar as data, and the names that are made from it."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from generators.spirv import grammar, registry
from generators.spirv.enumerants import Capability, CooperativeMatrixReduce, FunctionControl, MemoryAccess, Op, StorageClass
from generators.spirv.grammar import GRAMMAR, OperandPattern, read_grammar
from generators.spirv.named_number import UnknownNumber
from generators.spirv.versions import extension_of

REGISTRY = {
    "magic_number": "0x07230203",
    "minor_version": 6,
    "revision": 7,
    "instructions": [
        {
            "opname": "OpLoad",
            "opcode": 61,
            "operands": [
                {"kind": "IdResultType"},
                {"kind": "IdResult"},
                {"kind": "IdRef", "name": "Pointer"},
                {"kind": "MemoryAccess", "quantifier": "?"},
            ],
            "version": "1.0",
        },
        {
            "opname": "OpReduceEXT",
            "opcode": 5366,
            "aliases": ["OpReduceNV"],
            "operands": [{"kind": "IdScope"}, {"kind": "LiteralInteger", "quantifier": "*"}],
            "capabilities": ["Reductions"],
            "extensions": ["SPV_NV_reductions"],
            "version": "None",
        },
    ],
    "operand_kinds": [
        {
            "category": "BitEnum",
            "kind": "MemoryAccess",
            "enumerants": [
                {"enumerant": "None", "value": "0x0000", "version": "1.0"},
                {"enumerant": "Aligned", "value": "0x0002", "parameters": [{"kind": "LiteralInteger"}], "version": "1.0"},
            ],
        },
        {"category": "ValueEnum", "kind": "Scope", "enumerants": [{"enumerant": "Device", "value": 1, "version": "1.0"}]},
        {"category": "Id", "kind": "IdRef"},
    ],
}


@pytest.fixture
def small(tmp_path: Path) -> grammar.Grammar:
    file = tmp_path / "grammar.json"
    file.write_text(registry.compact(REGISTRY))
    more = tmp_path / "more.json"
    more.write_text(json.dumps({"masks": [], "instructions": {}, "enumerants": {"Scope": {"Workgroup": {"value": 2}}}}))
    return read_grammar(file, more)


def test_an_instruction_of_the_registry_keeps_its_operands_and_needs(small: grammar.Grammar) -> None:
    load, reduce = small.instructions[61], small.instructions[5366]
    assert load.operands == (OperandPattern("T"), OperandPattern("R"), OperandPattern("id"), OperandPattern("MemoryAccess", "?"))
    assert (load.is_typed, load.version) == (True, "1.0")
    assert reduce.operands == (OperandPattern("id"), OperandPattern("int", "*"))
    assert (reduce.is_typed, reduce.version) == (False, "")
    assert (reduce.capabilities, reduce.extensions) == (("Reductions",), ("SPV_NV_reductions",))


def test_an_alias_of_the_registry_names_the_same_instruction(small: grammar.Grammar) -> None:
    assert small.opcodes["ReduceNV"] == small.opcodes["ReduceEXT"] == 5366
    assert small.instructions[5366].name == "ReduceEXT"


def test_an_enumerant_of_the_registry_keeps_its_parameters(small: grammar.Grammar) -> None:
    access = small.kinds["MemoryAccess"]
    assert access.is_mask
    assert access.by_name["Aligned"].value == 2
    assert access.parameters == {2: (OperandPattern("int"),)}
    assert access.values(6) == [2, 4]


def test_the_supplement_adds_to_the_registry(small: grammar.Grammar) -> None:
    assert {name: enumerant.value for name, enumerant in small.kinds["Scope"].by_name.items()} == {"Device": 1, "Workgroup": 2}


def test_every_operand_is_of_a_kind_that_is_known() -> None:
    plain = {
        "T",
        "R",
        "id",
        "int",
        "str",
        "number",
        "ext",
        "opcode",
        "PairIdRefIdRef",
        "PairIdRefLiteralInteger",
        "PairLiteralIntegerIdRef",
    }
    enumerants = [enumerant for kind in GRAMMAR.kinds.values() for enumerant in kind.by_value.values()]
    patterns = [i.operands for i in GRAMMAR.instructions.values()] + [enumerant.parameters for enumerant in enumerants]
    assert {operand.kind for pattern in patterns for operand in pattern} <= plain | set(GRAMMAR.kinds)


def test_every_capability_that_is_needed_is_one() -> None:
    needed = {name for instruction in GRAMMAR.instructions.values() for name in instruction.capabilities}
    assert needed <= set(GRAMMAR.kinds["Capability"].by_name)


def test_type_checkers_see_the_names_of_the_data() -> None:
    assert registry.STUB_FILE.read_text(encoding="utf-8") == registry.stub(), "run python -m generators.spirv.registry"


def test_names_that_python_does_not_take_have_an_underscore() -> None:
    assert FunctionControl.None_ == 0
    assert CooperativeMatrixReduce._2x2 == 4


def test_an_alias_is_the_same_member() -> None:
    assert Op.named("CooperativeMatrixReduceNV") is Op.CooperativeMatrixReduceEXT
    assert Op.CooperativeMatrixReduceEXT.name == "CooperativeMatrixReduceEXT"


def test_a_number_leads_to_its_member() -> None:
    assert Op(61) is Op.Load
    assert 61 in Op
    assert {61: "load"}[Op.Load] == "load"


def test_a_number_without_a_name_is_refused() -> None:
    assert 99 not in StorageClass
    with pytest.raises(UnknownNumber):
        StorageClass(99)


def test_members_iterate_once_each() -> None:
    assert len(list(Op)) == len(Op) == len(GRAMMAR.instructions)


def test_a_member_survives_pickling() -> None:
    assert pickle.loads(pickle.dumps(MemoryAccess.Volatile)) is MemoryAccess.Volatile


def test_a_member_shows_its_name() -> None:
    assert repr(Op.Load) == "<Op.Load: 61>"
    assert f"{Op.Load}" == "61"


@pytest.mark.parametrize(
    ("capability", "extension"),
    [
        (Capability.Shader, ""),
        (Capability.VulkanMemoryModel, ""),
        (Capability.CooperativeMatrixKHR, "SPV_KHR_cooperative_matrix"),
        (Capability.CooperativeMatrixReductionsEXT, "SPV_NV_cooperative_matrix2"),
        (Capability.CooperativeMatrixGetCoordinateEXT, "SPV_EXT_cooperative_matrix_maintenance1"),
    ],
)
def test_a_capability_declares_the_extension_that_it_needs(capability: Capability, extension: str) -> None:
    assert extension_of(capability) == extension
