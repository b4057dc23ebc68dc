"""How a program comes to the layouts that it accesses a tensor by, and what it does with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from generators.families.nv_cooperative_matrix2.tensor_layout.regions import OTHER_CLAMP_VALUE, Region
from generators.layouts.placement import Target
from generators.layouts.tensor_bench import Bench, Tiled
from generators.layouts.tensor_tiles import Tensor, tensor_in, tensor_out
from generators.layouts.tensor_writer import CLAMP_VALUE, LayoutStep, interleaved, slice_step
from generators.program.builder import U32
from generators.program.control_flow import Condition
from generators.program.functions import Function, PointerParameter
from generators.program.memory import Pointee
from generators.program.tensor import LayoutSet, LayoutSetting, TensorLayout, TensorLayoutType
from generators.program.tensor_access import POINTER_ALIGNMENT
from generators.program.values import Matrix, Scalar, ScalarValue
from generators.program.variables import ArrayType, Variable
from generators.types import StorageClass

TILES = 3
"""Slices that a loop goes through."""
SHARED_FORMS = ("loop", "accumulated", "instance")
"""Forms whose slices lie one behind the other in one tensor."""
_STRIDED_BYTES = 48
"""An ArrayStride that is that of no pointee."""


@dataclass(frozen=True)
class Plan:
    """What the layout becomes: the last of ``steps`` ends at ``region``."""

    region: Region
    type: TensorLayoutType
    steps: tuple[LayoutStep, ...]


Form = Callable[[Bench, Plan], None]


def _made(bench: Bench, plan: Plan) -> TensorLayout:
    """The layout after all steps."""
    return bench.given.writer.layout("layout", plan.type, *plan.steps)


def _base(bench: Bench, plan: Plan) -> tuple[TensorLayout, LayoutStep]:
    """The layout before its last step, and that step."""
    return bench.given.writer.layout("base", plan.type, *plan.steps[:-1]), plan.steps[-1]


def _got(bench: Bench, name: str, variable: Variable, *path: ScalarValue) -> TensorLayout:
    layout = bench.builder.get(name, variable, *path)
    assert isinstance(layout, TensorLayout), "the variable holds layouts"
    return layout


def _direct(bench: Bench, plan: Plan) -> None:
    bench.move(_made(bench, plan))


def _held(bench: Bench, plan: Plan, private: bool) -> None:
    """A variable has the layout after each step, and each step begins with what it holds."""
    writer = bench.given.writer
    variable = bench.builder.variable("variable", plan.type, "private" if private else "function")
    bench.builder.set(variable, (), writer.created("new", plan.type))
    for i, step in enumerate(plan.steps):
        bench.builder.set(variable, (), writer.changed(f"step{i}", _got(bench, f"held{i}", variable), step))
    bench.move(_got(bench, "held", variable))


def _array(bench: Bench, plan: Plan) -> None:
    """An array has the layout and, before and behind it, the one before the last step; a run-time index picks it."""
    builder, writer = bench.builder, bench.given.writer
    variable = builder.variable("variables", ArrayType(plan.type, 3))
    base, last = _base(bench, plan)
    for i, layout in enumerate((base, writer.changed("layout", base, last), base)):
        builder.set(variable, (i,), layout)
    bench.move(_got(bench, "held", variable, writer.number("index", 1, signed=False)))


def _branch(bench: Bench, plan: Plan) -> None:
    """Scope instance 0 gets the slice, the others the one next to it, each from an arm of a branch."""
    builder, writer = bench.builder, bench.given.writer
    base, (setting, values) = _base(bench, plan)
    variable = builder.variable("variable", plan.type)
    with builder.arm() as then:
        builder.set(variable, (), writer.changed("then", base, (setting, values)))
    with builder.arm() as otherwise:
        assert isinstance(values[0], int), "the numbers of a plan are known"
        builder.set(variable, (), writer.changed("otherwise", base, (setting, (values[0] - 1, *values[1:]))))
    builder.branch(Condition(builder.instance_index(), "equal", builder.literal(0)), then, otherwise)
    bench.move(_got(bench, "held", variable))


def _scalars(numbers: Sequence[ScalarValue]) -> list[Scalar]:
    """Parameters for operands."""
    return [Scalar(f"parameter{i}", number.component) for i, number in enumerate(numbers)]


def _in_function(bench: Bench, plan: Plan) -> None:
    """A function gets the layout before the last step, makes that step and the access."""
    builder, writer = bench.builder, bench.given.writer
    base, (setting, values) = _base(bench, plan)
    numbers = writer.numbers("layout", setting, values)
    layout, begin, scalars = TensorLayout("parameter", plan.type), Scalar("begin", U32), _scalars(numbers)
    taken = Matrix("taken", bench.given.type)
    returned = None
    with builder.arm() as body:
        changed = TensorLayout("changed", plan.type)
        builder.add(LayoutSet(changed, layout, setting, tuple(scalars)))
        if bench.given.is_load:
            returned = bench.read("inside", begin, changed)
        else:
            bench.write(begin, changed, taken)
    if returned is not None:
        loads = Function("loads", (layout, begin, *scalars), tuple(body), returned)
        result = builder.call("result", loads, [base, bench.begins[0], *numbers])
        assert isinstance(result, Matrix), "the function returns a matrix"
        bench.put("only", 0, result)
    else:
        stores = Function("stores", (layout, taken, begin, *scalars), tuple(body), None)
        builder.call("nothing", stores, [base, bench.take("only", 0), bench.begins[0], *numbers])


def _from_function(bench: Bench, plan: Plan) -> None:
    """A function gets the layout before the last step and returns the one after it."""
    builder = bench.builder
    base, (setting, values) = _base(bench, plan)
    numbers = bench.given.writer.numbers("layout", setting, values)
    layout, changed, scalars = TensorLayout("parameter", plan.type), TensorLayout("changed", plan.type), _scalars(numbers)
    changes = Function("changes", (layout, *scalars), (LayoutSet(changed, layout, setting, tuple(scalars)),), changed)
    result = builder.call("result", changes, [base, *numbers])
    assert isinstance(result, TensorLayout), "the function returns a layout"
    bench.move(result)


def _through_pointer(bench: Bench, plan: Plan) -> None:
    """A function changes the layout that a variable of its caller holds."""
    builder = bench.builder
    base, (setting, values) = _base(bench, plan)
    numbers = bench.given.writer.numbers("layout", setting, values)
    parameter, changed, scalars = Variable("parameter", plan.type), TensorLayout("changed", plan.type), _scalars(numbers)
    with builder.arm() as body:
        builder.add(LayoutSet(changed, _got(bench, "inside", parameter), setting, tuple(scalars)))
        builder.set(parameter, (), changed)
    changes = Function("changes", (PointerParameter(parameter), *scalars), tuple(body), None)
    variable = builder.variable("variable", plan.type)
    builder.set(variable, (), base)
    builder.call("nothing", changes, [variable, *numbers])
    bench.move(_got(bench, "held", variable))


def _moving(bench: Bench, values: Sequence[int | ScalarValue], index: Scalar, name: str) -> tuple[int | ScalarValue, ...]:
    """The operands of a slice that lies ``index`` spans further on in the outermost dimension."""
    first, span, *rest = values
    assert isinstance(first, int), "the numbers of a plan are known"
    assert isinstance(span, int), "the numbers of a plan are known"
    start = bench.given.writer.number(f"{name}_start", first, signed=False)
    return (bench.builder.offset(f"{name}_offset", start, index, span), span, *rest)


def _loop(bench: Bench, plan: Plan) -> None:
    """Every iteration slices the same layout, at an offset that is computed from the loop's index."""
    builder, writer = bench.builder, bench.given.writer
    base, (_, values) = _base(bench, plan)
    index = Scalar("index", U32)
    # Operands are declared before the loop: each has one place.
    trips = writer.number("trips", TILES, signed=False)
    with builder.loop(index, trips, []):
        bench.move(writer.changed("layout", base, ("slice", _moving(bench, values, index, "slice"))), "tile", index)


