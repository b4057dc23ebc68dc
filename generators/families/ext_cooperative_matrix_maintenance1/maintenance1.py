"""maintenance1: reductions, functions of elements and changes of use under SPV_EXT_cooperative_matrix_maintenance1."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

import numpy as np

from generators.element_functions.functions import combining
from generators.inputs.patterns import tame_bits
from generators.inputs.reductions import elements_for
from generators.layouts.matrix_arrays import matrix_contents, matrix_in, matrix_out
from generators.numerics.formats import encode, values
from generators.parameters.declaration import parameter
from generators.parameters.vocabulary import SCOPE, VERSIONS, Scoped, parse_shape
from generators.program.builder import U32, ProgramBuilder
from generators.program.callbacks import PerElement, Reduce
from generators.program.conversion import Conversion, MatrixConvert, UseConvert, agrees
from generators.program.conversion import conversions as allowed_conversions
from generators.program.expressions import Binary, Converted, constant, element_function
from generators.program.program import Built, Program, Subcase
from generators.program.shape import LATEST, PLAIN, Version, WorkgroupShape
from generators.program.values import Matrix, MatrixType, Value
from generators.types import COMPONENT_TYPES, ComponentType, ReduceMode, Use

Action = Literal["reduce", "per_element", "use", "back", "there_and_back", "use_converted", "back_converted"]

_MODES: Mapping[str, ReduceMode] = MappingProxyType(
    {"row": ReduceMode.ROW, "column": ReduceMode.COLUMN, "both": ReduceMode.ROW_AND_COLUMN, "2x2": ReduceMode.TWO_BY_TWO}
)
_BACK = ("back", "back_converted")
_UNCONVERTED = ("use", "back", "there_and_back")
_OTHER_SIGN: Mapping[ComponentType, ComponentType] = MappingProxyType(
    {COMPONENT_TYPES[f"{one}{bits}"]: COMPONENT_TYPES[f"{other}{bits}"] for bits in (8, 16, 32, 64) for one, other in ("su", "us")}
)
"""Integer type -> the type that differs from it only in signedness."""
_LARGEST = 100
"""The largest magnitude of elements to which the number of their position is added."""


@dataclass(frozen=True, kw_only=True)
class Parameters(Scoped):
    """The parameters of a case."""

    action: Action = parameter(
        "what is done: a reduction; a function of elements; a change of use from an accumulator, to one (back), or both; or a change of "
        "use that converts components"
    )
    component: ComponentType = parameter("the component type of the source", labels=COMPONENT_TYPES)
    to: ComponentType = parameter(
        "the component type that it becomes",
        default="f32",
        labels=COMPONENT_TYPES,
        applies=lambda parameters: parameters.action.endswith("_converted"),
    )
    mode: ReduceMode = parameter(
        "which elements are combined", default="row", labels=_MODES, applies=lambda parameters: parameters.action == "reduce"
    )
    use: Use = parameter(
        "the use that an accumulator gets, or that becomes an accumulator",
        default="a",
        labels={"a": Use.A, "b": Use.B},
        applies=lambda parameters: parameters.action not in ("reduce", "per_element"),
    )
    shape: tuple[int, int] = parameter("rows and columns of the source", default="16x16", decode=parse_shape)
    sign: Literal["same", "other"] = parameter(
        "the signedness of the components that a change of use gives, compared with the source's",
        default="same",
        applies=lambda parameters: parameters.action in _UNCONVERTED and parameters.component in _OTHER_SIGN,
    )
    version: Version = parameter("the version of SPIR-V that the module has", default="1.6", labels=VERSIONS, then=SCOPE)

    @property
    def type(self) -> MatrixType:
        """The type of the source."""
        use = self.use if self.action in _BACK else Use.ACCUMULATOR
        return MatrixType(self.component, self.scope, *self.shape, use)


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    signs: Literal["mixed", "negative"] = parameter("the signs of elements that are combined or get a number added")


def _conversion(parameters: Parameters) -> Conversion | None:
    """Return the instruction that converts between the component types, if it can also change the use."""
    source, target = parameters.component, parameters.to
    found = next((c for c in allowed_conversions(source, target) if agrees(c, source, target)), None)
    return None if found is Conversion.BITCAST else found


def _convertible(parameters: Parameters) -> bool:
    """Tell whether one instruction converts the components and all data are in the result's range."""
    if not parameters.action.endswith("_converted"):
        return True
    source, target = parameters.component, parameters.to
    in_range = target.is_float or not source.is_float
    return source is not target and in_range and _conversion(parameters) is not None


def _computes(parameters: Parameters) -> bool:
    """Tell whether the type has the arithmetic of the functions and can represent the numbers of all elements."""
    component, (rows, columns) = parameters.component, parameters.shape
    if parameters.action not in ("reduce", "per_element"):
        return True
    wide = not component.is_float or rows * columns + _LARGEST <= 1 << component.precision
    return component.has_arithmetic and (parameters.action == "reduce" or wide)


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {"convertible": _convertible, "computes": _computes}


