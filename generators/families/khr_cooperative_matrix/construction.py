"""construction: matrices that are not loaded, stored as they are or handed on by a loop.

Axis values are those of cases/khr_cooperative_matrix/construction.yaml.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from generators.numerics.formats import bits_of, largest_finite, smallest_normal
from generators.operands.origins import CONSTANT_ORIGINS, ORIGINS, Filling, construct, feed, filling, initializer, replicates
from generators.parameters.vocabulary import LAYOUTS, SCOPES, SHAPE, SOURCES, SUBGROUPS, USES, TakenValues, Values, instances, shape_of
from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Carried
from generators.program.memory import Pointee
from generators.program.program import Program, Subcase
from generators.program.values import Matrix, MatrixType, Scalar, ScalarValue
from generators.program.variables import ArrayType, Initializer
from generators.types import COMPONENT_TYPES, ComponentType, Layout, StorageClass

_OTHER = {Layout.ROW_MAJOR: Layout.COLUMN_MAJOR, Layout.COLUMN_MAJOR: Layout.ROW_MAJOR}

VALUES = ("bytes", "ones", "high", "low", "least")
_LOOPS = ("exchanged", "replaced", "undefined")

AXES: TakenValues = {
    "origin": ORIGINS,
    "holder": ("none", "function", "private", "function_array", "private_array"),
    "component": COMPONENT_TYPES.keys(),
    "use": USES.keys(),
    "shape": SHAPE,
    "scope": SCOPES.keys(),
    "subgroups": SUBGROUPS,
    "value": VALUES,
    "form": ("single", "twice", "several", *_LOOPS),
    "layout": LAYOUTS.keys(),
    "trips": range(100),
    "trip_source": SOURCES,
}

PREDICATES: Mapping[str, Callable[[Values], bool]] = {
    "holds_constants": lambda values: values["holder"] == "none" or values["origin"] in CONSTANT_ORIGINS,
}


def value_bits(value: str, component: ComponentType, origin: str = "constant") -> int:
    """The bits of a value by its name: ``bytes`` negative and every byte another, ``ones`` all bits of an integer or -1.0, ``high`` the
    largest float or the largest signed integer, ``low`` their opposite, ``least`` 1 or the smallest float that ``origin`` keeps: a
    denormal, but a normal one if it replicates, whose instructions Vulkan lets flush denormals (facts.md C16)."""
    width = component.bits
    match value:
        case "bytes":
            return int.from_bytes(bytes(range(0x93, 0x93 + component.bytes)), "big")
        case "ones":
            return bits_of(component, -1.0) if component.is_float else (1 << width) - 1
        case "high":
            return bits_of(component, largest_finite(component)) if component.is_float else (1 << width - 1) - 1
        case "low":
            return bits_of(component, -largest_finite(component)) if component.is_float else 1 << width - 1
        case _:
            return bits_of(component, smallest_normal(component)) if component.is_float and replicates(origin) else 1


def _fillings(values: Values) -> dict[str, Filling]:
    """The value of each constructed matrix, by its name: of several in one shader each has another."""
    component = COMPONENT_TYPES[values["component"]]
    bits = [value_bits(value, component, values["origin"]) for value in VALUES]
    start = VALUES.index(values["value"])
    count = {"several": 3, "exchanged": 2, "replaced": 2, "undefined": 2}.get(values["form"], 1)
    return {f"m{i}": filling(component, bits, instances(values), values["origin"], start + i) for i in range(count)}


class _Writer:
    """Writes the program of one case."""

    def __init__(self, values: Values) -> None:
        self.values = values
        rows, columns = shape_of(values)
        component = COMPONENT_TYPES[values["component"]]
        self.type = MatrixType(component, SCOPES[values["scope"]], rows, columns, USES[values["use"]])
        self.builder = ProgramBuilder(self.type.scope_value, subgroups=int(values["subgroups"]))
        self.fillings = _fillings(values)
        self.layout = LAYOUTS[values["layout"]]
        if self.builder.instances > 1:
            self.builder.instance_index()

    def make(self, name: str) -> Matrix:
        """The constructed matrix of that name. Only the first is null; the others of its shader are constants."""
        origin = self.values["origin"]
        origin = "constant" if origin == "null" and name != "m0" else origin
        if self.values["holder"] != "none":
            return self.hold(name, origin)
        return construct(self.builder, name, self.type, self.fillings[name], origin)

    def hold(self, name: str, origin: str) -> Matrix:
        """What a variable, or the last element of an array, was initialized with."""
        builder, (storage, *array) = self.builder, self.values["holder"].split("_")
        assert storage in ("function", "private")
        start = initializer(builder, f"{name}_initial", self.type, self.fillings[name], origin)
        if not array:
            return builder.get_matrix(name, builder.variable(f"{name}_variable", self.type, storage, start))
        other = Filling(self.type.component, (value_bits("bytes", self.type.component) ^ 1,))
        first = initializer(builder, f"{name}_first", self.type, other, "constant")
        both: Initializer = "null" if origin == "null" else (first, start)
        variable = builder.variable(f"{name}_variable", ArrayType(self.type, 2), storage, both)
        return builder.get_matrix(name, variable, 1)

    def store(self, matrix: Matrix, name: str, layout: Layout) -> None:
        """Stores ``matrix`` to an array of its own, with space between the rows (columns) and between scope instances."""
        builder, component = self.builder, self.type.component
        rows, columns = self.type.shape
        runs, run = (rows, columns) if layout is Layout.ROW_MAJOR else (columns, rows)
        stride = run + max(1, min(16, run * component.bytes) // component.bytes)
        pitch = stride * (runs + 1)
        array = builder.array(name, Pointee(component), pitch * builder.instances, StorageClass.STORAGE_BUFFER, "output")
        first: ScalarValue = builder.literal(0)
        if builder.instances > 1:
            first = builder.offset(f"{name}_first", first, builder.instance_index(), pitch)
        builder.store(matrix, array, first, builder.literal(stride), layout)

    def straight(self) -> None:
        """Matrices that are stored as they are."""
        matrices = [self.make(name) for name in self.fillings]
        for i, matrix in enumerate(matrices):
            self.store(matrix, f"d{i}", self.layout)
        if self.values["form"] == "twice":
            self.store(matrices[0], "again", _OTHER[self.layout])

    def loop(self) -> None:
        """Matrices that a loop carries: they change places, or another takes the place of the first, or of an undefined one."""
        builder, form = self.builder, self.values["form"]
        trips = int(self.values["trips"])
        trip_count = builder.operand("trip_count", U32, self.values["trip_source"], trips, trips + 1)
        carried: list[Carried] = []
        first, second = (Matrix(f"current{i}", self.type) for i in range(2))
        match form:
            case "exchanged":
                initial = [self.make("m0"), self.make("m1")]
            case "replaced":
                initial = [self.make("m0")]
            case _:
                builder.undefined("unused", self.type, "module")
                initial = [builder.undefined("undefined0", self.type, "module"), builder.undefined("undefined1", self.type, "function")]
        with builder.loop(Scalar("iteration", U32), trip_count, carried):
            match form:
                case "exchanged":
                    following = [second, first]
                case "replaced":
                    following = [self.make("m1")]
                case _:
                    following = [self.make("m0"), self.make("m1")]
            carried += [Carried(*three) for three in zip(initial, (first, second), following, strict=False)]
        for i, item in enumerate(carried):
            self.store(item.current, f"d{i}", self.layout)
        if form == "replaced":
            # What the loop began with is still what it was.
            self.store(initial[0], "initial", self.layout)


def program(values: Values) -> Program:
    """The program of a case."""
    writer = _Writer(values)
    if values["form"] in _LOOPS:
        writer.loop()
    else:
        writer.straight()
    return writer.builder.build()


def subcase(name: str, values: Values, program: Program, _: np.random.Generator) -> Subcase:
    """The scalars that come from outside of the shader."""
    arrays, operands = feed(_fillings(values), program)
    if any(operand.name == "trip_count" and operand.source in ("push_constant", "buffer") for operand in program.operands):
        operands["trip_count"] = int(values["trips"])
    return Subcase(name, arrays, operands)
