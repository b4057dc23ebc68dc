from __future__ import annotations

import struct

import pytest

from cts.devices.module_reading import read_needs
from generators.errors import Rule
from generators.spirv.enumerants import MAGIC, Decoration, ExecutionMode, Op, StorageClass
from generators.spirv.reader import NotSpirv
from tests.broken_rules import breaks


def module(*instructions: tuple[int, ...]) -> bytes:
    words = [MAGIC, 0x00010600, 0, 100, 0]
    for op, *operands in instructions:
        words += [(1 + len(operands)) << 16 | op, *operands]
    return struct.pack(f"<{len(words)}I", *words)


U32, F16, V4, ARRAY, STRUCT, POINTER = 1, 2, 3, 4, 5, 6
TYPES = ((Op.TypeInt, U32, 32, 0), (Op.TypeFloat, F16, 16), (Op.TypeVector, V4, F16, 4))


def test_specialization_reaches_into_expressions():
    needs = read_needs(
        module(
            (Op.Decorate, 10, Decoration.SpecId, 7),
            *TYPES,
            (Op.SpecConstant, U32, 10, 5),
            (Op.Constant, U32, 11, 3),
            (Op.SpecConstantOp, U32, 12, Op.IMul, 10, 11),
            (Op.SpecConstantOp, U32, 13, Op.ISub, 11, 12),
        )
    )
    assert needs.value(12, {}) == 15
    assert needs.value(12, {7: 6}) == 18
    assert needs.value(13, {7: 6}) == (3 - 18) % 2**32


def test_an_expression_that_is_not_evaluated_says_so():
    needs = read_needs(module(*TYPES, (Op.Constant, U32, 11, 3), (Op.SpecConstantOp, U32, 12, Op.CompositeExtract, 11, 0)))
    with breaks(Rule.SPECIALIZATION):
        needs.value(12, {})


def test_workgroup_memory_is_counted_after_specialization():
    needs = read_needs(
        module(
            (Op.Decorate, 10, Decoration.SpecId, 1),
            *TYPES,
            (Op.SpecConstant, U32, 10, 16),
            (Op.TypeArray, ARRAY, V4, 10),
            (Op.TypePointer, POINTER, StorageClass.Workgroup, ARRAY),
            (Op.TypePointer, 7, StorageClass.Workgroup, F16),
            (Op.Variable, 7, 20, StorageClass.Workgroup),
            (Op.Variable, POINTER, 21, StorageClass.Workgroup),
        )
    )
    assert needs.workgroup_bytes({}) == 8 + 16 * 8
    assert needs.workgroup_bytes({1: 32}) == 8 + 32 * 8


def test_explicitly_laid_out_blocks_share_their_memory():
    needs = read_needs(
        module(
            (Op.Decorate, STRUCT, Decoration.Block),
            *TYPES,
            (Op.Constant, U32, 10, 16),
            (Op.TypeArray, ARRAY, U32, 10),
            (Op.TypeStruct, STRUCT, ARRAY),
            (Op.TypePointer, POINTER, StorageClass.Workgroup, STRUCT),
            (Op.Variable, POINTER, 20, StorageClass.Workgroup),
            (Op.Variable, POINTER, 21, StorageClass.Workgroup),
        )
    )
    assert needs.workgroup_bytes({}) == 64


def test_the_workgroup_size_constant_goes_before_the_execution_mode():
    needs = read_needs(
        module(
            (Op.ExecutionMode, 50, ExecutionMode.LocalSize, 64, 1, 1),
            (Op.Decorate, 12, Decoration.BuiltIn, 25),
            (Op.Decorate, 10, Decoration.SpecId, 0),
            *TYPES,
            (Op.SpecConstant, U32, 10, 1),
            (Op.Constant, U32, 11, 1),
            (Op.SpecConstantComposite, V4, 12, 10, 11, 11),
        )
    )
    assert needs.local_size == (10, 11, 11)
    assert needs.local_size_ids
    assert not needs.local_size_mode


def test_an_instruction_that_runs_past_the_end_is_refused():
    with pytest.raises(NotSpirv, match="does not fit"):
        read_needs(module((Op.Capability, 1))[:-4])


@pytest.mark.parametrize(
    ("source_type", "result_type"),
    [(STRUCT, ARRAY), (ARRAY, STRUCT), (F16, ARRAY), (ARRAY, F16)],
    ids=["struct", "to struct", "f16", "to f16"],
)
def test_a_part_of_an_array_is_of_an_array_and_is_one(source_type: int, result_type: int):
    words = module(
        *TYPES,
        (Op.Constant, U32, 11, 8),
        (Op.TypeArray, ARRAY, U32, 11),
        (Op.TypeStruct, STRUCT, U32),
        (Op.Undef, source_type, 20),
        (Op.ExtractSubArrayQCOM, result_type, 21, 20, 11),
    )
    with pytest.raises(NotSpirv):
        read_needs(words)
