"""Modules as text, and edits of them."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest

from generators.errors import Rule
from generators.mutations.base import base_module
from generators.mutations.edits import Edits, edited
from generators.mutations.matrix2 import matrix2_base
from generators.mutations.vector import vector_base
from generators.property_rows import parse_row
from generators.spirv.assemble import NotAssembly, assemble
from generators.spirv.disassemble import disassemble
from generators.vector_rows import NotARow, parse_vector_row
from tests.broken_rules import breaks

ROWS = (
    "16x16x16.f16.f16.f32.f32",
    "16x8x32.s8.s8.s32.s32.sat",
    "8x8x8.u8.u8.u32.u32",
    "16x16x16.bf16.bf16.f32.f32",
    "8x8x8.f16.f16.f16.f16",
)
LINES = ("OpCapability Shader", "%a = OpTypeInt 32 0", "%f = OpFunction %a None %a", "OpReturn", "OpFunctionEnd")


def numbered(lines: Iterable[str]) -> list[str]:
    """Give numbers, in order, to the ids that have no name, and return the lines."""
    numbers: dict[str, str] = {}
    return [re.sub(r"%\d+", lambda match: numbers.setdefault(match[0], f"%{len(numbers)}"), line) for line in lines]


def instructions(module: bytes) -> list[str]:
    return [line.strip() for line in disassemble(module).splitlines() if not line.startswith(";")]


@pytest.mark.parametrize("row", ROWS)
def test_the_base_module_is_what_its_text_says(row):
    base = base_module(parse_row(row))
    assert numbered(instructions(assemble("\n".join(base.lines)))) == numbered(base.lines)


@pytest.mark.parametrize("row", ROWS)
def test_aliases_name_what_each_base_module_has(row):
    base = base_module(parse_row(row))
    for letter in "abc":
        parts = [base.aliases[f"%{part}_{letter}"] for part in ("type", "component", "scope", "rows", "columns", "use")]
        assert f"{parts[0]} = OpTypeCooperativeMatrixKHR {' '.join(parts[1:])}" in base.lines
    assert all(base.aliases[name].startswith("%") for name in base.aliases if name != "%operands")


@pytest.mark.parametrize("row", ROWS)
def test_the_base_module_of_matrix2_is_what_its_text_says_and_has_each_instruction_once(row):
    base = matrix2_base(parse_row(row))
    assert numbered(instructions(assemble("\n".join(base.lines)))) == numbered(base.lines)
    ops = [words[0] for line in base.lines if "NV" in (words := line.partition(" = ")[2].split() or line.split())[0]]
    assert {op: ops.count(op) for op in ops} == dict.fromkeys(ops, 1) | {"OpCooperativeMatrixLoadTensorNV": 2}
    assert sum("Tensor" in op for op in ops) == 15


@pytest.mark.parametrize("row", ROWS)
def test_aliases_of_matrix2_name_what_each_base_module_has(row):
    base = matrix2_base(parse_row(row))
    for letter, matrix in {"c": "matrix_c", "a": "blocks", "u": "converted", "t": "transposed"}.items():
        parts = [base.aliases[f"%{part}_{letter}"] for part in ("type", "component", "scope", "rows", "columns", "use")]
        assert f"{parts[0]} = OpTypeCooperativeMatrixKHR {' '.join(parts[1:])}" in base.lines
        assert any(line.startswith(f"%{matrix} = ") and line.split()[3] == parts[0] for line in base.lines)


@pytest.mark.parametrize("base", [base_module, matrix2_base])
def test_a_row_whose_c_and_result_differ_has_no_base_module(base):
    with breaks(Rule.ROW):
        base(parse_row("16x16x16.f16.f16.f16.f32"))


def test_functions_are_added_after_the_last_one_and_may_return_values():
    lines = (*LINES, "%g = OpFunction %a None %a", "OpReturnValue %a", "OpFunctionEnd")
    found = edited(lines, [Edits(("%b = OpTypeFloat 32",), ("OpNop",), functions=("%h = OpFunction %b None %b", "OpFunctionEnd"))], {})
    assert found == [*lines[:2], "%b = OpTypeFloat 32", lines[2], "OpNop", *lines[3:], "%h = OpFunction %b None %b", "OpFunctionEnd"]


def test_lines_are_replaced_removed_and_added_in_their_places():
    edits = Edits(("%b = OpTypeFloat 32",), ("%c = OpUndef %alias",), {"OpCapability Shader": ("OpCapability Int8",), "%a =": ()})
    assert edited(LINES, [edits], {"%alias": "%real"}) == [
        "OpCapability Int8",
        "%b = OpTypeFloat 32",
        "%f = OpFunction %a None %a",
        "%c = OpUndef %real",
        "OpReturn",
        "OpFunctionEnd",
    ]


def test_a_type_that_is_there_already_is_not_declared_again():
    edits = Edits(("%again = OpTypeInt 32 0", "%s = OpTypeStruct %again"), ("%x = OpUndef %again",))
    found = edited(LINES, [edits], {})
    assert [line for line in found if "OpTypeInt" in line] == ["%a = OpTypeInt 32 0"]
    assert {"%s = OpTypeStruct %a", "%x = OpUndef %a"} <= set(found)


@pytest.mark.parametrize("old", ["OpCapability Int8", "OpFunc", "Op"])
def test_a_replacement_that_fits_no_line_is_an_error(old):
    with breaks(Rule.EDIT_NOWHERE):
        edited(LINES, [Edits(replace={old: ()})], {})


def test_a_replacement_that_fits_several_lines_is_an_error():
    with breaks(Rule.EDIT_AMBIGUOUS):
        edited([*LINES, "OpReturn"], [Edits(replace={"OpReturn": ()})], {})


def test_a_single_line_need_not_be_in_a_list():
    assert edited(LINES, [Edits(replace={"OpReturn": "OpKill"})], {}) == edited(LINES, [Edits(replace={"OpReturn": ("OpKill",)})], {})


@pytest.mark.parametrize(
    ("line", "why"),
    [("OpNothing", "OpNothing"), ("%a = OpTypeInt", "OpTypeInt"), ("OpReturn 7", "left over: 7"), ("OpTypeVoid", "it has a result")],
)
def test_the_assembler_names_the_line_that_it_cannot_take(line, why):
    with pytest.raises(NotAssembly, match=why) as caught:
        assemble(f"OpNop\n{line}")
    assert caught.value.line == 2


@pytest.mark.parametrize("types", ["f16.f16.f16.f16.f16", "s32.s8.s8.s32.s32", "u32.u8packed.u8.u32.u32"])
def test_the_base_module_of_vectors_has_each_instruction_and_names_its_operands(types):
    base = vector_base(parse_vector_row(types))
    for name in ("MatrixMulNV", "MatrixMulAddNV", "StoreNV", "OuterProductAccumulateNV", "ReduceSumAccumulateNV"):
        assert sum(f"OpCooperativeVector{name} " in line for line in base.lines) == 1
    names = base.aliases
    assert f"%x = OpCooperativeVectorLoadNV {names['%type_x']} {names['%place_x']} {names['%offset_x']}" in base.lines
    biased = next(line for line in base.lines if line.startswith("%biased = ")).split()
    operands = (
        "as",
        "place_m",
        "offset_m",
        "matrix_as",
        "place_s",
        "offset_s",
        "bias_as",
        "rows",
        "columns",
        "layout",
        "transpose",
        "stride",
    )
    assert biased[5:17] == [names[f"%{name}"] for name in operands]


@pytest.mark.parametrize("types", ["f16", "f16.f16.f16.f16.f17", "f16.f16.f16.f99.f16"])
def test_types_of_vectors_that_cannot_be_read_are_an_error(types):
    with pytest.raises(NotARow):
        parse_vector_row(types)
