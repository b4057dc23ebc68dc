"""Decode functions of blocks as SPIR-V and as GLSL."""

import re

import pytest

from generators.casebook import build, find_case
from generators.errors import NotExpressible
from generators.glsl.emit import emit as print_glsl
from generators.spirv.disassemble import disassemble
from generators.spirv.emit import emit
from tests.suite import casebook

CASE = "tensor_block[component:f16/block:{}/decode:{}/calls:{}/control:{}/coordinates:{}]"


def program(block="32", decode="q5_1", calls="plain", control="none", coordinates="u32"):
    return build(find_case(casebook(), CASE.format(block, decode, calls, control, coordinates))).program


def text(**options):
    return disassemble(emit(program(**options)))


def test_reads_promise_the_alignment_of_their_place_in_the_block():
    """Scale, minimum, mask and codes are at 0, 2, 4 and 8 of a block that is aligned to 8."""
    loads = [int(found) for found in re.findall(r"OpLoad .* Aligned (\d+)", text())]
    assert sorted(loads) == [1, 2, 4, 8]


def test_functions_hand_on_their_parameters_whole():
    """Three parameters and three arguments each, and nothing is taken apart and put together."""
    module = text(calls="deep")
    calls = re.findall(r"OpFunctionCall %\S+ %\S+ (.*)", module)
    assert [len(arguments.split()) for arguments in calls] == [3, 3]
    functions = module[module.index("OpFunctionParameter") :]
    assert "OpCompositeConstruct" not in functions


@pytest.mark.parametrize(("control", "word"), [("for", "Inline"), ("against", "DontInline")])
def test_a_control_is_that_of_every_function(control, word):
    assert len(re.findall(rf"OpFunction %\S+ {word} ", text(calls="deep", control=control))) == 3


def test_glsl_has_no_signed_coordinates():
    with pytest.raises(NotExpressible, match="uint in GLSL"):
        print_glsl(program(coordinates="s32"))


def test_glsl_declares_a_called_function_before_its_caller():
    printed = print_glsl(program(calls="deep"))
    places = [printed.index(f"{name}(const in") for name in ("decode_value_code", "decode_value_inner", "decode_value")]
    assert places == sorted(places)
    assert "buffer_reference_align = 8" in printed
