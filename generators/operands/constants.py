"""Specialization constants: parameters with a value for each pipeline of a module, and constants that hold one of these values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Generic, Literal, TypeVar

from generators.program.builder import U32, ProgramBuilder
from generators.program.program import Program
from generators.program.values import Operand
from generators.types import Layout, Scope, Use

T = TypeVar("T")

ConstantSource = Literal["specialization", "literal"]
"""Sources of a constant."""

CACHES: Mapping[str, bool] = MappingProxyType({"none": False, "round_trip": True})
"""Whether pipelines are made from the data of a pipeline cache that has them already."""


SUBMISSIONS: Mapping[str, bool] = MappingProxyType({"apart": False, "in_turn": True})
"""Whether the pipelines of a module run their dispatches in turn, in one submission."""


@dataclass(frozen=True)
class Varying(Generic[T]):
    """The values of a parameter in the pipelines of one module.

    Attributes:
        values: the values, in order; a module with more pipelines repeats them.
        words: their names in the YAML.
    """

    values: tuple[T, ...]
    words: tuple[str, ...]

    def of(self, pipeline: int) -> T:
        """Return the value in a pipeline, by its index."""
        return self.values[pipeline % len(self.values)]

    def word(self, pipeline: int) -> str:
        """Return the YAML's name of the value in a pipeline."""
        return self.words[pipeline % len(self.words)]

    @property
    def is_single(self) -> bool:
        """Tell whether there is one value for all pipelines."""
        return len(self.values) == 1

    @property
    def varies(self) -> bool:
        """Tell whether two pipelines have different values."""
        return len(set(self.values)) > 1


def varying(decode: Callable[[str], T]) -> Callable[[str], Varying[T]]:
    """Return a decoder of ``a+b``, one value for each pipeline. ``decode`` decodes one of them, and may raise the same errors as a
    parameter's ``decode``."""

    def decode_all(text: str) -> Varying[T]:
        words = tuple(text.split("+"))
        return Varying(tuple(map(decode, words)), words)

    return decode_all


def varying_among(labels: Mapping[str, T]) -> Callable[[str], Varying[T]]:
    """Return a decoder of ``a+b``, with keys of ``labels``, one for each pipeline; the decoder raises ValueError."""

    def decode(word: str) -> T:
        if word not in labels:
            raise ValueError(f"expected {', '.join(labels)}, or a+b for several pipelines")
        return labels[word]

    return varying(decode)


def pipeline_labels(parameters: Mapping[str, Varying[Any]]) -> list[str]:
    """Return a label for each pipeline of a module: the varying values by name; empty if none varies.

    The number of pipelines is the largest number of values of a parameter.
    """
    named = [(name, parameter) for name, parameter in parameters.items() if not parameter.is_single]
    count = max(len(parameter.values) for parameter in parameters.values())
    return [",".join(f"{name}={parameter.word(pipeline)}" for name, parameter in named) for pipeline in range(count)]


def together(programs: Sequence[Program], in_turn: bool = False) -> Program:
    """Return one program together with the others that share its module. ``in_turn``: whether they run in one submission."""
    return replace(programs[0], others=tuple(programs[1:]), in_turn=in_turn)


def default_among(candidates: Sequence[int], taken: Sequence[int]) -> int:
    """Return the first candidate that is not taken; if all are taken, the first one."""
    return next((candidate for candidate in candidates if candidate not in taken), candidates[0])


def other_extent(taken: Sequence[int]) -> int:
    """Return a number of rows or columns that is not taken."""
    return next(n for n in range(8, 8 * (len(taken) + 2), 8) if n not in taken)


@dataclass(frozen=True)
class Constants:
    """Supplies the literals and specialization constants of a program's types and instructions.

    Attributes:
        builder: the builder of the program.
    """

    builder: ProgramBuilder

    def number(self, source: ConstantSource, name: str, value: int, default: int) -> int | Operand:
        """Return an extent called ``name``."""
        return value if source == "literal" else self.scalar(source, name, value, default)

    def scalar(self, source: ConstantSource, name: str, value: int, default: int) -> Operand:
        """Return the operand of an instruction."""
        return self.builder.operand(name, U32, source, value, default)

    def scope(self, source: ConstantSource, value: Scope, default: int) -> Scope | Operand:
        """Return the scope of the program's matrices."""
        return value if source == "literal" else self.scalar(source, "matrix_scope", value, default)

    def use(self, source: ConstantSource, name: str, value: Use, default: int) -> Use | Operand:
        """Return a use called ``name``."""
        return value if source == "literal" else self.scalar(source, name, value, default)

    def layout(self, source: ConstantSource, name: str, value: Layout, default: int) -> Layout | Operand:
        """Return a memory layout called ``name``."""
        return value if source == "literal" else self.scalar(source, name, value, default)


def counts_instances(scope: Varying[Scope], subgroups: Varying[int]) -> bool:
    """Tell whether a shader can number its scope instances: it cannot if the scope is unknown."""
    return not scope.varies or subgroups.values == (1,)
