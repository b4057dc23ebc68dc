"""Writes tensor layouts and views of a case, with operands from the source that the case asks for."""

from __future__ import annotations

from collections.abc import Sequence

from generators.program.builder import U32, ProgramBuilder
from generators.program.tensor import (
    LayoutCreate,
    LayoutSet,
    LayoutSetting,
    TensorLayout,
    TensorLayoutType,
    TensorView,
    TensorViewType,
    ViewCreate,
    ViewSet,
    ViewSetting,
)
from generators.program.values import ScalarValue, Source
from generators.types import COMPONENT_TYPES

S32 = COMPONENT_TYPES["s32"]
_WORD = 1 << 32

CLAMP_VALUE = 0x8F5A3B6C
"""Its low 8, 16 and 32 bits are finite in every float type and differ from one another in value and sign."""

LayoutStep = tuple[LayoutSetting, Sequence[int | ScalarValue]]
ViewStep = tuple[ViewSetting, Sequence[int | ScalarValue]]
"""A setting and its operands; numbers become operands from the writer's source."""


def interleaved(offsets: Sequence[int], spans: Sequence[int]) -> tuple[int, ...]:
    """The operands of a slice: offset and span of each dimension in turn."""
    return tuple(n for pair in zip(offsets, spans, strict=True) for n in pair)


def slice_step(offsets: Sequence[int], spans: Sequence[int]) -> LayoutStep:
    """The step that takes a slice."""
    return "slice", interleaved(offsets, spans)


class TensorWriter:
    """Writes layouts and views.

    Args:
        builder: gets the operations.
        source: where numbers come from.
        signed: whether they are s32; offsets of slices always are.

    Attributes:
        operands: values of the operands that a subcase must give, by name.
    """

    def __init__(self, builder: ProgramBuilder, source: Source, signed: bool = False) -> None:
        self.builder = builder
        self.source = source
        self.signed = signed
        self.operands: dict[str, int] = {}

    def number(self, name: str, value: int, signed: bool | None = None, default: int | None = None) -> ScalarValue:
        """``value`` from the writer's source; modulo 2^32. A specialization constant has another ``default``, the next number if None."""
        component = S32 if (self.signed if signed is None else signed) else U32
        value %= _WORD
        if self.source == "literal":
            return self.builder.literal(value, component)
        operand = self.builder.operand(name, component, self.source, value, (value + 1 if default is None else default) % _WORD)
        if self.source != "specialization":
            self.operands[name] = value
        return operand

    def numbers(self, name: str, setting: str, values: Sequence[int | ScalarValue]) -> tuple[ScalarValue, ...]:
        """Operands of a setting, from the writer's source where they are numbers."""
        return tuple(
            self.number(f"{name}_{setting}_{i}", value, True if setting == "slice" and i % 2 == 0 else None)
            if isinstance(value, int)
            else value
            for i, value in enumerate(values)
        )

    def created(self, name: str, type_: TensorLayoutType) -> TensorLayout:
        """A new layout."""
        result = TensorLayout(name, type_)
        self.builder.add(LayoutCreate(result))
        return result

    def changed(self, name: str, layout: TensorLayout, *steps: LayoutStep) -> TensorLayout:
        """``layout`` after ``steps``, called ``name`` with the number of the step."""
        for i, (setting, values) in enumerate(steps):
            result = TensorLayout(f"{name}_{i}", layout.type)
            self.builder.add(LayoutSet(result, layout, setting, self.numbers(result.name, setting, values)))
            layout = result
        return layout

    def layout(self, name: str, type_: TensorLayoutType, *steps: LayoutStep) -> TensorLayout:
        """A new layout after ``steps``."""
        return self.changed(name, self.created(f"{name}_new", type_), *steps)

    def view(self, name: str, type_: TensorViewType, *steps: ViewStep) -> TensorView:
        """A new view after ``steps``."""
        view = TensorView(f"{name}_new", type_)
        self.builder.add(ViewCreate(view))
        for i, (setting, values) in enumerate(steps):
            result = TensorView(f"{name}_{i}", type_)
            self.builder.add(ViewSet(result, view, setting, self.numbers(result.name, setting, values)))
            view = result
        return view
