"""The ways in which a program obtains and uses the layouts for its tensor accesses."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

from generators.families.nv_cooperative_matrix2.tensor_layout.moves import Moves, MoveSetup
from generators.families.nv_cooperative_matrix2.tensor_layout.regions import OTHER_CLAMP_VALUE
from generators.layouts.matrix_arrays import Tiles, granule_of, matrix_source, matrix_target
from generators.layouts.sliced_tensors import SlicedTensor, counts_of
from generators.layouts.tensor_writer import CLAMP_VALUE, DispatchNumber, LayoutStep, Number, interleaved, slice_step
from generators.layouts.tensors import Tensor, tensor_array
from generators.program.builder import U32
from generators.program.control_flow import Condition
from generators.program.functions import Function, PointerParameter
from generators.program.tensor import LayoutSet, LayoutSetting
from generators.program.values import (
    ArrayType,
    Scalar,
    ScalarValue,
    TensorLayout,
    TensorLayoutType,
    Value,
    is_matrix,
    is_tensor_layout,
)
from generators.program.variables import Variable
from generators.types import Layout

_TILES = 3
"""Number of slices that a loop visits."""
_STRIDED_BYTES = 48
"""An ArrayStride that differs from the size of every pointee."""


@dataclass(frozen=True)
class LayoutSetup:
    """How a layout is set up: the last of ``steps`` makes it describe ``region``."""

    region: SlicedTensor
    type: TensorLayoutType
    steps: tuple[LayoutStep, ...]


@dataclass(frozen=True, eq=False)
class LayoutForm:
    """How a program obtains and uses its layouts.

    Attributes:
        write: writes layouts and accesses.
        slices: adjacent slices that each scope instance accesses in turn.
        in_one_tensor: whether all scope instances share one tensor and access adjacent slices of it.
        own_shapes: whether the strides or dimensions differ between scope instances.
        copy: the setting that makes another layout from the layout, both of which are used; None if there is none.
    """

    write: Callable[[Moves, LayoutSetup], None]
    slices: int = 1
    in_one_tensor: bool = False
    own_shapes: bool = False
    copy: LayoutSetting | None = None

    @property
    def tiles(self) -> int:
        """Number of matrices of each scope instance."""
        return self.slices if self.copy is None else 2

    def tensor_elements(self, region: SlicedTensor, instances: int) -> int:
        """Return the number of elements in memory of the longest tensor."""
        if self.own_shapes:
            return replace(region, strides=(region.strides[0] + instances - 1, *region.strides[1:])).elements
        if self.copy == "dimension":
            return max(region.elements, math.prod(counts_of(_copied_sizes(region), region.blocks)))
        return 2 * region.elements if self.copy == "stride" else region.elements


def _made(moves: Moves, setup: LayoutSetup) -> TensorLayout:
    """Return the layout after all steps."""
    return moves.given.writer.layout("layout", setup.type, *setup.steps)


def _base(moves: Moves, setup: LayoutSetup) -> tuple[TensorLayout, LayoutStep]:
    """Return the layout before its last step, and that step."""
    return moves.given.writer.layout("base", setup.type, *setup.steps[:-1]), setup.steps[-1]


def _got(moves: Moves, name: str, variable: Variable, *path: ScalarValue) -> TensorLayout:
    layout = moves.builder.get(name, variable, *path)
    assert is_tensor_layout(layout), "the variable holds layouts"
    return layout


def _direct(moves: Moves, setup: LayoutSetup) -> None:
    moves.move(_made(moves, setup))


def _held(moves: Moves, setup: LayoutSetup, private: bool) -> None:
    """Keep the layout after each step in a variable, and begin each step with the variable's value."""
    writer = moves.given.writer
    variable = moves.builder.variable("variable", setup.type, "private" if private else "function")
    moves.builder.set(variable, (), writer.created("new", setup.type))
    for i, step in enumerate(setup.steps):
        moves.builder.set(variable, (), writer.changed(f"step{i}", _got(moves, f"held{i}", variable), step))
    moves.move(_got(moves, "held", variable))


