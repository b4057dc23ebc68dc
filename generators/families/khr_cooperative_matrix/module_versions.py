"""module_versions: the same work in modules of each SPIR-V version, with each way to state the local size."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from generators.inputs import integers, products
from generators.inputs.patterns import Pattern, pattern_bits
from generators.inputs.products import Chain
from generators.layouts.matrix_arrays import Tiles, fit_workgroup_memory, matrix_out, matrix_sources, matrix_targets, tiled
from generators.layouts.placement import fills
from generators.layouts.product_tiles import ProductTiles, product_tiles
from generators.layouts.tensor_writer import TensorWriter, slice_step
from generators.layouts.tensors import pattern_contents, row_major, tensor_array, tensor_elements
from generators.parameters.declaration import parameter
from generators.parameters.matrices import OneRow
from generators.parameters.vocabulary import FULL_SUBGROUPS, STORAGE_CLASSES, SUBGROUP_SIZES, VERSIONS, OfEitherExtension
from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Carried, Condition, Merged
from generators.program.conversion import agrees, conversions
from generators.program.program import Built, Program, Subcase
from generators.program.shape import LocalSize, Version, WorkgroupShape
from generators.program.values import Matrix, TensorLayoutType, Value
from generators.types import COMPONENT_TYPES, ClampMode, ComponentType, Layout, StorageClass

_LAYOUTS = (Layout.ROW_MAJOR, Layout.COLUMN_MAJOR, Layout.COLUMN_MAJOR, Layout.ROW_MAJOR)

_CONVERTED: Mapping[str, ComponentType] = {
    name: COMPONENT_TYPES[other] for name, other in (("f16", "f32"), ("f32", "f16"), ("bf16", "f32"), ("s32", "f32"), ("u32", "f32"))
}
"""Component type of C -> its component type after the conversion: another type that devices have in accumulators."""

_TRIPS = 3
"""Iterations of the loop: the first negates the accumulator, the others add a product."""

Work = Literal["copy", "muladd", "convert", "elementwise", "control", "tensor_load"]
"""Loads and stores, one multiply-add, a conversion of C, arithmetic on the elements of C, a branch around a multiply-add in a loop, and a
load of C by tensor addressing."""


@dataclass(frozen=True, kw_only=True)
class Parameters(OneRow, OfEitherExtension):
    """The parameters of a case."""

    work: Work = parameter("what the shader does", default="copy")
    version: Version = parameter("the version of SPIR-V that the module has", default="1.6", labels=VERSIONS)
    local_size: LocalSize = parameter("how the module states the local size", default="x_constant")
    full: bool | None = parameter("whether the pipeline requires full subgroups", default="if_possible", labels=FULL_SUBGROUPS)
    subgroup_size: int | None = parameter(
        "the subgroup size that the pipeline requires", default="device", labels=SUBGROUP_SIZES, then=("subgroups",)
    )
    storage: StorageClass = parameter("where the arrays are", default="storage_buffer", labels=STORAGE_CLASSES)


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: Pattern = parameter("the bits of the operands", labels={"index": "index", "random": "bits"})


def _tiles(parameters: Parameters) -> ProductTiles:
    return product_tiles(parameters.row, parameters.scope, _LAYOUTS, True, parameters.instances)


def _work_fits(parameters: Parameters) -> bool:
    """Tell whether the work supports the components of C and Result: bfloat16 and 8-bit floats have no arithmetic."""
    row = parameters.row
    match parameters.work:
        case "convert":
            return row.c.name in _CONVERTED
        case "elementwise":
            return row.c.has_arithmetic
        case "control":
            return row.c.has_arithmetic and row.c == row.result
        case _:
            return True


def _fits_memory(parameters: Parameters) -> bool:
    """Tell whether workgroup memory holds all arrays."""
    worked = _tiles(parameters)
    inputs = [*worked.given.values()]
    outputs = inputs if parameters.work == "copy" else [*worked.d.values()]
    return fit_workgroup_memory(parameters.storage, inputs + outputs)


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {
    "fits_workgroup_memory": _fits_memory,
    "work_fits": _work_fits,
    "wraps": lambda parameters: not parameters.row.saturating,
}


class _WorkWriter:
    """Writes the program of one case."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self.tiles = _tiles(parameters)
        shape = WorkgroupShape(
            local_size=parameters.local_size,
            subgroup_size=parameters.subgroup_size,
            full_subgroups=parameters.full,
            version=parameters.version,
        )
        self.builder = ProgramBuilder(parameters.scope, parameters.subgroups, shape=shape, maintenance1=parameters.maintenance1)

    def write(self) -> Program:
        """Write the program."""
        if self.parameters.work == "tensor_load":
            self._tensor_load()
            return self.builder.build()
        builder, storage = self.builder, self.parameters.storage
        given = self._given()
        sources = matrix_sources(builder, given, storage)
        targets = matrix_targets(builder, self._taken(), storage)
        results = self._results({name: source.load(at=source.product()) for name, source in sources.items()})
        for name, matrix in results.items():
            targets[name].store(matrix, targets[name].product())
        for target in targets.values():
            target.finish(builder)
        return builder.build()

    def _given(self) -> dict[str, Tiles]:
        """Return the matrices that the shader loads."""
        tiles = self.tiles
        return tiles.c if self.parameters.work in ("convert", "elementwise") else tiles.given

    def _taken(self) -> dict[str, Tiles]:
        """Return the matrices that the shader stores."""
        tiles, parameters = self.tiles, self.parameters
        match parameters.work:
            case "copy":
                return {f"{name}_copy": each for name, each in self._given().items()}
            case "convert":
                type_ = replace(tiles.c["c"].type, component=_CONVERTED[parameters.row.c.name])
                return {"converted": tiled(type_, Layout.ROW_MAJOR, True, (parameters.instances, 1))}
            case "elementwise":
                return {"computed": tiles.c["c"]}
            case _:
                return tiles.d

    def _results(self, given: Mapping[str, Matrix]) -> dict[str, Matrix]:
        """Return the matrices that the shader stores, by name of the array."""
        builder, c = self.builder, given["c"]
        match self.parameters.work:
            case "copy":
                return {f"{name}_copy": matrix for name, matrix in given.items()}
            case "convert":
                source, target = c.type.component, _CONVERTED[c.type.component.name]
                (conversion,) = (each for each in conversions(source, target) if agrees(each, source, target))
                return {"converted": builder.convert("converted_c", c, target, conversion)}
            case "elementwise":
                total = builder.elementwise("total", "add", c, builder.elementwise("square", "multiply", c, c))
                return {"computed": builder.negate("negated", total)}
            case "control":
                return {"d": self._loop(given)}
            case _:
                return {"d": self._product("product", given, c)}

    def _product(self, name: str, given: Mapping[str, Matrix], c: Matrix) -> Matrix:
        row = self.tiles.row
        return self.builder.muladd(name, self.tiles.d["d"].type, given["a"], given["b"], c, row.operands or None)

    def _loop(self, given: Mapping[str, Matrix]) -> Matrix:
        """Return 2 A x B - C: a loop of three iterations whose first one negates the accumulator."""
        builder, type_ = self.builder, given["c"].type
        index, current, following = Value("i", U32), Value("current", type_), Value("following", type_)
        carried: list[Carried] = []
        with builder.loop(index, builder.literal(_TRIPS), carried):
            with builder.arm() as then:
                negated = builder.negate("negated", current)
            with builder.arm() as otherwise:
                product = self._product("product", given, current)
            merged = [Merged(following, (negated, product))]
            builder.branch(Condition(index, "less", builder.literal(1)), then, otherwise, merged)
            carried.append(Carried(given["c"], current, following))
        return current

    def _tensor_load(self) -> None:
        """Load C from a slice of a tensor that is larger in both dimensions, and store it."""
        builder, type_, storage = self.builder, self.tiles.c["c"].type, self.parameters.storage
        sizes = type_.shape[0] + 3, type_.shape[1] + 5
        tensor = tensor_array(builder, "source", type_.component, tensor_elements(sizes, row_major(sizes)), storage, False)
        writer = TensorWriter(builder, "literal")
        layout = writer.layout("layout", TensorLayoutType(2, ClampMode.UNDEFINED), ("dimension", sizes), slice_step((1, 2), type_.shape))
        before = builder.splat("before", type_, builder.literal(1, type_.component))
        matrix_out(builder, "target", tensor.load("matrix", type_, tensor.begin(builder.literal(tensor.first)), before, layout))


