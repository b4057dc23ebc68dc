"""function_bodies: the bodies of functions that instructions call."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from generators.families.nv_cooperative_matrix2.function_bodies.bodies import BODIES, TABLE, Body, Given
from generators.families.nv_cooperative_matrix2.function_bodies.combinations import COMBINATIONS, Combination, Pair
from generators.families.nv_cooperative_matrix2.function_bodies.combinations import TABLE as GROUP_TABLE
from generators.families.nv_cooperative_matrix2.function_bodies.surroundings import WORDS, Mark, Storage, Surroundings
from generators.families.nv_cooperative_matrix2.function_bodies.writer import S32, FunctionWriter, finished, word
from generators.layouts.matrix_arrays import matrix_contents, matrix_in, matrix_out
from generators.layouts.tensor_writer import LayoutStep, TensorWriter
from generators.layouts.tensors import row_major, tensor_array
from generators.numerics.formats import bits_of
from generators.parameters.declaration import parameter
from generators.parameters.matrices import OneMatrix
from generators.parameters.vocabulary import SCOPE, OfEitherExtension
from generators.program.builder import U32, ProgramBuilder
from generators.program.callbacks import ExtraOperand, PerElement, Reduce
from generators.program.functions import Function, Parameter
from generators.program.memory import Pointee
from generators.program.program import Built, Program, Subcase
from generators.program.values import ArrayType, MatrixType, ScalarValue, TensorLayoutType, Value
from generators.program.variables import VariableStore
from generators.types import COMPONENT_TYPES, ComponentType, ReduceMode, StorageClass, Use

BodyName = Literal[
    "early_return", "both_return", "branch", "switch_constant", "switch_default", "switch_element", "loop", "loop_return", "extended",
    "division", "vector", "bytes", "reference", "number", "private", "table", "call", "store", "first", "mark",
    "exponential", "power", "tangent", "root", "logarithm",
]  # fmt: skip

_VERBS: Mapping[str, str] = {"element": "apply", "reduce": "combine", "decode": "decode"}
_MODES: Mapping[str, ReduceMode] = {
    "row": ReduceMode.ROW,
    "column": ReduceMode.COLUMN,
    "both": ReduceMode.ROW_AND_COLUMN,
}
_BLOCK = (2, 8)
"""Rows and columns of a block of the tensors that are decoded: a byte for each element."""

_OWN = (151, 42)
"""The number of the first scope instance in the module's variable, and the increment for each further instance."""


def _is_reduced(parameters: Parameters) -> bool:
    return parameters.instruction == "reduce"


def _has_table(parameters: Parameters) -> bool:
    return parameters.body == "table"


def _writes(parameters: Parameters) -> bool:
    return parameters.body in ("store", "mark")


def _marks(parameters: Parameters) -> bool:
    return parameters.body == "mark"


def _has_number(parameters: Parameters) -> bool:
    return parameters.body in ("switch_constant", "switch_default", "number")


@dataclass(frozen=True, kw_only=True)
class Parameters(OneMatrix, OfEitherExtension):
    """The parameters of a case."""

    instruction: Literal["element", "reduce", "decode"] = parameter(
        "what calls the function: an operation on elements, a reduction, or a load of a tensor"
    )
    body: BodyName = parameter("what is in the function")
    mode: ReduceMode = parameter("which elements a reduction combines", default="row", labels=_MODES, applies=_is_reduced)
    size: Literal["same", "double", "half"] = parameter(
        "how many rows or columns the result of a reduction has", default="same", applies=_is_reduced
    )
    source: Literal["specialization", "push_constant", "buffer", "literal"] = parameter(
        "where the numbers of the function come from", default="specialization", applies=_has_number
    )
    table: Storage = parameter("where its table is", default="function", applies=_has_table)
    result: Literal["stored", "unused"] = parameter(
        "what is done with the result of an instruction whose function writes memory", default="stored", applies=_writes
    )
    mark: Mark = parameter("the room that each element has in the buffer of marks", default="bits", applies=_marks, then=SCOPE)


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    data: Literal["first", "second"] = parameter("which of two draws of the elements")


def _has_body(parameters: Parameters) -> bool:
    """Return whether functions for the instruction and the component type can have that body."""
    body = (COMBINATIONS if parameters.instruction == "reduce" else BODIES).get(parameters.body)
    if body is None or (body.only_floats and not parameters.component.is_float):
        return False
    return not (isinstance(body, Body) and body.only_elements and parameters.instruction == "decode")


def _fits(parameters: Parameters) -> bool:
    """Return whether the reduced matrices are accumulators, and the results have rows and columns."""
    if parameters.instruction == "reduce":
        rows, columns = parameters.shape
        return parameters.use is Use.ACCUMULATOR and not (parameters.size == "half" and min(rows, columns) < 16)
    return parameters.instruction == "element" or all(size % block == 0 for size, block in zip(parameters.shape, _BLOCK, strict=True))


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {"has_body": _has_body, "fits": _fits}


