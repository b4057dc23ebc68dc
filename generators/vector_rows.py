"""Rows of cooperative vectors: the combinations of component types that a matrix-vector multiply may have (CV-API-06)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from generators.types import COMPONENT_TYPES, INTERPRETATIONS, ComponentType, Interpretation


@dataclass(frozen=True)
class VectorTypes:
    """The types of one row.

    Attributes:
        input, result: component types of Input and of Result Type.
        interpretation, matrix, bias: how input, matrix and bias are read.
    """

    input: ComponentType
    interpretation: Interpretation
    matrix: Interpretation
    bias: Interpretation
    result: ComponentType

    def __str__(self) -> str:
        return ".".join(one.name for one in (self.input, self.interpretation, self.matrix, self.bias, self.result))

    @property
    def packed(self) -> bool:
        """Whether components of the input hold several elements each."""
        return self.interpretation.packed

    @property
    def is_float(self) -> bool:
        """Whether factors and sums are floats."""
        return self.interpretation.component.is_float

    def components(self, columns: int) -> int:
        """Return how many components an input of ``columns`` elements has."""
        return -(-columns * self.interpretation.component.bytes // self.input.bytes) if self.packed else columns


@cache
def parse_vector_row(text: str) -> VectorTypes:
    """Return the row that ``Input.InputInterpretation.MatrixInterpretation.BiasInterpretation.Result`` names.

    Raises:
        ValueError: it names none.
    """
    names = text.split(".")
    if len(names) != 5 or {names[0], names[4]} - COMPONENT_TYPES.keys() or set(names[1:4]) - INTERPRETATIONS.keys():
        raise ValueError("expected five types, such as f32.s8.s8.s32.s32: of input, as input, matrix and bias are read, and of the result")
    interpretation, matrix, bias = (INTERPRETATIONS[name] for name in names[1:4])
    return VectorTypes(COMPONENT_TYPES[names[0]], interpretation, matrix, bias, COMPONENT_TYPES[names[4]])
