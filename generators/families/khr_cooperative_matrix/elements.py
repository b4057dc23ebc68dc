"""elements: each invocation reads and writes its own components, which together form the matrix."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from generators.inputs.patterns import tame_bits
from generators.layouts.matrix_arrays import matrix_source, matrix_target, tight
from generators.layouts.row_types import row_type
from generators.numerics.formats import bits_of
from generators.operands.run_time import run_time_operands
from generators.parameters.declaration import parameter
from generators.parameters.matrices import OneRow
from generators.parameters.vocabulary import SCOPE, layouts_of
from generators.program.builder import U32, ProgramBuilder
from generators.program.elements import ComponentsUpdated, ElementFunction, LeadingForm, OthersCounted, RepeatsCounted, UpdateCondition
from generators.program.memory import Pointee
from generators.program.program import Built, Program, Subcase
from generators.program.values import ArrayType, MatrixType, Operand, StructType, ValueType
from generators.program.variables import Path, Variable
from generators.routines.elements import count_others, count_repeats, update_components
from generators.types import ComponentType, Layout, StorageClass

_FLOAT_FACTORS = (-2.0, 0.5)
_FACTORS = (5, 3)
_ADDENDS = (41, 78)
"""Values of operands, and their defaults as specialization constants."""


@dataclass(frozen=True, kw_only=True)
class Parameters(OneRow):
    """The parameters of a case."""

    member: Literal["a", "b", "c"] = parameter("the operand of the row whose type the matrices have", default="c", then=SCOPE)
    layouts: tuple[Layout, ...] = parameter("the layouts of loads and of stores", default="rr", decode=layouts_of(2))
    storage: Literal["function", "private"] = parameter("storage class of the variables", default="function")
    holder: Literal["plain", "array", "dynamic", "struct", "nested"] = parameter(
        "what holds the matrix: a variable, an array with a constant or a run-time index, a struct, an array in structs in an array",
        default="plain",
    )
    action: Literal["other", "in_place", "move"] = parameter(
        "whether changed components go to another matrix or stay in place, or components are moved to another matrix", default="other"
    )
    condition: UpdateCondition = parameter("which components are updated, and whether invocations diverge", default="always")
    leading: int = parameter("how many components are taken at constant indices, before the loop", default=0)
    leading_form: LeadingForm = parameter(
        "how these components are taken", default="pointer", applies=lambda parameters: parameters.leading > 0
    )
    lengths: Literal["one", "three"] = parameter(
        "whether the module has matrices of one type, or of all operands of the row, whose components below their lengths are checked too",
        default="one",
    )
    operand: Literal["literal", "specialization", "buffer"] = parameter(
        "where operands and the threshold come from", default="literal", applies=lambda parameters: parameters.action != "move"
    )


def _has_arithmetic(parameters: Parameters) -> bool:
    """Return whether SPIR-V has the operations that the case needs: it has no arithmetic on bf16 and 8-bit floats, and no comparison of
    them."""
    return parameters.action == "move" or row_type(parameters.row, parameters.member, parameters.scope).component.has_arithmetic


def _comparable(parameters: Parameters) -> bool:
    """Return whether the components of all operands can be compared, if the case compares them."""
    return parameters.lengths == "one" or all(row_type(parameters.row, name, parameters.scope).component.has_arithmetic for name in "abc")


PREDICATES: Mapping[str, Callable[[Parameters], bool]] = {"comparable": _comparable, "has_arithmetic": _has_arithmetic}

_FILL = 3
"""Value of every element in the matrices whose components are counted: no register has it by chance."""


def _numbered(type_: MatrixType) -> np.ndarray | None:
    """Return a different number for each element, as bits, or None if the component has too few of them that are finite and normal."""
    component, count = type_.component, type_.shape[0] * type_.shape[1]
    if count > 1 << (min(component.bits - 2, 10) if component.is_float else component.bits):
        return None
    steps = np.arange(count, dtype=component.bits_dtype) << max(component.bits - 16, 0)
    return (steps + bits_of(component, 1)).astype(component.bits_dtype)


def _threshold(component: ComponentType) -> tuple[float, float]:
    """Return a value greater than about half of the data, and another value. Reading integers with the other signedness would move many
    data across the first value."""
    if component.is_float:
        return -0.75, 1.5
    return (-11.0, 29.0) if component.is_signed else (3.0 * (1 << component.bits - 3), 7.0 * (1 << component.bits - 3))


@dataclass(frozen=True)
class _Holder:
    """A variable with the matrix that is updated.

    Attributes:
        path: the path to that matrix.
        beside: paths of further matrices, which must not change.
    """

    variable: Variable
    path: Path
    beside: tuple[Path, ...] = ()

    @property
    def paths(self) -> tuple[Path, ...]:
        """Return the paths of all matrices."""
        return (self.path, *self.beside)


class _ElementsWriter:
    """Writes the program of one case: matrices into variables, components updated, all matrices stored.

    Attributes:
        given: value of each operand that a specialization constant or the host supplies.
    """

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.type = row_type(parameters.row, parameters.member, parameters.scope)
        self.builder = ProgramBuilder(parameters.scope, subgroups=parameters.subgroups)
        self.given: dict[str, int] = {}

    def _data(self, name: str, value: float, default: float) -> Operand:
        component, source = self.type.component, self.parameters.operand
        bits = bits_of(component, value)
        if source == "literal":
            return self.builder.literal(bits, component)
        self.given[name] = bits
        # A default of small magnitude keeps float results exact whether a device takes the value or the default.
        return self.builder.operand(name, component, source, bits, bits_of(component, default))

    def _index(self, name: str) -> Operand:
        self.given[name] = 1
        return self.builder.operand(name, U32, "push_constant")

    def _function(self) -> ElementFunction:
        """Make a function. For floats it is exact: a factor of minus two keeps them normal. For integers it is neither linear nor its own
        inverse."""
        if self.parameters.action == "move":
            return ElementFunction()
        if self.type.component.is_float:
            return ElementFunction(self._data("factor", *_FLOAT_FACTORS))
        return ElementFunction(self._data("factor", *_FACTORS), self._data("addend", *_ADDENDS))

    def _holder(self, name: str) -> _Holder:
        type_ = self.type
        whole: ValueType = type_
        path: Path = ()
        beside: tuple[Path, ...] = ()
        match self.parameters.holder:
            case "array":
                whole, path, beside = ArrayType(type_, 3), (1,), ((0,), (2,))
            case "dynamic":
                whole, path, beside = ArrayType(type_, 3), (self._index(f"{name}_index"),), ((0,), (2,))
            case "struct":
                whole, path, beside = StructType(f"{name}_holder", (type_, U32, type_)), (2,), ((0,),)
            case "nested":
                index = self._index(f"{name}_index")
                struct = StructType(f"{name}_holder", (U32, ArrayType(type_, 2)))
                whole, path, beside = ArrayType(struct, 2), (index, 1, index), ((0, 1, 1), (1, 1, 0))
        return _Holder(self.builder.variable(name, whole, self.parameters.storage), path, beside)

    def write(self) -> Program:
        """Write the program."""
        parameters, builder = self.parameters, self.builder
        load, store = parameters.layouts
        function = self._function()
        threshold = None
        if parameters.condition == "below":
            threshold = self._data("threshold", *_threshold(self.type.component))
        held = self._holder("held")
        holders = [held]
        if parameters.action != "in_place":
            holders.append(self._holder("other"))
        kept = builder.variable("kept", self.type, "function") if parameters.leading_form == "composite" else None
        count = sum(len(holder.paths) for holder in holders)
        instances = builder.instances
        source = matrix_source(builder, "source", tight(self.type, load, (instances, count)), label="place")
        target = matrix_target(builder, "target", tight(self.type, store, (instances, count + (kept is not None))), label="place")
        places = [(holder.variable, path) for holder in holders for path in holder.paths]
        for tile, (variable, path) in enumerate(places):
            builder.set(variable, path, source.load_tile(f"matrix_{tile}", tile))
        changed = holders[-1]
        if kept is not None:
            builder.set(kept, (), builder.get_matrix("matrix_kept", changed.variable, *changed.path))
            places.append((kept, ()))
        update_components(
            builder,
            ComponentsUpdated(
                changed.variable,
                changed.path,
                held.variable,
                held.path,
                function,
                parameters.condition,
                threshold,
                parameters.leading,
                parameters.leading_form,
                kept,
            ),
        )
        if parameters.lengths == "three":
            self._lengths()
        for tile, (variable, path) in enumerate(places):
            target.store_tile(builder.get_matrix(f"{variable.name}_{tile}", variable, *path), tile)
        return builder.build()

    def _lengths(self) -> None:
        """Load a matrix of each operand's type, update its components, count the components that differ from ``_FILL``, and store it. Also
        load one whose elements all differ, if the type has so many numbers, and count its equal components."""
        builder, parameters = self.builder, self.parameters
        others = builder.array("others", Pointee(U32), 6, StorageClass.STORAGE_BUFFER, "inout")
        for number, name in enumerate("abc"):
            type_ = row_type(parameters.row, name, parameters.scope)
            source, target = (
                make(builder, f"{name}_{word}", tight(type_, Layout.ROW_MAJOR, (builder.instances, 1)), label="place")
                for make, word in ((matrix_source, "in"), (matrix_target, "out"))
            )
            variable = builder.variable(f"held_{name}", type_)
            builder.set(variable, (), source.load(f"matrix_{name}"))
            fill = builder.literal(bits_of(type_.component, _FILL), type_.component)
            count_others(builder, OthersCounted(others, number, variable, fill))
            update_components(builder, ComponentsUpdated(variable, (), variable, (), ElementFunction(fill)))
            target.store(builder.get_matrix(f"{name}_updated", variable))
            if _numbered(type_) is not None:
                source = matrix_source(builder, f"{name}_numbered", tight(type_, Layout.ROW_MAJOR, (builder.instances, 1)), label="place")
                numbered = builder.variable(f"numbered_{name}", type_)
                builder.set(numbered, (), source.load(f"matrix_numbered_{name}"))
                count_repeats(builder, RepeatsCounted(others, 3 + number, numbered))


def build(parameters: Parameters) -> Built:
    """Build a case: its program, and random data without zeros or denormals."""
    writer = _ElementsWriter(parameters)
    built = writer.write()
    array = built.array("source")

    def draw(name: str, _: Parameters, program: Program, rng: np.random.Generator) -> Subcase:
        inputs = {"source": tame_bits(array.pointee.component, array.count, rng).view(np.uint8)}
        for other in program.arrays:
            if other.name in ("a_in", "b_in", "c_in"):
                inputs[other.name] = np.full(other.count, _FILL).astype(other.pointee.component.dtype).view(np.uint8)
            elif other.name == "others":
                inputs[other.name] = np.zeros(other.bytes, np.uint8)
            elif other.name.endswith("_numbered"):
                numbers = _numbered(row_type(parameters.row, other.name[0], parameters.scope))
                assert numbers is not None, "the program has the matrix only if its type has enough numbers"
                inputs[other.name] = np.tile(rng.permutation(numbers), writer.builder.instances).view(np.uint8)
        return Subcase(name, inputs, run_time_operands(program, writer.given))

    return Built(built, draw)
