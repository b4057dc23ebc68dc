"""Functions called for elements: OpCooperativeMatrixPerElementOpNV and OpCooperativeMatrixReduceNV, and the rules that they break."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cts.devices.device import UndefinedBehaviour
from cts.devices.embedded.device import EmbeddedDevice
from cts.devices.embedded.elements import MAPPINGS
from cts.devices.embedded.profile import load_profile
from cts.devices.embedded.reduction import schedule
from generators.kernel import BufferSlot, Dispatch, Kernel
from tests.embedded.assembly import shader, words
from tests.embedded.conftest import SUBGROUP_SIZE, run
from tests.embedded.test_matrices import load, matrix, store

CAPABILITIES = (
    "CooperativeMatrixKHR",
    "CooperativeMatrixPerElementOperationsEXT",
    "CooperativeMatrixReductionsEXT",
    "CooperativeMatrixConversionsNV",
)
SQUARE = matrix("square", "u32", 4, 4, 2)
NUMBERS = words(*range(100, 116))
GIVEN = np.arange(100, 116).reshape(4, 4)
APPLY = "%r = OpCooperativeMatrixPerElementOpEXT %square %m %f {}\n"


def function(body: str, parameters: str = "", name: str = "f", result: str = "u32", first: str = "u32 u32 u32") -> str:
    """A function of row %row, column %column, element %x (of ``first``'s types) and ``parameters``, each "type:name"."""
    given = [p.split(":") for p in parameters.split()]
    types = [*first.split(), *(type_ for type_, _ in given)]
    names = [f"{n}_{name}" if name != "f" else n for n in ("row", "column", "x")][: len(first.split())] + [n for _, n in given]
    declared = "\n".join(f"%{n} = OpFunctionParameter %{t}" for t, n in zip(types, names, strict=True))
    return f"""
%type_{name} = OpTypeFunction %{result} {" ".join("%" + t for t in types)}
%{name} = OpFunction %{result} None %type_{name}
{declared}
%{name}_entry = OpLabel
{body}
OpFunctionEnd
"""


def per_element(functions: str, operands: str = "", before: str = "", declarations: str = "", **options: object) -> bytes:
    body = load("square") + before + APPLY.format(operands) + store("r")
    types = [line for line in functions.splitlines() if "OpType" in line]
    rest = [line for line in functions.splitlines() if line not in types]
    declared = SQUARE + declarations + "\n".join(types)
    return shader(body, declared, functions="\n".join(rest), capabilities=CAPABILITIES, **options)  # type: ignore[arg-type]


HALF = """
%high = OpUGreaterThan %bool %lane %u32_1
OpSelectionMerge %merge None
OpBranchConditional %high %call %merge
%call = OpLabel
"""
ENCODE = """
%tens = OpIMul %u32 %row %u32_10
%place = OpIAdd %u32 %tens %column
%scaled = OpIMul %u32 %x %u32_1000
%sum = OpIAdd %u32 %scaled %place
OpReturnValue %sum
"""
ROWS, COLUMNS = np.indices((4, 4))


@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize("integers", ["u32 u32", "s32 s32", "s32 u32"])
def test_a_function_gets_row_column_and_element(result, mapping, integers) -> None:
    got = result(per_element(function(ENCODE, first=f"{integers} u32")), NUMBERS, mapping=mapping).reshape(4, 4)
    assert got.tolist() == (GIVEN * 1000 + ROWS * 10 + COLUMNS).tolist()


def test_each_subgroup_has_its_own_matrix_and_operands(result) -> None:
    body = (
        "%at = OpIMul %u32 %subgroup %u32_16\n"
        + load("square", at="%at")
        + "%by = OpIAdd %u32 %subgroup %u32_5\n"
        + APPLY.format("%by")
        + store("r", at="%at")
    )
    functions = function("%sum = OpIMul %u32 %x %by_f\nOpReturnValue %sum", "u32:by_f")
    module = shader(body, SQUARE, functions=functions, capabilities=CAPABILITIES)
    got = result(module, words(*range(32)), 128, subgroups=2)
    assert got.tolist() == [*(i * 5 for i in range(16)), *(i * 6 for i in range(16, 32))]


def test_only_the_subgroups_that_execute_call(result) -> None:
    body = (
        "%at = OpIMul %u32 %subgroup %u32_16\n"
        + load("square", at="%at")
        + """
%second = OpIEqual %bool %subgroup %u32_1
OpSelectionMerge %merge None
OpBranchConditional %second %call %merge
%call = OpLabel
"""
        + APPLY.format("")
        + store("r", at="%at")
        + "OpBranch %merge\n%merge = OpLabel\n"
    )
    module = shader(body, SQUARE, functions=function(ENCODE), capabilities=CAPABILITIES)
    got = result(module, words(*range(32)), 128, subgroups=2)
    assert got[:16].tolist() == [0] * 16
    assert got[16:].tolist() == [(16 + 4 * r + c) * 1000 + 10 * r + c for r in range(4) for c in range(4)]


def test_a_matrix_of_the_workgroup_is_one(result) -> None:
    whole = matrix("square", "u32", 4, 4, 2, scope=2)
    body = load("square") + APPLY.format("") + store("r")
    got = result(shader(body, whole, functions=function(ENCODE), capabilities=CAPABILITIES), NUMBERS, subgroups=2)
    assert got.reshape(4, 4).tolist() == (GIVEN * 1000 + ROWS * 10 + COLUMNS).tolist()


def test_operands_come_in_order_scalars_vectors_structs_and_matrices(result) -> None:
    declarations = """
%pair = OpTypeStruct %u32 %u32x3
%vector = OpConstantComposite %u32x3 %u32_20 %u32_300 %u32_4000
%struct = OpConstantComposite %pair %u32_1 %vector
"""
    # (3 * column-major twin + scalar) * 10000 + struct member + vector component
    body = """
%last = OpCompositeExtract %u32 %p 1 2
%middle = OpCompositeExtract %u32 %v 1
%three = OpIMul %u32 %twin %u32_3
%plus = OpIAdd %u32 %three %k
%high = OpIMul %u32 %plus %u32_10000
%low = OpIAdd %u32 %last %middle
%all = OpIAdd %u32 %high %low
OpReturnValue %all
"""
    functions = function(body, "u32:k square_element:twin pair:p u32x3:v".replace("square_element", "u32"))
    before = load("square", "twin_m", layout="%u32_1")
    got = result(per_element(functions, "%u32_7 %twin_m %struct %vector", before, declarations), NUMBERS)
    assert got.reshape(4, 4).tolist() == ((3 * GIVEN.T + 7) * 10000 + 4000 + 300).tolist()


def test_calls_diverge_nest_and_have_variables_of_their_own(result) -> None:
    nested = function(
        """
OpStore %kept %deep_x
%odd = OpBitwiseAnd %u32 %deep_x %u32_1
%is_odd = OpIEqual %bool %odd %u32_1
OpSelectionMerge %nested_merge None
OpBranchConditional %is_odd %nested_yes %nested_merge
%nested_yes = OpLabel
%minus = OpISub %u32 %deep_x %u32_1
OpStore %kept %minus
OpBranch %nested_merge
%nested_merge = OpLabel
%left = OpLoad %u32 %kept
OpReturnValue %left
""".replace("OpStore %kept %deep_x", "%kept = OpVariable %ptr_local Function\nOpStore %kept %deep_x", 1),
        "u32:deep_x",
        name="g",
        first="",
    )
    body = """
%low = OpULessThan %bool %column %row
OpSelectionMerge %f_merge None
OpBranchConditional %low %f_yes %f_merge
%f_yes = OpLabel
OpReturnValue %u32_7
%f_merge = OpLabel
%even = OpFunctionCall %u32 %g %x
OpReturnValue %even
"""
    functions = "%ptr_local = OpTypePointer Function %u32\n" + nested + function(body)
    # The same function with the invocations' own lanes, before and after.
    before = "%own = OpFunctionCall %u32 %g %lane\n"
    got = result(per_element(functions, "", before), NUMBERS).reshape(4, 4)
    assert got.tolist() == np.where(COLUMNS < ROWS, 7, GIVEN & ~1).tolist()


def test_a_function_may_serve_invocations_and_elements(result) -> None:
    body = function(ENCODE)
    diverging = """
%high = OpUGreaterThan %bool %lane %u32_1
OpSelectionMerge %merge None
OpBranchConditional %high %call %merge
%call = OpLabel
%own{0} = OpFunctionCall %u32 %f %lane %u32_3 %u32_2
{1}
OpBranch %merge
%merge = OpLabel
"""
    text = (
        load("square")
        + APPLY.format("")
        + store("r")
        + diverging.format("", "%to = OpIAdd %u32 %lane %u32_16\n%p = OpAccessChain %ptr_out %output %s32_0 %to\nOpStore %p %own")
    )
    got = result(shader(text, SQUARE, functions=body, capabilities=CAPABILITIES), NUMBERS, 80)
    assert got[:16].reshape(4, 4).tolist() == (GIVEN * 1000 + ROWS * 10 + COLUMNS).tolist()
    assert got[16:].tolist() == [0, 0, 2023, 2033]


def test_buffers_and_workgroup_memory_can_be_read(result) -> None:
    body = """
%four = OpIMul %u32 %row %u32_4
%index = OpIAdd %u32 %four %column
%by_name = OpAccessChain %ptr_in %input %s32_0 %index
%twin = OpLoad %u32 %by_name
%in_shared = OpAccessChain %ptr_shared %shared %column
%key = OpLoad %u32 %in_shared NonPrivatePointer|MakePointerVisible %u32_2
%in_output = OpAccessChain %ptr_out %output %s32_0 %u32_20
%given = OpAtomicLoad %u32 %in_output %u32_1 %u32_0
%a = OpIMul %u32 %twin %u32_1000
%b = OpIAdd %u32 %a %key
%c = OpIMul %u32 %given %u32_1000000
%d = OpIAdd %u32 %b %c
OpReturnValue %d
"""
    before = """
%mine = OpAccessChain %ptr_shared %shared %lane
%key_of = OpIAdd %u32 %lane %u32_5
OpStore %mine %key_of NonPrivatePointer|MakePointerAvailable %u32_2
OpControlBarrier %u32_2 %u32_2 %u32_24840
"""
    output = np.full(24, 3, np.uint32).view(np.uint8)
    got = result(per_element(function(body), "", before), NUMBERS, output)[:16]
    assert got.reshape(4, 4).tolist() == (GIVEN * 1000 + COLUMNS + 5 + 3_000_000).tolist()


def test_a_store_by_an_invocation_before_a_call_needs_a_barrier(forbidden) -> None:
    body = "%in_shared = OpAccessChain %ptr_shared %shared %column\n%key = OpLoad %u32 %in_shared\nOpReturnValue %key"
    before = "%mine = OpAccessChain %ptr_shared %shared %lane\nOpStore %mine %lane\n"
    assert "a race" in forbidden(per_element(function(body), "", before), NUMBERS)


@pytest.mark.parametrize(
    ("use", "name"),
    [(0, "A"), (1, "B"), (2, "accumulator")],
)
def test_every_use_has_elements(result, use, name) -> None:
    types = matrix("square", "u32", 4, 4, use)
    body = load("square") + APPLY.format("") + store("r")
    got = result(shader(body, types, functions=function(ENCODE), capabilities=CAPABILITIES), NUMBERS).reshape(4, 4)
    assert got.tolist() == (GIVEN * 1000 + ROWS * 10 + COLUMNS).tolist(), name


BUILT_IN = "%gl = OpLoad %u32 %gl_{}\n%sum = OpIAdd %u32 %x %gl\nOpReturnValue %sum"


def test_what_all_invocations_agree_on_can_be_read(result) -> None:
    got = result(per_element(function(BUILT_IN.format("SubgroupSize"))), NUMBERS).reshape(4, 4)
    assert got.tolist() == (GIVEN + 4).tolist()


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
    text = forbidden(per_element(functions, operands, before, declarations), NUMBERS)
    assert f"[{rule}]" in text


def test_a_result_of_another_type_stops(forbidden) -> None:
    other = matrix("other", "u32", 4, 4, 1)
    body = load("square") + APPLY.replace("%square", "%other").format("")
    module = shader(body, SQUARE + other, functions=function("OpReturnValue %x"), capabilities=CAPABILITIES)
    assert "[CM2-PE-01]" in forbidden(module, NUMBERS)


def test_a_capability_is_needed(forbidden) -> None:
    body = load("square") + APPLY.format("")
    assert "[CM2-CAP-03]" in forbidden(shader(body, SQUARE, functions=function("OpReturnValue %x")), NUMBERS)


def test_a_call_by_a_part_of_the_subgroup_stops(forbidden) -> None:
    body = load("square") + HALF + APPLY.format("") + "OpBranch %merge\n%merge = OpLabel\n"
    module = shader(body, SQUARE, functions=function("OpReturnValue %x"), capabilities=CAPABILITIES)
    assert "[KHR-UNI-01]" in forbidden(module, NUMBERS)


def test_the_device_goes_on_after_a_stop_in_a_function() -> None:
    module = per_element(function("%q = OpUDiv %u32 %u32_1000 %x\nOpReturnValue %q"))
    device = EmbeddedDevice(replace(load_profile("universal"), subgroup_size=SUBGROUP_SIZE))
    slots = (BufferSlot("input", 64, False, 0), BufferSlot("output", 64, True, 1))
    kernel = Kernel(module, slots)
    zero = Dispatch(b"", (words(*[1] * 15, 0), np.zeros(64, np.uint8)), (1, 1, 1))
    good = Dispatch(b"", (NUMBERS, np.zeros(64, np.uint8)), (1, 1, 1))
    with pytest.raises(UndefinedBehaviour, match="by zero"):
        device.run(kernel, [zero])
    assert device.run(kernel, [good])[0].outputs["output"].view(np.uint32).tolist() == [1000 // x for x in range(100, 116)]


def test_a_device_that_is_not_strict_goes_on_after_a_store() -> None:
    body = "%p = OpAccessChain %ptr_out %output %s32_0 %u32_20\nOpStore %p %u32_9\nOpReturnValue %x"
    got = run(per_element(function(body)), NUMBERS, 96, strict=False).outputs["output"].view(np.uint32)
    assert got.tolist() == [*range(100, 116), 0, 0, 0, 0, 9, 0, 0, 0]


def test_a_store_in_a_callback_is_the_message_of_the_instruction(forbidden) -> None:
    text = forbidden(per_element(RULES["a store to a buffer"][0]), NUMBERS)
    assert text.startswith("OpStore"), "the instruction in the function is named"


COMBINE = {
    "sum": "%s = OpIAdd %u32 %a %b\nOpReturnValue %s",
    "first of both, twice": "%t = OpIMul %u32 %a %u32_3\n%s = OpIAdd %u32 %t %b\nOpReturnValue %s",
}


def reduction(
    mode: str, combine: str, rows: int, columns: int, result_rows: int, result_columns: int, component: str = "u32", use: int = 2
) -> bytes:
    combined = function(combine, f"{component}:a {component}:b", result=component, first="")
    types = matrix("m_type", component, rows, columns, 2)
    same = (rows, columns, 2) == (result_rows, result_columns, use)
    types += "" if same else matrix("r_type", component, result_rows, result_columns, use)
    body = load("m_type", stride=f"%u32_{columns}")
    body += f"%r = OpCooperativeMatrixReduceEXT %{'m' if same else 'r'}_type %m {mode} %f\n"
    body += store("r", stride=f"%u32_{result_columns}")
    return shader(body, types, functions=combined, capabilities=CAPABILITIES, buffer_type=component)


@pytest.mark.parametrize("mapping", MAPPINGS)
@pytest.mark.parametrize(
    ("mode", "to", "axes"), [("Row", (6, 8), (1,)), ("Column", (5, 4), (0,)), ("Row|Column", (2, 8), (0, 1)), ("2x2", (3, 2), None)]
)
def test_each_element_is_combined_once(mapping, mode, to, axes) -> None:
    rows, columns = 6, 4
    numbers = np.array([1 << i for i in range(24)], np.uint32).reshape(rows, columns)
    got = run(reduction(mode, COMBINE["sum"], rows, columns, *to), numbers.view(np.uint8).ravel(), 256, mapping=mapping)
    found = got.outputs["output"].view(np.uint32)[: to[0] * to[1]].reshape(to)
    squares = numbers.reshape(3, 2, 2, 2).sum(axis=(1, 3))
    want = squares if axes is None else np.broadcast_to(numbers.sum(axis=axes, keepdims=True), to)
    assert found.tolist() == want.tolist()


def test_mappings_combine_in_different_orders() -> None:
    numbers = np.arange(1, 65, dtype=np.uint32)
    module = reduction("Row|Column", COMBINE["first of both, twice"], 8, 8, 4, 4)
    found = {m: run(module, numbers.view(np.uint8), mapping=m).outputs["output"].view(np.uint32).tolist() for m in MAPPINGS}
    assert all(len(set(values)) == 1 for values in found.values()), "all elements of a group are equal"
    assert len({values[0] for values in found.values()}) == len(MAPPINGS)


def test_a_single_element_is_its_own_combination() -> None:
    numbers = np.arange(4, dtype=np.uint32)
    got = run(reduction("Row", "OpUnreachable", 4, 1, 4, 2), numbers.view(np.uint8), 32).outputs["output"].view(np.uint32)
    assert got.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_each_subgroup_reduces_its_own_matrix(result) -> None:
    combined = function(COMBINE["sum"], "u32:a u32:b", first="")
    body = (
        "%at = OpIMul %u32 %subgroup %u32_16\n"
        + load("square", at="%at")
        + "%r = OpCooperativeMatrixReduceEXT %square %m Row %f\n"
        + store("r", at="%at")
    )
    got = result(shader(body, SQUARE, functions=combined, capabilities=CAPABILITIES), words(*range(32)), 128, subgroups=2)
    assert got.reshape(8, 4).tolist() == [[16 * r + 6] * 4 for r in range(8)]


@pytest.mark.parametrize("mode", [1, 2, 3, 4])
@pytest.mark.parametrize("mapping", MAPPINGS)
def test_a_schedule_uses_each_value_once(mapping, mode) -> None:
    plan = schedule(mapping, 6, 10, 8, mode)
    used = np.concatenate([*(np.concatenate(step) for step in plan.steps), plan.totals])
    assert sorted(used.tolist()) == list(range(60 + sum(left.size for left, _ in plan.steps)))


WRONG = {
    "another sign": (("Row", COMBINE["sum"], 4, 4, 4, 4), {}, "%s32 ", "CM2-RED-01"),
    "use A": (("Row", COMBINE["sum"], 4, 4, 4, 4), {"use": 0}, "", "CM2-RED-01"),
    "no mode": (("0", COMBINE["sum"], 4, 4, 4, 4), {}, "", "CM2-RED-02"),
    "2x2 and Row": (("5", COMBINE["sum"], 4, 4, 2, 2), {}, "", "CM2-RED-02"),
    "an unknown bit": (("9", COMBINE["sum"], 4, 4, 4, 4), {}, "", "CM2-RED-02"),
    "2x2 without half the columns": (("2x2", COMBINE["sum"], 4, 4, 2, 4), {}, "", "CM2-RED-03"),
    "other rows": (("Row", COMBINE["sum"], 4, 4, 2, 4), {}, "", "CM2-RED-04"),
    "other columns": (("Column", COMBINE["sum"], 4, 4, 4, 2), {}, "", "CM2-RED-05"),
    "a barrier": (("Row", "OpControlBarrier %u32_2 %u32_2 %u32_264\nOpReturnValue %a", 4, 4, 4, 4), {}, "", "CM2-TGL-02"),
    "an undefined combination": (("Row", "%u = OpUndef %u32\nOpReturnValue %u", 4, 4, 4, 4), {}, "", "SPIR-V 3.3.1 OpUndef"),
    "an invocation's number": (("Row", "%v = OpLoad %u32 %gl_LocalInvocationIndex\nOpReturnValue %v", 4, 4, 4, 4), {}, "", "F-CM2-10"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_rule_of_reductions_stops(forbidden, what) -> None:
    arguments, options, component, rule = WRONG[what]
    if component:
        combined = function(COMBINE["sum"], "u32:a u32:b", first="")
        types = SQUARE + matrix("other", "s32", 4, 4, 2)
        body = load("square") + "%r = OpCooperativeMatrixReduceEXT %other %m Row %f\n"
        module = shader(body, types, functions=combined, capabilities=CAPABILITIES)
    else:
        module = reduction(*arguments, **options)  # type: ignore[arg-type]
    assert f"[{rule}]" in forbidden(module, NUMBERS)


@pytest.mark.parametrize(
    "combined",
    [
        function("OpReturnValue %a", "u32:a", first=""),
        function("OpReturnValue %a", "u32:a s32:b", first=""),
        function("OpReturnValue %s32_0", "u32:a u32:b", result="s32", first=""),
        "%f = OpConstant %u32 1",
    ],
)
def test_a_combination_takes_two_components_and_returns_one(forbidden, combined) -> None:
    body = load("square") + "%r = OpCooperativeMatrixReduceEXT %square %m Row %f\n"
    assert "[CM2-RED-07]" in forbidden(shader(body, SQUARE, functions=combined, capabilities=CAPABILITIES), NUMBERS)
    capable = shader(body, SQUARE, functions=combined)
    assert "[CM2-CAP-01]" in forbidden(capable, NUMBERS)