def _array(moves: Moves, setup: LayoutSetup) -> None:
    """Keep the layout in an array, between two copies of the layout before the last step; a run-time index selects it."""
    builder, writer = moves.builder, moves.given.writer
    variable = builder.variable("variables", ArrayType(setup.type, 3))
    base, last = _base(moves, setup)
    for i, layout in enumerate((base, writer.changed("layout", base, last), base)):
        builder.set(variable, (i,), layout)
    moves.move(_got(moves, "held", variable, writer.number("index", 1, signed=False)))


def _branch(moves: Moves, setup: LayoutSetup) -> None:
    """Give scope instance 0 the slice and the others the adjacent slice, each from an arm of a branch."""
    builder, writer = moves.builder, moves.given.writer
    base, (setting, values) = _base(moves, setup)
    variable = builder.variable("variable", setup.type)
    with builder.arm() as then:
        builder.set(variable, (), writer.changed("then", base, (setting, values)))
    with builder.arm() as otherwise:
        builder.set(variable, (), writer.changed("otherwise", base, (setting, (_known(values[0]) - 1, *values[1:]))))
    builder.branch(Condition(builder.instance_index(), "equal", builder.literal(0)), then, otherwise)
    moves.move(_got(moves, "held", variable))


def _scalars(numbers: Sequence[ScalarValue]) -> list[Scalar]:
    """Return parameters for operands."""
    return [Value(f"parameter{i}", number.type) for i, number in enumerate(numbers)]


def _in_function(moves: Moves, setup: LayoutSetup) -> None:
    """Pass the layout before the last step to a function that does that step and the access."""
    builder, writer = moves.builder, moves.given.writer
    base, (setting, values) = _base(moves, setup)
    numbers = writer.numbers("layout", setting, values)
    layout, begin, scalars = Value("parameter", setup.type), Value("begin", U32), _scalars(numbers)
    taken = Value("taken", moves.given.type)
    returned = None
    with builder.arm() as body:
        changed = builder.result_of(LayoutSet(Value("changed", setup.type), layout, setting, tuple(scalars)))
        if moves.given.is_load:
            returned = moves.read("inside", begin, changed)
        else:
            moves.write(begin, changed, taken)
    if returned is not None:
        loads = Function("loads", (layout, begin, *scalars), tuple(body), returned)
        result = builder.call("result", loads, [base, moves.begins[0], *numbers])
        assert is_matrix(result), "the function returns a matrix"
        moves.put("only", 0, result)
    else:
        stores = Function("stores", (layout, taken, begin, *scalars), tuple(body), None)
        builder.call("nothing", stores, [base, moves.take("only", 0), moves.begins[0], *numbers])


def _from_function(moves: Moves, setup: LayoutSetup) -> None:
    """Pass the layout before the last step to a function that returns the layout after it."""
    builder = moves.builder
    base, (setting, values) = _base(moves, setup)
    numbers = moves.given.writer.numbers("layout", setting, values)
    layout, changed, scalars = Value("parameter", setup.type), Value("changed", setup.type), _scalars(numbers)
    changes = Function("changes", (layout, *scalars), (LayoutSet(changed, layout, setting, tuple(scalars)),), changed)
    result = builder.call("result", changes, [base, *numbers])
    assert is_tensor_layout(result), "the function returns a layout"
    moves.move(result)


def _through_pointer(moves: Moves, setup: LayoutSetup) -> None:
    """Call a function that changes the layout in a variable of its caller."""
    builder = moves.builder
    base, (setting, values) = _base(moves, setup)
    numbers = moves.given.writer.numbers("layout", setting, values)
    parameter, changed, scalars = Variable("parameter", setup.type), Value("changed", setup.type), _scalars(numbers)
    with builder.arm() as body:
        builder.add(LayoutSet(changed, _got(moves, "inside", parameter), setting, tuple(scalars)))
        builder.set(parameter, (), changed)
    changes = Function("changes", (PointerParameter(parameter), *scalars), tuple(body), None)
    variable = builder.variable("variable", setup.type)
    builder.set(variable, (), base)
    builder.call("nothing", changes, [variable, *numbers])
    moves.move(_got(moves, "held", variable))


