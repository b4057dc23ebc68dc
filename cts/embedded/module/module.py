"""What a module declares: its types, variables, names and modes. ``declarations`` reads it for one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn, TypeVar

from cts.embedded.diagnostics import Malformed, Unsupported, demanded, needed
from cts.embedded.module.references import NON_SEMANTIC
from cts.embedded.types.limits import Extent
from cts.embedded.types.spirv_types import MatrixType, Number, PointerType, Struct, Type, Vector
from generators.spirv.enumerants import Decoration, StorageClass
from generators.spirv.reader import Instruction, read_header, read_instructions, read_string

_Declared = TypeVar("_Declared")


class ById(dict[int, _Declared]):
    """What a module declares with ids. Looking up another id raises Malformed: ``what`` an id must be."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self._what = what

    def __missing__(self, id_: int) -> NoReturn:
        raise Malformed(f"%{id_} is not {self._what}")


@dataclass(frozen=True)
class Variable:
    """A variable outside of functions.

    Attributes:
        id: its id, a pointer.
        storage: its storage class.
        data: id of the type of its contents.
        initializer: id of its initializer, 0 if there is none.
        is_descriptor_array: whether it is an array of descriptors.
    """

    id: int
    storage: StorageClass
    data: int
    initializer: int
    is_descriptor_array: bool


class Module:
    """The declarations of a module.

    Attributes:
        version: its SPIR-V version.
        bound: all ids are below it.
        instructions: all of its instructions.
        first_function: index of the first instruction in a function.
        names: id -> the words of its debug name.
        instruction_sets: id -> name of an extended instruction set.
        capabilities: the capabilities that it declares.
        is_logical: whether it has the Logical addressing model.
        private_model: whether accesses are private by default (the Vulkan memory model).
        entry: id of the entry point's function.
        interface: ids in the interface of the entry point.
        other_interfaces: ids in the interfaces of the other entry points.
        float_modes: execution modes of float arithmetic, each with its width in bits.
        local_size: invocations in x, y, z.
        types: id -> type.
        extents: id of a type -> its extent.
        laid_out: ids of the types that are explicitly laid out, or need no layout.
        has_buffer_blocks: whether Uniform storage may be a storage buffer, as before SPIR-V 1.3 (BufferBlock).
        type_of: id of a value -> its type.
        type_ids: id of a value -> id of its type.
        decorations: id -> decoration -> its parameters.
        member_decorations: (id, member) -> decoration -> its parameters.
        variables: id -> variable outside of functions.
    """

    def __init__(self, spirv: bytes) -> None:
        header = read_header(spirv)
        self.version, self.bound = header.version, header.bound
        self.instructions: Sequence[Instruction] = read_instructions(spirv)
        self.first_function = 0
        self.names: dict[int, tuple[int, ...]] = {}
        self.instruction_sets: dict[int, str] = {}
        self.capabilities: set[int] = set()
        self.is_logical = True
        self.private_model = False
        self.entry = 0
        self.interface: frozenset[int] = frozenset()
        self.other_interfaces: set[int] = set()
        self.float_modes: set[tuple[int, int]] = set()
        self.local_size = (1, 1, 1)
        self.types: dict[int, Type] = ById("a type that is declared before it is used")
        self.extents: dict[int, Extent] = ById("the type of a value")
        self.laid_out: set[int] = set()
        self.has_buffer_blocks = False
        self.type_of: dict[int, Type] = ById("a value")
        self.type_ids: dict[int, int] = ById("a value")
        self.decorations: dict[int, dict[int, tuple[int, ...]]] = {}
        self.member_decorations: dict[tuple[int, int], dict[int, tuple[int, ...]]] = {}
        self.variables: dict[int, Variable] = {}

    @property
    def function_instructions(self) -> Sequence[Instruction]:
        """The instructions in functions."""
        return self.instructions[self.first_function :]

    def decoration(self, id_: int, which: Decoration) -> tuple[int, ...] | None:
        """Return the parameters of a decoration of ``id_``; None if it is not decorated so."""
        return self.decorations.get(id_, {}).get(which)

    def is_block(self, type_id: int) -> bool:
        """Return whether a type is a structure decorated with Block."""
        return isinstance(self.types[type_id], Struct) and self.decoration(type_id, Decoration.Block) is not None

    def is_descriptor_array(self, id_: int) -> bool:
        """Return whether a value is a variable that is an array of descriptors."""
        return id_ in self.variables and self.variables[id_].is_descriptor_array

    def set_type(self, id_: int, type_id: int) -> None:
        """Note the type of a value."""
        self.type_ids[id_] = type_id
        self.type_of[id_] = self.types[type_id]

    def pointee(self, pointer: int) -> Type:
        """Return the type that a pointer value points to."""
        return self.types[self.pointee_id(pointer)]

    def target(self, pointer: PointerType) -> Type:
        """Return the type that a pointer type points to.

        Raises:
            Malformed: the pointee is declared later, or the pointer is untyped.
        """
        if pointer.is_untyped:
            raise Malformed("an untyped pointer has no pointee type")
        if pointer.pointee not in self.types:
            raise Malformed(f"the pointee type %{pointer.pointee} is declared later")
        return self.types[pointer.pointee]

    def pointee_id(self, pointer: int) -> int:
        """Return the id of the type that a pointer value points to.

        Raises:
            Malformed: it is not a pointer.
        """
        type_ = needed(self.type_of[pointer], PointerType, f"%{pointer} is not a pointer")
        if type_.is_untyped:
            raise Malformed(f"%{pointer} is an untyped pointer, which has no pointee type")
        return type_.pointee

    def is_non_semantic(self, words: tuple[int, ...]) -> bool:
        """Return whether an extended instruction has no effect."""
        return self.instruction_sets.get(words[2], "").startswith(NON_SEMANTIC)

    def uses(self, variable: int) -> bool:
        """Return whether the entry point may use a variable of the module: it is in its interface, or in no interface."""
        return variable in self.interface or variable not in self.other_interfaces

    def is_untyped(self, pointer: int) -> bool:
        """Return whether a value is an untyped pointer."""
        type_ = self.type_of[pointer]
        return isinstance(type_, PointerType) and type_.is_untyped

    def name(self, id_: int) -> str:
        """Return the debug name of an id, for messages."""
        words = self.names.get(id_)
        return f"%{id_}" if words is None else read_string(words)[0]

    def storage(self, pointer: int) -> StorageClass:
        """Return the storage class of a pointer value."""
        type_ = needed(self.type_of[pointer], PointerType, f"%{pointer} is not a pointer")
        return type_.storage

    def matrix_type(self, id_: int, rule: str, what: str) -> MatrixType:
        """Return the matrix type of a value.

        Raises:
            Violation: the value is not a matrix. The message has ``rule`` and ``what``.
        """
        return demanded(self.type_of[id_], MatrixType, rule, f"{what} is not a cooperative matrix")

    def number_of(self, type_: Type) -> Number:
        """Return the number type of a scalar, vector or matrix."""
        while isinstance(type_, Vector):
            type_ = type_.element
        if isinstance(type_, MatrixType):
            return type_.number
        if isinstance(type_, Number):
            return type_
        raise Unsupported(f"arithmetic on {type_}")
