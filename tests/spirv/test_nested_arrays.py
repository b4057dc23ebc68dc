"""Pointers into inner arrays as SPIR-V and as GLSL."""

import re

from generators.casebook import build, find_case
from generators.glsl.emit import emit as print_glsl
from generators.spirv.disassemble import disassemble
from generators.spirv.emit import emit
from tests.suite import casebook

CASE = "load_store[component:f16/nesting:{}]"


def program(nesting):
    return build(find_case(casebook(), CASE.format(nesting))).program


def test_an_array_of_arrays_is_pointed_into_by_two_indices():
    module = disassemble(emit(program("row")))
    (inner,) = re.findall(r"(%\S+) = OpTypeArray %half %uint_384\n", module)
    assert re.search(rf"OpDecorate {inner} ArrayStride 2\n", module)
    (outer,) = re.findall(rf"(%\S+) = OpTypeRuntimeArray {inner}\n", module)
    assert re.search(rf"OpDecorate {outer} ArrayStride 768\n", module)
    (first, second) = re.findall(r"OpAccessChain %\S+ %source %uint_0 (%\S+) (%\S+)\n", module)[0]
    assert re.search(rf"{first} = OpUDiv %uint %uint_384 %uint_384\n", module)
    assert re.search(rf"{second} = OpUMod %uint %uint_384 %uint_384\n", module)


def test_a_member_of_a_struct_is_pointed_into_by_three_indices():
    module = disassemble(emit(program("member")))
    assert [int(offset) for offset in re.findall(r"OpMemberDecorate %source_item \d Offset (\d+)", module)] == [0, 16]
    (outer,) = re.findall(r"(%\S+) = OpTypeRuntimeArray %source_item\n", module)
    assert re.search(rf"OpDecorate {outer} ArrayStride 784\n", module)
    assert len(re.findall(r"OpAccessChain %\S+ %source %uint_0 %\S+ %uint_1 %\S+\n", module)) == 1


def test_glsl_writes_subscripts_and_a_member():
    assert "coopMatLoad(matrix, source[384u / 384u], 384u % 384u, 24u," in print_glsl(program("row"))
    printed = print_glsl(program("member"))
    assert "coopMatLoad(matrix, source[400u / 392u].elements, 400u % 392u - 8u, 24u," in printed
    assert printed.index("struct SourceItem {\n    uint head[4];\n    float16_t elements[384];\n};") < printed.index("SourceItem source[];")
