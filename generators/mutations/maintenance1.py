"""The valid module from which mutations of SPV_EXT_cooperative_matrix_maintenance1 start: it has each instruction once."""

from __future__ import annotations

from generators.element_functions.functions import combining
from generators.errors import GeneratorError, Rule
from generators.mutations.base import BaseModule, ModuleText, module_with
from generators.program.builder import U32, ProgramBuilder
from generators.program.callbacks import PerElement, Reduce
from generators.program.conversion import UseConvert
from generators.program.elements import COORDINATE, MatrixCoordinate
from generators.program.expressions import element_function
from generators.program.memory import Pointee
from generators.program.values import MatrixType, Value
from generators.property_rows import PropertyRow
from generators.spirv.emit import emit
from generators.types import Layout, ReduceMode, Scope, StorageClass, Use


def maintenance1_base(row: PropertyRow) -> BaseModule:
    """Build the module for one property row at subgroup scope, of matrices with M x N elements of the row's type C.

    The matrices are ``%matrix_c``, which is loaded; ``%placed``, made by a function of elements; ``%reduced``; ``%converted`` (use A); and
    ``%back``, an accumulator made from it, which is stored. ``%at`` is a coordinate. Other names: ``%type_c``, ``%type_u`` (of
    ``%converted``), with ``%component_c`` and so on for each; ``%pair``, the type of ``%at``.

    Raises:
        GeneratorError: C and Result have different types.
    """
    if row.c != row.result:
        raise GeneratorError(Rule.ROW, f"{row}: static cases take rows whose C and Result have one type")
    return module_with(_module(row), _aliases)


def _aliases(text: ModuleText) -> dict[str, str]:
    return {"%pair": text.defined["%at"][1], **text.matrix("c", "%matrix_c"), **text.matrix("u", "%converted")}


def _module(row: PropertyRow) -> bytes:
    builder = ProgramBuilder(Scope.SUBGROUP, maintenance1=True)
    type_ = MatrixType(row.c, Scope.SUBGROUP, row.m, row.n, Use.ACCUMULATOR)
    source = builder.array("source", Pointee(row.c), row.m * row.n, StorageClass.STORAGE_BUFFER, "input")
    target = builder.array("target", Pointee(row.c), row.m * row.n, StorageClass.STORAGE_BUFFER, "output")
    plain = builder.load("matrix_c", type_, source, builder.literal(0), builder.literal(row.n), Layout.ROW_MAJOR)
    place, column, element = Value("row", U32), Value("column", U32), Value("element", row.c)
    placed = Value("placed", type_)
    builder.add(PerElement(placed, plain, element_function("place", (place, column, element), element), ()))
    builder.add(Reduce(Value("reduced", type_), placed, ReduceMode.ROW, combining("combine", row.c, "add")))
    converted, back = Value("converted", MatrixType(row.c, Scope.SUBGROUP, row.m, row.n, Use.A)), Value("back", type_)
    builder.add(UseConvert(converted, plain))
    builder.add(UseConvert(back, converted))
    builder.add(MatrixCoordinate(Value("at", COORDINATE), plain, builder.literal(0)))
    builder.store(back, target, builder.literal(0), builder.literal(row.n), Layout.ROW_MAJOR)
    return emit(builder.build())
