"""Rows of cooperative vectors: the combinations of component types that a matrix-vector multiply may have (CV-API-06)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from generators.types import COMPONENT_TYPES, INTERPRETATIONS, ComponentType, Interpretation

_TRANSPOSING = frozenset(
    {
        *("f16.f16.f16.f16.f16", "f16.f16.f16.f32.f32", "f32.f16.f16.f16.f16", "f32.f16.f16.f32.f32"),
        *("f32.f32.f32.f32.f32", "f16.f32.f32.f32.f32", "s8.s8.s8.s32.s32", "u8.u8.u8.u32.u32"),
    }
)
"""Rows that always have transposition; other rows state it at the end of their names."""

_SUMS = ("f16", "f32", "s32", "u32")
"""Component types of results (CV-MM-03)."""


@dataclass(frozen=True)
class VectorTypes:
    """The types of one row.

    Attributes:
        input, result: component types of Input and of Result Type.
        interpretation, matrix, bias: how input, matrix and bias are interpreted.
        transposes: whether matrices in an optimal layout may be transposed.
    """

    input: ComponentType
    interpretation: Interpretation
    matrix: Interpretation
    bias: Interpretation
    result: ComponentType
    transposes: bool = False

    def __str__(self) -> str:
        types = ".".join(one.name for one in (self.input, self.interpretation, self.matrix, self.bias, self.result))
        return f"{types}.t" if self.transposes and types not in _TRANSPOSING else types

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


class NotARow(ValueError):
    """A text does not name the five types of a matrix-vector multiply."""


@cache
def parse_vector_row(text: str) -> VectorTypes:
    """Return the row that ``Input.InputInterpretation.MatrixInterpretation.BiasInterpretation.Result`` names, with or without ``.t``.

    Raises:
        NotARow: it names none.
    """
    types = text.removesuffix(".t")
    names = types.split(".")
    if len(names) != 5 or {names[0], names[4]} - COMPONENT_TYPES.keys() or set(names[1:4]) - INTERPRETATIONS.keys():
        raise NotARow(
            "expected five types, such as f32.s8.s8.s32.s32: types of the input, of the interpretations of input, "
            "matrix and bias, and of the result"
        )
    interpretation, matrix, bias = (INTERPRETATIONS[name] for name in names[1:4])
    transposes = types in _TRANSPOSING or types != text
    return VectorTypes(COMPONENT_TYPES[names[0]], interpretation, matrix, bias, COMPONENT_TYPES[names[4]], transposes)


def is_defined(row: VectorTypes) -> bool:
    """Return whether the text defines the multiplies of a row and this suite has data for them.

    Results are 16- or 32-bit floats, or 32-bit integers, and all terms are of the same kind. A packed input has u32 components, and only
    inputs are packed. With floats, the result is at least as wide as the factors, and bias and input do not have 8 bits.
    """
    terms = (row.interpretation.component, row.matrix.component, row.bias.component, row.result)
    if row.result.name not in _SUMS or len({one.is_float for one in terms}) > 1 or row.matrix.packed or row.bias.packed:
        return False
    if row.is_float and (row.bias.component.bits < 16 or max(one.bits for one in terms) > row.result.bits):
        return False
    if row.packed:
        return row.input.name == "u32"
    # 64-bit integers and f64 have their own conversions.
    return row.input.has_arithmetic and all(one.bits < 64 for one in (row.input, *terms))