def _result_type(parameters: Parameters) -> MatrixType:
    """Return the type of a reduction's result."""
    rows, columns = parameters.shape
    factor = {"same": (1, 1), "double": (2, 1), "half": (1, 2)}[parameters.size]
    if parameters.mode is not ReduceMode.ROW:
        rows = rows * factor[0] // factor[1]
    if parameters.mode is not ReduceMode.COLUMN:
        columns = columns * factor[0] // factor[1]
    return MatrixType(parameters.component, parameters.scope, rows, columns, Use.ACCUMULATOR)


def _raised(writer: FunctionWriter, value: ScalarValue) -> ScalarValue:
    """Return a number of the component type as u32; floats are whole numbers."""
    return writer.convert(writer.convert(value, S32) if value.type.is_float else value, U32)


def _lowered(component: ComponentType) -> Callable[[FunctionWriter, ScalarValue], ScalarValue]:
    def lower(writer: FunctionWriter, value: ScalarValue) -> ScalarValue:
        if component.is_float:
            # Whole numbers that the significand holds.
            value = writer.do("and", value, word((1 << component.precision) - 1))
        return writer.convert(value, component)

    return lower


class _Case:
    """Writes the program of a case."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.builder = ProgramBuilder(parameters.scope, subgroups=parameters.subgroups, maintenance1=parameters.maintenance1)
        self.type = parameters.matrix_type
        self.lower = _lowered(parameters.component)
        rows, columns = parameters.shape
        if parameters.instruction == "reduce":
            combination = COMBINATIONS[parameters.body]
            table, needs = combination.table, combination.needs
        else:
            body = BODIES[parameters.body]
            table, needs = (TABLE if body.has_table else ()), body.needs
        if parameters.instruction == "decode":
            needs = tuple(need for need in needs if need == "private")
        extent = {"reference": rows, "words": 64 if parameters.instruction == "reduce" else rows * columns}.get(
            parameters.body, rows * columns
        )
        if "marks" in needs:
            # Room for calls without an element: a matrix with twice as many rows and columns.
            extent = 4 * rows * columns
        self.around = Surroundings(self.builder, parameters.source, parameters.table, table, needs, extent, parameters.mark)
        if self.around.private is not None:
            instance = self.builder.instance_index() if self.builder.instances > 1 else word(0)
            step = self.builder.arithmetic("own_step", "multiply", instance, word(_OWN[1]))
            self.builder.add(VariableStore(self.around.private, (), self.builder.arithmetic("own_number", "add", step, word(_OWN[0]))))

    def function(self, parameters: Sequence[Parameter], write: Callable[[FunctionWriter], ScalarValue]) -> Function:
        """Return the function that ``write`` writes."""
        writer = FunctionWriter(self.builder, f"{_VERBS[self.parameters.instruction]}_{self.parameters.body}")
        with self.builder.arm() as body:
            returned = write(writer)
        assert isinstance(returned, Value), "functions return values of their own"
        return finished(writer, tuple(parameters), body, returned)

    def element(self) -> None:
        """Write an operation on elements."""
        builder, parameters = self.builder, self.parameters
        rows, columns = parameters.shape
        source = matrix_in(builder, "source", self.type)
        row, column, x = Value("row", U32), Value("column", U32), Value("x", parameters.component)
        begin = Value("begin", U32)
        marks = self.around.marks is not None
        stores = marks or self.around.log is not None
        pitch, extent = (2 * columns, 4 * rows * columns) if marks else (columns, rows * columns)

        def write(writer: FunctionWriter) -> ScalarValue:
            place, log_place = None, None
            if stores or self.around.words is not None:
                place = writer.do("add", writer.do("multiply", row, word(pitch)), column)
            if stores and place is not None:
                log_place = writer.do("add", begin, place)
            given = Given(row, column, _raised(writer, x), x, self.around, place, log_place, None, self.lower)
            return BODIES[parameters.body].write(writer, given)

        extra: tuple[ExtraOperand, ...] = ()
        if stores:
            first: ScalarValue = word(0)
            if builder.instances > 1:
                first = builder.arithmetic("log_begin", "multiply", builder.instance_index(), word(extent))
            extra = (first,)
        result = Value("result", self.type)
        function = self.function((row, column, x, begin) if stores else (row, column, x), write)
        builder.add(PerElement(result, source, function, extra))
        if parameters.result == "stored":
            matrix_out(builder, "target", result)

    def reduction(self) -> None:
        """Write a reduction."""
        builder, parameters = self.builder, self.parameters
        source = matrix_in(builder, "source", self.type)
        first, second = Value("first", parameters.component), Value("second", parameters.component)

        def write(writer: FunctionWriter) -> ScalarValue:
            a, b = _raised(writer, first), _raised(writer, second)
            return COMBINATIONS[parameters.body].write(writer, Pair(a, b, first, second, self.around, self.lower))

        result = Value("result", _result_type(parameters))
        builder.add(Reduce(result, source, parameters.mode, self.function((first, second), write)))
        matrix_out(builder, "target", result)

    def decoded(self) -> None:
        """Write a load of a tensor of blocks by a decode function."""
        builder, parameters = self.builder, self.parameters
        tensor_writer = TensorWriter(builder, "literal")
        blocks = tuple(size // block for size, block in zip(parameters.shape, _BLOCK, strict=True))
        strides = row_major(blocks, padded=True)
        count = 1 + sum((size - 1) * stride for size, stride in zip(blocks, strides, strict=True))
        size = count * WORDS.bytes
        tensor = tensor_array(builder, "source", COMPONENT_TYPES["u8"], size, StorageClass.STORAGE_BUFFER, False, Pointee(U32))
        steps: list[LayoutStep] = [("block_size", _BLOCK), ("dimension", parameters.shape), ("stride", strides)]
        layout = tensor_writer.layout("layout", TensorLayoutType(2), *steps)
        pointer, coordinates, within = Value("pointer", WORDS), Value("coordinates", ArrayType(U32, 2)), Value("within", ArrayType(U32, 2))

        def write(writer: FunctionWriter) -> ScalarValue:
            row, column = (writer.extract(coordinates, i) for i in range(2))
            inner_row, inner_column = (writer.extract(within, i) for i in range(2))
            p, q = writer.weighted((5, row), (1, column)), writer.weighted((_BLOCK[1], inner_row), (1, inner_column))
            x = writer.byte(writer.member(pointer, writer.do("shift_right", q, word(2))), q)
            # Small enough for sums of extended instructions to be exact.
            value = self.lower(writer, writer.do("and", x, word(63)))
            assert isinstance(value, Value), "a conversion gives a value"
            given = Given(p, q, x, value, self.around, q, None, pointer, self.lower)
            return BODIES[parameters.body].write(writer, given)

        before = builder.splat("before", self.type, builder.literal(bits_of(parameters.component, 1), parameters.component))
        first = tensor.begin(builder.literal(tensor.first))
        function = self.function((pointer, coordinates, within), write)
        matrix_out(builder, "target", tensor.load("result", self.type, first, before, layout, decode=function))


def _reduced(parameters: SubcaseParameters, combination: Combination, rng: np.random.Generator) -> np.ndarray:
    """Draw elements of the combination's numbers; (instances, rows, columns)."""
    shape = parameters.instances, *parameters.shape
    if combination.constant:
        line = {ReduceMode.ROW: (shape[0], shape[1], 1), ReduceMode.COLUMN: (shape[0], 1, shape[2])}
        numbers = np.broadcast_to(rng.integers(1, combination.limit, line.get(parameters.mode, (shape[0], 1, 1))), shape)
    elif combination.multiples:
        # At least three elements are needed to know their greatest common divisor.
        common = rng.integers(1, 30, (shape[0], shape[1], 1))
        numbers = common * rng.choice(np.array([6, 10, 15, 30, 60]), shape)
    else:
        numbers = rng.integers(0, combination.limit, shape)
        if parameters.mode is ReduceMode.ROW_AND_COLUMN and parameters.body == "extended" and not parameters.component.is_float:
            numbers = numbers // 15
    if combination.negative and parameters.component.is_signed:
        numbers = (numbers * 1001 + 7) * rng.choice(np.array([-1, 1]), shape)
    return numbers.astype(parameters.component.dtype)


