"""memory: what one invocation writes, others read, through matrices and through plain accesses.

Axis values are those of cases/khr_cooperative_matrix/memory.yaml. An array called ``handed`` lies between the writer and the
reader; each form says who these are, and what stands between them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from generators.inputs.patterns import index_coded, random_bits
from generators.layouts.tiles import WORKGROUP_BYTES
from generators.parameters.vocabulary import LAYOUTS, SCOPES, SHAPE, STORAGE, SUBGROUPS, USES, TakenValues, Values, instances, shape_of
from generators.program.builder import U32, ProgramBuilder
from generators.program.load_store import MemoryOperand
from generators.program.memory import Array, Pointee, Role
from generators.program.program import Program, Subcase
from generators.program.values import Matrix, MatrixType, Scalar, ScalarValue
from generators.program.workgroup import Handover
from generators.types import COMPONENT_TYPES, ComponentType, Layout, MemoryAccess, MemoryScope, StorageClass

_WORKGROUPS = 3
"""Workgroups of a dispatch whose last one reads what all have written."""
_TILES = 4
"""Tiles that each scope instance has in the form ``tiles``."""
_EXTRAS = {"none": MemoryAccess.NONE, "volatile": MemoryAccess.VOLATILE, "nontemporal": MemoryAccess.NONTEMPORAL}


@dataclass(frozen=True)
class Tile:
    """A matrix in an array, in components: distance of its lines, of its neighbour, and place of the first tile."""

    stride: int
    pitch: int
    first: int

    def length(self, count: int) -> int:
        """Elements of an array with ``count`` tiles."""
        return self.first + count * self.pitch


def _component(values: Values) -> ComponentType:
    return COMPONENT_TYPES[values["component"]]


def _tile(values: Values) -> Tile:
    """Every line begins at a multiple of 16 bytes, or of the line where that is less (KHR-ALIGN-01)."""
    rows, columns = shape_of(values)
    granule = 16 // _component(values).bytes
    lines, line = (rows, columns) if LAYOUTS[values["written"]] is Layout.ROW_MAJOR else (columns, rows)
    stride = line + granule if values["padding"] == "padded" else line
    return Tile(stride, stride * lines + granule, granule)


def _stride(values: Values, layout: str) -> int:
    """A tight tile read in the other layout has the lines of that layout."""
    if values["padding"] == "padded" or values[layout] == values["written"]:
        return _tile(values).stride
    rows, columns = shape_of(values)
    return columns if LAYOUTS[values[layout]] is Layout.ROW_MAJOR else rows


def _count(values: Values) -> int:
    """Tiles in an array."""
    per_instance = _TILES if values["form"] == "tiles" else 1
    return instances(values) * per_instance * (_WORKGROUPS if values["form"] == "dispatch" else 1)


def _fits(values: Values) -> bool:
    return values["storage"] != "workgroup" or _tile(values).length(_count(values)) * _component(values).bytes <= WORKGROUP_BYTES


PREDICATES: Mapping[str, Callable[[Values], bool]] = MappingProxyType({"fits_workgroup_memory": _fits})

AXES: TakenValues = {
    "component": COMPONENT_TYPES.keys(),
    "use": USES.keys(),
    "shape": SHAPE,
    "scope": SCOPES.keys(),
    "subgroups": SUBGROUPS,
    "form": (
        "subgroup",
        "workgroup",
        "dispatch",
        "plain_to_matrix",
        "matrix_to_plain",
        "plain_around_matrix",
        "in_place",
        "tiles",
        "array_stride",
    ),
    "storage": STORAGE,
    "handover": ("barrier", "access"),
    "written": LAYOUTS.keys(),
    "read": LAYOUTS.keys(),
    "padding": ("tight", "padded"),
    "extra": _EXTRAS.keys(),
    "pattern": ("index", "bits"),
    "run": None,
}


@dataclass(frozen=True)
class Parts:
    """What every form is made of: the ``source`` of all data, the ``handed`` array and the ``target``, each with tiles of one kind."""

    builder: ProgramBuilder
    values: Values
    type: MatrixType
    tile: Tile
    instance: Scalar | None

    @property
    def handover(self) -> Handover:
        """What makes writes available and visible."""
        return "access" if self.values["handover"] == "access" else "barrier"

    def array(self, name: str, storage: StorageClass, role: Role) -> Array:
        """An array of tiles."""
        return self.builder.array(name, Pointee(self.type.component), self.tile.length(_count(self.values)), storage, role)

    def source(self) -> Array:
        """The input."""
        return self.array("source", StorageClass.STORAGE_BUFFER, "input")

    def target(self) -> Array:
        """The output."""
        return self.array("target", StorageClass.STORAGE_BUFFER, "output")

    def handed(self) -> Array:
        """The array between: of a buffer, the host sees what became of it."""
        storage = StorageClass(self.values["storage"])
        return self.array("handed", storage, "scratch" if storage is StorageClass.WORKGROUP else "inout")

    def place(self, name: str, first: int = 0, step: int = 1) -> ScalarValue:
        """Where the tile ``first`` + instance * ``step`` begins."""
        base = self.builder.literal(self.tile.first + first * self.tile.pitch)
        if self.instance is None:
            return base
        return self.builder.offset(name, base, self.instance, step * self.tile.pitch % (1 << 32))

    def operand(self, write: bool) -> MemoryOperand | None:
        """What the case says of its accesses to the handed array."""
        extra = _EXTRAS[self.values["extra"]]
        if not extra:
            return None
        made = MemoryAccess.MAKE_POINTER_AVAILABLE if write else MemoryAccess.MAKE_POINTER_VISIBLE
        scope = {"subgroup": MemoryScope.SUBGROUP, "dispatch": MemoryScope.QUEUE_FAMILY}.get(self.values["form"], MemoryScope.WORKGROUP)
        return MemoryOperand(extra | MemoryAccess.NON_PRIVATE_POINTER | made, scope=scope)

    def stride(self, layout: str) -> ScalarValue:
        """Between the lines of a tile in the layout of the axis ``layout``."""
        return self.builder.literal(_stride(self.values, layout))

    def load(self, name: str, array: Array, at: ScalarValue, layout: str) -> Matrix:
        """Loads a tile in the layout of the axis ``layout``."""
        memory = self.operand(write=False) if array.name == "handed" else None
        return self.builder.load(name, self.type, array, at, self.stride(layout), LAYOUTS[self.values[layout]], memory)

    def store(self, matrix: Matrix, array: Array, at: ScalarValue, layout: str) -> None:
        """Stores a tile in the layout of the axis ``layout``."""
        memory = self.operand(write=True) if array.name == "handed" else None
        self.builder.store(matrix, array, at, self.stride(layout), LAYOUTS[self.values[layout]], memory)


def _between_instances(parts: Parts, scope: MemoryScope) -> None:
    """A matrix is stored, and after a barrier loaded again: by the same instance, or by that as far from the last one."""
    source, handed, target = parts.source(), parts.handed(), parts.target()
    at = parts.place("own")
    parts.store(parts.load("written", source, at, "written"), handed, at, "written")
    parts.builder.barrier(scope, parts.handover)
    last = instances(parts.values) - 1
    read = parts.place("other", last, -1) if scope is MemoryScope.WORKGROUP else at
    parts.store(parts.load("read", handed, read, "read"), target, at, "read")


def _dispatch(parts: Parts) -> None:
    """Each workgroup stores its matrices, and the last one to arrive loads them all."""
    builder, handed, source, target = parts.builder, parts.handed(), parts.source(), parts.target()
    counter = builder.array("counter", Pointee(U32), 1, StorageClass.STORAGE_BUFFER, "inout")
    at = parts.place("own")
    parts.store(parts.load("written", source, at, "written"), handed, at, "written")
    per_workgroup = instances(parts.values)
    with builder.last_workgroup(counter) as index:
        inside = Parts(builder, parts.values, parts.type, parts.tile, index)
        for workgroup in range(_WORKGROUPS):
            begin = workgroup * per_workgroup
            matrix = inside.load(f"read_{workgroup}", handed, inside.place(f"other_{workgroup}", begin + per_workgroup - 1, -1), "read")
            inside.store(matrix, target, inside.place(f"place_{workgroup}", begin), "read")


def _plain_to_matrix(parts: Parts) -> None:
    """Single elements are written, each by another invocation than the index of its source says, then matrices are loaded."""
    source, handed, target = parts.source(), parts.handed(), parts.target()
    parts.builder.copy(handed, source, backwards=True)
    parts.builder.barrier(handover=parts.handover)
    at = parts.place("own")
    parts.store(parts.load("read", handed, at, "read"), target, at, "read")


def _matrix_to_plain(parts: Parts, around: bool) -> None:
    """Matrices are stored over what plain stores wrote before, then single elements are read: by the invocation that wrote the
    plain one (``around``), which must not remember it, or by another."""
    source, handed, target = parts.source(), parts.handed(), parts.target()
    fill = parts.array("fill", StorageClass.STORAGE_BUFFER, "input")
    parts.builder.copy(handed, fill)
    parts.builder.barrier(handover=parts.handover)
    at = parts.place("own")
    parts.store(parts.load("written", source, at, "written"), handed, at, "written")
    parts.builder.barrier(handover=parts.handover)
    parts.builder.copy(target, handed, backwards=not around)


def _in_place(parts: Parts) -> None:
    """A matrix is loaded and stored to where it came from, in another layout."""
    source, handed, target = parts.source(), parts.handed(), parts.target()
    parts.builder.copy(handed, source, backwards=True)
    parts.builder.barrier(handover=parts.handover)
    at = parts.place("own")
    matrix = parts.load("matrix", handed, at, "read")
    parts.builder.barrier(handover=parts.handover)
    parts.store(matrix, handed, at, "written")
    parts.builder.barrier(handover=parts.handover)
    parts.builder.copy(target, handed)


def _tiles(parts: Parts) -> None:
    """All tiles of an instance are loaded from one array before the first of them is stored, the last one first."""
    source, handed, target = parts.source(), parts.handed(), parts.target()
    parts.builder.copy(handed, source)
    parts.builder.barrier(handover=parts.handover)
    matrices = [parts.load(f"tile_{tile}", handed, parts.place(f"from_{tile}", tile, _TILES), "read") for tile in range(_TILES)]
    for tile in reversed(range(_TILES)):
        parts.store(matrices[tile], target, parts.place(f"to_{tile}", _TILES - 1 - tile, _TILES), "read")


def _array_stride(parts: Parts) -> None:
    """The ArrayStride of both arrays is three elements, and elements lie side by side all the same (KHR-PTR-03)."""
    builder, pointee = parts.builder, Pointee(parts.type.component)
    length, stride = parts.tile.length(1), 3 * parts.type.component.bytes
    storage = StorageClass(parts.values["storage"])
    source = builder.array("source", pointee, length, storage, "input", stride)
    target = builder.array("target", pointee, length, storage, "output", stride)
    zero = builder.literal(0)
    parts.store(parts.load("matrix", source, zero, "read"), target, zero, "written")


_FORMS: Mapping[str, Callable[[Parts], None]] = MappingProxyType(
    {
        "subgroup": lambda parts: _between_instances(parts, MemoryScope.SUBGROUP),
        "workgroup": lambda parts: _between_instances(parts, MemoryScope.WORKGROUP),
        "dispatch": _dispatch,
        "plain_to_matrix": _plain_to_matrix,
        "matrix_to_plain": lambda parts: _matrix_to_plain(parts, around=False),
        "plain_around_matrix": lambda parts: _matrix_to_plain(parts, around=True),
        "in_place": _in_place,
        "tiles": _tiles,
        "array_stride": _array_stride,
    }
)


def program(values: Values) -> Program:
    """The program of a case."""
    rows, columns = shape_of(values)
    scope = SCOPES[values["scope"]]
    dispatch = values["form"] == "dispatch"
    builder = ProgramBuilder(scope, int(values["subgroups"]), _WORKGROUPS if dispatch else 1)
    type_ = MatrixType(_component(values), scope, rows, columns, USES[values["use"]])
    instance = builder.instance_index() if builder.instances > 1 else None
    _FORMS[values["form"]](Parts(builder, values, type_, _tile(values), instance))
    return builder.build()


def subcase(name: str, values: Values, program: Program, rng: np.random.Generator) -> Subcase:
    """The source holds the pattern, whatever lies in other arrays before is random, and the counter starts with 0."""
    component = _component(values)
    inputs = {}
    for array in program.arrays:
        if array.name == "source":
            bits = index_coded(component, array.count) if values["pattern"] == "index" else random_bits(component, array.count, rng)
            inputs[array.name] = bits.view(np.uint8)
        elif array.name == "counter":
            inputs[array.name] = np.zeros(array.bytes, np.uint8)
        elif array.role in ("input", "inout"):
            inputs[array.name] = random_bits(component, array.count, rng).view(np.uint8)
    return Subcase(name, inputs)