def _known(number: Number | ScalarValue) -> Number:
    assert isinstance(number, int | DispatchNumber), "the steps of a setup have numbers"
    return number


def _moving(moves: Moves, values: Sequence[Number | ScalarValue], index: Scalar, name: str) -> tuple[Number | ScalarValue, ...]:
    """Return the operands of a slice ``index`` spans further along the outermost dimension."""
    first, span, *rest = values
    assert isinstance(span, int), "spans are the same in every dispatch"
    start = moves.given.writer.number(f"{name}_start", _known(first), signed=False)
    return (moves.builder.offset(f"{name}_offset", start, index, span), span, *rest)


def _loop(moves: Moves, setup: LayoutSetup) -> None:
    """Slice the same layout in every iteration, at an offset computed from the loop's index."""
    builder, writer = moves.builder, moves.given.writer
    base, (_, values) = _base(moves, setup)
    index = Value("index", U32)
    # Operands are declared once, before the loop.
    trips = writer.number("trips", _TILES, signed=False)
    with builder.loop(index, trips, []):
        moves.move(writer.changed("layout", base, ("slice", _moving(moves, values, index, "slice"))), "tile", index)


def _accumulated(moves: Moves, setup: LayoutSetup) -> None:
    """Keep a layout in a variable, and slice it further in every iteration."""
    builder, writer = moves.builder, moves.given.writer
    base, (setting, values) = _base(moves, setup)
    region, index = setup.region, Value("index", U32)
    variable = builder.variable("variable", setup.type)
    builder.set(variable, (), writer.changed("start", base, (setting, (_known(values[0]) - region.spans[0], *values[1:]))))
    step = interleaved((region.spans[0], *[0] * (len(region.spans) - 1)), region.spans)
    with builder.loop(index, writer.number("trips", _TILES, signed=False), []):
        builder.set(variable, (), writer.changed("further", _got(moves, "held", variable), ("slice", step)))
        moves.move(_got(moves, "moved", variable), "tile", index)


def _by_instance(moves: Moves, setup: LayoutSetup) -> None:
    """Give each scope instance a different slice of one tensor."""
    base, (_, values) = _base(moves, setup)
    moved = _moving(moves, values, moves.builder.instance_index(), "slice")
    moves.move(moves.given.writer.changed("layout", base, ("slice", moved)))


def _shape_by_instance(moves: Moves, setup: LayoutSetup) -> None:
    """Give each scope instance a different outermost stride or, with default strides, a different innermost dimension."""
    builder, writer = moves.builder, moves.given.writer
    steps = list(setup.steps)
    which: LayoutSetting = "stride" if any(setting == "stride" for setting, _ in steps) else "dimension"
    at = max(i for i, (setting, _) in enumerate(steps) if setting == which)
    values = list(steps[at][1])
    place = 0 if which == "stride" else -1
    number = values[place]
    assert isinstance(number, int), "strides and dimensions are the same in every dispatch"
    least = number if which == "stride" else number - builder.instances + 1
    values[place] = builder.arithmetic("varied", "add", writer.number("least", least, signed=False), builder.instance_index())
    steps[at] = (which, values)
    moves.move(writer.layout("layout", setup.type, *steps))


def _clamp_value_by_instance(moves: Moves, setup: LayoutSetup) -> None:
    """Give each scope instance a different clamp value."""
    builder, writer = moves.builder, moves.given.writer
    steps = list(setup.steps)
    at = max(i for i, (setting, _) in enumerate(steps) if setting == "clamp_value")
    least = writer.number("least", CLAMP_VALUE, signed=False)
    steps[at] = ("clamp_value", (builder.arithmetic("varied", "add", least, builder.instance_index()),))
    moves.move(writer.layout("layout", setup.type, *steps))


def _copied_sizes(region: SlicedTensor) -> list[int]:
    """Return the dimensions of a layout that is made from another layout by setting new dimensions."""
    return [span + 2 + d for d, span in enumerate(region.spans)]


