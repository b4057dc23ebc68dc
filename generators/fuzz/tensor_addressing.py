"""A random tensor addressing as data, and its program: one matrix is loaded or stored through a layout and perhaps a view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from generators.layouts.block_decoders import BlockArguments, Element, given_element, hash_bits, hashed, top_bits
from generators.layouts.block_formats import U32, word
from generators.layouts.matrix_arrays import matrix_in, matrix_out
from generators.layouts.tensor_writer import TensorWriter
from generators.layouts.tensors import pattern_contents, tensor_array
from generators.layouts.vector_decoders import element_of_group
from generators.operands.run_time import usual_operands
from generators.program.builder import ProgramBuilder
from generators.program.expressions import Binary, BlockRead, Converted, Expression, element_function, vector_function
from generators.program.functions import Function
from generators.program.program import Program, Subcase
from generators.program.tensor import LayoutSetting, ViewSetting
from generators.program.tensor_access import POINTER_ALIGNMENT
from generators.program.values import ArrayType, BlockMember, BlockType, MatrixType, Source, TensorLayoutType, TensorViewType, Value
from generators.types import COMPONENT_TYPES, ClampMode, ComponentType, Scope, StorageClass, Use

CAPACITY = 8192
"""Number of elements in the array that contains the tensor."""

Step = tuple[LayoutSetting, tuple[int, ...]]
ViewStep = tuple[ViewSetting, tuple[int, ...]]


@dataclass(frozen=True)
class View:
    """A view: its type, and its settings with their operands in order."""

    permutation: tuple[int, ...]
    has_dimensions: bool
    steps: tuple[ViewStep, ...] = ()


@dataclass(frozen=True)
class Groups:
    """Two decode functions of a load, one for single elements and one for groups.

    Attributes:
        lanes: number of elements in a group: 2, 4 or 8.
        differ: whether the functions give different elements.
    """

    lanes: int
    differ: bool


@dataclass(frozen=True)
class Addressing:
    """One drawn addressing.

    Attributes:
        component, rows, columns, use: the type of the matrix, at subgroup scope.
        access: ``load`` or ``store``.
        rank, mode: the rank and the clamp mode of the layout's type.
        steps: the layout's settings with their operands in order; negative offsets are negative here.
        view: None for none.
        first: the start of the tensor, in units of the pointer's alignment.
        source: the run-time source of all numbers in the shader.
        storage: the storage class of the array that contains the tensor.
        groups: the decode functions of a load; None for none.
    """

    component: str
    rows: int
    columns: int
    use: Use
    access: str
    rank: int
    mode: ClampMode
    steps: tuple[Step, ...]
    view: View | None = None
    first: int = 0
    source: Source = "buffer"
    storage: StorageClass = StorageClass.STORAGE_BUFFER
    groups: Groups | None = None

    @property
    def form(self) -> Addressing:
        """The input that decides the module: the addressing without its run-time numbers."""
        view = None
        if self.view is not None:
            view = replace(self.view, steps=tuple((setting, (0,) * len(values)) for setting, values in self.view.steps))
        return replace(self, steps=tuple((setting, (0,) * len(values)) for setting, values in self.steps), view=view, first=0)

    @property
    def matrix(self) -> MatrixType:
        """The type of the matrix."""
        return MatrixType(COMPONENT_TYPES[self.component], Scope.SUBGROUP, self.rows, self.columns, self.use)


@dataclass(frozen=True)
class Written:
    """The program of an addressing's form, and the numbers of that addressing by operand name."""

    program: Program
    operands: Mapping[str, int]


