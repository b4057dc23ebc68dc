"""Change a finished sum before it is stored: by a bias, a scale for each row, a limit, or a polynomial."""

from __future__ import annotations

from typing import Literal

import numpy as np

from generators.engine_kernels.parts import KernelWriter, constant_of
from generators.inputs.whole_numbers import any_signs, near
from generators.numerics.formats import bits_of
from generators.program.builder import U32
from generators.program.callbacks import PerElement
from generators.program.expressions import Binary, ElementRead, Expression, element_function
from generators.program.functions import Function
from generators.program.memory import Array, Pointee
from generators.program.program import Program
from generators.program.values import Matrix, ScalarValue, Value
from generators.routines.scaling import scaled
from generators.types import ComponentType, StorageClass

EpilogueKind = Literal["none", "bias", "scale", "limit", "chain", "polynomial"]
"""The epilogues: nothing; a bias for each column; a scale for each row; a lower limit of zero; bias, limit and scale; x * x - 3 * x."""

_MARGIN = 64
"""Extra elements at the end of a bias or scale: tiles extend beyond the edges of the tensors and read them too."""


def share(budget: int, component: ComponentType, epilogue: EpilogueKind) -> int:
    """Return the part of ``budget`` that the sum may use for the epilogue to be exact."""
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
    """Applies an epilogue to each tile.

    Args:
        writer: the writer of the kernel.
        kind: the epilogue to apply.
        component: the component type of the sums.
        rows, columns: the size of the whole result.
    """

    def __init__(self, writer: KernelWriter, kind: EpilogueKind, component: ComponentType, rows: int, columns: int) -> None:
        self.writer = writer
        self.kind = kind
        self.component = component
        self._arrays: dict[str, Array] = {}
        for name, length, used in (("bias", columns, ("bias", "chain")), ("scale", rows, ("scale", "chain"))):
            if kind in used:
                storage = StorageClass.STORAGE_BUFFER
                self._arrays[name] = writer.builder.array(name, Pointee(component), length + _MARGIN, storage, "input")
        self._functions: dict[str, Function] = {}

    def apply(self, matrix: Matrix, row0: ScalarValue, column0: ScalarValue) -> Matrix:
        """Return the tile ``matrix`` after the epilogue; ``row0`` and ``column0`` are its first row and column in the result."""
        match self.kind:
            case "none":
                return matrix
            case "polynomial":
                return self._polynomial(matrix)
            case "chain":
                # One instruction for each of three steps.
                for step in ("bias", "limit", "scale"):
                    matrix = self._called(step, matrix, row0, column0)
                return matrix
            case _:
                return self._called(self.kind, matrix, row0, column0)

    def _called(self, step: str, matrix: Matrix, row0: ScalarValue, column0: ScalarValue) -> Matrix:
        result = Value(self.writer.name(step), matrix.type)
        if step not in self._functions:
            self._functions[step] = self._function(step)
        extra = {"bias": (column0,), "scale": (row0,)}.get(step, ())
        self.writer.builder.add(PerElement(result, matrix, self._functions[step], extra))
        return result

    def _function(self, step: str) -> Function:
        row, column = Value("row", U32), Value("column", U32)
        x, begin = Value("x", self.component), Value("begin", U32)
        if step == "limit":
            limited: Expression = Binary("maximum", x, constant_of(0, self.component))
            return element_function(f"{step}_of", (row, column, x), limited)
        place = Binary("add", begin, column if step == "bias" else row)
        read = ElementRead(self._arrays[step], place)
        return element_function(f"{step}_of", (row, column, x, begin), Binary("add" if step == "bias" else "multiply", x, read))

    def _polynomial(self, matrix: Matrix) -> Matrix:
        """Compute x * x - 3 * x by arithmetic on whole matrices."""
        builder, name = self.writer.builder, self.writer.name
        square = builder.elementwise(name("square"), "multiply", matrix, matrix)
        triple = scaled(builder, name("triple"), matrix, builder.literal(bits_of(self.component, -3), self.component))
        return builder.elementwise(name("polynomial"), "add", square, triple)


def epilogue_data(program: Program, component: ComponentType, budget: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw the contents of ``bias`` and ``scale``, if the program has them: uint8 by name.

    Floats of a bias are whole numbers up to half of ``budget``, and floats of a scale are powers of two of either sign. Integers are any
    numbers.
    """
    found = {}
    for array in program.arrays:
        if array.name not in ("bias", "scale"):
            continue
        if not component.is_float:
            values = rng.integers(0, 1 << 32, array.count, np.uint64).astype(np.uint32).astype(component.bits_dtype)
            found[array.name] = np.ascontiguousarray(values).view(np.uint8)
            continue
        if array.name == "bias":
            drawn = near(budget // 2, (array.count,), rng)
        else:
            drawn = any_signs(np.exp2(rng.integers(-1, 2, array.count, endpoint=True)), rng)
        found[array.name] = np.ascontiguousarray(drawn.astype(component.dtype)).view(np.uint8)
    return found
