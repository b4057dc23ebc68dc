"""per_element: functions called for each element with its row, its column, and further operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np

from generators.element_functions.callbacks import CALLBACKS, Callback, CallbackDesign
from generators.element_functions.writer import CallbackWriter, ProgramAround
from generators.inputs.reductions import distinct, integers
from generators.layouts.matrix_arrays import matrix_contents, matrix_in, matrix_out
from generators.layouts.placement import stage_in
from generators.parameters.declaration import parameter
from generators.parameters.matrices import OneMatrix
from generators.parameters.vocabulary import SCOPE, SOURCE_NAMES, STORAGE_CLASSES, OfEitherExtension
from generators.program.builder import U32, ProgramBuilder
from generators.program.callbacks import ExtraOperand, PerElement
from generators.program.control_flow import Carried, Condition, Merged
from generators.program.expressions import Binary, Choose, Expression
from generators.program.functions import Function
from generators.program.memory import Array, Pointee
from generators.program.operation import Hint
from generators.program.program import Built, Program, Subcase
from generators.program.values import Matrix, MatrixType, ScalarValue, Source, Value
from generators.program.values import Scalar as ComputedScalar
from generators.types import COMPONENT_TYPES, ComponentType, Scope, StorageClass, Use

_S32 = COMPONENT_TYPES["s32"]
_INTEGERS: Mapping[str, tuple[ComponentType, ComponentType]] = MappingProxyType(
    {"unsigned": (U32, U32), "signed": (_S32, _S32), "row_signed": (_S32, U32), "column_signed": (U32, _S32)}
)
_STORAGE = MappingProxyType({name: STORAGE_CLASSES[name] for name in ("storage_buffer", "workgroup")})

_TRIPS = 3
_LEAST = 4
"""Minimum number of different magnitudes in float data."""


@dataclass(frozen=True, kw_only=True)
class Parameters(OneMatrix, OfEitherExtension):
    """The parameters of a case."""

    function: CallbackDesign = parameter("the function that is applied", labels=CALLBACKS)
    order: Literal[0, 1, 2, 3, 4] = parameter(
        "the order of its operands, or how many there are", default=0, applies=lambda parameters: parameters.function.orders > 1
    )
    form: Literal["single", "twice", "chained", "loop", "branch", "itself"] = parameter(
        "what applies it: one instruction; two; one whose result another function gets; a loop; an arm of a branch; or an instruction "
        "whose matrix is an operand too",
        default="single",
    )
    integers: tuple[ComponentType, ComponentType] = parameter(
        "the types of the row and of the column (F-CM2-11)", default="unsigned", labels=_INTEGERS
    )
    source: SOURCE_NAMES = parameter(
        "where scalar operands come from", default="literal", applies=lambda parameters: parameters.function.takes_scalars
    )
    storage: StorageClass = parameter(
        "where tables are", default="storage_buffer", labels=_STORAGE, applies=lambda parameters: parameters.function.reads_memory
    )
    control: Hint = parameter("the function control, for or against inlining", default="none", then=SCOPE)


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    signs: Literal["mixed", "negative"] = parameter("the signs of all elements; for unsigned integers their top bit")


class _Around:
    """Gives the function of a case access to the program.

    Attributes:
        tables: names of the arrays that the function reads.
    """

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.builder = ProgramBuilder(parameters.scope, subgroups=parameters.subgroups, maintenance1=parameters.maintenance1)
        self.type = parameters.matrix_type
        self.tables: set[str] = set()
        self.source = matrix_in(self.builder, "source", self.type)

    def scalar(self, name: str, component: ComponentType, bits: int, source: Source | None = None) -> ScalarValue:
        """Return a scalar; from the case's source if ``source`` is not given."""
        source = source or self.parameters.source
        if source == "literal":
            return self.builder.literal(bits, component)
        # Change one bit of the significand or of the number, so floats stay normal.
        return self.builder.operand(name, component, source, bits, bits ^ 1)

    def matrix(self, name: str) -> Matrix:
        """Return another matrix, or the matrix to which the function is applied."""
        return self.source if self.parameters.form == "itself" else matrix_in(self.builder, name, self.type)

    def table(self, name: str, length: int) -> tuple[Array, ScalarValue]:
        """Return an array of ``length`` elements for each instance, and the index of this instance's first element, which is not 0."""
        builder = self.builder
        pitch = length + 3
        array = stage_in(builder, name, Pointee(self.type.component), 5 + pitch * builder.instances, self.parameters.storage)
        self.tables.add(name)
        first = self.scalar(f"{name}_first", U32, 5)
        return array, first if builder.instances == 1 else builder.offset(f"{name}_begin", first, builder.instance_index(), pitch)

    def apply(self, name: str, matrix: Matrix, function: Function, extra: tuple[ExtraOperand, ...]) -> Matrix:
        """Apply a function to a matrix."""
        return self.builder.result_of(PerElement(Value(name, self.type), matrix, function, extra))


class _NoProgram:
    """Replaces the program when only the magnitudes of a function matter."""

    def scalar(self, name: str, component: ComponentType, bits: int, source: Source | None = None) -> ScalarValue:  # noqa: ARG002 (as the program has it)
        """Return a scalar."""
        return ComputedScalar(name, component)

    def matrix(self, name: str) -> Matrix:
        """Return a matrix."""
        return Value(name, MatrixType(U32, Scope.SUBGROUP, 1, 1, Use.ACCUMULATOR))

    def table(self, name: str, length: int) -> tuple[Array, ScalarValue]:
        """Return an array and the index of its first element."""
        return Array(name, Pointee(U32), length, StorageClass.STORAGE_BUFFER, "input"), ComputedScalar(name, U32)