def _whole_numbers(parameters: Parameters, rng: np.random.Generator) -> np.ndarray:
    """Draw elements of C that are exact in both types of the conversion, or whose square is in C's type: (instances, 1, rows, columns)."""
    component, row = parameters.row.c, parameters.row
    types = (component, _CONVERTED[component.name]) if parameters.work == "convert" else (component,)
    digits = min([each.precision if each.is_float else each.bits - 1 for each in types])
    most = (1 << digits) - 1 if parameters.work == "convert" else (1 << (digits - 1) // 2) - 1
    least = -most if component.is_signed else 0
    drawn = rng.integers(least, most, (parameters.instances, 1, row.m, row.n), endpoint=True)
    return drawn.astype(component.dtype)


def build(parameters: Parameters) -> Built:
    """Build a case. Results are exact under any order of summation, and no two instances have the same data."""
    writer = _WorkWriter(parameters)
    worked, work = writer.tiles, parameters.work
    given = worked.given

    def draw(name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        arrays: dict[str, np.ndarray] = {}
        if work == "tensor_load":
            arrays["source"] = pattern_contents(program.array("source"), parameters.row.c, "index", rng)
        elif work == "copy":
            arrays = {
                array: pattern_bits(parameters.pattern, tiles.component, tiles.length, rng).view(np.uint8) for array, tiles in given.items()
            }
        elif work in ("convert", "elementwise"):
            arrays["c"] = worked.c["c"].contents(_whole_numbers(parameters, rng), rng)
        else:
            chain = Chain(worked.row, program.instances, 1, _TRIPS - 1 if work == "control" else 1)
            drawn = (products.exact if worked.row.result.is_float else integers.wrapping)(chain, rng)
            values = {"a": drawn.a, "b": drawn.b, "c": drawn.c[:, None]}
            arrays = {array: tiles.contents(values[array], rng) for array, tiles in given.items()}
        return Subcase(name, arrays | fills(program, rng))

    return Built(writer.write(), draw)