def _accumulated(bench: Bench, plan: Plan) -> None:
    """A variable has a layout that every iteration slices further on."""
    builder, writer = bench.builder, bench.given.writer
    base, (setting, values) = _base(bench, plan)
    region, index = plan.region, Scalar("index", U32)
    assert isinstance(values[0], int), "the numbers of a plan are known"
    variable = builder.variable("variable", plan.type)
    builder.set(variable, (), writer.changed("start", base, (setting, (values[0] - region.spans[0], *values[1:]))))
    step = interleaved((region.spans[0], *[0] * (len(region.spans) - 1)), region.spans)
    with builder.loop(index, writer.number("trips", TILES, signed=False), []):
        builder.set(variable, (), writer.changed("further", _got(bench, "held", variable), ("slice", step)))
        bench.move(_got(bench, "moved", variable), "tile", index)


def _by_instance(bench: Bench, plan: Plan) -> None:
    """All scope instances have one tensor, and each another slice of it."""
    base, (_, values) = _base(bench, plan)
    moved = _moving(bench, values, bench.builder.instance_index(), "slice")
    bench.move(bench.given.writer.changed("layout", base, ("slice", moved)))


def _shape_by_instance(bench: Bench, plan: Plan) -> None:
    """Each scope instance has another outermost stride, or by default strides another innermost dimension."""
    builder, writer = bench.builder, bench.given.writer
    steps = list(plan.steps)
    which: LayoutSetting = "stride" if any(setting == "stride" for setting, _ in steps) else "dimension"
    at = max(i for i, (setting, _) in enumerate(steps) if setting == which)
    values = list(steps[at][1])
    place = 0 if which == "stride" else -1
    number = values[place]
    assert isinstance(number, int), "the numbers of a plan are known"
    least = number if which == "stride" else number - builder.instances + 1
    values[place] = builder.arithmetic("varied", "add", writer.number("least", least, signed=False), builder.instance_index())
    steps[at] = (which, values)
    bench.move(writer.layout("layout", plan.type, *steps))


