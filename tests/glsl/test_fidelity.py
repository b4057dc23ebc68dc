"""glslang's module matches the program: the interface, the flags, and the memory operands."""

import struct

import pytest

from generators.glsl.muladd import derived_operands
from generators.glsl.spelling import SPELLINGS
from generators.program.builder import U32, ProgramBuilder
from generators.program.interface import interface
from generators.program.load_store import MemoryOperand
from generators.program.memory import Pointee
from generators.program.muladd import MatrixMulAdd
from generators.program.program import LOCAL_SIZE_CONSTANT_ID
from generators.types import COMPONENT_TYPES, Layout, MatrixOperands, MemoryAccess, Scope, StorageClass

SB, PSB = StorageClass.STORAGE_BUFFER, StorageClass.PHYSICAL_STORAGE_BUFFER
OP_CONSTANT, OP_NAME, OP_MEMBER_NAME, OP_DECORATE, OP_MEMBER_DECORATE = 43, 5, 6, 71, 72
OP_LOAD, OP_STORE, OP_MULADD = 4457, 4458, 4459
SPEC_ID, BINDING, OFFSET, NON_WRITABLE = 1, 33, 35, 24


def instructions(spirv):
    """Return (opcode, operand words) of each instruction."""
    words = struct.unpack(f"<{len(spirv) // 4}I", spirv)
    position = 5
    while position < len(words):
        count, opcode = words[position] >> 16, words[position] & 0xFFFF
        yield opcode, words[position + 1 : position + count]
        position += count


def text(words):
    return struct.pack(f"<{len(words)}I", *words).split(b"\0")[0].decode()


@pytest.mark.parametrize("a", ["s8", "u8"])
@pytest.mark.parametrize("b", ["s8", "u8"])
@pytest.mark.parametrize("c", ["s32", "u32"])
@pytest.mark.parametrize("saturating", [MatrixOperands.NONE, MatrixOperands.SATURATING_ACCUMULATION])
def test_the_flags_of_a_multiply_add(module, multiply, a, b, c, saturating):
    signed = MatrixOperands.NONE
    for component, flag in ((a, 1), (b, 2), (c, 4), (c, 8)):
        signed |= MatrixOperands(flag if component.startswith("s") else 0)
    program = multiply(a, b, c, operands=signed | saturating)
    operation = next(operation for operation in program.operations if isinstance(operation, MatrixMulAdd))
    assert derived_operands(operation) == signed
    found = [words for opcode, words in instructions(module(program)) if opcode == OP_MULADD]
    assert [(*words[5:], 0)[0] for words in found] == [int(signed | saturating)]


@pytest.mark.parametrize("storage", [SB, PSB])
@pytest.mark.parametrize("scope", list(Scope))
@pytest.mark.parametrize("nontemporal", [MemoryAccess.NONE, MemoryAccess.NONTEMPORAL])
@pytest.mark.parametrize("kind", ["private", "non_private", "coherent"])
def test_the_memory_operands_of_loads_and_stores(module, matrix_copy, storage, scope, nontemporal, kind):
    non_private = MemoryAccess.NONE if kind == "private" else MemoryAccess.NON_PRIVATE_POINTER
    hand_over = (MemoryAccess.MAKE_POINTER_VISIBLE, MemoryAccess.MAKE_POINTER_AVAILABLE) if kind == "coherent" else (MemoryAccess.NONE,) * 2
    masks = [nontemporal | non_private | extra for extra in hand_over]
    program = matrix_copy(
        scope=scope, source=storage, target=storage, load_memory=MemoryOperand(masks[0]), store_memory=MemoryOperand(masks[1])
    )
    spirv = module(program)
    constants = {words[1]: words[2] for opcode, words in instructions(spirv) if opcode == OP_CONSTANT}
    tails = [words[{OP_LOAD: 5, OP_STORE: 4}[opcode] :] for opcode, words in instructions(spirv) if opcode in (OP_LOAD, OP_STORE)]
    for tail, mask in zip(tails, masks, strict=True):
        aligned = MemoryAccess.ALIGNED if storage is PSB else MemoryAccess.NONE
        assert tail[0] == int(mask | aligned)
        assert tail[1 : 1 + bool(aligned)] == ((16,) if aligned else ())
        assert [constants[word] for word in tail[1 + bool(aligned) :]] == ([int(scope)] if kind == "coherent" else [])


@pytest.mark.parametrize(
    ("component", "rows", "columns", "layout", "expected"),
    [
        ("s8", 32, 8, Layout.ROW_MAJOR, 8),
        ("s8", 32, 8, Layout.COLUMN_MAJOR, 16),
        ("f16", 8, 2, Layout.ROW_MAJOR, 4),
        ("f32", 8, 64, Layout.ROW_MAJOR, 16),
    ],
)
def test_an_address_is_declared_as_aligned_as_a_row_or_column(module, matrix_copy, component, rows, columns, layout, expected):
    program = matrix_copy(component, rows=rows, columns=columns, layout=layout, source=PSB)
    found = [words for opcode, words in instructions(module(program)) if opcode == OP_LOAD]
    assert [words[5:] for words in found] == [(int(MemoryAccess.ALIGNED), expected)]


def test_a_stated_alignment_is_taken(module, matrix_copy):
    program = matrix_copy(source=PSB, load_memory=MemoryOperand(MemoryAccess.ALIGNED, 4))
    found = [words for opcode, words in instructions(module(program)) if opcode == OP_LOAD]
    assert [words[5:] for words in found] == [(int(MemoryAccess.ALIGNED), 4)]