class _Writer:
    """Writes the program of a case."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        # Before 1.6 a compiler of GLSL states the local size by a constant decorated with WorkgroupSize.
        earlier = WorkgroupShape(local_size="built_in", full_subgroups=True, version=parameters.version)
        shape = PLAIN if parameters.version == LATEST else earlier
        self.builder = ProgramBuilder(parameters.scope, subgroups=parameters.subgroups, shape=shape, maintenance1=True)
        self.source = matrix_in(self.builder, "source", parameters.type)

    def _reduced(self) -> Matrix:
        mode, type_ = self.parameters.mode, self.source.type
        rows, columns = self.parameters.shape
        if mode is ReduceMode.TWO_BY_TWO:
            type_ = replace(type_, rows=rows // 2, columns=columns // 2)
        result = Value("reduced", type_)
        self.builder.add(Reduce(result, self.source, mode, combining("combine", type_.component, "add")))
        return result

    def _numbered(self) -> Matrix:
        """Add to each element the number of its position."""
        component = self.parameters.component
        row, column, element = Value("row", U32), Value("column", U32), Value("element", component)
        number = Binary("add", Binary("multiply", row, constant(U32, self.parameters.shape[1])), column)
        added = number if component is U32 else Converted(component, number)
        function = element_function("numbered", (row, column, element), Binary("add", element, added))
        result = Value("applied", self.source.type)
        self.builder.add(PerElement(result, self.source, function, ()))
        return result

    def _moved(self, name: str, matrix: Matrix, use: Use) -> Matrix:
        type_ = replace(matrix.type, use=use)
        if self.parameters.sign == "other":
            type_ = replace(type_, component=_OTHER_SIGN[matrix.type.component])
        result = Value(name, type_)
        self.builder.add(UseConvert(result, matrix))
        return result

    def _converted(self, use: Use) -> Matrix:
        conversion = _conversion(self.parameters)
        assert conversion is not None, "the constraint 'convertible' excludes what no instruction converts"
        result = Value("converted", replace(self.source.type, component=self.parameters.to, use=use))
        self.builder.add(MatrixConvert(result, self.source, conversion))
        return result

    def _result(self) -> Matrix:
        match self.parameters.action:
            case "reduce":
                return self._reduced()
            case "per_element":
                return self._numbered()
            case "use":
                return self._moved("moved", self.source, self.parameters.use)
            case "back":
                return self._moved("moved", self.source, Use.ACCUMULATOR)
            case "there_and_back":
                there = self._moved("there", self.source, self.parameters.use)
                matrix_out(self.builder, "target_there", there)
                return self._moved("moved", there, Use.ACCUMULATOR)
            case "use_converted":
                return self._converted(self.parameters.use)
            case "back_converted":
                return self._converted(Use.ACCUMULATOR)

    def write(self) -> Program:
        """Write the whole program, which stores the result and then the source again."""
        matrix_out(self.builder, "target", self._result())
        matrix_out(self.builder, "kept", self.source)
        return self.builder.build()


def _groups(parameters: SubcaseParameters, shape: tuple[int, int, int], rng: np.random.Generator) -> np.ndarray:
    """Draw summands whose sums are exact over all elements of a matrix."""
    group = parameters.shape[0] * parameters.shape[1]
    return elements_for(parameters.component, shape, "add", group, parameters.signs, rng)


def _elements(parameters: SubcaseParameters, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the elements of ``count`` sources, (count, rows, columns), of the component's dtype."""
    component, shape = parameters.component, (count, *parameters.shape)
    if parameters.action == "reduce":
        return _groups(parameters, shape, rng)
    if parameters.action == "per_element" and component.is_float:
        numbers = rng.integers(1, _LARGEST, shape, endpoint=True)
        signs = -1 if parameters.signs == "negative" else rng.choice(np.array([-1, 1]), shape)
        return (numbers * signs).astype(component.dtype)
    drawn = component
    if parameters.action.endswith("_converted") and component.is_float and parameters.to.precision < component.precision:
        # Each number has a significand that both types hold.
        drawn = parameters.to
    bits = tame_bits(drawn, math.prod(shape), rng)
    found = bits if drawn is component else encode(component, values(bits, drawn))
    return found.reshape(shape).view(component.dtype)


def build(parameters: Parameters) -> Built:
    """Build a case."""
    type_, instances = parameters.type, parameters.instances

    def draw(name: str, parameters: SubcaseParameters, _: Program, rng: np.random.Generator) -> Subcase:
        return Subcase(name, {"source": matrix_contents(type_, _elements(parameters, instances, rng))})

    return Built(_Writer(parameters).write(), draw)
