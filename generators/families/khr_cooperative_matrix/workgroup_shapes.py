"""workgroup_shapes: local sizes, dispatches and subgroup sizes of every shape, each subgroup at work on tiles of its own.

Axis values are those of cases/khr_cooperative_matrix/workgroup_shapes.yaml.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping

import numpy as np

from generators.inputs import integers, products
from generators.inputs.patterns import index_coded, random_bits
from generators.inputs.products import Chain
from generators.layouts.placement import fills, stage_in, stage_out
from generators.layouts.product_tiles import ProductTiles, product_tiles
from generators.layouts.tiles import Tiles, fit_workgroup_memory
from generators.parameters.vocabulary import OPERAND_USES, SCOPES, STORAGE, TakenValues, Values, layouts_of
from generators.program.builder import U32, ProgramBuilder
from generators.program.memory import Pointee
from generators.program.program import Program, Subcase
from generators.program.shape import WorkgroupShape
from generators.program.values import MatrixType, Operand, Scalar
from generators.property_rows import PropertyRow, parse_row
from generators.types import Scope, StorageClass, Use

_INVOCATIONS = 1024
"""Invocations of the largest workgroup: what devices have today."""

_INSTANCES = 64
"""The most scope instances of a dispatch: more show nothing new and take longer."""


_FULL: Mapping[str, bool | None] = {"if_possible": None, "required": True, "not_required": False}


def _along(values: Values) -> tuple[int, int]:
    """Invocations in y and z; what they leave of the subgroups lies along x."""
    subgroups = int(values["subgroups"])
    match values["arrangement"]:
        case "y":
            return subgroups, 1
        case "z":
            return 1, subgroups
        case "xy":
            return 2, 1
        case "xz":
            return 1, subgroups // 2
        case "yz":
            return 2, subgroups // 2
        case _:
            return 1, 1


def _arranged(values: Values) -> bool:
    """Arrangements of two axes split the subgroups in two, those of one have two subgroups at least."""
    subgroups, arrangement = int(values["subgroups"]), values["arrangement"]
    return arrangement == "x" or (subgroups > 1 if len(arrangement) == 1 else subgroups > 2 and subgroups % 2 == 0)


def _fits_workgroup(values: Values) -> bool:
    size = values["subgroup_size"]
    return size == "device" or int(size) * int(values["subgroups"]) <= _INVOCATIONS


def _workgroups(values: Values) -> tuple[int, int, int]:
    x, y, z = (int(count) for count in values["workgroups"].split("x"))
    return x, y, z


def _instances(values: Values) -> int:
    return math.prod(_workgroups(values)) * (int(values["subgroups"]) if SCOPES[values["scope"]] is Scope.SUBGROUP else 1)


def _plan(values: Values) -> ProductTiles:
    """The tiles of all instances of the dispatch."""
    return product_tiles(parse_row(values["row"]), layouts_of(4)(values["layouts"]), True, _instances(values))


def _row(values: Values) -> PropertyRow:
    return parse_row(values["row"])


def _fits_memory(values: Values) -> bool:
    """Workgroup memory holds all arrays."""
    if values["storage"] != "workgroup":
        return True
    worked = _plan(values)
    inputs = [*worked.a.values(), *worked.b.values(), *worked.c.values()]
    outputs = list(worked.d.values()) if values["form"] == "muladd" else inputs
    several = math.prod(_workgroups(values)) > 1
    return fit_workgroup_memory(StorageClass(values["storage"]), inputs if several else inputs + outputs)


PREDICATES: Mapping[str, Callable[[Values], bool]] = {
    "arranged": _arranged,
    "fits_workgroup": _fits_workgroup,
    "few_instances": lambda values: _instances(values) <= _INSTANCES,
    "fits_workgroup_memory": _fits_memory,
    "wraps": lambda values: not _row(values).saturating,
}

AXES: TakenValues = {
    "row": None,
    "scope": SCOPES.keys(),
    "form": ("copy", "muladd"),
    "subgroups": (1, 2, 3, 4, 8, 16),
    "arrangement": ("x", "y", "z", "xy", "xz", "yz"),
    "local_size": ("x_constant", "constants", "literals"),
    "subgroup_size": ("device", 4, 8, 16, 32, 64, 128),
    "full": _FULL.keys(),
    "workgroups": re.compile(r"[1-9]\d*x[1-9]\d*x[1-9]\d*"),
    "storage": STORAGE,
    "built_ins": ("none", "first", "last"),
    "layouts": re.compile("[rc]{4}"),
    "pattern": ("index", "random"),
}


def _shape(values: Values) -> WorkgroupShape:
    y, z = _along(values)
    size = values["subgroup_size"]
    return WorkgroupShape(y, z, values["local_size"], None if size == "device" else int(size), _FULL[values["full"]])


class _Writer:
    """Writes the program of one case."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self.plan = _plan(values)
        self.scope = SCOPES[values["scope"]]
        self.builder = ProgramBuilder(self.scope, int(values["subgroups"]), _workgroups(values), _shape(values))

    def _first(self, name: str, tiles: Tiles) -> Operand | Scalar:
        builder = self.builder
        if builder.instances == 1:
            return builder.literal(0)
        return builder.arithmetic(f"{name}_first", "multiply", builder.instance_index(), builder.literal(tiles.pitch))

    def write(self) -> Program:
        """Loads A, B and C; stores each of them, or A x B + C."""
        builder, worked = self.builder, self.plan
        storage = StorageClass(self.values["storage"])
        # Several workgroups cannot write one buffer from what each has in its own memory.
        out = StorageClass.STORAGE_BUFFER if storage is StorageClass.WORKGROUP and math.prod(_workgroups(self.values)) > 1 else storage
        given = worked.a | worked.b | worked.c
        taken = worked.d if self.values["form"] == "muladd" else {f"{name}_copy": tiles for name, tiles in given.items()}
        sources = {name: stage_in(builder, name, Pointee(t.component), t.length, storage) for name, t in given.items()}
        targets = {name: stage_out(builder, name, Pointee(t.component), t.length, out) for name, t in taken.items()}
        known = None
        if self.values["built_ins"] != "none":
            size = int(self.values["subgroup_size"])
            lanes = math.prod(_workgroups(self.values)) * int(self.values["subgroups"]) * size
            known = builder.array("subgroups", Pointee(U32, 4), lanes, StorageClass.STORAGE_BUFFER, "output")
        if known is not None and self.values["built_ins"] == "first":
            builder.store_subgroups(known, size)

        matrices = {
            name: builder.load(
                f"matrix_{name}",
                MatrixType(t.component, self.scope, t.rows, t.columns, OPERAND_USES[name]),
                sources[name],
                self._first(name, t),
                builder.literal(t.stride),
                t.layout,
            )
            for name, t in given.items()
        }
        results = {f"{name}_copy": matrix for name, matrix in matrices.items()}
        if self.values["form"] == "muladd":
            tiles = worked.d["d"]
            type_ = MatrixType(tiles.component, self.scope, tiles.rows, tiles.columns, Use.ACCUMULATOR)
            operands = worked.row.operands or None
            results = {"d": builder.muladd("product", type_, matrices["a"], matrices["b"], matrices["c"], operands)}
        for name, matrix in results.items():
            t = taken[name]
            builder.store(matrix, targets[name].array, self._first(name, t), builder.literal(t.stride), t.layout)
        if known is not None and self.values["built_ins"] == "last":
            builder.store_subgroups(known, size)
        for target in targets.values():
            target.finish(builder)
        return builder.build()


def program(values: Values) -> Program:
    """The program of a case."""
    return _Writer(values).write()


def _operands(worked: ProductTiles, instances: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """A, B and C of every instance, exact under any order of summation, (instances, 1, rows, columns)."""
    chain = Chain(worked.row, instances, 1, 1)
    drawn = (products.exact if worked.row.result.is_float else integers.wrapping)(chain, rng)
    return {"a": drawn.a, "b": drawn.b, "c": drawn.c[:, None]}


def subcase(name: str, values: Values, program: Program, rng: np.random.Generator) -> Subcase:
    """For a multiply-add exact data; for copies bits that name their position, or random ones: no two instances have the same."""
    worked = _plan(values)
    given = worked.a | worked.b | worked.c
    arrays: dict[str, np.ndarray] = {}
    if values["form"] == "muladd":
        drawn = _operands(worked, program.instances, rng)
        arrays = {array: tiles.place(drawn[array], rng) for array, tiles in given.items()}
    else:
        for array, tiles in given.items():
            bits = index_coded(tiles.component, tiles.length) if values["pattern"] == "index" else None
            arrays[array] = (random_bits(tiles.component, tiles.length, rng) if bits is None else bits).view(np.uint8)
    return Subcase(name, arrays | fills(program, rng))
