"""memory: one invocation writes data and others read them, through matrices and through plain accesses.

The writer and the reader share an array called ``handed``. Each form defines the writer, the reader and their synchronization.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np

from generators.inputs.patterns import pattern_bits, random_bits
from generators.layouts.matrix_arrays import Tiles, fit_workgroup_memory, granule_of, lines_of
from generators.layouts.tensor_writer import LayoutStep, TensorWriter, slice_step
from generators.parameters.declaration import parameter
from generators.parameters.memory_masks import EXTRAS
from generators.parameters.vocabulary import LAYOUTS, SCOPE, STORAGE_CLASSES, USES, Scoped, parse_shape
from generators.program.builder import U32, ProgramBuilder
from generators.program.control_flow import Condition
from generators.program.load_store import MemoryOperand
from generators.program.memory import Array, Pointee, Role
from generators.program.program import Built, Program, Subcase
from generators.program.tensor_access import TensorLoad, TensorStore
from generators.program.values import Matrix, MatrixType, ScalarValue, TensorLayout, TensorLayoutType, TensorView, TensorViewType, Value
from generators.program.workgroup import Handover
from generators.routines.workgroup import copy, copy_part, last_workgroup
from generators.types import COMPONENT_TYPES, ComponentType, Layout, MemoryAccess, MemoryScope, StorageClass, Use

_ROUNDS = 23
"""Number of times that matrices are passed on in the form ``relay``, minus the number of the run. In the first run it is a multiple of
every subgroup count, so each matrix returns to its place, and stale contents of other places in a cache give wrong results. In the second
run it is not, so a matrix that never moves gives wrong results."""
_TILES = 4
"""Tiles that each scope instance has in the form ``tiles``."""
_REACH: Mapping[str, MemoryScope] = MappingProxyType(
    {
        "subgroup": MemoryScope.SUBGROUP,
        "divided": MemoryScope.SUBGROUP,
        "own_copies": MemoryScope.SUBGROUP,
        "divided_plain": MemoryScope.SUBGROUP,
        "reload": MemoryScope.SUBGROUP,
        "dispatch": MemoryScope.QUEUE_FAMILY,
        "interleaved": MemoryScope.QUEUE_FAMILY,
    }
)
"""The smallest scope that a form's accesses must reach, if it is not the workgroup."""


Form = Literal[
    "subgroup",
    "workgroup",
    "dispatch",
    "plain_to_matrix",
    "matrix_to_plain",
    "plain_around_matrix",
    "in_place",
    "tiles",
    "array_stride",
    "pointer_stride",
    "divided",
    "own_copies",
    "divided_plain",
    "reload",
    "reload_other",
    "reload_plain",
    "relay",
    "interleaved",
]
"""The forms, which differ in writer and reader; see the functions that write them."""

_DISPATCHES: tuple[Form, ...] = ("dispatch", "interleaved")


def _has_workgroups(parameters: Parameters) -> bool:
    return parameters.form in _DISPATCHES


@dataclass(frozen=True, kw_only=True)
class Parameters(Scoped):
    """The parameters of a case."""

    component: ComponentType = parameter("component type of the matrices", labels=COMPONENT_TYPES)
    use: Use = parameter("use of the matrices", default="a", labels=USES)
    shape: tuple[int, int] = parameter("rows and columns of the matrices", default="16x16", decode=parse_shape, then=SCOPE)
    form: Form = parameter("who writes and who reads", default="subgroup")
    storage: StorageClass = parameter("where the shared array is", default="workgroup", labels=STORAGE_CLASSES)
    handover: Handover = parameter("what makes writes available and visible", default="barrier")
    written: Layout = parameter("layout in which the shared array is written", default="row", labels=LAYOUTS)
    read: Layout = parameter("layout in which the shared array is read", default="row", labels=LAYOUTS)
    padding: Literal["tight", "padded"] = parameter("whether lines are followed by padding", default="tight")
    workgroups: int = parameter(
        "workgroups of a dispatch in which the last one reads what all have written", default=3, applies=_has_workgroups
    )
    extra: MemoryAccess = parameter("further memory operands of the accesses to the shared array", default="none", labels=EXTRAS)
    access: Literal["matrix", "tensor", "tensor_stores", "tensor_loads"] = parameter(
        "which matrices go to the shared array, and come from it, through a tensor layout", default="matrix"
    )


