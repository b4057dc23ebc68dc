"""variable_pointers: loads and stores through a pointer that the shader selects among several."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from generators.inputs.patterns import pattern_bits
from generators.layouts.byte_tiles import ByteTiles
from generators.layouts.matrix_arrays import WORKGROUP_BYTES
from generators.parameters.declaration import parameter
from generators.parameters.vocabulary import LAYOUTS, USES, Scoped, parse_shape
from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Carried, Condition, Merged
from generators.program.functions import Function
from generators.program.memory import Array, Pointee, Role
from generators.program.operation import Operation
from generators.program.pointers import PointerLoad, PointerMoved, PointerSelect, PointerStore
from generators.program.program import Built, Program, Subcase
from generators.program.values import Matrix, MatrixType, Operand, Pointer, Scalar, ScalarValue, Value, is_pointer
from generators.routines.workgroup import copy
from generators.types import COMPONENT_TYPES, ComponentType, Layout, StorageClass, Use

Form = Literal["select", "phi", "argument", "returned", "moved", "carried"]
Reach = Literal["one_buffer", "two_buffers", "workgroup"]


@dataclass(frozen=True, kw_only=True)
class Parameters(Scoped):
    """The parameters of a case."""

    component: ComponentType = parameter("component type of the matrix", labels=COMPONENT_TYPES)
    use: Use = parameter("use of the matrix", default="a", labels=USES)
    shape: tuple[int, int] = parameter("rows and columns of the matrix", default="8x8", decode=parse_shape)
    form: Form = parameter("where the pointer comes from", default="select")
    access: Literal["load", "store"] = parameter("the access that goes through it", default="load")
    reach: Reach = parameter("where the pointers to choose from lead", default="one_buffer")
    decides: Literal["operand", "instance"] = parameter(
        "whether there is one choice for all scope instances, or each has its own", default="operand"
    )
    untyped: bool = parameter("whether the pointers have no pointee type", default="typed", labels={"typed": False, "untyped": True})
    layout: Layout = parameter("layout of the access", default="row", labels=LAYOUTS)
    padding: int = parameter("padding after each line, in units of the minimum alignment", default=1, then=("subgroups",))


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    choice: Literal["first", "second"] = parameter("which pointer the operand chooses")
    pattern: Literal["index", "bits"] = parameter("the bits of the sources")


_STEPS = 3
"""Number of matrices from which a pointer is chosen, for each scope instance and array."""


def _tiles(parameters: Parameters) -> ByteTiles:
    type_ = MatrixType(parameters.component, parameters.scope, *parameters.shape, parameters.use)
    return ByteTiles(type_, parameters.layout, parameters.padding, parameters.instances, _STEPS)


def _plain_tiles(parameters: Parameters) -> ByteTiles:
    type_ = MatrixType(parameters.component, parameters.scope, *parameters.shape, parameters.use)
    return ByteTiles(type_, Layout.ROW_MAJOR, 0, parameters.instances)


def _fits(parameters: Parameters) -> bool:
    return parameters.reach != "workgroup" or 2 * _tiles(parameters).bytes <= WORKGROUP_BYTES


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {"fits_workgroup_memory": _fits}


class _PointerWriter:
    """Writes the program of one case."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.tiles, self.plain = _tiles(parameters), _plain_tiles(parameters)
        self.builder = ProgramBuilder(parameters.scope, parameters.subgroups)

    def write(self) -> Program:
        """Write the program."""
        builder, loads = self.builder, self.parameters.access == "load"
        plain = self._buffer("target" if loads else "source", self.plain, "output" if loads else "input")
        first = self.plain.first(builder, "plain", plain)
        stride = self.plain.stride_operand(builder, plain)
        chosen_from = [self._array(number) for number in range(1 if self.parameters.reach == "one_buffer" else 2)]
        matrix = None if loads else builder.load("matrix", self.plain.type, plain, first, stride, Layout.ROW_MAJOR)
        loaded = self._access(self._pointers(chosen_from), matrix)
        if loaded is not None:
            builder.store(loaded, plain, first, stride, Layout.ROW_MAJOR)
        if self.parameters.reach == "workgroup" and not loads:
            builder.barrier()
            for number, array in enumerate(chosen_from):
                copy(builder, self._buffer(f"target_{number}", self.tiles, "output"), array)
        return builder.build()

    def _buffer(self, name: str, tiles: ByteTiles, role: Role) -> Array:
        pointee = Pointee(self.parameters.component)
        return self.builder.array(name, pointee, tiles.length(pointee), StorageClass.STORAGE_BUFFER, role)

    def _array(self, number: int) -> Array:
        """Return an array that a pointer may lead into; in workgroup memory it is filled from a buffer."""
        parameters, builder = self.parameters, self.builder
        pointee, loads = Pointee(parameters.component), parameters.access == "load"
        pointers: Literal["typed", "untyped_chain"] = "untyped_chain" if parameters.untyped else "typed"
        name = f"{'source' if loads else 'target'}_{number}"
        length = self.tiles.length(pointee)
        if parameters.reach != "workgroup":
            role: Role = "input" if loads else "output"
            return builder.declare(Array(name, pointee, length, StorageClass.STORAGE_BUFFER, role, pointers=pointers))
        buffer = self._buffer(name if loads else f"{name}_fill", self.tiles, "input")
        block = 0 if parameters.untyped else None
        shared = Array(f"{name}_shared", pointee, length, StorageClass.WORKGROUP, "scratch", pointers=pointers, block=block)
        builder.declare(shared)
        copy(builder, shared, buffer)
        builder.barrier()
        return shared

    def _pointers(self, arrays: list[Array]) -> tuple[Pointer, Pointer]:
        """Return the pointers to choose from: to the two matrices of one array, or to the second one of each of two arrays."""
        strided = self.parameters.form in ("moved", "carried")
        places = [(arrays[0], 0), (arrays[0], 1)] if len(arrays) == 1 else [(arrays[0], 1), (arrays[1], 1)]
        if strided and len(arrays) == 2:
            # The chosen pointer advances by one matrix.
            places = [(array, 0) for array in arrays]
        found = []
        for number, (array, step) in enumerate(places):
            at = self.tiles.first(self.builder, f"place_{number}", array, step)
            found.append(self.builder.element_pointer(f"pointer_{number}", array, at, strided))
        return found[0], found[1]

    def _condition(self) -> Condition:
        """Return the deciding condition: on the operand ``choice``, or on the index of the scope instance and the operand."""
        builder = self.builder
        choice: ScalarValue = builder.operand("choice", U32, "push_constant")
        if self.parameters.decides == "instance" and builder.instances > 1:
            total = builder.arithmetic("total", "add", builder.instance_index(), choice)
            choice = builder.arithmetic("odd", "and", total, builder.literal(1))
        return Condition(choice, "equal", builder.literal(0))

    def _access(self, pointers: tuple[Pointer, Pointer], matrix: Matrix | None) -> Matrix | None:
        """Write the access through the chosen pointer; return the matrix that it loads."""
        builder, form, type_ = self.builder, self.parameters.form, pointers[0].type
        first, second = pointers
        match form:
            case "select":
                return self._through(self._selected(first, second), matrix)
            case "phi":
                chosen: Pointer = Value("chosen", type_)
                with builder.arm() as then:
                    pass
                with builder.arm() as otherwise:
                    pass
                builder.branch(self._condition(), then, otherwise, [Merged(chosen, (first, second))])
                return self._through(chosen, matrix)
            case "argument":
                return self._called(self._selected(first, second), matrix)
            case "returned":
                one, other, flag = Value("one", type_), Value("other", type_), Value("flag", U32)
                chosen = Value("inside", type_)
                select = PointerSelect(chosen, Condition(flag, "equal", builder.literal(0)), one, other)
                choose = Function("choose", (one, other, flag), (select,), chosen)
                decision = self._compared()
                result = builder.call("returned", choose, (first, second, decision))
                assert is_pointer(result), "the function returns a pointer"
                return self._through(result, matrix)
            case "moved":
                return self._through(self._moved(self._selected(first, second), "moved", self._distance()), matrix)
            case _:
                return self._through(self._carried(first), matrix)

    def _compared(self) -> Scalar | Operand:
        """Return the number that the condition compares, for code that takes a number instead of a condition."""
        condition = self._condition()
        assert isinstance(condition.left, Operand | Value), "the condition compares a scalar"
        return condition.left

    def _selected(self, first: Pointer, second: Pointer) -> Pointer:
        chosen: Pointer = Value("chosen", first.type)
        self.builder.add(PointerSelect(chosen, self._condition(), first, second))
        return chosen

    def _distance(self) -> Operand:
        """Return the distance between adjacent matrices, in elements."""
        return self.builder.literal(self.tiles.pitch // self.parameters.component.bytes)

    def _moved(self, pointer: Pointer, name: str, elements: ScalarValue) -> Pointer:
        moved: Pointer = Value(name, pointer.type)
        self.builder.add(PointerMoved(moved, pointer, elements))
        return moved

    def _carried(self, pointer: Pointer) -> Pointer:
        """Return a pointer that a loop advances by one matrix in each iteration; the operand is the number of iterations."""
        builder = self.builder
        index, current, following = Value("i", U32), Value("current", pointer.type), Value("following", pointer.type)
        trips = self._compared()
        with builder.loop(index, trips, [Carried(pointer, current, following)]):
            builder.add(PointerMoved(following, current, self._distance()))
        return current

    def _through(self, pointer: Pointer, matrix: Matrix | None) -> Matrix | None:
        stride = self._stride(pointer)
        if matrix is None:
            return self.builder.load_through("loaded", self.tiles.type, pointer, stride, self.tiles.layout)
        self.builder.store_through(matrix, pointer, stride, self.tiles.layout)
        return None

    def _stride(self, pointer: Pointer) -> Operand:
        return self.builder.literal(self.tiles.stride // pointer.type.stride_bytes)

    def _called(self, pointer: Pointer, matrix: Matrix | None) -> Matrix | None:
        """Write a call to a function that makes the access through its parameter."""
        inside: Pointer = Value("at", pointer.type)
        stride, layout, type_ = self._stride(pointer), self.tiles.layout, self.tiles.type
        if matrix is not None:
            given: Matrix = Value("given", type_)
            body: tuple[Operation, ...] = (PointerStore(given, inside, stride, layout),)
            self.builder.call("", Function("put", (inside, given), body, None), (pointer, matrix))
            return None
        inner: Matrix = Value("inner", type_)
        function = Function("get", (inside,), (PointerLoad(inner, inside, stride, layout),), inner)
        result: Matrix = Value("loaded", type_)
        self.builder.call(result.name, function, (pointer,))
        return result


def build(parameters: Parameters) -> Built:
    """Build a case. Every place that a pointer may lead to has different bits."""
    program = _PointerWriter(parameters).write()
    component = parameters.component

    def draw(name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        inputs = {}
        for array in program.arrays:
            if array.role == "input":
                count = array.count
                bits = pattern_bits("bits", component, count, rng)
                if parameters.pattern == "index" and not array.name.endswith("_fill"):
                    # The two sources have different bits at the same place.
                    skipped = 0 if array.name in ("source", "source_0") else 37
                    bits = pattern_bits("index", component, count + skipped, rng)[skipped:]
                inputs[array.name] = np.ascontiguousarray(bits).view(np.uint8)
        return Subcase(name, inputs, {"choice": int(parameters.choice == "second")})

    return Built(program, draw)
