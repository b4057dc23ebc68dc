"""Programs of golden vectors: tensor accesses, decode functions, reductions and conversions, written from YAML."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import numpy as np

from generators.layouts.tensor_writer import TensorWriter
from generators.numerics.formats import bits_of
from generators.program.builder import U32, ProgramBuilder
from generators.program.callbacks import Reduce
from generators.program.conversion import Conversion
from generators.program.expressions import (
    Binary,
    BinaryOperator,
    BlockRead,
    Converted,
    Expression,
    Part,
    constant,
    element_function,
    vector_function,
)
from generators.program.functions import Function
from generators.program.memory import Array, Pointee
from generators.program.program import Program, Subcase
from generators.program.tensor_access import TensorLoad, TensorStore
from generators.program.values import (
    ArrayType,
    BlockMember,
    BlockType,
    Matrix,
    TensorLayout,
    TensorLayoutType,
    TensorView,
    TensorViewType,
    Value,
)
from generators.types import COMPONENT_TYPES, ClampMode, ComponentType, Layout, ReduceMode, Scope, Use
from tests.reference.programs import BUFFER, as_bits, as_bytes, matrix_type

Vector = Mapping[str, Any]

_OPERATORS: dict[type, BinaryOperator] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.BitAnd: "and",
    ast.RShift: "shift_right",
    ast.LShift: "shift_left",
}


def function_of(text: str | Sequence[str], block: Mapping[str, Mapping[str, Any]], rank: int) -> Function:
    """Return the decode function of a formula (see golden/vectors/decode.yaml). The function of several formulas returns a vector."""
    name = "Block" if isinstance(text, str) else "GroupBlock"
    members = [BlockMember(COMPONENT_TYPES[m["type"]], m["at"], m.get("length")) for m in block.values()]
    alignment = max(member.component.bytes for member in members)
    pointer = Value("pointer", BlockType(name, tuple(members), alignment))
    arrays = {name: Value(name, ArrayType(U32, rank)) for name in ("block", "within")}
    numbers = {name: number for number, name in enumerate(block)}

    def literal(node: ast.expr, component: ComponentType) -> Expression:
        assert isinstance(node, ast.Constant)
        return constant(component, bits_of(component, node.value))

    def expression(node: ast.expr) -> Expression:
        match node:
            case ast.Constant():
                return literal(node, U32)
            case ast.Name(id=name):
                return BlockRead(pointer, numbers[name])
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=index)) if name in arrays:
                return Part(arrays[name], index)
            case ast.Subscript(value=ast.Name(id=name), slice=index):
                return BlockRead(pointer, numbers[name], expression(index))
            case ast.Call(func=ast.Name(id=name), args=[ast.Constant() as number]):
                return literal(number, COMPONENT_TYPES[name])
            case ast.Call(func=ast.Name(id=name), args=[value]):
                inner = expression(value)
                return inner if inner.type is COMPONENT_TYPES[name] else Converted(COMPONENT_TYPES[name], inner)
            case ast.BinOp(left=left, op=op, right=right):
                return Binary(_OPERATORS[type(op)], expression(left), expression(right))
        raise ValueError(f"{ast.unparse(node)} is not a formula of a decode function")

    def parsed(formula: str) -> Expression:
        return expression(ast.parse(formula, mode="eval").body)

    if isinstance(text, str):
        return element_function("decode", (pointer, *arrays.values()), parsed(text))
    return vector_function("decode_group", (pointer, *arrays.values()), [parsed(one) for one in text])


def _layout(builder: ProgramBuilder, vector: Vector) -> tuple[TensorLayout, TensorView | None]:
    writer, tensor = TensorWriter(builder, "literal"), vector["tensor"]
    type_ = TensorLayoutType(tensor["rank"], ClampMode[tensor.get("clamp", "UNDEFINED")])
    layout = writer.layout("layout", type_, *(step for setting in vector["layout"] for step in setting.items()))
    if "view" not in vector:
        return layout, None
    given = vector["view"]
    view_type = TensorViewType(tuple(given["permutation"]), given.get("dimensions", False))
    return layout, writer.view("view", view_type, *(step for setting in given["set"] for step in setting.items()))


def _lines(shape: tuple[int, int]) -> tuple[Layout, int]:
    """Return a layout whose lines have no gaps and a power-of-two number of elements, as alignment requires (KHR-ALIGN-01), and its
    stride."""
    rows, columns = shape
    if columns.bit_count() == 1:
        return Layout.ROW_MAJOR, columns
    assert rows.bit_count() == 1, "vectors have matrices with a power of two rows or columns"
    return Layout.COLUMN_MAJOR, rows


def in_order(matrix: np.ndarray) -> np.ndarray:
    """Return the elements of a matrix in the order in which the programs of this module have them in memory."""
    return np.ascontiguousarray(matrix if _lines(matrix.shape)[0] is Layout.ROW_MAJOR else matrix.T)


def stored(builder: ProgramBuilder, matrix: Matrix) -> None:
    """Store a matrix to ``d_out``."""
    layout, stride = _lines(matrix.type.shape)
    out = builder.array("d_out", Pointee(matrix.type.component), math.prod(matrix.type.shape), BUFFER, "output")
    builder.store(matrix, out, builder.literal(0), builder.literal(stride), layout)


def loaded(builder: ProgramBuilder, component: ComponentType, bits: np.ndarray, use: Use = Use.ACCUMULATOR) -> tuple[Matrix, Subcase]:
    """Return a matrix of ``bits`` (rows, columns) from ``m_in``."""
    source = builder.array("m_in", Pointee(component), bits.size, BUFFER, "input")
    layout, stride = _lines(bits.shape)
    matrix = builder.load("m", matrix_type(component, *bits.shape, use), source, builder.literal(0), builder.literal(stride), layout)
    return matrix, Subcase("one", {"m_in": as_bytes(in_order(bits))})


def _tensor(builder: ProgramBuilder, vector: Vector, component: ComponentType) -> tuple[Array, np.ndarray]:
    """Return the array that a vector loads from, and its bytes."""
    given = vector["memory"]
    if "block" in vector:
        data = np.frombuffer(bytes.fromhex("".join(given)), np.uint8)
        return builder.array("m_in", Pointee(COMPONENT_TYPES["u8"]), len(data), BUFFER, "input"), data
    bits = np.arange(given).astype(component.bits_dtype)
    return builder.array("m_in", Pointee(component), len(bits), BUFFER, "input"), as_bytes(bits)


def tensor_load(vector: Vector) -> tuple[Program, Subcase]:
    """Return a program that loads ``m`` by tensor addressing and stores it to ``d_out``."""
    builder, component = ProgramBuilder(Scope.SUBGROUP), COMPONENT_TYPES[vector["tensor"]["type"]]
    array, data = _tensor(builder, vector, component)
    type_ = matrix_type(component, *vector["tensor"]["shape"])
    before = builder.splat("before", type_, builder.literal(bits_of(component, vector.get("before", 0)), component))
    layout, view = _layout(builder, vector)
    decode = function_of(vector["result"], vector["block"], vector["tensor"]["rank"]) if "block" in vector else None
    groups = None
    if "group" in vector:
        groups = function_of(vector["group"], vector.get("group_block", vector["block"]), vector["tensor"]["rank"])
    matrix = Value("m", type_)
    builder.add(TensorLoad(matrix, array, builder.literal(0), before, layout, view, decode=decode, decode_vector=groups))
    stored(builder, matrix)
    return builder.build(), Subcase("one", {"m_in": data})


def tensor_store(vector: Vector) -> tuple[Program, Subcase]:
    """Return a program that stores ``rows`` by tensor addressing to ``d_out``, which is as long as ``memory``."""
    builder, component = ProgramBuilder(Scope.SUBGROUP), COMPONENT_TYPES[vector["tensor"]["type"]]
    matrix, subcase = loaded(builder, component, as_bits(vector["rows"], component))
    out = builder.array("d_out", Pointee(component), len(vector["memory"]), BUFFER, "output")
    builder.add(TensorStore(matrix, out, builder.literal(0), *_layout(builder, vector)))
    return builder.build(), subcase


def reduction(vector: Vector, maintenance1: bool = False) -> tuple[Program, Subcase]:
    """Return a program that reduces ``rows`` to a matrix with the shape of ``result``."""
    builder, component = ProgramBuilder(Scope.SUBGROUP, maintenance1=maintenance1), COMPONENT_TYPES[vector["type"]]
    matrix, subcase = loaded(builder, component, as_bits(vector["rows"], component))
    a, b = Value("a", component), Value("b", component)
    assert vector["function"] in get_args(BinaryOperator)
    function = element_function("combine", (a, b), Binary(vector["function"], a, b))
    result = Value("r", matrix_type(component, len(vector["result"]), len(vector["result"][0])))
    builder.add(Reduce(result, matrix, ReduceMode[vector["mode"]], function))
    stored(builder, result)
    return builder.build(), subcase


def conversion(vector: Vector) -> tuple[Program, Subcase]:
    """Return a program that converts the row ``from``."""
    builder = ProgramBuilder(Scope.SUBGROUP)
    source, target = (COMPONENT_TYPES[name] for name in vector["types"])
    matrix, subcase = loaded(builder, source, as_bits([vector["from"]], source))
    converted = builder.convert("r", matrix, target, Conversion(vector["conversion"]), vector.get("saturating", False))
    stored(builder, converted)
    return builder.build(), subcase
