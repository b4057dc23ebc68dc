"""OpCooperativeMatrixPerElementOpNV: functions of elements that break rules, and how the device continues."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cts.embedded.device import EmbeddedDevice
from cts.embedded.profile import load_profile
from generators.kernel import BufferSlot, Dispatch, Kernel
from tests.embedded.assembly import shader, words
from tests.embedded.assembly import store as store_to
from tests.embedded.callbacks import APPLY, CAPABILITIES, function, per_element
from tests.embedded.conftest import SUBGROUP_SIZE, run
from tests.embedded.matrices import NUMBERS, SQUARE, divergent, load, matrix
from tests.undefined import undefined

BUILT_IN = "%gl = OpLoad %u32 %gl_{}\n%sum = OpIAdd %u32 %x %gl\nOpReturnValue %sum"


RULES = {
    "an invocation's own number": (function(BUILT_IN.format("LocalInvocationIndex")), "", "", "", "F-CM2-10"),
    "an operand that is not uniform": (function("OpReturnValue %k", "u32:k"), "%lane", "", "", "F-CM2-10"),
    "a store to a buffer": (
        function("%p = OpAccessChain %ptr_out %output %s32_0 %u32_3\nOpStore %p %u32_1\nOpReturnValue %x"),
        "",
        "",
        "",
        "F-CM2-10",
    ),
    "an atomic update": (
        function("%p = OpAccessChain %ptr_out %output %s32_0 %u32_3\n%o = OpAtomicIAdd %u32 %p %u32_1 %u32_0 %u32_1\nOpReturnValue %x"),
        "",
        "",
        "",
        "F-CM2-10",
    ),
    "a store to a private variable": (
        function("OpStore %private %x\nOpReturnValue %x"),
        "",
        "",
        "%ptr_private = OpTypePointer Private %u32\n%private = OpVariable %ptr_private Private\n",
        "F-CM2-10",
    ),
    "a private variable that differs": (
        function("%v = OpLoad %u32 %private\nOpReturnValue %v"),
        "",
        "OpStore %private %lane\n",
        "%ptr_private = OpTypePointer Private %u32\n%private = OpVariable %ptr_private Private\n",
        "F-CM2-10",
    ),
    "a barrier": (function("OpControlBarrier %u32_2 %u32_2 %u32_264\nOpReturnValue %x"), "", "", "", "CM2-TGL-02"),
    "a subgroup instruction in a nested function": (
        function("%e = OpGroupNonUniformElect %bool %u32_3\nOpReturnValue %y", "u32:y", name="g", first="")
        + function("%v = OpFunctionCall %u32 %g %x\nOpReturnValue %v"),
        "",
        "",
        "",
        "CM2-TGL-02",
    ),
    "matrix arithmetic": (
        function("%s = OpIAdd %square %null %null\nOpReturnValue %x"),
        "",
        "",
        "%null = OpConstantNull %square\n",
        "CM2-TGL-02",
    ),
    "no function": ("%f = OpConstant %u32 1", "", "", "", "CM2-PE-02"),
    "another return type": (function("OpReturnValue %s32_0", result="s32"), "", "", "", "CM2-PE-02"),
    "a row of 16 bits": (function("OpReturnValue %x", first="u16 u32 u32"), "", "", "", "CM2-PE-02"),
    "a column that is a float": (function("OpReturnValue %x", first="u32 f32 u32"), "", "", "", "CM2-PE-02"),
    "an element of another sign": (function("OpReturnValue %row", first="u32 u32 s32"), "", "", "", "CM2-PE-02"),
    "two parameters": (function("OpReturnValue %row", first="u32 u32"), "", "", "", "CM2-PE-02"),
    "a logical pointer": (
        function("%v = OpLoad %u32 %p\nOpReturnValue %v", "ptr_in:p"),
        "%second",
        "%second = OpAccessChain %ptr_in %input %s32_0 %u32_1\n",
        "",
        "SPIR-V 2.16.1",
    ),
    "a fence between a store and a read": (
        function("OpMemoryBarrier %u32_2 %u32_264\n%p = OpAccessChain %ptr_shared %shared %column\n%v = OpLoad %u32 %p\nOpReturnValue %v"),
        "",
        "%mine = OpAccessChain %ptr_shared %shared %lane\nOpStore %mine %lane\n",
        "",
        "KHR-MEM-01",
    ),
    "an operand too few": (function("OpReturnValue %x", "u32:k"), "", "", "", "CM2-PE-04"),
    "an operand too many": (function("OpReturnValue %x"), "%u32_1", "", "", "CM2-PE-04"),
    "an operand of another type": (function("OpReturnValue %x", "s32:k"), "%u32_1", "", "", "CM2-PE-04"),
    "a matrix of another use": (
        function("OpReturnValue %x", "u32:k"),
        "%other",
        "",
        matrix("other_type", "u32", 4, 4, 0) + "%other = OpConstantNull %other_type\n",
        "CM2-PE-05",
    ),
    "a matrix for a parameter of another type": (function("OpReturnValue %x", "s32:k"), "%m", "", "", "CM2-PE-05"),
}


@pytest.mark.parametrize("what", RULES)
def test_a_rule_of_operations_on_elements_stops(forbidden, what) -> None:
    functions, operands, before, declarations, rule = RULES[what]
    text = str(forbidden(per_element(functions, operands, before, declarations), NUMBERS))
    assert f"[{rule}]" in text


def test_a_result_of_another_type_stops(forbidden) -> None:
    other = matrix("other", "u32", 4, 4, 1)
    body = load("square") + APPLY.replace("%square", "%other").format("")
    module = shader(body, SQUARE + other, functions=function("OpReturnValue %x"), capabilities=CAPABILITIES)
    assert forbidden(module, NUMBERS).rule == "CM2-PE-01"


def test_a_call_by_a_part_of_the_subgroup_stops(forbidden) -> None:
    body = load("square") + divergent(APPLY.format(""))
    module = shader(body, SQUARE, functions=function("OpReturnValue %x"), capabilities=CAPABILITIES)
    assert forbidden(module, NUMBERS).rule == "KHR-UNI-01"


def test_a_store_by_an_invocation_before_a_call_needs_a_barrier(forbidden) -> None:
    body = "%in_shared = OpAccessChain %ptr_shared %shared %column\n%key = OpLoad %u32 %in_shared\nOpReturnValue %key"
    before = "%mine = OpAccessChain %ptr_shared %shared %lane\nOpStore %mine %lane\n"
    assert forbidden(per_element(function(body), "", before), NUMBERS).rule == "KHR-MEM-01"


def part_of_a_matrix(body: str, read: str) -> bytes:
    """Build a module that defines only component 0 of a matrix in each invocation; ``read`` computes %y from the result %r."""
    text = "%none = OpUndef %square\n%m = OpCompositeInsert %square %u32_7 %none 0\n" + APPLY.format("") + read + store_to("%y")
    return shader(text, SQUARE, functions=function(body), capabilities=CAPABILITIES)


def test_an_undefined_element_may_be_computed_with_but_not_stored(result, forbidden) -> None:
    first, second = (f"%y = OpCompositeExtract %u32 %r {i}\n" for i in (0, 1))
    assert result(part_of_a_matrix("OpReturnValue %x", first), output=16).tolist() == [7] * 4
    assert forbidden(part_of_a_matrix("OpReturnValue %x", second)).rule == "SPIR-V 3.3.1 OpUndef"
    summed = "%s = OpIAdd %u32 %x %row\nOpReturnValue %s"
    assert len(result(part_of_a_matrix(summed, first), output=16)) == 4
    assert forbidden(part_of_a_matrix(summed, second)).rule == "SPIR-V 3.3.1 OpUndef"
    assert result(part_of_a_matrix("%s = OpIAdd %u32 %column %u32_3\nOpReturnValue %s", second), output=16).tolist() == [3, 4, 5, 6]


def test_a_matrix_in_a_function_of_elements_is_refused(forbidden) -> None:
    body = "%v = OpCompositeExtract %u32 %null 0\nOpReturnValue %v"
    text = str(forbidden(per_element(function(body), "", "", "%null = OpConstantNull %square\n"), NUMBERS))
    assert "in a function that is called for elements" in text


def test_the_device_goes_on_after_a_stop_in_a_function() -> None:
    module = per_element(function("%q = OpUDiv %u32 %u32_1000 %x\nOpReturnValue %q"))
    device = EmbeddedDevice(replace(load_profile("universal"), subgroup_size=SUBGROUP_SIZE))
    slots = (BufferSlot("input", 64, False, 0), BufferSlot("output", 64, True, 1))
    kernel = Kernel(module, slots)
    zero = Dispatch(b"", (words(*[1] * 15, 0), np.zeros(64, np.uint8)), (1, 1, 1))
    good = Dispatch(b"", (NUMBERS, np.zeros(64, np.uint8)), (1, 1, 1))
    with undefined("SPIR-V 3.42.13"):
        device.run(kernel, [zero])
    assert device.run(kernel, [good])[0].outputs["output"].view(np.uint32).tolist() == [1000 // x for x in range(100, 116)]


def test_a_device_that_is_not_strict_goes_on_after_a_store() -> None:
    body = "%p = OpAccessChain %ptr_out %output %s32_0 %u32_20\nOpStore %p %u32_9\nOpReturnValue %x"
    got = run(per_element(function(body)), NUMBERS, 96, strict=False).outputs["output"].view(np.uint32)
    assert got.tolist() == [*range(100, 116), 0, 0, 0, 0, 9, 0, 0, 0]


def test_a_store_in_a_callback_is_the_message_of_the_instruction(forbidden) -> None:
    text = str(forbidden(per_element(RULES["a store to a buffer"][0]), NUMBERS))
    assert text.startswith("OpStore"), "the instruction in the function is named"


OWN_WORD = "%i = OpIMul %u32 %row %u32_4\n%at = OpIAdd %u32 %i %column\n"
STORE = "%p = OpAccessChain %ptr_out %output %s32_0 %{}\nOpStore %p %x\n"


def test_calls_for_elements_may_store_to_words_of_their_own(result) -> None:
    """F-CM2-10: the words are the same for any callers and any number of calls."""
    stores = OWN_WORD + "%other = OpISub %u32 %u32_15 %at\n" + STORE.format("other") + "OpReturnValue %u32_1"
    body = load("square") + APPLY.format("")
    functions = function(stores)
    types = [line for line in functions.splitlines() if "OpType" in line]
    rest = [line for line in functions.splitlines() if line not in types]
    module = shader(body, SQUARE + "\n".join(types), functions="\n".join(rest), capabilities=CAPABILITIES)
    assert result(module, NUMBERS)[:16].tolist() == NUMBERS.view("u4")[:16][::-1].tolist()


@pytest.mark.parametrize(
    ("what", "body", "message"),
    [
        ("the word of another element", STORE.format("column") + "OpReturnValue %x", "calls for several elements write"),
        (
            "a word that it reads",
            OWN_WORD
            + "%p = OpAccessChain %ptr_out %output %s32_0 %at\n%old = OpLoad %u32 %p\n%new = OpIAdd %u32 %old %x\n"
            + "OpStore %p %new\nOpReturnValue %x",
            "read and write",
        ),
        (
            "a word that it reads afterwards",
            OWN_WORD + STORE.format("at") + "%new = OpLoad %u32 %p\nOpReturnValue %new",
            "read and write",
        ),
    ],
)
def test_calls_for_elements_may_not_store_to(forbidden, what, body, message) -> None:
    text = str(forbidden(per_element(function(body)), NUMBERS))
    assert message in text
    assert "[F-CM2-10]" in text


PLACE = "%p = OpAccessChain %ptr_out %output %s32_0 %{}\n"
UPDATE = "%{} = OpAtomic{} %u32 %p %u32_1 %u32_0 %{}\n"


@pytest.mark.parametrize(("op", "left"), [("Or", 127), ("And", 64), ("UMax", 115), ("UMin", 64), ("SMax", 115), ("SMin", 64)])
def test_calls_for_elements_may_update_one_word_by_an_idempotent_atomic(result, op, left) -> None:
    """F-CM2-10: elements 100 to 115 are combined with 64, and any further call changes nothing."""
    body = load("square") + APPLY.format("")
    functions = function(PLACE.format("u32_3") + UPDATE.format("old", op, "x") + "OpReturnValue %x")
    types = [line for line in functions.splitlines() if "OpType" in line]
    rest = [line for line in functions.splitlines() if line not in types]
    module = shader(body, SQUARE + "\n".join(types), functions="\n".join(rest), capabilities=CAPABILITIES)
    found = result(module, NUMBERS, output=np.array([0, 0, 0, 64], np.uint32).view(np.uint8))
    assert found.tolist() == [0, 0, 0, left]


@pytest.mark.parametrize(
    ("what", "body", "message"),
    [
        ("what was there before", UPDATE.format("old", "Or", "x") + "%y = OpIAdd %u32 %old %x\nOpReturnValue %y", "an undefined"),
        ("a word that they read", "%old = OpLoad %u32 %p\n" + UPDATE.format("o", "Or", "x") + "OpReturnValue %old", "access and update"),
        ("a word that they read later", UPDATE.format("o", "Or", "x") + "%y = OpLoad %u32 %p\nOpReturnValue %y", "read and write"),
        ("a word that they write later", UPDATE.format("o", "Or", "x") + "OpStore %p %x\nOpReturnValue %x", "write and update"),
        ("a word in two ways", UPDATE.format("o", "Or", "x") + UPDATE.format("n", "And", "x") + "OpReturnValue %x", "several ways"),
        ("a word by a sum", UPDATE.format("o", "IAdd", "x") + "OpReturnValue %x", "writes memory"),
    ],
)
def test_calls_for_elements_may_not_use_or_update(forbidden, what, body, message) -> None:
    assert message in str(forbidden(per_element(function(PLACE.format("u32_3") + body)), NUMBERS, output=64))
