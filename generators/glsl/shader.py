"""The text of a shader under construction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from generators.errors import Lack, NotExpressible
from generators.glsl.direct_loads import parts_loaded_into
from generators.glsl.spelling import SCOPES, SPELLINGS, USES, identifier, literal
from generators.program.memory import Array, Pointee
from generators.program.operation import Operation
from generators.program.program import Program
from generators.program.reading import Reading
from generators.program.values import (
    MOST_PLAIN_LANES,
    AnyValue,
    BlockType,
    CooperativeVectorType,
    Extent,
    Matrix,
    MatrixType,
    Operand,
    ScalarValue,
    Selected,
)
from generators.types import ComponentType, Scope, StorageClass, Use

MATRIX2, MAINTENANCE1 = "GL_NV_cooperative_matrix2", "GL_EXT_cooperative_matrix_maintenance1"
"""Extensions with the same functions, whose names end in NV or EXT."""

REFERENCE_MEMBER = "elements"
"""The array in a buffer reference."""


prints: Reading[Shader] = Reading("generators.glsl")
"""The functions that write the statements of an operation to a shader."""


class Shader:
    """Collects the statements of ``main`` and the extensions that the shader needs.

    Attributes:
        program: the program to write.
        extensions: names of extensions.
        variables: names of values without their own variable -> the variable or the built-in that holds them.
        lines: the statements so far.
        structs: the members of the structs declared before ``main``, by name.
        element_structs: the declarations of the element structs of arrays, by name.
        globals: declarations of variables before ``main``.
        references: the lines of each buffer reference that is not an array, by its name.
        constant_parameters: whether the parameters of functions are ``const in``.
        transposes: whether it has a transposition of SPV_NV_cooperative_matrix2.
        pointers: by name of a pointer, the expression for the elements that it points into, and the index of its element.
        loaded_into: by name of a loaded matrix, the store to a part of a variable that the load does itself, through its argument.
        shared_blocks: arrays in explicitly laid out blocks of shared memory that accesses have named, by name.
        functions: the lines of each function by its name, ordered so each function precedes its calls.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.extensions: set[str] = set()
        self.variables: dict[str, str] = {}
        self.lines: list[str] = []
        self.structs: dict[str, tuple[str, ...]] = {}
        self.globals: list[str] = []
        self.references: dict[str, tuple[str, ...]] = {}
        self.element_structs: dict[str, tuple[str, ...]] = {}
        self.functions: dict[str, tuple[str, ...]] = {}
        self.pointers: dict[str, tuple[str, ScalarValue]] = {}
        self.shared_blocks: dict[str, Array] = {}
        self.constant_parameters = False
        self.transposes = False
        self.loaded_into = parts_loaded_into(program)
        self._depth = 1

    def emit(self, operations: Sequence[Operation]) -> None:
        """Write ``operations`` at the current depth."""
        for operation in operations:
            prints.read(self, operation)

    def line(self, text: str) -> None:
        """Write one line."""
        self.lines.append("    " * self._depth + text)

    @contextmanager
    def braces(self, head: str) -> Iterator[None]:
        """Return a block that begins with ``head``."""
        self.line(f"{head} {{")
        self._depth += 1
        yield
        self._depth -= 1
        self.line("}")

    @contextmanager
    def apart(self) -> Iterator[list[str]]:
        """Collect the lines written in the ``with`` block separately, at depth 0, and not in ``main``."""
        outside = self.lines, self._depth
        self.lines, self._depth = [], 0
        yield self.lines
        self.lines, self._depth = outside

    def require(self, *extensions: str | None) -> None:
        """Record that the shader needs ``extensions``; ignore None."""
        self.extensions.update(extension for extension in extensions if extension is not None)

    def require_shared(self) -> str:
        """Require the extension whose reductions, functions of elements and changes of use the program has; return the suffix of its
        names."""
        self.require(MAINTENANCE1 if self.program.maintenance1 else MATRIX2)
        return "EXT" if self.program.maintenance1 else "NV"

    def pointee_type(self, pointee: Pointee) -> str:
        """Return the type of an array's elements.

        Raises:
            NotExpressible: it is a struct that GLSL lays out differently.
        """
        if pointee.block is not None:
            return self._struct(pointee.block)
        spelling = SPELLINGS[pointee.component.name]
        self.require(spelling.extension)
        if pointee.lanes > MOST_PLAIN_LANES:
            self.require("GL_EXT_long_vector")
            return f"vector<{spelling.scalar}, {pointee.lanes}>"
        return spelling.scalar if pointee.lanes == 1 else f"{spelling.vector}{pointee.lanes}"

    def _struct(self, block: BlockType) -> str:
        """Return the name of a block's struct; declare it the first time."""
        name, end, lines = f"{identifier(block.name)}Element", 0, []
        alignment = max(member.component.bytes for member in block.members)
        for i, member in enumerate(block.members):
            if member.offset != -(-end // member.component.bytes) * member.component.bytes:
                raise NotExpressible(
                    Lack.MEMBER_OFFSET, f"GLSL puts member {i} of a struct where the previous one ends, not at byte {member.offset}"
                )
            end = member.end
            length = "" if member.length is None else f"[{member.length}]"
            lines.append(f"    {self.scalar_type(member.component)} member{i}{length};")
        if block.bytes % alignment:
            raise NotExpressible(Lack.STRUCT_SIZE, f"GLSL rounds structs up to a multiple of {alignment} bytes, so none has {block.bytes}")
        self.require("GL_EXT_scalar_block_layout")
        self.element_structs.setdefault(name, (f"struct {name} {{", *lines, "};"))
        return name

    def scalar_type(self, component: ComponentType) -> str:
        """Return the type of a scalar."""
        return self.pointee_type(Pointee(component))

    def matrix_type(self, type_: MatrixType) -> str:
        """Return ``coopmat<…>``.

        Raises:
            NotExpressible: GLSL has no matrices of this component type.
        """
        spelling = SPELLINGS[type_.component.name]
        if not spelling.matrix:
            raise NotExpressible(Lack.COMPONENT_TYPE, f"glslang has no coopmat of {type_.component}")
        self.require("GL_KHR_cooperative_matrix", "GL_KHR_memory_scope_semantics", spelling.extension)
        scope = SCOPES[type_.scope] if isinstance(type_.scope, Scope) else self.extent(type_.scope)
        use = USES[type_.use] if isinstance(type_.use, Use) else self.extent(type_.use)
        parameters = (spelling.scalar, scope, self.extent(type_.rows), self.extent(type_.columns), use)
        return f"coopmat<{', '.join(parameters)}>"

    def vector_type(self, type_: CooperativeVectorType) -> str:
        """Return ``coopvecNV<…>``."""
        spelling = SPELLINGS[type_.component.name]
        self.require("GL_NV_cooperative_vector", spelling.extension)
        return f"coopvecNV<{spelling.scalar}, {self.extent(type_.length)}>"

    def extent(self, value: Extent, suffix: str = "") -> str:
        """Return the constant expression of an extent; a literal gets ``suffix``.

        Raises:
            NotExpressible: the extent is not a constant.
        """
        if isinstance(value, int):
            return f"{value}{suffix}"
        if isinstance(value, Selected):
            return f"({self.extent(value.flag)} != 0u ? {value.chosen}u : {value.otherwise}u)"
        if value.source not in ("literal", "specialization"):
            raise NotExpressible(
                Lack.CONSTANT, f"the operands of types and the lengths of arrays must be constants in GLSL, but '{value.name}' is not one"
            )
        return self.text(value)

    def text(self, value: AnyValue | Operand | Selected) -> str:
        """Return the expression for a value: the variable that holds it, if the shader computes it."""
        if isinstance(value, Selected):
            return self.extent(value)
        if not isinstance(value, Operand) or value.source != "literal":
            return self.variables.get(value.name, identifier(value.name))
        assert value.value is not None, f"{value.name}: a literal has its value"
        self.require(SPELLINGS[value.type.name].extension)
        return literal(value.type, value.value)

    def assignee(self, result: Matrix) -> str:
        """Return the text before ``=`` in the assignment of ``result``: a declaration, unless its variable exists already."""
        return self.variables.get(result.name) or f"{self.matrix_type(result.type)} {identifier(result.name)}"

    def elements(self, array: Array, inner: ScalarValue | None = None) -> str:
        """Return the expression for the elements of ``array``, or of its inner array ``inner``.

        Raises:
            NotExpressible: the pointers to them are untyped.
        """
        if array.is_untyped:
            raise NotExpressible(Lack.POINTER, f"GLSL has no untyped pointers, such as the pointers to '{array.name}'")
        name = identifier(array.name)
        if array.block is not None:
            self.shared_blocks[name] = array
            return f"{name}.{REFERENCE_MEMBER}"
        whole = f"{name}.{REFERENCE_MEMBER}" if array.storage is StorageClass.PHYSICAL_STORAGE_BUFFER else name
        if array.inner is None or inner is None:
            return whole
        return f"{whole}[{self.text(inner)}]{f'.{REFERENCE_MEMBER}' if array.inner.head else ''}"
