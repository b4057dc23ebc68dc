"""The valid module from which mutations start: it loads matrices A, B and C, multiplies and adds them, and stores the product."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
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


@dataclass(frozen=True)
class ModuleText:
    """The instructions of a module, for its aliases: ``lines`` as in ``BaseModule``."""

    lines: tuple[str, ...]

    @cached_property
    def defined(self) -> Mapping[str, list[str]]:
        """Id -> opcode and operands of the instruction that defines it."""
        pairs = (line.partition(" = ") for line in self.lines)
        return {id_: instruction.split() for id_, equals, instruction in pairs if equals}

    def operands(self, opcode: str) -> list[str]:
        """Return the operands of the first instruction without a result that has this opcode."""
        return next(line for line in self.lines if line.startswith(opcode)).split()[1:]

    def pointer(self, letter: str, id_: str) -> dict[str, str]:
        """Return the aliases of a pointer and of its type."""
        return {f"%place_{letter}": id_, f"%pointer_{letter}": self.defined[id_][1]}

    def matrix(self, letter: str, id_: str) -> dict[str, str]:
        """Return the aliases of a matrix's type and of the type's operands."""
        type_ = self.defined[id_][1]
        parts = zip(("component", "scope", "rows", "columns", "use"), self.defined[type_][1:], strict=True)
        return {f"%type_{letter}": type_} | {f"%{name}_{letter}": part for name, part in parts}


def module_with(module: bytes, aliases: Callable[[ModuleText], Mapping[str, str]]) -> BaseModule:
    """Return a module as text, with the aliases of its text."""
    text = ModuleText(tuple(line.strip() for line in disassemble(module).splitlines() if not line.startswith(";")))
    return BaseModule(text.lines, MappingProxyType(dict(aliases(text))))


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
    return module_with(emit(builder.build()), _aliases)


def _aliases(text: ModuleText) -> dict[str, str]:
    aliases: dict[str, str] = {}
    for letter in "abc":
        place, layout, stride = text.defined[f"%matrix_{letter}"][2:5]
        aliases |= text.matrix(letter, f"%matrix_{letter}") | text.pointer(letter, place)
        aliases |= {f"%layout_{letter}": layout, f"%stride_{letter}": stride}
    place, _, layout, stride = text.operands("OpCooperativeMatrixStoreKHR")[:4]
    operands = " ".join(text.defined["%product"][5:])
    return aliases | {"%operands": operands, "%place_d": place, "%layout_d": layout, "%stride_d": stride}
