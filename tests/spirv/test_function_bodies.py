"""The bodies of functions that instructions call, as SPIR-V and as GLSL."""

import re

import pytest

from generators.casebook import build, find_case
from generators.errors import Rule
from generators.glsl.emit import emit as print_glsl
from generators.program.builder import U32, ProgramBuilder
from generators.program.scalars import Extended, ScalarArithmetic
from generators.program.values import Value, literal
from generators.spirv.disassemble import disassemble
from generators.spirv.emit import emit
from generators.types import COMPONENT_TYPES, Scope
from tests.broken_rules import breaks
from tests.suite import casebook

S32, F16 = COMPONENT_TYPES["s32"], COMPONENT_TYPES["f16"]


def program(instruction, body, component="u32", **parameters):
    given = {"component": component, "instruction": instruction, "body": body, **parameters}
    return build(find_case(casebook(), "function_bodies[" + "/".join(f"{k}:{v}" for k, v in given.items()) + "]")).program


def function_of(text, name):
    begin = text.index(f"%{name} = OpFunction")
    return text[begin : text.index("OpFunctionEnd", begin)]


def module(*given, **parameters):
    return disassemble(emit(program(*given, **parameters)))


def test_a_module_imports_the_instruction_set_once_and_before_its_memory_model():
    text = module("element", "extended", "f16")
    assert text.count("OpExtInstImport") == 1
    assert text.index("OpExtInstImport") < text.index("OpMemoryModel")
    instructions = re.findall(r"OpExtInst %\S+ %\S+ (\w+)", text)
    assert instructions == ["FMin", "FMax", "FClamp", "FAbs", "Floor", "Fma"]


@pytest.mark.parametrize(("component", "names"), [("s32", ["SMin", "SMax", "SClamp", "SAbs"]), ("u32", ["UMin", "UMax", "UClamp"])])
def test_extended_instructions_go_by_the_sign_of_their_type(component, names):
    assert re.findall(r"OpExtInst %\S+ %\S+ (\w+)", module("element", "extended", component)) == names


@pytest.mark.parametrize(
    ("body", "instruction", "called"),
    [
        ("exponential", "Exp", "exp"),
        ("power", "Exp2", "exp2"),
        ("tangent", "Tanh", "tanh"),
        ("root", "InverseSqrt", "inversesqrt"),
        ("logarithm", "Log", "log"),
    ],
)
def test_functions_with_bounds_are_written_in_both_languages(body, instruction, called):
    assert instruction in re.findall(r"OpExtInst %\S+ %\S+ (\w+)", module("element", body, "f32"))
    assert f" = {called}(" in print_glsl(program("element", body, "f32"))


def test_glsl_calls_its_built_in_functions():
    text = print_glsl(program("element", "extended", "f16"))
    assert all(f" = {name}(" in text for name in ("min", "max", "clamp", "abs", "floor", "fma"))


def test_signed_quotients_and_remainders_have_instructions_of_their_own():
    body = function_of(module("element", "division", "s32"), "apply_division")
    assert [len(re.findall(rf"Op{name} ", body)) for name in ("UDiv", "UMod", "SDiv", "SRem")] == [1, 1, 1, 1]


@pytest.mark.parametrize("source", ["push_constant", "buffer"])
def test_a_function_loads_numbers_from_outside_before_its_selection(source):
    lines = function_of(module("element", "switch_constant", source=source), "apply_switch_constant").splitlines()
    place = next(i for i, line in enumerate(lines) if "OpSwitch" in line)
    assert "OpSelectionMerge" in lines[place - 1]
    assert "OpLoad" in lines[place - 2]


def test_a_reference_is_made_of_an_address_and_cast_to_two_types():
    body = function_of(module("element", "reference"), "apply_reference")
    assert [body.count(f"Op{name} ") for name in ("ConvertPtrToU", "ConvertUToPtr", "Bitcast")] == [1, 1, 2]
    assert sorted(re.findall(r"Aligned (\d+)", body)) == ["1", "2", "4"]


def test_glsl_makes_references_of_references():
    text = print_glsl(program("decode", "reference", "f16"))
    assert re.search(r"PackedBytes \w+ = PackedBytes\(pointer\);", text)
    assert re.search(r"PackedHalves \w+ = PackedHalves\(pointer\);", text)


def test_tables_are_constant_initializers():
    function = function_of(module("element", "table"), "apply_table")
    assert re.search(r"OpVariable %\S+ Function %\S+", function)
    private = module("element", "table", table="private")
    assert re.search(r"%table = OpVariable %\S+ Private %\S+", private)
    assert re.search(r"uint\[16\] table = \{\w+u, ", print_glsl(program("element", "table", table="private")))


def test_bits_are_set_by_a_relaxed_atomic_whose_result_nothing_reads():
    text = module("element", "mark", mark="word")
    body = function_of(text, "apply_mark")
    ((result, scope, semantics),) = re.findall(r"(%\S+) = OpAtomicOr %uint %\S+ (%\S+) (%\S+) %\S+", body)
    assert (scope, semantics) == ("%uint_5", "%uint_0"), "the scope is the queue family, and the order relaxed"
    assert body.count(f"{result} ") == 1
    order = "gl_ScopeQueueFamily, gl_StorageSemanticsNone, gl_SemanticsRelaxed"
    written = print_glsl(program("element", "mark", mark="word"))
    assert re.search(rf"^    atomicOr\(marks\[\w+\], \w+, {order}\);", written, re.M)


@pytest.mark.parametrize(
    ("operation", "rule"),
    [
        (Extended(Value("r", U32), "minimum", (literal(U32, 1),)), Rule.OPERAND_COUNT),
        (Extended(Value("r", U32), "minimum", (literal(U32, 1), literal(S32, 1))), Rule.TYPES_DIFFER),
        (Extended(Value("r", U32), "absolute", (literal(U32, 1),)), Rule.COMPONENT_TYPE),
        (Extended(Value("r", S32), "floor", (literal(S32, 1),)), Rule.COMPONENT_TYPE),
        (ScalarArithmetic(Value("r", F16), "modulo", literal(F16, 1), literal(F16, 1)), Rule.COMPONENT_TYPE),
    ],
)
def test_operations_that_a_type_lacks_are_refused(operation, rule):
    builder = ProgramBuilder(Scope.SUBGROUP)
    builder.add(operation)
    with breaks(rule):
        emit(builder.build())
