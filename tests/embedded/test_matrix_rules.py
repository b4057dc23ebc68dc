"""Cooperative matrices: loads, stores, arithmetic and declarations that break rules."""

from __future__ import annotations

import pytest

from tests.embedded.assembly import shader
from tests.embedded.matrices import NUMBERS, SQUARE, divergent, load, matrix, store

A, B, C = matrix("a4", "u32", 4, 4, 0), matrix("b4", "u32", 4, 4, 1), SQUARE
F = matrix("f4", "f32", 4, 4, 2)
WIDE = matrix("c8", "u32", 4, 8, 2)
TYPES = A + B + C + F + WIDE + matrix("wide", "u32", 4, 4, 2, scope=2) + "%ptr_local = OpTypePointer Function %u32\n"
OPERANDS = load("a4", "a") + load("b4", "b") + load("square", "c")

BROKEN = {
    "KHR-UNI-01 of a load": (divergent(load("square")), "2 of 4 invocations", "KHR-UNI-01"),
    "KHR-UNI-01 of arithmetic": (load("square") + divergent("%n = OpIAdd %square %m %m"), "OpIAdd", "KHR-UNI-01"),
    "KHR-UNI-01 of a multiply-add": (OPERANDS + divergent("%d = OpCooperativeMatrixMulAddKHR %square %a %b %c"), "MulAdd", "KHR-UNI-01"),
    "KHR-UNI-02 of the pointer": (load("square", at="%lane"), "the pointer is not uniform", "KHR-UNI-02"),
    "KHR-UNI-02 of the stride": (
        "%s = OpIAdd %u32 %lane %u32_4\n" + load("square", stride="%s"),
        "the stride is not uniform",
        "KHR-UNI-02",
    ),
    "KHR-UNI-02 of a splat": ("%m = OpCompositeConstruct %square %lane", "the constituent is not uniform", "KHR-UNI-02"),
    "KHR-LOAD-02": (load("square", layout="%u32_7"), "layout 7", "KHR-LOAD-02"),
    "KHR-LOAD-02 not a constant": (load("square", layout="%subgroup"), "not a constant", "KHR-LOAD-02"),
    "KHR-LOAD-06": (
        "%p = OpAccessChain %ptr_in %input %s32_0 %u32_0\n%m = OpCooperativeMatrixLoadKHR %square %p %u32_0",
        "without a stride",
        "KHR-LOAD-06",
    ),
    "KHR-LOAD-05": ("%minus = OpCopyObject %s32 %s32_-4\n" + load("square", stride="%minus"), "negative stride", "KHR-LOAD-05"),
    "KHR-LOAD-09": (load("square", operands="MakePointerAvailable|NonPrivatePointer %u32_2"), "MakePointerAvailable", "KHR-LOAD-09"),
    "KHR-STORE-04": (
        load("square") + store(operands="MakePointerVisible|NonPrivatePointer %u32_2"),
        "MakePointerVisible",
        "KHR-STORE-04",
    ),
    "KHR-STORE-02": (load("square") + store(stride="%u32_0"), "so they overlap", "KHR-STORE-02"),
    "F-KHR-1": (load("c8", stride="%u32_0") + store("m"), "so they overlap", "F-KHR-1"),
    "KHR-ALIGN-01 of the pointer": (load("square", at="%u32_1"), "not aligned to 16 bytes of a row", "KHR-ALIGN-01"),
    "KHR-ALIGN-01 of the stride": (load("square", stride="%u32_5"), "a stride of 20 bytes", "KHR-ALIGN-01"),
    "Aligned": (load("square", at="%u32_4", operands="Aligned 32"), "the promised 32", "Aligned"),
    "out of bounds": (load("square", at="%u32_4"), "out of bounds", "KHR-MEM-02"),
    "a store out of bounds": (load("square") + store(at="%u32_4"), "out of bounds", "KHR-MEM-02"),
    "NonWritable": (
        load("square") + "OpCooperativeMatrixStoreKHR %m_from %m %u32_0 %u32_4",
        "NonWritable",
        "NonWritable",
    ),
    "KHR-PTR-02": ("%m = OpCooperativeMatrixLoadKHR %square %input %u32_0 %u32_4", "neither a scalar nor a vector", "KHR-PTR-02"),
    "VUID-08973": (
        "%p = OpVariable %ptr_local Function\n%m = OpCooperativeMatrixLoadKHR %square %p %u32_0 %u32_4",
        "Function storage",
        "Pointer-08973",
    ),
    "KHR-LOAD-07": (load("square", stride="%f32_4.0"), "not a scalar integer", "KHR-LOAD-07"),
    "KHR-LEN-01": ("%n = OpCooperativeMatrixLengthKHR %s32 %square", "32-bit unsigned", "KHR-LEN-01"),
    "KHR-MAD-02": (OPERANDS + "%d = OpCooperativeMatrixMulAddKHR %wide %a %b %c", "different scopes", "KHR-MAD-02"),
    "undefined": ("%m = OpUndef %square\n" + store(), "undefined", "OpUndef"),
    "KHR-MAD-01 uses": (OPERANDS + "%d = OpCooperativeMatrixMulAddKHR %square %b %a %c", "uses", "KHR-MAD-01"),
    "KHR-MAD-01 sizes": (OPERANDS + "%d = OpCooperativeMatrixMulAddKHR %c8 %a %b %c", "sizes", "KHR-MAD-01"),
    "KHR-MAD-13": (OPERANDS + "%d = OpCooperativeMatrixMulAddKHR %f4 %a %b %c", "integer and floating-point", "KHR-MAD-13"),
    "KHR-ARI-03": (load("square") + "%n = OpFAdd %square %m %m", "OpFAdd", "KHR-ARI-03"),
    "KHR-ARI-04": (OPERANDS + "%n = OpIAdd %square %a %c", "one matrix type", "KHR-ARI-04"),
    "KHR-ARI-06": (load("square") + "%n = OpBitwiseAnd %square %m %m", "OpBitwiseAnd", "KHR-ARI-06"),
    "KHR-CVT-02": (OPERANDS + "%n = OpConvertUToF %f4 %a", "same scope, rows", "KHR-CVT-02"),
    "KHR-CVT-03": (load("square") + "%n = OpBitcast %f4 %m", "both must be integers", "KHR-CVT-03"),
    "KHR-COMP-02": ("%m = OpCompositeConstruct %square %u32_1 %u32_2", "one scalar", "KHR-COMP-02"),
    "F-KHR-5": (OPERANDS + "%n = OpSelect %square %true %c %c", "OpSelect", "F-KHR-5"),
}


@pytest.mark.parametrize("which", BROKEN)
def test_each_broken_rule_is_named(forbidden, which) -> None:
    body, says, rule = BROKEN[which]
    message = str(forbidden(shader(body, TYPES), NUMBERS))
    assert says in message
    assert rule in message.rpartition("[")[2], message


@pytest.mark.parametrize(
    ("declaration", "rule"),
    [
        (matrix("bad", "u32", 4, 4, 3), "KHR-TYPE-04"),
        (matrix("bad", "u32", 4, 4, 2, scope=1), "Scope-12243"),
        (SQUARE + "%p = OpTypePointer Workgroup %square\n%w = OpVariable %p Workgroup", "KHR-TYPE-05"),
        (SQUARE + "%two = OpConstantComposite %square %u32_1 %u32_2", "KHR-COMP-01"),
    ],
)
def test_declarations_that_break_a_rule(forbidden, declaration, rule) -> None:
    assert rule in str(forbidden(shader("", declaration)))