def _writer(parameters: Parameters, around: ProgramAround) -> CallbackWriter:
    return CallbackWriter(around, parameters.component, parameters.shape, *parameters.integers, parameters.control)


def _callback(parameters: Parameters, around: ProgramAround) -> Callback:
    return parameters.function.make(_writer(parameters, around), parameters.order)


def _times(parameters: Parameters) -> int:
    """Return how many times in a row a function is applied."""
    return _TRIPS if parameters.form == "loop" else 1


def _is_exact(parameters: Parameters) -> bool:
    component = parameters.component
    if not component.is_float:
        return True
    most = _callback(parameters, _NoProgram()).most(component, _times(parameters))
    return most is None or most >= _LEAST


def _fits_form(parameters: Parameters) -> bool:
    """Return whether the function takes a matrix, if the case passes the matrix as its own operand."""
    return parameters.form != "itself" or parameters.function.takes_matrices


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {"is_exact": _is_exact, "fits_form": _fits_form}


def _triangle(around: _Around, name: str, below: bool) -> tuple[Function, tuple[ExtraOperand, ...]]:
    """Return a function that keeps elements below the diagonal, or elements on and above it, and replaces the others by elements of the
    source."""
    writer = _writer(around.parameters, around)
    own = Value(f"{name}_other", around.type.component)
    x, other = writer.arithmetic.raised(writer.x), writer.arithmetic.raised(own)
    pair: tuple[Expression, Expression] = (x, other) if below else (other, x)
    chosen = Choose(Binary("less", writer.unsigned(writer.column), writer.unsigned(writer.row)), *pair)
    return writer.function(name, chosen, own), (around.source,)


def _write(around: _Around, callback: Callback) -> None:
    """Write the program of the case's form."""
    builder, source = around.builder, around.source
    function, extra = callback.function, callback.extra
    match around.parameters.form:
        case "twice":
            second = matrix_in(builder, "second", around.type)
            matrix_out(builder, "target_second", around.apply("result_second", second, function, extra))
            matrix_out(builder, "target", around.apply("result", source, function, extra))
        case "chained":
            first = around.apply("first", source, function, extra)
            matrix_out(builder, "target", around.apply("result", first, *_triangle(around, "below", below=True)))
            matrix_out(builder, "target_first", first)
        case "loop":
            if builder.instances > 1:
                # Made before the loop, since the store after it needs it too.
                builder.instance_index()
            index, current = ComputedScalar("trip", U32), Value("current", around.type)
            carried: list[Carried] = []
            with builder.loop(index, around.scalar("trips", U32, _TRIPS, "push_constant"), carried):
                carried.append(Carried(source, current, around.apply("next", current, function, extra)))
            matrix_out(builder, "target", current)
        case "branch":
            decides = builder.instance_index() if builder.instances > 1 else builder.operand("which", U32, "push_constant")
            with builder.arm() as then:
                first = around.apply("then", source, function, extra)
            with builder.arm() as otherwise:
                first_again = around.apply("again", source, function, extra)
                other = around.apply("otherwise", first_again, *_triangle(around, "above", below=False))
            result = Value("chosen", around.type)
            builder.branch(Condition(decides, "less", builder.literal(1)), then, otherwise, [Merged(result, (first, other))])
            matrix_out(builder, "target", result)
        case _:
            matrix_out(builder, "target", around.apply("result", source, function, extra))


def _elements(
    component: ComponentType, most: int | None, shape: tuple[int, ...], signs: Literal["mixed", "negative"], rng: np.random.Generator
) -> np.ndarray:
    """Draw elements; floats are whole numbers up to ``most``, or arbitrary if it is None."""
    if not component.is_float:
        return integers(component, shape, "add", 1, signs, rng)
    if most is None:
        return distinct(component, shape, signs, rng).astype(component.dtype)
    magnitudes = rng.integers(1, most, shape, endpoint=True).astype(np.float64)
    factors = -1.0 if signs == "negative" else rng.choice(np.array([-1.0, 1.0]), shape)
    return (magnitudes * factors).astype(component.dtype)


def build(parameters: Parameters) -> Built:
    """Build a program that applies a function to each element of a matrix and stores the result."""
    around = _Around(parameters)
    callback = _callback(parameters, around)
    _write(around, callback)
    component, instances = parameters.component, parameters.instances
    most = callback.most(component, _times(parameters))

    def draw(name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        inputs = {}
        for array in program.arrays:
            if array.role != "input":
                continue
            if array.name in around.tables:
                data = _elements(component, most, (array.count,), parameters.signs, rng)
                if array.name == "factors" and component.is_float:
                    # Powers of two, so products are exact.
                    data = rng.choice(np.array([-2.0, -0.5, 0.5, 2.0, 1.0]), array.count).astype(component.dtype)
                inputs[array.name] = np.ascontiguousarray(data).view(np.uint8)
            else:
                data = _elements(component, most, (instances, *around.type.shape), parameters.signs, rng)
                inputs[array.name] = matrix_contents(around.type, data)
        chosen = parameters.form == "branch" and instances == 1
        return Subcase(name, inputs, {"which": int(parameters.signs == "negative")} if chosen else {})

    return Built(around.builder.build(), draw)