@dataclass(frozen=True, kw_only=True)
class SubcaseParameters(Parameters):
    """The parameters of a subcase."""

    pattern: Literal["index", "bits"] = parameter("the bits of the source")
    run: int = parameter("number of the run, since timing differs from run to run")


def _workgroups(parameters: Parameters) -> int:
    return parameters.workgroups if parameters.form in _DISPATCHES else 1


def _tiles(parameters: Parameters) -> Tiles:
    """Return the tiles of a case: every line begins at a multiple of 16 bytes, or of its own size if that is less (KHR-ALIGN-01)."""
    type_ = MatrixType(parameters.component, parameters.scope, *parameters.shape, parameters.use)
    granule = granule_of(parameters.component)
    lines, line = lines_of(parameters.shape, parameters.written)
    instances = parameters.instances * _workgroups(parameters)
    if parameters.form == "interleaved":
        # The first lines of all instances follow each other, then their second lines.
        return Tiles(type_, parameters.written, line * instances, line, instances, first=granule, end=granule + line * instances * lines)
    stride = line + granule if parameters.padding == "padded" else line
    steps = _TILES if parameters.form == "tiles" else 1
    return Tiles(type_, parameters.written, stride, stride * lines + granule, instances, steps, granule)


def _stride(parameters: Parameters, tiles: Tiles, layout: Layout) -> int:
    """Return the stride of a tile in ``layout``: a tight tile that is read in the other layout has the lines of that layout."""
    if parameters.padding == "padded" or parameters.form == "interleaved" or layout is parameters.written:
        return tiles.stride
    return lines_of(parameters.shape, layout)[1]


def _fits(parameters: Parameters) -> bool:
    return fit_workgroup_memory(parameters.storage, [_tiles(parameters)])


PREDICATES: Mapping[str, Callable[[SubcaseParameters], bool]] = MappingProxyType({"fits_workgroup_memory": _fits})


