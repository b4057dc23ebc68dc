"""Moves matrices between a tensor and an array that stores their rows in order."""

from __future__ import annotations

from dataclasses import dataclass

from generators.layouts.matrix_arrays import MatrixArray
from generators.layouts.tensor_writer import TensorWriter
from generators.layouts.tensors import Tensor
from generators.program.builder import ProgramBuilder
from generators.program.load_store import MemoryOperand
from generators.program.memory import Pointee
from generators.program.values import Matrix, MatrixType, Scalar, ScalarValue, TensorLayout
from generators.types import StorageClass


@dataclass(frozen=True)
class MoveSetup:
    """The tensor and the matrices of a case.

    Attributes:
        writer: the writer of layouts. ``type``: the type of the matrices.
        is_load: whether the program loads from the tensor or stores to it.
        storage, pointee: the storage class and the pointee of the tensor's array.
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


@dataclass(frozen=True)
class Moves:
    """A tensor and an array of matrices; matrices go from one to the other.

    Attributes:
        given: the setup of both.
        tensors: one to load from, or one or more to store to.
        begins: the first element of each tensor of the scope instance.
        plain: the array of the matrices.
    """

    given: MoveSetup
    tensors: tuple[Tensor, ...]
    begins: tuple[ScalarValue, ...]
    plain: MatrixArray

    @property
    def builder(self) -> ProgramBuilder:
        """The builder of the program."""
        return self.given.writer.builder

    def _first(self, name: str, tile: int | Scalar) -> ScalarValue:
        """Return the first element of the matrix ``tile`` of this scope instance in the array of matrices."""
        if isinstance(tile, int):
            return self.plain.first(tile, name)
        return self.builder.offset(f"{name}_place", self.plain.first(0, name), tile, self.plain.tiles.pitch)

    def take(self, name: str, tile: int | Scalar) -> Matrix:
        """Load a matrix from the array of matrices."""
        return self.plain.load(f"{name}_matrix", self._first(name, tile))

    def put(self, name: str, tile: int | Scalar, matrix: Matrix) -> None:
        """Store a matrix to the array of matrices."""
        self.plain.store(matrix, self._first(name, tile))

    def read(self, name: str, begin: ScalarValue, layout: TensorLayout) -> Matrix:
        """Load a matrix from the tensor."""
        type_ = self.given.type
        before = self.builder.splat(f"{name}_before", type_, self.builder.literal(1, type_.component))
        return self.tensors[0].load(f"{name}_loaded", type_, begin, before, layout, memory=self.given.memory)

    def write(self, begin: ScalarValue, layout: TensorLayout, matrix: Matrix, which: int = 0) -> None:
        """Store a matrix to a tensor."""
        self.tensors[which].store(matrix, begin, layout, memory=self.given.memory)

    def move(self, layout: TensorLayout, name: str = "only", tile: int | Scalar = 0, which: int = 0) -> None:
        """Move one matrix, addressed by ``layout``."""
        if self.given.is_load:
            self.put(name, tile, self.read(name, self.begins[0], layout))
        else:
            self.write(self.begins[which], layout, self.take(name, tile), which)