def _clamp_value_by_instance(bench: Bench, plan: Plan) -> None:
    """The clamp value that counts is another one for each scope instance."""
    builder, writer = bench.builder, bench.given.writer
    steps = list(plan.steps)
    at = max(i for i, (setting, _) in enumerate(steps) if setting == "clamp_value")
    least = writer.number("least", CLAMP_VALUE, signed=False)
    steps[at] = ("clamp_value", (builder.arithmetic("varied", "add", least, builder.instance_index()),))
    bench.move(writer.layout("layout", plan.type, *steps))


def _derived_step(kind: str, region: Region) -> LayoutStep:
    rank = len(region.sizes)
    match kind:
        case "dimension":
            return "dimension", [span + 2 + d for d, span in enumerate(region.spans)]
        case "stride":
            return "stride", [2 * stride for stride in region.strides]
        case "slice":
            return slice_step((-1, *[0] * (rank - 1)), region.spans)
        case "clamp_value":
            return "clamp_value", (OTHER_CLAMP_VALUE,)
        case _:
            return "block_size", [2 + d for d in range(rank)]


def _copied(bench: Bench, plan: Plan, kind: str) -> None:
    """A layout is made, another one is made from it, and both are used, the new one first (TA-CPY-01)."""
    layout = _made(bench, plan)
    derived = bench.given.writer.changed("derived", layout, _derived_step(kind, plan.region))
    bench.move(derived, "new", 0, len(bench.tensors) - 1)
    bench.move(layout, "old", 1)


COPIES = ("dimension", "stride", "slice", "clamp_value", "block_size")
FORMS: Mapping[str, Form] = MappingProxyType(
    {
        "direct": _direct,
        "function_variable": lambda bench, plan: _held(bench, plan, private=False),
        "private_variable": lambda bench, plan: _held(bench, plan, private=True),
        "array": _array,
        "branch": _branch,
        "in_function": _in_function,
        "from_function": _from_function,
        "through_pointer": _through_pointer,
        "loop": _loop,
        "accumulated": _accumulated,
        "instance": _by_instance,
        "instance_shape": _shape_by_instance,
        "instance_clamp_value": _clamp_value_by_instance,
        **{f"copied_{kind}": lambda bench, plan, kind=kind: _copied(bench, plan, kind) for kind in COPIES},  # type: ignore[misc]
    }
)


def _elements(form: str, plan: Plan, instances: int) -> int:
    """Of the longest tensor."""
    region = plan.region
    if form == "instance_shape":
        return replace(region, strides=(region.strides[0] + instances - 1, *region.strides[1:])).elements
    if form == "copied_dimension":
        sizes = [span + 2 + d for d, span in enumerate(region.spans)]
        total = 1
        for size, block in zip(sizes, region.blocks, strict=True):
            total *= -(-size // block)
        return max(region.elements, total)
    if form == "copied_stride":
        return 2 * region.elements
    return region.elements


def run(form: str, given: Tiled, plan: Plan) -> None:
    """Writes the program of a form: arrays, layouts and accesses."""
    builder = given.builder
    tiles = TILES if form in ("loop", "accumulated") else 2 if form.startswith("copied") else 1
    elements = _elements(form, plan, builder.instances)
    component = given.type.component
    rows, columns = given.type.shape
    length = rows * (columns + POINTER_ALIGNMENT // component.bytes) * tiles * builder.instances
    targets: list[Target] = []
    if given.is_load:
        tensors = [
            _strided(given, "source", elements)
            or tensor_in(builder, "source", component, elements, given.storage, given.pointee, given.lead)
        ]
        plain = builder.array("target", Pointee(component), length, StorageClass.STORAGE_BUFFER, "output")
    else:
        tensors = []
        plain = builder.array("source", Pointee(component), length, StorageClass.STORAGE_BUFFER, "input")
        for name in ("target", "target_derived")[: 1 + form.startswith("copied")]:
            strided = _strided(given, name, elements)
            if strided:
                tensors.append(strided)
                continue
            tensor, target = tensor_out(builder, name, component, elements, given.storage, given.pointee, given.lead)
            tensors.append(tensor)
            targets.append(target)
    bench = Bench(given, tuple(tensors), tuple(_begin(given, form, tensor) for tensor in tensors), plain, tiles)
    FORMS[form](bench, plan)
    for target in targets:
        target.finish(builder)


def _strided(given: Tiled, name: str, elements: int) -> Tensor | None:
    """A tensor in an array whose ArrayStride is not the size of its pointee; None if none is asked for."""
    if not given.strided:
        return None
    component, pointee = given.type.component, given.pointee
    count = -(-elements * component.bytes // pointee.bytes)
    array = given.builder.array(name, pointee, count, given.storage, "input" if given.is_load else "output", _STRIDED_BYTES)
    return Tensor(array, component, 0, 0)


def _begin(given: Tiled, form: str, tensor: Tensor) -> ScalarValue:
    if given.strided:
        return given.builder.literal(0)
    first = given.writer.number(f"{tensor.array.name}_first", tensor.first, signed=False)
    return first if form == "instance" else tensor.begin(given.builder, first)
