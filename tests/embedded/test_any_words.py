"""Any sequence of words runs, or is refused: as invalid SPIR-V (with place and mistake), as unsupported (with the instruction), or as too
large."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest

from cts.devices.device import DeviceFailure, DeviceTimeout, OutOfMemory
from cts.embedded.diagnostics import NotSupported, NotValidSpirv
from cts.embedded.types.limits import Limits
from generators.spirv.enumerants import MAGIC, Op
from tests.embedded.assembly import shader, store
from tests.embedded.conftest import run

VALID = shader(store("%lane"))


def failure(module: bytes, limits: Limits = Limits(), subgroups: int = 1) -> DeviceFailure:  # noqa: B008 (frozen)
    with pytest.raises(DeviceFailure) as caught:
        run(module, limits=limits, subgroups=subgroups)
    return caught.value


def words(module: bytes) -> list[int]:
    return list(struct.unpack(f"<{len(module) // 4}I", module))


def packed(values: list[int], order: str = "<") -> bytes:
    return struct.pack(f"{order}{len(values)}I", *values)


HEADERS: dict[str, tuple[Callable[[bytes], bytes], int]] = {
    "nothing": (lambda m: b"", 0),
    "half a word": (lambda m: m[:-2], len(VALID) // 4 - 1),
    "another order of bytes": (lambda m: packed(words(m), ">"), 0),
    "another magic": (lambda m: packed([MAGIC + 1, *words(m)[1:]]), 0),
    "version 7": (lambda m: packed([MAGIC, 7 << 16, *words(m)[2:]]), 1),
    "bound 0": (lambda m: packed([*words(m)[:3], 0, *words(m)[4:]]), 3),
    "the largest bound": (lambda m: packed([*words(m)[:3], 0xFFFFFFFF, *words(m)[4:]]), 3),
    "an instruction of no words": (lambda m: packed([*words(m)[:5], 0, *words(m)[6:]]), 5),
    "an instruction that is cut off": (lambda m: packed([*words(m)[:-1], 3 << 16 | 17, 1]), len(VALID) // 4 - 1),
}


@pytest.mark.parametrize(("change", "word"), HEADERS.values(), ids=HEADERS.keys())
def test_words_that_are_not_a_module_are_refused_at_the_first_wrong_word(change: Callable[[bytes], bytes], word: int) -> None:
    found = failure(change(VALID))
    assert isinstance(found, NotValidSpirv)
    assert found.word == word
    assert str(found).startswith(f"not valid SPIR-V: SPIR-V word {word}: ")


def test_a_bound_that_no_id_comes_near_takes_no_memory_to_speak_of(result: Callable) -> None:
    assert result(packed([*words(VALID)[:3], 0x3FFFFF, *words(VALID)[4:]]))[:4].tolist() == [0, 1, 2, 3]


def test_a_module_without_instructions() -> None:
    assert isinstance(failure(VALID[:20]), DeviceFailure)


BODIES: dict[str, tuple[str, Op, str]] = {
    "a type for a value": ("%x = OpIAdd %u32 %lane %u32", Op.IAdd, "is not a value computed before"),
    "a value for a type": ("%x = OpIAdd %lane %lane %lane", Op.IAdd, "is not a type declared before"),
    "a value of later": ("%x = OpIAdd %u32 %y %lane\n%y = OpIAdd %u32 %lane %lane", Op.IAdd, "is not a value computed before"),
    "a value declared twice": ("%lane = OpIAdd %u32 %subgroup %subgroup", Op.IAdd, "is declared twice"),
    "numbers of another kind": ("%x = OpFAdd %u32 %lane %lane", Op.FAdd, "the result is a u32"),
    "numbers of another width": ("%x = OpIAdd %u64 %u64_1 %u32_1", Op.IAdd, "an operand is a u32"),
    "a branch to nowhere": ("OpBranch %void\n%next = OpLabel", Op.Branch, "is not a label of the function"),
    "a branch to the first block": ("OpBranch %entry\n%next = OpLabel", Op.Branch, "leads to the first block"),
    "an instruction after the end of a block": ("OpReturn\n%x = OpIAdd %u32 %lane %lane\n%n = OpLabel", Op.IAdd, "is outside of a block"),
    "a load of another type": ("%x = OpLoad %f32 %gl_SubgroupId", Op.Load, "a u32 is loaded as a f32"),
    "a pointer that is a number": ("%x = OpLoad %u32 %lane", Op.Load, "the pointer is a u32"),
    "a composite that has fewer parts": (
        "%x = OpCompositeExtract %u32 %workgroup 3",
        Op.CompositeExtract,
        "constituent 3 of a vector of 3 u32",
    ),
    "a call of what is not a function": ("%x = OpFunctionCall %u32 %lane", Op.FunctionCall, "is not a function"),
    "a function that calls itself": ("%x = OpFunctionCall %void %main", Op.FunctionCall, "a function calls itself"),
    "a value returned from nothing": ("OpReturnValue %lane\n%next = OpLabel", Op.ReturnValue, "the returned value"),
    "a condition that is a number": (
        "OpSelectionMerge %merge None\nOpBranchConditional %lane %merge %merge\n%merge = OpLabel",
        Op.BranchConditional,
        "the condition is a u32",
    ),
    "a value of one side only": (
        "OpSelectionMerge %merge None\nOpBranchConditional %true %side %merge\n%side = OpLabel\n%x = OpIAdd %u32 %lane %lane\n"
        "OpBranch %merge\n%merge = OpLabel\n%y = OpIAdd %u32 %x %x",
        Op.IAdd,
        "is not computed on every path",
    ),
    "a phi without one of the ways": (
        "OpSelectionMerge %merge None\nOpBranchConditional %true %side %merge\n%side = OpLabel\nOpBranch %merge\n%merge = OpLabel\n"
        "%x = OpPhi %u32 %lane %side",
        Op.Phi,
        "do not name each block",
    ),
    "a phi of its own later value": (
        "OpBranch %head\n%head = OpLabel\n%x = OpPhi %u32 %y %entry\n%y = OpIAdd %u32 %x %x",
        Op.Phi,
        "is not a value computed on every path through",
    ),
    "a barrier with a scope that varies": ("OpControlBarrier %lane %u32_2 %u32_264", Op.ControlBarrier, "is not a constant integer"),
    "a type in a function": ("%x = OpTypeInt 32 0", Op.TypeInt, "must precede"),
}


@pytest.mark.parametrize(("body", "instruction", "what"), BODIES.values(), ids=BODIES.keys())
def test_an_instruction_that_is_not_valid_is_named(body: str, instruction: Op, what: str) -> None:
    module = shader(f"{body}\n")
    found = failure(module)
    assert isinstance(found, NotValidSpirv)
    assert words(module)[found.word] & 0xFFFF == instruction
    assert what in str(found)


DECLARATIONS: dict[str, tuple[str, str]] = {
    "a structure that contains itself": ("%s = OpTypeStruct %s", "is not a type declared before"),
    "an array of no length": ("%a = OpTypeArray %u32 %u32_0", "an array of length 0"),
    "an array whose length is not an integer": ("%a = OpTypeArray %u32 %f32_2", "an array of length that is not an integer"),
    "an array of nothing": ("%a = OpTypeArray %void %u32_4", "an array of void"),
    "a vector of structures": ("%s = OpTypeStruct %u32\n%v = OpTypeVector %s 4", "a vector of structure"),
    "a constant of too few parts": ("%v = OpTypeVector %u32 2\n%c = OpConstantComposite %v %u32_1", "cannot be made of the given parts"),
    "a null of a runtime array": ("%a = OpTypeRuntimeArray %f32\n%c = OpConstantNull %a", "a runtime array is not a value"),
    "a constant of itself": ("%v = OpTypeVector %u32 2\n%c = OpConstantComposite %v %c %c", "is not a constant declared before"),
    "an integer that divides by zero": ("%c = OpSpecConstantOp %u32 Load %u32_1", "which it does not compute"),
    "a buffer of a type that is declared after it": (
        "%p = OpTypePointer StorageBuffer %later\n%v = OpVariable %p StorageBuffer\n%later = OpTypeStruct %u32",
        "is declared later",
    ),
    "a pointer to what is never declared": ("%p = OpTypePointer Private %nothing", "is not a type"),
}


@pytest.mark.parametrize(("declaration", "what"), DECLARATIONS.values(), ids=DECLARATIONS.keys())
def test_a_declaration_that_is_not_valid_is_named(declaration: str, what: str) -> None:
    found = failure(shader("", declaration))
    assert isinstance(found, NotValidSpirv)
    assert what in str(found)


def test_a_function_that_does_not_end() -> None:
    found = failure(packed(words(VALID)[:-1]))
    assert isinstance(found, NotValidSpirv)
    assert "the last function does not end" in str(found)


def test_a_decoration_of_nothing_changes_nothing(result: Callable) -> None:
    assert result(shader(store("%lane"), decorations="OpDecorate %nothing ArrayStride 7"))[:4].tolist() == [0, 1, 2, 3]


UNSUPPORTED: dict[str, tuple[str, str, str]] = {
    "an instruction of tables": ("%x = OpCopyLogical %u32 %lane\n%y = OpDPdx %u32 %lane", "", "OpDPdx"),
    "integers of a width": ("", "%i = OpTypeInt 24 0", "integers of 24 bits"),
    "types a thousand deep": (
        "",
        "%a0 = OpTypeStruct %u32\n" + "\n".join(f"%a{i} = OpTypeStruct %a{i - 1}" for i in range(1, 1000)),
        "types are nested",
    ),
    "a type that doubles sixty times": (
        "",
        "%a0 = OpTypeStruct %u32\n" + "\n".join(f"%a{i} = OpTypeStruct %a{i - 1} %a{i - 1}" for i in range(1, 40)),
        "a type of",
    ),
}


@pytest.mark.parametrize(("body", "declaration", "what"), UNSUPPORTED.values(), ids=UNSUPPORTED.keys())
def test_instructions_that_the_interpreter_lacks_are_named(body: str, declaration: str, what: str) -> None:
    found = failure(shader(f"{body}\n", declaration))
    assert isinstance(found, NotSupported)
    assert what in str(found)


def test_an_instruction_that_the_tables_do_not_have_is_named() -> None:
    found = failure(packed([*words(VALID), 5 << 16 | 87, 1, 2, 3, 4]))
    assert isinstance(found, NotSupported)
    assert found.instruction == "OpImageSampleImplicitLod"


def test_functions_that_call_functions_too_deep_are_not_followed() -> None:
    calls = "".join(
        f"%fn_{i} = OpFunction %void None %void_function\n%e{i} = OpLabel\n"
        + (f"%c{i} = OpFunctionCall %void %fn_{i - 1}\n" if i else "")
        + "OpReturn\nOpFunctionEnd\n"
        for i in range(200)
    )
    found = failure(shader("%call = OpFunctionCall %void %fn_199\n", functions=calls))
    assert isinstance(found, NotSupported)
    assert "calls are nested" in str(found)


LARGE: dict[str, str] = {
    "workgroup memory": "%a = OpTypeArray %u32 %u32_1073741824\n%p = OpTypePointer Workgroup %a\n%v = OpVariable %p Workgroup",
    "a private array": "%a = OpTypeArray %u32 %u32_1073741824\n%p = OpTypePointer Private %a\n%v = OpVariable %p Private",
    "a constant": "%a = OpTypeArray %u32 %u32_1073741824\n%c = OpConstantNull %a",
    "a repeated constant": "%a = OpTypeArray %u32 %u32_1073741824\n%c = OpConstantCompositeReplicateEXT %a %u32_1",
    "arrays of arrays": (
        "%a0 = OpTypeArray %u32 %u32_1024\n"
        + "\n".join(f"%a{i} = OpTypeArray %a{i - 1} %u32_1024" for i in range(1, 9))
        + "\n%p = OpTypePointer Private %a8\n%v = OpVariable %p Private"
    ),
    "a matrix": "%m = OpTypeCooperativeMatrixKHR %f32 %u32_3 %u32_1048576 %u32_16 %u32_2",
    "a length that is specialized": (
        "%n = OpSpecConstantOp %u32 ShiftLeftLogical %u32_1 %u32_30\n%a = OpTypeArray %u32 %n\n%p = OpTypePointer Private %a\n"
        "%v = OpVariable %p Private"
    ),
}


@pytest.mark.parametrize("declaration", LARGE.values(), ids=LARGE.keys())
def test_a_module_that_would_take_gigabytes_is_refused_before_it_takes_them(declaration: str) -> None:
    found = failure(shader("", declaration, capabilities=("CooperativeMatrixKHR",)))
    assert isinstance(found, OutOfMemory)
    assert not found.spent


def placed(name: str) -> str:
    return f"OpDecorate %{name} Binding 7\nOpDecorate %{name} DescriptorSet 0\n"


def test_a_type_in_a_buffer_may_be_larger_than_memory(result: Callable) -> None:
    huge = (
        "%a = OpTypeArray %u32 %u32_1073741824\n%s = OpTypeStruct %a\n%p = OpTypePointer StorageBuffer %s\n%b = OpVariable %p StorageBuffer"
    )
    layout = "OpDecorate %a ArrayStride 4\nOpMemberDecorate %s 0 Offset 0\nOpDecorate %s Block"
    assert result(shader(store("%lane"), huge, placed("b") + layout))[:4].tolist() == [0, 1, 2, 3]


def test_loops_in_loops_end_after_the_limit_of_steps() -> None:
    head = "OpBranch %h{0}\n%h{0} = OpLabel\nOpLoopMerge %m{0} %c{0} None\nOpBranch %b{0}\n%b{0} = OpLabel\n"
    tail = "OpBranch %c{0}\n%c{0} = OpLabel\nOpBranchConditional %true %h{0} %m{0}\n%m{0} = OpLabel\n"
    found = failure(
        shader("".join(head.format(i) for i in range(8)) + "".join(tail.format(i) for i in reversed(range(8)))), Limits(steps=500)
    )
    assert isinstance(found, DeviceTimeout)
    assert "500 steps" in str(found)


def test_calls_that_double_with_each_function_end_after_the_limit_of_steps() -> None:
    calls = "".join(
        f"%fn_{i} = OpFunction %void None %void_function\n%e{i} = OpLabel\n"
        + (f"%c{i} = OpFunctionCall %void %fn_{i - 1}\n%d{i} = OpFunctionCall %void %fn_{i - 1}\n" if i else "")
        + "OpReturn\nOpFunctionEnd\n"
        for i in range(30)
    )
    assert isinstance(failure(shader("%call = OpFunctionCall %void %fn_29\n", functions=calls), Limits(steps=1000)), DeviceTimeout)


def test_a_buffer_that_no_kernel_binds_is_out_of_bounds(forbidden: Callable) -> None:
    other = "%other = OpVariable %ptr_out_block StorageBuffer"
    body = "%place = OpAccessChain %ptr_out %other %s32_0 %lane\nOpStore %place %lane\n"
    assert forbidden(shader(body, other, placed("other"))).rule == "KHR-MEM-02"


def noted(body: str) -> bytes:
    """Return a module with a non-semantic instruction ``%note`` of six words before its functions."""
    declared = "%note = OpExtInst %void %set Degrees %s32_0"
    return shader(body, declared, imports='%set = OpExtInstImport "GLSL.std.450"').replace(b"GLSL.std.450", b"NonSemantic.")


@pytest.mark.parametrize(
    "body",
    [
        "%x = OpLoad %u32 %note",
        "%p = OpAccessChain %ptr_out %output %s32_0 %lane\nOpStore %p %note",
        "%x = OpIAdd %u32 %lane %note",
        "%x = OpCompositeExtract %u32 %note 0",
    ],
)
def test_the_id_of_something_without_a_value_is_no_operand(body: str) -> None:
    assert isinstance(failure(noted(body)), NotValidSpirv)


def test_an_extended_instruction_without_operands_is_refused() -> None:
    found = words(noted(""))
    at = found.index(6 << 16 | Op.ExtInst)
    assert isinstance(failure(packed([*found[:at], 3 << 16 | Op.ExtInst, *found[at + 1 : at + 3], *found[at + 6 :]])), NotValidSpirv)


def test_a_null_array_of_millions_of_elements_is_one_element(result: Callable) -> None:
    declared = "%many = OpConstant %u32 2000000\n%array = OpTypeArray %u32 %many\n%null = OpConstantNull %array"
    body = "%x = OpCompositeExtract %u32 %null 1999999\n" + store("%x")
    assert result(shader(body, declared))[:4].tolist() == [0] * 4
