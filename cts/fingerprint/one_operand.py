"""Reductions and conversions of matrices, in the form of rows of multiply-adds: what they compute is a sum of k elements, or of one.

As operands of a row, their elements are A, B has only ones, and C is zero and takes no part.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from cts.devices.device import MatrixRow
from generators.errors import CasebookError
from generators.program.conversion import is_float8
from generators.program.values import MatrixType
from generators.property_rows import PropertyRow, parse_row
from generators.types import COMPONENT_TYPES, ComponentType, ReduceMode, Scope, Use

_MODES: Mapping[str, ReduceMode] = MappingProxyType(
    {
        "reduce_row": ReduceMode.ROW,
        "reduce_column": ReduceMode.COLUMN,
        "reduce_both": ReduceMode.ROW_AND_COLUMN,
        "reduce_2x2": ReduceMode.TWO_BY_TWO,
    }
)
_USES: Mapping[str, tuple[Use, Use]] = MappingProxyType(
    {
        "convert": (Use.ACCUMULATOR, Use.ACCUMULATOR),
        "convert_a": (Use.A, Use.A),
        "convert_to_a": (Use.ACCUMULATOR, Use.A),
    }
)
_MOST_TERMS = 256
"""The most elements of a sum whose order is searched."""


@dataclass(frozen=True)
class OneOperand:
    """A reduction by addition, or a conversion, of matrices at subgroup scope.

    Attributes:
        kind: what it does, and to matrices of which use.
        rows, columns: of its operand.
        a: the component type of its operand.
        result: the component type of its result.
        saturating: whether a conversion is decorated with SaturatedToLargestFloat8NormalConversionEXT.
    """

    kind: str
    rows: int
    columns: int
    a: ComponentType
    result: ComponentType
    saturating: bool = False

    def __str__(self) -> str:
        return f"{self.kind}.{self.rows}x{self.columns}.{self.a}.{self.result}" + (".sat" if self.saturating else "")

    @property
    def mode(self) -> ReduceMode | None:
        """The mode of a reduction."""
        return _MODES.get(self.kind)

    @property
    def k(self) -> int:
        """How many elements make one result."""
        by_mode = {"reduce_row": self.columns, "reduce_column": self.rows, "reduce_both": self.rows * self.columns, "reduce_2x2": 4}
        return by_mode.get(self.kind, 1)

    @property
    def m(self) -> int:
        """How many results one matrix has. The elements of a reduced row, column or matrix count as one."""
        return self.rows * self.columns // self.k

    n = 1

    @property
    def b(self) -> ComponentType:
        """The type of the ones."""
        return self.a

    @property
    def c(self) -> ComponentType:
        """The type of the zero."""
        return self.a

    @property
    def types(self) -> tuple[MatrixType, MatrixType]:
        """The types of the operand and of the result."""
        before, after = _USES.get(self.kind, _USES["convert"])
        halves = 2 if self.kind == "reduce_2x2" else 1
        operand = MatrixType(self.a, Scope.SUBGROUP, self.rows, self.columns, before)
        return operand, MatrixType(self.result, Scope.SUBGROUP, self.rows // halves, self.columns // halves, after)

    def matrices(self, elements: np.ndarray) -> np.ndarray:
        """Return matrices, (n, rows, columns), with the elements of each result, (n, m, k)."""
        if self.kind == "reduce_column":
            return elements.swapaxes(1, 2)
        if self.kind == "reduce_2x2":
            return elements.reshape(-1, self.rows // 2, self.columns // 2, 2, 2).swapaxes(2, 3).reshape(-1, self.rows, self.columns)
        return elements.reshape(-1, self.rows, self.columns)

    def results(self, matrices: np.ndarray) -> np.ndarray:
        """Return the results, (n, m, 1), in matrices: the first of each that are equal."""
        first = {"reduce_row": np.s_[:, :, 0], "reduce_column": np.s_[:, 0], "reduce_both": np.s_[:, 0, 0]}.get(self.kind, np.s_[:])
        return np.asarray(matrices[first]).reshape(len(matrices), self.m, 1)


Row = PropertyRow | OneOperand

_TEXT = re.compile(r"(\w+)\.([1-9]\d{0,3})x([1-9]\d{0,3})\.(\w+)\.(\w+?)(\.sat)?")


def parse(text: str) -> Row:
    """Return the row, reduction or conversion that a text names.

    Raises:
        CasebookError: it names none.
    """
    match = _TEXT.fullmatch(text)
    if match is None or match[1] not in {*_MODES, *_USES}:
        return parse_row(text)
    types = [COMPONENT_TYPES.get(name) for name in match.group(4, 5)]
    if types[0] is None or types[1] is None or not (types[0].is_float and types[1].is_float):
        raise CasebookError(f"'{text}' names a type that is none of floats")
    found = OneOperand(match[1], int(match[2]), int(match[3]), types[0], types[1], match[6] is not None)
    odd = found.kind == "reduce_2x2" and (found.rows | found.columns) % 2
    if odd or found.k > _MOST_TERMS or (found.mode is not None and found.a is not found.result):
        raise CasebookError(f"'{text}' is no reduction of at most {_MOST_TERMS} elements to one of their type")
    return found


def one_operand_rows(described: Iterable[MatrixRow], every: bool = False) -> tuple[OneOperand, ...]:
    """Return reductions and conversions of matrices that rows of exact sizes at subgroup scope have, without f64: one for each mode or
    pair of types, of the largest matrix, or of the smallest where its elements make one result; or all. Flexible rows give only the
    matrices that 2x2 reductions halve."""
    types: dict[tuple[Use, int, int], set[ComponentType]] = {}
    steps: set[tuple[int, int, str]] = set()
    for row in described:
        if row.scope == Scope.SUBGROUP and row.flexible:
            steps |= {(row.m, row.n, row.c), (row.m, row.n, row.result)}
        elif row.scope == Scope.SUBGROUP:
            of = ((Use.A, row.k, row.a), (Use.ACCUMULATOR, row.n, row.c), (Use.ACCUMULATOR, row.n, row.result))
            for use, columns, name in of:
                if COMPONENT_TYPES[name].is_float and name != "f64":
                    types.setdefault((use, row.m, columns), set()).add(COMPONENT_TYPES[name])
    found = []
    for (use, rows, columns), sources in types.items():
        if use is Use.ACCUMULATOR:
            found += [OneOperand(mode, rows, columns, one, one) for mode in _MODES for one in sources if mode != "reduce_2x2"]
            whole = {COMPONENT_TYPES[name] for m, n, name in steps if not (2 * rows % m or 2 * columns % n)}
            whole |= types.get((use, 2 * rows, 2 * columns), set())
            found += [OneOperand("reduce_2x2", 2 * rows, 2 * columns, one, one) for one in sources & whole]
        for kind, uses in _USES.items():
            targets = types.get((uses[1], rows, columns), set()) if uses[0] is use else set()
            pairs = [(source, target) for source in sources for target in targets if source is not target]
            found += [OneOperand(kind, rows, columns, *pair) for pair in pairs]
            found += [OneOperand(kind, rows, columns, *pair, True) for pair in pairs if is_float8(pair[1])]
    kinds = (*_MODES, *_USES)
    found.sort(key=lambda one: (kinds.index(one.kind), one.m if one.kind == "reduce_both" else -one.rows * one.columns, one.k, str(one)))
    chosen: dict[object, OneOperand] = {}
    for one in found:
        if one.k <= _MOST_TERMS:
            chosen.setdefault(one if every else (one.mode, one.a, one.result, one.saturating), one)
    return tuple(chosen.values())