def test_places_are_those_of_the_interface(module):
    builder = ProgramBuilder(Scope.SUBGROUP)
    component = COMPONENT_TYPES
    for name, storage, role in (("x", SB, "input"), ("p", PSB, "input"), ("y", SB, "output"), ("q", PSB, "output")):
        builder.array(name, Pointee(component["u8"]), 64, storage, role)
    for source in ("push_constant", "buffer", "specialization"):
        for name in ("u8", "u64", "s16", "u32"):
            builder.operand(f"{source}_{name}", component[name], source, 1, 2)
    program = builder.build()
    places = interface(program)
    spirv = module(program)

    names, members, bindings, spec_ids, offsets = {}, {}, {}, {}, {}
    for opcode, words in instructions(spirv):
        match opcode, words[1:2]:
            case (5, _):
                names[words[0]] = text(words[1:])
            case (6, _):
                members[words[0], words[1]] = text(words[2:])
            case (71, (33,)):
                bindings[words[0]] = words[2]
            case (71, (1,)):
                spec_ids[words[0]] = words[2]
            case (72, _) if words[2] == OFFSET:
                offsets[words[0], words[1]] = words[3]
    placed = {(names[block], members[block, i]): offset for (block, i), offset in offsets.items()}

    assert sorted(bindings.values()) == [binding for binding, _ in places.bindings] + [places.operand_binding]
    for member in places.push_constants:
        assert placed["PushConstants", member.operand.name] == member.offset
    for address in places.addresses:
        assert placed["PushConstants", address.array.name] == address.offset
    for member in places.operand_members:
        assert placed["Operands", member.operand.name] == member.offset
    named = {names[constant]: id_ for constant, id_ in spec_ids.items() if constant in names}
    assert named == {operand.name: operand.constant_id for operand in places.specialization}
    assert LOCAL_SIZE_CONSTANT_ID in spec_ids.values()


def type_words(component):
    """Return (opcode, words) of a scalar type: OpTypeInt has width and signedness, OpTypeFloat width and, for some, an encoding."""
    if not component.is_float:
        return 21, (component.bits, int(component.is_signed))
    encoding = {"bf16": (0,), "e4m3": (4214,), "e5m2": (4215,)}.get(component.name, ())
    return 22, (component.bits, *encoding)


@pytest.mark.parametrize("name", [name for name, spelling in SPELLINGS.items() if spelling.matrix])
def test_the_component_type_of_a_matrix(module, matrix_copy, name):
    found = list(instructions(module(matrix_copy(name))))
    types = {words[0]: (opcode, words[1:]) for opcode, words in found if opcode in (21, 22)}
    assert [types[words[1]] for opcode, words in found if opcode == 4456] == [type_words(COMPONENT_TYPES[name])]


def test_the_pointees_of_arrays(module):
    builder = ProgramBuilder(Scope.SUBGROUP)
    pointees = [Pointee(component, lanes) for component in COMPONENT_TYPES.values() for lanes in (1, 2, 4)]
    for pointee in pointees:
        builder.array(f"array_{pointee}", pointee, 16, SB, "input")
    found = list(instructions(module(builder.build())))
    types = {words[0]: (opcode, words[1:]) for opcode, words in found if opcode in (21, 22)}
    vectors = {words[0]: words[1:] for opcode, words in found if opcode == 23}
    strides = {words[0]: words[2] for opcode, words in found if opcode == OP_DECORATE and words[1] == 6}
    arrays = {words[0]: words[1] for opcode, words in found if opcode == 29}
    declared = set()
    for array, element in arrays.items():
        scalar, lanes = vectors.get(element, (element, 1))
        declared.add((types[scalar], lanes, strides[array]))
    assert declared == {(type_words(pointee.component), pointee.lanes, pointee.bytes) for pointee in pointees}


def test_only_inputs_are_read_only(module, matrix_copy):
    decorated = [words for opcode, words in instructions(module(matrix_copy())) if opcode == OP_MEMBER_DECORATE]
    blocks = {words[0] for words in decorated}
    read_only = {words[0] for words in decorated if words[2] == NON_WRITABLE}
    assert len(blocks) == 2
    assert len(read_only) == 1


def test_a_barrier_orders_buffers_and_shared_memory(module, matrix_copy):
    spirv = module(matrix_copy(source=StorageClass.WORKGROUP))
    constants = {words[1]: words[2] for opcode, words in instructions(spirv) if opcode == OP_CONSTANT}
    barriers = [tuple(constants[word] for word in words) for opcode, words in instructions(spirv) if opcode == 224]
    assert barriers == [(2, 2, 0x8 | 0x40 | 0x100)]


def test_the_order_of_first_element_and_stride(module, matrix_copy):
    program = matrix_copy(stride_source="push_constant")
    stride = next(member.offset for member in interface(program).push_constants if member.operand.name == "stride")
    assert stride == 0
    assert U32.bytes == 4
    spirv = module(program)
    chains = {words[1]: words for opcode, words in instructions(spirv) if opcode == 65}
    loads = {words[1]: words[2] for opcode, words in instructions(spirv) if opcode == 61}
    names = {words[0]: text(words[1:]) for opcode, words in instructions(spirv) if opcode == OP_NAME}
    constants = {words[1]: words[2] for opcode, words in instructions(spirv) if opcode == OP_CONSTANT}
    load = next(words for opcode, words in instructions(spirv) if opcode == OP_LOAD)
    assert constants[load[3]] == int(Layout.ROW_MAJOR)
    member = chains[loads[load[4]]]
    assert constants[member[3]] == 0, f"the stride is member 0 of {names.get(member[2])}"
    element = chains[load[2]]
    assert constants[chains[loads[element[-1]]][3]] == 1