@dataclass(frozen=True)
class Parts:
    """The parts of every form: the ``source`` of all data, the shared array ``handed`` and the ``target``, each with tiles of one kind."""

    builder: ProgramBuilder
    parameters: Parameters
    tiles: Tiles
    instance: ScalarValue | None

    @property
    def handover(self) -> Handover:
        """How writes become available and visible."""
        return self.parameters.handover

    @property
    def written(self) -> Layout:
        """Layout in which the shared array is written."""
        return self.parameters.written

    @property
    def read(self) -> Layout:
        """Layout in which the shared array is read."""
        return self.parameters.read

    def array(self, name: str, storage: StorageClass, role: Role) -> Array:
        """Declare an array of tiles."""
        return self.builder.array(name, self.tiles.pointee, self.tiles.length, storage, role)

    def source(self) -> Array:
        """Declare the input."""
        return self.array("source", StorageClass.STORAGE_BUFFER, "input")

    def target(self) -> Array:
        """Declare the output."""
        return self.array("target", StorageClass.STORAGE_BUFFER, "output")

    def handed(self) -> Array:
        """Declare the shared array. If it is a buffer, its final contents are judged."""
        storage = self.parameters.storage
        return self.array("handed", storage, "scratch" if storage is StorageClass.WORKGROUP else "inout")

    def begin(self, name: str, first: int = 0, step: int = 1) -> ScalarValue:
        """Return the first element of the tile ``first`` + instance * ``step``."""
        base = self.builder.literal(self.tiles.first + first * self.tiles.pitch)
        if self.instance is None:
            return base
        return self.builder.offset(name, base, self.instance, step * self.tiles.pitch % (1 << 32))

    def operand(self, write: bool) -> MemoryOperand | None:
        """Return the memory operand of accesses to the shared array."""
        extra = self.parameters.extra
        if not extra:
            return None
        made = MemoryAccess.MAKE_POINTER_AVAILABLE if write else MemoryAccess.MAKE_POINTER_VISIBLE
        scope = _REACH.get(self.parameters.form, MemoryScope.WORKGROUP)
        return MemoryOperand(extra | MemoryAccess.NON_PRIVATE_POINTER | made, scope=scope)

    def stride(self, layout: Layout) -> ScalarValue:
        """Return the stride between the lines of a tile in ``layout``."""
        return self.builder.literal(_stride(self.parameters, self.tiles, layout))

    def load(self, name: str, array: Array, at: ScalarValue, layout: Layout) -> Matrix:
        """Load a tile in ``layout``."""
        shared = array.name == "handed"
        memory = self.operand(write=False) if shared else None
        if not shared or self.parameters.access not in ("tensor", "tensor_loads"):
            return self.builder.load(name, self.tiles.type, array, at, self.stride(layout), layout, memory)
        result = Value(name, self.tiles.type)
        before = self.builder.null(f"{name}_before", self.tiles.type)
        self.builder.add(TensorLoad(result, array, at, before, *self.tensor(name, layout), memory))
        return result

    def store(self, matrix: Matrix, array: Array, at: ScalarValue, layout: Layout) -> None:
        """Store a tile in ``layout``."""
        shared = array.name == "handed"
        memory = self.operand(write=True) if shared else None
        if not shared or self.parameters.access not in ("tensor", "tensor_stores"):
            self.builder.store(matrix, array, at, self.stride(layout), layout, memory)
        else:
            self.builder.add(TensorStore(matrix, array, at, *self.tensor(f"{matrix.name}_stored", layout), memory))

    def tensor(self, name: str, layout: Layout) -> tuple[TensorLayout, TensorView | None]:
        """Return the layout of a tensor that is a tile in ``layout``, and the view that transposes it if its lines are columns."""
        lines = lines_of(self.parameters.shape, layout)
        steps: tuple[LayoutStep, ...] = (
            ("dimension", lines),
            ("stride", (_stride(self.parameters, self.tiles, layout), 1)),
            slice_step((0, 0), lines),
        )
        writer = TensorWriter(self.builder, "literal")
        made = writer.layout(self.builder.fresh(f"{name}_layout"), TensorLayoutType(2), *steps)
        if layout is Layout.ROW_MAJOR:
            return made, None
        return made, writer.view(self.builder.fresh(f"{name}_view"), TensorViewType((1, 0)))


def _between_instances(parts: Parts, scope: MemoryScope) -> None:
    """Store a matrix, and load it again after a barrier: in the same instance, or in its mirror image counted from the last instance."""
    source, handed, target = parts.source(), parts.handed(), parts.target()
    at = parts.begin("own")
    parts.store(parts.load("written", source, at, parts.written), handed, at, parts.written)
    parts.builder.barrier(scope, parts.handover)
    last = parts.parameters.instances - 1
    read = parts.begin("other", last, -1) if scope is MemoryScope.WORKGROUP else at
    parts.store(parts.load("read", handed, read, parts.read), target, at, parts.read)


def _divided(parts: Parts) -> None:
    """Store a matrix and load it again after a subgroup barrier, in the first subgroup only; then all subgroups store their matrices."""
    source, handed, target = parts.source(), parts.handed(), parts.target()
    after = parts.array("after", StorageClass.STORAGE_BUFFER, "output")
    builder, at = parts.builder, parts.begin("own")
    matrix = parts.load("written", source, at, parts.written)
    assert parts.instance is not None, "memory: the constraints must exclude this case"
    with builder.arm() as first:
        parts.store(matrix, handed, at, parts.written)
        builder.barrier(MemoryScope.SUBGROUP, parts.handover)
        parts.store(parts.load("read", handed, at, parts.read), target, at, parts.read)
    with builder.arm() as others:
        parts.store(matrix, target, at, parts.written)
    builder.branch(Condition(parts.instance, "equal", builder.literal(0)), first, others)
    parts.store(matrix, after, at, parts.written)


