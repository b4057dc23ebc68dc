"""Writes tensor layouts and views of a case, with operands from the source that the case asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from generators.layouts.matrix_arrays import Tiles
from generators.program.builder import U32, ProgramBuilder
from generators.program.tensor import LayoutCreate, LayoutSet, LayoutSetting, ViewCreate, ViewSet, ViewSetting
from generators.program.values import ScalarValue, Source, TensorLayout, TensorLayoutType, TensorView, TensorViewType, Value
from generators.types import COMPONENT_TYPES

S32 = COMPONENT_TYPES["s32"]
_WORD = 1 << 32

CLAMP_VALUE = 0x8F5A3B6C
"""Its low 8, 16 and 32 bits are finite in every float type and differ from one another in value and sign."""


@dataclass(frozen=True)
class DispatchNumber:
    """A number that differs in some dispatches of the pipeline.

    Attributes:
        usual: the number in most dispatches; the only number if operands do not come at run time.
        other: the number in the other dispatches.
    """

    usual: int
    other: int

    def __sub__(self, number: int) -> DispatchNumber:
        return DispatchNumber(self.usual - number, self.other - number)


Number = int | DispatchNumber
LayoutStep = tuple[LayoutSetting, Sequence[Number | ScalarValue]]
ViewStep = tuple[ViewSetting, Sequence[Number | ScalarValue]]
"""A setting and its operands; numbers become operands from the writer's source."""


def interleaved(offsets: Sequence[int], spans: Sequence[int]) -> tuple[int, ...]:
    """Return the operands of a slice: the offset and span of each dimension in turn."""
    return tuple(n for pair in zip(offsets, spans, strict=True) for n in pair)


def slice_step(offsets: Sequence[int], spans: Sequence[int]) -> LayoutStep:
    """Return the step that selects a slice."""
    return "slice", interleaved(offsets, spans)


def matrix_steps(tiles: Tiles) -> list[LayoutStep]:
    """Return the steps that make a tensor of one of the matrices of ``tiles``, which are row-major."""
    return [("dimension", (tiles.rows, tiles.columns)), ("stride", (tiles.stride, 1))]


def varying_steps(usual: Sequence[LayoutStep], other: Sequence[LayoutStep]) -> tuple[LayoutStep, ...]:
    """Return the steps of a layout whose numbers are ``usual`` in most dispatches and ``other`` in the others, with the same settings."""

    def varying(one: Number | ScalarValue, another: Number | ScalarValue) -> Number | ScalarValue:
        if one == another:
            return one
        assert isinstance(one, int), "only numbers differ"
        assert isinstance(another, int), "only numbers differ"
        return DispatchNumber(one, another)

    return tuple(
        (setting, tuple(varying(one, another) for one, another in zip(numbers, others, strict=True)))
        for (setting, numbers), (_, others) in zip(usual, other, strict=True)
    )


class TensorWriter:
    """Writes layouts and views.

    Args:
        builder: gets the operations.
        source: the source of numbers.
        signed: whether they are s32; offsets of slices always are.

    Attributes:
        other_operands: values of operands in dispatches with the other numbers, by name.
    """

    def __init__(self, builder: ProgramBuilder, source: Source, signed: bool = False) -> None:
        self.builder = builder
        self.source = source
        self.signed = signed
        self.other_operands: dict[str, int] = {}

    def number(self, name: str, number: Number, signed: bool | None = None, default: int | None = None) -> ScalarValue:
        """Return ``number``, modulo 2^32, from the writer's source. A specialization constant has a different ``default``; None for the
        next number."""
        component = S32 if (self.signed if signed is None else signed) else U32
        value, other = (number.usual, number.other) if isinstance(number, DispatchNumber) else (number, number)
        value %= _WORD
        if self.source == "literal":
            return self.builder.literal(value, component)
        if self.source != "specialization":
            self.other_operands[name] = other % _WORD
        return self.builder.operand(name, component, self.source, value, (value + 1 if default is None else default) % _WORD)

    def numbers(self, name: str, setting: str, values: Sequence[Number | ScalarValue]) -> tuple[ScalarValue, ...]:
        """Return the operands of a setting; numbers come from the writer's source."""
        return tuple(
            self.number(f"{name}_{setting}_{i}", value, True if setting == "slice" and i % 2 == 0 else None)
            if isinstance(value, int | DispatchNumber)
            else value
            for i, value in enumerate(values)
        )

    def created(self, name: str, type_: TensorLayoutType) -> TensorLayout:
        """Create a new layout."""
        return self.builder.result_of(LayoutCreate(Value(name, type_)))

    def changed(self, name: str, layout: TensorLayout, *steps: LayoutStep) -> TensorLayout:
        """Return ``layout`` after ``steps``; each step's result is called ``name`` with the index of the step."""
        for i, (setting, values) in enumerate(steps):
            result = Value(f"{name}_{i}", layout.type)
            self.builder.add(LayoutSet(result, layout, setting, self.numbers(result.name, setting, values)))
            layout = result
        return layout

    def layout(self, name: str, type_: TensorLayoutType, *steps: LayoutStep) -> TensorLayout:
        """Return a new layout after ``steps``."""
        return self.changed(name, self.created(f"{name}_new", type_), *steps)

    def view(self, name: str, type_: TensorViewType, *steps: ViewStep) -> TensorView:
        """Return a new view after ``steps``."""
        view = self.builder.result_of(ViewCreate(Value(f"{name}_new", type_)))
        for i, (setting, values) in enumerate(steps):
            result = Value(f"{name}_{i}", type_)
            self.builder.add(ViewSet(result, view, setting, self.numbers(result.name, setting, values)))
            view = result
        return view