def _elements(parameters: SubcaseParameters, rng: np.random.Generator) -> np.ndarray:
    """Draw elements for an operation on them; (instances, rows, columns)."""
    component, shape = parameters.component, (parameters.instances, *parameters.shape)
    if parameters.body == "extended":
        if component.is_float:
            return np.asarray((rng.integers(-64, 64, shape, endpoint=True) / 2).astype(component.dtype))
        return rng.integers(-100 if component.is_signed else 0, 100, shape).astype(component.dtype)
    if parameters.body in ("exponential", "power", "tangent", "root", "logarithm"):
        return np.asarray((rng.integers(-16, 16, shape, endpoint=True) / 4).astype(component.dtype))
    if component.is_float:
        return rng.integers(-1024, 1024, shape, endpoint=True).astype(component.dtype)
    return np.frombuffer(rng.bytes(math.prod(shape) * component.bytes), component.dtype).reshape(shape)


def build(parameters: Parameters) -> Built:
    """Build a program in which an instruction calls a function with the body of the case."""
    case = _Case(parameters)
    {"element": case.element, "reduce": case.reduction, "decode": case.decoded}[parameters.instruction]()

    def draw(name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        if parameters.instruction == "decode":
            inputs = {"source": rng.integers(0, 256, program.array("source").bytes, np.uint8)}
        else:
            reduces = parameters.instruction == "reduce"
            elements = _reduced(parameters, COMBINATIONS[parameters.body], rng) if reduces else _elements(parameters, rng)
            inputs = {"source": matrix_contents(case.type, elements)}
        inputs |= case.around.contents(rng)
        for array in ("words", "packed"):
            if parameters.instruction == "reduce" and array in inputs:
                table = np.array(GROUP_TABLE, np.uint8)
                inputs[array] = np.resize(table, inputs[array].size)
        return Subcase(name, inputs)

    return Built(case.builder.build(), draw)