def _reload(parts: Parts, scope: MemoryScope) -> None:
    """Load a matrix, store another matrix there, and load it again with the same operands. The store is by the same instance or, at
    workgroup ``scope``, by its mirror image counted from the last instance. Store both loaded matrices."""
    builder, source, handed, target = parts.builder, parts.source(), parts.handed(), parts.target()
    before = parts.array("before", StorageClass.STORAGE_BUFFER, "output")
    _fill(parts, handed)
    at = parts.begin("own")
    written = at if scope is MemoryScope.SUBGROUP else parts.begin("other", parts.parameters.instances - 1, -1)
    first = parts.load("first_read", handed, at, parts.read)
    builder.barrier(scope, parts.handover)
    parts.store(parts.load("written", source, at, parts.written), handed, written, parts.written)
    builder.barrier(scope, parts.handover)
    second = parts.load("second_read", handed, at, parts.read)
    parts.store(first, before, at, parts.read)
    parts.store(second, target, at, parts.read)


def _reload_plain(parts: Parts) -> None:
    """Load a matrix, store single elements there, and load it again with the same operands. Store both loaded matrices."""
    builder, source, handed, target = parts.builder, parts.source(), parts.handed(), parts.target()
    before = parts.array("before", StorageClass.STORAGE_BUFFER, "output")
    _fill(parts, handed)
    at = parts.begin("own")
    first = parts.load("first_read", handed, at, parts.read)
    builder.barrier(handover=parts.handover)
    copy(builder, handed, source, backwards=True)
    builder.barrier(handover=parts.handover)
    second = parts.load("second_read", handed, at, parts.read)
    parts.store(first, before, at, parts.read)
    parts.store(second, target, at, parts.read)


def _fill(parts: Parts, handed: Array) -> None:
    """Write initial values to workgroup memory. Buffers have their contents from the host."""
    if handed.storage is StorageClass.WORKGROUP:
        copy(parts.builder, handed, parts.array("fill", StorageClass.STORAGE_BUFFER, "input"))
        parts.builder.barrier(handover=parts.handover)


def _relay(parts: Parts) -> None:
    """Pass matrices on many times, each to the preceding instance, through the same places."""
    builder, source, handed, target = parts.builder, parts.source(), parts.handed(), parts.target()
    assert parts.instance is not None, "memory: the constraints must exclude this case"
    own = parts.begin("own")
    following = builder.arithmetic("following", "add", parts.instance, builder.literal(1))
    wrapped = builder.arithmetic("wrapped", "modulo", following, builder.literal(parts.parameters.instances))
    other = builder.offset("other", builder.literal(parts.tiles.first), wrapped, parts.tiles.pitch)
    parts.store(parts.load("written", source, own, parts.written), handed, own, parts.written)
    builder.barrier(handover=parts.handover)
    with builder.loop(Value("round", U32), builder.operand("rounds", U32, "push_constant"), []):
        matrix = parts.load("passed", handed, other, parts.read)
        builder.barrier(handover=parts.handover)
        parts.store(matrix, handed, own, parts.written)
        builder.barrier(handover=parts.handover)
    parts.store(parts.load("read", handed, own, parts.read), target, own, parts.read)


def _own_copies(parts: Parts) -> None:
    """Write the elements of each subgroup's tile in its own invocations, then load the matrix after a subgroup barrier."""
    source, handed, target = parts.source(), parts.handed(), parts.target()
    at = parts.begin("own")
    copy_part(parts.builder, (handed, at), (source, at), parts.tiles.pitch, backwards=True)
    parts.builder.barrier(MemoryScope.SUBGROUP, parts.handover)
    parts.store(parts.load("read", handed, at, parts.read), target, at, parts.read)


