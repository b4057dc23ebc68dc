"""Programs of the golden vectors of SPV_EXT_cooperative_matrix_maintenance1, written from YAML."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import numpy as np

from generators.program.builder import U32, ProgramBuilder
from generators.program.callbacks import PerElement
from generators.program.conversion import MatrixConvert, UseConvert, agrees, conversions
from generators.program.elements import ComponentsPlaced
from generators.program.expressions import Binary, BinaryOperator, Expression, constant, element_function
from generators.program.program import Program, Subcase
from generators.program.values import Value
from generators.routines.elements import place_components
from generators.types import COMPONENT_TYPES, Scope, Use
from tests.reference.golden_programs import loaded, stored
from tests.reference.programs import as_bits, matrix_type

Vector = Mapping[str, Any]

_OPERATORS: dict[type, BinaryOperator] = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply"}
_ANYTHING = 90
"""The value of elements that do not matter."""


def coordinates(vector: Vector) -> tuple[Program, Subcase]:
    """Return a program that places the components of a matrix by their coordinates, and stores it to ``d_out``."""
    builder, component = ProgramBuilder(Scope.SUBGROUP, maintenance1=True), COMPONENT_TYPES[vector["type"]]
    rows = vector["rows"] if "rows" in vector else np.full(vector["shape"], _ANYTHING).tolist()
    matrix, subcase = loaded(builder, component, as_bits(rows, component), Use[vector["use"]])
    placed = builder.variable("placed", matrix.type, "function")
    builder.set(placed, (), matrix)
    place_components(builder, ComponentsPlaced(placed, matrix, vector["what"]))
    stored(builder, builder.get_matrix("matrix_placed", placed))
    return builder.build(), subcase


def per_element(vector: Vector) -> tuple[Program, Subcase]:
    """Return a program that calls a function of element, row and column for each element of ``rows``."""
    builder, component = ProgramBuilder(Scope.SUBGROUP, maintenance1=True), COMPONENT_TYPES[vector["type"]]
    assert component is U32, "formulas are of u32"
    matrix, subcase = loaded(builder, component, as_bits(vector["rows"], component))
    parameters = {name: Value(name, U32) for name in ("row", "column", "element")}

    def expression(node: ast.expr) -> Expression:
        match node:
            case ast.Constant(value=int(number)):
                return constant(U32, number)
            case ast.Name(id=name):
                return parameters[name]
            case ast.BinOp(left=left, op=op, right=right):
                return Binary(_OPERATORS[type(op)], expression(left), expression(right))
        raise ValueError(f"{ast.unparse(node)} is not a formula of element, row and column")

    function = element_function("changed", tuple(parameters.values()), expression(ast.parse(vector["function"], mode="eval").body))
    result = Value("r", matrix.type)
    builder.add(PerElement(result, matrix, function, ()))
    stored(builder, result)
    return builder.build(), subcase


def use_change(vector: Vector) -> tuple[Program, Subcase]:
    """Return a program that changes the use of ``rows`` and, if the types differ, the component type in the same instruction."""
    builder = ProgramBuilder(Scope.SUBGROUP, maintenance1=True)
    source, target = (COMPONENT_TYPES[name] for name in vector["types"])
    before, after = (Use[name] for name in vector["uses"])
    matrix, subcase = loaded(builder, source, as_bits(vector["rows"], source), before)
    result = Value("r", matrix_type(target, *matrix.type.shape, after))
    if source is target or (not source.is_float and not target.is_float and source.bits == target.bits):
        builder.add(UseConvert(result, matrix))
    else:
        (conversion,) = (one for one in conversions(source, target) if agrees(one, source, target))
        builder.add(MatrixConvert(result, matrix, conversion))
    stored(builder, result)
    return builder.build(), subcase
