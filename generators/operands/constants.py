"""What the families of specialization constants share: the values of a case's pipelines, and constants that hold one of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from generators.errors import GeneratorError
from generators.parameters.vocabulary import Values
from generators.program.builder import U32, ProgramBuilder
from generators.program.program import Program
from generators.program.values import Operand
from generators.types import ComponentType, Layout, Scope, Use

FROM = ("specialization", "literal")
"""Where a constant comes from."""


def labels(value: object) -> tuple[str, ...]:
    """The parts of ``a+b+c``: one for each pipeline of the module."""
    return tuple(str(value).split("+"))


def pipelines(values: Values, varying: Sequence[str]) -> list[dict[str, str]]:
    """For each pipeline of a case, the labels of the axes ``varying``: as many as the axis with most parts has; the others repeat
    theirs."""
    parts = {name: labels(values[name]) for name in varying}
    return [{name: part[i % len(part)] for name, part in parts.items()} for i in range(max(map(len, parts.values())))]


def described(pipeline: Mapping[str, str], values: Values) -> str:
    """The label of a pipeline: what varies among those of its module; empty if nothing does."""
    return ",".join(f"{name}={part}" for name, part in pipeline.items() if len(labels(values[name])) > 1)


def together(programs: Sequence[Program]) -> Program:
    """One program with the others that share its module."""
    return replace(programs[0], others=tuple(programs[1:]))


def default_among(candidates: Sequence[int], taken: Sequence[int]) -> int:
    """The first candidate that is not taken; the first of all where all are."""
    return next((candidate for candidate in candidates if candidate not in taken), candidates[0])


def other_extent(taken: Sequence[int]) -> int:
    """A number of rows or columns that is not taken."""
    return next(n for n in range(8, 8 * (len(taken) + 2), 8) if n not in taken)


@dataclass(frozen=True)
class Constants:
    """Gives out what a program's types and instructions take: literals and specialization constants.

    Attributes:
        builder: of the program.
        values: where each constant comes from, by the axis of its kind (``rows_from`` …).
    """

    builder: ProgramBuilder
    values: Values

    def number(self, kind: str, name: str, value: int, default: int) -> int | Operand:
        """An extent called ``name``, from where the axis ``kind``_from says."""
        return value if self.values[f"{kind}_from"] == "literal" else self.builder.operand(name, U32, "specialization", value, default)

    def scalar(self, kind: str, name: str, value: int, default: int) -> Operand:
        """The same for the operand of an instruction."""
        return self.builder.operand(name, U32, self.values[f"{kind}_from"], value, default)

    def scope(self, value: Scope, default: int) -> Scope | Operand:
        """The scope of the program's matrices."""
        found = self.number("scope", "matrix_scope", value, default)
        return found if isinstance(found, Operand) else value

    def use(self, name: str, value: Use, default: int) -> Use | Operand:
        """A use called ``name``."""
        found = self.number("use", name, value, default)
        return found if isinstance(found, Operand) else value

    def layout(self, name: str, value: Layout, default: int) -> Layout | Operand:
        """A memory layout called ``name``."""
        found = self.number("layout", name, value, default)
        return found if isinstance(found, Operand) else value


@dataclass(frozen=True)
class Room:
    """The place of a matrix, in components: ``stride`` between its lines, and what it takes from its first to its last element."""

    stride: int
    span: int


def room(component: ComponentType, shape: tuple[int, int], layout: Layout, padding: int, least: int = 0) -> Room:
    """Lines ``padding`` granules of 16 bytes apart, or ``least`` components if that is more (KHR-ALIGN-01 asks for 16 bytes at most)."""
    lines, line = shape if layout is Layout.ROW_MAJOR else (shape[1], shape[0])
    granule = granule_of(component)
    stride = max(-(-line // granule) * granule + padding * granule, least)
    return Room(stride, stride * (lines - 1) + line)


def granule_of(component: ComponentType) -> int:
    """Components in 16 bytes."""
    return max(1, 16 // component.bytes)


def rounded_up(count: int, component: ComponentType) -> int:
    """``count`` components, to whole 16 bytes."""
    granule = granule_of(component)
    return math.ceil(count / granule) * granule


def parse_shape(text: str) -> tuple[int, int]:
    """Rows and columns of ``RxC``.

    Raises:
        GeneratorError: it is none.
    """
    rows, by, columns = text.partition("x")
    if not by or not rows.isdecimal() or not columns.isdecimal():
        raise GeneratorError(f"'{text}' is no shape; write rows x columns, for example 16x8")
    return int(rows), int(columns)


def counts_instances(values: Values) -> bool:
    """The instance of a scope that is not known cannot be counted."""
    return len(set(labels(values["scope"]))) == 1 or str(values["subgroups"]) == "1"
