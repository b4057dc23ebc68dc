"""The valid module from which mutations start: it loads matrices A, B and C, multiplies and adds them, and stores the product."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from generators.errors import GeneratorError, Rule
from generators.program.builder import ProgramBuilder
from generators.program.memory import Pointee
from generators.program.values import MatrixType
from generators.property_rows import PropertyRow
from generators.spirv.disassemble import disassemble
from generators.spirv.emit import emit
from generators.types import Layout, MatrixOperands, Scope, StorageClass, Use


@dataclass(frozen=True)
class BaseModule:
    """A valid module as text.

    Attributes:
        lines: its instructions.
        aliases: names that do not depend on the row -> ids. For each letter of a, b, c: ``%type_a``, ``%component_a``, ``%scope_a``,
            ``%rows_a``, ``%columns_a``, ``%use_a`` (of the matrix type), ``%place_a`` (the pointer of the load) and its type
            ``%pointer_a``, ``%layout_a``, ``%stride_a``; for the store: ``%place_d``, ``%layout_d``, ``%stride_d``; and ``%operands``, the
            mask of the multiply-add, empty if it has none. The matrices are ``%matrix_a``, ``%matrix_b``, ``%matrix_c`` and ``%product``.
    """

    lines: tuple[str, ...]
    aliases: Mapping[str, str]


def base_module(row: PropertyRow, operands: MatrixOperands | None = None) -> BaseModule:
    """Return the module for one property row at subgroup scope, whose C and Result have one type.

    Args:
        row: sizes and component types.
        operands: the operands of the multiply-add; by default the operands that the row asks for.

    Raises:
        GeneratorError: C and Result have different types.
    """
    if row.c != row.result:
        raise GeneratorError(Rule.ROW, f"{row}: static cases take rows whose C and Result have one type")
    builder = ProgramBuilder(Scope.SUBGROUP)
    shapes = {"a": (row.a, row.m, row.k, Use.A), "b": (row.b, row.k, row.n, Use.B), "c": (row.c, row.m, row.n, Use.ACCUMULATOR)}
    first = builder.literal(0)
    loaded = {}
    for name, (component, rows, columns, use) in shapes.items():
        array = builder.array(name, Pointee(component), rows * columns, StorageClass.STORAGE_BUFFER, "input")
        type_ = MatrixType(component, Scope.SUBGROUP, rows, columns, use)
        loaded[name] = builder.load(f"matrix_{name}", type_, array, first, builder.literal(columns), Layout.ROW_MAJOR)
    flags = row.operands if operands is None else operands
    product = builder.muladd("product", loaded["c"].type, loaded["a"], loaded["b"], loaded["c"], flags or None)
    target = builder.array("d", Pointee(row.result), row.m * row.n, StorageClass.STORAGE_BUFFER, "output")
    builder.store(product, target, first, builder.literal(row.n), Layout.ROW_MAJOR)
    text = disassemble(emit(builder.build()))
    lines = tuple(line.strip() for line in text.splitlines() if not line.startswith(";"))
    return BaseModule(lines, MappingProxyType(_aliases(lines)))


def _aliases(lines: tuple[str, ...]) -> dict[str, str]:
    defined = {line.partition(" = ")[0]: line.partition(" = ")[2].split() for line in lines if " = " in line}
    aliases: dict[str, str] = {}
    for letter in "abc":
        _, type_, place, layout, stride, *_ = defined[f"%matrix_{letter}"]
        _, component, scope, rows, columns, use = defined[type_]
        found = {
            "type": type_,
            "place": place,
            "pointer": defined[place][1],
            "layout": layout,
            "stride": stride,
            "component": component,
            "scope": scope,
            "rows": rows,
            "columns": columns,
            "use": use,
        }
        aliases |= {f"%{name}_{letter}": id_ for name, id_ in found.items()}
    _, place, _, layout, stride, *_ = next(line for line in lines if line.startswith("OpCooperativeMatrixStoreKHR")).split()
    operands = " ".join(defined["%product"][5:])
    return aliases | {"%operands": operands, "%place_d": place, "%layout_d": layout, "%stride_d": stride}
