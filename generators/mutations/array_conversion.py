"""The valid module from which mutations of SPV_QCOM_cooperative_matrix_conversion start: it has each instruction, for each use."""

from __future__ import annotations

from generators.errors import GeneratorError, Rule
from generators.layouts.invocation_arrays import construct, extract
from generators.mutations.base import BaseModule, ModuleText, module_with
from generators.program.array_conversion import BitCastArray, ExtractSubArray
from generators.program.builder import U32, ProgramBuilder
from generators.program.memory import Pointee
from generators.program.shape import WorkgroupShape
from generators.program.values import ArrayType, ArrayValue, MatrixType, Value
from generators.property_rows import PropertyRow
from generators.spirv.emit import emit
from generators.types import COMPONENT_TYPES, ComponentType, Layout, Scope, StorageClass, Use

_F32, _S32 = COMPONENT_TYPES["f32"], COMPONENT_TYPES["s32"]
_WORDS = 8
"""Number of u32 elements in a row of A and in a column of B."""


def array_base(row: PropertyRow) -> BaseModule:
    """Return the module for one property row, with as many invocations in a subgroup as the row has rows.

    Matrices ``%matrix_a``, ``%matrix_b`` and ``%matrix_c`` are loaded; ``%line_a`` to ``%line_c`` are arrays with the components of their
    lines, and ``%packed`` one of 8 u32. ``%built_a`` to ``%built_c`` are constructed from the lines, ``%packed_a`` and ``%packed_b`` from
    ``%packed``; ``%taken_a`` to ``%taken_c`` are extracted as components, ``%words_a`` and ``%words_b`` as u32. ``%cast`` is ``%packed`` as
    f32, and ``%part`` the second quarter of ``%whole``, which has 32 u32. ``%built_c`` is stored.

    Names that do not depend on the row: ``%type_a`` (the matrix type), ``%component_a``, ``%scope_a``, ``%rows_a``, ``%columns_a``,
    ``%use_a``, ``%array_a`` (the type of ``%line_a``) and ``%length_a`` (its length), and the same of ``b`` and ``c``; ``%array_packed``,
    ``%length_packed``, ``%array_whole``, ``%length_whole``, ``%array_part``, ``%array_cast`` and ``%start``.

    Raises:
        GeneratorError: matrices with these types and sizes cannot be converted.
    """
    return module_with(_module(row), _aliases)


def _module(row: PropertyRow) -> bytes:
    if row.k * row.a.bytes != _WORDS * U32.bytes or row.c != row.result:
        raise GeneratorError(Rule.ROW, f"{row}: rows of A must have 32 bytes, and C and Result must have one type")
    builder = ProgramBuilder(Scope.SUBGROUP, shape=WorkgroupShape(subgroup_size=row.m))
    first = builder.literal(0)
    shapes = {"a": (row.a, row.m, row.k, Use.A), "b": (row.b, row.k, row.n, Use.B), "c": (row.c, row.m, row.n, Use.ACCUMULATOR)}
    packed, whole = _array(builder, "packed", U32, _WORDS), _array(builder, "whole", U32, 4 * _WORDS)
    built = {}
    for name, (component, rows, columns, use) in shapes.items():
        source = builder.array(name, Pointee(component), rows * columns, StorageClass.STORAGE_BUFFER, "input")
        type_ = MatrixType(component, Scope.SUBGROUP, rows, columns, use)
        matrix = builder.load(f"matrix_{name}", type_, source, first, builder.literal(columns), Layout.ROW_MAJOR)
        line = _array(builder, f"line_{name}", component, rows if use is Use.B else columns)
        built[name] = construct(builder, f"built_{name}", type_, line)
        extract(builder, f"taken_{name}", matrix, line.type)
        if use is not Use.ACCUMULATOR:
            construct(builder, f"packed_{name}", type_, packed)
            extract(builder, f"words_{name}", matrix, packed.type)
    with builder.per_invocation(Value("me", U32), row.m):
        builder.add(BitCastArray(Value("cast", ArrayType(_F32, _WORDS)), packed))
        builder.add(ExtractSubArray(Value("part", packed.type), whole, builder.literal(_WORDS, _S32)))
    target = builder.array("d", Pointee(row.result), row.m * row.n, StorageClass.STORAGE_BUFFER, "output")
    builder.store(built["c"], target, first, builder.literal(row.n), Layout.ROW_MAJOR)
    return emit(builder.build())


def _array(builder: ProgramBuilder, name: str, element: ComponentType, length: int) -> ArrayValue:
    """Return an array of zeros, loaded from a variable."""
    type_ = ArrayType(element, length)
    return Value(builder.get(name, builder.variable(f"{name}_variable", type_, initializer="null")).name, type_)


_LETTERS = ("a", "b", "c")


def _aliases(text: ModuleText) -> dict[str, str]:
    defined = text.defined
    aliases: dict[str, str] = {}
    for letter in _LETTERS:
        aliases |= text.matrix(letter, f"%matrix_{letter}")
    arrays = {letter: f"%line_{letter}" for letter in _LETTERS} | {name: f"%{name}" for name in ("packed", "whole", "part", "cast")}
    for name, value in arrays.items():
        array = defined[value][1]
        aliases |= {f"%array_{name}": array, f"%length_{name}": defined[array][2]}
    aliases["%start"] = defined["%part"][3]
    return aliases
