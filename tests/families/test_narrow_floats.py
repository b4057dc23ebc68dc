"""Objects of bfloat16 and of 8-bit floats, which only some instructions may use (SPV_KHR_bfloat16 and SPV_EXT_float8, Validation Rules)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from generators.casebook import CaseKind, build, expand
from generators.spirv.disassemble import disassemble
from generators.spirv.emit import emit
from tests.suite import casebook

NARROW = ("bf16", "e4m3", "e5m2")
POSITION, REDUCTION = "F-CM2-17", "OpCooperativeMatrixReduceEXT"
MAINTENANCE1 = 'OpExtension "SPV_EXT_cooperative_matrix_maintenance1"'

LISTED = frozenset(
    f"Op{name}"
    for line in (
        # Miscellaneous, constant creation
        "Undef CooperativeMatrixGetCoordinateEXT Constant ConstantNull ConstantComposite ConstantCompositeReplicateEXT",
        "SpecConstant SpecConstantComposite SpecConstantCompositeReplicateEXT",
        # Memory
        "Load Store CooperativeMatrixLoadKHR CooperativeMatrixStoreKHR CooperativeMatrixLoadTensorNV CooperativeMatrixStoreTensorNV",
        "CooperativeVectorLoadNV CooperativeVectorStoreNV",
        # Function
        "Function FunctionParameter FunctionCall CooperativeMatrixPerElementOpEXT",
        # Conversion
        "ConvertFToU ConvertFToS ConvertSToF ConvertUToF FConvert Bitcast CooperativeMatrixConvertUseEXT CooperativeMatrixTransposeNV",
        # Composite
        "CompositeConstruct CompositeConstructReplicateEXT CompositeExtract CompositeInsert CopyObject",
        # Single instructions
        "CooperativeMatrixMulAddKHR Select Phi ReturnValue",
    )
    for name in line.split()
)
"""The listed instructions that the suite uses."""


def uses(module: bytes) -> Iterator[str]:
    """Yield the instructions with a result or an operand whose type is, or has a component, of one of these formats."""
    types, objects = set(), set()
    for line in disassemble(module).splitlines():
        words = line.split(";")[0].split()
        if len(words) > 2 and words[1] == "=":
            result, op, rest = words[0], words[2], words[3:]
            if op.startswith("OpType"):
                encoded = op == "OpTypeFloat" and len(rest) > 1
                if encoded or (op not in ("OpTypePointer", "OpTypeFunction") and types.intersection(rest)):
                    types.add(result)
                continue
            of_type = bool(types.intersection(rest[:1]))
            if of_type:
                objects.add(result)
            if of_type or objects.intersection(rest[1:]):
                yield op
        elif words and objects.intersection(words[1:]) and not words[0].startswith(("OpName", "OpMember", "OpDecorate", "OpEntry")):
            yield words[0]


@pytest.mark.parametrize("name", [family.name for family in casebook() if family.kind is CaseKind.KERNEL])
def test_only_listed_instructions_use_them_and_a_position_is_named_for_the_others(name: str) -> None:
    for case in expand(casebook().family(name), "smoke"):
        if not any(narrow in case.id for narrow in NARROW):
            continue
        for program in build(case).program.all:
            module = emit(program)
            others = set(uses(module)) - LISTED
            if MAINTENANCE1 in disassemble(module):
                # This extension lists it among the function instructions.
                others.discard(REDUCTION)
            disputed = {REDUCTION} if POSITION in case.disputed else set()
            assert others == disputed, case.id