def _divided_plain(parts: Parts) -> None:
    """In the first subgroup only, pass single elements between invocations across subgroup barriers, twice. Then each subgroup writes
    elements, and stores a matrix that it loaded before the branch."""
    builder, source, handed, target = parts.builder, parts.source(), parts.handed(), parts.target()
    fill = parts.array("fill", StorageClass.STORAGE_BUFFER, "input")
    again, written, after = (parts.array(name, StorageClass.STORAGE_BUFFER, "output") for name in ("again", "written", "after"))
    at, pitch = parts.begin("own"), parts.tiles.pitch
    matrix = parts.load("matrix", source, at, parts.written)
    assert parts.instance is not None, "memory: the constraints must exclude this case"
    with builder.arm() as first:
        copy_part(builder, (handed, at), (source, at), pitch)
        builder.barrier(MemoryScope.SUBGROUP, parts.handover)
        copy_part(builder, (target, at), (handed, at), pitch, backwards=True)
        # The source of the first elements is about to be overwritten.
        builder.barrier(MemoryScope.SUBGROUP, parts.handover)
        copy_part(builder, (handed, at), (fill, at), pitch)
        builder.barrier(MemoryScope.SUBGROUP, parts.handover)
        copy_part(builder, (again, at), (handed, at), pitch, backwards=True)
    with builder.arm() as others:
        copy_part(builder, (target, at), (source, at), pitch)
        copy_part(builder, (again, at), (fill, at), pitch)
    builder.branch(Condition(parts.instance, "equal", builder.literal(0)), first, others)
    copy_part(builder, (written, at), (fill, at), pitch)
    parts.store(matrix, after, at, parts.written)


def _dispatch(parts: Parts) -> None:
    """Store matrices in each workgroup, and load all of them in the last workgroup to arrive.

    Interleaved matrices share cache lines with matrices of other workgroups, and a load before the store caches those lines. Without
    availability and visibility operations, the last workgroup reads stale values from them.
    """
    builder, handed, source, target = parts.builder, parts.handed(), parts.source(), parts.target()
    counter = builder.array("counter", Pointee(U32), 1, StorageClass.STORAGE_BUFFER, "inout")
    at = parts.begin("own")
    if parts.parameters.form == "interleaved":
        before = parts.array("before", StorageClass.STORAGE_BUFFER, "output")
        parts.store(parts.load("before_matrix", handed, at, parts.written), before, at, parts.written)
        builder.barrier(handover=parts.handover)
    parts.store(parts.load("written", source, at, parts.written), handed, at, parts.written)
    per_workgroup = parts.parameters.instances
    with last_workgroup(builder, counter) as index:
        inside = Parts(builder, parts.parameters, parts.tiles, index)
        for workgroup in range(parts.parameters.workgroups):
            begin = workgroup * per_workgroup
            matrix = inside.load(f"read_{workgroup}", handed, inside.begin(f"other_{workgroup}", begin + per_workgroup - 1, -1), parts.read)
            inside.store(matrix, target, inside.begin(f"place_{workgroup}", begin), parts.read)


def _plain_to_matrix(parts: Parts) -> None:
    """Write single elements, none of them in the invocation with the index of its source, then load matrices."""
    source, handed, target = parts.source(), parts.handed(), parts.target()
    copy(parts.builder, handed, source, backwards=True)
    parts.builder.barrier(handover=parts.handover)
    at = parts.begin("own")
    parts.store(parts.load("read", handed, at, parts.read), target, at, parts.read)


def _matrix_to_plain(parts: Parts, around: bool) -> None:
    """Store matrices over the elements of earlier plain stores, then read single elements. The reader is the invocation that wrote the
    plain element (``around``), which must not reuse its old value, or another invocation."""
    source, handed, target = parts.source(), parts.handed(), parts.target()
    fill = parts.array("fill", StorageClass.STORAGE_BUFFER, "input")
    copy(parts.builder, handed, fill)
    parts.builder.barrier(handover=parts.handover)
    at = parts.begin("own")
    parts.store(parts.load("written", source, at, parts.written), handed, at, parts.written)
    parts.builder.barrier(handover=parts.handover)
    copy(parts.builder, target, handed, backwards=not around)


def _in_place(parts: Parts) -> None:
    """Load a matrix and store it in the same place, in another layout."""
    source, handed, target = parts.source(), parts.handed(), parts.target()
    copy(parts.builder, handed, source, backwards=True)
    parts.builder.barrier(handover=parts.handover)
    at = parts.begin("own")
    matrix = parts.load("matrix", handed, at, parts.read)
    parts.builder.barrier(handover=parts.handover)
    parts.store(matrix, handed, at, parts.written)
    parts.builder.barrier(handover=parts.handover)
    copy(parts.builder, target, handed)


