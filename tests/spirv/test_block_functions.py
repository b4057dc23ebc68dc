"""Decode functions of blocks as SPIR-V and as GLSL."""

import re

import pytest

from generators.casebook import build, find_case
from generators.errors import Lack
from generators.glsl.emit import emit as print_glsl
from generators.program.builder import U32, ProgramBuilder
from generators.program.memory import Pointee
from generators.program.values import BlockMember, BlockType
from generators.spirv.disassemble import disassemble
from generators.spirv.emit import emit
from generators.types import COMPONENT_TYPES, Scope, StorageClass
from tests.lacks import lacks
from tests.suite import casebook

U16 = COMPONENT_TYPES["u16"]

CASE = "tensor_block[component:f16/block:{}/decode:{}/calls:{}/control:{}/coordinates:{}]"


STRUCT = "tensor_block[component:f16/block:{}/decode:{}/pointee:struct]"


def program(block="32", decode="q5_1", calls="plain", control="none", coordinates="u32"):
    return build(find_case(casebook(), CASE.format(block, decode, calls, control, coordinates))).program


def text(**options):
    return disassemble(emit(program(**options)))


def test_reads_promise_the_alignment_of_their_place_in_the_block():
    """Scale, minimum, mask and codes are at 0, 2, 4 and 8 of a block that is aligned to 8."""
    loads = [int(found) for found in re.findall(r"OpLoad .* Aligned (\d+)", text())]
    assert sorted(loads) == [1, 2, 4, 8]


def test_functions_hand_on_their_parameters_whole():
    """Each passes its three parameters as three arguments, without taking them apart and rebuilding them."""
    module = text(calls="deep")
    calls = re.findall(r"OpFunctionCall %\S+ %\S+ (.*)", module)
    assert [len(arguments.split()) for arguments in calls] == [3, 3]
    functions = module[module.index("OpFunctionParameter") :]
    assert "OpCompositeConstruct" not in functions


@pytest.mark.parametrize(("control", "word"), [("for", "Inline"), ("against", "DontInline")])
def test_a_control_is_that_of_every_function(control, word):
    assert len(re.findall(rf"OpFunction %\S+ {word} ", text(calls="deep", control=control))) == 3


def test_glsl_has_no_signed_coordinates():
    with lacks(Lack.COORDINATE_TYPE):
        print_glsl(program(coordinates="s32"))


def test_glsl_declares_a_called_function_before_its_caller():
    printed = print_glsl(program(calls="deep"))
    places = [printed.index(f"{name}(const in") for name in ("decode_value_code", "decode_value_inner", "decode_value")]
    assert places == sorted(places)
    assert "buffer_reference_align = 8" in printed


def test_an_array_of_structs_has_a_struct_that_is_not_an_interface():
    """A struct with the decoration Block cannot contain another one that has it, so the array and the function have separate structs for
    the block."""
    module = disassemble(emit(build(find_case(casebook(), STRUCT.format("32", "q4_0")), is_placed=False).program))
    assert re.search(r"%\w+ = OpTypeRuntimeArray %BlockQ4_0Element", module)
    assert "OpDecorate %BlockQ4_0 Block" in module
    assert "OpDecorate %BlockQ4_0Element Block" not in module
    assert re.search(r"OpMemberDecorate %BlockQ4_0Element 1 Offset 2\n", module)
    (pointer,) = re.findall(r"OpCooperativeMatrixLoadTensorNV %\S+ (%\S+)", module)
    (type_,) = re.findall(rf"{pointer} = OpAccessChain (%\S+) %source %\S+ %uint_8\n", module)
    assert re.search(rf"{type_} = OpTypePointer StorageBuffer %BlockQ4_0Element", module)


def test_glsl_declares_the_struct_of_an_array_before_its_buffer():
    printed = print_glsl(build(find_case(casebook(), STRUCT.format("32", "q4_0"))).program)
    struct = "struct BlockQ4_0Element {\n    float16_t member0;\n    uint8_t member1[16];\n};"
    assert printed.index(struct) < printed.index("layout(scalar, set = 0, binding = 0) readonly buffer SourceBuffer")
    assert "    BlockQ4_0Element source[];" in printed


@pytest.mark.parametrize(
    ("members", "lack"),
    [
        ((BlockMember(U16, 0), BlockMember(U16, 4)), Lack.MEMBER_OFFSET),
        ((BlockMember(U32, 0), BlockMember(U16, 4)), Lack.STRUCT_SIZE),
    ],
)
def test_structs_that_glsl_lays_out_otherwise_are_refused(members, lack):
    builder = ProgramBuilder(Scope.SUBGROUP)
    builder.array("gaps", Pointee(U16, 1, BlockType("Gap", members, 2)), 4, StorageClass.STORAGE_BUFFER, "input")
    with lacks(lack):
        print_glsl(builder.build())
