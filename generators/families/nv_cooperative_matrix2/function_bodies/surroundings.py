"""The resources that functions read and write besides their parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from generators.families.nv_cooperative_matrix2.function_bodies.writer import FunctionWriter
from generators.layouts.placement import stage_in
from generators.program.builder import U32, ProgramBuilder
from generators.program.memory import Array, Pointee
from generators.program.values import ArrayType, BlockMember, BlockType, ScalarValue, Source, literal
from generators.program.variables import Initializer, Variable
from generators.types import COMPONENT_TYPES, StorageClass

Storage = Literal["function", "private", "workgroup", "storage_buffer"]
"""Places of a table: a variable of the function or of the module with a constant initializer, or an array."""

Need = Literal["private", "words", "reference", "log", "marks"]
"""Resources that a body may need: a variable of the module, packed words in a buffer, packed words in physical storage, a buffer to write,
or a buffer of bits in which it sets further bits."""

Mark = Literal["bits", "word"]
"""Room for an element in the buffer of marks: four bits, or a word."""

_MARK_BITS: Mapping[Mark, int] = {"bits": 4, "word": 32}
_BEFORE: Mapping[Mark, int] = {"bits": 0xCCCCCCCC, "word": 0x70707070}
"""The bits of the marks that may be set from the start."""

BLOCK_BYTES = 16
WORDS = BlockType("PackedWords", (BlockMember(U32, 0, 4),), BLOCK_BYTES)
HALVES = BlockType("PackedHalves", (BlockMember(COMPONENT_TYPES["u16"], 0, 8),), 2)
BYTES = BlockType("PackedBytes", (BlockMember(COMPONENT_TYPES["u8"], 0, 16),), 1)
"""The same sixteen bytes in three ways."""


class Surroundings:
    """Declares the resources that functions use.

    Args:
        builder: the builder of the program, which is at the beginning of the entry point.
        source: where the numbers of functions come from.
        storage: where tables are.
        table: the table's elements; empty if no function has one.
        needs: the other resources of the body.
        extent: the number of elements that the words and the buffer to write need for an instance.
        mark: an element's room in the buffer of marks.

    Attributes:
        table_values: the table's elements.
    """

    def __init__(
        self,
        builder: ProgramBuilder,
        source: Source,
        storage: Storage,
        table: tuple[int, ...],
        needs: tuple[Need, ...],
        extent: int,
        mark: Mark,
    ) -> None:
        self.builder = builder
        self.source = source
        self.storage = storage
        self.table_values = table
        self._table: Array | Variable | None = None
        if table and storage == "private":
            self._table = builder.variable("table", ArrayType(U32, len(table)), "private", _initial(table))
        elif table and storage != "function":
            self._table = stage_in(builder, "table", Pointee(U32), len(table), StorageClass(storage))
        self.private = builder.variable("own", U32, "private") if "private" in needs else None
        self.words: Array | None = None
        if "words" in needs:
            self.words = builder.array("words", Pointee(U32), -(-extent // 4), StorageClass.STORAGE_BUFFER, "input")
        self.packed: Array | None = None
        if "reference" in needs:
            self.packed = builder.array("packed", Pointee(U32), 4 * extent, StorageClass.PHYSICAL_STORAGE_BUFFER, "input")
        self.mark = mark
        self.marks: Array | None = None
        if "marks" in needs:
            words = extent * builder.instances * _MARK_BITS[mark] // 32
            self.marks = builder.array("marks", Pointee(U32), words, StorageClass.STORAGE_BUFFER, "inout")
        self.log: Array | None = None
        if "log" in needs:
            self.log = builder.array("log", Pointee(U32), extent * builder.instances, StorageClass.STORAGE_BUFFER, "output")

    def number(self, name: str, value: int, other: int) -> ScalarValue:
        """Return a u32 from the source of the case; ``other`` is the default of a specialization constant."""
        return self.builder.operand(name, U32, self.source, value, other)

    def look_up(self, writer: FunctionWriter, index: ScalarValue) -> ScalarValue:
        """Return an element of the table."""
        if isinstance(self._table, Array):
            return writer.read(self._table, index)
        variable = self._table
        if variable is None:
            variable = writer.variable(ArrayType(U32, len(self.table_values)), _initial(self.table_values))
        return writer.get(variable, index)

    def contents(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draw the contents of the inputs that functions read, uint8."""
        inputs = {}
        if isinstance(self._table, Array):
            inputs["table"] = np.array(self.table_values, np.uint32).view(np.uint8)
        for array in (self.words, self.packed):
            if array is not None:
                inputs[array.name] = rng.integers(0, 256, array.bytes, np.uint8)
        if self.marks is not None:
            words = rng.integers(0, 1 << 32, self.marks.bytes // 4, np.uint32)
            inputs["marks"] = (words & np.uint32(_BEFORE[self.mark])).view(np.uint8)
        return inputs


def _initial(table: tuple[int, ...]) -> Initializer:
    return tuple(literal(U32, value) for value in table)