def _in_tiles(parts: Parts) -> None:
    """Load all tiles of an instance from one array, then store them, the last one first."""
    source, handed, target = parts.source(), parts.handed(), parts.target()
    copy(parts.builder, handed, source)
    parts.builder.barrier(handover=parts.handover)
    matrices = [parts.load(f"tile_{tile}", handed, parts.begin(f"from_{tile}", tile, _TILES), parts.read) for tile in range(_TILES)]
    for tile in reversed(range(_TILES)):
        parts.store(matrices[tile], target, parts.begin(f"to_{tile}", _TILES - 1 - tile, _TILES), parts.read)


def _array_stride(parts: Parts) -> None:
    """Load and store through an ArrayStride of three elements, which must be ignored (KHR-PTR-03)."""
    builder, pointee, length = parts.builder, parts.tiles.pointee, parts.tiles.length
    stride = 3 * pointee.bytes
    storage = parts.parameters.storage
    source = builder.array("source", pointee, length, storage, "input", stride)
    target = builder.array("target", pointee, length, storage, "output", stride)
    zero = builder.literal(0)
    parts.store(parts.load("matrix", source, zero, parts.read), target, zero, parts.written)


def _pointer_stride(parts: Parts) -> None:
    """Load and store through pointers with an ArrayStride of three elements, to arrays whose elements are adjacent (KHR-PTR-03)."""
    builder, pointee, length = parts.builder, parts.tiles.pointee, parts.tiles.length
    stride = 3 * pointee.bytes
    storage = parts.parameters.storage
    source = builder.array("source", pointee, length, storage, "input", pointer_stride=stride)
    target = builder.array("target", pointee, length, storage, "output", pointer_stride=stride)
    at = parts.begin("own")
    parts.store(parts.load("matrix", source, at, parts.read), target, at, parts.written)


_WRITERS: Mapping[Form, Callable[[Parts], None]] = MappingProxyType(
    {
        "subgroup": lambda parts: _between_instances(parts, MemoryScope.SUBGROUP),
        "workgroup": lambda parts: _between_instances(parts, MemoryScope.WORKGROUP),
        "divided": _divided,
        "own_copies": _own_copies,
        "divided_plain": _divided_plain,
        "dispatch": _dispatch,
        "interleaved": _dispatch,
        "relay": _relay,
        "reload": lambda parts: _reload(parts, MemoryScope.SUBGROUP),
        "reload_other": lambda parts: _reload(parts, MemoryScope.WORKGROUP),
        "reload_plain": _reload_plain,
        "plain_to_matrix": _plain_to_matrix,
        "matrix_to_plain": lambda parts: _matrix_to_plain(parts, around=False),
        "plain_around_matrix": lambda parts: _matrix_to_plain(parts, around=True),
        "in_place": _in_place,
        "tiles": _in_tiles,
        "array_stride": _array_stride,
        "pointer_stride": _pointer_stride,
    }
)


def build(parameters: Parameters) -> Built:
    """Build a case. The source holds the pattern; the other arrays start with random bits, and the counter with 0."""
    component = parameters.component
    builder = ProgramBuilder(parameters.scope, parameters.subgroups, _workgroups(parameters))
    instance = builder.instance_index() if builder.instances > 1 else None
    _WRITERS[parameters.form](Parts(builder, parameters, _tiles(parameters), instance))

    def draw(name: str, parameters: SubcaseParameters, program: Program, rng: np.random.Generator) -> Subcase:
        inputs = {}
        for array in program.arrays:
            if array.name == "source":
                bits = pattern_bits(parameters.pattern, component, array.count, rng)
                inputs[array.name] = bits.view(np.uint8)
            elif array.name == "counter":
                inputs[array.name] = np.zeros(array.bytes, np.uint8)
            elif array.role in ("input", "inout"):
                inputs[array.name] = random_bits(component, array.count, rng).view(np.uint8)
        return Subcase(name, inputs, {"rounds": _ROUNDS + parameters.run} if parameters.form == "relay" else {})

    return Built(builder.build(), draw)