def write(addressing: Addressing) -> Written:
    """Write equal programs for addressings of one form, so they share a pipeline."""
    builder = ProgramBuilder(Scope.SUBGROUP)
    writer = TensorWriter(builder, addressing.source)
    component, load = COMPONENT_TYPES[addressing.component], addressing.access == "load"
    tensor = tensor_array(builder, "source" if load else "target", component, CAPACITY, addressing.storage, not load)
    matrix = matrix_in(builder, "old" if load else "source", addressing.matrix)
    layout = writer.layout("layout", TensorLayoutType(addressing.rank, addressing.mode), *addressing.steps)
    view = None
    if addressing.view is not None:
        type_ = TensorViewType(addressing.view.permutation, addressing.view.has_dimensions)
        view = writer.view("view", type_, *addressing.view.steps)
    first = writer.number("first", addressing.first * (POINTER_ALIGNMENT // component.bytes), signed=False)
    if load:
        functions = (None, None) if addressing.groups is None else _functions(component, addressing.rank, addressing.groups)
        matrix_out(builder, "target", tensor.load("matrix", addressing.matrix, first, matrix, layout, view, None, *functions))
    else:
        tensor.store(matrix, first, layout, view)
        tensor.finish(builder)
    program = builder.build()
    return Written(program, usual_operands(program))


def _functions(component: ComponentType, rank: int, groups: Groups) -> tuple[Function, Function]:
    """Return two functions that hash an element's coordinates and its block, which has the size of a component."""
    unsigned = COMPONENT_TYPES[f"u{component.bits}"]
    block = BlockType("Unit", (BlockMember(unsigned, 0),), unsigned.bytes)

    def given(prefix: str) -> BlockArguments:
        arrays = (Value(f"{prefix}_{which}", ArrayType(U32, rank)) for which in ("coordinates", "within"))
        return BlockArguments(Value(f"{prefix}_block", block), *arrays)

    def value(element: Element, mark: int) -> Expression:
        both = Binary("add", hashed(*element.block, *element.within), Converted(U32, BlockRead(element.pointer, 0)))
        bits = hash_bits(component)
        if groups.differ:
            marked = Binary("or", Binary("shift_left", top_bits(both, bits - 1), word(1)), word(mark))
            return Converted(component, marked)
        return Converted(component, top_bits(both, bits))

    alone, together = given("one"), given("group")
    first = given_element(together)
    every = [value(element_of_group(first, groups.lanes, word(lane)), 1) for lane in range(groups.lanes)]
    return element_function("decode", alone.in_order, value(given_element(alone), 0)), vector_function(
        "decode_group", together.in_order, every
    )


def data(program: Program, component: str, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw random bits for every input array, by name; uint8."""
    type_ = COMPONENT_TYPES[component]
    return {array.name: pattern_contents(array, type_, "bits", rng) for array in program.arrays if array.role == "input"}


def subcase(name: str, written: Written, inputs: Mapping[str, np.ndarray]) -> Subcase:
    """Return the dispatch of an addressing."""
    return Subcase(name, inputs, written.operands)


def describe(addressing: Addressing) -> str:
    """Return a line for each part, for readers: the operands that the shader takes from outside."""
    lines = [
        f"{addressing.access} of {addressing.component} {addressing.rows}x{addressing.columns} use {addressing.use.name}, "
        f"clamp mode {addressing.mode.name}, {addressing.storage.value}, tensor at {addressing.first * POINTER_ALIGNMENT} bytes",
        *([] if addressing.groups is None else [_described(addressing.groups)]),
        *(f"  layout {setting} {_numbers(values)}" for setting, values in addressing.steps),
    ]
    if addressing.view is not None:
        own = "dimensions of its own" if addressing.view.has_dimensions else "no dimensions of its own"
        lines.append(f"  view of permutation {_numbers(addressing.view.permutation)}, {own}")
        lines += [f"  view {setting} {_numbers(values)}" for setting, values in addressing.view.steps]
    return "\n".join(lines)


def _described(groups: Groups) -> str:
    return f"  decode functions of 1 and {groups.lanes} elements, which {'differ' if groups.differ else 'agree'}"


def _numbers(values: Sequence[int]) -> str:
    return "(" + ", ".join(map(str, values)) + ")"
