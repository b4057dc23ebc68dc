"""What kernels do with a finished sum before they store it: a bias, a scale for each row, a limit, a polynomial."""

from __future__ import annotations

import numpy as np

from generators.engine_kernels.parts import KernelWriter, number
from generators.numerics.formats import bits_of
from generators.program.builder import U32
from generators.program.callbacks import Binary, ElementFunction, ElementRead, Expression, ScalarParameter
from generators.program.memory import Array, Pointee
from generators.program.per_element import PerElement
from generators.program.program import Program
from generators.program.values import Matrix, ScalarValue
from generators.types import ComponentType, StorageClass

EPILOGUES = ("none", "bias", "scale", "limit", "chain", "polynomial")
_MARGIN = 64
"""Elements behind the last one of a bias or scale: tiles hang over the edges of the tensors, and read them as well."""


def share(budget: int, component: ComponentType, epilogue: str) -> int:
    """How much of ``budget`` the sum may take, so that what follows is exact."""
    if not component.is_float:
        return budget
    match epilogue:
        case "bias" | "chain":
            return budget // 2
        case "polynomial":
            return int(budget**0.5) - 3
        case _:
            return budget


class Epilogue:
    """Applies one of EPILOGUES.

    Args:
        writer: of the kernel. ``kind``: which. ``component``: of the sums.
        rows, columns: of the whole result.
    """

    def __init__(self, writer: KernelWriter, kind: str, component: ComponentType, rows: int, columns: int) -> None:
        self.writer = writer
        self.kind = kind
        self.component = component
        self._arrays: dict[str, Array] = {}
        for name, length, used in (("bias", columns, ("bias", "chain")), ("scale", rows, ("scale", "chain"))):
            if kind in used:
                storage = StorageClass.STORAGE_BUFFER
                self._arrays[name] = writer.builder.array(name, Pointee(component), length + _MARGIN, storage, "input")
        self._functions: dict[str, ElementFunction] = {}

    def apply(self, matrix: Matrix, row0: ScalarValue, column0: ScalarValue) -> Matrix:
        """The epilogue of a tile whose first row and column in the result are ``row0`` and ``column0``."""
        match self.kind:
            case "none":
                return matrix
            case "polynomial":
                return self._polynomial(matrix)
            case "chain":
                # A bias, then no less than zero, then a scale: as three instructions.
                for step in ("bias", "limit", "scale"):
                    matrix = self._called(step, matrix, row0, column0)
                return matrix
            case _:
                return self._called(self.kind, matrix, row0, column0)

    def _called(self, step: str, matrix: Matrix, row0: ScalarValue, column0: ScalarValue) -> Matrix:
        result = Matrix(self.writer.name(step), matrix.type)
        if step not in self._functions:
            self._functions[step] = self._function(step)
        extra = {"bias": (column0,), "scale": (row0,)}.get(step, ())
        self.writer.builder.add(PerElement(result, matrix, self._functions[step], extra))
        return result

    def _function(self, step: str) -> ElementFunction:
        row, column = ScalarParameter("row", U32), ScalarParameter("column", U32)
        x, begin = ScalarParameter("x", self.component), ScalarParameter("begin", U32)
        if step == "limit":
            limited: Expression = Binary("maximum", x, number(0, self.component))
            return ElementFunction(f"{step}_of", (row, column, x), limited)
        place = Binary("add", begin, column if step == "bias" else row)
        read = ElementRead(self._arrays[step], place)
        return ElementFunction(f"{step}_of", (row, column, x, begin), Binary("add" if step == "bias" else "multiply", x, read))

    def _polynomial(self, matrix: Matrix) -> Matrix:
        """x * x + 3 * x by arithmetic on whole matrices."""
        builder, name = self.writer.builder, self.writer.name
        square = builder.elementwise(name("square"), "multiply", matrix, matrix)
        triple = builder.times_scalar(name("triple"), matrix, builder.literal(bits_of(self.component, 3), self.component))
        return builder.elementwise(name("polynomial"), "add", square, triple)


def epilogue_data(program: Program, component: ComponentType, budget: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """The contents of ``bias``, whole numbers up to half of ``budget``, and of ``scale``, powers of two of either sign; of integers any
    numbers."""
    found = {}
    for array in program.arrays:
        if array.name not in ("bias", "scale"):
            continue
        if not component.is_float:
            values = rng.integers(0, 1 << 32, array.count, np.uint64).astype(np.uint32).astype(component.bits_dtype)
            found[array.name] = np.ascontiguousarray(values).view(np.uint8)
            continue
        if array.name == "bias":
            top = budget // 2
            drawn = (top - rng.integers(0, max(1, top // 8), array.count)) * rng.choice(np.array([-1.0, 1.0]), array.count)
        else:
            drawn = np.exp2(rng.integers(-1, 2, array.count, endpoint=True)) * rng.choice(np.array([-1.0, 1.0]), array.count)
        found[array.name] = np.ascontiguousarray(drawn.astype(component.dtype)).view(np.uint8)
    return found