def _derived_step(setting: LayoutSetting, region: SlicedTensor) -> LayoutStep:
    rank = len(region.sizes)
    match setting:
        case "dimension":
            return "dimension", _copied_sizes(region)
        case "stride":
            return "stride", [2 * stride for stride in region.strides]
        case "slice":
            return slice_step((-1, *[0] * (rank - 1)), region.spans)
        case "clamp_value":
            return "clamp_value", (OTHER_CLAMP_VALUE,)
        case _:
            return "block_size", [2 + d for d in range(rank)]


def _copying(setting: LayoutSetting) -> LayoutForm:
    """Return the form that makes another layout by ``setting`` and uses both layouts, the new one first (TA-CPY-01)."""

    def write(moves: Moves, setup: LayoutSetup) -> None:
        layout = _made(moves, setup)
        derived = moves.given.writer.changed("derived", layout, _derived_step(setting, setup.region))
        moves.move(derived, "new", 0, len(moves.tensors) - 1)
        moves.move(layout, "old", 1)

    return LayoutForm(write, copy=setting)


FORMS: Mapping[str, LayoutForm] = MappingProxyType(
    {
        "direct": LayoutForm(_direct),
        "function_variable": LayoutForm(partial(_held, private=False)),
        "private_variable": LayoutForm(partial(_held, private=True)),
        "array": LayoutForm(_array),
        "branch": LayoutForm(_branch),
        "in_function": LayoutForm(_in_function),
        "from_function": LayoutForm(_from_function),
        "through_pointer": LayoutForm(_through_pointer),
        "loop": LayoutForm(_loop, slices=_TILES),
        "accumulated": LayoutForm(_accumulated, slices=_TILES),
        "instance": LayoutForm(_by_instance, in_one_tensor=True),
        "instance_shape": LayoutForm(_shape_by_instance, own_shapes=True),
        "instance_clamp_value": LayoutForm(_clamp_value_by_instance),
        "copied_dimension": _copying("dimension"),
        "copied_stride": _copying("stride"),
        "copied_slice": _copying("slice"),
        "copied_clamp_value": _copying("clamp_value"),
        "copied_block_size": _copying("block_size"),
    }
)


def write_form(form: LayoutForm, given: MoveSetup, setup: LayoutSetup) -> None:
    """Write the program of a form: arrays, layouts and accesses."""
    builder = given.writer.builder
    elements = form.tensor_elements(setup.region, builder.instances)
    rows, columns = given.type.shape
    line = columns + granule_of(given.type.component)
    tiles = Tiles(given.type, Layout.ROW_MAJOR, line, rows * line, builder.instances, form.tiles)
    names = ("source",) if given.is_load else ("target",) if form.copy is None else ("target", "target_derived")
    if given.is_load:
        tensors = [_tensor(given, name, elements) for name in names]
        plain = matrix_target(builder, "target", tiles, label="begin")
    else:
        plain = matrix_source(builder, "source", tiles, label="begin")
        tensors = [_tensor(given, name, elements) for name in names]
    begins = tuple(_begin(given, form, tensor) for tensor in tensors)
    form.write(Moves(given, tuple(tensors), begins, plain), setup)
    for tensor in tensors:
        tensor.finish(builder)


def _tensor(given: MoveSetup, name: str, elements: int) -> Tensor:
    """Declare the array of a tensor. If the case has an ArrayStride, it differs from the size of the pointee."""
    builder, component, pointee = given.writer.builder, given.type.component, given.pointee
    if not given.strided:
        return tensor_array(builder, name, component, elements, given.storage, not given.is_load, pointee, given.lead)
    count = -(-elements * component.bytes // pointee.bytes)
    array = builder.array(name, pointee, count, given.storage, "input" if given.is_load else "output", _STRIDED_BYTES)
    return Tensor(array, array, builder, component, 0)


def _begin(given: MoveSetup, form: LayoutForm, tensor: Tensor) -> ScalarValue:
    if given.strided:
        return given.writer.builder.literal(0)
    first = given.writer.number(f"{tensor.array.name}_first", tensor.first, signed=False)
    return first if form.in_one_tensor else tensor.begin(first)
