"""construction: matrices that are constructed instead of loaded, stored directly or carried by a loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from generators.inputs.patterns import counted_bytes
from generators.layouts.matrix_arrays import OTHER_LAYOUT, matrix_target, tiled
from generators.numerics.formats import bits_of, largest_finite, smallest_normal
from generators.operands.origins import CONSTANT, ORIGINS, Filling, Origin, construct, feed, filling, initializer
from generators.operands.run_time import run_time_operands
from generators.parameters.declaration import parameter
from generators.parameters.vocabulary import LAYOUTS, SCOPE, SOURCE_NAMES, USES, Scoped, parse_shape
from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Carried
from generators.program.program import Built, Program, Subcase
from generators.program.values import ArrayType, Matrix, MatrixType, StructType, Value
from generators.program.variables import Initializer
from generators.types import COMPONENT_TYPES, ComponentType, Layout, Use

Content = Literal["bytes", "ones", "high", "low", "least"]
"""The value of a matrix; see ``value_bits``."""

VALUES: tuple[Content, ...] = get_args(Content)

Form = Literal["single", "twice", "several", "exchanged", "replaced", "undefined"]
"""The forms: one matrix; one stored twice; several; and matrices that a loop carries: they exchange places, or another matrix replaces the
first one or an undefined one."""

_LOOPS = ("exchanged", "replaced", "undefined")
_MATRICES: Mapping[Form, int] = {"single": 1, "twice": 1, "several": 3, "exchanged": 2, "replaced": 2, "undefined": 2}
"""How many matrices each form constructs."""


@dataclass(frozen=True)
class Holder:
    """A variable that starts with a constant: its storage class, and whether it is a matrix, or an array or a struct whose last matrix is
    used."""

    storage: Literal["function", "private"]
    kind: Literal["matrix", "array", "struct"]


_STORAGES: Sequence[Literal["function", "private"]] = ("function", "private")
_HOLDERS: Mapping[str, Holder | None] = {
    "none": None,
    **{storage: Holder(storage, "matrix") for storage in _STORAGES},
    **{f"{storage}_array": Holder(storage, "array") for storage in _STORAGES},
    **{f"{storage}_struct": Holder(storage, "struct") for storage in _STORAGES},
}


def _loops(parameters: Parameters) -> bool:
    return parameters.form in _LOOPS


def _has_a_value(parameters: Parameters) -> bool:
    """Tell whether a matrix of the case is not null."""
    return not parameters.origin.is_null or parameters.form not in ("single", "twice")


@dataclass(frozen=True, kw_only=True)
class Parameters(Scoped):
    """The parameters of a case."""

    origin: Origin = parameter("where the matrices come from", labels=ORIGINS)
    holder: Holder | None = parameter("the variable that starts with the matrix", default="none", labels=_HOLDERS)
    component: ComponentType = parameter("component type of the matrices", labels=COMPONENT_TYPES)
    use: Use = parameter("use of the matrices", default="a", labels=USES)
    shape: tuple[int, int] = parameter("rows and columns of the matrices", default="16x16", decode=parse_shape, then=SCOPE)
    value: Content = parameter("the value of the first matrix", default="bytes", applies=_has_a_value)
    form: Form = parameter("what is done with the matrices", default="single")
    layout: Layout = parameter("layout of the stores", default="row", labels=LAYOUTS)
    unread: int = parameter(
        "members of the push-constant block that come first, and that the shader never reads",
        default=0,
        applies=lambda parameters: parameters.origin.source == "push_constant",
    )
    trips: int = parameter("iterations of the loop", default=3, applies=_loops)
    trip_source: SOURCE_NAMES = parameter("where the trip count comes from", default="literal", applies=_loops)


PREDICATES: Mapping[str, Callable[[Parameters], bool]] = {
    "holds_constants": lambda parameters: parameters.holder is None or parameters.origin.is_constant,
}


def value_bits(value: Content, component: ComponentType, origin: Origin = CONSTANT) -> int:
    """Return the bits of a value: ``bytes`` is negative and repeats no byte. ``ones`` is an integer with all bits set, or -1.0. ``high`` is
    the largest float or signed integer, and ``low`` its opposite. ``least`` is 1, or the smallest float that ``origin`` preserves: a
    denormal, or a normal float if ``origin`` replicates, since Vulkan lets those instructions flush denormals (facts.md C16)."""
    width = component.bits
    match value:
        case "bytes":
            return counted_bytes(component)
        case "ones":
            return bits_of(component, -1.0) if component.is_float else (1 << width) - 1
        case "high":
            return bits_of(component, largest_finite(component)) if component.is_float else (1 << width - 1) - 1
        case "low":
            return bits_of(component, -largest_finite(component)) if component.is_float else 1 << width - 1
        case "least":
            return bits_of(component, smallest_normal(component)) if component.is_float and origin.replicates else 1


def _fillings(parameters: Parameters) -> dict[str, Filling]:
    """Return the value of each constructed matrix by its name. The matrices of one shader have different values."""
    component, origin = parameters.component, parameters.origin
    bits = [value_bits(value, component, origin) for value in VALUES]
    start = VALUES.index(parameters.value)
    return {f"m{i}": filling(component, bits, parameters.instances, origin, start + i) for i in range(_MATRICES[parameters.form])}


class _MatrixWriter:
    """Writes the program of one case."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.type = MatrixType(parameters.component, parameters.scope, *parameters.shape, parameters.use)
        self.builder = ProgramBuilder(self.type.scope_value, subgroups=parameters.subgroups)
        self.fillings = _fillings(parameters)
        self.layout = parameters.layout
        if self.builder.instances > 1:
            self.builder.instance_index()
        for i in range(parameters.unread):
            self.builder.operand(f"unread{i}", U32, "push_constant", counted_bytes(U32, 0x40 + 4 * i))

    def make(self, name: str) -> Matrix:
        """Construct the matrix of that name. Only the first matrix of a shader is null; the others are constants."""
        origin = self.parameters.origin
        if origin.is_null and name != "m0":
            origin = CONSTANT
        if self.parameters.holder is not None:
            return self.hold(name, origin, self.parameters.holder)
        return construct(self.builder, name, self.type, self.fillings[name], origin)

    def hold(self, name: str, origin: Origin, holder: Holder) -> Matrix:
        """Return the initial value of a variable, or of the last matrix of an array or of a struct, whose matrices have a scalar between
        them."""
        builder = self.builder
        start = initializer(builder, f"{name}_initial", self.type, self.fillings[name], origin)
        if holder.kind == "matrix":
            return builder.get_matrix(name, builder.variable(f"{name}_variable", self.type, holder.storage, start))
        other = Filling(self.type.component, (value_bits("bytes", self.type.component) ^ 1,))
        first = initializer(builder, f"{name}_first", self.type, other, CONSTANT)
        parts: tuple[Initializer, ...] = (first, start) if holder.kind == "array" else (first, builder.literal(7), start)
        whole = ArrayType(self.type, 2) if holder.kind == "array" else StructType(f"{name}_holder", (self.type, U32, self.type))
        variable = builder.variable(f"{name}_variable", whole, holder.storage, "null" if origin.is_null else parts)
        return builder.get_matrix(name, variable, len(parts) - 1)

    def store(self, matrix: Matrix, name: str, layout: Layout) -> None:
        """Store ``matrix`` to an array of its own, with space between the rows (columns) and between scope instances."""
        matrix_target(self.builder, name, tiled(self.type, layout, True, (self.builder.instances, 1), apart=1)).store(matrix)

    def straight(self) -> None:
        """Store matrices directly."""
        matrices = [self.make(name) for name in self.fillings]
        for i, matrix in enumerate(matrices):
            self.store(matrix, f"d{i}", self.layout)
        if self.parameters.form == "twice":
            self.store(matrices[0], "again", OTHER_LAYOUT[self.layout])

    def loop(self) -> None:
        """Carry matrices through a loop: they exchange places, or another matrix replaces the first one or an undefined one."""
        builder, form = self.builder, self.parameters.form
        trips = self.parameters.trips
        trip_count = builder.operand("trip_count", U32, self.parameters.trip_source, trips, trips + 1)
        carried: list[Carried] = []
        first, second = (Value(f"current{i}", self.type) for i in range(2))
        match form:
            case "exchanged":
                initial = [self.make("m0"), self.make("m1")]
            case "replaced":
                initial = [self.make("m0")]
            case _:
                builder.undefined("unused", self.type, "module")
                initial = [builder.undefined("undefined0", self.type, "module"), builder.undefined("undefined1", self.type, "function")]
        with builder.loop(Value("iteration", U32), trip_count, carried):
            match form:
                case "exchanged":
                    following = [second, first]
                case "replaced":
                    following = [self.make("m1")]
                case _:
                    following = [self.make("m0"), self.make("m1")]
            carried += [Carried(*three) for three in zip(initial, (first, second), following, strict=False)]
        for i, current in enumerate((first, second)[: len(carried)]):
            self.store(current, f"d{i}", self.layout)
        if form == "replaced":
            # The initial matrices of the loop are unchanged.
            self.store(initial[0], "initial", self.layout)


def build(parameters: Parameters) -> Built:
    """Build a case. A subcase supplies the scalars that come from outside the shader."""
    writer = _MatrixWriter(parameters)
    if parameters.form in _LOOPS:
        writer.loop()
    else:
        writer.straight()

    def draw(name: str, parameters: Parameters, program: Program, _: np.random.Generator) -> Subcase:
        arrays, operands = feed(writer.fillings, program)
        return Subcase(name, arrays, operands | run_time_operands(program, {"trip_count": parameters.trips}))

    return Built(writer.builder.build(), draw)
