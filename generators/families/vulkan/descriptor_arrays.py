"""descriptor_arrays: matrices in buffers that the shader selects from an array of descriptors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from generators.inputs.patterns import pattern_bits
from generators.layouts.byte_tiles import ByteTiles
from generators.operands.constants import together
from generators.operands.run_time import run_time_operands
from generators.parameters.declaration import parameter
from generators.parameters.vocabulary import LAYOUTS, USES, Scoped, parse_shape
from generators.program.builder import U32, ProgramBuilder
from generators.program.memory import Array, Pointee, Role
from generators.program.program import Built, Program, Subcase
from generators.program.values import Matrix, MatrixType, Pointer, ScalarValue
from generators.types import COMPONENT_TYPES, ComponentType, Layout, StorageClass, Use

Access = Literal["load", "store", "both"]


@dataclass(frozen=True, kw_only=True)
class Parameters(Scoped):
    """The parameters of a case."""

    component: ComponentType = parameter("component type of the matrix", labels=COMPONENT_TYPES)
    use: Use = parameter("use of the matrix", default="a", labels=USES)
    shape: tuple[int, int] = parameter("rows and columns of the matrix", default="8x8", decode=parse_shape)
    access: Access = parameter("the accesses whose buffers are chosen", default="load")
    count: int = parameter("descriptors of an array", default=3)
    index: Literal["literal", "specialization", "push_constant", "buffer", "instance"] = parameter(
        "where the number of the descriptor comes from; instance: it differs between scope instances", default="literal"
    )
    binding: Literal["first", "last"] = parameter("whether arrays of descriptors come before the other bindings", default="first")
    layout: Layout = parameter("layout of the accesses whose buffers are chosen", default="row", labels=LAYOUTS)
    layouts: Literal["one", "apart", "in_turn"] = parameter(
        "whether the module also runs in a pipeline whose layout has spare descriptors, in another submission or in turn", default="one"
    )
    padding: int = parameter("padding after each line, in units of the minimum alignment", default=1, then=("subgroups",))


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    which: Literal["first", "last"] = parameter("the descriptor that an operand chooses")
    pattern: Literal["index", "bits"] = parameter("the bits of the sources")


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = {}

_PLAIN = "plain"
_SPARE = 2
"""Descriptors of each binding that only the second layout has."""


class _DescriptorWriter:
    """Writes the program of one case."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        type_ = MatrixType(parameters.component, parameters.scope, *parameters.shape, parameters.use)
        self.tiles = ByteTiles(type_, parameters.layout, parameters.padding, parameters.instances)
        self.plain = ByteTiles(type_, Layout.ROW_MAJOR, 0, parameters.instances)
        self.builder = ProgramBuilder(parameters.scope, parameters.subgroups)
        self.chosen = parameters.count - 1

    def write(self) -> Program:
        """Write the program: a load, and a store of the loaded matrix."""
        access, is_first = self.parameters.access, self.parameters.binding == "first"
        groups: dict[str, list[Array]] = {}
        plain: dict[str, Array] = {}
        for turn in (True, False):
            for name, which in (("source", "load"), ("target", "store")):
                if access in (which, "both"):
                    if turn is is_first:
                        groups[name] = [self._array(name, number) for number in range(self.parameters.count)]
                elif turn is not is_first:
                    plain[name] = self._array(name, None)
        number = self._number()
        loaded = self._load(groups.get("source"), plain.get("source"), number)
        self._store(loaded, groups.get("target"), plain.get("target"), number)
        return self.builder.build()

    def _array(self, name: str, number: int | None) -> Array:
        """Declare a buffer, in an array of descriptors if it has a number."""
        tiles, pointee = self.plain if number is None else self.tiles, Pointee(self.parameters.component)
        role: Role = "input" if name == "source" else "output"
        if number is None:
            return self.builder.array(name, pointee, tiles.length(pointee), StorageClass.STORAGE_BUFFER, role)
        array = Array(f"{name}_{number}", pointee, tiles.length(pointee), StorageClass.STORAGE_BUFFER, role, descriptors=f"{name}s")
        return self.builder.declare(array)

    def _number(self) -> ScalarValue:
        """Return the index of the descriptor: the last one if it is a constant."""
        builder, index = self.builder, self.parameters.index
        if index == "instance":
            # Neighbouring scope instances choose neighbouring descriptors.
            choice = builder.operand("which", U32, "push_constant")
            total = builder.arithmetic("total", "add", builder.instance_index(), choice)
            return builder.arithmetic("number", "modulo", total, builder.literal(self.parameters.count))
        return builder.operand("which", U32, index, self.chosen, 0)

    def _pointer(self, name: str, arrays: list[Array], number: ScalarValue) -> Pointer:
        first = self.tiles.first(self.builder, name, arrays[0])
        return self.builder.descriptor_pointer(f"{name}_pointer", arrays, number, first, self.parameters.index == "instance")

    def _load(self, group: list[Array] | None, plain: Array | None, number: ScalarValue) -> Matrix:
        builder, tiles = self.builder, self.tiles
        if group is not None:
            stride = tiles.stride_operand(builder, group[0])
            return builder.load_through("matrix", tiles.type, self._pointer("load", group, number), stride, tiles.layout)
        assert plain is not None, "a source is in an array of descriptors, or it is not"
        first, stride = self.plain.first(builder, _PLAIN, plain), self.plain.stride_operand(builder, plain)
        return builder.load("matrix", tiles.type, plain, first, stride, self.plain.layout)

    def _store(self, matrix: Matrix, group: list[Array] | None, plain: Array | None, number: ScalarValue) -> None:
        builder, tiles = self.builder, self.tiles
        if group is not None:
            stride = tiles.stride_operand(builder, group[0])
            builder.store_through(matrix, self._pointer("store", group, number), stride, tiles.layout)
            return
        assert plain is not None, "a target is in an array of descriptors, or it is not"
        first, stride = self.plain.first(builder, _PLAIN, plain), self.plain.stride_operand(builder, plain)
        builder.store(matrix, plain, first, stride, self.plain.layout)


def build(parameters: Parameters) -> Built:
    """Build a case. Each source has different bits."""
    program = _DescriptorWriter(parameters).write()
    if parameters.layouts != "one":
        spare = replace(program, label=f"spare_descriptors={_SPARE}", spare_descriptors=_SPARE)
        program = together((program, spare), parameters.layouts == "in_turn")
    component, last = parameters.component, parameters.count - 1

    def draw(name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        inputs = {}
        for number, array in enumerate(array for array in program.arrays if array.role == "input"):
            # The two sources have different bits at the same place.
            skipped = 41 * number if parameters.pattern == "index" else 0
            bits = pattern_bits(parameters.pattern, component, array.count + skipped, rng)[skipped:]
            inputs[array.name] = np.ascontiguousarray(bits).view(np.uint8)
        chosen = 0 if parameters.which == "first" else last
        return Subcase(name, inputs, run_time_operands(program, {"which": chosen}))

    return Built(program, draw)
