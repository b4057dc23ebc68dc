"""Moves matrices between a tensor and an array where their rows are in order."""

from __future__ import annotations

from dataclasses import dataclass

from generators.layouts.tensor_tiles import Tensor
from generators.layouts.tensor_writer import TensorWriter
from generators.program.builder import ProgramBuilder
from generators.program.load_store import MemoryOperand
from generators.program.memory import Array, Pointee
from generators.program.tensor_access import POINTER_ALIGNMENT, TensorLoad, TensorStore
from generators.program.values import Matrix, MatrixType, Scalar, ScalarValue, TensorLayout, Value
from generators.types import Layout, StorageClass


@dataclass(frozen=True)
class Tiled:
    """The tensor and the matrices of a case.

    Attributes:
        writer: of layouts. ``type``: of the matrices.
        is_load: whether the tensor is loaded from, or stored to.
        storage, pointee: of the tensor's array.
        lead: bytes before the first tensor, to be rounded up.
        strided: whether the array has an ArrayStride, which must be ignored.
        memory: operands of the tensor's accesses.
    """

    writer: TensorWriter
    type: MatrixType
    is_load: bool
    storage: StorageClass
    pointee: Pointee
    lead: int
    strided: bool
    memory: MemoryOperand | None

    @property
    def builder(self) -> ProgramBuilder:
        """The builder of the program."""
        return self.writer.builder


@dataclass(frozen=True)
class Bench:
    """A tensor and an array of matrices whose rows are in order; matrices go from one to the other.

    Attributes:
        tensors: to load from, one, or to store to, one or more.
        begins: where each tensor of the scope instance begins.
        plain: the array of the matrices. ``tiles``: how many of them each scope instance has.
    """

    given: Tiled
    tensors: tuple[Tensor, ...]
    begins: tuple[ScalarValue, ...]
    plain: Array
    tiles: int

    @property
    def builder(self) -> ProgramBuilder:
        """The builder of the program."""
        return self.given.builder

    @property
    def _line(self) -> int:
        return self.given.type.shape[1] + POINTER_ALIGNMENT // self.given.type.component.bytes

    def _first(self, name: str, tile: int | Scalar) -> ScalarValue:
        """Return the first element of the matrix ``tile`` of this scope instance in the array of matrices."""
        pitch = self.given.type.shape[0] * self._line
        builder = self.builder
        first: ScalarValue = builder.literal(tile * pitch) if isinstance(tile, int) else builder.literal(0)
        if builder.instances > 1:
            first = builder.offset(f"{name}_begin", first, builder.instance_index(), pitch * self.tiles)
        return first if isinstance(tile, int) else builder.offset(f"{name}_place", first, tile, pitch)

    def take(self, name: str, tile: int | Scalar) -> Matrix:
        """Load a matrix from the array of matrices."""
        builder = self.builder
        first = self._first(name, tile)
        return builder.load(f"{name}_matrix", self.given.type, self.plain, first, builder.literal(self._line), Layout.ROW_MAJOR)

    def put(self, name: str, tile: int | Scalar, matrix: Matrix) -> None:
        """Store a matrix to the array of matrices."""
        self.builder.store(matrix, self.plain, self._first(name, tile), self.builder.literal(self._line), Layout.ROW_MAJOR)

    def read(self, name: str, begin: ScalarValue, layout: TensorLayout) -> Matrix:
        """Load a matrix from the tensor."""
        builder, type_ = self.builder, self.given.type
        before = builder.splat(f"{name}_before", type_, builder.literal(1, type_.component))
        matrix = Value(f"{name}_loaded", type_)
        builder.add(TensorLoad(matrix, self.tensors[0].array, begin, before, layout, None, self.given.memory))
        return matrix

    def write(self, begin: ScalarValue, layout: TensorLayout, matrix: Matrix, which: int = 0) -> None:
        """Store a matrix to a tensor."""
        self.builder.add(TensorStore(matrix, self.tensors[which].array, begin, layout, None, self.given.memory))

    def move(self, layout: TensorLayout, name: str = "only", tile: int | Scalar = 0, which: int = 0) -> None:
        """Move one matrix by ``layout``."""
        if self.given.is_load:
            self.put(name, tile, self.read(name, self.begins[0], layout))
        else:
            self.write(self.begins[which], layout, self.take(name, tile), which)
